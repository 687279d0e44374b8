"""Catalogs in a SQL database, with the tables of Java's `JdbcCatalog` (V0 and V1) and of PyIceberg's `SqlCatalog`.

    iceberg_tables                    catalog_name, table_namespace ("a.b"), table_name, metadata_location,
                                      previous_metadata_location; V1: iceberg_type (TABLE, VIEW, or NULL for a table)
    iceberg_namespace_properties      catalog_name, namespace ("a.b"), property_key, property_value

What lies below a namespace is told apart here, not by LIKE. The first change makes the tables, and a file of SQLite, if
they are not there, unless the property `init_catalog_tables` is false.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import sqlalchemy as sa

from frazil import errors
from frazil.catalog.database import Database
from frazil.catalog.identifiers import dotted
from frazil.catalog.rows import RowCatalog

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from frazil.catalog.identifiers import Levels
    from frazil.catalog.table import CatalogTable

_TABLES = ("catalog_name", "table_namespace", "table_name", "metadata_location")
_TABLES_OPTIONAL = ("previous_metadata_location", "iceberg_type")
_NAMESPACES = ("catalog_name", "namespace", "property_key", "property_value")

_EXISTS = {"exists": "true"}
"""Keeps a namespace without properties in the table."""


def _column(name: str, length: int, *, key: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(length), primary_key=key, nullable=not key)


_NEW = sa.MetaData()
"""The tables as Java's `JdbcCatalog` (V1) and PyIceberg make them."""
_TABLES_NEW = sa.Table(
    "iceberg_tables",
    _NEW,
    *(_column(name, 255, key=True) for name in _TABLES[:3]),
    _column("metadata_location", 1000),
    _column("previous_metadata_location", 1000),
    _column("iceberg_type", 5),
)
_PROPERTIES_NEW = sa.Table(
    "iceberg_namespace_properties",
    _NEW,
    *(_column(name, 255, key=True) for name in _NAMESPACES[:3]),
    _column("property_value", 1000),
)


class Schema(NamedTuple):
    """The tables of a catalog with the columns that the database has."""

    tables: sa.Table
    properties: sa.Table | None


NEW_SCHEMA = Schema(_TABLES_NEW, _PROPERTIES_NEW)


class SqlCatalog(RowCatalog):
    """The tables that a SQL database lists under the name of the catalog."""

    type: ClassVar[str] = "sql"

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Take `uri`, of SQLAlchemy or of JDBC, from the properties, and `jdbc.user` and `jdbc.password` if given."""
        super().__init__(name, properties, relocate)
        self._known: Schema | None = None
        self._database = self._new_database()

    def _new_database(self) -> Database:
        return Database(self.name, self.type, self.properties, may_be_absent=True)

    @property
    def _key(self) -> str:
        """The name of the catalog in the database."""
        return self.name

    def row(self, levels: Levels) -> _Row:
        """Give the row of a table, whether there is one or not."""
        return _Row(self, levels)

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
        return self._load(levels, str(found[0]))

    def _others(self, levels: Levels) -> list[tuple[str, str]]:
        table = self._schema.tables
        columns = [table.c.table_namespace, table.c.table_name, table.c.metadata_location]
        rows = self._rows(columns, table, self._is_table())
        own = (dotted(levels[:-1]), levels[-1])
        return [(f"{space}.{name}", place) for space, name, place in rows if place and (space, name) != own]

    def _rename(self, old: Levels, new: Levels) -> None:
        with self._changing() as connection:
            table = self._schema.tables
            names = {"table_namespace": dotted(new[:-1]), "table_name": new[-1]}
            renamed = sa.update(table).where(*self._is_row(old), self._is_table()).values(names)
            try:
                count = connection.execute(renamed).rowcount
            except sa.exc.IntegrityError:
                raise self._exists_already(new) from None
            if count != 1:
                raise self._no_such_table(old)

    def _drop(self, levels: Levels, expected: str | None) -> None:
        with self._changing() as connection:
            table = self._schema.tables
            named = (*self._is_row(levels), self._is_table())
            if connection.execute(sa.select(table.c.table_name).where(*named)).first() is None:
                raise self._no_such_table(levels)
            if expected is not None:
                named = (*named, table.c.metadata_location == expected)
            if connection.execute(sa.delete(table).where(*named)).rowcount != 1:
                raise self._changed_meanwhile(levels)

    def _create_namespace(self, levels: Levels, properties: Mapping[str, str]) -> bool:
        with self._changing() as connection:
            try:
                self._insert_properties(connection, levels, {**properties, **_EXISTS})
            except sa.exc.IntegrityError:
                connection.rollback()
                return False
            return True

    def _drop_namespace(self, levels: Levels) -> bool:
        with self._changing() as connection:
            tables, properties = self._schema
            rows = [sa.select(tables.c.table_namespace).where(tables.c.catalog_name == self._key)]
            rows += self._known_namespaces(properties)
            text = dotted(levels)
            for number, select in enumerate(rows):
                found = {known for (known,) in connection.execute(select.distinct()) if known}
                # The namespace itself is expected among those with properties only.
                if any(known.startswith(f"{text}.") or (known == text and number == 0) for known in found):
                    return False
            if properties is not None:
                connection.execute(sa.delete(properties).where(*self._of_namespace(properties, levels)))
            return True

    def _update_namespace(self, levels: Levels, removed: set[str], updated: Mapping[str, str]) -> set[str]:
        with self._changing() as connection:
            table = self._needed_properties()
            mine = self._of_namespace(table, levels)
            before = {key for (key,) in connection.execute(sa.select(table.c.property_key).where(*mine))}
            # One by one: databases limit the parameters of a statement.
            for key in before & (removed | updated.keys() | _EXISTS.keys()):
                connection.execute(sa.delete(table).where(*mine, table.c.property_key == key))
            self._insert_properties(connection, levels, {**updated, **_EXISTS})
            return before - _EXISTS.keys()

    def _insert_properties(self, connection: sa.Connection, levels: Levels, properties: Mapping[str, str]) -> None:
        name = {"catalog_name": self._key, "namespace": dotted(levels)}
        rows = [{**name, "property_key": key, "property_value": value} for key, value in properties.items()]
        connection.execute(sa.insert(self._needed_properties()), rows)

    def _needed_properties(self) -> sa.Table:
        table = self._schema.properties
        if table is None:
            message = f"the database of catalog {self.name!r} has no table iceberg_namespace_properties"
            raise errors.Catalog(message, context={"catalog": self.name})
        return table

    def _known_namespaces(self, properties: sa.Table | None) -> list[sa.Select[tuple[str]]]:
        if properties is None:
            return []
        return [sa.select(properties.c.namespace).where(properties.c.catalog_name == self._key)]

    def _of_namespace(self, properties: sa.Table, levels: Levels) -> tuple[sa.ColumnElement[bool], ...]:
        return properties.c.catalog_name == self._key, properties.c.namespace == dotted(levels)

    def _swap(self, connection: sa.Connection, levels: Levels, expected: str | None, new: str) -> bool:
        table = self._schema.tables
        values = {"metadata_location": new, "previous_metadata_location": expected, "iceberg_type": "TABLE"}
        values = {name: value for name, value in values.items() if name in table.c}
        if expected is not None:
            values.pop("iceberg_type", None)
            current = (*self._is_row(levels), self._is_table(), table.c.metadata_location == expected)
            return connection.execute(sa.update(table).where(*current).values(values)).rowcount == 1
        names = {"catalog_name": self._key, "table_namespace": dotted(levels[:-1]), "table_name": levels[-1]}
        try:
            connection.execute(sa.insert(table).values({**names, **values}))
        except sa.exc.IntegrityError:
            connection.rollback()
            if self._locations(levels) and not self._has_table(levels):
                message = f"catalog {self.name!r} has a view {dotted(levels)!r}"
                raise errors.AlreadyExists(message, context={"catalog": self.name}) from None
            return False
        return True

    @contextmanager
    def _changing(self) -> Iterator[sa.Connection]:
        """Begin a transaction of the database, in which the tables of a catalog are there."""
        makes_tables = self.properties.get("init_catalog_tables", "true").lower() != "false"
        known = self._known
        try:
            with self._database.changing(makes_file=makes_tables) as connection:
                if makes_tables:
                    self._init_tables(connection)
                yield connection
        except BaseException:
            # The tables that it made are undone, too.
            self._known = known
            raise

    def _prepare(self) -> None:
        if self._known is None:
            with self._changing():
                pass

    def _init_tables(self, connection: sa.Connection) -> None:
        """Make the tables that are missing."""
        if self._known is not None and self._known.properties is not None:
            return
        _NEW.create_all(connection, checkfirst=True)
        # Other connections do not see yet what this one made, which may be half of the tables only.
        columns = {column["name"].lower() for column in sa.inspect(connection).get_columns(NEW_SCHEMA.tables.name)}
        names = (*_TABLES, *(name for name in _TABLES_OPTIONAL if name in columns))
        tables = sa.Table(NEW_SCHEMA.tables.name, sa.MetaData(), *(sa.Column(name, sa.String()) for name in names))
        self._known = Schema(tables, NEW_SCHEMA.properties)

    def _locations(self, levels: Levels, *conditions: sa.ColumnElement[bool]) -> list[str | None]:
        table = self._schema.tables
        named = (*self._is_row(levels), *conditions)
        return [location for (location,) in self._rows([table.c.metadata_location], table, *named)]

    def _is_row(self, levels: Levels) -> tuple[sa.ColumnElement[bool], ...]:
        """Give the conditions for the row of a table or view."""
        columns = self._schema.tables.c
        of_namespace = columns.table_namespace == dotted(levels[:-1])
        return columns.catalog_name == self._key, of_namespace, columns.table_name == levels[-1]

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
        return self._database.select(columns, table.c.catalog_name == self._key, *conditions)

    @property
    def _schema(self) -> Schema:
        """The tables of the catalog as the database has them."""
        if self._known is None:
            tables = self._database.needed_table("iceberg_tables", _TABLES, "Iceberg catalog", _TABLES_OPTIONAL)
            self._known = Schema(tables, self._database.table("iceberg_namespace_properties", _NAMESPACES))
        return self._known

    def _hint(self) -> str | None:
        """Name the catalogs of the database when it has none of this name."""
        names = sorted({str(name) for (name,) in self._database.select([self._schema.tables.c.catalog_name])})
        if not names or self.name in names:
            return None
        shown = ", ".join(repr(name) for name in names[:5])
        return f"the database holds tables of catalogs named {shown}; the name of a catalog is its key there"


class _Row:
    """The row of a table, changed by compare and swap."""

    def __init__(self, catalog: SqlCatalog, levels: Levels) -> None:
        self._catalog, self._levels = catalog, levels

    def location(self) -> str | None:
        catalog = self._catalog
        if not catalog._database.is_present:  # noqa: SLF001 - one thing in two classes
            return None
        return next(iter(catalog._locations(self._levels, catalog._is_table())), None)  # noqa: SLF001

    def replace(self, expected: str | None, new: str) -> bool:
        catalog = self._catalog
        with catalog._changing() as connection:  # noqa: SLF001
            return catalog._swap(connection, self._levels, expected, new)  # noqa: SLF001
