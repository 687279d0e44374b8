"""Writing a DataFrame into a table: files by the workers, one commit by this process."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from frazil import _native
from frazil._arguments import optional_text, text, whole_number
from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.files.rows.batches import no_rows
from frazil.iceberg import Table, Transaction
from frazil.iceberg._table import state_of, to_newest
from frazil.iceberg._verbs import carry_out, row_filter_of, snapshot_options
from frazil.iceberg.operations.writes import Append, Overwrite, OverwritePartitions
from frazil.paimon import Table as PaimonTable
from frazil.spark._input import WrittenFrame
from frazil.spark._paimon_write import write_paimon
from frazil.spark._taking import Taking
from frazil.spark._worker_python import check_session, session_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from frazil._write_result import WriteResult
    from frazil.iceberg.operations.values import Filter, SnapshotOptions

MODES = ("append", "overwrite", "dynamic")

Mode = Literal["append", "overwrite", "dynamic"]


def write(  # noqa: PLR0913 - keyword-only, what a write is
    frame: DataFrame,
    table: str | os.PathLike[str] | Table | Transaction | PaimonTable,
    mode: Mode = "append",
    *,
    branch: str = "main",
    overwrite_filter: str | bool = True,
    partitions: Sequence[Mapping[str, Any]] | None = None,
    snapshot_properties: Mapping[str, str] | None = None,
    distribution_mode: Literal["none", "hash", "range"] | None = None,
    write_format: str | None = None,
    target_file_size_bytes: int | None = None,
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
) -> WriteResult:
    """Write the rows of a DataFrame into a table.

    Each task writes files of its rows, and what it says of them is committed here, once. Tasks that were tried again
    add no row twice. A job that fails changes nothing.

    Args:
        frame: The rows. Columns are found by name, and widen as in `Table.append`; a string is taken as uuid, a binary
            as fixed.
        table: A folder, or a table that was loaded; it is at the new state afterwards. The rows of a transaction are
            committed with its other changes.
        mode: `append`, `overwrite` as `Table.overwrite`, or `dynamic` as `Table.dynamic_partition_overwrite`.
        branch: The branch that changes.
        partitions: Paimon: the partitions that `overwrite` replaces, as in `Table.overwrite`; None for all rows.
        overwrite_filter: Which rows `overwrite` replaces; True for all. Files of which only some rows match are
            written again in this process. Iceberg only, as are the arguments below but `snapshot_properties`.
        snapshot_properties: Entries for the summary of the snapshot, or properties of it.
        distribution_mode: Instead of `write.distribution-mode`: `none` leaves rows where they are, `hash` puts those
            of one partition together, `range` sorts them before they are written.
        write_format: `parquet`, `orc` or `avro`, instead of `write.format.default`.
        target_file_size_bytes: Instead of `write.target-file-size-bytes`.
        relocate: As in `frazil.load_table`.
        storage: Options of the storage. They travel to the workers; better leave credentials to the environment.

    Raises:
        InvalidArgumentError: A column that the table does not have, or of another type. Workers check the values, and
            Spark raises their error.
        CommitConflictError: As in `Table.append`.
        CommitStateUnknownError: As in `Table.append`.
    """
    if mode not in MODES:
        message = f"mode is {mode!r}, expected one of {', '.join(MODES)}"
        raise InvalidArgumentError(message)
    if overwrite_filter is not True and mode != "overwrite":
        message = "overwrite_filter goes with the mode `overwrite`"
        raise InvalidArgumentError(message)
    row_filter = row_filter_of(overwrite_filter, "overwrite_filter", case_sensitive=True)
    target_bytes = (
        None if target_file_size_bytes is None else whole_number("target_file_size_bytes", target_file_size_bytes)
    )
    check_session(session_of(frame, "frame"))
    began = time.perf_counter()
    target = table if isinstance(table, Transaction) else opened_table(table, relocate, storage)
    if isinstance(target, PaimonTable):
        of_iceberg = {
            "overwrite_filter": None if overwrite_filter is True else overwrite_filter,
            "distribution_mode": distribution_mode,
            "write_format": write_format,
            "target_file_size_bytes": target_file_size_bytes,
        }
        check_arguments(of_iceberg, "Iceberg")
        on_branch = target.with_branch(branch)
        return write_paimon(frame, on_branch, mode, partitions=partitions, snapshot_properties=snapshot_properties)
    check_arguments({"partitions": partitions}, "Paimon")
    if not isinstance(target, Transaction):
        to_newest(target)
    opened = target.table() if isinstance(target, Transaction) else target
    check_columns(opened, frame.schema)
    check_branch(opened, branch)
    rows = WrittenFrame(
        frame,
        distribution_mode=distribution_mode,
        write_format=optional_text("write_format", write_format),
        target_bytes=target_bytes,
    )
    options = snapshot_options(branch, snapshot_properties)
    result = carry_out(target, write_operation(mode, options, None if overwrite_filter is True else row_filter), rows)
    return replace(result, seconds=time.perf_counter() - began)


def write_operation(
    mode: str, options: SnapshotOptions, row_filter: Filter | None = None
) -> Append | Overwrite | OverwritePartitions:
    """Return the operation of a mode of `write`."""
    if mode == "append":
        return Append(options=options)
    if mode == "dynamic":
        return OverwritePartitions(options=options)
    return Overwrite(options=options, filter=row_filter)


def check_arguments(given: Mapping[str, object], table_format: str) -> None:
    """Refuse arguments that are only for tables of one format.

    Raises:
        InvalidArgumentError: One of them is given.
    """
    wrong = next((name for name, value in given.items() if value is not None), None)
    if wrong is not None:
        message = f"{wrong} is only for tables of the format {table_format}"
        raise InvalidArgumentError(message)


def opened_table(
    table: str | os.PathLike[str] | Table | PaimonTable,
    relocate: Mapping[str, str] | None,
    storage: Mapping[str, str] | None,
    allowed_locations: Sequence[str] = (),
) -> Table | PaimonTable:
    """Return the table, opened if its location is given."""
    from frazil._table import load_table

    if isinstance(table, str | os.PathLike):
        return load_table(table, relocate=relocate, storage=storage, allowed_locations=allowed_locations)
    if relocate or storage:
        message = "relocate and storage go with the location of a table; a table that was loaded has its own"
        raise InvalidArgumentError(message)
    if not isinstance(table, Table | PaimonTable):
        message = f"a table is its location or a table that was loaded, not {type(table).__name__}"  # type: ignore[unreachable]
        raise InvalidArgumentError(message)
    return table


def open_table(
    table: str | os.PathLike[str] | Table,
    relocate: Mapping[str, str] | None,
    storage: Mapping[str, str] | None,
    allowed_locations: Sequence[str] = (),
) -> Table:
    """Return an Iceberg table at its newest state.

    Raises:
        UnsupportedError: A Paimon table, or a table that a catalog keeps and that was opened by its folder.
    """
    opened = opened_table(table, relocate, storage, allowed_locations)
    if not isinstance(opened, Table):
        message = "this is done to Iceberg tables only; Paimon tables are written by frazil.spark.write"
        raise UnsupportedError(message)
    to_newest(opened)
    return opened


def check_columns(table: Table, schema: StructType) -> None:
    """Check before any task runs that rows of Spark have the columns and types of the table.

    Raises:
        InvalidArgumentError: A column that is not there, or of a type that does not widen.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    rows = _native.RowWriter(state_of(table).native, memory_bytes=1 << 20)
    rows.split(Taking(rows.schema()).apply(no_rows(to_arrow_schema(schema))))


def check_branch(table: Table, branch: str) -> None:
    """Check before any task runs that there is the branch.

    Raises:
        InvalidArgumentError: It is a tag.
        NoSuchSnapshotError: There is none.
    """
    found = table.refs().get(text("branch", branch))
    if found is not None and found.type == "tag":
        message = f"`{branch}` is a tag, which never changes"
        raise InvalidArgumentError(message)
    if found is None and branch != "main":
        # Says which branches there are.
        table.scan(ref=branch).schema()
