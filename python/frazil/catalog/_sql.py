"""Catalogs in an SQL database, with the tables of Java's `JdbcCatalog` (V0 and V1) and of PyIceberg's `SqlCatalog`.

    iceberg_tables                    catalog_name, table_namespace ("a.b"), table_name, metadata_location,
                                      previous_metadata_location; V1: iceberg_type (TABLE, VIEW, or NULL for a table)
    iceberg_namespace_properties      catalog_name, namespace ("a.b"), property_key, property_value

The children of a namespace are filtered in Python, not with LIKE. The first change creates missing tables and a missing
SQLite file, unless the property `init_catalog_tables` is false.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from frazil import errors
from frazil.catalog._database import retried
from frazil.catalog._identifiers import dotted
from frazil.catalog._open_database import open_database
from frazil.catalog._row_catalog import RowCatalog
from frazil.catalog._sql_session import DuplicateError, NewTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from frazil.catalog._database import Database
    from frazil.catalog._identifiers import Levels
    from frazil.catalog._sql_session import Session
    from frazil.catalog._table import CatalogTable

TABLES = "iceberg_tables"
PROPERTIES = "iceberg_namespace_properties"

_TABLES = ("catalog_name", "table_namespace", "table_name", "metadata_location")
_NAMESPACES = ("catalog_name", "namespace", "property_key", "property_value")

_EXISTS = {"exists": "true"}
"""The marker property of every namespace, which gives a namespace without other properties a row."""


_NEW = (
    NewTable(
        TABLES,
        dict.fromkeys(_TABLES[:3], 255),
        {"metadata_location": 1000, "previous_metadata_location": 1000, "iceberg_type": 5},
    ),
    NewTable(PROPERTIES, dict.fromkeys(_NAMESPACES[:3], 255), {"property_value": 1000}),
)
"""The tables as created by Java's `JdbcCatalog` (V1) and PyIceberg."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The structure of the catalog's tables in the database."""

    columns: frozenset[str]
    """The columns of `iceberg_tables`."""

    has_properties: bool
    """Whether namespaces have properties."""

    @property
    def is_table(self) -> str:
        """The condition that a row of `iceberg_tables` is not a view; V0 does not support views."""
        return "(iceberg_type = 'TABLE' OR iceberg_type IS NULL)" if "iceberg_type" in self.columns else ""


NEW_LAYOUT = Layout(frozenset(_NEW[0].columns), has_properties=True)


class SqlCatalog(RowCatalog):
    """The tables that an SQL database lists under the name of the catalog."""

    type: ClassVar[str] = "sql"

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Read `uri` (a SQLAlchemy or JDBC address) and optional `jdbc.user` and `jdbc.password` properties."""
        super().__init__(name, properties, relocate)
        self._known: Layout | None = None
        self._database = self._new_database()

    def _new_database(self) -> Database:
        return open_database(self.name, self.type, self.properties, may_be_absent=True)

    @property
    def _key(self) -> str:
        """The name of the catalog in the database."""
        return self.name

    def row(self, levels: Levels) -> _Row:
        """Return the catalog row of a table; the table may not exist yet."""
        return _Row(self, levels)

    def _child_namespaces(self, levels: Levels) -> set[Levels]:
        levels = tuple(dotted(levels).split(".")) if levels else ()
        depth = len(levels)
        known = (tuple(text.split(".")) for text in self._namespaces())
        return {found[: depth + 1] for found in known if len(found) > depth and found[:depth] == levels}

    def _tables(self, levels: Levels) -> set[Levels]:
        of_namespace = {"table_namespace": dotted(levels)}
        named = self._rows(TABLES, ["table_name"], of_namespace, self._layout.is_table)
        return {(*levels, name) for (name,) in named}

    def _has_table(self, levels: Levels) -> bool:
        return bool(self._locations(levels, self._layout.is_table))

    def _has_namespace(self, levels: Levels) -> bool:
        text = dotted(levels)
        return not levels or any(known == text or known.startswith(f"{text}.") for known in self._namespaces())

    def _namespace_properties(self, levels: Levels) -> dict[str, str]:
        found = {}
        if self._layout.has_properties:
            rows = self._rows(PROPERTIES, ["property_key", "property_value"], {"namespace": dotted(levels)})
            # `exists` is a marker that keeps a namespace without properties in the table.
            found = {row[0]: row[1] for row in rows if None not in row and row[0] != "exists"}
        warehouse = self.properties.get("warehouse")
        return ({"location": "/".join((warehouse.rstrip("/"), *levels))} if warehouse else {}) | found

    def _open(self, levels: Levels) -> CatalogTable:
        found = self._locations(levels, self._layout.is_table)
        if not found:
            raise self._no_such_table(levels, "it is a view" if self._locations(levels) else None)
        if not found[0]:
            message = f"catalog {self.name!r} has no metadata file for table {dotted(levels)!r}"
            raise errors.CatalogError(message, context={"catalog": self.name, "table": dotted(levels)})
        return self._load(levels, str(found[0]))

    def _others(self, levels: Levels) -> list[tuple[str, str]]:
        columns = ["table_namespace", "table_name", "metadata_location"]
        rows = self._rows(TABLES, columns, {}, self._layout.is_table)
        own = (dotted(levels[:-1]), levels[-1])
        return [(f"{space}.{name}", place) for space, name, place in rows if place and (space, name) != own]

    @retried
    def _rename(self, old: Levels, new: Levels) -> None:
        with self._changing() as session:
            names = {"table_namespace": dotted(new[:-1]), "table_name": new[-1]}
            try:
                count = session.update(TABLES, names, self._row_of(old), self._layout.is_table)
            except DuplicateError:
                raise self._exists_already(new) from None
            if count != 1:
                raise self._no_such_table(old)

    @retried
    def _drop(self, levels: Levels, expected: str | None) -> None:
        with self._changing() as session:
            named, is_table = self._row_of(levels), self._layout.is_table
            if not session.select(TABLES, ["table_name"], named, is_table):
                raise self._no_such_table(levels)
            if expected is not None:
                named["metadata_location"] = expected
            if session.delete(TABLES, named, is_table) != 1:
                raise self._changed_meanwhile(levels)

    @retried
    def _create_namespace(self, levels: Levels, properties: Mapping[str, str]) -> bool:
        with self._changing() as session:
            try:
                self._insert_properties(session, levels, {**properties, **_EXISTS})
            except DuplicateError:
                session.rollback()
                return False
            return True

    @retried
    def _drop_namespace(self, levels: Levels) -> bool:
        with self._changing() as session:
            text, of_catalog = dotted(levels), {"catalog_name": self._key}
            found = session.select(TABLES, ["table_namespace"], of_catalog)
            if any(known and (known == text or known.startswith(f"{text}.")) for (known,) in found):
                return False
            if not self._layout.has_properties:
                return True
            # The result may include the namespace itself, which does not prevent the deletion.
            found = session.select(PROPERTIES, ["namespace"], of_catalog)
            if any(known and known.startswith(f"{text}.") for (known,) in found):
                return False
            session.delete(PROPERTIES, self._namespace_of(levels))
            return True

    @retried
    def _update_namespace(self, levels: Levels, removed: set[str], updated: Mapping[str, str]) -> set[str]:
        with self._changing() as session:
            self._check_has_properties()
            mine = self._namespace_of(levels)
            before = {key for (key,) in session.select(PROPERTIES, ["property_key"], mine)}
            for key in before & (removed | updated.keys() | _EXISTS.keys()):
                session.delete(PROPERTIES, {**mine, "property_key": key})
            self._insert_properties(session, levels, {**updated, **_EXISTS})
            return before - _EXISTS.keys()

    def _insert_properties(self, session: Session, levels: Levels, properties: Mapping[str, str]) -> None:
        self._check_has_properties()
        # One statement per property, because databases limit the number of parameters.
        for key, value in properties.items():
            session.insert(PROPERTIES, {**self._namespace_of(levels), "property_key": key, "property_value": value})

    def _check_has_properties(self) -> None:
        if not self._layout.has_properties:
            message = f"the database of catalog {self.name!r} has no table {PROPERTIES}"
            raise errors.CatalogError(message, context={"catalog": self.name})

    def _swap(self, session: Session, levels: Levels, expected: str | None, new: str) -> bool:
        columns = self._layout.columns
        values = {"metadata_location": new, "previous_metadata_location": expected, "iceberg_type": "TABLE"}
        values = {name: value for name, value in values.items() if name in columns}
        if expected is not None:
            values.pop("iceberg_type", None)
            current = {**self._row_of(levels), "metadata_location": expected}
            return session.update(TABLES, values, current, self._layout.is_table) == 1
        try:
            session.insert(TABLES, {**self._row_of(levels), **values})
        except DuplicateError:
            session.rollback()
            if self._locations(levels) and not self._has_table(levels):
                message = f"catalog {self.name!r} has a view {dotted(levels)!r}"
                raise errors.AlreadyExistsError(message, context={"catalog": self.name}) from None
            return False
        return True

    @contextmanager
    def _changing(self) -> Iterator[Session]:
        """Begin a transaction of the database, and create the catalog's tables if they are missing."""
        makes_tables = self.properties.get("init_catalog_tables", "true").lower() != "false"
        known = self._known
        try:
            with self._database.changing(self._init_tables if makes_tables else None) as session:
                if makes_tables:
                    self._init_tables(session)
                yield session
        except BaseException:
            # The rollback also undoes the creation of the catalog's tables.
            self._known = known
            raise

    @retried
    def _prepare(self) -> None:
        if self._known is None:
            with self._changing():
                pass

    def _init_tables(self, session: Session) -> None:
        """Create the missing tables."""
        if self._known is not None and self._known.has_properties:
            return
        for table in _NEW:
            session.create(table)
        # Other connections do not see the tables created by this transaction yet.
        self._known = Layout(frozenset(session.columns(TABLES) or ()), has_properties=True)

    def _locations(self, levels: Levels, condition: str = "") -> list[str | None]:
        of_table = {"table_namespace": dotted(levels[:-1]), "table_name": levels[-1]}
        return [location for (location,) in self._rows(TABLES, ["metadata_location"], of_table, condition)]

    def _row_of(self, levels: Levels) -> dict[str, str]:
        """Return the key columns of the row of a table or view."""
        return {"catalog_name": self._key, "table_namespace": dotted(levels[:-1]), "table_name": levels[-1]}

    def _namespace_of(self, levels: Levels) -> dict[str, str]:
        """Return the key columns that all property rows of a namespace have in common."""
        return {"catalog_name": self._key, "namespace": dotted(levels)}

    def _namespaces(self) -> set[str]:
        """Return the namespaces that have tables, views or properties, except the root."""
        layout = self._layout
        found = {text for (text,) in self._rows(TABLES, ["table_namespace"], {})}
        if layout.has_properties:
            found |= {text for (text,) in self._rows(PROPERTIES, ["namespace"], {})}
        return {text for text in found if text}

    def _rows(
        self, table: str, columns: Sequence[str], where: Mapping[str, str], condition: str = ""
    ) -> list[tuple[Any, ...]]:
        return self._database.select(table, columns, {"catalog_name": self._key, **where}, condition)

    @property
    def _layout(self) -> Layout:
        """The structure of the catalog's tables in the database."""
        if self._known is None:
            columns = self._database.needed_columns(TABLES, _TABLES, "Iceberg catalog")
            properties = self._database.columns(PROPERTIES, _NAMESPACES)
            self._known = Layout(frozenset(columns), properties is not None)
        return self._known

    def _hint(self) -> str | None:
        """Return a hint that lists the catalogs in the database; None if the name of this catalog exists."""
        names = sorted({str(name) for (name,) in self._database.select(TABLES, ["catalog_name"], {})})
        if not names or self.name in names:
            return None
        shown = ", ".join(repr(name) for name in names[:5])
        return f"the database contains tables of the catalogs {shown}; the catalog name is its key in the database"


class _Row:
    """The row of a table, changed by compare-and-swap."""

    def __init__(self, catalog: SqlCatalog, levels: Levels) -> None:
        self._catalog, self._levels = catalog, levels

    def location(self) -> str | None:
        catalog = self._catalog
        if not catalog._database.is_present:  # noqa: SLF001 - one thing in two classes
            return None
        return next(iter(catalog._locations(self._levels, catalog._layout.is_table)), None)  # noqa: SLF001

    def replace(self, expected: str | None, new: str) -> bool:
        try:
            return self._swap(expected, new)
        except errors.UnavailableError:
            # The row was not changed, so the commit is retried on the latest state.
            return False

    @retried
    def _swap(self, expected: str | None, new: str) -> bool:
        catalog = self._catalog
        with catalog._changing() as session:  # noqa: SLF001
            return catalog._swap(session, self._levels, expected, new)  # noqa: SLF001
