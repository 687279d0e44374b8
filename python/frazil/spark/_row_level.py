"""DELETE, UPDATE and MERGE: planned here, carried out file by file in the workers, committed here, once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from frazil._arguments import filter_text, whole_number
from frazil._write_result import RowCounts
from frazil.errors import InvalidArgumentError, LimitExceededError
from frazil.files.rows.batches import no_rows, size_bytes
from frazil.iceberg._merge import MergeBuilder, set_clause
from frazil.iceberg._merging import Merging, Source
from frazil.iceberg._row_level import Deleting, RowLevel, Updating, target_schema
from frazil.spark._iceberg import size_of
from frazil.spark._shared import shared
from frazil.spark._state import OPEN_COST_BYTES, SPLIT_BYTES
from frazil.spark._taking import Taking
from frazil.spark._worker_python import check_session, session_of
from frazil.spark._workers import Operation, change_groups
from frazil.spark._writes import check_branch, open_table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from frazil import _native
    from frazil._literal import Value
    from frazil._write_result import WriteResult
    from frazil.iceberg import Table
    from frazil.iceberg._merge import MergePlan
    from frazil.iceberg._row_level import RowChange
    from frazil.iceberg._transaction import Transaction
    from frazil.spark._shared import Shared

    Asked: TypeAlias = "Delete | Update | Merge"

BROADCAST_LIMIT_BYTES = 256 << 20
"""The source of a merge may be so large, unless `broadcast_limit_bytes` says otherwise."""


@dataclass(frozen=True)
class Delete:
    """A DELETE as it was asked for."""

    row_filter: str
    case_sensitive: bool

    def change(self, table: Table, branch: str, tasks: _native.Tasks | None = None) -> Deleting:
        """Begin it: as a whole, or of the files of `tasks`."""
        sensitive = self.case_sensitive
        return Deleting(
            RowLevel(table, "delete", self.row_filter, branch=branch, case_sensitive=sensitive, tasks=tasks)
        )


@dataclass(frozen=True)
class Update:
    """An UPDATE as it was asked for."""

    values: list[tuple[str, str]]
    row_filter: str
    case_sensitive: bool

    def change(self, table: Table, branch: str, tasks: _native.Tasks | None = None) -> Updating:
        """Begin it: as a whole, or of the files of `tasks`."""
        sensitive = self.case_sensitive
        operation = RowLevel(table, "update", self.row_filter, branch=branch, case_sensitive=sensitive, tasks=tasks)
        return Updating(operation, self.values)


@dataclass(frozen=True)
class Merge:
    """A MERGE as it was asked for; `source` is an Arrow stream."""

    plan: MergePlan
    source: Shared

    def change(self, table: Table, branch: str, tasks: _native.Tasks | None = None) -> Merging:
        """Begin it: as a whole, or of the files of `tasks`."""
        source = Source(table, pa.ipc.open_stream(self.source.content()))
        merger = self.plan.merger(target_schema(table), source.schema)
        return Merging(table, merger, source, branch, tasks=tasks)


def delete(  # noqa: PLR0913 - as `Table.delete`
    spark: SparkSession,
    table: str | os.PathLike[str] | Table,
    where: str | bool,  # noqa: FBT001 - a filter
    *,
    case_sensitive: bool = True,
    branch: str = "main",
    snapshot_properties: Mapping[str, str] | None = None,
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
) -> WriteResult:
    """Delete the rows that match, as `Table.delete` does, in the workers of Spark."""
    check_session(spark)
    opened = open_table(table, relocate, storage)
    asked = Delete(filter_text(where, "where"), case_sensitive)
    return _carry_out(spark, opened, asked, branch, snapshot_properties)


def update(  # noqa: PLR0913 - as `delete`, and what is set
    spark: SparkSession,
    table: str | os.PathLike[str] | Table,
    set: Mapping[str, Value],  # noqa: A002 - as SQL has it
    where: str | bool = True,  # noqa: FBT001, FBT002 - a filter
    *,
    case_sensitive: bool = True,
    branch: str = "main",
    snapshot_properties: Mapping[str, str] | None = None,
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
) -> WriteResult:
    """Set columns of the rows that match, as `Table.update` does, in the workers of Spark."""
    check_session(spark)
    opened = open_table(table, relocate, storage)
    asked = Update(set_clause(set), filter_text(where, "where"), case_sensitive)
    return _carry_out(spark, opened, asked, branch, snapshot_properties)


def merge(  # noqa: PLR0913 - as `Table.merge`
    source: DataFrame,
    table: str | os.PathLike[str] | Table,
    on: str | Sequence[str],
    *,
    source_alias: str = "source",
    target_alias: str = "target",
    branch: str = "main",
    snapshot_properties: Mapping[str, str] | None = None,
    broadcast_limit_bytes: int = BROADCAST_LIMIT_BYTES,
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
) -> MergeBuilder[WriteResult]:
    """Begin a MERGE as `Table.merge` does; `execute` carries it out in the workers of Spark.

    The source is collected when that begins, once, and every worker gets all of it. New rows are written here.

    Raises:
        LimitExceededError: When it is executed: the source has more than `broadcast_limit_bytes` bytes.
    """
    check_session(session_of(source, "source"))
    opened = open_table(table, relocate, storage)
    limit_bytes = whole_number("broadcast_limit_bytes", broadcast_limit_bytes)

    def execute(plan: MergePlan) -> WriteResult:
        spark = source.sparkSession
        with shared(spark, _collected(source, opened, limit_bytes)) as rows:
            return _carry_out(spark, opened, Merge(plan, rows), branch, snapshot_properties)

    return MergeBuilder(execute, on, source_alias=source_alias, target_alias=target_alias)


def _carry_out(
    spark: SparkSession,
    table: Table,
    asked: Asked,
    branch: str,
    snapshot_properties: Mapping[str, str] | None,
) -> WriteResult:
    check_branch(table, branch)
    return table._change(lambda tx: _change(spark, tx, asked, branch, snapshot_properties))  # noqa: SLF001


def _change(
    spark: SparkSession,
    tx: Transaction,
    asked: Asked,
    branch: str,
    snapshot_properties: Mapping[str, str] | None,
) -> WriteResult:
    """Make the change in the workers, and take what they say of it."""
    table = tx.table()
    change: RowChange = asked.change(table, branch)
    planned = change.operation
    plan: Any = planned.plan
    pending = planned.pending() if isinstance(asked, Delete) else list(range(len(plan)))
    split_bytes = size_of(table.properties, "read.split.target-size") or SPLIT_BYTES
    groups = plan.whole_groups(pending, split_bytes, OPEN_COST_BYTES)
    operation = Operation(table)
    tx.written(operation)
    messages, found = change_groups(spark, operation, asked, branch, [content for _, content in groups])
    for index, row in enumerate(found):
        planned.delta.take(messages, index, groups[row.number][0])
    deleted, updated = change.counts()
    counts = RowCounts(deleted + sum(row.deleted for row in found), updated + sum(row.updated for row in found))
    rows: list[Any] = [messages]
    if isinstance(change, Merging):
        for index in range(len(found)):
            change.take_matched(messages.matched(index))
        rows.append(tx.write_changed(table, change.inserts()))
        counts = replace(counts, inserted=change.inserted)
    return tx.commit_rows(planned, snapshot_properties, rows, counts)


def _collected(source: DataFrame, table: Table, limit_bytes: int) -> bytes:
    """Give all rows of the source as an Arrow stream."""
    rows = source.toArrow()
    if size_bytes(rows) > limit_bytes:
        message = f"the source of the merge has {size_bytes(rows)} bytes, and broadcast_limit_bytes is {limit_bytes}"
        raise LimitExceededError(
            message, hint="raise broadcast_limit_bytes if driver and workers have the memory, or split it"
        )
    if not rows.num_columns:
        message = "the source of the merge has no columns"
        raise InvalidArgumentError(message)
    taking = Taking(target_schema(table))
    batches = [taking.apply(batch) for batch in rows.to_batches() or [no_rows(rows.schema)]]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())
