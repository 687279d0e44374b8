"""Maintenance of Iceberg tables: methods of `Table` that plan first, and change the table when the plan is applied."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from frazil._arguments import flag, fraction, milliseconds, optional_number, path_text, whole_number
from frazil.iceberg._verbs import Verbs, row_filter_of, snapshot_options

if TYPE_CHECKING:
    import datetime
    import os
    from collections.abc import Iterable, Mapping

    from frazil.iceberg._expire import ExpireSnapshots
    from frazil.iceberg._orphans import RemoveOrphanFiles
    from frazil.iceberg._rewrite_data_files import RewriteDataFiles
    from frazil.iceberg._state import TableState

__all__ = ["Maintenance"]


class Maintenance(Verbs):
    """What keeps a table small and fast."""

    @property
    @abstractmethod
    def _state(self) -> TableState:
        """The state of the handle."""

    @abstractmethod
    def _newest(self) -> TableState:
        """Load the newest state; the handle stays at its own."""

    def expire_snapshots(
        self,
        older_than: int | str | datetime.datetime | None = None,
        *,
        retain_last: int | None = None,
        snapshot_ids: Iterable[int] = (),
    ) -> ExpireSnapshots:
        """Plan to remove old snapshots, and the files that only they need; `apply` of the plan removes them.

        Without arguments, snapshots expire that are older than `history.expire.max-snapshot-age-ms` (5 days), except
        the newest `history.expire.min-snapshots-to-keep` (1) of each branch; branches and tags that are older than
        their `max_ref_age_ms` expire, too. The retention of a branch takes precedence over properties and arguments.
        A read of a snapshot that has expired fails: keep snapshots for longer than the longest read.

        Args:
            older_than: Snapshots expire that were made before this, instead of the property: milliseconds since the
                epoch, a datetime or its ISO 8601 text.
            retain_last: The number of snapshots that each branch keeps, instead of the property.
            snapshot_ids: Snapshots that expire whatever their age. If only these are given, no others do.

        Raises:
            InvalidArgumentError: When it is planned: a branch or tag names one of `snapshot_ids`.
            NoSuchSnapshotError: When it is planned: the table does not have one of `snapshot_ids`.
            CommitValidationError: When it is planned: the table has `gc.enabled=false`.
            MissingFileError: When it is planned: a manifest of a snapshot that stays is missing. Nothing is removed.

        >>> import frazil, tempfile
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "long"})
        >>> _ = table.append([{"id": 1}]), table.append([{"id": 2}])
        >>> table.expire_snapshots("2030-01-01T00:00:00Z").apply().deleted_files
        {'manifest-list': 1}
        """
        from frazil.iceberg._expire import ExpireSnapshots

        def evolve(change: dict[str, Any]) -> TableState:
            self._evolve(change)
            return self._state

        plan = ExpireSnapshots(self._newest, evolve, self._place)
        if older_than is not None:
            plan.older_than(older_than)
        if retain_last is not None:
            plan.retain_last(retain_last)
        return plan.by_ids(snapshot_ids)

    def rewrite_data_files(  # noqa: PLR0913 - the options of Java's procedure
        self,
        row_filter: str | bool = True,  # noqa: FBT001, FBT002 - as in `scan`
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
        """Plan to write data files again that are too short, too long, or full of deletes; `apply` writes them.

        The rows stay as they are, with their ids. New files have the current partition spec and sort order, the format
        and the codec that the properties of the table ask for, and no deletes. Names, defaults and rules of the options
        are those of Java's `rewrite_data_files`.

        Args:
            row_filter: Look only at files that may have rows for which this is true; such files are written whole.
            case_sensitive: Whether `ID` is another column than `id` in the filter.
            rewrite_all: Write all files again, whatever their length and deletes.
            target_file_size_bytes: The length of new files, instead of `write.target-file-size-bytes`.
            min_file_size_bytes: Shorter files are written again; 75 % of the target by default.
            max_file_size_bytes: Longer files are written again; 180 % of the target by default.
            min_input_files: Fewer files of a partition stay as they are, unless they give a file of the target length.
            delete_file_threshold: A file with so many delete files is written again; None for no such limit.
            delete_ratio_threshold: A file of which this share of the rows is deleted is written again. Only deletes
                for this file alone are counted.
            max_file_group_size_bytes: The most bytes that are written together. All rows of a group of a sorted table
                are sorted together.
            max_commits: Groups are committed in so many snapshots: what is committed stays if a later group fails.
            branch: The branch whose files are replaced.
            snapshot_properties: Entries for the summary of the snapshots.

        Raises:
            InvalidArgumentError: A number that is out of range; for sizes, when it is planned.
            NoSuchSnapshotError: When it is planned: the branch does not exist.

        >>> import frazil, tempfile
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "long"})
        >>> for number in range(3):
        ...     _ = table.append([{"id": number}])
        >>> table.rewrite_data_files(min_input_files=2).apply().added_files
        1
        """
        from frazil.iceberg._rewrite_data_files import RewriteDataFiles, RewriteOptions

        options = RewriteOptions(
            filter=row_filter_of(row_filter, "row_filter", case_sensitive=case_sensitive),
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
        """Plan to delete files in the folder of the table that nothing in it names; `apply` deletes them.

        Such files are left by writes that failed or were killed. Files of all snapshots, branches and tags, statistics
        and metadata files stay, and so do files whose names begin with `.` or `_`, and folders that hold another table.

        Args:
            older_than: Files stay that were changed after this; three days ago by default, 24 hours ago at least, so
                that files of writes under way stay. Milliseconds since the epoch, a datetime or its ISO 8601 text.
            location: The folder that is looked at, instead of that of the table. Files of another table that lie
                there would be taken for orphans.
            force: Delete even more than half of the bytes in the folder.

        Raises:
            InvalidArgumentError: `older_than` is less than 24 hours ago.
            PathNotAllowedError: When it is planned: `location` is neither in the table nor in `allowed_locations`.
            CommitValidationError: When it is planned: the table has `gc.enabled=false`, or names a file of the folder
                by another scheme or host.
            MissingFileError: When it is planned: a manifest is missing, so it is not known what is needed.

        >>> import frazil, tempfile
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "long"})
        >>> table.remove_orphan_files().files.num_rows
        0
        """
        from frazil.iceberg._orphans import RemoveOrphanFiles

        return RemoveOrphanFiles(
            self._newest,
            self._place,
            older_than_ms=None if older_than is None else milliseconds(older_than, "older_than"),
            location=None if location is None else path_text("location", location),
            force=flag("force", force),
        )
