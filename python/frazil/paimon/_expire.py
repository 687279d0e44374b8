"""Planned expiry of the snapshots of Paimon tables."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil._boundary import operation
from frazil._deletion import DeletionPlan
from frazil._maintenance_plan import MaintenancePlan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from frazil import _native

__all__ = ["ExpireResult", "ExpireSnapshots"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireResult:
    """The result of an expiry."""

    snapshot_ids: tuple[int, ...] = ()
    """The ids of the removed snapshots, oldest first."""
    deleted_files: Mapping[str, int] = field(default_factory=dict)
    """The number of deleted files by type.

    The types are `data`, `changelog`, `index`, `statistics`, `index-manifest`, `manifest` and `manifest-list`.
    """
    deleted_bytes: int = 0
    """The total size of the deleted files in bytes, as far as metadata records it."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    snapshot_ids: tuple[int, ...]
    deletion: DeletionPlan


class ExpireSnapshots(MaintenancePlan[_Plan]):
    """A plan for expiring snapshots: nothing is changed until `apply` is called, which can be done once.

    `snapshot_ids`, `files` and `size_bytes` plan the expiry for the latest state of the table on first access.

    >>> import frazil, tempfile
    >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "BIGINT"}, format="paimon")
    >>> for number in range(3):
    ...     _ = table.overwrite([{"id": number}])
    >>> plan = table.expire_snapshots(retain_max=1, retain_min=1)
    >>> plan.snapshot_ids, plan.by_kind()["data"][0]
    ((1, 2), 2)
    >>> plan.apply().deleted_files["data"], [one.snapshot_id for one in table.snapshots()]
    (2, [3])
    """

    _method = "expire_snapshots"

    def __init__(
        self,
        table: Callable[[], tuple[_native.PaimonTable, _native.Files]],
        place: Callable[[], str],
        expiry: _native.PaimonExpiry,
    ) -> None:
        """Not for direct use; use `Table.expire_snapshots`."""
        super().__init__(place)
        self._table, self._expiry = table, expiry

    @property
    def snapshot_ids(self) -> tuple[int, ...]:
        """The snapshots to expire, oldest first."""
        return self._plan().snapshot_ids

    @property
    def files(self) -> pa.RecordBatch:
        """The files that only the expired snapshots reference: `kind`, `location` and `size_bytes` of each."""
        return self._plan().deletion.batch

    @property
    def size_bytes(self) -> int:
        """The total size in bytes of the files to delete, as far as metadata records it."""
        return self._plan().deletion.size_bytes

    def by_kind(self) -> dict[str, tuple[int, int]]:
        """Return the number and total bytes of the files to delete, by type."""
        return self._plan().deletion.by_kind()

    def apply(self) -> ExpireResult:
        """Delete the planned snapshots, except those that a consumer needs by now, and the files that only they need.

        A tag that is created at the same time keeps its files.

        Raises:
            InvalidArgumentError: The plan was already applied.
            StorageError: The snapshots were removed, but some files could not be deleted.
        """
        began = time.perf_counter()
        # If the plan was not inspected before, the metadata is read only once.
        plan = None if self._planned is None else self._take()
        if plan is not None and not plan.snapshot_ids:
            return ExpireResult(seconds=time.perf_counter() - began)
        with operation(self._method, self._place):
            table, files = self._table()
            snapshot_ids, batch = self._expiry.apply(table, None if plan is None else plan.snapshot_ids[-1])
            deletion = DeletionPlan(batch=batch, files=files)
            if plan is None:
                self._planned = _Plan(snapshot_ids=tuple(snapshot_ids), deletion=deletion)
                self._is_applied = True
            deletion.delete_files("the snapshots were removed", {"table": self._place()})
        return ExpireResult(
            snapshot_ids=tuple(snapshot_ids),
            deleted_files={kind: count for kind, (count, _) in deletion.by_kind().items()},
            deleted_bytes=deletion.size_bytes,
            seconds=time.perf_counter() - began,
        )

    def _make(self) -> _Plan:
        table, files = self._table()
        snapshot_ids, batch = self._expiry.plan(table)
        return _Plan(snapshot_ids=tuple(snapshot_ids), deletion=DeletionPlan(batch=batch, files=files))

    def _summary(self, plan: _Plan) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, (count, _) in plan.deletion.by_kind().items()) or "no files"
        return f"{len(plan.snapshot_ids)} snapshots; {kinds}, {plan.deletion.size_bytes} bytes"
