"""Writes of DataFrames into Iceberg tables: workers write files, and this process commits once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil import _native
from frazil._arguments import optional_text, whole_number
from frazil._literal import lit
from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.files.rows.batches import no_rows
from frazil.iceberg import Table, Transaction
from frazil.iceberg._table import replaces_definition, state_of, to_newest, validate_read
from frazil.iceberg._verbs import carry_out, row_filter_of, snapshot_options
from frazil.iceberg.operations.rows import ArrowInput
from frazil.iceberg.operations.writes import Append, Overwrite, OverwritePartitions
from frazil.spark._few_rows import few_rows
from frazil.spark._input import WrittenFrame
from frazil.spark._settings import ICEBERG_PREFIX
from frazil.spark._taking import Taking
from frazil.spark._type_conversion import arrow_schema
from frazil.spark._write_audit import session_snapshot
from frazil.spark._write_request import WriteRequest, opened_table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from frazil._run import ReadSnapshot
    from frazil._write_result import WriteResult
    from frazil.iceberg.operations.values import Filter, SnapshotOptions
    from frazil.sql._insert import Insertion

__all__ = [
    "check_branch",
    "check_columns",
    "insert_into_iceberg",
    "open_table",
    "write_iceberg",
    "write_operation",
]


def write_iceberg(frame: DataFrame, target: Table | Transaction, asked: WriteRequest) -> WriteResult:
    """Write the rows of a DataFrame; see `frazil.spark.write`."""
    asked.refuse(("partitions",), "Paimon")
    given = True if asked.overwrite_filter is None else asked.overwrite_filter
    columns = (target.table() if isinstance(target, Transaction) else target).schema().as_arrow
    row_filter = row_filter_of(given, "overwrite_filter", columns, case_sensitive=True)
    target_bytes = asked.target_file_size_bytes
    if target_bytes is not None:
        target_bytes = whole_number("target_file_size_bytes", target_bytes)
    write_format = optional_text("write_format", asked.write_format)
    if isinstance(target, Transaction):
        table = target.table()
    else:
        to_newest(target)
        table = target
    check_columns(table, frame.schema)
    options = snapshot_options(asked.branch, asked.snapshot_properties, creates_branch=asked.creates_branch)
    check_branch(table, options)
    distribution = asked.distribution_mode
    if distribution is None:
        distribution = frame.sparkSession.conf.get(f"{ICEBERG_PREFIX}distribution-mode", None)
    rows = WrittenFrame(frame, distribution_mode=distribution, write_format=write_format, target_bytes=target_bytes)
    read = asked.read
    if read is not None and isinstance(target, Transaction) and replaces_definition(target):
        # The replaced table is empty in the transaction. The read is therefore validated for the whole table, not per
        # operation.
        validate_read(target, read)
        read = None
    operation = write_operation(asked.mode, options, None if given is True else row_filter, read)
    return carry_out(target, operation, rows)


def insert_into_iceberg(
    rows: DataFrame,
    target: Table | Transaction,
    how: Insertion,
    constants: Mapping[str, Any],
    snapshot_properties: Mapping[str, str],
) -> WriteResult:
    """Write rows that have the table's columns; `constants` holds the values of a static partition."""
    given = how.row_filter or _filter(constants) or True
    options = session_snapshot(rows.sparkSession, target, how.branch, snapshot_properties)
    if not how.is_small or how.read is not None:
        asked = WriteRequest(
            mode=how.mode,
            branch=options.branch,
            creates_branch=options.creates_branch,
            overwrite_filter=given if how.mode == "overwrite" else None,
            snapshot_properties=options.properties,
            read=how.read,
        )
        return write_iceberg(rows, target, asked)
    table = target.table() if isinstance(target, Transaction) else target
    row_filter = row_filter_of(given, "overwrite_filter", table.schema().as_arrow, case_sensitive=True)
    operation = write_operation(how.mode, options, None if given is True else row_filter)
    return carry_out(target, operation, ArrowInput(_taken(few_rows(rows), table)))


def write_operation(
    mode: str, options: SnapshotOptions, row_filter: Filter | None = None, read: ReadSnapshot | None = None
) -> Append | Overwrite | OverwritePartitions:
    """Return the operation for a mode of `write`."""
    if mode == "append":
        return Append(options=options)
    if mode == "dynamic":
        return OverwritePartitions(options=options, read=read)
    return Overwrite(options=options, filter=row_filter, read=read)


def open_table(
    table: str | os.PathLike[str] | Table,
    relocate: Mapping[str, str] | None,
    storage: Mapping[str, str] | None,
    allowed_locations: Sequence[str] = (),
) -> Table:
    """Return an Iceberg table at its latest state.

    Raises:
        UnsupportedError: The table is a Paimon table, or belongs to a catalog but was opened by its folder.
    """
    opened = opened_table(table, relocate, storage, allowed_locations)
    if opened.format != "iceberg":
        message = "this operation supports only Iceberg tables; write Paimon tables with frazil.spark.write"
        raise UnsupportedError(message)
    to_newest(opened)
    return opened


def check_columns(table: Table, schema: StructType) -> None:
    """Check before any task runs that Spark rows have the columns and types of the table.

    Raises:
        InvalidArgumentError: A column does not exist, or its type cannot be converted.
    """
    rows = _native.RowWriter(state_of(table).native, memory_bytes=1 << 20)
    rows.split(Taking(rows.schema()).apply(no_rows(arrow_schema(schema))))


def check_branch(table: Table, options: SnapshotOptions) -> None:
    """Check before any task runs that the branch exists or will be created.

    Raises:
        InvalidArgumentError: The name refers to a tag.
        NoSuchSnapshotError: The branch does not exist.
    """
    branch = options.head(table.refs())
    found = table.refs().get(branch)
    if found is not None and found.type == "tag":
        message = f"`{branch}` is a tag, which cannot be changed"
        raise InvalidArgumentError(message)
    if found is None and branch != "main":
        # The error lists the existing branches.
        table.scan(ref=branch).schema()


def _filter(constants: Mapping[str, Any]) -> str | None:
    """Return the SQL filter for rows in which the columns equal the given values."""
    conditions = []
    for name, value in constants.items():
        quoted = '"' + name.replace('"', '""') + '"'
        # The filter syntax has literals for NaN and infinities only as strings.
        is_special = isinstance(value, float) and not math.isfinite(value)
        literal = f"'{value}'" if is_special else lit(value)
        conditions.append(f"{quoted} IS NULL" if value is None else f"{quoted} = {literal}")
    return " AND ".join(conditions) or None


def _taken(rows: pa.Table, table: Table) -> pa.Table:
    if not rows:
        return rows
    taking = Taking(_native.RowWriter(state_of(table).native, memory_bytes=1 << 20).schema())
    return pa.Table.from_batches([taking.apply(batch) for batch in rows.combine_chunks().to_batches()])
