"""Changes of tables in Spark: `spark.read.format("frazil").load("/path/of/table$changes")`.

Each Spark partition is a group of files, or all files of a snapshot if deleted and inserted rows are paired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError
from frazil.spark import _iceberg, _paimon
from frazil.spark._options import SNAPSHOT_OPTIONS, check_names, flag, number, split_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from frazil import iceberg, paimon
    from frazil._changes import Changes
    from frazil.spark._options import ReadOptions

CHANGES = "changes"
"""The suffix of a path after `$`, as named by Spark's Iceberg connector."""

_FLAGS = ("net-changes", "carryovers")
_UPDATES = ("compute-updates", "identifier-columns")
_TIMES = dict.fromkeys(
    ("start-timestamp", "end-timestamp"), "pass snapshots, as `start-snapshot-id` and `end-snapshot-id`"
)


class IcebergChanges(_iceberg.OpenedState):
    """The changes made by snapshots of an Iceberg table, as recorded in one metadata file."""

    def __init__(self, table: iceberg.Table, asked: ReadOptions) -> None:
        """Check the options, and record the latest metadata file of the table.

        Raises:
            InvalidArgumentError: An option is unknown, does not apply, or contradicts another option.
        """
        super().__init__(table, asked)
        self._arguments = _arguments(table, asked, ("branch",))

    def scan(self, columns: Sequence[str], row_filter: str = "", limit: int | None = None) -> Changes[Any, Any]:
        """Create a read of the changes."""
        return self._opened().changes(**self._arguments, **_of_scan(self.asked, columns, row_filter, limit))

    def read(self, contents: Sequence[bytes], limit: int | None) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Read the stages in `contents`, and return their schema and rows; at most `limit` rows are returned."""
        from frazil import _native
        from frazil._read_ahead import limited
        from frazil.iceberg._changes import read_stage

        files = self.files()
        stages = [_native.ChangeStage.from_bytes(content, files) for content in contents]
        # Spark assigns one core to a task, so the stage is read with one thread.
        batches = (batch for stage in stages for batch in read_stage(stage, workers=1))
        return stages[0].schema(), limited(batches, limit)


class PaimonChanges(_paimon.OpenedState):
    """The changes made by snapshots of a Paimon table, up to the snapshot that was latest on creation."""

    def __init__(self, table: paimon.Table, asked: ReadOptions) -> None:
        """Check the options, and record the latest snapshot.

        Raises:
            InvalidArgumentError: An option is unknown, does not apply, or contradicts another option.
            NoSuchSnapshotError: The branch does not exist.
        """
        table = table if asked.branch is None else table.with_branch(asked.branch)
        super().__init__(table, asked)
        self._arguments = _arguments(table, asked)

    def scan(self, columns: Sequence[str], row_filter: str = "", limit: int | None = None) -> Changes[Any, Any]:
        """Create a read of the changes."""
        return self._opened().changes(**self._arguments, **_of_scan(self.asked, columns, row_filter, limit))

    def read(self, contents: Sequence[bytes], limit: int | None) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Read the stages in `contents`, and return their schema and rows; at most `limit` rows are returned."""
        from frazil import _native
        from frazil._read_ahead import limited
        from frazil.paimon._changes import read_stage

        files = self.files()
        stages = [_native.PaimonChangeStage.from_bytes(content, files) for content in contents]
        batches = (batch for stage in stages for batch in read_stage(stage, workers=1))
        return stages[0].schema(), limited(batches, limit)

    def _opened(self) -> paimon.Table:
        if self._table is None and self.asked.branch is not None:
            self._table = super()._opened().with_branch(self.asked.branch)
        return super()._opened()


def _arguments(table: iceberg.Table | paimon.Table, asked: ReadOptions, others: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the arguments of `Table.changes`; options for reading rows, and `others`, do not apply to changes."""
    given = asked.given
    check_names(asked.others, (*_iceberg.APPEND, *_FLAGS, *_UPDATES), _TIMES)
    for name in (*others, *SNAPSHOT_OPTIONS):
        if name in given:
            message = f"the option `{name}` does not apply to changes"
            raise InvalidArgumentError(message, hint="pass `start-snapshot-id` and `end-snapshot-id`")
    start, end = (number(given, name) for name in _iceberg.APPEND)
    current = table.current_snapshot()
    return {
        "from_snapshot_id_exclusive": start,
        # The last snapshot is fixed, so that all partitions and all later actions read the same range of snapshots.
        "to_snapshot_id_inclusive": end if end is not None or current is None else current.snapshot_id,
        **{name.replace("-", "_"): flag(given, name, default=False) for name in _FLAGS},
        "compute_updates": flag(given, _UPDATES[0], default=False) if _UPDATES[0] in given else None,
        "identifier_columns": split_names(given[_UPDATES[1]]) if _UPDATES[1] in given else (),
    }


def _of_scan(asked: ReadOptions, columns: Sequence[str], row_filter: str, limit: int | None) -> dict[str, Any]:
    """Return the remaining arguments of `Table.changes`; the change columns are always read."""
    from frazil._changes import COLUMNS

    return {
        "row_filter": row_filter or True,
        "selected_fields": [column for column in columns if column not in COLUMNS],
        "case_sensitive": asked.case_sensitive,
        "limit": limit,
    }
