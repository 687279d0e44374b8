"""Maintenance methods of Paimon tables. Each returns a plan, and `apply` carries it out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from frazil import _native
from frazil._arguments import flag, milliseconds, optional_number, optional_text, snapshot_choice, whole_number
from frazil.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    import datetime

    from frazil._orphans import RemoveOrphanFiles
    from frazil.paimon._expire import ExpireSnapshots
    from frazil.paimon._expire_partitions import ExpirePartitions, Partitioned
    from frazil.paimon._expire_tags import ExpireTags, Tagged
    from frazil.paimon._rollback import Rollback
    from frazil.paimon._views import View

__all__ = ["Maintenance"]


class Maintenance:
    """The maintenance methods, which return a plan before they change anything."""

    _native: Any
    _files: _native.Files
    _view: View
    location: str

    def expire_snapshots(
        self,
        older_than: int | str | datetime.datetime | None = None,
        *,
        retain_max: int | None = None,
        retain_min: int | None = None,
        max_deletes: int | None = None,
    ) -> ExpireSnapshots:
        """Plan to expire old snapshots and delete the files that only they need; `apply` carries out the plan.

        The oldest snapshots expire: those older than `older_than`, and those beyond `retain_max`. The latest
        `retain_min` snapshots are kept, and all that a consumer has not read. Tags and branches keep their files.
        Reading an expired snapshot fails: keep snapshots for longer than the longest read.

        Args:
            older_than: Expire snapshots that were committed before this time; by default, those older than the option
                `snapshot.time-retained` (1 hour). Milliseconds since the epoch, a datetime or an ISO 8601 string.
            retain_max: The maximum number of snapshots to keep, instead of the option `snapshot.num-retained.max`
                (no limit).
            retain_min: The minimum number of snapshots to keep, instead of the option `snapshot.num-retained.min` (10).
            max_deletes: The maximum number of snapshots that expire in one call, instead of the option
                `snapshot.expire.limit` (50).

        Raises:
            InvalidArgumentError: When the plan is made: `retain_min` is less than 1 or greater than `retain_max`.
            UnsupportedError: When the plan is made: the options `changelog.*-retained` keep changelogs for longer than
                snapshots.

        >>> import frazil, tempfile
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "BIGINT"}, format="paimon")
        >>> for number in range(3):
        ...     _ = table.append([{"id": number}])
        >>> table.expire_snapshots("2100-01-01T00:00:00Z", retain_min=1).apply().snapshot_ids
        (1, 2)
        """
        from frazil.paimon._expire import ExpireSnapshots

        self._check_not_view()
        expiry = _native.PaimonExpiry(
            older_than_ms=None if older_than is None else milliseconds(older_than, "older_than"),
            retain_max=optional_number("retain_max", retain_max),
            retain_min=optional_number("retain_min", retain_min),
            max_deletes=optional_number("max_deletes", max_deletes),
        )
        return ExpireSnapshots(lambda: (self._native.refresh(), self._files), lambda: self.location, expiry)

    def expire_partitions(
        self,
        expiration_time: str | None = None,
        *,
        timestamp_formatter: str | None = None,
        timestamp_pattern: str | None = None,
        strategy: str | None = None,
        max_expires: int | None = None,
    ) -> ExpirePartitions:
        """Plan to delete the rows of old partitions; `apply` carries out the plan.

        Each argument that is None is taken from the table options.

        Args:
            expiration_time: The age of a partition that expires, such as `7 d` (`partition.expiration-time`).
            timestamp_formatter: The form of the time in the notation of Java's `DateTimeFormatter`, such as `yyyyMMdd`
                (`partition.timestamp-formatter`); by default `yyyy-MM-dd`, perhaps followed by `HH:mm:ss`.
            timestamp_pattern: How the time is made of the values, such as `$year-$month-$day`
                (`partition.timestamp-pattern`); by default, it is the value of the first partition column.
            strategy: `values-time` uses the time in the values, and keeps partitions without one. `update-time` uses
                the time of the last change (`partition.expiration-strategy`).
            max_expires: The maximum number of partitions that expire in one call (`partition.expiration-max-num`, 100).

        Raises:
            InvalidArgumentError: When the plan is made: the table has no partitions, no expiration time is set, or a
                form is invalid.
            UnsupportedError: When the plan is made: a custom strategy.
        """
        from frazil.paimon._expire_partitions import ExpirePartitions, Rules

        self._check_not_view()
        rules = Rules(
            expiration_time=optional_text("expiration_time", expiration_time),
            timestamp_formatter=optional_text("timestamp_formatter", timestamp_formatter),
            timestamp_pattern=optional_text("timestamp_pattern", timestamp_pattern),
            strategy=optional_text("strategy", strategy),
            max_expires=optional_number("max_expires", max_expires),
        )
        return ExpirePartitions(cast("Partitioned", self), rules)

    def expire_tags(self, older_than: int | str | datetime.datetime | None = None) -> ExpireTags:
        """Plan to delete the tags whose `time_retained` is over; `apply` carries out the plan.

        Args:
            older_than: Also delete all tags that were created before this time: milliseconds since the epoch, a
                datetime or an ISO 8601 string.
        """
        from frazil.paimon._expire_tags import ExpireTags

        self._check_not_view()
        limit = None if older_than is None else milliseconds(older_than, "older_than")
        return ExpireTags(cast("Tagged", self), self._files, limit)

    def rollback_to(
        self,
        snapshot_id: int | None = None,
        *,
        tag: str | None = None,
        as_of: int | str | datetime.datetime | None = None,
        watermark: int | None = None,
    ) -> Rollback:
        """Plan to go back to an earlier state: all newer snapshots and tags are deleted; `apply` carries out the plan.

        Schemas and consumers stay as they are. Stop all writers of the table before you apply the plan.

        Args:
            snapshot_id: The snapshot to go back to.
            tag: The tag to go back to, whose snapshot may have expired.
            as_of: Go back to the latest snapshot at this time: milliseconds since the epoch, a datetime or an ISO 8601
                string.
            watermark: Go back to the latest snapshot whose watermark is not greater, in milliseconds.

        Raises:
            InvalidArgumentError: Not exactly one argument is given.
            NoSuchSnapshotError: When the plan is made: the snapshot or tag does not exist.

        >>> import frazil, tempfile
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "BIGINT"}, format="paimon")
        >>> _ = table.append([{"id": 1}]), table.append([{"id": 2}])
        >>> table.rollback_to(1).apply().deleted_snapshot_ids
        (2,)
        """
        from frazil.paimon._rollback import Rollback

        self._check_not_view()
        target = snapshot_choice(snapshot_id, tag, as_of)
        if watermark is not None:
            if target is not None:
                message = "rollback_to accepts only one of snapshot_id, tag, as_of and watermark"
                raise InvalidArgumentError(message)
            target = ("watermark", whole_number("watermark", watermark))
        if target is None:
            message = "rollback_to needs a snapshot_id, a tag, as_of or a watermark"
            raise InvalidArgumentError(message, hint="list the snapshots with table.snapshots()")
        return Rollback(self._native.refresh, lambda: self.location, target)

    def remove_orphan_files(
        self, older_than: int | str | datetime.datetime | None = None, *, force: bool = False
    ) -> RemoveOrphanFiles:
        """Plan to delete orphan files, which no branch, tag or changelog references; `apply` deletes them.

        Failed or killed writes leave orphan files. The following are searched: manifests, index files, statistics, and
        the files in buckets, except those of external paths; and temporary files of killed writers. Folders of other
        tables and names with control characters are skipped.

        Args:
            older_than: Keep files that were modified later; a day ago by default. The time must be at least 24 hours
                ago, because files of running writes are not referenced yet. Milliseconds since the epoch, a datetime
                or an ISO 8601 string.
            force: Allow deleting more than half of the bytes in the folder.

        Raises:
            InvalidArgumentError: `older_than` is less than 24 hours ago.
            CorruptManifestError: When the plan is made: a manifest is damaged, so the referenced files are unknown.

        >>> import frazil, tempfile
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "BIGINT"}, format="paimon")
        >>> table.remove_orphan_files().files.num_rows
        0
        """
        from frazil._orphans import HOUR_MS, RemoveOrphanFiles
        from frazil.paimon._orphan_search import OrphanSearch

        self._check_not_view()
        return RemoveOrphanFiles(
            OrphanSearch(self._native.refresh, self._files),
            lambda: self.location,
            older_than_ms=None if older_than is None else milliseconds(older_than, "older_than"),
            default_age_ms=24 * HOUR_MS,
            force=flag("force", force),
        )

    def _check_not_view(self) -> None:
        if self._view != "rows":
            message = f"the view {self._view!r} of a table is read-only"
            raise UnsupportedError(message, context={"table": self.location}, hint="change the table itself")
