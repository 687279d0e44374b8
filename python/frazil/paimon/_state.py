"""A Paimon table as operations find it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from frazil import _native
from frazil._arguments import table_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CommitOptions", "Lock", "Replaced", "TableState"]

Replaced = Literal["table", "partitions", "dynamic"]
"""What an overwrite replaces: the whole table, given partitions, or the partitions of the new rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitOptions:
    """What a snapshot records of its commit."""

    user: str
    identifier: int | None = None
    """The number of the commit among those of `user`; each is committed once."""
    watermark: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


class Lock(Protocol):
    """A lock that all writers of a table take while they publish a snapshot."""

    def acquire(self) -> float | None:
        """Try to acquire the lock; return None if it is held now, or the seconds after which to try again."""

    def release(self) -> None:
        """Release the lock; a lock that cannot be released is not an error."""


class TableState:
    """A table or one of its branches, with one schema. Pickles hold its location: a worker finds the newest schema."""

    __slots__ = ("_lock", "files", "native", "opening")

    def __init__(
        self, native: _native.PaimonTable, files: _native.Files, opening: Mapping[str, Any], lock: Lock | None = None
    ) -> None:
        """Take a table, how it was opened, and the lock to take while a snapshot is published."""
        self.native, self.files, self.opening, self._lock = native, files, opening, lock

    def refreshed(self) -> TableState:
        """Return the table with its newest schema."""
        return TableState(self.native.refresh(), self.files, self.opening, self._lock)

    def begin_commit(
        self,
        options: CommitOptions,
        replaced: Replaced | None = None,
        partitions: Sequence[Mapping[str, str | None]] = (),
    ) -> _native.PaimonCommit:
        """Begin a commit.

        Raises:
            UnsupportedError: The table is of a kind that is not written yet; the message names it.
        """
        return _native.PaimonCommit(
            self.native,
            user=options.user,
            identifier=options.identifier,
            watermark=options.watermark,
            properties=dict(options.properties),
            overwrite=replaced,
            partitions=[dict(partition) for partition in partitions],
            lock=self._lock,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.native.location, self.native.branch, self.opening)


def _restored(location: str, branch: str, opening: Mapping[str, Any]) -> TableState:
    files = table_files(location, **opening)
    native = _native.PaimonTable.open(files, location, None if branch == "main" else branch)
    return TableState(native, files, opening)
