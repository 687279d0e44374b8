"""The data files that a row change affects, and the rows that it deletes from them."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from frazil import _native
from frazil._read_ahead import read_parts
from frazil.errors import InternalError, InvalidArgumentError
from frazil.files.read.data_file import BATCH_ROWS
from frazil.iceberg._position_deletes import write_position_deletes
from frazil.iceberg.operations.file_plan import FilePlan, positions
from frazil.iceberg.operations.values import Filter, Validation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from frazil.iceberg._state import TableState
    from frazil.iceberg.operations.values import SnapshotOptions

    Choose = Callable[[int, pa.Array, pa.RecordBatch], "Choice"]
    """Selects the changed rows of a batch, given the place of the data file, the rows' positions and their columns."""

    Kind = Literal["delete", "update", "merge"]

__all__ = ["Choice", "RowChangePlan", "RowRewriter", "TaskGroup"]

_MODES = ("copy-on-write", "merge-on-read")


class Choice(NamedTuple):
    """The changes to the rows of a batch."""

    touched: pa.Array
    """The numbers of the changed rows: first the deleted rows, then the updated rows."""
    changed: pa.RecordBatch
    """The new values of the updated rows."""
    is_read: bool = False
    """Whether the result depends on unchanged rows; if so, a concurrent delete of such rows is a conflict."""


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """The tasks for one worker: their positions in the plan, and their serialized form."""

    places: Sequence[int]
    content: bytes


class RowChangePlan(FilePlan):
    """The data files of a branch whose rows may change, and their deleted rows."""

    def __init__(
        self, state: TableState, kind: Kind, options: SnapshotOptions, row_filter: Filter, tasks: bytes | None = None
    ) -> None:
        """Plan the files whose rows may match, or use `tasks`, a part of the tasks that another process planned."""
        self.merge_on_read = _is_merge_on_read(state, kind)
        super().__init__(state, options.head(state.metadata.refs), row_filter, tasks)
        self.validation = Validation(
            planned_on=self.snapshot_id,
            isolation=state.properties.get(f"write.{kind}.isolation-level", "serializable"),
            filter=row_filter,
            refuses_new_deletes=kind != "delete",
        )
        self.delta = _native.RowDelta(self.tasks)
        self._lock = threading.Lock()
        self.matched_rows = 0

    def groups(self, places: Sequence[int], target_bytes: int, open_cost_bytes: int) -> list[TaskGroup]:
        """Pack the tasks at the given positions into groups of about `target_bytes`; files are not split."""
        if isinstance(self.tasks, _native.Tasks):
            message = "tasks from another process cannot be planned again"
            raise InternalError(message)
        return [TaskGroup(*group) for group in self.tasks.whole_groups(places, target_bytes, open_cost_bytes)]

    def find(self, *, whole: bool = True) -> None:
        """Delete matching rows; if `whole`, files whose partition shows that all rows match are removed unread."""
        places = self.pending() if whole else range(len(self.tasks))
        for _ in read_parts(places, self._find_in, workers=self.workers):
            pass

    def pending(self) -> list[int]:
        """Remove the files whose partition shows that all rows match; return the positions of the other files."""
        return [place for place in range(len(self.tasks)) if not self._removed_whole(place)]

    def _removed_whole(self, place: int) -> bool:
        if not self.tasks.is_whole(place):
            return False
        task = self.tasks.task(place)
        if task.delete_files:
            return False
        self.delta.remove_file(place)
        self.matched_rows += task.record_count
        return True

    def _find_in(self, place: int) -> Iterator[pa.RecordBatch]:
        reader, rows = self.open(place, self.found)
        for batch in rows:
            self.delete(place, positions(batch), reader)
        yield from ()

    def is_long(self, place: int) -> bool:
        """Return whether a data file is long enough that reading its filter columns first may save reads."""
        task = self.tasks.task(place)
        is_long = task.file_format == "PARQUET" and task.record_count > BATCH_ROWS
        return is_long and bool(self._filter.text) and not self.tasks.is_whole(place)

    def delete(self, place: int, deleted: pa.Array, reader: _native.TaskReader) -> None:
        """Delete the rows of a data file at the given positions."""
        self.delta.delete_rows(place, deleted, reader)
        with self._lock:
            self.matched_rows += len(deleted)

    def apply(self, place: int, choice: Choice, batch: pa.RecordBatch, reader: _native.TaskReader) -> None:
        """Delete the changed rows of a batch, and record whether the change depends on unchanged rows."""
        self.delete(place, positions(batch).take(choice.touched), reader)
        if choice.is_read:
            self.delta.read_file(place)

    def matching(self, columns: list[str] | None) -> _native.Scan:
        """Scan the matching rows with the given columns, or with all columns."""
        # A name with a dot would be parsed as a struct field, and a name with quotes as a quoted name.
        if columns is None or any("." in name or '"' in name for name in columns):
            return self.moving(self._filter.text)
        return self.scan(self._filter.text, columns, with_lineage=True)

    def write_deletes(self, paths: list[str]) -> None:
        """Write the deletes of the retained files, adding each new path to `paths` before the file is written."""
        native = self.state.native
        if native.format_version > 2:  # noqa: PLR2004
            written = self.delta.write_vectors(native, native.files)
            paths += [] if written is None else [written]
            return
        granularity = self.state.properties.get("write.delete.granularity", "file").lower()
        if granularity not in ("file", "partition"):
            message = f"write.delete.granularity must be file or partition, not {granularity!r}"
            raise InvalidArgumentError(message)
        write_position_deletes(native, self.delta, paths, by_file=granularity == "file")


class RowRewriter:
    """Reads the rows of a plan, deletes the changed ones, and streams their new values for new files."""

    def __init__(self, plan: RowChangePlan) -> None:
        """Keep the plan."""
        self._plan = plan

    def changed(
        self,
        choose: Choose,
        columns: list[str] | None = None,
        *,
        matching: bool = False,
        places: Sequence[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Delete the rows that `choose` selects, and stream their new values (merge-on-read).

        `choose` receives the columns `columns`, or all columns if None. If `matching` is set, all matching rows change,
        and row groups of long files are read only if their filter columns contain matches. Only the data files at
        `places` are read, or all data files if None.
        """
        plan = self._plan
        scan = plan.matching(columns)

        def change(place: int) -> Iterator[pa.RecordBatch]:
            reader, rows = plan.open(place, scan, find=matching and plan.is_long(place))
            for batch in rows:
                choice = choose(place, positions(batch), plan.columns(batch))
                plan.apply(place, choice, batch, reader)
                if choice.changed.num_rows:
                    yield plan.changed(batch, choice.touched, choice.changed)

        return read_parts(range(len(plan.tasks)) if places is None else places, change, workers=plan.workers)

    def choose(self, choose: Choose, columns: list[str] | None = None) -> None:
        """Delete the rows that `choose` selects based on `columns` (None: all columns).

        The new values are streamed by `rewritten`.
        """
        plan = self._plan
        scan = plan.matching(columns)

        def note(place: int) -> Iterator[pa.RecordBatch]:
            reader, rows = plan.open(place, scan)
            for batch in rows:
                choice = choose(place, positions(batch), plan.columns(batch))
                plan.apply(place, choice, batch, reader)
            yield from ()

        for _ in read_parts(range(len(plan.tasks)), note, workers=plan.workers):
            pass

    def rewritten(self, choose: Choose | None = None) -> Iterator[pa.RecordBatch]:
        """Remove the files that lost rows; stream their remaining rows, and the new values of the changed rows."""
        plan = self._plan
        rewritten = plan.delta.staying()
        for place in rewritten:
            plan.delta.remove_file(place)
        scan = plan.moving()

        def rewrite(place: int) -> Iterator[pa.RecordBatch]:
            for batch in plan.open(place, scan)[1]:
                gone = plan.delta.is_deleted(place, positions(batch))
                yield plan.staying(batch.filter(pc.invert(gone)))
                if choose is not None and gone.true_count:
                    rows = batch.filter(gone)
                    choice = choose(place, positions(rows), plan.columns(rows))
                    yield plan.changed(rows, choice.touched, choice.changed)

        return read_parts(rewritten, rewrite, workers=plan.workers)


def _is_merge_on_read(state: TableState, kind: Kind) -> bool:
    """Return whether a change writes delete files instead of rewriting files (`write.<kind>.mode`)."""
    key = f"write.{kind}.mode"
    mode = state.properties.get(key, _MODES[0]).lower()
    if mode not in _MODES:
        message = f"{key} must be {' or '.join(_MODES)}, not {mode!r}"
        raise InvalidArgumentError(message, context={"property": key})
    # v1 tables do not support delete files.
    return mode == _MODES[1] and state.native.format_version > 1
