"""Catalogs of Paimon tables in a SQL database; see `frazil.catalog.paimon`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from frazil import errors
from frazil.catalog._database import open_database
from frazil.catalog._paimon import DATABASE_SUFFIX, PaimonCatalog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from frazil.catalog._identifiers import Levels

DEFAULT_KEY = "jdbc"
"""The `catalog-key` where none is given."""

TABLES = "paimon_tables"
PROPERTIES = "paimon_database_properties"

_TABLES = ("catalog_key", "database_name", "table_name")
_PROPERTIES = ("catalog_key", "database_name", "property_key", "property_value")


class PaimonJdbcCatalog(PaimonCatalog):
    """The tables that a SQL database lists under a `catalog-key`, as Java's `JdbcCatalog` keeps them."""

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Take `uri`, of SQLAlchemy or of JDBC, `catalog-key` and `warehouse` from the properties."""
        super().__init__(name, properties, relocate)
        self._database = open_database(name, self.type, self.properties)
        self._key = self.properties.get("catalog-key", DEFAULT_KEY)

    def _child_namespaces(self, levels: Levels) -> set[Levels]:
        return set() if levels else {(database,) for database in self._databases()}

    def _tables(self, levels: Levels) -> set[Levels]:
        if len(levels) != 1:
            return set()
        return {(*levels, name) for (name,) in self._rows(TABLES, ["table_name"], {"database_name": levels[0]})}

    def _has_main(self, levels: Levels) -> bool:
        return levels in self._tables(levels[:-1])

    def _has_namespace(self, levels: Levels) -> bool:
        return not levels or (len(levels) == 1 and levels[0] in self._databases())

    def _namespace_properties(self, levels: Levels) -> dict[str, str]:
        if len(levels) != 1:
            return {}
        rows = self._rows(PROPERTIES, ["property_key", "property_value"], {"database_name": levels[0]})
        # `exists` only keeps a database without properties in the table.
        return {key: value for key, value in rows if None not in (key, value) and key != "exists"}

    def _location(self, levels: Levels) -> str:
        if not self._has_main(levels):
            raise self._no_such_table(levels)
        database, name = levels
        location = self._namespace_properties((database,)).get("location")
        if location is None:
            warehouse = self.properties.get("warehouse")
            if warehouse is None:
                message = f"catalog {self.name!r} has no warehouse, and database {database!r} says no location"
                raise errors.InvalidArgumentError(message, context={"catalog": self.name, "database": database})
            location = f"{warehouse.rstrip('/')}/{database}{DATABASE_SUFFIX}"
        return self._relocated(f"{location.rstrip('/')}/{name}")

    def _databases(self) -> set[str]:
        tables = (TABLES, PROPERTIES)
        return {str(database) for table in tables for (database,) in self._rows(table, ["database_name"], {})}

    def _rows(self, table: str, columns: Sequence[str], where: Mapping[str, str]) -> list[tuple[Any, ...]]:
        if not self._has_properties and table == PROPERTIES:
            return []
        return self._database.select(table, columns, {"catalog_key": self._key, **where})

    @cached_property
    def _has_properties(self) -> bool:
        """Whether databases have properties; the tables of the catalog are checked once."""
        self._database.needed_columns(TABLES, _TABLES, "Paimon catalog")
        return self._database.columns(PROPERTIES, _PROPERTIES) is not None

    def _hint(self) -> str | None:
        """Name the keys in the database when it has none of this catalog."""
        keys = sorted({str(key) for (key,) in self._database.select(TABLES, ["catalog_key"], {})})
        if not keys or self._key in keys:
            return None
        shown = ", ".join(repr(key) for key in keys[:5])
        return f"the database holds tables of catalogs with the catalog-key {shown}, not {self._key!r}"
