"""Changes of rows that are given by data file and position, as computed by a query engine."""

from __future__ import annotations

import bisect
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc

from frazil._read_ahead import read_parts
from frazil.errors import CommitConflictError, InvalidArgumentError
from frazil.iceberg.operations.packed_addresses import PackedAddresses
from frazil.iceberg.operations.row_change import RowChange
from frazil.iceberg.operations.row_change_plan import Choice, RowChangePlan
from frazil.iceberg.operations.rows import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from frazil._run import States
    from frazil.iceberg._state import TableState
    from frazil.iceberg.operations.row_change_plan import TaskGroup
    from frazil.iceberg.operations.rows import WrittenRows
    from frazil.iceberg.operations.values import Filter, SnapshotOptions

__all__ = ["AddressInput", "Addressed", "AddressedRows", "Addresses", "ChangeRows", "MergedRows", "SelectedRows"]

_ADDRESS = ((0, pa.string()), (1, pa.int64()))
"""The columns of an address, by their place, and their types."""


class AddressedRows(NamedTuple):
    """The addressed rows of a data file, sorted by position."""

    positions: pa.Array
    numbers: pa.Array
    """The numbers of the rows in the input."""

    def slice(self, begin: int, end: int) -> AddressedRows:
        """Return the rows from number `begin` up to `end`, which is exclusive."""
        return AddressedRows(*(column.slice(begin, end - begin) for column in self))


class MergedRows(NamedTuple):
    """The rows that a MERGE changes, with one table for each clause."""

    changed: Sequence[pa.Table]
    """Data files, positions and new values; rows of a table without values are deleted."""
    inserted: Sequence[pa.Table]
    """The values of new rows, by column name; a column without values gets its default."""
    written: Sequence[WrittenRows] = ()
    """New rows that are already written into files."""


class SelectedRows(NamedTuple):
    """Rows that a query engine selected in one state of a table."""

    rows: pa.Table | PackedAddresses | MergedRows
    """The data files, the positions and then the new values."""
    filter: Filter
    """A filter that all addressed rows match: concurrent commits that add rows matching it are conflicts."""
    reads_others: bool = False
    """Whether the selection also depends on rows of the table that do not change, so that concurrent deletes of any
    rows are conflicts.
    """


class AddressInput(Protocol):
    """Rows that a query engine selects."""

    def read(self, state: TableState) -> SelectedRows:
        """Select the rows in a state of the table; each call runs the query again."""


class NewValues(NamedTuple):
    """The new values of consecutive rows of the input."""

    begin: int
    end: int
    is_update: bool
    """Whether the rows are updated, and not deleted."""
    rows: pa.RecordBatch | None
    """The values by column name; None if no column is set."""

    def of(self, numbers: pa.Array) -> pa.Array:
        """Return whether the rows of the input with the given numbers are among these."""
        return pc.and_(pc.greater_equal(numbers, self.begin), pc.less(numbers, self.end))

    def set(self, numbers: pa.Array, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Set the new values in rows of the table, given the number of each in the input."""
        if not self.is_update or self.rows is None:
            return rows if self.is_update else rows.slice(0, 0)
        values = self.rows.take(pc.subtract(numbers, self.begin))
        columns = [
            values.column(field.name) if field.name in values.schema.names else column
            for field, column in zip(rows.schema, rows.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=rows.schema)


class Addresses:
    """Rows of one state of a table, addressed by data file and position, their new values, and new rows."""

    def __init__(
        self,
        selected: SelectedRows,
        state: TableState,
        *,
        updates: bool = False,
        source: AddressInput | None = None,
    ) -> None:
        """Sort addressed rows: the first two columns are file and position, and the others new values, by column name.

        Rows without new values are deleted, unless `updates` is set. `source` selects the rows in another state; None
        does not.

        Raises:
            InvalidArgumentError: An address is NULL, a row is addressed twice, or a value does not fit its column.
        """
        self._state, self._updates, self._source = _identity(state), updates, source
        rows, self.filter, self.reads_others = selected
        self._packed = rows if isinstance(rows, PackedAddresses) else None
        if isinstance(rows, PackedAddresses):
            rows = MergedRows([], [])
        parts, inserted, self.written = rows if isinstance(rows, MergedRows) else MergedRows([rows], [])
        self.inserted = [_fitted(part, state) for part in inserted if part.num_rows]
        """The new rows."""
        self.values: list[NewValues] = []
        """The new values, in the order of the input."""
        for part in parts:
            begin = self.values[-1].end if self.values else 0
            values = part.select(range(2, part.num_columns))
            fitted = _fitted(values, state) if values.num_columns else None
            self.values.append(NewValues(begin, begin + part.num_rows, updates or fitted is not None, fitted))
        files, found = (pa.chunked_array([_addresses(part, place) for part in parts], kind) for place, kind in _ADDRESS)
        files, found = _whole(files), _whole(found)
        if files.null_count or found.null_count:
            message = "the address of a row is NULL"
            raise InvalidArgumentError(message)
        files = files.dictionary_encode()
        keys = pa.table({"file": files.indices, "position": found})
        order = pc.sort_indices(keys, sort_keys=[("file", "ascending"), ("position", "ascending")])
        keys = keys.take(order)
        self._positions = _whole(keys.column(1))
        self._numbers = order.cast(pa.int64())
        runs = pc.run_end_encode(_whole(keys.column(0)))
        paths = files.dictionary.take(runs.values).to_pylist()
        ends = runs.run_ends.to_pylist()
        self._ranges = dict(zip(paths, zip([0, *ends], ends, strict=False), strict=True))
        for path, (begin, end) in self._ranges.items():
            _refuse_pairs(path, self._positions.slice(begin, end - begin))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._positions if self._packed is None else self._packed)

    def __getstate__(self) -> Mapping[str, Any]:
        """Return what workers need: they neither write the new rows nor select rows again."""
        return {**self.__dict__, "inserted": [], "written": [], "_source": None}

    @property
    def files(self) -> set[str]:
        """The locations of the data files that contain the rows."""
        return set(self._ranges) if self._packed is None else self._packed.files

    def of(self, file_path: str) -> AddressedRows:
        """Return the rows in a data file.

        Raises:
            InvalidArgumentError: A packed row is addressed twice.
        """
        if self._packed is not None:
            positions = self._packed.positions(file_path)
            if len(positions):
                _refuse_pairs(file_path, positions)
            return AddressedRows(positions, pa.nulls(len(positions)))
        begin, end = self._ranges.get(file_path, (0, 0))
        return AddressedRows(self._positions, self._numbers).slice(begin, end)

    @classmethod
    def select(cls, source: AddressInput, state: TableState, *, updates: bool) -> Self:
        """Select rows in a state. If they are invalid, the files with new rows are deleted."""
        selected = source.read(state)
        try:
            return cls(selected, state, updates=updates, source=source)
        except BaseException:
            if isinstance(selected.rows, MergedRows):
                _abort(selected.rows.written)
            raise

    def fit(self, state: TableState) -> Self:
        """Return self if the rows were selected in `state`; otherwise select them again.

        In another state, the positions may be those of other rows.

        Raises:
            CommitConflictError: The state is another one, and the rows cannot be selected again.
        """
        if _identity(state) == self._state:
            return self
        if self._source is None:
            message = "the table changed after the rows to change were selected"
            raise CommitConflictError(message, hint="select the rows again")
        self.abort()
        return self.select(self._source, state, updates=self._updates)

    def abort(self) -> None:
        """Delete the files with new rows."""
        _abort(self.written)


class Addressed(RowChange):
    """The execution of a change of addressed rows."""

    def __init__(self, plan: RowChangePlan, options: SnapshotOptions, addresses: Addresses, *, updates: bool) -> None:
        """Find the data files of the rows in the plan.

        Raises:
            InvalidArgumentError: A position is not in its data file.
        """
        super().__init__(plan, options, addresses.written)
        self._updates = updates
        self._values, self._inserted = addresses.values, addresses.inserted
        self._rows: dict[int, AddressedRows] = {}
        self._lock = threading.Lock()
        self._deleted = self._updated = 0
        for place in range(len(plan.tasks)):
            task = plan.tasks.task(place)
            rows = addresses.of(task.file_path)
            if len(rows.positions):
                _check_positions(task.file_path, rows.positions, task.record_count)
                self._rows[place] = rows

    @property
    def found_files(self) -> set[str]:
        """The locations of the planned data files that contain addressed rows."""
        return {self.plan.tasks.task(place).file_path for place in self._rows}

    def groups(self, target_bytes: int, open_cost_bytes: int) -> list[TaskGroup]:
        """Return the tasks for workers, without the data files that have no addressed rows."""
        return self.plan.groups(list(self._rows), target_bytes, open_cost_bytes)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Delete the addressed rows, and stream the rows of new files."""
        if self._updates and self.plan.merge_on_read:
            yield from self._rewriter.changed(self._update, places=list(self._rows))
        else:
            for _ in read_parts(list(self._rows), self._delete_in, workers=self.plan.workers):
                pass
            if not self._updates:
                self.plan.delta.remove_emptied()
            if not self.plan.merge_on_read:
                yield from self._rewriter.rewritten(self._update if self._updates else None)
        if self._updates:
            self._check_changed()

    def inserts(self) -> Iterator[pa.RecordBatch]:
        """Stream the new rows."""
        return iter(self._inserted)

    def inserted(self) -> int:
        """Return the number of inserted rows."""
        count: int = super().inserted() + sum(batch.num_rows for batch in self._inserted)
        return count

    def counts(self) -> tuple[int, int]:
        """Return the number of rows that `rows` deleted and updated."""
        return (self._deleted, self._updated) if self._updates else (self.plan.matched_rows, 0)

    def _delete_in(self, place: int) -> Iterator[pa.RecordBatch]:
        # Opening a data file loads its deletes, but does not read its rows.
        reader, _ = self.plan.open(place, self.plan.found)
        self.plan.delete(place, self._rows[place].positions, reader)
        yield from ()

    def _update(self, place: int, found: pa.Array, rows: pa.RecordBatch) -> Choice:
        """Find the addressed rows of a batch, and set the new values of those that are not deleted."""
        addressed = self._rows[place]
        # Both are sorted, so that only a part of the addresses can be in the batch.
        begin, end = (_number_of(addressed.positions, found[at].as_py() - at) for at in (0, -1))
        positions, numbers = addressed.slice(begin, end)
        matches = pc.index_in(found, value_set=positions)
        touched, numbers = pc.indices_nonzero(matches.is_valid()), numbers.take(matches.drop_null())
        deleted, updated, changed = [touched.slice(0, 0)], [touched.slice(0, 0)], [rows.slice(0, 0)]
        for values in self._values:
            own = values.of(numbers)
            (updated if values.is_update else deleted).append(touched.filter(own))
            changed.append(values.set(numbers.filter(own), rows.take(touched.filter(own))))
        with self._lock:
            self._deleted += sum(map(len, deleted))
            self._updated += sum(map(len, updated))
        return Choice(pa.concat_arrays([*deleted, *updated]), pa.concat_batches(changed))

    def _check_changed(self) -> None:
        wanted = sum(len(rows.positions) for rows in self._rows.values())
        changed = self._deleted + self._updated
        if changed != wanted:
            message = f"only {changed} of {wanted} addressed rows exist, because the others are already deleted"
            raise InvalidArgumentError(message, hint="select the rows in the state that is changed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRows:
    """Changes rows by their addresses, which are selected again for each attempt on another state.

    A merge deletes, updates and inserts rows.
    """

    replans: ClassVar[bool] = True
    options: SnapshotOptions
    kind: Literal["delete", "update", "merge"]

    def prepare(self, table: States[TableState], rows: AddressInput) -> Addresses:
        """Select the rows in the latest state."""
        return Addresses.select(rows, table.newest(), updates=self.kind == "update")

    def plan(self, state: TableState, ready: Addresses, tasks: bytes | None = None) -> Addressed:
        """Plan the data files that contain addressed rows.

        Raises:
            InvalidArgumentError: The snapshot does not have an addressed data file or row.
        """
        plan = RowChangePlan(state, self.kind, self.options, ready.filter, tasks)
        # The engine read the rows that it deletes, so that a concurrent delete may change which rows it selects.
        is_serializable = plan.validation.isolation.lower() == "serializable"
        plan.validation = replace(
            plan.validation, refuses_new_deletes=True, refuses_removals=is_serializable and ready.reads_others
        )
        updates = any(values.is_update for values in ready.values)
        change = Addressed(plan, self.options, ready, updates=updates)
        if tasks is None and (unknown := ready.files - change.found_files):
            path = min(unknown)
            message = f"the snapshot has no data file {path!r} with rows that match the filter"
            raise InvalidArgumentError(message, context={"file": path})
        return change


def _identity(state: TableState) -> Any:
    """Return what differs between states with different rows or columns."""
    branches = {name: ref.snapshot_id for name, ref in state.metadata.refs.items()}
    return state.native.metadata_location, state.is_staged and branches


def _abort(written: Sequence[WrittenRows]) -> None:
    for rows in written:
        rows.abort()


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()


def _addresses(part: pa.Table, place: int) -> pa.Array:
    return _whole(part.column(place)).cast(dict(_ADDRESS)[place])


def _fitted(values: pa.Table, state: TableState) -> pa.RecordBatch:
    """Return new values as one batch, with the types of the table's columns."""
    known = state.arrow_schema().names
    unknown = next((name for name in values.schema.names if name not in known), None)
    if unknown is not None:
        message = f"the table has no column `{unknown}`"
        raise InvalidArgumentError(message, context={"column": unknown})
    batch = pa.RecordBatch.from_arrays([_whole(column) for column in values.columns], names=values.schema.names)
    [fitted] = Source(state, [batch], exact=True).batches
    return fitted


def _refuse_pairs(path: str, positions: pa.Array) -> None:
    """Check that sorted positions are distinct."""
    same = pc.equal(positions.slice(1), positions.slice(0, len(positions) - 1))
    place = pc.index(same, value=True).as_py() if len(same) else -1
    if place >= 0:
        message = f"position {positions[place]} of the data file {path!r} is addressed twice"
        raise InvalidArgumentError(message, context={"file": path})


def _check_positions(path: str, positions: pa.Array, record_count: int) -> None:
    first, last = positions[0].as_py(), positions[-1].as_py()
    if first < 0 or last >= record_count:
        wrong = first if first < 0 else last
        message = f"position {wrong} is not in the data file {path!r}, which has {record_count} rows"
        raise InvalidArgumentError(message, context={"file": path})


def _number_of(positions: Sequence[Any], position: int) -> int:
    """Return the number of the first of sorted positions that is not less than `position`."""
    return bisect.bisect_left(positions, position, key=lambda value: value.as_py())
