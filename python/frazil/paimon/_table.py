"""Paimon tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from frazil import _native
from frazil._arguments import (
    field_names,
    filter_text,
    flag,
    place_of_new,
    row_limit,
    snapshot_choice,
    storage_options,
    table_files,
)
from frazil._boundary import operation
from frazil._folders import local_path, remove_if_empty
from frazil._frames import Frames
from frazil._opened import Opened, opened_with
from frazil.errors import CorruptMetadataError, InvalidArgumentError
from frazil.paimon._create import NewTable
from frazil.paimon._file_verbs import FileVerbs
from frazil.paimon._inspect import Inspect
from frazil.paimon._maintenance import Maintenance
from frazil.paimon._manage_snapshots import ManageSnapshots
from frazil.paimon._options import scan_options
from frazil.paimon._scan import Scan
from frazil.paimon._schema import Schema
from frazil.paimon._snapshot import HistoryEntry, Snapshot, Tag
from frazil.paimon._unsupported import UnsupportedMethods
from frazil.paimon._views import VIEWS, View

if TYPE_CHECKING:
    import datetime
    import os
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from frazil._arguments import RowFilter
    from frazil._virtual_table import VirtualTable
    from frazil.paimon._changes import Changes

MAIN = "main"
"""The default branch of a table."""

BRANCH_FOLDER = "/branch/branch-"
"""The path between the folder of a table and the name of a branch."""


class Table(Opened, Frames, FileVerbs, Maintenance, UnsupportedMethods):
    """A Paimon table with the latest schema when it was opened; `refresh` loads the latest state."""

    format: ClassVar[Literal["paimon"]] = "paimon"
    """The format of the table."""

    def __init__(
        self, native: _native.PaimonTable, files: _native.Files, options: dict[str, Any], view: View = "rows"
    ) -> None:
        """Not for direct use; use `frazil.load_table` or a catalog."""
        self._native = native
        self._files = files
        self._options = options
        self._view: View = view

    @classmethod
    def open(
        cls,
        location: str,
        *,
        relocate: Mapping[str, str],
        storage: Mapping[str, str],
        allowed_locations: Sequence[str] = (),
        branch: str | None = None,
        view: View = "rows",
    ) -> Table:
        """Open the table in a folder, or one of its branches or views; see `frazil.load_table`."""
        options = opened_with(relocate, storage, allowed_locations)
        folder = location.rstrip("/") or "/"
        table, separator, name = folder.rpartition(BRANCH_FOLDER)
        if separator and table and "/" not in name:
            # A branch has schemas and snapshots, so it could be opened. However, the files that the snapshots reference
            # are in the folder of the table.
            message = f"the location is the branch {name!r} of a table, not a table"
            raise InvalidArgumentError(
                message, context={"location": folder}, hint="open the table and call with_branch"
            )
        files = table_files(folder, **options)
        with operation("load_table", lambda: folder):
            return cls(_native.PaimonTable.open(files, folder, branch), files, options, view)

    @classmethod
    def create(  # noqa: PLR0913 - what a table is made of
        cls,
        location: str | os.PathLike[str],
        schema: Any,
        *,
        partition_keys: Sequence[str] = (),
        primary_keys: Sequence[str] = (),
        options: Mapping[str, object] | None = None,
        comment: str | None = None,
        storage: Mapping[str, str] | None = None,
    ) -> Table:
        """Create a table in a folder; see `frazil.create_table`."""
        new = NewTable(place_of_new(location), schema, partition_keys, primary_keys, options, comment)
        opened = opened_with({}, storage_options(storage), new.own_locations())
        files = table_files(new.location, **opened)
        return cls(new.create(files), files, opened)

    def refresh(self) -> Table:
        """Return the table with its latest schema."""
        return Table(self._native.refresh(), self._files, self._options, self._view)

    def read_optimized(self) -> Table:
        """Return a view that reads only files that need no merge (`$ro`).

        Reading is faster, but the latest rows may be missing.
        """
        return Table(self._native, self._files, self._options, "read-optimized")

    def audit_log(self) -> Table:
        """Return a view of the table that includes delete records (`$audit_log`).

        The first column, `rowkind`, contains the row kind.
        """
        return Table(self._native, self._files, self._options, "audit-log")

    def binlog(self) -> Table:
        """Return a view of the table with the values before and after each change as lists (`$binlog`).

        The first column, `rowkind`, contains the row kind.

        The two images of an update form one row. Filters apply to the columns of the table itself, and match an update
        if one of its images matches.
        """
        return Table(self._native, self._files, self._options, "binlog")

    def row_tracking(self) -> Table:
        """Return a view of the table that adds `_ROW_ID` and `_SEQUENCE_NUMBER` (`$row_tracking`)."""
        return Table(self._native, self._files, self._options, "row-tracking")

    @property
    def system_table(self) -> str | None:
        """The name of the system table that this view represents, such as `audit_log`; None for the table itself."""
        return next((name for name, view in VIEWS.items() if view == self._view), None)

    def with_branch(self, branch: str) -> Table:
        """Return the table at a branch; tables are opened at `main`.

        Raises:
            NoSuchSnapshotError: The branch does not exist.
        """
        return Table(self._on_branch(branch), self._files, self._options, self._view)

    @property
    def location(self) -> str:  # type: ignore[override]
        """The folder of the table."""
        return self._native.location

    @property
    def branch(self) -> str:
        """The branch that is read; `main` by default."""
        return self._native.branch

    @property
    def options(self) -> dict[str, str]:
        """The table options as written."""
        return dict(self.schema().options)

    @property
    def properties(self) -> dict[str, str]:
        """The table options, under the name that Iceberg uses."""
        return self.options

    @property
    def primary_keys(self) -> list[str]:
        """The primary key columns; empty for append tables."""
        return list(self.schema().primary_keys)

    @property
    def partition_keys(self) -> list[str]:
        """The partition columns, outermost first."""
        return list(self.schema().partition_keys)

    @property
    def comment(self) -> str | None:
        """The comment on the table."""
        return self.schema().comment

    @property
    def table_type(self) -> str:
        """The table type: `table`, `materialized-table` and so on."""
        return self.options.get("type", "table")

    @property
    def definition_query(self) -> str | None:
        """The query that defines the rows of a materialized table."""
        return self.options.get("materialized-table.definition-query")

    def schema(self) -> Schema:
        """Return the latest schema."""
        return Schema.from_json(json.loads(self._native.schema_json(None)))

    def schemas(self) -> list[Schema]:
        """Return all schemas of the table, oldest first."""
        return [Schema.from_json(json.loads(self._native.schema_json(number))) for number in self._native.schema_ids()]

    def snapshots(self) -> list[Snapshot]:
        """Return the snapshots that have not expired, oldest first."""
        texts = (self._native.snapshot_json(number) for number in self._native.snapshot_ids())
        return [Snapshot.from_json(json.loads(text)) for text in texts]

    def current_snapshot(self) -> Snapshot | None:
        """Return the latest snapshot; None for a table without one."""
        found = json.loads(self._native.snapshot_json(None))
        return None if found is None else Snapshot.from_json(found)

    def tags(self) -> dict[str, Tag]:
        """Return the tags by name."""
        return {name: Tag.from_json(name, tag) for name, tag in json.loads(self._native.tags_json()).items()}

    def branches(self) -> list[str]:
        """Return the names of the branches other than `main`."""
        return self._native.branches()

    def manage_snapshots(self) -> ManageSnapshots:
        """Change tags and branches: `table.manage_snapshots().create_tag(None, "v1").commit()`."""
        return ManageSnapshots(self._manage_references)

    def _manage_references(self, change: dict[str, Any]) -> None:
        """Carry out operations on tags and branches, which are given in their wire form."""
        from frazil.paimon._writer_options import utc_offset_ms

        self._check_not_view()
        with operation("commit", lambda: self.location):
            self._native.manage_references(json.dumps({"operations": change["operations"]}), utc_offset_ms())
        # Java takes the folder of a branch for the branch.
        folder = local_path(self._native.location)
        for one in change["operations"]:
            if folder is not None and one["operation"] in ("delete_branch", "rename_branch"):
                remove_if_empty(folder / "branch" / f"branch-{one['name']}")

    def consumers(self) -> dict[str, int]:
        """Return the consumers with the snapshot that each one reads next.

        Raises:
            CorruptMetadataError: A consumer file does not contain a valid snapshot id.
        """
        try:
            consumers = json.loads(self._native.consumers_json()).items()
            return {name: int(consumer["nextSnapshot"]) for name, consumer in consumers}
        except (KeyError, TypeError, ValueError) as error:
            message = "a consumer does not have a valid nextSnapshot"
            raise CorruptMetadataError(message, context={"table": self.location}) from error

    def history(self) -> list[HistoryEntry]:
        """Return the snapshots and the times at which they became current, oldest first."""
        return [HistoryEntry(snapshot.timestamp_ms, snapshot.snapshot_id) for snapshot in self.snapshots()]

    @property
    def inspect(self) -> Inspect:
        """The system tables of the current branch: `table.inspect.files()`."""
        return Inspect(self._native, self.location)

    def scan(  # noqa: PLR0913 - as the Iceberg table has it, and options
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
            row_filter: An SQL expression such as `id > 10 and name like 'a%'`; True for all rows.
            selected_fields: Column names, `s.x` for a field of a ROW, `*` for all columns, and the metadata columns
                `_ROW_KIND`, `_SEQUENCE_NUMBER`, `_ROW_ID`.
            case_sensitive: Whether column names are case-sensitive.
            snapshot_id: A snapshot to read, with its own schema.
            ref: A tag to read, with the schema of its snapshot, or a branch.
            as_of: The time whose current snapshot is read, inclusive: milliseconds since the epoch, a datetime or an
                ISO 8601 string such as `2024-01-31T12:00:00Z`.
            limit: The maximum number of rows.
            options: Table options for this read, such as `scan.timestamp-millis` or `incremental-between`.
                A list becomes a comma-separated string: `{"incremental-between": (1, 10)}`.

        Raises:
            InvalidArgumentError: A column, literal or option is invalid.
            NoSuchSnapshotError: The snapshot, tag or branch does not exist.
            UnsupportedError: This release does not read a feature of the table.
        """
        arguments: dict[str, Any] = {
            "view": self._view,
            "row_filter": filter_text(row_filter, schema=lambda: self.schema().arrow()),
            "selected_fields": field_names(selected_fields),
            "snapshot": snapshot_choice(snapshot_id, ref, as_of),
            "options": scan_options(options),
            "limit": row_limit(limit),
            "case_sensitive": flag("case_sensitive", case_sensitive),
        }
        return Scan(self._native, arguments)

    def changes(  # noqa: PLR0913 - keyword arguments of one read, as the Iceberg table has them
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
        """Define a read of the rows that snapshots inserted, updated and deleted.

        Each row has the columns of the table, and `_change_type` (`INSERT`, `DELETE`, `UPDATE_BEFORE` or
        `UPDATE_AFTER`), `_change_ordinal` (the number of the snapshot in the range, from 0) and `_commit_snapshot_id`.
        For a table with a `changelog-producer`, the changelog that snapshots contain is read. Overwrites do not write a
        changelog. For overwrites, and for tables without a `changelog-producer`, the states before and after each
        snapshot are compared. Only files that differ between the two states are read.

        Args:
            from_snapshot_id_exclusive: The snapshot after which to start; None to start with the first snapshot.
            to_snapshot_id_inclusive: The last snapshot to read; None for the current snapshot.
            row_filter: As in `scan`; it may match only one of the two rows of an update.
            selected_fields: As in `scan`. Rows are compared by all columns.
            net_changes: Compare only the states before and after the whole range. All changes are attributed to the
            last snapshot.
            compute_updates: Return a row that was deleted and inserted with other values in one snapshot as
                `UPDATE_BEFORE` and `UPDATE_AFTER`. True by default if the table has a primary key, or
                `identifier_columns` are given.
            identifier_columns: The columns that identify a row for updates. Defaults to the primary key.
            carryovers: Keep unchanged rows that were carried over into rewritten files, as `DELETE` and `INSERT`.
            case_sensitive: As in `scan`.
            limit: The maximum number of rows.

        Raises:
            InvalidArgumentError: The range ends before it begins, a column or literal is invalid, or the identifier
                columns do not identify rows.
            NoSuchSnapshotError: A snapshot of the range, or the one before it, has expired.

        >>> import frazil
        >>> table = frazil.load_table("tests/golden/paimon/g.db/cl_lookup_avro")
        >>> table.changes(2, 4).to_arrow().column_names[-3:]
        ['_change_type', '_change_ordinal', '_commit_snapshot_id']
        """
        from frazil._changes import native_arguments
        from frazil.paimon._changes import Changes

        if self._view != "rows":
            message = f"the view {self.system_table!r} of table {self.location} does not support changes"
            raise InvalidArgumentError(message, hint="read the changes of the table itself")
        arguments = native_arguments(
            (from_snapshot_id_exclusive, to_snapshot_id_inclusive),
            row_filter=row_filter,
            selected_fields=selected_fields,
            net_changes=net_changes,
            compute_updates=compute_updates,
            identifier_columns=identifier_columns,
            carryovers=carryovers,
            case_sensitive=case_sensitive,
            has_key=bool(self.primary_keys),
        )
        return Changes(self._native, arguments, row_limit(limit))

    def bucket_ids(self, rows: object) -> pa.Array:
        """Return the bucket of each row, as computed by Java.

        Args:
            rows: An object that exports the Arrow PyCapsule interface, with the bucket key columns by name.

        Raises:
            InvalidArgumentError: The table does not have fixed buckets, or a column is missing or has another type.
        """
        import pyarrow as pa

        if isinstance(rows, pa.RecordBatch):
            return self._native.bucket_ids(rows)
        try:
            table = pa.table(rows)
        except (TypeError, ValueError, pa.ArrowException) as error:
            message = f"rows must export the Arrow PyCapsule interface, unlike {type(rows).__name__}: {error}"
            raise InvalidArgumentError(message) from error
        batches = table.combine_chunks().to_batches()
        found = [self._native.bucket_ids(batch) for batch in batches]
        return pa.concat_arrays(found) if found else pa.array([], pa.int32())

    def _on_branch(self, branch: str) -> _native.PaimonTable:
        if branch == self.branch:
            return self._native
        return _native.PaimonTable.open(self._files, self.location, None if branch == MAIN else branch)

    def __repr__(self) -> str:
        """Return a representation with the location and the current snapshot."""
        snapshot = self.current_snapshot()
        rows = "no snapshot" if snapshot is None else f"snapshot {snapshot.snapshot_id}"
        branch = "" if self.branch == MAIN else f" branch {self.branch!r}"
        keys = f" with key {', '.join(self.primary_keys)}" if self.primary_keys else ""
        columns = ", ".join(self.schema().column_names)
        view = "" if self._view == "rows" else f" {self._view}"
        return f"<frazil.paimon.Table {self.location!r}{branch}{view}: {rows}; columns {columns}{keys}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the location and the branch; another process opens the table at its latest state."""
        branch = None if self.branch == MAIN else self.branch
        return _reopen, (self.location, branch, self._options, self._view)


def system_table(table: Table, name: str) -> Table | VirtualTable:
    """Return the system table `t$name`: a view whose scans accept options, or a table computed from metadata."""
    return view_of(table, name) if name in VIEWS else table.inspect[name]


def view_of(table: Table, name: str) -> Table:
    """Return the view of a table with this name in `VIEWS`."""
    return Table(table._native, table._files, table._options, VIEWS[name])  # noqa: SLF001 - of this class


def bucket_ids(table: Table, rows: object) -> pa.Array:
    """Return the bucket of each row; see `Table.bucket_ids`."""
    return table.bucket_ids(rows)


def _reopen(location: str, branch: str | None, options: dict[str, Any], view: View) -> Table:
    return Table.open(location, branch=branch, view=view, **options)
