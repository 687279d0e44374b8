"""Planned rollback of Paimon tables to an earlier state."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil import _native
from frazil._boundary import operation
from frazil._maintenance_plan import MaintenancePlan
from frazil.errors import NoSuchSnapshotError
from frazil.paimon._snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Rollback", "RollbackResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackResult:
    """The result of a rollback."""

    snapshot_id: int
    """The snapshot that is the latest one now."""
    deleted_snapshot_ids: tuple[int, ...]
    """The ids of the deleted snapshots, newest first."""
    deleted_tags: tuple[str, ...]
    """The names of the deleted tags."""
    seconds: float = 0.0


class Rollback(MaintenancePlan[RollbackResult]):
    """A plan to go back to an earlier state: nothing is changed until `apply` is called, which can be done once.

    >>> import frazil, tempfile
    >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "BIGINT"}, format="paimon")
    >>> for number in range(3):
    ...     _ = table.append([{"id": number}])
    >>> plan = table.rollback_to(1)
    >>> plan.snapshot_ids
    (3, 2)
    >>> _ = plan.apply()
    >>> table.scan().to_arrow().to_pylist()
    [{'id': 0}]
    """

    _method = "rollback_to"

    def __init__(
        self, table: Callable[[], _native.PaimonTable], place: Callable[[], str], target: tuple[str, int | str]
    ) -> None:
        """Not for direct use; use `Table.rollback_to`."""
        super().__init__(place)
        self._table, self._target = table, target

    @property
    def snapshot_id(self) -> int:
        """The snapshot to go back to."""
        return self._plan().snapshot_id

    @property
    def snapshot_ids(self) -> tuple[int, ...]:
        """The snapshots to delete, newest first."""
        return self._plan().deleted_snapshot_ids

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags to delete, which are newer than the state."""
        return self._plan().deleted_tags

    def apply(self) -> RollbackResult:
        """Delete all newer snapshots and tags, and the files that only they need.

        Stop all writers of the table first: a commit during the rollback would refer to deleted files.

        Raises:
            InvalidArgumentError: The plan was already applied.
            NoSuchSnapshotError: The snapshot has expired, or the tag was deleted, since the plan was made.
        """
        began = time.perf_counter()
        plan = self._take()
        with operation(self._method, self._place):
            # The state at a time or a watermark may be another one by now.
            target = ("id", plan.snapshot_id) if self._target[0] in ("as_of", "watermark") else self._target
            snapshot_id, snapshot_ids, tags = _native.PaimonRollback(target).apply(self._table())
        return RollbackResult(
            snapshot_id=snapshot_id,
            deleted_snapshot_ids=tuple(snapshot_ids),
            deleted_tags=tuple(tags),
            seconds=time.perf_counter() - began,
        )

    def _make(self) -> RollbackResult:
        table, target = self._table(), self._target
        if target[0] == "watermark":
            target = ("id", _snapshot_of_watermark(table, int(target[1])))
        snapshot_id, snapshot_ids, tags = _native.PaimonRollback(target).plan(table)
        return RollbackResult(
            snapshot_id=snapshot_id, deleted_snapshot_ids=tuple(snapshot_ids), deleted_tags=tuple(tags)
        )

    def _summary(self, plan: RollbackResult) -> str:
        snapshots, tags = len(plan.deleted_snapshot_ids), len(plan.deleted_tags)
        return f"to snapshot {plan.snapshot_id}, deletes {snapshots} snapshots and {tags} tags"


def _snapshot_of_watermark(table: _native.PaimonTable, watermark: int) -> int:
    """Return the latest snapshot whose watermark is not greater.

    Raises:
        NoSuchSnapshotError: There is no such snapshot.
    """
    for number in reversed(table.snapshot_ids()):
        found = Snapshot.from_json(json.loads(table.snapshot_json(number))).watermark
        if found is not None and found <= watermark:
            return number
    message = f"no snapshot has a watermark that is not greater than {watermark}"
    raise NoSuchSnapshotError(message, hint="list the watermarks with table.snapshots()")
