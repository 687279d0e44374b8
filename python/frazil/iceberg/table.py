"""Iceberg tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil.arguments import (
    field_names,
    filter_text,
    place_of_new,
    row_limit,
    snapshot_choice,
    table_files,
    whole_number,
)
from frazil.iceberg.evolving import Evolving
from frazil.iceberg.merge import MergeBuilder
from frazil.iceberg.merging import Source
from frazil.iceberg.new_table import NewTable
from frazil.iceberg.scan import Scan
from frazil.iceberg.schema import PartitionSpec, Schema, SortOrder
from frazil.iceberg.snapshot import HistoryEntry, Snapshot, SnapshotRef
from frazil.iceberg.transaction import Transaction, alone, staged
from frazil.opened import Opened

if TYPE_CHECKING:
    import datetime
    import os
    from collections.abc import Mapping, Sequence

    from frazil.arguments import SnapshotChoice
    from frazil.iceberg.row import CatalogRow
    from frazil.iceberg.write import WriteResult
    from frazil.literal import Value


class Table(Opened, Evolving):
    """An Iceberg table at one state of its metadata.

    Others' changes do not reach it: `refresh` gives the newest state. Its own writes do.
    """

    def __init__(self, native: _native.Table, files: _native.Files, location: str, options: dict[str, Any]) -> None:
        """Use `frazil.load_table` or a catalog instead."""
        self._native = native
        self._files = files
        self._opened = location
        self._options = options

    @classmethod
    def open(
        cls, location: str, *, relocate: Mapping[str, str], properties: Mapping[str, str], recorded: str | None = None
    ) -> Table:
        """Open the table in a folder, or by one of its metadata files; see `frazil.load_table`.

        `recorded` is what a catalog calls the metadata file.
        """
        options = {"relocate": dict(relocate), "properties": dict(properties)}
        files = table_files(_folder(location), relocate, properties)
        return cls(_native.Table.open(files, location, recorded), files, location, options)

    def refresh(self) -> Table:
        """Give the table at its newest metadata.

        Raises:
            CorruptMetadata: Another table lies at the location now.
        """
        return self._at(self._native.refresh(self._files, self._opened))

    @classmethod
    def create(
        cls,
        location: str | os.PathLike[str],
        schema: Any,
        *,
        partition_by: Sequence[str] = (),
        format_version: int = 2,
        properties: Mapping[str, str] | None = None,
        storage: Mapping[str, str] | None = None,
    ) -> Table:
        """Make a table in a folder; see `frazil.create_table`."""
        location = place_of_new(location)
        options: dict[str, Any] = {"relocate": {}, "properties": dict(storage or {})}
        files = table_files(location, {}, options["properties"])
        native = NewTable(location, schema, partition_by, format_version, properties or {}).make(files, None)
        return cls(native, files, location, options)

    @property
    def _row(self) -> CatalogRow | None:
        """Where the catalog keeps the newest state; None for a table without a catalog."""
        return None

    def append(
        self,
        data: Any,
        *,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
        fast: bool = False,
    ) -> WriteResult:
        """Add rows; afterwards this handle is at the new state.

        Args:
            data: Anything that gives Arrow (pyarrow, Polars, DuckDB, pandas), or a list of dictionaries. Columns are
                found by name; types widen as they do in the table. It is read batch by batch.
            branch: The branch that gets the rows.
            snapshot_properties: Entries for the summary of the snapshot.
            fast: Leave small manifests as they are, whatever `commit.manifest-merge.enabled` says.

        Raises:
            InvalidArgument: A column that the table does not have, or a value that it does not take; the message names
                column and row. Nothing is written then.
            CommitConflict: Others were first, more often than `commit.retry.num-retries` allows.
            CommitStateUnknown: It is not known whether the rows are in the table; nothing was deleted.
        """
        options: dict[str, Any] = {"branch": branch, "snapshot_properties": snapshot_properties}
        return alone(self, lambda tx: tx.append(data, fast=fast, **options))

    def overwrite(
        self,
        data: Any,
        overwrite_filter: str | bool = True,  # noqa: FBT001, FBT002 - as PyIceberg has it
        *,
        case_sensitive: bool = True,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Replace the rows that match a filter by others, in one snapshot.

        Args:
            data: As in `append`.
            overwrite_filter: SQL such as `day = date '2024-02-29'`; True for all rows.
            case_sensitive: Whether `ID` is another column than `id` in the filter.
            branch: The branch that changes.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgument: As in `append`, or a filter that does not fit the columns.
            CommitConflict: Others changed rows that match, more often than `commit.retry.num-retries` allows.
            CommitStateUnknown: As in `append`.
        """
        options: dict[str, Any] = {"branch": branch, "snapshot_properties": snapshot_properties}
        with staged(self, data) as rows:
            return alone(
                self, lambda tx: tx.overwrite(rows, overwrite_filter, case_sensitive=case_sensitive, **options)
            )

    def dynamic_partition_overwrite(
        self, data: Any, *, branch: str = "main", snapshot_properties: Mapping[str, str] | None = None
    ) -> WriteResult:
        """Replace all rows of the partitions that `data` has rows of, in one snapshot.

        Partitions are those of the current spec, whatever its transforms; files of older specs stay, as in Spark. A
        table that is not partitioned is replaced as a whole.

        Raises:
            InvalidArgument: As in `append`.
            CommitConflict: As in `append`.
            CommitStateUnknown: As in `append`.
        """
        options: dict[str, Any] = {"branch": branch, "snapshot_properties": snapshot_properties}
        return alone(self, lambda tx: tx.dynamic_partition_overwrite(data, **options))

    def delete(
        self,
        delete_filter: str | bool = True,  # noqa: FBT001, FBT002 - as PyIceberg has it
        *,
        case_sensitive: bool = True,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Delete exactly the rows that a scan with the same filter gives.

        Data files of which all rows go are removed without being read where their partition says so. Others lose rows
        by deletion vectors (v3) or position deletes (v2) where `write.delete.mode` is `merge-on-read`, and are written
        again without them where it is `copy-on-write`, the default, or in v1.

        Args:
            delete_filter: SQL such as `id in (1, 2)`; True for all rows.
            case_sensitive: Whether `ID` is another column than `id` in the filter.
            branch: The branch that changes.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgument: A filter that does not fit the columns.
            CommitConflict: Others changed rows that match, more often than `commit.retry.num-retries` allows.
            CommitStateUnknown: As in `append`.
        """
        options: dict[str, Any] = {"branch": branch, "snapshot_properties": snapshot_properties}
        return alone(self, lambda tx: tx.delete(delete_filter, case_sensitive=case_sensitive, **options))

    def update(
        self,
        set: Mapping[str, Value],  # noqa: A002 - as SQL has it
        where: str | bool = True,  # noqa: FBT001, FBT002 - a filter
        *,
        case_sensitive: bool = True,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Set columns of the rows that a scan with the same filter gives.

        `write.update.mode` says whether files are written again (`copy-on-write`, the default) or get deletes
        (`merge-on-read`). In v3 rows keep their ids.

        Args:
            set: SQL by column, such as `{"price": "price * 2"}`; Python values that are no text stand for themselves,
                as does what `frazil.lit` gives.
            where: SQL such as `id in (1, 2)`; True for all rows.
            case_sensitive: Whether `ID` is another column than `id` in the filter.
            branch: The branch that changes.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgument: A column or an expression that does not fit.
            CommitConflict: Others changed rows that match, more often than `commit.retry.num-retries` allows.
            CommitStateUnknown: As in `append`.
        """
        options: dict[str, Any] = {"branch": branch, "snapshot_properties": snapshot_properties}
        return alone(self, lambda tx: tx.update(set, where, case_sensitive=case_sensitive, **options))

    def upsert(
        self,
        data: Any,
        join_cols: Sequence[str] | None = None,
        *,
        when_matched_update_all: bool = True,
        when_not_matched_insert_all: bool = True,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Update the rows that have the keys of `data` and differ from it, and insert the rows with other keys.

        Args:
            data: As in `append`; it is held in memory. Keys may not repeat.
            join_cols: The columns that rows are found by; the identifier fields of the table unless given.
            when_matched_update_all: Whether rows are updated.
            when_not_matched_insert_all: Whether rows are inserted.
            branch: The branch that changes.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgument: Keys that repeat, or columns that do not fit.
            CommitConflict: As in `update`.
            CommitStateUnknown: As in `append`.
        """
        source = Source(self, data)
        options: dict[str, Any] = {"branch": branch, "snapshot_properties": snapshot_properties}
        update, insert = when_matched_update_all, when_not_matched_insert_all
        return alone(
            self,
            lambda tx: tx.upsert(
                source, join_cols, when_matched_update_all=update, when_not_matched_insert_all=insert, **options
            ),
        )

    def merge(
        self,
        source: Any,
        on: str | Sequence[str],
        *,
        source_alias: str = "source",
        target_alias: str = "target",
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> MergeBuilder[WriteResult]:
        """Begin a MERGE: say by clauses what becomes of rows, and `execute` it.

        `write.merge.mode` says whether files are written again (`copy-on-write`, the default) or get deletes
        (`merge-on-read`). In v3 rows keep their ids.

        Args:
            source: Rows as in `append`; they are held in memory.
            on: The columns that both sides have, or a condition such as `target.id = source.id`.
            source_alias: What conditions and values call the source.
            target_alias: What conditions and values call the table.
            branch: The branch that changes.
            snapshot_properties: Entries for the summary of the snapshot.

        Raises:
            InvalidArgument: When it is executed: a column or an expression that does not fit, or a row that several
                rows of the source would change.
            CommitConflict: As in `update`.
            CommitStateUnknown: As in `append`.
        """
        rows = Source(self, source)
        options: dict[str, Any] = {"branch": branch, "snapshot_properties": snapshot_properties}
        return MergeBuilder(
            lambda plan: alone(self, lambda tx: tx.carry_out(plan, rows, **options)),
            on,
            source_alias=source_alias,
            target_alias=target_alias,
        )

    def transaction(self) -> Transaction:
        """Begin several changes that are committed as one, when the `with` block ends."""
        return Transaction(self)

    def _reload(self) -> None:
        """Go to the newest state."""
        self._native = self._native.refresh(self._files, self._opened)

    def _at(self, native: _native.Table) -> Table:
        """Give the same table at another state."""
        return Table(native, self._files, self._opened, self._options)

    def _commit(self, change: dict[str, Any]) -> None:
        with self.transaction() as changes:
            changes._commit(change)  # noqa: SLF001 - one module in two files

    @property
    def metadata_location(self) -> str:
        """The metadata file."""
        return self._native.metadata_location

    @property
    def format_version(self) -> int:
        """The version of the Iceberg format: 1, 2 or 3."""
        return self._native.format_version

    @property
    def location(self) -> str:
        """The location that the table records for itself."""
        return str(self._part("location"))

    @property
    def uuid(self) -> str | None:
        """The id of the table."""
        found = self._part("table-uuid")
        return None if found is None else str(found)

    @property
    def properties(self) -> dict[str, str]:
        """The properties of the table."""
        return dict(self._part("properties"))

    def schema(self) -> Schema:
        """Give the current schema."""
        current = self._part("current-schema-id")
        return next(schema for schema in self.schemas() if schema.schema_id == current)

    def schemas(self) -> list[Schema]:
        """Give all schemas that the table knows."""
        return [Schema.from_json(schema) for schema in self._part("schemas")]

    def spec(self) -> PartitionSpec:
        """Give the partition spec of new files."""
        default = self._part("default-spec-id")
        return next(spec for spec in self.specs() if spec.spec_id == default)

    def specs(self) -> list[PartitionSpec]:
        """Give all partition specs that the table knows."""
        return [PartitionSpec.from_json(spec) for spec in self._part("partition-specs")]

    def sort_order(self) -> SortOrder:
        """Give the sort order of new files."""
        default = self._part("default-sort-order-id")
        orders = (SortOrder.from_json(order) for order in self._part("sort-orders"))
        return next((order for order in orders if order.order_id == default), SortOrder(0))

    def snapshots(self) -> list[Snapshot]:
        """Give the snapshots, the oldest first."""
        return [Snapshot.from_json(snapshot) for snapshot in self._part("snapshots")]

    def current_snapshot(self) -> Snapshot | None:
        """Give the current snapshot of `main`; None for a table without one."""
        current = self._part("current-snapshot-id")
        return next((s for s in self.snapshots() if s.snapshot_id == current), None)

    def refs(self) -> dict[str, SnapshotRef]:
        """Give the branches and tags by name."""
        return {name: SnapshotRef.from_json(ref) for name, ref in self._part("refs").items()}

    def history(self) -> list[HistoryEntry]:
        """Give when which snapshot became current, the oldest first."""
        return [HistoryEntry(entry["timestamp-ms"], entry["snapshot-id"]) for entry in self._part("snapshot-log")]

    def scan(  # noqa: PLR0913 - as PyIceberg has it, and three ways to travel in time
        self,
        row_filter: str | bool = True,  # noqa: FBT001, FBT002 - as PyIceberg has it
        selected_fields: Sequence[str] = ("*",),
        *,
        case_sensitive: bool = True,
        snapshot_id: int | None = None,
        ref: str | None = None,
        as_of: int | datetime.datetime | None = None,
        limit: int | None = None,
    ) -> Scan:
        """Describe a read; nothing is read before rows are asked for.

        Args:
            row_filter: SQL such as `id > 10 and name like 'a%'`; True for all rows.
            selected_fields: Column names, `s.x` for a field of a struct, `*` for all, and the metadata columns
                `_file`, `_pos`, `_deleted`, `_spec_id`, `_partition`, `_row_id`, `_last_updated_sequence_number`.
            case_sensitive: Whether `ID` is another column than `id`.
            snapshot_id: A snapshot to read, with its own schema.
            ref: A branch to read, with the current schema, or a tag, with the schema of its snapshot.
            as_of: Read what was current then: milliseconds since the epoch or an aware datetime, inclusive.
            limit: At most so many rows.

        Raises:
            InvalidArgument: A column, literal or option that does not fit.
            NoSuchSnapshot: No such snapshot, branch or tag.
        """
        choice = snapshot_choice(snapshot_id, ref, as_of)
        return self._scan(row_filter, selected_fields, choice, None, limit, case_sensitive)

    def incremental_append_scan(
        self,
        row_filter: str | bool = True,  # noqa: FBT001, FBT002 - as PyIceberg has it
        selected_fields: Sequence[str] = ("*",),
        *,
        case_sensitive: bool = True,
        from_snapshot_id_exclusive: int | None = None,
        to_snapshot_id_inclusive: int | None = None,
        limit: int | None = None,
    ) -> Scan:
        """Describe a read of the rows that append snapshots added.

        Args:
            row_filter: As in `scan`.
            selected_fields: As in `scan`.
            case_sensitive: As in `scan`.
            from_snapshot_id_exclusive: The snapshot after which to begin; None to begin with the first.
            to_snapshot_id_inclusive: The last snapshot; None for the current one.
            limit: At most so many rows.

        Raises:
            InvalidArgument: The first snapshot is no ancestor of the last.
            NoSuchSnapshot: The table does not have the last snapshot.
        """
        first, last = from_snapshot_id_exclusive, to_snapshot_id_inclusive
        append = (
            None if first is None else whole_number("from_snapshot_id_exclusive", first),
            None if last is None else whole_number("to_snapshot_id_inclusive", last),
        )
        return self._scan(row_filter, selected_fields, None, append, limit, case_sensitive)

    def _scan(
        self,
        row_filter: str | bool,  # noqa: FBT001
        selected_fields: Sequence[str],
        snapshot: SnapshotChoice | None,
        append: tuple[int | None, int | None] | None,
        limit: int | None,
        case_sensitive: bool,  # noqa: FBT001
    ) -> Scan:
        arguments: dict[str, Any] = {
            "row_filter": filter_text(row_filter),
            "selected_fields": field_names(selected_fields),
            "snapshot": snapshot,
            "append": append,
            "limit": row_limit(limit),
            "case_sensitive": case_sensitive,
        }
        return Scan(self._native, arguments)

    def _part(self, name: str) -> Any:
        return json.loads(self._native.metadata_json(name))

    def __repr__(self) -> str:
        """Give location, version and the size of the current state."""
        snapshot = self.current_snapshot()
        rows = "no snapshot" if snapshot is None else f"snapshot {snapshot.snapshot_id}"
        if snapshot is not None and "total-records" in snapshot.summary:
            rows += f", {snapshot.summary['total-records']} records"
        columns = ", ".join(self.schema().column_names)
        return f"<frazil.iceberg.Table v{self.format_version} {self._opened!r}: {rows}; columns {columns}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the metadata file, so that another process sees the same state."""
        return _reopen, (self.metadata_location, self._options)


def _reopen(location: str, options: dict[str, Any]) -> Table:
    return Table.open(location, **options)


def _folder(location: str) -> str:
    """Give the table folder of a metadata file; the location itself otherwise."""
    trimmed = location.rstrip("/")
    head, _, tail = trimmed.rpartition("/")
    if tail.endswith((".json", ".json.gz")):
        parent, _, last = head.rpartition("/")
        return (parent or "/") if last == "metadata" else head or "."
    return trimmed or "/"
