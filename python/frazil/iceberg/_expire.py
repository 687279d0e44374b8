"""Planned expiry of snapshots."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._arguments import milliseconds, whole_number
from frazil._boundary import operation
from frazil._deletion import DeletionPlan
from frazil._maintenance_plan import MaintenancePlan
from frazil.config import config
from frazil.errors import FrazilError, InvalidArgumentError, StorageError
from frazil.iceberg._state import TableState

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

    import pyarrow as pa

__all__ = ["ExpireResult", "ExpireSnapshots"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireResult:
    """The result of an expiry."""

    snapshot_ids: tuple[int, ...] = ()
    """The ids of the removed snapshots, oldest first."""
    refs: tuple[str, ...] = ()
    """The names of the removed branches and tags."""
    deleted_files: Mapping[str, int] = field(default_factory=dict)
    """The number of deleted files by type.

    The types are `data`, `position-deletes`, `equality-deletes`, `manifest`, `manifest-list` and `statistics`.
    """
    deleted_bytes: int = 0
    """The total size of the deleted files in bytes."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """An expiry as planned for one table state."""

    before: TableState
    snapshot_ids: tuple[int, ...]
    refs: tuple[str, ...]
    deletion: DeletionPlan


class ExpireSnapshots(MaintenancePlan[_Plan]):
    """A plan for expiring snapshots: nothing is changed until `apply` is called, which can be done once.

    `snapshot_ids`, `refs`, `files` and `size_bytes` plan the expiry for the latest table state on first access. `apply`
    removes only what was planned; a snapshot to which a concurrent writer has since added a branch or tag is kept.

    >>> import frazil, tempfile
    >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "long"})
    >>> for number in range(3):
    ...     _ = table.overwrite([{"id": number}])
    >>> plan = table.expire_snapshots(older_than=table.current_snapshot().timestamp_ms + 1)
    >>> len(plan.snapshot_ids) == len(table.snapshots()) - 1, plan.size_bytes > 0
    (True, True)
    >>> result = plan.apply()
    >>> result.deleted_files["data"], len(table.snapshots()), table.scan().to_arrow()["id"].to_pylist()
    (2, 1, [2])
    """

    _method = "expire_snapshots"

    def __init__(
        self,
        newest: Callable[[], TableState],
        evolve: Callable[[dict[str, Any]], tuple[TableState | None, TableState]],
        place: Callable[[], str],
    ) -> None:
        """Not for direct use; use `Table.expire_snapshots`.

        `evolve` commits a metadata change. It returns the state that its commit replaced (None if there was nothing to
        commit) and the new state.
        """
        super().__init__(place)
        self._newest, self._evolve = newest, evolve
        self._now_ms = time.time_ns() // 1_000_000
        self._older_than_ms: int | None = None
        self._retain_last: int | None = None
        self._snapshot_ids: list[int] = []

    def older_than(self, moment: int | str | datetime.datetime) -> Self:
        """Expire snapshots created before a time, given as for `as_of` in `Table.scan`."""
        self._older_than_ms = milliseconds(moment, "older_than")
        return self._changed()

    def retain_last(self, count: int) -> Self:
        """Keep at least `count` snapshots of each branch, regardless of their age.

        Raises:
            InvalidArgumentError: The count is less than 1.
        """
        if whole_number("retain_last", count) < 1:
            message = f"retain_last is {count}, expected at least 1"
            raise InvalidArgumentError(message, hint="a branch always keeps its latest snapshot")
        self._retain_last = int(count)
        return self._changed()

    def by_id(self, snapshot_id: int) -> Self:
        """Expire a snapshot regardless of its age."""
        return self.by_ids([snapshot_id])

    def by_ids(self, snapshot_ids: Iterable[int]) -> Self:
        """Expire snapshots regardless of their age."""
        self._snapshot_ids += [whole_number("snapshot_ids", one) for one in snapshot_ids]
        return self._changed()

    def _changed(self) -> Self:
        self._check_not_applied()
        self._planned = None
        return self

    @property
    def snapshot_ids(self) -> tuple[int, ...]:
        """The snapshots to expire, oldest first."""
        return self._plan().snapshot_ids

    @property
    def refs(self) -> tuple[str, ...]:
        """The branches and tags to expire."""
        return self._plan().refs

    @property
    def files(self) -> pa.RecordBatch:
        """The files that only the expired snapshots reference: `kind`, `location` and `size_bytes` of each."""
        return self._plan().deletion.batch

    @property
    def size_bytes(self) -> int:
        """The total size in bytes of the files to delete."""
        return self._plan().deletion.size_bytes

    def by_kind(self) -> dict[str, tuple[int, int]]:
        """Return the number and total bytes of the files to delete, by type."""
        return self._plan().deletion.by_kind()

    def apply(self) -> ExpireResult:
        """Remove the snapshots, branches and tags in one commit, and delete the files no longer referenced.

        Raises:
            CommitConflictError: Concurrent commits won more often than `commit.retry.num-retries` allows.
            CommitStateUnknownError: It is unknown whether the snapshots were removed; no file was deleted.
            InvalidArgumentError: The plan was already applied.
            StorageError: The snapshots were removed, but some files could not be deleted.
        """
        began = time.perf_counter()
        plan = self._take()
        if not plan.snapshot_ids and not plan.refs:
            return ExpireResult(seconds=time.perf_counter() - began)
        before, after = self._evolve(self._change({"snapshot_ids": list(plan.snapshot_ids), "refs": list(plan.refs)}))
        if before is None:
            # Concurrent commits removed or retained everything that was planned, so this expiry must not delete any
            # files.
            return ExpireResult(seconds=time.perf_counter() - began)
        with operation("expire_snapshots", self._place):
            is_as_planned = _is_same(before, plan.before) and _follows(after, before)
            deletion = plan.deletion if is_as_planned else _deletion_after_commit(before, after)
            deletion.delete_files("the snapshots were removed", {"table": self._place()})
        snapshot_ids, refs = _removed(before, after)
        return ExpireResult(
            snapshot_ids=tuple(one for one in snapshot_ids if one in plan.snapshot_ids),
            refs=tuple(name for name in refs if name in plan.refs),
            deleted_files={kind: count for kind, (count, _) in deletion.by_kind().items()},
            deleted_bytes=deletion.size_bytes,
            seconds=time.perf_counter() - began,
        )

    def commit(self) -> None:
        """Apply the plan, under its PyIceberg name."""
        self.apply()

    def __enter__(self) -> Self:
        """Return the plan, to choose the snapshots to expire."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Apply the plan unless the block raised, as in PyIceberg."""
        if kind is None:
            self.apply()

    def _make(self) -> _Plan:
        before = self._newest()
        changes = _native.Transaction(before.native)
        try:
            changes.evolve(json.dumps(self._change(None)))
            after = TableState(changes.staged(), before.options, is_staged=True)
            deletion = _deletion(before, after)
        finally:
            changes.abort()
        snapshot_ids, refs = _removed(before, after)
        return _Plan(before=before, snapshot_ids=snapshot_ids, refs=refs, deletion=deletion)

    def _summary(self, plan: _Plan) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, (count, _) in plan.deletion.by_kind().items()) or "no files"
        refs = f" and {', '.join(plan.refs)}" if plan.refs else ""
        return f"{len(plan.snapshot_ids)} snapshots{refs}; {kinds}, {plan.deletion.size_bytes} bytes"

    def _change(self, planned: dict[str, Any] | None) -> dict[str, Any]:
        return {
            "update": "expire",
            "now_ms": self._now_ms,
            "older_than_ms": self._older_than_ms,
            "retain_last": self._retain_last,
            "snapshot_ids": self._snapshot_ids,
            "planned": planned,
        }


def _removed(before: TableState, after: TableState) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the snapshots, oldest first, and the branches and tags that are missing from a later state."""
    kept = {snapshot.snapshot_id for snapshot in after.metadata.snapshots}
    expired = [one for one in before.metadata.snapshots if one.snapshot_id not in kept]
    expired.sort(key=lambda snapshot: snapshot.timestamp_ms)
    refs = tuple(name for name in before.metadata.refs if name not in after.metadata.refs)
    return tuple(snapshot.snapshot_id for snapshot in expired), refs


def _is_same(one: TableState, other: TableState) -> bool:
    return one.native.recorded_location == other.native.recorded_location


def _follows(after: TableState, before: TableState) -> bool:
    """Return whether one commit led from `before` to `after`.

    False if a REST server merged the commit with other commits.
    """
    log = after.metadata.metadata_log
    return bool(log) and log[-1].metadata_file == before.native.recorded_location


def _deletion_after_commit(before: TableState, after: TableState) -> DeletionPlan:
    """Return the files to delete after the commit, which may be fewer than planned.

    A concurrent commit may have retained planned snapshots.

    Raises:
        StorageError: A manifest cannot be read.
    """
    try:
        return _deletion(before, after)
    except FrazilError as error:
        message = (
            f"the snapshots were removed, but the files that only they reference were not deleted: {error.message}"
        )
        raise StorageError(message, context=error.context) from error


def _deletion(before: TableState, after: TableState) -> DeletionPlan:
    """Return the files that snapshots in `before` reference and `after` does not."""
    batch = _native.unreachable_files(before.native, after.native, config.max_workers)
    return DeletionPlan(batch=batch, files=before.native.files)
