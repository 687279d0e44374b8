"""Catalogs in a SQL database, with the tables of Java's `JdbcCatalog` (V0 and V1) and of PyIceberg's `SqlCatalog`.

    iceberg_tables                    catalog_name, table_namespace ("a.b"), table_name, metadata_location,
                                      previous_metadata_location; V1: iceberg_type (TABLE, VIEW, or NULL for a table)
    iceberg_namespace_properties      catalog_name, namespace ("a.b"), property_key, property_value

What lies below a namespace is told apart here, not by LIKE.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import sqlalchemy as sa

from frazil import errors
from frazil.catalog.base import Catalog
from frazil.catalog.database import Database
from frazil.catalog.identifiers import dotted
from frazil.catalog.table import CatalogTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from frazil.catalog.identifiers import Levels

_TABLES = ("catalog_name", "table_namespace", "table_name", "metadata_location")
_NAMESPACES = ("catalog_name", "namespace", "property_key", "property_value")


class _Schema(NamedTuple):
    """The tables of a catalog with the columns that the database has."""

    tables: sa.Table
    properties: sa.Table | None


class SqlCatalog(Catalog[CatalogTable]):
    """The tables that a SQL database lists under the name of the catalog."""

    type: ClassVar[str] = "sql"

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Take `uri`, of SQLAlchemy or of JDBC, from the properties, and `jdbc.user` and `jdbc.password` if given."""
        super().__init__(name, properties, relocate)
        self._database = Database(name, self.type, self.properties)

    def _child_namespaces(self, levels: Levels) -> set[Levels]:
        levels = tuple(dotted(levels).split(".")) if levels else ()
        depth = len(levels)
        known = (tuple(text.split(".")) for text in self._namespaces())
        return {found[: depth + 1] for found in known if len(found) > depth and found[:depth] == levels}

    def _tables(self, levels: Levels) -> set[Levels]:
        table = self._schema.tables
        named = self._rows([table.c.table_name], table, table.c.table_namespace == dotted(levels), self._is_table())
        return {(*levels, name) for (name,) in named}

    def _has_table(self, levels: Levels) -> bool:
        return bool(self._locations(levels, self._is_table()))

    def _has_namespace(self, levels: Levels) -> bool:
        text = dotted(levels)
        return not levels or any(known == text or known.startswith(f"{text}.") for known in self._namespaces())

    def _namespace_properties(self, levels: Levels) -> dict[str, str]:
        table = self._schema.properties
        found = {}
        if table is not None:
            of_namespace = table.c.namespace == dotted(levels)
            rows = self._rows([table.c.property_key, table.c.property_value], table, of_namespace)
            # `exists` only keeps a namespace without properties in the table.
            found = {row[0]: row[1] for row in rows if None not in row and row[0] != "exists"}
        warehouse = self.properties.get("warehouse")
        return ({"location": "/".join((warehouse.rstrip("/"), *levels))} if warehouse else {}) | found

    def _open(self, levels: Levels) -> CatalogTable:
        found = self._locations(levels, self._is_table())
        if not found:
            raise self._no_such_table(levels, "it is a view" if self._locations(levels) else None)
        if not found[0]:
            message = f"catalog {self.name!r} names no metadata file for table {dotted(levels)!r}"
            raise errors.Catalog(message, context={"catalog": self.name, "table": dotted(levels)})
        return CatalogTable.load(self, levels, self._relocated(str(found[0])), relocate=self._readable())

    def _locations(self, levels: Levels, *conditions: sa.ColumnElement[bool]) -> list[str | None]:
        table = self._schema.tables
        named = (table.c.table_namespace == dotted(levels[:-1]), table.c.table_name == levels[-1])
        return [location for (location,) in self._rows([table.c.metadata_location], table, *named, *conditions)]

    def _namespaces(self) -> set[str]:
        """Give the namespaces that have tables, views or properties, but for the root."""
        tables, properties = self._schema
        found = {text for (text,) in self._rows([tables.c.table_namespace], tables)}
        if properties is not None:
            found |= {text for (text,) in self._rows([properties.c.namespace], properties)}
        return {text for text in found if text}

    def _is_table(self) -> sa.ColumnElement[bool]:
        """Give the condition that a row is no view; V0 has no views."""
        table = self._schema.tables
        if "iceberg_type" not in table.c:
            return sa.true()
        return sa.or_(table.c.iceberg_type == "TABLE", table.c.iceberg_type.is_(None))

    def _rows(
        self, columns: Sequence[sa.Column[str]], table: sa.Table, *conditions: sa.ColumnElement[bool]
    ) -> list[tuple[Any, ...]]:
        return self._database.select(columns, table.c.catalog_name == self.name, *conditions)

    @cached_property
    def _schema(self) -> _Schema:
        """Give the tables of the catalog as the database has them."""
        tables = self._database.needed_table("iceberg_tables", _TABLES, "Iceberg catalog", ("iceberg_type",))
        return _Schema(tables, self._database.table("iceberg_namespace_properties", _NAMESPACES))

    def _hint(self) -> str | None:
        """Name the catalogs of the database when it has none of this name."""
        names = sorted({str(name) for (name,) in self._database.select([self._schema.tables.c.catalog_name])})
        if not names or self.name in names:
            return None
        shown = ", ".join(repr(name) for name in names[:5])
        return f"the database holds tables of catalogs named {shown}; the name of a catalog is its key there"
