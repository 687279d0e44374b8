"""DELETE, UPDATE and MERGE of SQL statements: in this process, or in the workers if the table is large.

Rows are selected by a filter, or by a query that returns their addresses.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from frazil._literal import Lit, lit
from frazil._merge import set_clause
from frazil._run import HERE
from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.iceberg._table import at_state
from frazil.iceberg._verbs import carry_out, row_filter_of
from frazil.iceberg.operations.addressed import ChangeRows, SelectedRows
from frazil.iceberg.operations.row_change import Delete, Update
from frazil.iceberg.operations.values import Filter
from frazil.spark import _row_level
from frazil.spark._assignment import assigned, assigned_values
from frazil.spark._char import char_lengths, with_lengths
from frazil.spark._executor import SparkExecutor
from frazil.spark._iceberg_write import check_branch
from frazil.spark._input import collected_addresses, packed_addresses
from frazil.spark._merged_rows import merged_rows
from frazil.spark._plain import own_sql
from frazil.spark._to_arrow import to_arrow
from frazil.spark._type_conversion import spark_schema
from frazil.spark._write_audit import session_snapshot
from frazil.sql._insert import Insertion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from frazil._arguments import RowFilter
    from frazil._write_result import WriteResult
    from frazil.iceberg import Table
    from frazil.iceberg._state import TableState
    from frazil.paimon import Table as PaimonTable
    from frazil.sql._row_change import Change, Selection

LOCAL_LIMIT_BYTES = 256 << 20
"""The size of the files of a table up to which its rows are changed in this process."""

JOIN_LIMIT_BYTES = 32 << 20
"""The size of the files of a table up to which Spark joins all of its rows with the source of a MERGE."""


def delete(
    spark: SparkSession, table: Table | PaimonTable, row_filter: str | None, branch: str, properties: Mapping[str, str]
) -> WriteResult:
    """Delete the rows that match a filter; None for all rows, whose files are removed without being read."""
    if table.format == "paimon":
        rows = _on_branch(table, branch)
        if row_filter is None:
            return rows.truncate(snapshot_properties=properties)
        return rows.delete(row_filter, snapshot_properties=properties)
    options = session_snapshot(spark, table, branch, properties)
    check_branch(table, options)
    if row_filter is None:
        return carry_out(table, Delete(options=options, filter=None))
    if is_small(table, branch):
        return carry_out(table, Delete(options=options, filter=_filter_of(row_filter, table)))
    return _row_level.delete(spark, table, row_filter, branch=branch, snapshot_properties=properties)


def update(
    spark: SparkSession,
    table: Table | PaimonTable,
    values: Mapping[str, str],
    row_filter: str | None,
    branch: str,
    properties: Mapping[str, str],
) -> WriteResult:
    """Set columns of the rows that match a filter, or of all rows, to constants.

    Raises:
        InvalidArgumentError: A value does not fit its column.
        UnsupportedError: A value cannot be written as a literal.
    """
    literals = assigned_constants(spark, table, values)
    where = True if row_filter is None else row_filter
    if table.format == "paimon":
        return _on_branch(table, branch).update(literals, where, snapshot_properties=properties)
    options = session_snapshot(spark, table, branch, properties)
    check_branch(table, options)
    if is_small(table, branch):
        changed = Update(options=options, filter=_filter_of(where, table), assignments=set_clause(literals))
        return carry_out(table, changed)
    return _row_level.update(spark, table, literals, where, branch=branch, snapshot_properties=properties)


def _filter_of(given: RowFilter, table: Table) -> Filter:
    return row_filter_of(given, "where", table.schema().as_arrow, case_sensitive=True)


def _on_branch(table: PaimonTable, branch: str) -> PaimonTable:
    return table if branch == "main" else table.with_branch(branch)


def change(spark: SparkSession, table: Table, asked: Change[DataFrame], properties: Mapping[str, str]) -> WriteResult:
    """Change the rows whose addresses are the first two columns of a query, and insert the new rows of a MERGE.

    The query reads the latest state of `table`, because addresses are valid only in one state. It runs once for each
    attempt to commit. New values are assigned to the types of their columns, as Spark does in UPDATE.

    Raises:
        InvalidArgumentError: Spark does not assign values of a type to a column, or a required column would be NULL. Or
            several rows of the source of a MERGE match a row of the table.
        CommitConflictError: In every attempt, a concurrent writer changed the rows, or added rows that the statement
            may depend on.
        LimitExceededError: The addresses have more than `BROADCAST_LIMIT_BYTES` bytes.
    """
    options = session_snapshot(spark, table, asked.branch, properties)
    check_branch(table, options)
    operation = ChangeRows(options=options, kind=asked.kind)
    executor = HERE if is_small(table, asked.branch) else SparkExecutor(spark)
    return carry_out(table, operation, QueriedRows(table, asked), executor)


class QueriedRows:
    """The rows that the query of a statement selects in a state of a table."""

    def __init__(self, table: Table, asked: Change[DataFrame]) -> None:
        """Keep the table and the function that returns the query."""
        self._table, self._asked = table, asked

    def read(self, state: TableState) -> SelectedRows:
        """Run the query on a state, and collect the rows.

        Raises:
            FrazilError: The statement is not valid for this state, or as in `change`.
        """
        table = at_state(self._table, state)
        found = self._asked.select(table)
        try:
            return self._selected(found, table, state)
        finally:
            found.release()

    def _selected(self, found: Selection[DataFrame], table: Table, state: TableState) -> SelectedRows:
        limit, row_filter = _row_level.BROADCAST_LIMIT_BYTES, Filter(text=found.row_filter)
        if self._asked.kind == "merge":
            rows = merged_rows(found.frame, table, found.clauses, checks_matches=self._asked.checks_matches)
            return SelectedRows(rows.read(state, limit), row_filter, found.reads_others)
        if self._asked.kind == "delete":
            return SelectedRows(packed_addresses(found.frame, limit), row_filter, found.reads_others)
        frame = _assigned_values(found.frame, table, found.columns) if found.columns else found.frame
        return SelectedRows(collected_addresses(frame, state, limit), row_filter, found.reads_others)


def _assigned_values(frame: DataFrame, table: Table, columns: Sequence[str]) -> DataFrame:
    """Return a query with its values in the names and types of the columns, after the unchanged addresses."""
    own, address = table.scan().schema(), frame.columns[:2]
    target = spark_schema(pa.schema([own.field(name) for name in columns]), "error")
    return assigned_values(frame, [None, None, *target.fields]).toDF(*address, *columns)


def is_small(table: Table, branch: str, limit_bytes: int | None = None) -> bool:
    """Return whether the data files of a branch have at most `limit_bytes` bytes, by default `LOCAL_LIMIT_BYTES`."""
    ref = table.refs().get(branch) or table.refs().get("main")
    limit_bytes = LOCAL_LIMIT_BYTES if limit_bytes is None else limit_bytes
    return ref is None or _size_bytes(table, ref.snapshot_id) <= limit_bytes


def _size_bytes(table: Table, snapshot_id: int) -> int:
    """Return the size of the files of a snapshot; of the data files only, if the summary has no total."""
    snapshot = table.snapshot_by_id(snapshot_id)
    total = "" if snapshot is None else snapshot.summary.get("total-files-size", "")
    if total.isdecimal():
        return int(total)
    plan = table.scan(snapshot_id=snapshot_id).plan()
    return sum(pc.sum(batch.column("file_size_in_bytes")).as_py() or 0 for batch in plan.to_arrow_batch_reader())


def assigned_constants(spark: SparkSession, table: Table | PaimonTable, values: Mapping[str, str]) -> dict[str, Lit]:
    """Evaluate constants and assign them to the types of their columns, as Spark does in UPDATE."""
    own = table.scan().schema()
    fields = [own.field(name) for name in values]
    target = with_lengths(spark_schema(pa.schema(fields), "error"), char_lengths(table))
    text = f"SELECT {', '.join(values.values())}"
    row = to_arrow(assigned(own_sql(spark)(text), target, Insertion(columns=tuple(values))))
    return {field.name: _literal(field, row.column(place)) for place, field in enumerate(fields)}


def _is_uuid(field: pa.Field) -> bool:
    # The type is registered with pyarrow in later releases only.
    name = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode()
    return "arrow.uuid" in (name, getattr(field.type, "extension_name", ""))


def _literal(field: pa.Field, column: pa.ChunkedArray) -> Lit:
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp("us", "UTC"))
    try:
        value: Any = column[0].as_py()
    except (OverflowError, ValueError):
        message = f"column `{field.name}`: timestamps outside the years 1 to 9999 are not supported for UPDATE"
        raise UnsupportedError(message, context={"column": field.name}) from None
    if value is not None and _is_uuid(field):
        try:
            value = uuid.UUID(value)
        except ValueError:
            message = f"column `{field.name}`: {value!r} is not a UUID"
            raise InvalidArgumentError(message, context={"column": field.name}) from None
    written = lit(value)
    # The literals of NaN and infinities are casts to double.
    return Lit(f"CAST({written} AS float)") if isinstance(value, float) and pa.types.is_float32(field.type) else written
