"""Writes of DataFrames into Paimon tables: workers write files, and this process commits once.

With a fixed number of buckets, all rows of a bucket go to one task, so that one writer assigns its sequence numbers.
With dynamic buckets, all rows of a partition go to one task, so that one writer assigns its keys to buckets. If keys
can move between partitions, there is only one task.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from frazil import _native
from frazil.errors import CommitConflictError, InvalidArgumentError
from frazil.files.rows.batches import no_rows
from frazil.paimon._input_rows import write_rows
from frazil.paimon._operations import Append, Overwrite, OverwritePartitions
from frazil.paimon._state import CommitOptions, TableState
from frazil.paimon._writing import carry_out, commit_options, replaced_partitions
from frazil.spark._char import char_lengths, padded_frame
from frazil.spark._few_rows import few_rows
from frazil.spark._map_in_arrow import map_in_arrow
from frazil.spark._session import result_row, run_in_workers, sweep_until_quiet, this_task
from frazil.spark._type_conversion import arrow_schema
from frazil.spark._write_request import WriteRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from frazil._write_result import WriteResult
    from frazil.paimon import Table
    from frazil.sql._insert import Insertion

__all__ = ["insert_into_paimon", "write_paimon"]

_BUCKET = "__frazil_bucket"


def write_paimon(frame: DataFrame, table: Table, asked: WriteRequest) -> WriteResult:
    """Write the rows of a DataFrame; see `frazil.spark.write`."""
    asked.refuse(("overwrite_filter", "distribution_mode", "write_format", "target_file_size_bytes"), "Iceberg")
    table = table.with_branch(asked.branch)
    options = commit_options(table, asked.snapshot_properties)
    operation: Append | Overwrite | OverwritePartitions
    if asked.mode == "append":
        operation = Append(options=options)
    elif asked.mode == "dynamic":
        operation = OverwritePartitions(options=options, read=asked.read)
    else:
        operation = Overwrite(options=options, partitions=replaced_partitions(asked.partitions), read=asked.read)
    return carry_out(table, operation, _Frame(padded_frame(frame, char_lengths(table)), table))


def insert_into_paimon(
    rows: DataFrame,
    table: Table,
    how: Insertion,
    constants: Mapping[str, Any],
    snapshot_properties: Mapping[str, str],  # noqa: ARG001 - Paimon's connector for Spark records nothing of the engine
) -> WriteResult:
    """Write rows that have the table's columns; `constants` holds the values of a static partition."""
    partitions = [constants] if constants else None
    if not how.is_small or how.read is not None:
        asked = WriteRequest(
            mode=how.mode,
            branch=table.branch,
            partitions=partitions if how.mode == "overwrite" else None,
            read=how.read,
        )
        return write_paimon(rows, table, asked)
    if how.mode == "overwrite":
        return table.overwrite(few_rows(rows), partitions=partitions)
    if how.mode == "dynamic":
        return table.dynamic_partition_overwrite(few_rows(rows))
    return table.append(few_rows(rows))


class _Frame:
    """Rows that the workers write into data files."""

    def __init__(self, frame: DataFrame, table: Table) -> None:
        self._frame, self._table = frame, table

    def write(self, state: TableState, *, overwrites: bool) -> list[bytes]:
        """Write the rows into new files and return the commit messages."""
        _check_columns(self._frame, state)
        session = _Session(state, state.native.schema_ids()[-1], overwrites)

        def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from session.write(batches)

        messages, _ = run_in_workers(_by_bucket(self._frame, self._table, state), write, session)
        return messages


@dataclass(frozen=True)
class _Session:
    """One write into a table, as shared by all processes."""

    state: TableState
    schema_id: int
    overwrites: bool
    ident: str = field(default_factory=lambda: str(uuid.uuid4()))

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows of this task, and yield the results."""
        if self.state.native.schema_ids()[-1] != self.schema_id:
            message = "another writer changed the schema of the table while workers were writing rows"
            raise CommitConflictError(message, hint="write the rows again")
        task, linger = this_task()
        rows = (_without_bucket(batch) for batch in batches)
        name = f"{self.ident}-{task}"
        messages: list[bytes] = write_rows(self.state, rows, overwrites=self.overwrites, name=name)
        # A task without rows also returns a result row, which contains the seconds for which other attempts may run.
        for content in messages or [b""]:
            yield result_row(content, linger)

    def messages(self, found: Sequence[bytes], *, others: bool, linger: float = 0) -> list[bytes]:
        """Accept messages; if other attempts are possible, delete the files that the messages do not reference."""
        messages = [bytes(message) for message in found if message]
        if others:
            self._sweep(messages, linger)
        return messages

    def abort(self, linger: float = 0) -> None:
        """Delete the files written by workers; attempts may continue to write for `linger` seconds."""
        self._sweep([], linger)

    def _sweep(self, kept: list[bytes], linger: float) -> None:
        commit = self.state.begin_commit(CommitOptions(user=self.ident))
        sweep_until_quiet(lambda: commit.sweep(self.ident, kept), linger)


def _check_columns(frame: DataFrame, state: TableState) -> None:
    """Check before any task runs that Spark rows have the columns and types of the table.

    Raises:
        InvalidArgumentError: The table does not have a column, or its type cannot be converted.
    """
    rows = _native.PaimonRows(state.native, memory_bytes=1 << 20, utc_offset_ms=0, overwrites=False)
    rows.split(no_rows(arrow_schema(frame.schema)))


def _by_bucket(frame: DataFrame, table: Table, state: TableState) -> DataFrame:
    """Send all rows of a bucket to one task; with dynamic buckets, all rows of a partition.

    Raises:
        InvalidArgumentError: The rows lack a column that determines their partition or bucket.
    """
    is_fixed = int(table.options.get("bucket", "-1")) > 0
    if not (is_fixed or table.primary_keys):
        return frame
    bucket_key = _bucket_key(table) if is_fixed else []
    missing = next((name for name in (*table.partition_keys, *bucket_key) if name not in frame.columns), None)
    if missing is not None:
        message = f"the rows have no column `{missing}`, which determines the bucket"
        raise InvalidArgumentError(message, context={"table": table.location, "column": missing})
    from pyspark.sql import functions as sql

    keys = [sql.col(f"`{name.replace('`', '``')}`") for name in table.partition_keys]
    if not is_fixed:
        # If keys can move between partitions, one writer has to know all of them.
        return frame.repartition(*keys) if keys and not state.native.moves_keys() else frame.repartition(1)
    schema = table.scan(selected_fields=bucket_key).schema()

    def with_bucket(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [pc.cast(batch.column(name), schema.field(name).type) for name in bucket_key]
            keys = pa.RecordBatch.from_arrays(columns, names=bucket_key)
            yield batch.append_column(_BUCKET, state.native.bucket_ids(keys))

    from pyspark.sql.types import IntegerType, StructField, StructType

    with_buckets = map_in_arrow(
        frame, with_bucket, StructType([*frame.schema.fields, StructField(_BUCKET, IntegerType())])
    )
    return with_buckets.repartition(*keys, sql.col(_BUCKET))


def _bucket_key(table: Table) -> list[str]:
    """Return the columns that determine the bucket of a row (`bucket-key`, or else the primary key)."""
    given = table.options.get("bucket-key")
    if given:
        return [name.strip() for name in given.split(",")]
    return [name for name in table.primary_keys if name not in table.partition_keys]


def _without_bucket(batch: pa.RecordBatch) -> pa.RecordBatch:
    place = batch.schema.get_field_index(_BUCKET)
    return batch if place < 0 else batch.remove_column(place)
