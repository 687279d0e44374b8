"""Removal of orphan files."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from frazil._boundary import operation
from frazil._maintenance_plan import MaintenancePlan
from frazil.errors import CommitValidationError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from frazil._deletion import DeletionPlan

__all__ = ["HOUR_MS", "OrphanResult", "OrphanSearch", "RemoveOrphanFiles"]

HOUR_MS = 3_600_000
_LEAST_AGE_MS = 24 * HOUR_MS
_MOST_SHARE = 0.5


class _Listing(Protocol):
    """The contents of a folder."""

    def __len__(self) -> int:
        """Return the number of files."""

    @property
    def size_bytes(self) -> int:
        """The total size of all files in bytes."""


class OrphanSearch(Protocol):
    """The search for the orphan files of a table."""

    def check(self) -> None:
        """Raise an error if another table may use files in the folder."""

    def listing(self, older_than_ms: int) -> Any:
        """List the folder; files that were modified before `older_than_ms` may be orphan files."""

    def orphans(self, listing: Any) -> DeletionPlan:
        """Return the listed files that the latest state of the table does not reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanResult:
    """The result of a removal of orphan files."""

    deleted_files: int = 0
    deleted_bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    listing: _Listing
    deletion: DeletionPlan


class RemoveOrphanFiles(MaintenancePlan[_Plan]):
    """A plan to delete orphan files. Nothing is deleted until `apply` is called, which can be done once.

    The folder is listed on the first access to `files` or `size_bytes`.

    >>> import frazil, os, pathlib, tempfile
    >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "long"})
    >>> _ = table.append([{"id": 1}])
    >>> stray = pathlib.Path(table.location, "data", "stray.parquet")
    >>> _ = stray.write_bytes(b"rows"), os.utime(stray, (0, 0))
    >>> plan = table.remove_orphan_files()
    >>> [location.rpartition("/")[2] for location in plan.files["location"].to_pylist()], plan.size_bytes
    (['stray.parquet'], 4)
    >>> plan.apply().deleted_files, stray.exists(), table.scan().count()
    (1, False, 1)
    """

    _method = "remove_orphan_files"

    def __init__(
        self,
        search: OrphanSearch,
        place: Callable[[], str],
        *,
        older_than_ms: int | None,
        default_age_ms: int,
        force: bool,
    ) -> None:
        """Not for direct use; use `Table.remove_orphan_files`.

        Raises:
            InvalidArgumentError: `older_than_ms` is less than 24 hours ago.
        """
        now_ms = time.time_ns() // 1_000_000
        self._older_than_ms = now_ms - default_age_ms if older_than_ms is None else older_than_ms
        if self._older_than_ms > now_ms - _LEAST_AGE_MS:
            days = default_age_ms // _LEAST_AGE_MS
            message = "older_than is less than 24 hours ago: files of running writes would be deleted"
            hint = f"use an earlier time; the default is {days} {'day' if days == 1 else 'days'} ago"
            raise InvalidArgumentError(message, hint=hint)
        super().__init__(place)
        self._search, self._force = search, force

    @property
    def files(self) -> pa.RecordBatch:
        """The orphan files: `kind` (`orphan`), `location` and `size_bytes` of each."""
        return self._plan().deletion.batch

    @property
    def size_bytes(self) -> int:
        """The total size of the orphan files in bytes."""
        return self._plan().deletion.size_bytes

    def apply(self) -> OrphanResult:
        """Delete the planned files that the latest table state still does not reference.

        Raises:
            CommitValidationError: More than half of the bytes in the folder would be deleted and `force` is not set,
                the table now has `gc.enabled=false`, or another table uses its folder.
            InvalidArgumentError: The plan was already applied.
            StorageError: Some files could not be deleted; the other files were deleted.
        """
        began = time.perf_counter()
        with operation("remove_orphan_files", self._place):
            plan = self._take()
            self._search.check()
            deletion = self._search.orphans(plan.listing)
            self._check_share(plan.listing, deletion)
            deletion.delete_files("the table is unchanged", {"table": self._place()})
        seconds = time.perf_counter() - began
        return OrphanResult(deleted_files=len(deletion), deleted_bytes=deletion.size_bytes, seconds=seconds)

    def _check_share(self, listing: _Listing, deletion: DeletionPlan) -> None:
        if self._force or deletion.size_bytes <= listing.size_bytes * _MOST_SHARE:
            return
        message = (
            f"{len(deletion)} of {len(listing)} files, {deletion.size_bytes} of {listing.size_bytes} bytes, would be "
            "deleted: more than half of the bytes in the folder"
        )
        hint = (
            "list the files with a dry run or the `files` of the plan; if they are orphan files, delete them in Python "
            "with table.remove_orphan_files(force=True).apply(), or with `frazil orphans --force`"
        )
        raise CommitValidationError(message, context={"table": self._place()}, hint=hint)

    def _make(self) -> _Plan:
        self._search.check()
        listing = self._search.listing(self._older_than_ms)
        return _Plan(listing=listing, deletion=self._search.orphans(listing))

    def _summary(self, plan: _Plan) -> str:
        return f"{len(plan.deletion)} of {len(plan.listing)} files, {plan.deletion.size_bytes} bytes"
