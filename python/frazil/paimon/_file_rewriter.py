"""Changes the rows of data files of a table without a primary key, by deletion vectors or copy-on-write."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from frazil._read_ahead import read_ahead
from frazil._write_result import RowCounts
from frazil.config import config
from frazil.files.write.writer import DataFileWriter
from frazil.paimon._input_rows import write_rows
from frazil.paimon._messages import Messages
from frazil.paimon._read import read_split
from frazil.paimon._writer_options import utc_offset_ms, writer_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from frazil import _native
    from frazil._run import ReadSnapshot
    from frazil.paimon._row_rules import TableRules
    from frazil.paimon._state import CommitOptions, TableState

__all__ = ["Changed", "FileRewriter", "RowChange"]


class Changed(NamedTuple):
    """The changes to rows that were found."""

    updated: Sequence[int]
    """The numbers of the updated rows; the other rows are deleted."""
    values: pa.RecordBatch
    """The new values of the updated rows, in the same order."""


class RowChange:
    """The change that a statement makes to rows."""

    only_deletes: bool = False
    """Whether all found rows are deleted."""
    changes_all: ClassVar[bool] = True
    """Whether all rows of a scan change."""

    def found(self, rows: pa.RecordBatch) -> Sequence[int]:
        """Return the numbers of the rows that change, among the rows of a scan."""
        return range(rows.num_rows)

    def positions(self, file: str) -> pa.Array | None:  # noqa: ARG002 - for subclasses
        """Return the positions of the rows that change in a data file; None if rows must be read to find them."""
        return None

    def changed(self, rows: pa.RecordBatch, file: str, positions: pa.Array) -> Changed:
        """Return the changes to rows that were found in a data file, given all their columns and their positions."""
        raise NotImplementedError

    def inserts(self) -> Iterator[pa.RecordBatch]:
        """Stream the inserted rows; call this after all rows of the table were found."""
        return iter(())


class _File(NamedTuple):
    """A data file whose rows may change."""

    place: int
    """Its number in the plan."""
    find: _native.PaimonSplit
    task: _native.PaimonCompaction
    changed: _native.ChangedRows

    @property
    def path(self) -> str:
        """The location of the file."""
        return self.find.data_files()[0].file_path


class FileRewriter:
    """Changes rows of one snapshot of a table.

    The changed rows of a file are found first, by the columns that determine them.

    With deletion vectors, these rows are marked as deleted, and updated rows are added to the files of new rows. Files
    whose rows all change are removed.

    Otherwise, files with changed rows are rewritten. Updated rows keep their places, except those whose partition or
    bucket changes, which are added to the files of new rows.
    """

    def __init__(
        self,
        state: TableState,
        options: CommitOptions,
        scan: _native.PaimonScan,
        change: RowChange,
        rules: TableRules,
        *,
        read: ReadSnapshot | None = None,
    ) -> None:
        """Keep the change, and the scan of the rows that it may apply to; `read` is as in `begin_commit`."""
        self._state, self._options, self._change, self._rules = state, options, change, rules
        self._commit = state.begin_commit(options, read=read)
        self._plan = scan.rewrites(utc_offset_ms=utc_offset_ms())
        # A file of a later schema would lose columns.
        state.check_not_altered()
        self._placing = rules.placing_columns()
        self._marks_rows = self._plan.marks_rows()
        self._messages: list[bytes] = []
        self._writers: list[DataFileWriter[_native.PaimonCompaction]] = []
        self._deleted = self._updated = self._inserted = 0

    def execute(self) -> Messages:
        """Write the new files and return the commit; on failure the files are deleted."""
        try:
            added = write_rows(self._state, self._new_rows(), overwrites=False)
        except BaseException:
            self._plan.abort()
            for writer in self._writers:
                writer.abort()
                writer.rows.abort()
            raise
        counts = RowCounts(self._deleted, self._updated, self._inserted)
        return Messages(self._commit, [*self._messages, *added], counts=counts)

    def _new_rows(self) -> Iterator[pa.RecordBatch]:
        """Rewrite the files with changed rows; stream the rows that are added to other files."""
        for file in read_ahead(range(len(self._plan)), self._find, workers=config.max_workers):
            yield from self._rewrite(file)
        for rows in self._change.inserts():
            self._inserted += rows.num_rows
            yield rows
        # Written before the new rows are complete: a failure then deletes their files.
        self._messages += self._plan.messages()

    def _find(self, place: int) -> Iterator[_File]:
        """Find the changed rows of a file; yield the file if it has any."""
        file = _File(place, *self._plan.file(place))
        positions = self._change.positions(file.path)
        if positions is not None:
            file.changed.add_selected(positions)
        elif self._change.changes_all and self._plan.matches_all(place):
            file.changed.add_all()
        else:
            self._read_positions(file)
        if len(file.changed):
            yield file

    def _read_positions(self, file: _File) -> None:
        """Read the columns that determine which rows change."""
        for batch in read_split(file.find):
            rows, positions = _apart(batch)
            if not self._change.changes_all:
                positions = positions.take(pa.array(self._change.found(rows), pa.int64()))
            file.changed.add(positions)

    def _rewrite(self, file: _File) -> Iterator[pa.RecordBatch]:
        """Mark or replace the changed rows of a file; stream the rows that move to another file."""
        is_whole = file.changed.is_whole()
        if self._marks_rows and not is_whole:
            self._plan.mark(file.place, file.changed)
        else:
            self._plan.remove(file.place)
        if self._change.only_deletes and (is_whole or self._marks_rows):
            self._deleted += len(file.changed)
        elif self._marks_rows:
            yield from self._moved(file)
        else:
            yield from self._replace(file)
            return
        if is_whole:
            self._messages.append(file.task.message())

    def _moved(self, file: _File) -> Iterator[pa.RecordBatch]:
        """Stream the updated rows of a file with their new values."""
        for split in file.task.reads():
            for batch in read_split(split):
                rows, positions = _apart(batch)
                is_changed = file.changed.mask(positions)
                if is_changed.true_count:
                    yield self._updated_rows(rows.filter(is_changed), file.path, positions.filter(is_changed))[1]

    def _updated_rows(self, old: pa.RecordBatch, path: str, positions: pa.Array) -> tuple[pa.Array, pa.RecordBatch]:
        """Return the numbers of the changed rows that are updated, and their new values; count all changed rows."""
        changed = self._change.changed(old, path, positions)
        updated = pa.array(changed.updated, pa.int64())
        self._updated += len(updated)
        self._deleted += old.num_rows - len(updated)
        new = pa.RecordBatch.from_arrays(changed.values.columns, schema=old.schema)
        if len(updated):
            self._rules.check_defaults(new)
        return updated, new

    def _replace(self, file: _File) -> Iterator[pa.RecordBatch]:
        """Write the rows that remain in a file to its replacement; stream the rows that move to another file."""
        writer = DataFileWriter(self._state.files, file.task, writer_options(file.task))
        self._writers.append(writer)
        for split in file.task.reads():
            for batch in read_split(split):
                rows, positions = _apart(batch)
                remaining, moved = self._divided(rows, file.path, positions, file.changed.mask(positions))
                if remaining.num_rows:
                    writer.write([remaining])
                if moved.num_rows:
                    yield moved
        writer.close()
        self._messages.append(file.task.message())

    def _divided(
        self, rows: pa.RecordBatch, path: str, positions: pa.Array, is_changed: pa.BooleanArray
    ) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """Return the rows that remain in a file, in order and with their new values, and those that move."""
        if not is_changed.true_count:
            return rows, rows.slice(0, 0)
        numbers = pc.indices_nonzero(is_changed)
        old = rows.take(numbers)
        updated, new = self._updated_rows(old, path, positions.filter(is_changed))
        if not len(updated):
            return rows.filter(pc.invert(is_changed)), rows.slice(0, 0)
        moves = _differs(old.take(updated), new, self._placing)
        stays = pc.invert(moves)
        kept = pc.indices_nonzero(pc.invert(is_changed))
        order = pc.sort_indices(pa.concat_arrays([kept, numbers.take(updated).filter(stays)]))
        together = pa.Table.from_batches([rows.take(kept), new.filter(stays)]).take(order)
        return together.combine_chunks().to_batches()[0] if len(together) else rows.slice(0, 0), new.filter(moves)


def _apart(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.Array]:
    """Return the rows and their positions, which are the last column: a column may have the same name."""
    return batch.select(range(batch.num_columns - 1)), batch.column(batch.num_columns - 1)


def _differs(old: pa.RecordBatch, new: pa.RecordBatch, names: Sequence[str]) -> pa.BooleanArray:
    """Return which rows have another value in one of the columns; -0.0 differs from 0.0, and NaN from NaN."""
    differs = pa.array([False] * new.num_rows, pa.bool_())
    for name in names:
        before, after = old.column(name), new.column(name)
        if pa.types.is_floating(before.type):
            bits = pa.int64() if before.type == pa.float64() else pa.int32()
            before, after = before.view(bits), after.view(bits)
        equal = pc.or_(
            pc.fill_null(pc.equal(before, after), False),  # noqa: FBT003 - the value of NULL
            pc.and_(before.is_null(), after.is_null()),
        )
        differs = pc.or_(differs, pc.invert(equal))
    return differs
