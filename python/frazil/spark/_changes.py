"""Changes of Iceberg tables in Spark: `spark.read.format("frazil").load("/path/of/table$changes")`.

A partition is a group of files, or all files of a snapshot whose deleted and inserted rows are paired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError
from frazil.spark._iceberg import APPEND, OpenedState
from frazil.spark._options import SNAPSHOT_OPTIONS, check_names, flag, number, split_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from frazil.iceberg import Table
    from frazil.iceberg._changes import Changes
    from frazil.spark._options import ReadOptions

CHANGES = "changes"
"""What a path ends with after `$`, as Spark's Iceberg connector calls the table."""

_FLAGS = ("net-changes", "carryovers")
_UPDATES = ("compute-updates", "identifier-columns")
_TIMES = dict.fromkeys(
    ("start-timestamp", "end-timestamp"), "give snapshots, as `start-snapshot-id` and `end-snapshot-id`"
)


class ChangesState(OpenedState):
    """What snapshots of an Iceberg table changed, as one metadata file describes it."""

    def __init__(self, table: Table, asked: ReadOptions) -> None:
        """Check the options, and note which metadata file is the table's newest.

        Raises:
            InvalidArgumentError: An option that is unknown, has no meaning, or contradicts another one.
        """
        super().__init__(table, asked)
        given = asked.given
        check_names(asked.others, (*APPEND, *_FLAGS, *_UPDATES), _TIMES)
        for name in ("branch", *SNAPSHOT_OPTIONS):
            if name in given:
                message = f"the option `{name}` has no meaning for changes"
                raise InvalidArgumentError(message, hint="give `start-snapshot-id` and `end-snapshot-id`")
        start, end = (number(given, name) for name in APPEND)
        self._arguments: dict[str, Any] = {
            "from_snapshot_id_exclusive": start,
            # Every partition and every later action reads the same snapshots.
            "to_snapshot_id_inclusive": end if end is not None else _current(table),
            **{name.replace("-", "_"): flag(given, name, default=False) for name in _FLAGS},
            "compute_updates": flag(given, _UPDATES[0], default=False) if _UPDATES[0] in given else None,
            "identifier_columns": split_names(given[_UPDATES[1]]) if _UPDATES[1] in given else (),
        }

    def scan(self, columns: Sequence[str], row_filter: str = "", limit: int | None = None) -> Changes:
        """Describe a read of the changes; their own columns are read with any others."""
        from frazil.iceberg._changes import COLUMNS

        own = [column for column in columns if column not in COLUMNS]
        return self._opened().changes(
            row_filter=row_filter or True,
            selected_fields=own,
            case_sensitive=self.asked.case_sensitive,
            limit=limit,
            **self._arguments,
        )

    def read(self, contents: Sequence[bytes], limit: int | None) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Read stages."""
        from frazil import _native
        from frazil._read_ahead import limited
        from frazil.iceberg._changes import read_stage

        files = self.files()
        stages = [_native.ChangeStage.from_bytes(content, files) for content in contents]
        # One thread: Spark gives a task one core.
        batches = (batch for stage in stages for batch in read_stage(stage, workers=1))
        return stages[0].schema(), limited(batches, limit)


def _current(table: Table) -> int | None:
    snapshot = table.current_snapshot()
    return None if snapshot is None else snapshot.snapshot_id
