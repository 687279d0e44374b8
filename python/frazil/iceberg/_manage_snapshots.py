"""Changes to the branches and tags of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil._arguments import milliseconds, text, whole_number
from frazil._change import Change
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    import datetime
    from typing import Self


class ManageSnapshots(Change):
    """Creates, moves and removes branches and tags. The current snapshot of the table is the one of the branch `main`.

    An operation that drops snapshots from a branch or tag raises `CommitConflictError` if a concurrent writer has moved
    the branch or tag since this table was loaded.
    """

    _update = "snapshots"

    def create_branch(
        self,
        snapshot_id: int | None,
        branch_name: str,
        max_ref_age_ms: int | None = None,
        max_snapshot_age_ms: int | None = None,
        min_snapshots_to_keep: int | None = None,
    ) -> Self:
        """Create a branch at a snapshot; None for the current one.

        Args:
            snapshot_id: The snapshot that the branch starts at.
            branch_name: The name of the branch.
            max_ref_age_ms: The age at which the branch expires.
            max_snapshot_age_ms: The age at which snapshots of the branch expire.
            min_snapshots_to_keep: The number of snapshots to keep regardless of their age.
        """
        return self._named(
            "create_branch",
            branch_name,
            snapshot_id=snapshot_id,
            max_ref_age_ms=max_ref_age_ms,
            max_snapshot_age_ms=max_snapshot_age_ms,
            min_snapshots_to_keep=min_snapshots_to_keep,
        )

    def create_tag(self, snapshot_id: int | None, tag_name: str, max_ref_age_ms: int | None = None) -> Self:
        """Create a tag at a snapshot; None for the current one."""
        return self._named("create_tag", tag_name, snapshot_id=snapshot_id, max_ref_age_ms=max_ref_age_ms)

    def replace_branch(
        self,
        branch_name: str,
        snapshot_id: int,
        max_ref_age_ms: int | None = None,
        max_snapshot_age_ms: int | None = None,
        min_snapshots_to_keep: int | None = None,
    ) -> Self:
        """Move a branch to any other snapshot. Retention settings that are not given are kept."""
        return self._named(
            "replace_branch",
            branch_name,
            snapshot_id=snapshot_id,
            max_ref_age_ms=max_ref_age_ms,
            max_snapshot_age_ms=max_snapshot_age_ms,
            min_snapshots_to_keep=min_snapshots_to_keep,
        )

    def replace_tag(self, tag_name: str, snapshot_id: int, max_ref_age_ms: int | None = None) -> Self:
        """Move a tag to another snapshot."""
        return self._named("replace_tag", tag_name, snapshot_id=snapshot_id, max_ref_age_ms=max_ref_age_ms)

    def remove_branch(self, branch_name: str) -> Self:
        """Remove a branch; its snapshots are kept until they expire."""
        return self._named("remove_branch", branch_name)

    def remove_tag(self, tag_name: str) -> Self:
        """Remove a tag."""
        return self._named("remove_tag", tag_name)

    def rename_branch(self, name: str, new_name: str) -> Self:
        """Rename a branch."""
        return self._then("rename_branch", name=text("name", name), new_name=text("new_name", new_name))

    def set_retention(
        self,
        name: str,
        *,
        max_ref_age_ms: int | None = None,
        max_snapshot_age_ms: int | None = None,
        min_snapshots_to_keep: int | None = None,
    ) -> Self:
        """Set the retention of a branch or a tag; settings that are not given are kept."""
        return self._named(
            "set_retention",
            name,
            max_ref_age_ms=max_ref_age_ms,
            max_snapshot_age_ms=max_snapshot_age_ms,
            min_snapshots_to_keep=min_snapshots_to_keep,
        )

    def rollback_to_snapshot(self, snapshot_id: int) -> Self:
        """Roll back to a snapshot, which must be an ancestor of the current one."""
        return self._then("rollback_to_snapshot", snapshot_id=whole_number("snapshot_id", snapshot_id))

    def rollback_to_timestamp(self, timestamp: int | datetime.datetime) -> Self:
        """Roll back to the latest ancestor older than a time, given in milliseconds or as a datetime."""
        return self._then("rollback_to_timestamp", timestamp_ms=milliseconds(timestamp, "timestamp"))

    def set_current_snapshot(self, snapshot_id: int | None = None, ref_name: str | None = None) -> Self:
        """Set the current snapshot to any snapshot, or to that of a branch or a tag."""
        if (snapshot_id is None) == (ref_name is None):
            message = "pass either snapshot_id or ref_name"
            raise InvalidArgumentError(message)
        if ref_name is not None:
            return self._then("set_current_reference", name=text("ref_name", ref_name))
        return self._then("set_current_snapshot", snapshot_id=whole_number("snapshot_id", snapshot_id))

    def fast_forward(self, branch_name: str, to: str) -> Self:
        """Move a branch to a descendant: the snapshot of the ref `to`; create the branch if it is missing."""
        return self._then("fast_forward", name=text("branch_name", branch_name), to=text("to", to))

    def cherry_pick(self, snapshot_id: int) -> Self:
        """Make a staged snapshot, or a snapshot of another branch, current.

        If the current snapshot is not the parent of the picked one, the append or partition replacement is repeated on
        top of the current snapshot.

        Raises:
            CommitValidationError: At the commit: the snapshot is already current or picked; a concurrent writer changed
                the partitions that the snapshot replaces; or the snapshot is neither an append nor a dynamic overwrite,
                and its parent is not the current snapshot.
        """
        return self._then("cherry_pick", snapshot_id=whole_number("snapshot_id", snapshot_id))

    def publish_changes(self, wap_id: str) -> Self:
        """Publish the snapshot that was staged with this `wap.id`, as `cherry_pick` does.

        Raises:
            NoSuchSnapshotError: At the commit: no snapshot was staged with this id.
            CommitValidationError: At the commit: as in `cherry_pick`.

        >>> import frazil, tempfile
        >>> properties = {"write.wap.enabled": "true"}
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "long"}, properties=properties)
        >>> _ = table.append([{"id": 1}], snapshot_properties={"wap.id": "load-42"})
        >>> table.manage_snapshots().publish_changes("load-42").commit()
        >>> table.scan().count()
        1
        """
        return self._then("publish_changes", wap_id=text("wap_id", wap_id))

    def _named(self, operation: str, name: str, **numbers: int | None) -> Self:
        if not isinstance(name, str):
            message = f"the name of a branch or a tag must be a string, not {name!r}"  # type: ignore[unreachable]
            raise InvalidArgumentError(message, hint=f"check the order of the arguments of {operation}")
        checked = {key: None if value is None else whole_number(key, value) for key, value in numbers.items()}
        return self._then(operation, name=name, **checked)
