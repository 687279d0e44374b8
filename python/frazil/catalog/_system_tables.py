"""The system tables of a Paimon catalog, across all tables (Paimon documentation: "Global System Table")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._virtual_table import VirtualTable
from frazil.catalog._properties import is_secret, masked
from frazil.errors import CorruptMetadataError, InvalidArgumentError, NoSuchTableError
from frazil.paimon._plain_tables import PLAIN_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Unpack

    import pyarrow as pa

    from frazil._virtual_table import ReadOptions
    from frazil.catalog._base import Catalog
    from frazil.paimon._table import Table

SYSTEM_DATABASE = "sys"
"""The database that contains the system tables of a catalog."""

_MASK = "***"
_OF_TABLES = {
    "database_name": "string",
    "table_name": "string",
    "table_type": "string",
    "partitioned": "bool",
    "primary_key": "bool",
    "owner": "string",
    "created_at": "int64",
    "created_by": "string",
    "updated_at": "int64",
    "updated_by": "string",
    "record_count": "int64",
    "file_size_in_bytes": "int64",
    "file_count": "int64",
    "last_file_creation_time": "int64",
}
_OF_PARTITIONS = {
    "database_name": "string",
    "table_name": "string",
    "partition_name": "string",
    "record_count": "int64",
    "file_size_in_bytes": "int64",
    "file_count": "int64",
    "last_file_creation_time": "int64",
    "done": "bool",
}
_OF_TABLE_OPTIONS = {"database_name": "string", "table_name": "string", "key": "string", "value": "string"}
_OF_OPTIONS = {"key": "string", "value": "string"}

_JAVA_NAMES = {"tables": "all_tables", "partitions": "all_partitions"}
"""The names of two system tables in Java's database `sys`."""


class CatalogInspect:
    """The system tables of a Paimon catalog, with the columns of the Java library.

    Each method returns the rows of a system table as a `pyarrow.Table` and accepts `row_filter`, `selected_fields`,
    `case_sensitive` and `limit`. `inspect["all_tables"]` returns the system table itself, for `scan(...).to_pandas()`,
    `.to_polars()` or `.to_duckdb(...)`.

    >>> import frazil
    >>> catalog = frazil.load_catalog("lake", type="paimon", warehouse="tests/golden/paimon_catalogs/filesystem")
    >>> catalog.inspect.all_tables(row_filter="primary_key", selected_fields=["table_name"]).to_pylist()
    [{'table_name': 't1'}]
    """

    def __init__(self, catalog: Catalog[Any]) -> None:
        """Not for direct use; use the `inspect` property of a catalog."""
        self._catalog = catalog

    @staticmethod
    def names() -> list[str]:
        """Return the names of all system tables."""
        return sorted(_TABLES)

    def __contains__(self, name: object) -> bool:
        """Return whether a system table of this name exists, including Java's names."""
        return name in _TABLES or name in _JAVA_NAMES

    def __getitem__(self, name: str) -> VirtualTable:
        """Return the system table of this name, with the current rows of the catalog.

        Raises:
            InvalidArgumentError: The system table does not exist.
        """
        import pyarrow as pa

        columns, rows = _TABLES.get(_JAVA_NAMES.get(name, name), (None, None))
        if columns is None or rows is None:
            message = f"the catalog has no system table {name!r}"
            raise InvalidArgumentError(message, hint=f"the system tables are {', '.join(self.names())}")
        schema = pa.schema(list(columns.items()))
        found = [dict(zip(columns, row, strict=True)) for row in rows(self._catalog)]
        batch = pa.RecordBatch.from_pylist(found, schema=schema)
        return VirtualTable(_native.VirtualTable.of_rows(batch), name, f"{SYSTEM_DATABASE}.{name}")

    def all_tables(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return all tables.

        Rows and files are not counted: the columns for counts are NULL, as in Java's filesystem and JDBC catalogs.
        """
        return self["all_tables"].scan(**options).to_arrow()

    def all_partitions(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the partitions of all partitioned tables."""
        return self["all_partitions"].scan(**options).to_arrow()

    def all_table_options(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the options of all tables."""
        return self["all_table_options"].scan(**options).to_arrow()

    def catalog_options(self, **options: Unpack[ReadOptions]) -> pa.Table:
        """Return the properties of the catalog; secrets are masked."""
        return self["catalog_options"].scan(**options).to_arrow()

    def __repr__(self) -> str:
        """Return a representation with the names of the tables."""
        return f"<frazil.catalog.CatalogInspect of {self._catalog.name!r}: {', '.join(self.names())}>"


def _tables(catalog: Catalog[Any]) -> Iterator[tuple[str, str, Table]]:
    """Open all tables, except those that are dropped concurrently."""
    for namespace in catalog.list_namespaces():
        for database, name in catalog.list_tables(namespace):
            try:
                table = catalog.load_table((database, name))
            except NoSuchTableError:
                continue
            yield database, name, table


def _rows_of_tables(catalog: Catalog[Any]) -> Iterator[tuple[Any, ...]]:
    for database, name, table in _tables(catalog):
        options = table.options
        yield (
            database,
            name,
            table.table_type,
            bool(table.partition_keys),
            bool(table.primary_keys),
            options.get("owner"),
            _number(table, "createdAt"),
            options.get("createdBy"),
            _number(table, "updatedAt"),
            options.get("updatedBy"),
            *(None,) * 4,
        )


def _rows_of_partitions(catalog: Catalog[Any]) -> Iterator[tuple[Any, ...]]:
    import pyarrow as pa

    for database, name, table in _tables(catalog):
        if not table.partition_keys or table.table_type in PLAIN_TYPES:
            continue
        found = table.inspect.partitions()
        times = found["last_update_time"].cast(pa.int64())
        columns = ("partition", "record_count", "file_size_in_bytes", "file_count")
        values = [found[column].to_pylist() for column in columns]
        for row in zip(*values, times.to_pylist(), strict=True):
            yield database, name, *row, False


def _rows_of_table_options(catalog: Catalog[Any]) -> Iterator[tuple[Any, ...]]:
    for database, name, table in _tables(catalog):
        for key, value in table.options.items():
            yield database, name, key, value


def _rows_of_options(catalog: Catalog[Any]) -> Iterator[tuple[Any, ...]]:
    for key, value in catalog.properties.items():
        yield key, _MASK if is_secret(key) else masked(value)


def _number(table: Table, option: str) -> int | None:
    text = table.options.get(option)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        message = f"the option `{option}` is {text!r}, expected milliseconds since the epoch"
        raise CorruptMetadataError(message, context={"table": table.location}) from None


_TABLES: dict[str, tuple[dict[str, str], Callable[[Catalog[Any]], Iterator[tuple[Any, ...]]]]] = {
    "all_partitions": (_OF_PARTITIONS, _rows_of_partitions),
    "all_table_options": (_OF_TABLE_OPTIONS, _rows_of_table_options),
    "all_tables": (_OF_TABLES, _rows_of_tables),
    "catalog_options": (_OF_OPTIONS, _rows_of_options),
}
"""The columns and the rows of each system table."""
