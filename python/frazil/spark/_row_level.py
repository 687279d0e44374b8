"""DELETE, UPDATE and MERGE: planned and committed on the driver, carried out file by file in the workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil._arguments import whole_number
from frazil._merge import MergeBuilder, set_clause
from frazil.iceberg._verbs import carry_out, row_filter_of
from frazil.iceberg.operations.merge import Merge
from frazil.iceberg.operations.row_change import Delete, Update
from frazil.spark._executor import SparkExecutor
from frazil.spark._iceberg_write import check_branch, open_table
from frazil.spark._input import CollectedFrame
from frazil.spark._worker_python import check_session, session_of
from frazil.spark._write_audit import session_snapshot

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from frazil._arguments import RowFilter
    from frazil._literal import Value
    from frazil._merge import MergePlan
    from frazil._write_result import WriteResult
    from frazil.iceberg import Table

BROADCAST_LIMIT_BYTES = 256 << 20
"""The default of `broadcast_limit_bytes`: the maximum size of the source of a merge."""


def delete(  # noqa: PLR0913 - as `Table.delete`
    spark: SparkSession,
    table: str | os.PathLike[str] | Table,
    where: RowFilter,
    *,
    case_sensitive: bool = True,
    branch: str | None = None,
    snapshot_properties: Mapping[str, str] | None = None,
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
) -> WriteResult:
    """Delete matching rows in Spark's workers, as `Table.delete` does.

    Without `branch`, the rows of `main` are deleted, or those of the branch `spark.wap.branch` of the session.
    """
    check_session(spark)
    opened = open_table(table, relocate, storage)
    options = session_snapshot(spark, opened, branch, snapshot_properties)
    check_branch(opened, options)
    row_filter = row_filter_of(where, "where", opened.schema().as_arrow, case_sensitive=case_sensitive)
    asked = Delete(options=options, filter=row_filter)
    return carry_out(opened, asked, executor=SparkExecutor(spark))


def update(  # noqa: PLR0913 - as `delete`, and what is set
    spark: SparkSession,
    table: str | os.PathLike[str] | Table,
    set: Mapping[str, Value],  # noqa: A002 - as SQL has it
    where: RowFilter = True,  # noqa: FBT002 - a filter
    *,
    case_sensitive: bool = True,
    branch: str | None = None,
    snapshot_properties: Mapping[str, str] | None = None,
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
) -> WriteResult:
    """Set columns of matching rows in Spark's workers, as `Table.update` does.

    Without `branch`, the rows of `main` change, or those of the branch `spark.wap.branch` of the session.
    """
    check_session(spark)
    opened = open_table(table, relocate, storage)
    options = session_snapshot(spark, opened, branch, snapshot_properties)
    check_branch(opened, options)
    asked = Update(
        options=options,
        filter=row_filter_of(where, "where", opened.schema().as_arrow, case_sensitive=case_sensitive),
        assignments=set_clause(set),
    )
    return carry_out(opened, asked, executor=SparkExecutor(spark))


def merge(  # noqa: PLR0913 - as `Table.merge`
    source: DataFrame,
    table: str | os.PathLike[str] | Table,
    on: str | Sequence[str],
    *,
    source_alias: str = "source",
    target_alias: str = "target",
    branch: str | None = None,
    snapshot_properties: Mapping[str, str] | None = None,
    broadcast_limit_bytes: int = BROADCAST_LIMIT_BYTES,
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
) -> MergeBuilder[WriteResult]:
    """Begin a MERGE as `Table.merge` does; `execute` carries it out in Spark's workers.

    Without `branch`, the rows of `main` change, or those of the branch `spark.wap.branch` of the session.
    At the start of the execution, the source is collected once and sent to every worker. New rows are written on the
    driver.

    Raises:
        LimitExceededError: On execution: the source has more than `broadcast_limit_bytes` bytes.
    """
    check_session(session_of(source, "source"))
    opened = open_table(table, relocate, storage)
    rows = CollectedFrame(source, whole_number("broadcast_limit_bytes", broadcast_limit_bytes))
    options = session_snapshot(source.sparkSession, opened, branch, snapshot_properties)

    def execute(plan: MergePlan) -> WriteResult:
        check_branch(opened, options)
        return carry_out(opened, Merge(options=options, merge=plan), rows, SparkExecutor(source.sparkSession))

    return MergeBuilder(execute, on, source_alias=source_alias, target_alias=target_alias)
