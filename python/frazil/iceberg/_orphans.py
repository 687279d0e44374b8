"""Removal of orphan files."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil import _native
from frazil._boundary import operation
from frazil._deletion import DeletionPlan
from frazil._maintenance_plan import MaintenancePlan
from frazil.config import config
from frazil.errors import CommitValidationError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from frazil.iceberg._state import TableState

__all__ = ["OrphanResult", "RemoveOrphanFiles"]

HOUR_MS = 3_600_000
DEFAULT_AGE_MS = 72 * HOUR_MS
LEAST_AGE_MS = 24 * HOUR_MS
_MOST_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanResult:
    """The result of a removal of orphan files."""

    deleted_files: int = 0
    deleted_bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    listing: _native.Listing
    state: TableState
    """The latest state after the folder was listed."""
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
        newest: Callable[[], TableState],
        place: Callable[[], str],
        check_folder: Callable[[], None],
        *,
        older_than_ms: int | None,
        location: str | None,
        force: bool,
    ) -> None:
        """Not for direct use; use `Table.remove_orphan_files`.

        `check_folder` raises an error if another table uses the folder.

        Raises:
            InvalidArgumentError: `older_than_ms` is less than 24 hours ago.
        """
        now_ms = time.time_ns() // 1_000_000
        self._older_than_ms = now_ms - DEFAULT_AGE_MS if older_than_ms is None else older_than_ms
        if self._older_than_ms > now_ms - LEAST_AGE_MS:
            message = "older_than is less than 24 hours ago: files of running writes would be deleted"
            raise InvalidArgumentError(message, hint="use an earlier time; the default is three days ago")
        super().__init__(place)
        self._newest, self._check_folder, self._location, self._force = newest, check_folder, location, force

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
            self._check_folder()
            deletion, newest = plan.deletion, self._newest()
            if newest.native.metadata_location != plan.state.native.metadata_location:
                deletion = _deletion(plan.listing, newest)
            self._check_share(plan.listing, deletion)
            deletion.delete_files("the table is unchanged", {"table": self._place()})
        seconds = time.perf_counter() - began
        return OrphanResult(deleted_files=len(deletion), deleted_bytes=deletion.size_bytes, seconds=seconds)

    def _check_share(self, listing: _native.Listing, deletion: DeletionPlan) -> None:
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
        before = self._newest()
        self._check_folder()
        folder = self._location or before.metadata.location
        listing = _native.Listing(before.native, folder, self._older_than_ms, config.max_workers)
        # The state is loaded after the listing, so that it references the files of commits made during the listing.
        state = self._newest()
        return _Plan(listing=listing, state=state, deletion=_deletion(listing, state))

    def _summary(self, plan: _Plan) -> str:
        return f"{len(plan.deletion)} of {len(plan.listing)} files, {plan.deletion.size_bytes} bytes"


def _deletion(listing: _native.Listing, state: TableState) -> DeletionPlan:
    return DeletionPlan(batch=listing.orphans(state.native, config.max_workers), files=state.files)
