"""Taking rows out of their files: by deletes (merge on read), or by writing files again (copy on write)."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.compute as pc

from frazil import _native
from frazil._arguments import flag, text
from frazil._read_ahead import read_parts
from frazil.config import config
from frazil.errors import InvalidArgumentError
from frazil.files.read.data_file import BATCH_ROWS
from frazil.iceberg._position_deletes import write_position_deletes
from frazil.iceberg._read import rows_of, with_deletes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from frazil.iceberg._table import Table

POSITION = "_pos"
LINEAGE = ("_row_id", "_last_updated_sequence_number")
"""Metadata columns that rows of v3 keep when they move to another file."""

Operation = Literal["delete", "update", "merge"]

Choose = Callable[[pa.RecordBatch], tuple[pa.Array, pa.RecordBatch]]
"""Says which rows of a batch change, by their numbers, and what the last of these become. The others are deleted."""

_MODES = ("copy-on-write", "merge-on-read")


class RowLevel:
    """One row-level operation on a branch: which rows it looks at, which of them go."""

    def __init__(
        self,
        table: Table,
        operation: Operation,
        row_filter: str,
        *,
        branch: str,
        case_sensitive: bool = True,
        tasks: _native.Tasks | None = None,
    ) -> None:
        """Plan the files whose rows may match; `tasks` are some of them, which another process planned."""
        self.table = table
        self.branch = text("branch", branch)
        self._operation = operation
        self._filter, self._case_sensitive = row_filter, flag("case_sensitive", case_sensitive)
        properties = table.properties
        self.isolation = properties.get(f"write.{operation}.isolation-level", "serializable")
        self.on_read = _on_read(table, operation)
        head = table.refs().get(branch)
        if head is None and branch != "main":
            # Says which branches there are.
            table.scan(ref=branch)
        self._snapshot_id = None if head is None else head.snapshot_id
        self._choice: tuple[Literal["ref"], str] | None = None if head is None else ("ref", branch)
        self._lineage = lineage(table)
        self.found = self._scan(self._filter, [])
        # Who was given a group of tasks was given one processor too.
        self._workers = config.max_workers if tasks is None else 1
        self.plan = self.found.plan(self._workers) if tasks is None else tasks
        self.delta = _native.RowDelta(self.plan)
        self._lock = threading.Lock()
        self.matched_rows = 0

    @property
    def validation(self) -> tuple[int | None, str, str, bool, bool]:
        """What the commit is checked against: what was looked at, and how strictly."""
        is_update = self._operation != "delete"
        return (self._snapshot_id, self.isolation, self._filter, self._case_sensitive, is_update)

    def read_at(self, snapshot_id: int | None) -> None:
        """Let the commit fail if rows that match were added since an earlier snapshot, which the caller read."""
        self._snapshot_id, self.isolation = snapshot_id, "serializable"

    def find(self, *, whole: bool = True) -> None:
        """Find the rows that match; where all rows of a file do, it goes at once if `whole` files may."""
        indices = self.pending() if whole else range(len(self.plan))
        for _ in read_parts(indices, self._find_in, workers=self._workers):
            pass

    def pending(self) -> list[int]:
        """Let those files go of which all rows match by their partition; give the others."""
        return [index for index in range(len(self.plan)) if not self._goes_whole(index)]

    def _goes_whole(self, index: int) -> bool:
        if not self.plan.is_whole(index):
            return False
        task = self.plan.task(index)
        if task.delete_files:
            return False
        self.delta.remove_file(index)
        self.matched_rows += task.record_count
        return True

    def _find_in(self, index: int) -> Iterator[pa.RecordBatch]:
        reader, rows = self.open(index, self.found)
        for batch in rows:
            self.delete(index, positions(batch), reader)
        yield from ()

    def changed(
        self, choose: Choose, columns: list[str] | None = None, *, matching: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Delete the rows that `choose` names and stream what it makes of them: the rows of files with deletes.

        It is given `columns`, or all. Where all `matching` rows change, row groups of long files without any are read
        by the columns of the filter alone.
        """
        scan = self._chosen_by(columns)

        def change(index: int) -> Iterator[pa.RecordBatch]:
            reader, rows = self.open(index, scan, find=matching and self._is_long(index))
            for batch in rows:
                touched, changed = choose(self._columns(batch))
                self.delete(index, positions(batch).take(touched), reader)
                if changed.num_rows:
                    yield self._updated(batch, touched, changed)

        return read_parts(range(len(self.plan)), change, workers=self._workers)

    def _is_long(self, index: int) -> bool:
        """Whether a look at the columns of the filter may spare a read of a part of a data file."""
        task = self.plan.task(index)
        is_long = task.file_format == "PARQUET" and task.record_count > BATCH_ROWS
        return is_long and bool(self._filter) and not self.plan.is_whole(index)

    def choose(self, choose: Choose, columns: list[str] | None = None) -> None:
        """Note the rows that `choose` names by `columns`, or all, for files that are written again."""
        scan = self._chosen_by(columns)

        def note(index: int) -> Iterator[pa.RecordBatch]:
            reader, rows = self.open(index, scan)
            for batch in rows:
                self.delete(index, positions(batch).take(choose(self._columns(batch))[0]), reader)
            yield from ()

        for _ in read_parts(range(len(self.plan)), note, workers=self._workers):
            pass

    def rewritten(self, choose: Choose | None = None) -> Iterator[pa.RecordBatch]:
        """Stream the rows that stay of files that lose some, and what `choose` makes of the others; these files go."""
        rewritten = self.delta.staying()
        for index in rewritten:
            self.delta.remove_file(index)
        scan = self.all_columns("")

        def rewrite(index: int) -> Iterator[pa.RecordBatch]:
            for batch in self.open(index, scan)[1]:
                gone = self.delta.is_deleted(index, positions(batch))
                staying = batch.filter(pc.invert(gone))
                yield self._moved(self._columns(staying), staying.columns[-1 - len(self._lineage) : -1])
                if choose is not None and gone.true_count:
                    rows = batch.filter(gone)
                    yield self._updated(rows, *choose(self._columns(rows)))

        return read_parts(rewritten, rewrite, workers=self._workers)

    def all_columns(self, row_filter: str) -> _native.Scan:
        """Scan all columns, in v3 what rows keep when they move, and positions."""
        return self._scan(row_filter, ["*"], LINEAGE if self._lineage else ())

    def _chosen_by(self, columns: list[str] | None) -> _native.Scan:
        # A name with a dot would be taken for a field of a struct, one with quotes for the name inside of them.
        if columns is None or any("." in name or '"' in name for name in columns):
            return self.all_columns(self._filter)
        return self._scan(self._filter, columns, LINEAGE if self._lineage else ())

    def _columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Select the columns of the table; metadata columns come after them, and names do not tell them apart."""
        return batch.select(range(batch.num_columns - 1 - len(self._lineage)))

    def _updated(self, batch: pa.RecordBatch, touched: pa.Array, changed: pa.RecordBatch) -> pa.RecordBatch:
        """Return what rows of a batch became: with their ids, but not the number of the commit, which is not known."""
        if not self._lineage:
            return changed
        numbers = touched.slice(len(touched) - changed.num_rows)
        ids = batch.columns[-1 - len(self._lineage)].take(numbers)
        return self._moved(changed, [ids, pa.nulls(changed.num_rows, pa.int64())])

    def _moved(self, rows: pa.RecordBatch, kept: list[pa.Array]) -> pa.RecordBatch:
        """Return rows as they are written to another file, with what they keep."""
        schema = rows.schema
        for name in self._lineage:
            schema = schema.append(pa.field(name, pa.int64()))
        return pa.RecordBatch.from_arrays([*rows.columns, *kept], schema=schema) if self._lineage else rows

    def delete(self, index: int, positions: pa.Array, reader: _native.TaskReader) -> None:
        """Delete rows of a data file."""
        self.delta.delete_rows(index, positions, reader)
        with self._lock:
            self.matched_rows += len(positions)

    def open(
        self, index: int, scan: _native.Scan, *, find: bool = False
    ) -> tuple[_native.TaskReader, Iterator[pa.RecordBatch]]:
        """Read the data file at a place of the plan with the columns and the filter of `scan`.

        With `find`, the columns of the filter say first where rows are; see `rows_of`.
        """
        task = self.plan.task_for(index, scan)
        reader = with_deletes(task)
        finder = with_deletes(self.plan.task_for(index, self.found)) if find else None
        return reader, rows_of(task, reader, finder)

    def write_deletes(self, paths: list[str]) -> None:
        """Write the deletes of the files that stay, and add to `paths` where; what fails half-way is known too."""
        native = self.table._native  # noqa: SLF001 - of one package
        if self.table.format_version > 2:  # noqa: PLR2004
            written = self.delta.write_vectors(native, native.files)
            paths += [] if written is None else [written]
            return
        granularity = self.table.properties.get("write.delete.granularity", "file").lower()
        if granularity not in ("file", "partition"):
            message = f"write.delete.granularity is file or partition, not {granularity!r}"
            raise InvalidArgumentError(message)
        write_position_deletes(self.table, self.delta, paths, by_file=granularity == "file")

    def _scan(self, row_filter: str, columns: list[str], kept: tuple[str, ...] = ()) -> _native.Scan:
        return bind(
            self.table,
            row_filter,
            columns,
            choice=self._choice,
            case_sensitive=self._case_sensitive,
            metadata_columns=(*kept, POSITION),
        )


class RowChange(ABC):
    """What becomes of rows, all of them or those of the tasks that this process was given."""

    operation: RowLevel

    @abstractmethod
    def rows(self) -> Iterator[pa.RecordBatch]:
        """Delete rows, and stream those of new files."""

    @abstractmethod
    def counts(self) -> tuple[int, int]:
        """Give how many rows are deleted and updated."""

    def matched(self) -> bytes:
        """Give which rows of a source matched, a bit for each."""
        return b""


class Deleting(RowChange):
    """A DELETE."""

    def __init__(self, operation: RowLevel) -> None:
        """Of the rows that match."""
        self.operation = operation

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Delete them, and stream those that share a file with them, where files are written again."""
        operation = self.operation
        operation.find()
        operation.delta.remove_emptied()
        if not operation.on_read:
            yield from operation.rewritten()

    def counts(self) -> tuple[int, int]:
        """Give how many rows are deleted and updated."""
        return self.operation.matched_rows, 0


class Updating(RowChange):
    """An UPDATE."""

    def __init__(self, operation: RowLevel, values: Sequence[tuple[str, str]]) -> None:
        """Of the rows that match, to these values: SQL text by column."""
        self.operation = operation
        self._updater = _native.Updater(values, target_schema(operation.table), "target")

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Delete them, and stream them as they are now, with those that share a file where files are written again."""
        operation = self.operation
        if operation.on_read:
            return operation.changed(self._update, matching=True)
        operation.find(whole=False)
        return operation.rewritten(self._update)

    def counts(self) -> tuple[int, int]:
        """Give how many rows are deleted and updated."""
        return 0, self.operation.matched_rows

    def _update(self, rows: pa.RecordBatch) -> tuple[pa.Array, pa.RecordBatch]:
        return pa.arange(0, rows.num_rows), self._updater.update(rows)


def bind(
    table: Table,
    row_filter: str,
    columns: list[str],
    *,
    choice: tuple[Literal["ref"], str] | None = None,
    case_sensitive: bool = True,
    metadata_columns: tuple[str, ...] = (),
) -> _native.Scan:
    """Bind a scan of a branch, with metadata columns at the end."""
    return _native.Scan(
        table._native,  # noqa: SLF001 - of one package
        row_filter=row_filter,
        selected_fields=columns,
        snapshot=choice,
        append=None,
        limit=None,
        case_sensitive=case_sensitive,
        metadata_columns=metadata_columns,
    )


def positions(batch: pa.RecordBatch) -> pa.Array:
    """Return the positions of rows in their file, the last column of every scan here."""
    return batch.columns[-1]


def lineage(table: Table) -> list[str]:
    """Return what data files call the columns of `LINEAGE`; nothing where rows do not keep them."""
    return table._native.lineage_names()  # noqa: SLF001 - of one package


def target_schema(table: Table) -> pa.Schema:
    """Return the schema of rows that may change."""
    return bind(table, "", ["*"]).schema()


def _on_read(table: Table, operation: Operation) -> bool:
    """Say whether an operation writes deletes instead of files (`write.<operation>.mode`)."""
    key = f"write.{operation}.mode"
    mode = table.properties.get(key, _MODES[0]).lower()
    if mode not in _MODES:
        message = f"{key} is {' or '.join(_MODES)}, not {mode!r}"
        raise InvalidArgumentError(message, context={"property": key})
    # v1 has no deletes.
    return mode == _MODES[1] and table.format_version > 1
