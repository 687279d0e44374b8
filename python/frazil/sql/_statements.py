"""The statements of Spark SQL as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.sql._alterations import Alteration
    from frazil.sql._column_types import Column
    from frazil.sql._parts import PartitionField, PartitionValue
    from frazil.sql._reader import Name, Text


@dataclass(frozen=True, slots=True)
class CreateTable:
    """`CREATE TABLE name (columns) USING provider …`, also with a query for the columns and rows, and with REPLACE."""

    name: Name
    columns: tuple[Column, ...]
    provider: str | None = None
    partitioned_by: tuple[PartitionField, ...] = ()
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None
    if_not_exists: bool = False
    replaces: bool = False
    """Whether an existing table is replaced."""
    creates: bool = True
    """Whether the table is created if it does not exist."""
    query: Text | None = None
    """The AS query."""
    primary_key: tuple[Name, ...] = ()
    """The columns of the PRIMARY KEY constraint."""
    with_start: int | None = None
    """The offset of WITH, if the statement sets its properties in this clause."""


@dataclass(frozen=True, slots=True)
class CreateTableLike:
    """`CREATE TABLE name LIKE source`."""

    name: Name
    source: Name
    provider: str | None = None
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropTable:
    """`DROP TABLE name`."""

    name: Name
    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True, slots=True)
class CreateCatalog:
    """`CREATE CATALOG name COMMENT 'comment' WITH (properties)`."""

    name: Name
    properties: Mapping[str, str] = field(default_factory=dict)
    if_not_exists: bool = False
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class DescribeCatalog:
    """`DESCRIBE CATALOG EXTENDED name`, as in Flink."""

    name: Name
    extended: bool = False


@dataclass(frozen=True, slots=True)
class DropCatalog:
    """`DROP CATALOG name`."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterTable:
    """`ALTER TABLE name …`, and `COMMENT ON TABLE name`; the changes are committed together."""

    name: Name
    changes: tuple[Alteration, ...]


@dataclass(frozen=True, slots=True)
class AlterNamespace:
    """`ALTER NAMESPACE name SET PROPERTIES`, and `COMMENT ON NAMESPACE name`."""

    name: Name
    properties: Mapping[str, str] = field(default_factory=dict)
    removals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateNamespace:
    """`CREATE NAMESPACE name`, or the same with DATABASE or SCHEMA."""

    name: Name
    properties: Mapping[str, str] = field(default_factory=dict)
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropNamespace:
    """`DROP NAMESPACE name`."""

    name: Name
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """`USE name`; the name is a catalog with or without a namespace, or a namespace of the current catalog."""

    name: Name
    is_catalog: bool = False
    is_namespace: bool = False


@dataclass(frozen=True, slots=True)
class ShowTables:
    """`SHOW TABLES IN namespace LIKE pattern`."""

    namespace: Name | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowNamespaces:
    """`SHOW NAMESPACES IN parent LIKE pattern`, or the same with DATABASES or SCHEMAS."""

    parent: Name | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCatalogs:
    """`SHOW CATALOGS LIKE pattern`."""

    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCurrent:
    """`SHOW CURRENT NAMESPACE` and `SHOW CURRENT CATALOG`."""

    is_catalog: bool = False


@dataclass(frozen=True, slots=True)
class ShowTableExtended:
    """`SHOW TABLE EXTENDED IN namespace LIKE pattern`."""

    namespace: Name | None
    pattern: str


@dataclass(frozen=True, slots=True)
class ShowCreate:
    """`SHOW CREATE TABLE name`."""

    name: Name


@dataclass(frozen=True, slots=True)
class ShowProperties:
    """`SHOW TBLPROPERTIES name (key)`."""

    name: Name
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ShowColumns:
    """`SHOW COLUMNS IN name`."""

    name: Name


@dataclass(frozen=True, slots=True)
class ShowPartitions:
    """`SHOW PARTITIONS name PARTITION (column = constant)`."""

    name: Name
    partition: tuple[PartitionValue, ...] = ()


@dataclass(frozen=True, slots=True)
class Describe:
    """`DESCRIBE TABLE EXTENDED name`, and `DESCRIBE name column`."""

    name: Name
    extended: bool = False
    column: Name | None = None


@dataclass(frozen=True, slots=True)
class DescribeNamespace:
    """`DESCRIBE NAMESPACE EXTENDED name`."""

    name: Name
    extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeQuery:
    """`DESCRIBE QUERY query`; `head` is the text before the query."""

    head: str
    query: Text


@dataclass(frozen=True, slots=True)
class Insert:
    """`INSERT INTO name …` and `INSERT OVERWRITE name …`, with VALUES or another query."""

    name: Name
    query: Text
    columns: tuple[str, ...] | None = None
    """The target columns of the query; None for all."""
    by_name: bool = False
    """Whether query columns are matched by name instead of position."""
    partition: tuple[PartitionValue, ...] = ()
    overwrite: bool = False
    condition: Text | None = None
    """The condition of REPLACE WHERE; matching rows are deleted."""
    is_values: bool = False
    """Whether the query is VALUES with a plain list of rows."""


@dataclass(frozen=True, slots=True)
class Target:
    """The table that a statement changes, and its alias."""

    name: Name
    alias: str | None = None

    @property
    def qualifier(self) -> tuple[str, ...]:
        """The name by whose last parts columns can be qualified."""
        return self.name.parts if self.alias is None else (self.alias,)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A column, or a field of a column, and its new value."""

    path: tuple[str, ...]
    value: Text | None
    """The expression; None for DEFAULT."""
    start: int


@dataclass(frozen=True, slots=True)
class Delete:
    """`DELETE FROM name WHERE condition`."""

    target: Target
    condition: Text | None = None
    common: Text | None = None
    """The WITH clause."""


@dataclass(frozen=True, slots=True)
class Update:
    """`UPDATE name SET column = value, … WHERE condition`."""

    target: Target
    assignments: tuple[Assignment, ...]
    condition: Text | None = None
    common: Text | None = None
    """The WITH clause."""


When = Literal["matched", "not_matched", "not_matched_by_source"]
"""The rows that a clause of MERGE applies to."""

Action = Literal["update", "update_all", "delete", "insert", "insert_all"]
"""The action of a clause of MERGE; those with `all` set every column from the source."""


@dataclass(frozen=True, slots=True)
class MergeClause:
    """`WHEN … AND condition THEN action` of a MERGE."""

    when: When
    action: Action
    condition: Text | None
    assignments: tuple[Assignment, ...]
    start: int


@dataclass(frozen=True, slots=True)
class Merge:
    """`MERGE INTO name USING source ON condition WHEN …`."""

    target: Target
    source: Text
    """A table, possibly with time travel, or a query in parentheses."""
    source_alias: str | None
    on: Text
    clauses: tuple[MergeClause, ...]
    common: Text | None = None
    """The WITH clause."""


@dataclass(frozen=True, slots=True)
class Truncate:
    """`TRUNCATE TABLE name PARTITION (column = constant)`."""

    name: Name
    partition: tuple[PartitionValue, ...] = ()


@dataclass(frozen=True, slots=True)
class Analyze:
    """`ANALYZE TABLE name COMPUTE STATISTICS FOR COLUMNS column, column`."""

    name: Name
    columns: tuple[str, ...] | None = ()
    """The columns; None for all columns."""
    refused: tuple[tuple[str, int], ...] = ()
    """The clauses that only Spark's tables support, with their positions."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a procedure: an expression that does not use columns, with or without a name."""

    name: str | None
    value: Text


@dataclass(frozen=True, slots=True)
class Call:
    """`CALL catalog.system.procedure(argument, name => argument)`."""

    procedure: Name
    arguments: tuple[Argument, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A query, which is run by Spark."""

    text: str


@dataclass(frozen=True, slots=True)
class Explain:
    """`EXPLAIN mode query`; `head` is the text before the query."""

    head: str
    query: Text
    changes_rows: bool = False
    """Whether the query is a statement that changes rows: DELETE, UPDATE, MERGE or TRUNCATE."""


@dataclass(frozen=True, slots=True)
class CreateView:
    """`CREATE TEMPORARY VIEW name (columns) AS query`."""

    name: Name
    query: Text
    columns: tuple[str, ...] | None = None
    replaces: bool = False
    is_global: bool = False


@dataclass(frozen=True, slots=True)
class ShowTags:
    """`SHOW TAGS name`, of a Paimon table."""

    name: Name


@dataclass(frozen=True, slots=True)
class DropView:
    """`DROP VIEW name`."""

    name: Name


@dataclass(frozen=True, slots=True)
class RefreshTable:
    """`REFRESH TABLE name`."""

    name: Name


@dataclass(frozen=True, slots=True)
class CacheTable:
    """`CACHE TABLE name`, also with a query for a new temporary view."""

    name: Name
    head: str
    """The statement without its query."""
    query: Text | None = None


@dataclass(frozen=True, slots=True)
class UncacheTable:
    """`UNCACHE TABLE name`."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Other:
    """A statement that only Spark can run, unless it refers to a table of a frazil catalog."""

    what: str
    start: int
    is_of_session: bool = False


Statement = (
    CreateTable
    | CreateTableLike
    | DropTable
    | AlterTable
    | CacheTable
    | ShowTags
    | DropView
    | RefreshTable
    | UncacheTable
    | AlterNamespace
    | ShowTableExtended
    | ShowCreate
    | ShowProperties
    | ShowColumns
    | ShowPartitions
    | DescribeNamespace
    | DescribeQuery
    | CreateCatalog
    | DescribeCatalog
    | DropCatalog
    | CreateNamespace
    | DropNamespace
    | Use
    | ShowTables
    | ShowNamespaces
    | ShowCatalogs
    | ShowCurrent
    | Describe
    | Insert
    | Delete
    | Update
    | Merge
    | Truncate
    | Analyze
    | Call
    | Query
    | Explain
    | CreateView
    | Other
)
