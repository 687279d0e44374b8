"""Catalogs in the memory of this process, for tests and experiments."""

from __future__ import annotations

import tempfile
import threading
import uuid
import weakref
from typing import TYPE_CHECKING, Any, ClassVar

from frazil.catalog._identifiers import dotted
from frazil.catalog._row_catalog import RowCatalog
from frazil.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.catalog._identifiers import Levels
    from frazil.catalog._table import CatalogTable

_LIVING: weakref.WeakValueDictionary[str, MemoryCatalog] = weakref.WeakValueDictionary()


class MemoryCatalog(RowCatalog):
    """Tables that are registered only in this object; their files are in `warehouse` or a temporary folder."""

    type: ClassVar[str] = "memory"

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Read `warehouse`, a path or a URI, from the properties, if given."""
        self._temporary = None
        if "warehouse" not in properties:
            self._temporary = tempfile.TemporaryDirectory(prefix="frazil-", ignore_cleanup_errors=True)
            properties = {**properties, "warehouse": self._temporary.name}
        super().__init__(name, properties, relocate)
        self._lock = threading.RLock()
        self._named: dict[Levels, str] = {}
        self._namespaces: dict[Levels, dict[str, str]] = {}
        self._id = str(uuid.uuid4())
        _LIVING[self._id] = self

    def recipe(self) -> tuple[Any, tuple[Any, ...]]:
        """Return a function and its arguments that find this catalog again, in this process only."""
        return _living, (self._id, self.name)

    def row(self, levels: Levels) -> _Row:
        """Return the catalog pointer of a table, whether or not the table exists."""
        return _Row(self, levels)

    def _child_namespaces(self, levels: Levels) -> set[Levels]:
        depth = len(levels)
        return {found[: depth + 1] for found in self._known() if len(found) > depth and found[:depth] == levels}

    def _known(self) -> set[Levels]:
        with self._lock:
            return {*self._namespaces, *(levels[:-1] for levels in self._named)}

    def _tables(self, levels: Levels) -> set[Levels]:
        with self._lock:
            return {found for found in self._named if found[:-1] == levels}

    def _has_table(self, levels: Levels) -> bool:
        with self._lock:
            return levels in self._named

    def _has_namespace(self, levels: Levels) -> bool:
        return not levels or any(found[: len(levels)] == levels for found in self._known())

    def _namespace_properties(self, levels: Levels) -> dict[str, str]:
        location = "/".join((self.properties["warehouse"].rstrip("/"), *levels))
        with self._lock:
            return {"location": location} | self._namespaces.get(levels, {})

    def _open(self, levels: Levels) -> CatalogTable:
        found = self.row(levels).location()
        if found is None:
            raise self._no_such_table(levels)
        return self._load(levels, found)

    def _others(self, levels: Levels) -> list[tuple[str, str]]:
        with self._lock:
            return [(dotted(other), place) for other, place in self._named.items() if other != levels]

    def _rename(self, old: Levels, new: Levels) -> None:
        with self._lock:
            if old not in self._named:
                raise self._no_such_table(old)
            if new in self._named:
                raise self._exists_already(new)
            self._named[new] = self._named.pop(old)

    def _drop(self, levels: Levels, expected: str | None) -> None:
        with self._lock:
            found = self._named.get(levels)
            if found is None:
                raise self._no_such_table(levels)
            if expected not in {None, found}:
                raise self._changed_meanwhile(levels)
            del self._named[levels]

    def _create_namespace(self, levels: Levels, properties: Mapping[str, str]) -> bool:
        with self._lock:
            if levels in self._namespaces:
                return False
            self._namespaces[levels] = dict(properties)
            return True

    def _drop_namespace(self, levels: Levels) -> bool:
        with self._lock:
            if self._tables(levels) or self._child_namespaces(levels):
                return False
            self._namespaces.pop(levels, None)
            return True

    def _update_namespace(self, levels: Levels, removed: set[str], updated: Mapping[str, str]) -> set[str]:
        with self._lock:
            properties = self._namespaces.setdefault(levels, {})
            before = set(properties)
            kept = {key: value for key, value in properties.items() if key not in removed}
            self._namespaces[levels] = kept | dict(updated)
            return before


class _Row:
    def __init__(self, catalog: MemoryCatalog, levels: Levels) -> None:
        self._catalog, self._levels = catalog, levels

    def location(self) -> str | None:
        catalog = self._catalog
        with catalog._lock:  # noqa: SLF001 - one thing in two classes
            return catalog._named.get(self._levels)  # noqa: SLF001

    def replace(self, expected: str | None, new: str) -> bool:
        catalog = self._catalog
        with catalog._lock:  # noqa: SLF001
            is_expected = catalog._named.get(self._levels) == expected  # noqa: SLF001
            if is_expected:
                catalog._named[self._levels] = new  # noqa: SLF001
            return is_expected


def _living(identity: str, name: str) -> MemoryCatalog:
    found = _LIVING.get(identity)
    if found is None:
        message = f"catalog {name!r} is in the memory of another process or no longer exists"
        raise UnsupportedError(message, context={"catalog": name}, hint="use a catalog of type local or sql")
    return found
