"""INSERT: the target columns of a query, and the rows that it replaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from frazil.sql._keys import partition_column
from frazil.sql._lexer import invalid, unsupported
from frazil.sql._moments import Moments
from frazil.sql._narrow import whole_filter
from frazil.sql._targets import branch_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from frazil._run import ReadSnapshot
    from frazil.sql._sources import Source
    from frazil.sql._statements import Insert

Mode = Literal["append", "overwrite", "dynamic"]


@dataclass(frozen=True)
class Insertion:
    """The way in which the rows of a query are written to a table."""

    mode: Mode = "append"
    """The mode of the write: `append`, or `overwrite` or `dynamic` for rows that replace existing rows.

    `overwrite` replaces the rows that match the constants or the filter, or all rows if neither is set; `dynamic`
    replaces the partitions that have new rows.
    """
    branch: str = "main"
    """The branch to change."""
    columns: tuple[str, ...] | None = None
    """The target columns, in the order of the query; None for all columns without a constant."""
    by_name: bool = False
    """Whether query columns are matched by name."""
    constants: Mapping[str, str | None] = field(default_factory=dict)
    """The columns with one value in all rows, given as a string that is cast to the type of the column."""
    row_filter: str | None = None
    """The filter for the rows to replace."""
    is_small: bool = False
    """Whether the query has so few rows that they are written without a Spark job."""
    read: ReadSnapshot | None = None
    """The snapshot of the branch that the query reads, if the query replaces rows of the same branch; None otherwise.
    """


class _Session(Protocol):
    def constants(self, texts: list[str]) -> list[str | None]: ...

    def overwrites_partitions(self) -> bool: ...

    def timestamp_has_zone(self) -> bool: ...

    def values(self, texts: Sequence[str]) -> list[Any]: ...


def insertion(statement: Insert, target: Source, text: str, session: _Session) -> Insertion:
    """Return the insertion that a statement describes.

    Raises:
        InvalidArgumentError: PARTITION contains a column that is not a partition column, or a condition does not fit
            the columns.
        UnsupportedError: The name refers to a metadata table or an immutable state, or frazil cannot evaluate the
            condition as Spark does.
    """
    table, branch = target.table, branch_of(statement.name, target, text)
    is_iceberg = hasattr(table, "spec")
    row_filter = None
    if statement.condition is not None:
        if not is_iceberg:
            raise unsupported(text, statement.condition.start, "REPLACE WHERE is not supported for Paimon tables")
        moments = Moments(session.values, timestamp_has_zone=session.timestamp_has_zone())
        row_filter = whole_filter(table.scan().schema(), statement.condition.text, moments)
        if row_filter is None:
            problem = "this condition of REPLACE WHERE is not supported"
            hint = "use comparisons of columns with constants, or the overwrite_filter of frazil.spark.write"
            raise unsupported(text, statement.condition.start, problem, hint)
    mode: Mode = "append"
    if row_filter is not None:
        mode = "overwrite"
    elif statement.overwrite:
        mode = "dynamic" if session.overwrites_partitions() else "overwrite"
    constants = _constants(statement, _partition_columns(table) if is_iceberg else table.partition_keys, text, session)
    return Insertion(mode, branch, statement.columns, statement.by_name, constants, row_filter, statement.is_values)


def _constants(statement: Insert, keys: list[str], text: str, session: _Session) -> dict[str, str | None]:
    """Return the constants of the PARTITION clause by column name, in the table's spelling."""
    found: dict[str, str] = {}
    seen = set()
    for one in statement.partition:
        key = partition_column(one, keys, text)
        if key in seen:
            raise invalid(text, one.start, f"PARTITION: `{one.column}` is specified twice")
        seen.add(key)
        if one.constant is not None:
            found[key] = one.constant.text
    return dict(zip(found, session.constants(list(found.values())), strict=True)) if found else {}


def _partition_columns(table: Any) -> list[str]:
    """Return the columns that are partitioned by identity, without columns that have a transform."""
    names = {one.field_id: one.name for one in table.schema().fields}
    fields = (one for one in table.spec().fields if one.transform == "identity")
    return [names[one.source_ids[0]] for one in fields if one.source_ids[0] in names]
