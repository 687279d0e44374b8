"""Transactions: changes of a table that are committed as one."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from frazil import _native
from frazil.arguments import field_names, filter_text
from frazil.errors import CommitConflict, FrazilError, InvalidArgument
from frazil.iceberg.evolving import Evolving
from frazil.iceberg.merge import MergeBuilder, set_clause
from frazil.iceberg.merging import Merging, Source
from frazil.iceberg.row_level import Deleting, RowLevel, Updating, lineage, target_schema
from frazil.iceberg.write import WriteResult, write_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from frazil.iceberg.merge import MergePlan
    from frazil.iceberg.row_level import RowChange
    from frazil.iceberg.table import Table
    from frazil.literal import Value

    Added = _native.RowWriter | _native.CommitMessages
    """Files that come: of this process, or of others."""

__all__ = ["Transaction"]


class Written(Protocol):
    """Data files that a change wrote."""

    def abort(self) -> None:
        """Delete them; what cannot be deleted is an orphan and no second failure."""


@dataclass(frozen=True, slots=True)
class RowCounts:
    """How many rows of the table change; `deleted` is None where all rows of the files that go do."""

    deleted: int | None = None
    updated: int = 0
    inserted: int = 0


class Paths:
    """Files that are known by their paths."""

    def __init__(self, files: _native.Files, paths: list[str]) -> None:
        """Know where they are; paths may be added later."""
        self._files, self._paths = files, paths

    def abort(self) -> None:
        """Delete them."""
        for path in self._paths:
            with contextlib.suppress(FrazilError):
                self._files.delete(path)


class Transaction(Evolving):
    """Changes of a table that are committed as one when the `with` block ends; none of them when it fails.

    >>> import frazil, tempfile, pyarrow as pa
    >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", pa.schema([("id", pa.int64())]))
    >>> with table.transaction() as changes:
    ...     first = changes.append([{"id": 1}])
    ...     second = changes.append([{"id": 2}])
    >>> [first.added_records, second.added_records, len(table.snapshots()), table.scan().count()]
    [1, 1, 2, 2]
    """

    def __init__(self, table: Table) -> None:
        """Use `Table.transaction` instead."""
        self._table = table
        self._native = _native.Transaction(table._native, table._row)  # noqa: SLF001 - one module in two files
        self._written: list[Written] = []
        self._ended = False
        self.attempts = 0

    def table(self) -> Table:
        """Give the table with the changes so far, which nobody else sees."""
        return self._table._at(self._native.staged())  # noqa: SLF001

    def append(
        self,
        data: Any,
        *,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
        fast: bool = False,
    ) -> WriteResult:
        """Add rows; see `Table.append`."""
        began = time.perf_counter()
        rows = self.write(self.table(), data)
        return self._snapshot(
            began, branch, snapshot_properties, [rows], changed=RowCounts(0, inserted=rows.written()[1]), fast=fast
        )

    def overwrite(
        self,
        data: Any,
        overwrite_filter: str | bool = True,  # noqa: FBT001, FBT002 - as PyIceberg has it
        *,
        case_sensitive: bool = True,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Replace the rows that match by others; see `Table.overwrite`."""
        began = time.perf_counter()
        table = self.table()
        if overwrite_filter is True:
            rows = self.write(table, data)
            count = rows.written()[1]
            return self._snapshot(
                began, branch, snapshot_properties, [rows], replace="all", changed=RowCounts(inserted=count)
            )
        operation = RowLevel(
            table, "delete", filter_text(overwrite_filter), branch=branch, case_sensitive=case_sensitive
        )
        rows = self.write(table, data)
        return self.change_rows(began, Deleting(operation), snapshot_properties, [rows], rows.written()[1])

    def dynamic_partition_overwrite(
        self, data: Any, *, branch: str = "main", snapshot_properties: Mapping[str, str] | None = None
    ) -> WriteResult:
        """Replace the partitions that `data` has rows of; see `Table.dynamic_partition_overwrite`."""
        began = time.perf_counter()
        rows = self.write(self.table(), data)
        properties = {**(snapshot_properties or {}), "replace-partitions": "true"}
        files, count, _ = rows.written()
        replaced = "partitions" if files else None
        return self._snapshot(began, branch, properties, [rows], replace=replaced, changed=RowCounts(inserted=count))

    def delete(
        self,
        delete_filter: str | bool,  # noqa: FBT001 - as PyIceberg has it
        *,
        case_sensitive: bool = True,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Delete the rows that match; see `Table.delete`."""
        began = time.perf_counter()
        if delete_filter is True:
            return self._snapshot(began, branch, snapshot_properties, [], replace="all")
        operation = RowLevel(
            self.table(), "delete", filter_text(delete_filter), branch=branch, case_sensitive=case_sensitive
        )
        return self.change_rows(began, Deleting(operation), snapshot_properties)

    def update(
        self,
        set: Mapping[str, Value],  # noqa: A002 - as SQL has it
        where: str | bool = True,  # noqa: FBT001, FBT002 - a filter
        *,
        case_sensitive: bool = True,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Set columns of the rows that match; see `Table.update`."""
        began = time.perf_counter()
        operation = RowLevel(self.table(), "update", filter_text(where), branch=branch, case_sensitive=case_sensitive)
        return self.change_rows(began, Updating(operation, set_clause(set)), snapshot_properties)

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
        """Update the rows with the same keys and insert the others; see `Table.upsert`."""
        began = time.perf_counter()
        table = self.table()
        keys = table.schema().identifier_field_names() if join_cols is None else field_names(join_cols)
        if not keys:
            message = "the table has no identifier fields, so join_cols must name the columns that rows are found by"
            raise InvalidArgument(message)
        source = data if isinstance(data, Source) else Source(table, data)
        merger = _native.Merger.upsert(
            keys,
            update=when_matched_update_all,
            insert=when_not_matched_insert_all,
            target_schema=target_schema(table),
            source_schema=source.schema,
        )
        return self._merge(began, table, merger, source, branch, snapshot_properties)

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
        """Begin to say what becomes of rows; see `Table.merge`."""
        rows = source if isinstance(source, Source) else Source(self.table(), source)
        options: dict[str, Any] = {"branch": branch, "snapshot_properties": snapshot_properties}
        return MergeBuilder(
            lambda plan: self.carry_out(plan, rows, **options),
            on,
            source_alias=source_alias,
            target_alias=target_alias,
        )

    def carry_out(
        self, plan: MergePlan, source: Source, *, branch: str, snapshot_properties: Mapping[str, str] | None
    ) -> WriteResult:
        """Make a merge as it was asked for."""
        began = time.perf_counter()
        table = self.table()
        merger = plan.merger(target_schema(table), source.schema)
        return self._merge(began, table, merger, source, branch, snapshot_properties)

    def _merge(
        self,
        began: float,
        table: Table,
        merger: _native.Merger,
        source: Source,
        branch: str,
        snapshot_properties: Mapping[str, str] | None,
    ) -> WriteResult:
        merging = Merging(table, merger, source, branch)
        changed = itertools.chain(merging.rows(), merging.inserts())
        rows = self.write(table, changed, lineage=bool(lineage(table)))
        counts = RowCounts(*merging.counts(), merging.inserted)
        return self.commit_rows(began, merging.operation, snapshot_properties, [rows], counts)

    def change_rows(
        self,
        began: float,
        change: RowChange,
        snapshot_properties: Mapping[str, str] | None,
        rows: Sequence[Added] = (),
        inserted: int = 0,
    ) -> WriteResult:
        """Make a change of rows here, and add `rows`."""
        operation = change.operation
        moved = self.write(operation.table, change.rows(), lineage=bool(lineage(operation.table)))
        counts = RowCounts(*change.counts(), inserted)
        return self.commit_rows(began, operation, snapshot_properties, [*rows, moved], counts)

    def commit_rows(
        self,
        began: float,
        operation: RowLevel,
        snapshot_properties: Mapping[str, str] | None,
        rows: Sequence[Added],
        changed: RowCounts,
    ) -> WriteResult:
        """Take what was deleted, and the rows of new files."""
        if operation.on_read:
            self._write_deletes(operation)
        return self._snapshot(
            began,
            operation.branch,
            snapshot_properties,
            rows,
            delta=operation.delta,
            validation=operation.validation,
            changed=changed,
        )

    def _write_deletes(self, operation: RowLevel) -> None:
        operation.delta.remove_emptied()
        paths: list[str] = []
        # Known first: what fails half-way leaves something.
        self.written(Paths(operation.table._native.files, paths))  # noqa: SLF001
        operation.write_deletes(paths)

    def written(self, written: Written) -> None:
        """Delete what was written if the transaction fails."""
        self._written.append(written)

    def write(self, table: Table, data: Any, *, lineage: bool = False) -> Added:
        """Write rows into new files, which are deleted if the transaction fails; those that are written stay."""
        if isinstance(data, Rows):
            data.transactions.append(self._native)
            return data.rows
        written = write_rows(table._native, table.properties, data, lineage=lineage)  # noqa: SLF001
        self.written(written)
        return written.rows

    def _snapshot(  # noqa: PLR0913 - what a snapshot is made of
        self,
        began: float,
        branch: str,
        properties: Mapping[str, str] | None,
        rows: Sequence[Added],
        *,
        delta: _native.RowDelta | None = None,
        replace: str | None = None,
        validation: tuple[int | None, str, str, bool, bool] | None = None,
        fast: bool = False,
        changed: RowCounts | None = None,
    ) -> WriteResult:
        changed = changed or RowCounts()
        counts = self._native.snapshot(
            branch,
            dict(properties or {}),
            rows=list(rows),
            delta=delta,
            replace=replace,
            validation=validation,
            fast=fast,
        )
        snapshot_id = counts.pop("snapshot_id")
        known = {name: count for name, count in counts.items() if count is not None}
        gone = known["removed_records"] - known.pop("removed_position_deletes")
        return WriteResult(
            snapshot_id,
            **known,
            deleted_rows=gone if changed.deleted is None else changed.deleted,
            updated_rows=changed.updated,
            inserted_rows=changed.inserted,
            seconds=time.perf_counter() - began,
        )

    def _commit(self, change: dict[str, Any]) -> None:
        self._native.evolve(json.dumps(change))

    def commit_transaction(self) -> Table:
        """Commit now; the `with` block does it when it ends.

        Raises:
            CommitConflict: Others were first, more often than `commit.retry.num-retries` allows.
            CommitStateUnknown: It is not known whether the changes took effect; nothing was deleted.
        """
        if not self._ended:
            self._ended = True
            try:
                committed, self.attempts = self._native.commit()
                self._table._native = committed  # noqa: SLF001
            except BaseException:
                # Ctrl-C may come when the changes have taken effect already.
                if not self._native.may_be_committed:
                    self._discard()
                raise
        return self._table

    def abort(self) -> None:
        """Give up, and delete the files that were written."""
        if not self._ended:
            self._ended = True
            self._native.abort()
            self._discard()

    def _discard(self) -> None:
        for written in self._written:
            written.abort()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Commit, or give up where the block failed."""
        if kind is None:
            self.commit_transaction()
        else:
            self.abort()


def alone(table: Table, change: Callable[[Transaction], WriteResult]) -> WriteResult:
    """Make one change as a transaction of its own; again on the newest state when others changed what it looked at."""
    began = time.perf_counter()
    conflicts = 0
    while True:
        transaction = Transaction(table)
        try:
            with transaction:
                result = change(transaction)
            break
        except CommitConflict:
            # A number: the transaction has looked at it.
            if conflicts >= int(table.properties.get("commit.retry.num-retries", "4")):
                raise
            conflicts += 1
            # Writers who met should not meet again.
            time.sleep(random.uniform(0.05, 0.15) * 2 ** min(conflicts, 6))  # noqa: S311
            table._reload()  # noqa: SLF001 - one module in two files
    return replace(result, attempts=conflicts + transaction.attempts, seconds=time.perf_counter() - began)


class Rows:
    """Rows that are in files already, to be committed."""

    def __init__(self, rows: Added, written: Written) -> None:
        """Take what was written."""
        self.rows, self.written = rows, written
        self.transactions: list[_native.Transaction] = []


@contextlib.contextmanager
def staged(table: Table, data: Any) -> Iterator[Rows]:
    """Write rows once, for however many attempts; the files are deleted if none of them is made. `Rows` are there."""
    if isinstance(data, Rows):
        rows = data
    else:
        writer = write_rows(table._native, table.properties, data)  # noqa: SLF001
        rows = Rows(writer.rows, writer)
    try:
        yield rows
    except BaseException:
        if not any(transaction.may_be_committed for transaction in rows.transactions):
            rows.written.abort()
        raise
