"""Maintenance methods of Iceberg tables. Each returns a plan, and `apply` carries it out."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from frazil._arguments import flag, fraction, milliseconds, optional_number, path_text, whole_number
from frazil.iceberg._verbs import Verbs, row_filter_of, snapshot_options

if TYPE_CHECKING:
    import datetime
    import os
    from collections.abc import Iterable, Mapping

    from frazil._arguments import RowFilter
    from frazil._orphans import RemoveOrphanFiles
    from frazil.iceberg._expire import ExpireSnapshots
    from frazil.iceberg._rewrite_data_files import RewriteDataFiles
    from frazil.iceberg._state import TableState

__all__ = ["Maintenance"]


class Maintenance(Verbs):
    """The maintenance methods, which return a plan before they change anything."""

    @abstractmethod
    def _newest(self) -> TableState:
        """Load the latest state without changing the state of this table handle."""

    @abstractmethod
    def _evolve_and_compare(self, change: dict[str, Any]) -> tuple[TableState | None, TableState]:
        """Commit a metadata change.

        Return the state that the commit replaced, None if there was nothing to commit, and the new state.
        """

    def _check_folder(self) -> None:
        """Raise an error if another table of the catalog may use files in this table's folder."""

    @property
    def maintenance(self) -> Maintenance:
        """The table itself, for code written for PyIceberg, which has the maintenance methods under this name.

        >>> import datetime, frazil, tempfile
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "long"})
        >>> _ = table.append([{"id": 1}]), table.append([{"id": 2}])
        >>> tomorrow = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
        >>> table.maintenance.expire_snapshots().older_than(tomorrow).commit()
        >>> len(table.snapshots())
        1
        """
        return self

    def expire_snapshots(
        self,
        older_than: int | str | datetime.datetime | None = None,
        *,
        retain_last: int | None = None,
        snapshot_ids: Iterable[int] = (),
    ) -> ExpireSnapshots:
        """Plan to expire old snapshots and delete the files that only they reference; `apply` carries out the plan.

        Without arguments, snapshots older than `history.expire.max-snapshot-age-ms` (5 days) expire, except the latest
        `history.expire.min-snapshots-to-keep` (1) of each branch. Branches and tags older than their `max_ref_age_ms`
        expire, too. The retention of a branch takes precedence over properties and arguments.
        Reading an expired snapshot fails: keep snapshots for longer than the longest read.

        Args:
            older_than: Expire snapshots created before this time, instead of the property: milliseconds since the
                epoch, a datetime or an ISO 8601 string.
            retain_last: The number of snapshots that each branch keeps, instead of the property.
            snapshot_ids: Snapshots to expire regardless of their age. If this is the only argument, no other snapshots
                expire.

        Raises:
            InvalidArgumentError: When the plan is made: a branch or tag references one of `snapshot_ids`.
            NoSuchSnapshotError: When the plan is made: one of `snapshot_ids` does not exist.
            CommitValidationError: When the plan is made: the table has `gc.enabled=false`.
            MissingFileError: When the plan is made: a manifest of a retained snapshot is missing. Nothing is removed.

        >>> import frazil, tempfile
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "long"})
        >>> _ = table.append([{"id": 1}]), table.append([{"id": 2}])
        >>> table.expire_snapshots("2030-01-01T00:00:00Z").apply().deleted_files
        {'manifest-list': 1}
        """
        from frazil.iceberg._expire import ExpireSnapshots

        plan = ExpireSnapshots(self._newest, self._evolve_and_compare, self._place)
        if older_than is not None:
            plan.older_than(older_than)
        if retain_last is not None:
            plan.retain_last(retain_last)
        return plan.by_ids(snapshot_ids)

    def rewrite_data_files(  # noqa: PLR0913 - the options of Java's procedure
        self,
        row_filter: RowFilter = True,  # noqa: FBT002 - as in `scan`
        *,
        case_sensitive: bool = True,
        rewrite_all: bool = False,
        target_file_size_bytes: int | None = None,
        min_file_size_bytes: int | None = None,
        max_file_size_bytes: int | None = None,
        min_input_files: int = 5,
        delete_file_threshold: int | None = None,
        delete_ratio_threshold: float = 0.3,
        max_file_group_size_bytes: int = 100 << 30,
        max_commits: int = 1,
        branch: str = "main",
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> RewriteDataFiles:
        """Plan to compact data files that are too small, too large or have many deletes; `apply` rewrites them.

        The rows do not change, and neither do their ids in v3. New files use the current partition spec and sort order,
        and the format and codec of the table properties. They have no deletes. The options have the names, defaults and
        rules of Java's `rewrite_data_files`.

        Args:
            row_filter: Consider only files that may contain matching rows; such files are rewritten completely.
            case_sensitive: Whether column names in the filter are case-sensitive.
            rewrite_all: Rewrite every file, regardless of its size and deletes.
            target_file_size_bytes: The size of new files, instead of `write.target-file-size-bytes`.
            min_file_size_bytes: Rewrite smaller files; 75 % of the target by default.
            max_file_size_bytes: Rewrite larger files; 180 % of the target by default.
            min_input_files: Skip a partition with fewer such files, unless they fill more than one target file.
            delete_file_threshold: Rewrite a file if at least this many delete files apply to it; None for no limit.
            delete_ratio_threshold: Rewrite a file if this share of its rows is deleted. Only file-scoped deletes count.
            max_file_group_size_bytes: The maximum size of a group of files that is written together. The rows of a
                group are sorted together if the table has a sort order.
            max_commits: Commit the groups in up to this many snapshots. Committed groups stay if a later one fails.
            branch: The branch to compact.
            snapshot_properties: Properties for the summary of the snapshots.

        Raises:
            InvalidArgumentError: A number is out of range. For sizes, this is raised when the plan is made.
            NoSuchSnapshotError: When the plan is made: the branch does not exist.

        >>> import frazil, tempfile
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "long"})
        >>> for number in range(3):
        ...     _ = table.append([{"id": number}])
        >>> table.rewrite_data_files(min_input_files=2).apply().added_files
        1
        """
        from frazil.iceberg._rewrite_data_files import RewriteDataFiles, RewriteOptions

        options = RewriteOptions(
            filter=row_filter_of(row_filter, "row_filter", self._columns, case_sensitive=case_sensitive),
            snapshot=snapshot_options(branch, snapshot_properties),
            rewrite_all=flag("rewrite_all", rewrite_all),
            target_file_size_bytes=optional_number("target_file_size_bytes", target_file_size_bytes),
            min_file_size_bytes=optional_number("min_file_size_bytes", min_file_size_bytes),
            max_file_size_bytes=optional_number("max_file_size_bytes", max_file_size_bytes),
            min_input_files=whole_number("min_input_files", min_input_files),
            delete_file_threshold=optional_number("delete_file_threshold", delete_file_threshold),
            delete_ratio_threshold=fraction("delete_ratio_threshold", delete_ratio_threshold),
            max_file_group_size_bytes=whole_number("max_file_group_size_bytes", max_file_group_size_bytes),
            max_commits=whole_number("max_commits", max_commits),
        )
        return RewriteDataFiles(self._newest, self._run, self._place, options)

    def remove_orphan_files(
        self,
        older_than: int | str | datetime.datetime | None = None,
        *,
        location: str | os.PathLike[str] | None = None,
        force: bool = False,
    ) -> RemoveOrphanFiles:
        """Plan to delete orphan files, which no metadata of the table references; `apply` deletes them.

        Failed or killed writes leave orphan files. Files of all snapshots, branches and tags, statistics and metadata
        files are kept. The following are skipped: names that start with `.` or `_`, except temporary files of killed
        writers; names with control characters; and folders of other tables.

        Args:
            older_than: Keep files that were modified later; three days ago by default. The time must be at least 24
                hours ago, because files of running writes are not referenced yet. Milliseconds since the epoch, a
                datetime or an ISO 8601 string.
            location: The folder to scan, instead of the folder of the table. Files of another table in this folder
                would be treated as orphans.
            force: Allow deleting more than half of the bytes in the folder.

        Raises:
            InvalidArgumentError: `older_than` is less than 24 hours ago.
            PathNotAllowedError: When the plan is made: `location` is outside the table and `allowed_locations`.
            CommitValidationError: When the plan is made: the table has `gc.enabled=false`, the table references a file
                in the folder by a different scheme or host, or the folder belongs to another table.
            MissingFileError: When the plan is made: a manifest is missing, so the referenced files are unknown.

        >>> import frazil, tempfile
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "long"})
        >>> table.remove_orphan_files().files.num_rows
        0
        """
        from frazil._orphans import HOUR_MS, RemoveOrphanFiles
        from frazil.iceberg._orphan_search import OrphanSearch

        folder = None if location is None else path_text("location", location)
        return RemoveOrphanFiles(
            OrphanSearch(self._newest, self._check_folder, folder),
            self._place,
            older_than_ms=None if older_than is None else milliseconds(older_than, "older_than"),
            default_age_ms=72 * HOUR_MS,
            force=flag("force", force),
        )
