"""Iceberg tables in Spark, with the options of Spark's Iceberg connector; each read uses one metadata file."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.spark._branch_read import BranchRead, table_id
from frazil.spark._options import (
    AUDIT_OPTIONS,
    NATIVE_FILES,
    READ_SNAPSHOT,
    SNAPSHOT_OPTIONS,
    check_names,
    exclude,
    number,
    snapshot_arguments,
)
from frazil.spark._state import ReadState
from frazil.spark._write_audit import WAP_BRANCH, WriteAudit, is_enabled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from frazil.iceberg import Scan, Table
    from frazil.spark._lanes import NativeFiles
    from frazil.spark._options import ReadOptions

APPEND = ("start-snapshot-id", "end-snapshot-id")
"""The snapshots of an incremental read; the first one is exclusive."""
# Options that tune Spark's Iceberg connector and do not affect rows.
_WITHOUT_EFFECT = ("lookback", "locality", "vectorization-enabled", "aggregate-push-down-enabled")
_UNSUPPORTED = {
    "start-timestamp": "for appended rows pass `start-snapshot-id`; read changes from `/path/of/table$changes`",
    "end-timestamp": "for appended rows pass `end-snapshot-id`; read changes from `/path/of/table$changes`",
    "stream-from-timestamp": "streaming reads are not supported",
    "streaming-*": "streaming reads are not supported",
    "async-*": "streaming reads are not supported",
}


class OpenedState(ReadState):
    """An Iceberg table at one metadata file, for any type of read."""

    def __init__(self, table: Table, asked: ReadOptions) -> None:
        """Record the latest metadata file of the table, which every read uses."""
        super().__init__(asked)
        self.metadata_file = table.metadata_location
        self._table: Table | None = table

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_table": None}

    def table_sizes(self) -> tuple[int | None, int | None]:
        """Return the split sizes set in the table properties."""
        properties = self._opened().properties
        return size_of(properties, "read.split.target-size"), size_of(properties, "read.split.open-file-cost")

    def _opened(self) -> Table:
        if self._table is None:
            from frazil._table import load_table

            self._table = load_table(self.metadata_file, format="iceberg", **self.asked.opening)
        return self._table


class IcebergState(OpenedState):
    """The rows of an Iceberg table."""

    has_native_files = True

    def __init__(self, table: Table, asked: ReadOptions) -> None:
        """Check the options that select rows."""
        super().__init__(table, asked)
        self._append, self._snapshot = scan_arguments(asked)
        self._unread: frozenset[str] = frozenset()
        if self._append or self._snapshot:
            return
        audit = WriteAudit(*(asked.given.get(name) for name in AUDIT_OPTIONS))
        branch = audit.branch_of(table)
        if branch is not None and branch in table.refs():
            self.asked = dataclasses.replace(asked, branch=branch)
            self._snapshot = snapshot_arguments(self.asked)
        elif READ_SNAPSHOT not in asked.given and audit == WriteAudit() and is_enabled(table):
            self._unread = frozenset(table.refs()) - {"main"}

    def scan(self, columns: Sequence[str], row_filter: str = "", limit: int | None = None) -> Scan:
        """Create a scan of the state."""
        common: dict[str, Any] = {"case_sensitive": self.asked.case_sensitive, "limit": limit}
        if self._append:
            return self._opened().incremental_append_scan(row_filter or True, columns, **common, **self._append)
        return self._opened().scan(row_filter or True, columns, **common, **self._snapshot)

    def lasting_options(self) -> dict[str, str | None]:
        """Return the option that selects the metadata file."""
        return {"path": self.metadata_file}

    def newest_of(self) -> BranchRead | None:
        """Return the branch that is read; None if a snapshot, tag or time was selected."""
        asked, table = self.asked, self._opened()
        kind, name = asked.snapshot or ("ref", asked.branch or "main")
        ref = table.refs().get(name) if kind in ("ref", "version") else None
        is_branch = kind in ("ref", "version") and (name == "main" or (ref is not None and ref.type == "branch"))
        if self._append or not is_branch:
            return None
        return BranchRead(table=table_id(table), branch=name, snapshot_id=None if ref is None else ref.snapshot_id)

    def native_files(self, *, nullable: bool, is_filtered_later: bool) -> NativeFiles | None:
        """Return the files that Spark can read itself with the same result."""
        from frazil.spark._lanes import native_files

        scan = self.scan(self.asked.columns, self.asked.row_filter)
        return native_files(scan, nullable=nullable, is_filtered_later=is_filtered_later)

    def check_session(self, setting: Callable[[str], str | None]) -> None:
        """Check in a task that the settings of its session do not select another branch."""
        branch = setting(WAP_BRANCH)
        if branch in self._unread:
            message = (
                f"`{WAP_BRANCH}` is set to {branch!r}, but Spark does not pass settings to Python data sources "
                "when they are opened, so the rows are those of `main`"
            )
            hint = f"use `frazil.spark.read` or `lake.sql`, or set the option `branch` to {branch!r} or `main`"
            raise UnsupportedError(message, context={"table": self.asked.path}, hint=hint)

    def groups(self, columns: Sequence[str], row_filter: str, limit: int | None) -> list[list[bytes]]:
        """Plan the read and return its partitions, without the files that Spark reads itself."""
        option = self.asked.given.get(NATIVE_FILES)
        if option is None:
            return super().groups(columns, row_filter, limit)
        from frazil.spark._lanes import places_of

        if limit is not None or self.asked.pushdown:
            message = f"the option `{NATIVE_FILES}` cannot be combined with a limit or `pushdown`"
            raise InvalidArgumentError(message)
        plan = self.scan(columns, row_filter).plan()
        return [[content] for content in plan.groups(*self._sizes(), without=places_of(option, plan))]

    def read(self, contents: Sequence[bytes], limit: int | None) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Read the tasks in `contents`, and return their schema and rows; at most `limit` rows are returned."""
        from frazil import _native
        from frazil.iceberg._read import read_tasks

        files = self.files()
        tasks = [task for content in contents for task in _native.FileScanTask.from_bytes(content, files)]
        # Spark assigns one core to a task, so the tasks are read with one thread.
        return tasks[0].schema(), read_tasks(tasks, workers=1, limit=limit)


def scan_arguments(asked: ReadOptions) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of an incremental scan and of a scan; at least one of them is empty.

    Raises:
        InvalidArgumentError: An option is unknown or contradicts another option.
        UnsupportedError: frazil does not support an option of Spark's Iceberg connector.
    """
    given = asked.given
    check_names(asked.others, (*APPEND, *_WITHOUT_EFFECT, NATIVE_FILES), _UNSUPPORTED)
    exclude(given, "branch", *SNAPSHOT_OPTIONS)
    for name in APPEND:
        exclude(given, name, "branch", *SNAPSHOT_OPTIONS)
    start, end = (number(given, name) for name in APPEND)
    if start is not None:
        return {"from_snapshot_id_exclusive": start, "to_snapshot_id_inclusive": end}, {}
    if end is not None:
        message = "the option `end-snapshot-id` requires `start-snapshot-id`"
        raise InvalidArgumentError(message, hint="to read the table as of a snapshot, pass `snapshot-id`")
    return {}, snapshot_arguments(asked)


def size_of(properties: Mapping[str, str], name: str) -> int | None:
    """Return a size in bytes from the table properties; None if it is missing or invalid."""
    text = properties.get(name, "")
    return int(text) if text.isdecimal() and int(text) > 0 else None
