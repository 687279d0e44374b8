"""Catalogs in a SQL database, with the tables of Java's `JdbcCatalog` (V0 and V1) and of PyIceberg's `SqlCatalog`.

    iceberg_tables                    catalog_name, table_namespace ("a.b"), table_name, metadata_location,
                                      previous_metadata_location; V1: iceberg_type (TABLE, VIEW, or NULL for a table)
    iceberg_namespace_properties      catalog_name, namespace ("a.b"), property_key, property_value

Only read: no table is made, no row is written, and a SQLite file that is not there stays away. Names go into statements
as parameters and are compared whole; what lies below a namespace is told apart here, not by LIKE.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from urllib.parse import unquote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from frazil import errors
from frazil.catalog.base import Catalog
from frazil.catalog.identifiers import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from frazil.catalog.identifiers import Levels

_TABLES = ("catalog_name", "table_namespace", "table_name", "metadata_location")
_NAMESPACES = ("catalog_name", "namespace", "property_key", "property_value")


class _Schema(NamedTuple):
    """The tables of a catalog with the columns that the database has."""

    tables: sa.Table
    properties: sa.Table | None


class SqlCatalog(Catalog):
    """The tables that a SQL database lists under the name of the catalog."""

    type: ClassVar[str] = "sql"

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Take `uri`, of SQLAlchemy or of JDBC, from the properties, and `jdbc.user` and `jdbc.password` if given."""
        super().__init__(name, properties, relocate)
        self._engine = _engine(name, self.properties)

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

    def _location(self, levels: Levels) -> str:
        found = self._locations(levels, self._is_table())
        if not found:
            raise self._no_such_table(levels, "it is a view" if self._locations(levels) else None)
        if not found[0]:
            message = f"catalog {self.name!r} names no metadata file for table {dotted(levels)!r}"
            raise errors.Catalog(message, context={"catalog": self.name, "table": dotted(levels)})
        return self._relocated(str(found[0]))

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
        query = sa.select(*columns).distinct().where(table.c.catalog_name == self.name, *conditions)
        with self._guarded(), self._engine.connect() as connection:
            return [tuple(row) for row in connection.execute(query)]

    @cached_property
    def _schema(self) -> _Schema:
        """Give the tables of the catalog as the database has them."""
        with self._guarded():
            inspector = sa.inspect(self._engine)
            columns = {
                table: {column["name"].lower() for column in inspector.get_columns(table)}
                for table in ("iceberg_tables", "iceberg_namespace_properties")
                if inspector.has_table(table)
            }
        tables = self._table("iceberg_tables", columns, _TABLES)
        if tables is None:
            message = (
                f"the database of catalog {self.name!r} has no table iceberg_tables, so it holds no Iceberg catalog"
            )
            raise errors.Catalog(message, context={"catalog": self.name, "database": self._database})
        namespaces = self._table("iceberg_namespace_properties", columns, _NAMESPACES)
        return _Schema(tables, namespaces)

    def _table(self, name: str, columns: Mapping[str, set[str]], needed: Sequence[str]) -> sa.Table | None:
        if name not in columns:
            return None
        missing = [column for column in needed if column not in columns[name]]
        if missing:
            message = f"table {name} of catalog {self.name!r} has no column {', '.join(missing)}"
            raise errors.Catalog(message, context={"catalog": self.name, "database": self._database})
        present = [*needed, *(column for column in ("iceberg_type",) if column in columns[name])]
        return sa.Table(name, sa.MetaData(), *(sa.Column(column, sa.String()) for column in present))

    def _hint(self) -> str | None:
        """Name the catalogs of the database when it has none of this name."""
        column = self._schema.tables.c.catalog_name
        with self._guarded(), self._engine.connect() as connection:
            names = sorted({str(name) for (name,) in connection.execute(sa.select(column).distinct())})
        if not names or self.name in names:
            return None
        shown = ", ".join(repr(name) for name in names[:5])
        return f"the database holds tables of catalogs named {shown}; the name of a catalog is its key there"

    @property
    def _database(self) -> str:
        url = self._engine.url
        return ":".join(part for part in (url.drivername, url.host, url.database) if part)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn errors of the database into ours, without statement, parameters and address."""
        try:
            yield
        except SQLAlchemyError as error:
            cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
            text = self._without_password(str(cause))
            message = f"the database of catalog {self.name!r} refused: {text}"
            context = {"catalog": self.name, "database": self._database}
            raise errors.Catalog(message, context=context) from None

    def _without_password(self, text: str) -> str:
        password = self._engine.url.password
        return text.replace(password, "***") if password else text


def _engine(name: str, properties: Mapping[str, str]) -> sa.Engine:
    uri = properties.get("uri")
    if not uri:
        message = f"catalog {name!r} of type sql needs the property 'uri'"
        raise errors.InvalidArgument(message, context={"catalog": name}, hint="such as sqlite:///path/catalog.db")
    try:
        url = _url(uri, properties)
    except (ArgumentError, ValueError):
        message = f"the uri of catalog {name!r} is no address of a database"
        raise errors.InvalidArgument(message, context={"catalog": name}) from None
    if url.get_backend_name() == "sqlite":
        return _sqlite(name, url)
    try:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        message = f"the driver for the database of catalog {name!r} is not installed: {error}"
        hint = "install it, or name another one, as in postgresql+psycopg://"
        raise errors.Unsupported(message, context={"catalog": name}, hint=hint) from None
    return engine.execution_options(postgresql_readonly=True)


def _url(uri: str, properties: Mapping[str, str]) -> sa.URL:
    """Read an address of SQLAlchemy, or one of JDBC, which has user and password in its query or beside it."""
    jdbc = uri.lower().startswith("jdbc:")
    address = uri[len("jdbc:") :] if jdbc else uri
    if jdbc and address.lower().startswith("sqlite:"):
        path = address[len("sqlite:") :].partition("?")[0]
        return sa.URL.create("sqlite", database=path.removeprefix("file:"))
    if address.startswith("postgres://"):
        address = "postgresql" + address[len("postgres") :]
    url = sa.make_url(address)
    given = {"username": properties.get("jdbc.user"), "password": properties.get("jdbc.password")}
    if jdbc:
        query = {"user": "username", "password": "password"}
        for key, part in query.items():
            value = url.query.get(key)
            given[part] = given[part] or (value if isinstance(value, str) else None)
        url = url.difference_update_query(query)
    return url.set(**{part: value for part, value in given.items() if value})  # type: ignore[arg-type]


def _sqlite(name: str, url: sa.URL) -> sa.Engine:
    """Open a SQLite file only to read, and only when it is there."""
    database = url.database or ""
    if database.startswith("file:"):
        database = unquote(database[len("file:") :].partition("?")[0])
    if database in {"", ":memory:"} or url.query.get("mode") == "memory":
        message = f"the uri of catalog {name!r} is a database in memory, which is empty"
        raise errors.InvalidArgument(message, context={"catalog": name}, hint="such as sqlite:///path/catalog.db")
    path = Path(database).absolute()
    if not path.is_file():
        message = f"the database of catalog {name!r} is not there"
        raise errors.MissingFile(message, context={"catalog": name, "file": str(path)})
    address = f"{path.as_uri()}?mode=ro"
    known = sa.URL.create("sqlite", database=str(path))
    return sa.create_engine(known, poolclass=sa.NullPool, creator=lambda: sqlite3.connect(address, uri=True))
