"""Iceberg tables, and transactions, which commit several changes as one."""

from __future__ import annotations

import json
import time
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

from frazil import _native
from frazil._arguments import (
    field_names,
    filter_text,
    flag,
    place_of_new,
    property_texts,
    row_limit,
    snapshot_choice,
    storage_options,
    table_files,
    whole_number,
)
from frazil._boundary import operation, operation_of
from frazil._frames import Frames
from frazil._opened import Opened, opened_with
from frazil._run import HERE, ReadSnapshot, apply, run
from frazil._write_result import settle
from frazil.errors import UnsupportedError
from frazil.iceberg._inspect import Inspect
from frazil.iceberg._maintenance import Maintenance
from frazil.iceberg._new_table import NewTable, own_locations
from frazil.iceberg._read_options import check_read_options
from frazil.iceberg._state import TableState, folder_of
from frazil.iceberg._table_metadata import TableMetadata
from frazil.iceberg._target import Target
from frazil.iceberg._verbs import Verbs
from frazil.iceberg.operations.evolve import Evolve

if TYPE_CHECKING:
    import datetime
    import os
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from frazil._arguments import RowFilter, SnapshotChoice
    from frazil._run import Executor
    from frazil._write_result import WriteResult
    from frazil.iceberg._changes import Changes
    from frazil.iceberg._location import Location
    from frazil.iceberg._pointer import CatalogRow, ServerRow
    from frazil.iceberg._scan import Scan
    from frazil.iceberg._schema import PartitionSpec, Schema, SortOrder
    from frazil.iceberg._snapshot import HistoryEntry, Snapshot, SnapshotRef
    from frazil.iceberg._staged import StagedTable
    from frazil.iceberg._verbs import Operation


class Table(Opened, Frames, Maintenance):
    """An Iceberg table at one state of its metadata.

    The handle does not see other writers' changes until `refresh` loads the latest state. It sees its own writes.
    """

    def __init__(
        self,
        native: _native.Table,
        files: _native.Files,
        location: str,
        options: dict[str, Any],
        *,
        is_staged: bool = False,
    ) -> None:
        """Not for direct use; use `frazil.load_table` or a catalog."""
        self._native = native
        self._is_staged = is_staged
        """Whether the state is the uncommitted state of a transaction, which is not stored in any file."""
        self._files = files
        self._opened = location
        self._options = options

    @classmethod
    def open(
        cls,
        location: str,
        *,
        relocate: Mapping[str, str],
        storage: Mapping[str, str],
        allowed_locations: Sequence[str] = (),
        recorded: str | None = None,
    ) -> Table:
        """Open the table in a folder, or from one of its metadata files; see `frazil.load_table`.

        `recorded` is the metadata file location that a catalog recorded.
        """
        options = opened_with(relocate, storage, allowed_locations)
        files = table_files(folder_of(location), **options)
        with operation("load_table", lambda: location):
            return cls(_native.Table.open(files, location, recorded), files, location, options)

    def refresh(self) -> Table:
        """Return the table at its latest metadata.

        Raises:
            CorruptMetadataError: The location now contains another table.
        """
        with operation("refresh", self._place):
            return self._at(TableState(self._native.refresh(self._files, self._opened), self._options))

    @classmethod
    def create(  # noqa: PLR0913 - what a table is made of
        cls,
        location: str | os.PathLike[str],
        schema: Any,
        *,
        partition_by: Any = (),
        sort_order: Any = (),
        format_version: int | None = None,
        properties: Mapping[str, str] | None = None,
        storage: Mapping[str, str] | None = None,
    ) -> Table:
        """Create a table in a folder; see `frazil.create_table`."""
        location = place_of_new(location)
        new = NewTable(location, schema, partition_by, format_version, properties, sort_order)
        options = opened_with({}, storage_options(storage), new.own_locations())
        files = table_files(location, **options)
        native = new.make(files, None)
        return cls(native, files, location, options)

    @property
    def _row(self) -> CatalogRow | ServerRow | None:
        """Return the catalog pointer of the table; None for a table without a catalog."""
        return None

    def transaction(self) -> Transaction:
        """Begin several changes to the latest state, which are committed as one when the `with` block ends."""
        target = Target(self._state, self._row)
        self._adopt(target.newest())
        return Transaction(target.begin(), self._at, self._adopt)

    def set_properties(self, properties: Mapping[str, str] | None = None, **more: str) -> None:
        """Set properties and keep all others. A `write.data.path` set here is allowed for this handle.

        Raises:
            InvalidArgumentError: A known property does not accept the value, or a name is reserved.
        """
        super().set_properties(properties, **more)
        if own := own_locations(property_texts(properties) | property_texts(more)):
            self._allow(own)

    def _allow(self, own: list[str]) -> None:
        """Allow this handle to access the locations `own`, which its user specified."""
        self._options = self._options | {"allowed_locations": [*self._options["allowed_locations"], *own]}
        self._files = table_files(folder_of(self._opened), **self._options)
        self._native = self._native.refresh(self._files, self._opened)

    @property
    def _state(self) -> TableState:
        """Return the state of this handle that operations use."""
        return TableState(self._native, self._options, is_staged=self._is_staged)

    def _at(self, state: TableState) -> Table:
        """Return a table handle with the same options at another state."""
        return Table(state.native, self._files, self._opened, self._options, is_staged=state.is_staged)

    def _adopt(self, state: TableState | None) -> Table:
        """Update this handle to a state, unless it is None, and return the handle."""
        if state is not None:
            self._native = state.native
        return self

    def _run(self, operation: Operation, rows: Any = None, executor: Executor = HERE) -> WriteResult:
        return self._run_on(Target(self._state, self._row), operation, rows, executor)

    def _evolve_and_compare(self, change: dict[str, Any]) -> tuple[TableState | None, TableState]:
        target = Target(self._state, self._row)
        with operation("commit", self._place):
            self._run_on(target, Evolve(change=json.dumps(change)))
        return target.replaced, target.state()

    def _run_on(self, target: Target, operation: Operation, rows: Any = None, executor: Executor = HERE) -> WriteResult:
        try:
            result = run(target, operation, rows, executor)
        except BaseException:
            # After a failed attempt of an operation that is not replanned, the handle keeps the state that the user
            # knows, so that the next attempt detects the conflict again.
            if operation.replans:
                self._adopt(target.state())
            raise
        self._adopt(target.state())
        return result

    def _newest(self) -> TableState:
        return Target(self._state, self._row).newest()

    def _place(self) -> str:
        return self.location

    @property
    def metadata_location(self) -> str:
        """The metadata file."""
        return self._native.metadata_location

    @property
    def format_version(self) -> int:
        """The version of the Iceberg format: 1, 2 or 3."""
        return self._native.format_version

    @property
    def metadata(self) -> TableMetadata:
        """The metadata of the table at this state."""
        return TableMetadata(self._native)

    @property
    def location(self) -> Location:
        """The location that the table records for itself: a string that can also be called, as in PyIceberg."""
        return self.metadata.location

    @property
    def uuid(self) -> str | None:
        """The UUID of the table."""
        return self.metadata.table_uuid

    @property
    def properties(self) -> dict[str, str]:
        """The properties of the table."""
        return self.metadata.properties

    @property
    def last_sequence_number(self) -> int:
        """The highest assigned sequence number; 0 in format version 1."""
        return self.metadata.last_sequence_number

    def schema(self) -> Schema:
        """Return the current schema."""
        return self.metadata.schema()

    def schemas(self) -> list[Schema]:
        """Return all schemas of the table."""
        return self.metadata.schemas

    def spec(self) -> PartitionSpec:
        """Return the partition spec for new files."""
        return self.metadata.spec()

    def specs(self) -> list[PartitionSpec]:
        """Return all partition specs of the table."""
        return self.metadata.partition_specs

    def sort_order(self) -> SortOrder:
        """Return the sort order for new files."""
        return self.metadata.sort_order()

    def snapshots(self) -> list[Snapshot]:
        """Return the snapshots, oldest first."""
        return self.metadata.snapshots

    def current_snapshot(self) -> Snapshot | None:
        """Return the current snapshot of `main`; None for a table without one."""
        return self.metadata.current_snapshot()

    def snapshot_by_id(self, snapshot_id: int) -> Snapshot | None:
        """Return a snapshot; None if the table does not have it."""
        return self.metadata.snapshot_by_id(snapshot_id)

    def snapshot_by_name(self, name: str) -> Snapshot | None:
        """Return the snapshot of a branch or a tag; None if it does not exist."""
        return self.metadata.snapshot_by_name(name)

    def snapshot_as_of_timestamp(self, timestamp_ms: int, inclusive: bool = True) -> Snapshot | None:  # noqa: FBT001, FBT002 - as PyIceberg has it
        """Return the snapshot that was current on `main` at a time; None before the first one, or if it has expired.

        Args:
            timestamp_ms: The time in milliseconds since the epoch.
            inclusive: Whether a snapshot that became current exactly at this time is considered.

        >>> import frazil
        >>> table = frazil.load_table("tests/golden/iceberg/inc_mor")
        >>> first = table.history()[0]
        >>> table.snapshot_as_of_timestamp(first.timestamp_ms).snapshot_id == first.snapshot_id
        True
        >>> table.snapshot_as_of_timestamp(first.timestamp_ms, inclusive=False) is None
        True
        """
        return self.metadata.snapshot_as_of_timestamp(timestamp_ms, inclusive)

    def ancestors_of(self, snapshot_id: int | None = None) -> list[Snapshot]:
        """Return a snapshot and its ancestors, newest first, up to the first ancestor that has expired.

        Args:
            snapshot_id: The snapshot to start with; None for the current snapshot of `main`.

        Raises:
            NoSuchSnapshotError: The table does not have this snapshot.

        >>> import frazil, tempfile
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "long"})
        >>> first, second = table.append([{"id": 1}]), table.append([{"id": 2}])
        >>> [one.snapshot_id for one in table.ancestors_of()] == [second.snapshot_id, first.snapshot_id]
        True
        """
        return self.metadata.ancestors_of(snapshot_id)

    def refs(self) -> dict[str, SnapshotRef]:
        """Return the branches and tags by name."""
        return self.metadata.refs

    def history(self) -> list[HistoryEntry]:
        """Return the snapshots that were current and the times at which they became current, oldest first."""
        return self.metadata.snapshot_log

    @property
    def inspect(self) -> Inspect:
        """The metadata tables of the state of this handle: `table.inspect.files()`."""
        return Inspect(self._native, self.location)

    def scan(  # noqa: PLR0913 - as PyIceberg has it, and three ways to travel in time
        self,
        row_filter: RowFilter = True,  # noqa: FBT002 - as PyIceberg has it
        selected_fields: Sequence[str] = ("*",),
        *,
        case_sensitive: bool = True,
        snapshot_id: int | None = None,
        ref: str | None = None,
        as_of: int | str | datetime.datetime | None = None,
        limit: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Scan:
        """Define a read; no data is read until rows are requested.

        Args:
            row_filter: An SQL expression such as `id > 10 and name like 'a%'`, or an expression of PyIceberg; True for
                all rows.
            selected_fields: Column names, `s.x` for a field of a struct, `*` for all, and the metadata columns
                `_file`, `_pos`, `_deleted`, `_spec_id`, `_partition`, `_row_id`, `_last_updated_sequence_number`.
            case_sensitive: Whether column names are case-sensitive.
            snapshot_id: A snapshot to read, with its own schema.
            ref: A branch to read, with the current schema, or a tag, with the schema of its snapshot.
            as_of: The time whose current snapshot is read, inclusive: milliseconds since the epoch, a datetime or an
                ISO 8601 string with a time zone, such as `2024-01-31T12:00:00Z`. A datetime without a time zone is
                local time.
            limit: The maximum number of rows.
            options: None or empty, for code written for PyIceberg: there are no read options.

        Raises:
            InvalidArgumentError: A column, literal or option is invalid.
            NoSuchSnapshotError: The snapshot, branch or tag does not exist.
        """
        check_read_options(options)
        choice = snapshot_choice(snapshot_id, ref, as_of)
        return self._scan(row_filter, selected_fields, choice, None, limit, case_sensitive)

    def incremental_append_scan(  # noqa: PLR0913 - as PyIceberg has it
        self,
        row_filter: RowFilter = True,  # noqa: FBT002 - as PyIceberg has it
        selected_fields: Sequence[str] = ("*",),
        *,
        case_sensitive: bool = True,
        from_snapshot_id_exclusive: int | None = None,
        to_snapshot_id_inclusive: int | None = None,
        limit: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Scan:
        """Define a read of the rows that append snapshots added.

        Args:
            row_filter: As in `scan`.
            selected_fields: As in `scan`.
            case_sensitive: As in `scan`.
            from_snapshot_id_exclusive: The snapshot after which to start; None to start with the first snapshot.
            to_snapshot_id_inclusive: The last snapshot to read; None for the current snapshot.
            limit: The maximum number of rows.
            options: As in `scan`.

        Raises:
            InvalidArgumentError: The first snapshot is not an ancestor of the last.
            NoSuchSnapshotError: The last snapshot does not exist.
        """
        check_read_options(options)
        first, last = from_snapshot_id_exclusive, to_snapshot_id_inclusive
        append = (
            None if first is None else whole_number("from_snapshot_id_exclusive", first),
            None if last is None else whole_number("to_snapshot_id_inclusive", last),
        )
        return self._scan(row_filter, selected_fields, None, append, limit, case_sensitive)

    def changes(  # noqa: PLR0913 - keyword arguments of one read
        self,
        from_snapshot_id_exclusive: int | None = None,
        to_snapshot_id_inclusive: int | None = None,
        *,
        row_filter: RowFilter = True,
        selected_fields: Sequence[str] = ("*",),
        net_changes: bool = False,
        compute_updates: bool | None = None,
        identifier_columns: Sequence[str] = (),
        carryovers: bool = False,
        case_sensitive: bool = True,
        limit: int | None = None,
    ) -> Changes:
        """Define a read of the rows that snapshots inserted and deleted.

        Each row has the columns of the table, and `_change_type` (`INSERT`, `DELETE`, `UPDATE_BEFORE` or
        `UPDATE_AFTER`), `_change_ordinal` (the number of the snapshot in the range, from 0;
        `replace` snapshots do not count) and `_commit_snapshot_id`.
        Snapshots that only rewrote files change no rows. Position deletes, deletion vectors and equality deletes are
        applied.

        Args:
            from_snapshot_id_exclusive: The snapshot after which to start; None to start with the first snapshot.
            to_snapshot_id_inclusive: The last snapshot to read; None for the current snapshot.
            row_filter: As in `scan`.
            selected_fields: As in `scan`. Rows are compared by all columns.
            net_changes: Omit rows whose change a later snapshot of the range reverts.
            compute_updates: Return a row that was deleted and inserted with other values in one snapshot as
                `UPDATE_BEFORE` and `UPDATE_AFTER`. True by default if `identifier_columns` are given.
            identifier_columns: The columns that identify a row for updates. The default is the row id in format version
                3; otherwise the identifier fields of the schema.
            carryovers: Keep unchanged rows that were carried over into a rewritten file, as `DELETE` and `INSERT`.
            case_sensitive: As in `scan`.
            limit: The maximum number of rows.

        Raises:
            InvalidArgumentError: The first snapshot is not an ancestor of the last, a column or literal is invalid, or
                the identifier columns do not identify rows.
            NoSuchSnapshotError: A snapshot does not exist, or its parent has expired.

        >>> import frazil
        >>> table = frazil.load_table("tests/golden/iceberg/inc_mor")
        >>> table.changes(identifier_columns=["id"], selected_fields=["id", "v"]).to_arrow().num_columns
        5
        """
        from frazil._changes import native_arguments
        from frazil.iceberg._changes import Changes

        arguments = native_arguments(
            (from_snapshot_id_exclusive, to_snapshot_id_inclusive),
            row_filter=row_filter,
            selected_fields=selected_fields,
            net_changes=net_changes,
            compute_updates=compute_updates,
            identifier_columns=identifier_columns,
            carryovers=carryovers,
            case_sensitive=case_sensitive,
        )
        return Changes(self._native, arguments, row_limit(limit))

    def _scan(
        self,
        row_filter: RowFilter,
        selected_fields: Sequence[str],
        snapshot: SnapshotChoice | None,
        append: tuple[int | None, int | None] | None,
        limit: int | None,
        case_sensitive: bool,  # noqa: FBT001
    ) -> Scan:
        return self._state.scan(
            filter_text(row_filter, schema=self._state.arrow_schema),
            field_names(selected_fields),
            snapshot=snapshot,
            append=append,
            limit=row_limit(limit),
            case_sensitive=flag("case_sensitive", case_sensitive),
        )

    def __repr__(self) -> str:
        """Return a representation with the location, the format version and the current snapshot."""
        snapshot = self.current_snapshot()
        rows = "no snapshot" if snapshot is None else f"snapshot {snapshot.snapshot_id}"
        if snapshot is not None and "total-records" in snapshot.summary:
            rows += f", {snapshot.summary['total-records']} records"
        columns = ", ".join(self.schema().column_names)
        return f"<frazil.iceberg.Table v{self.format_version} {self._opened!r}: {rows}; columns {columns}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the metadata file, so that another process sees the same state."""
        return _reopen, (self._state,)


class Transaction(Verbs):
    """Changes to a table that are committed as one when the `with` block ends, or discarded if it fails.

    Without a `with` block, call `commit_transaction` or `abort`. A transaction that is garbage collected before either
    call emits a `ResourceWarning` and deletes the files that it wrote.

    >>> import frazil, tempfile, pyarrow as pa
    >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", pa.schema([("id", pa.int64())]))
    >>> with table.transaction() as changes:
    ...     first = changes.append([{"id": 1}])
    ...     second = changes.append([{"id": 2}])
    >>> [first.added_records, second.added_records, len(table.snapshots()), table.scan().count()]
    [1, 1, 2, 2]
    """

    def __init__(
        self, staged: StagedTable, at: Callable[[TableState], Table], adopt: Callable[[TableState | None], Table]
    ) -> None:
        """Not for direct use; use `Table.transaction`.

        `at` returns the table at a given state. `adopt` updates the user's table handle to a state, unless it is None,
        and returns the handle.
        """
        self._staged, self._at, self._adopt = staged, at, adopt
        self._finalizer = weakref.finalize(self, staged.abandon)
        self._ended = False
        self.attempts = 0

    def __reduce__(self) -> NoReturn:
        """Raise `UnsupportedError`."""
        message = "a transaction cannot be pickled, because the process that began it must commit it"
        raise UnsupportedError(message)

    def table(self) -> Table:
        """Return the table with the changes so far, which are not visible to other readers."""
        return self._at(self._staged.state())

    @operation_of
    def commit_transaction(self) -> Table:
        """Commit now; the end of the `with` block does this automatically.

        Raises:
            CommitConflictError: Concurrent commits won more often than `commit.retry.num-retries` allows.
            CommitStateUnknownError: It is unknown whether the changes were committed; nothing was deleted.
        """
        if not self._ended:
            self._end()
            self.attempts = self._staged.commit()
            return self._adopt(self._staged.committed)
        return self._adopt(None)

    def abort(self) -> None:
        """Discard the changes, and delete the files that were written."""
        if not self._ended:
            self._end()
            self._staged.abort()

    def _run(self, operation: Operation, rows: Any = None, executor: Executor = HERE) -> WriteResult:
        began = time.perf_counter()
        staged = self._staged
        with staged.owning():
            ready = operation.prepare(staged, rows)
            staged.own(ready)
            self._validate_read(rows)
            result = apply(staged, operation, ready.fit(staged.state()), executor)
        settle(result, seconds=time.perf_counter() - began)
        return result

    def _validate_read(self, rows: Any) -> None:
        """Record the table snapshot that the rows of a new definition are read from, if they come from a scan."""
        from frazil.iceberg.operations.rows import ArrowInput

        scan = rows.scan if isinstance(rows, ArrowInput) else None
        if scan is not None and not scan.is_staged and scan.reads_branch_of(self._staged.native.base(), "main"):
            self._staged.validate_read(ReadSnapshot(scan.snapshot_id))

    def _newest(self) -> TableState:
        return self._staged.state()

    def _place(self) -> str:
        return self._staged.location

    def _end(self) -> None:
        self._ended = True
        self._finalizer.detach()

    def __enter__(self) -> Self:
        """Return the transaction."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Commit, or abort if the block failed."""
        if kind is None:
            self.commit_transaction()
        else:
            self.abort()


def _reopen(state: TableState) -> Table:
    return Table(
        state.native, state.files, state.native.metadata_location, dict(state.options), is_staged=state.is_staged
    )


def state_of(table: Table) -> TableState:
    """Return the state of a table handle."""
    return table._state  # noqa: SLF001 - of this class


def at_state(table: Table, state: TableState) -> Table:
    """Return a table handle with the options of `table` at a state of the same table."""
    return table._at(state)  # noqa: SLF001 - of this class


def to_newest(table: Table) -> None:
    """Update a table handle to the latest state.

    Raises:
        UnsupportedError: The table belongs to a catalog, but was opened without the catalog.
    """
    table._adopt(table._newest())  # noqa: SLF001 - of this class


def replace_definition(changes: Transaction, new: NewTable, *, keep_location: bool) -> None:
    """Replace the definition of the table of a transaction; see `Catalog.replace_table_transaction`."""
    staged = changes._staged  # noqa: SLF001 - of this class
    new.replace(staged.native, keep_location=keep_location)
    staged.replaces_definition = True
    staged.changed()


def replaces_definition(changes: Transaction) -> bool:
    """Return whether a transaction replaces the definition of its table."""
    return changes._staged.replaces_definition  # noqa: SLF001 - of this class


def validate_read(changes: Transaction, read: ReadSnapshot) -> None:
    """Record the snapshot that the rows of a new definition are read from; see `StagedTable.validate_read`."""
    changes._staged.validate_read(read)  # noqa: SLF001 - of this class
