"""Catalogs of Paimon tables in a SQL database; see `frazil.catalog.paimon`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from frazil import errors
from frazil.catalog.database import Database
from frazil.catalog.paimon import DATABASE_SUFFIX, PaimonCatalog

if TYPE_CHECKING:
    from collections.abc import Mapping

    import sqlalchemy as sa

    from frazil.catalog.identifiers import Levels

DEFAULT_KEY = "jdbc"
"""The `catalog-key` where none is given."""

_TABLES = ("catalog_key", "database_name", "table_name")
_PROPERTIES = ("catalog_key", "database_name", "property_key", "property_value")


class _Schema(NamedTuple):
    """The tables of a catalog in its database."""

    tables: sa.Table
    properties: sa.Table | None


class PaimonJdbcCatalog(PaimonCatalog):
    """The tables that a SQL database lists under a `catalog-key`, as Java's `JdbcCatalog` keeps them."""

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Take `uri`, of SQLAlchemy or of JDBC, `catalog-key` and `warehouse` from the properties."""
        super().__init__(name, properties, relocate)
        self._database = Database(name, self.type, self.properties)
        self._key = self.properties.get("catalog-key", DEFAULT_KEY)

    def _child_namespaces(self, levels: Levels) -> set[Levels]:
        return set() if levels else {(database,) for database in self._databases()}

    def _tables(self, levels: Levels) -> set[Levels]:
        if len(levels) != 1:
            return set()
        table = self._schema.tables
        of_database = table.c.database_name == levels[0]
        rows = self._database.select([table.c.table_name], table.c.catalog_key == self._key, of_database)
        return {(*levels, name) for (name,) in rows}

    def _has_main(self, levels: Levels) -> bool:
        return levels in self._tables(levels[:-1])

    def _has_namespace(self, levels: Levels) -> bool:
        return not levels or (len(levels) == 1 and levels[0] in self._databases())

    def _namespace_properties(self, levels: Levels) -> dict[str, str]:
        table = self._schema.properties
        if table is None or len(levels) != 1:
            return {}
        columns = [table.c.property_key, table.c.property_value]
        of_database = table.c.database_name == levels[0]
        rows = self._database.select(columns, table.c.catalog_key == self._key, of_database)
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
                raise errors.InvalidArgument(message, context={"catalog": self.name, "database": database})
            location = f"{warehouse.rstrip('/')}/{database}{DATABASE_SUFFIX}"
        return self._relocated(f"{location.rstrip('/')}/{name}")

    def _databases(self) -> set[str]:
        return {
            str(database)
            for table in self._schema
            if table is not None
            for (database,) in self._database.select([table.c.database_name], table.c.catalog_key == self._key)
        }

    @cached_property
    def _schema(self) -> _Schema:
        tables = self._database.needed_table("paimon_tables", _TABLES, "Paimon catalog")
        return _Schema(tables, self._database.table("paimon_database_properties", _PROPERTIES))

    def _hint(self) -> str | None:
        """Name the keys in the database when it has none of this catalog."""
        keys = sorted({str(key) for (key,) in self._database.select([self._schema.tables.c.catalog_key])})
        if not keys or self._key in keys:
            return None
        shown = ", ".join(repr(key) for key in keys[:5])
        return f"the database holds tables of catalogs with the catalog-key {shown}, not {self._key!r}"
