"""The tables and rows of Java's `JdbcCatalog` for Paimon, as in release 1.4.

    paimon_tables                  catalog_key, database_name, table_name
    paimon_database_properties     catalog_key, database_name, property_key, property_value
    paimon_table_properties        catalog_key, database_name, table_name, property_key, property_value
    paimon_distributed_locks       lock_id, acquired_at, expire_time_seconds

`paimon_table_properties` holds a copy of the options of each table; the schema file is authoritative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.catalog._identifiers import Levels
    from frazil.catalog._sql_session import Session
    from frazil.paimon._schema import Schema

TABLES = "paimon_tables"
DATABASE_PROPERTIES = "paimon_database_properties"
TABLE_PROPERTIES = "paimon_table_properties"
LOCKS = "paimon_distributed_locks"

EXISTS = {"exists": "true"}
"""The marker property of every database, which gives a database without other properties a row."""

_KEY = "catalog_key VARCHAR(255) NOT NULL,database_name VARCHAR(255) NOT NULL,"
_NAME = "table_name VARCHAR(255) NOT NULL,"


@dataclass(frozen=True, slots=True)
class JavaTable:
    """A table with the exact statement that Java creates it with."""

    name: str
    columns: str

    def statement(self) -> str:
        """Return the `CREATE TABLE` statement, exactly as Java issues it."""
        return f"CREATE TABLE {self.name}({self.columns})"


NEW_TABLES = (
    JavaTable(TABLES, f"{_KEY}{_NAME} PRIMARY KEY (catalog_key, database_name, table_name)"),
    JavaTable(
        DATABASE_PROPERTIES,
        f"{_KEY}property_key VARCHAR(255),property_value VARCHAR(1000),"
        "PRIMARY KEY (catalog_key, database_name, property_key)",
    ),
    JavaTable(
        TABLE_PROPERTIES,
        f"{_KEY}{_NAME}property_key VARCHAR(255) NOT NULL,property_value VARCHAR(1000),"
        "PRIMARY KEY (catalog_key, database_name, table_name, property_key)",
    ),
)


def lock_table(key_length: int) -> JavaTable:
    """Return the definition of the lock table, whose ids have at most `key_length` characters."""
    columns = (
        f"lock_id VARCHAR({key_length}) NOT NULL,"
        "acquired_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL,"
        "expire_time_seconds BIGINT DEFAULT 0 NOT NULL,"
        "PRIMARY KEY (lock_id)"
    )
    return JavaTable(LOCKS, columns)


def table_row(key: str, levels: Levels) -> dict[str, str]:
    """Return the `paimon_tables` row of a table."""
    return {"catalog_key": key, "database_name": levels[0], "table_name": levels[1]}


def database_row(key: str, levels: Levels) -> dict[str, str]:
    """Return the key columns that all property rows of a database have in common."""
    return {"catalog_key": key, "database_name": levels[0]}


def insert_properties(session: Session, table: str, row: Mapping[str, str], properties: Mapping[str, str]) -> None:
    """Insert one row per property."""
    for name, value in properties.items():
        session.insert(table, {**row, "property_key": name, "property_value": value})


def replace_table_properties(session: Session, row: Mapping[str, str], properties: Mapping[str, str]) -> None:
    """Replace the properties of a table if the database has a table for them."""
    if session.columns(TABLE_PROPERTIES) is not None:
        session.delete(TABLE_PROPERTIES, row)
        insert_properties(session, TABLE_PROPERTIES, row, properties)


def table_properties(schema: Schema) -> dict[str, str]:
    """Return the properties that Java stores for a table: its options and keys.

    >>> from frazil.paimon._schema import Schema
    >>> table_properties(Schema.of({"id": "INT"}))
    {}
    """
    given = schema.options.get("bucket-key")
    buckets = given.split(",") if given else [key for key in schema.primary_keys if key not in schema.partition_keys]
    keys = {"primary-key": schema.primary_keys, "partition": schema.partition_keys, "bucket-key": buckets}
    return dict(schema.options) | {name: ",".join(columns) for name, columns in keys.items() if columns}
