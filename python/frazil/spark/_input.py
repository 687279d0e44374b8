"""The rows of a DataFrame as input of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil.errors import InvalidArgumentError, LimitExceededError
from frazil.files.rows.batches import no_rows, size_bytes
from frazil.iceberg.operations.packed_addresses import PackedAddresses, pack_addresses
from frazil.iceberg.operations.rows import Source, WrittenRows
from frazil.spark._distribution import distributed
from frazil.spark._session import WriteSession, write_frame
from frazil.spark._taking import Taking
from frazil.spark._to_arrow import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from frazil.iceberg._state import TableState

__all__ = ["CollectedFrame", "WrittenFrame", "collected", "collected_addresses", "packed_addresses"]


class WrittenFrame:
    """Rows that the workers write into data files."""

    def __init__(
        self,
        frame: DataFrame,
        *,
        distribution_mode: str | None = None,
        write_format: str | None = None,
        target_bytes: int | None = None,
    ) -> None:
        """Keep the rows and the overrides of table properties."""
        self._frame, self._distribution_mode = frame, distribution_mode
        self._write_format, self._target_bytes = write_format, target_bytes

    def write(self, state: TableState) -> WrittenRows:
        """Write the rows into new data files; if a task fails permanently, the files are deleted."""
        session = WriteSession(state, self._write_format, self._target_bytes)
        frame = distributed(self._frame, state.metadata, self._distribution_mode)
        return WrittenRows(write_frame(frame, session), session, state)


class CollectedFrame:
    """Rows collected in this process, at most `limit_bytes` bytes."""

    def __init__(self, frame: DataFrame, limit_bytes: int) -> None:
        """Keep the DataFrame; its rows are collected when needed."""
        self._frame, self._limit_bytes = frame, limit_bytes

    def hold(self, state: TableState, *, exact: bool) -> Source:
        """Collect all rows.

        Raises:
            LimitExceededError: The rows have more than `limit_bytes` bytes.
        """
        rows = to_arrow(self._frame)
        size = size_bytes(rows)
        if size > self._limit_bytes:
            message = f"the source of the merge has {size} bytes, more than broadcast_limit_bytes ({self._limit_bytes})"
            raise LimitExceededError(
                message,
                hint=("raise broadcast_limit_bytes if driver and workers have enough memory, or split the source"),
            )
        if not rows.num_columns:
            message = "the source of the merge has no columns"
            raise InvalidArgumentError(message)
        taking = Taking(state.arrow_schema())
        return Source(state, [taking.apply(part) for part in rows.to_batches() or [no_rows(rows.schema)]], exact=exact)


def collected_addresses(frame: DataFrame, state: TableState, limit_bytes: int) -> pa.Table:
    """Return the addresses and values of rows, with the types of the columns of `state`.

    Raises:
        InvalidArgumentError: A value does not fit its column.
        LimitExceededError: The rows have more than `limit_bytes` bytes.
    """
    rows = collected(frame, limit_bytes)
    taking = Taking(state.arrow_schema())
    return pa.Table.from_batches([taking.apply(part) for part in rows.to_batches() or [no_rows(rows.schema)]])


def packed_addresses(frame: DataFrame, limit_bytes: int) -> PackedAddresses:
    """Return the addresses of rows, which workers pack.

    Raises:
        LimitExceededError: The packed addresses have more than `limit_bytes` bytes.
    """
    function: Any = pack_addresses
    rows = frame.mapInArrow(function, "file string, positions binary").toArrow()
    found, size = PackedAddresses(rows), size_bytes(rows)
    if size > limit_bytes:
        message = f"the statement deletes {len(found)} rows, whose addresses have {size} bytes, more than {limit_bytes}"
        raise LimitExceededError(message, hint="split the statement by its condition")
    return found


def collected(frame: DataFrame, limit_bytes: int) -> pa.Table:
    """Return all rows of a query with addresses and values.

    Raises:
        LimitExceededError: The rows have more than `limit_bytes` bytes.
    """
    rows = to_arrow(frame)
    size = size_bytes(rows)
    if size > limit_bytes:
        message = (
            f"the statement changes {rows.num_rows} rows, whose addresses and values have {size} bytes, "
            f"more than {limit_bytes}"
        )
        raise LimitExceededError(message, hint="split the statement by its condition")
    return rows
