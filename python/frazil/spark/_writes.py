"""Writes of DataFrames into tables: workers write files, and this process commits once."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from frazil.errors import InvalidArgumentError
from frazil.iceberg import Transaction
from frazil.iceberg._table import replaces_definition
from frazil.spark._branch_read import snapshot_read_by
from frazil.spark._connected import named_table
from frazil.spark._iceberg_write import insert_into_iceberg, write_iceberg
from frazil.spark._paimon_write import insert_into_paimon, write_paimon
from frazil.spark._session_options import check_paimon_change, session_values
from frazil.spark._settings import PAIMON_PREFIX
from frazil.spark._worker_python import check_session, session_of
from frazil.spark._write_audit import session_snapshot
from frazil.spark._write_request import MODES, Mode, WriteRequest, opened_table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from frazil._arguments import RowFilter
    from frazil._run import ReadSnapshot
    from frazil._write_result import WriteResult
    from frazil.iceberg import Table
    from frazil.paimon import Table as PaimonTable
    from frazil.sql._insert import Insertion

__all__ = ["WRITERS", "read_of", "write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """The functions that write DataFrames into tables of a format."""

    write: Callable[[DataFrame, Any, WriteRequest], WriteResult]
    insert: Callable[[DataFrame, Any, Insertion, Mapping[str, Any], Mapping[str, str]], WriteResult]
    """A function that writes rows with all table columns, including the constants of a static partition."""


WRITERS = {
    "iceberg": Writer(write=write_iceberg, insert=insert_into_iceberg),
    "paimon": Writer(write=write_paimon, insert=insert_into_paimon),
}
"""The writers by format name."""


def read_of(frame: DataFrame, target: Any, mode: str, branch: str) -> ReadSnapshot | None:
    """Return the snapshot that a DataFrame was read from; None unless it replaces rows of the same branch."""
    if not isinstance(target, Transaction):
        if target.format == "paimon":
            branch = target.branch if branch == "main" else branch
        elif branch not in target.refs():
            branch = "main"  # The branch is created from it, or the write fails.
        return None if mode == "append" else snapshot_read_by(frame, target, branch)
    if mode == "append" and not replaces_definition(target):
        return None
    return snapshot_read_by(frame, target.table(), branch)


def write(  # noqa: PLR0913 - keyword-only, what a write is
    frame: DataFrame,
    table: str | os.PathLike[str] | Table | Transaction | PaimonTable,
    mode: Mode = "append",
    *,
    branch: str | None = None,
    overwrite_filter: RowFilter = True,
    partitions: Sequence[Mapping[str, Any]] | None = None,
    snapshot_properties: Mapping[str, str] | None = None,
    distribution_mode: Literal["none", "hash", "range"] | None = None,
    write_format: str | None = None,
    target_file_size_bytes: int | None = None,
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
) -> WriteResult:
    """Write the rows of a DataFrame into a table.

    Each task writes files for its rows, and this process commits their results once. Retried tasks do not duplicate
    rows. A failed job changes nothing.

    Args:
        frame: The rows. Columns are matched by name and widened as in `Table.append`; strings are accepted for uuid,
            and binary for fixed.
        table: A folder, or a loaded table, which then has the new state, or the name of a table in a lake that is
            connected to the session. For a transaction, the rows are committed with its other changes.
        mode: `append`, `overwrite` as in `Table.overwrite`, or `dynamic` as in `Table.dynamic_partition_overwrite`.
        branch: The branch to change; by default `main`, or the branch `spark.wap.branch` of the session.
        partitions: Paimon: the partitions that `overwrite` replaces, as in `Table.overwrite`; None for all rows.
        overwrite_filter: The rows that `overwrite` replaces; True for all. Files in which only some rows match are
            rewritten on the driver. This argument and the following ones, except `snapshot_properties`, apply only to
            Iceberg.
        snapshot_properties: Entries for the summary of an Iceberg snapshot, or properties of a Paimon snapshot.
        distribution_mode: Overrides `write.distribution-mode`: `none` does not shuffle rows, `hash` groups the rows of
            a partition, `range` sorts rows before they are written.
        write_format: Overrides `write.format.default`: `parquet`, `orc` or `avro`.
        target_file_size_bytes: Overrides `write.target-file-size-bytes`.
        relocate: As in `frazil.load_table`.
        storage: Storage options. They are passed to the workers; prefer the environment for credentials.

    Raises:
        InvalidArgumentError: The table does not have a column, or its type differs. Workers check the values, and Spark
            raises their errors.
        CommitConflictError: As in `Table.append`.
        CommitStateUnknownError: As in `Table.append`.
    """
    if mode not in MODES:
        message = f"mode is {mode!r}, expected one of {', '.join(MODES)}"
        raise InvalidArgumentError(message)
    if overwrite_filter is not True and mode != "overwrite":
        message = "overwrite_filter requires the mode `overwrite`"
        raise InvalidArgumentError(message)
    session = session_of(frame, "frame")
    check_session(session)
    table = named_table(session, table)
    began = time.perf_counter()
    target = table if isinstance(table, Transaction) else opened_table(table, relocate, storage)
    branch, creates_branch, properties = _snapshot_arguments(frame, target, branch, snapshot_properties)
    asked = WriteRequest(
        mode=mode,
        branch=branch,
        creates_branch=creates_branch,
        overwrite_filter=None if overwrite_filter is True else overwrite_filter,
        partitions=partitions,
        snapshot_properties=properties,
        distribution_mode=distribution_mode,
        write_format=write_format,
        target_file_size_bytes=target_file_size_bytes,
    )
    asked = replace(asked, read=read_of(frame, target, mode, branch))
    result = WRITERS[target.format].write(frame, target, asked)
    return replace(result, seconds=time.perf_counter() - began)


def _snapshot_arguments(
    frame: DataFrame, target: Any, branch: str | None, properties: Mapping[str, str] | None
) -> tuple[str, bool, Mapping[str, str] | None]:
    """Return the branch to change, whether it may be created, and the entries for the summary of the snapshot."""
    if target.format == "paimon":
        own = check_paimon_change(session_values(frame.sparkSession, PAIMON_PREFIX), (), reads=False)
        return branch or own or "main", False, properties
    options = session_snapshot(frame.sparkSession, target, branch, properties)
    return options.branch, options.creates_branch, options.properties
