"""A Paimon table in the form that operations use."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from frazil import _native
from frazil._arguments import table_files
from frazil._run import ReadSnapshot
from frazil.errors import CommitConflictError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CommitOptions", "Lock", "Replaced", "TableState"]

Replaced = Literal["table", "partitions", "dynamic"]
"""The scope of an overwrite: the whole table, given partitions, or the partitions of the new rows."""


_SAME_ROWS = ("ANALYZE", "COMPACT")
"""The types of commits that do not change rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitOptions:
    """The properties that a snapshot records about its commit."""

    user: str
    identifier: int | None = None
    """The number of the commit among the commits of `user`; each number is committed at most once."""
    watermark: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


class Lock(Protocol):
    """A lock that all writers of a table hold while they publish a snapshot."""

    def acquire(self) -> float | None:
        """Try to acquire the lock; return None on success, or the seconds to wait before the next attempt."""

    def release(self) -> None:
        """Release the lock; a failure to release it is not an error."""


class UnchangedSince:
    """A lock that cannot be acquired once another writer has changed rows.

    A commit builds its snapshot, acquires this lock, and publishes the snapshot under the next id. If another writer
    takes this id after the check, the commit rebuilds its snapshot and acquires the lock again.
    """

    def __init__(self, read: ReadSnapshot, table: _native.PaimonTable, user: str, lock: Lock | None) -> None:
        """Keep the snapshot that was read, the user of the commit, and the lock used by writers of the table."""
        self._read, self._table, self._user, self._lock = read, table, user, lock

    def acquire(self) -> float | None:
        """Acquire the lock of the table and check for new snapshots.

        Raises:
            CommitConflictError: A concurrent writer changed rows.
        """
        wait = None if self._lock is None else self._lock.acquire()
        if wait is None:
            try:
                self._check()
            except BaseException:
                self.release()
                raise
        return wait

    def release(self) -> None:
        """Release the lock of the table."""
        if self._lock is not None:
            self._lock.release()

    def _check(self) -> None:
        first = self._read.snapshot_id or 0
        numbers = self._table.snapshot_ids()
        newer = [number for number in numbers if number > first]
        is_complete = max(numbers, default=0) >= first and newer == list(range(first + 1, first + 1 + len(newer)))
        if is_complete and not any(map(self._is_change, newer)):
            return
        message = f"another writer changed table {self._table.location} after its snapshot {first} was read"
        raise CommitConflictError(message, context={"table": self._table.location}, hint="run the statement again")

    def _is_change(self, number: int) -> bool:
        snapshot = json.loads(self._table.snapshot_json(number))
        return snapshot["commitUser"] != self._user and snapshot["commitKind"] not in _SAME_ROWS


class TableState:
    """A table or a branch of it, with one schema. It is pickled by location; a worker loads the latest schema."""

    __slots__ = ("_lock", "files", "native", "opening")

    def __init__(
        self, native: _native.PaimonTable, files: _native.Files, opening: Mapping[str, Any], lock: Lock | None = None
    ) -> None:
        """Keep a table, the options that it was opened with, and the lock for publishing snapshots."""
        self.native, self.files, self.opening, self._lock = native, files, opening, lock

    def refreshed(self) -> TableState:
        """Return the table with its latest schema."""
        return TableState(self.native.refresh(), self.files, self.opening, self._lock)

    def check_not_altered(self) -> None:
        """Check that the rows that were read have no columns besides those of this schema.

        Raises:
            CommitConflictError: A snapshot has a later schema.
        """
        snapshot = json.loads(self.native.snapshot_json(None))
        known = json.loads(self.native.schema_json(None))
        if snapshot is not None and snapshot["schemaId"] > known["id"]:
            message = f"another writer altered table {self.native.location} while its rows were read"
            raise CommitConflictError(message, context={"table": self.native.location}, hint="run the statement again")

    def read_keys(self) -> ReadSnapshot | None:
        """Return the latest snapshot if a writer reads the keys of the table, because they can move between partitions.

        A concurrent writer could add a key to another partition, so its changes are conflicts.
        """
        if not self.native.moves_keys():
            return None
        snapshot = json.loads(self.native.snapshot_json(None))
        return ReadSnapshot(None if snapshot is None else snapshot["id"])

    def begin_commit(
        self,
        options: CommitOptions,
        replaced: Replaced | None = None,
        partitions: Sequence[Mapping[str, str | None]] = (),
        read: ReadSnapshot | None = None,
    ) -> _native.PaimonCommit:
        """Begin a commit; if `read` is given, the commit fails if another writer has changed rows since that snapshot.

        Raises:
            UnsupportedError: frazil cannot write this type of table yet; the message identifies the unsupported
                feature.
        """
        return _native.PaimonCommit(
            self.native,
            user=options.user,
            identifier=options.identifier,
            watermark=options.watermark,
            properties=dict(options.properties),
            overwrite=replaced,
            partitions=[dict(partition) for partition in partitions],
            lock=self._lock if read is None else UnchangedSince(read, self.native, options.user, self._lock),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.native.location, self.native.branch, self.opening)


def _restored(location: str, branch: str, opening: Mapping[str, Any]) -> TableState:
    files = table_files(location, **opening)
    native = _native.PaimonTable.open(files, location, None if branch == "main" else branch)
    return TableState(native, files, opening)
