"""Changes of the branches and tags of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil._arguments import milliseconds, text, whole_number
from frazil.errors import InvalidArgumentError
from frazil.iceberg._change import Change

if TYPE_CHECKING:
    import datetime
    from typing import Self


class ManageSnapshots(Change):
    """Makes, moves and removes branches and tags; the current snapshot is that of the branch `main`.

    An operation that drops snapshots from a branch or tag raises `CommitConflictError` when another writer has moved
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
        """Make a branch at a snapshot; None for the current one.

        Args:
            snapshot_id: The snapshot that it begins with.
            branch_name: Its name.
            max_ref_age_ms: How old the branch gets before it expires.
            max_snapshot_age_ms: How old its snapshots get before they expire.
            min_snapshots_to_keep: How many of its snapshots stay, however old they are.
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
        """Make a tag of a snapshot; None for the current one."""
        return self._named("create_tag", tag_name, snapshot_id=snapshot_id, max_ref_age_ms=max_ref_age_ms)

    def replace_branch(
        self,
        branch_name: str,
        snapshot_id: int,
        max_ref_age_ms: int | None = None,
        max_snapshot_age_ms: int | None = None,
        min_snapshots_to_keep: int | None = None,
    ) -> Self:
        """Let a branch name any other snapshot. Retention that is not given stays."""
        return self._named(
            "replace_branch",
            branch_name,
            snapshot_id=snapshot_id,
            max_ref_age_ms=max_ref_age_ms,
            max_snapshot_age_ms=max_snapshot_age_ms,
            min_snapshots_to_keep=min_snapshots_to_keep,
        )

    def replace_tag(self, tag_name: str, snapshot_id: int, max_ref_age_ms: int | None = None) -> Self:
        """Let a tag name another snapshot."""
        return self._named("replace_tag", tag_name, snapshot_id=snapshot_id, max_ref_age_ms=max_ref_age_ms)

    def remove_branch(self, branch_name: str) -> Self:
        """Remove a branch; its snapshots stay until they expire."""
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
        """Say what expiry keeps of a branch or a tag; what is not given stays."""
        return self._named(
            "set_retention",
            name,
            max_ref_age_ms=max_ref_age_ms,
            max_snapshot_age_ms=max_snapshot_age_ms,
            min_snapshots_to_keep=min_snapshots_to_keep,
        )

    def rollback_to_snapshot(self, snapshot_id: int) -> Self:
        """Make an ancestor of the current snapshot the current one."""
        return self._then("rollback_to_snapshot", snapshot_id=whole_number("snapshot_id", snapshot_id))

    def rollback_to_timestamp(self, timestamp: int | datetime.datetime) -> Self:
        """Make the newest ancestor that is older than this current: milliseconds or a datetime."""
        return self._then("rollback_to_timestamp", timestamp_ms=milliseconds(timestamp, "timestamp"))

    def set_current_snapshot(self, snapshot_id: int | None = None, ref_name: str | None = None) -> Self:
        """Make any snapshot, or that of a branch or a tag, the current one."""
        if (snapshot_id is None) == (ref_name is None):
            message = "give either snapshot_id or ref_name"
            raise InvalidArgumentError(message)
        if ref_name is not None:
            return self._then("set_current_reference", name=text("ref_name", ref_name))
        return self._then("set_current_snapshot", snapshot_id=whole_number("snapshot_id", snapshot_id))

    def fast_forward(self, branch_name: str, to: str) -> Self:
        """Move a branch to the snapshot of another reference, whose ancestor it is; make it if there is none."""
        return self._then("fast_forward", name=text("branch_name", branch_name), to=text("to", to))

    def cherry_pick(self, snapshot_id: int) -> Self:
        """Make a snapshot that was staged, or is of another branch, current.

        Where others committed since, appends and replaced partitions are made again behind what is current.

        Raises:
            CommitValidationError: When it is committed: the snapshot is already current or picked, another writer
                changed the partitions that it replaces, or it is neither an append nor a dynamic overwrite and does not
                follow the current snapshot.
        """
        return self._then("cherry_pick", snapshot_id=whole_number("snapshot_id", snapshot_id))

    def publish_changes(self, wap_id: str) -> Self:
        """Make the snapshot current that was staged under this `wap.id`."""
        return self._then("publish_changes", wap_id=text("wap_id", wap_id))

    def _named(self, operation: str, name: str, **numbers: int | None) -> Self:
        if not isinstance(name, str):
            message = f"the name of a branch or a tag is a text, not {name!r}"  # type: ignore[unreachable]
            raise InvalidArgumentError(message, hint=f"look at the order of the arguments of {operation}")
        checked = {key: None if value is None else whole_number(key, value) for key, value in numbers.items()}
        return self._then(operation, name=name, **checked)
