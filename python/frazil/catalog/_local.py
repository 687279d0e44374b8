"""Catalogs that are a single folder and need no configuration.

lake/
  catalog.db         a SQLite catalog, as in `sql`; its tables are those of the catalog named "local"
  warehouse/         the tables

A lake can be moved or copied. The table `frazil_lake_roots` of the database holds every folder in which the lake was
changed. Recorded locations below any of these folders are resolved relative to the current folder.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from frazil._folders import removed_on_failure
from frazil.catalog._properties import masked
from frazil.catalog._sql import NEW_LAYOUT, TABLES, Layout, SqlCatalog
from frazil.catalog._sql_session import NewTable
from frazil.catalog._sqlite import SqliteDatabase
from frazil.catalog._warehouse import missing_folder
from frazil.errors import InvalidArgumentError, StorageError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from frazil.catalog._base import Catalog
    from frazil.catalog._sql_session import Session
    from frazil.catalog._table import CatalogTable

_ROOTS = NewTable("frazil_lake_roots", {"root": 1000}, {})


class LocalCatalog(SqlCatalog):
    """A SQLite catalog and its warehouse in one folder, created by the first change."""

    type: ClassVar[str] = "local"

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Read `path`, the folder, from the properties."""
        path = properties.get("path")
        if not path:
            message = f"catalog {name!r} of type local needs the property 'path'"
            raise InvalidArgumentError(message, context={"catalog": name}, hint='such as path="./lake"')
        if "://" in path:
            message = f"catalog {name!r} of type local must be a local folder, not {masked(path)!r}"
            raise UnsupportedError(message, context={"catalog": name}, hint="use a catalog of type hadoop or sql")
        if "warehouse" in properties or "uri" in properties:
            message = f"catalog {name!r} of type local keeps its warehouse and its database in its own folder"
            raise InvalidArgumentError(message, context={"catalog": name}, hint="omit warehouse and uri")
        # resolve() would follow symbolic links, which some users rely on to name their disks.
        self._path = os.path.abspath(path)  # noqa: PTH100
        made = {"path": self._path, "warehouse": f"{self._path}/warehouse"}
        super().__init__(name, {**properties, **made}, relocate)

    def recipe(self) -> tuple[Callable[..., Catalog[CatalogTable]], tuple[Any, ...]]:
        """Return a function and its arguments that recreate this catalog, also in another process."""
        given = {key: value for key, value in self.properties.items() if key != "warehouse"}
        return type(self), (self.name, given, dict(self._relocate))

    @property
    def _key(self) -> str:
        return "local"

    def _new_database(self) -> SqliteDatabase:
        return SqliteDatabase(self.name, Path(self._path) / "catalog.db", may_be_absent=True)

    @property
    def _layout(self) -> Layout:
        return super()._layout if self._is_made() else NEW_LAYOUT

    def _rows(
        self, table: str, columns: Sequence[str], where: Mapping[str, str], condition: str = ""
    ) -> list[tuple[Any, ...]]:
        return super()._rows(table, columns, where, condition) if self._is_made() else []

    def _hint(self) -> str | None:
        return None

    def _check_folder(self) -> None:
        if not os.path.isdir(self._path):  # noqa: PTH112 - the path is text
            raise missing_folder(self.name, self._path)

    def _is_made(self) -> bool:
        """Return whether the lake has ever been changed; before its first change it is empty."""
        if self._known is not None:
            return True
        return self._database.is_present and self._database.columns(TABLES) is not None

    @contextmanager
    def _changing(self) -> Iterator[Session]:
        warehouse = Path(self._path, "warehouse")
        with removed_on_failure(warehouse), self._made(warehouse), super()._changing() as session:
            session.create(_ROOTS)
            if not session.select(_ROOTS.name, ["root"], {"root": self._path}):
                session.insert(_ROOTS.name, {"root": self._path})
            yield session

    @contextmanager
    def _made(self, warehouse: Path) -> Iterator[None]:
        try:
            warehouse.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"the folder of catalog {self.name!r} cannot be created: {error}"
            raise StorageError(message, context={"catalog": self.name, "file": self._path}) from error
        yield

    def _mapping(self) -> dict[str, str]:
        here = f"{self._path}/warehouse"
        return {f"{root}/warehouse": here for root in (*self._roots, self._path)} | self._relocate

    @property
    def _roots(self) -> list[str]:
        """Return every folder in which the lake was changed; a new one is added only after a copy or move."""
        if not self._is_made() or self._database.columns(_ROOTS.name) is None:
            return []
        return [root for (root,) in self._database.select(_ROOTS.name, ["root"], {})]
