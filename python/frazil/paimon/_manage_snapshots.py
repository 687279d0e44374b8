"""Changes to the tags, branches and consumers of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil._arguments import optional_number, optional_text, text, whole_number
from frazil._change import Change
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing import Self


class ManageSnapshots(Change):
    """Creates, replaces, renames and removes tags and branches; sets and removes consumers.

    The operations are applied in order. If one fails, the preceding ones have taken effect.
    """

    _update = "references"

    def create_tag(
        self,
        snapshot_id: int | None,
        tag_name: str,
        max_ref_age_ms: int | None = None,
        *,
        time_retained: str | None = None,
    ) -> Self:
        """Create a tag at a snapshot; None for the latest one. The tag keeps the snapshot's files after it expires.

        Args:
            snapshot_id: The snapshot.
            tag_name: The name, which is not a number.
            max_ref_age_ms: The age at which the tag expires; the option `tag.default-time-retained` by default.
            time_retained: The same as a duration in Java's form, such as `1 d`.
        """
        return self._tagged("create_tag", snapshot_id, tag_name, max_ref_age_ms, time_retained)

    def replace_tag(
        self,
        tag_name: str,
        snapshot_id: int | None = None,
        max_ref_age_ms: int | None = None,
        *,
        time_retained: str | None = None,
    ) -> Self:
        """Move a tag to another snapshot; None for the latest one."""
        return self._tagged("replace_tag", snapshot_id, tag_name, max_ref_age_ms, time_retained)

    def remove_tag(self, tag_name: str) -> Self:
        """Remove a tag, and delete the files that only the tag kept."""
        return self._then("delete_tag", name=text("tag_name", tag_name))

    def rename_tag(self, name: str, new_name: str) -> Self:
        """Rename a tag."""
        return self._then("rename_tag", name=text("name", name), new_name=text("new_name", new_name))

    def create_branch(self, tag_name: str | None, branch_name: str) -> Self:
        """Create a branch at a tag of the main branch; None for a branch without rows."""
        return self._then(
            "create_branch", name=text("branch_name", branch_name), tag=optional_text("tag_name", tag_name)
        )

    def remove_branch(self, branch_name: str) -> Self:
        """Remove a branch, and delete the files that only the branch kept."""
        return self._then("delete_branch", name=text("branch_name", branch_name))

    def rename_branch(self, name: str, new_name: str) -> Self:
        """Rename a branch."""
        return self._then("rename_branch", name=text("name", name), new_name=text("new_name", new_name))

    def fast_forward(self, branch_name: str) -> Self:
        """Replace the states of the main branch, since the first snapshot of a branch, by those of the branch.

        Later schemas and tags of the main branch are replaced, too, and files that only they need are deleted. Stop all
        writers of the table before.
        """
        return self._then("fast_forward", name=text("branch_name", branch_name))

    def set_consumer(self, consumer_id: str, next_snapshot_id: int) -> Self:
        """Record that a streaming reader has read all snapshots before a snapshot; later ones do not expire."""
        number = whole_number("next_snapshot_id", next_snapshot_id)
        return self._then("set_consumer", name=text("consumer_id", consumer_id), next_snapshot=number)

    def remove_consumer(self, consumer_id: str) -> Self:
        """Remove the record of a streaming reader, so that snapshots that it has not read can expire."""
        return self._then("delete_consumer", name=text("consumer_id", consumer_id))

    def _tagged(
        self,
        operation: str,
        snapshot_id: int | None,
        tag_name: str,
        max_ref_age_ms: int | None,
        time_retained: str | None,
    ) -> Self:
        if max_ref_age_ms is not None:
            if time_retained is not None:
                message = "max_ref_age_ms and time_retained are mutually exclusive"
                raise InvalidArgumentError(message)
            time_retained = f"{whole_number('max_ref_age_ms', max_ref_age_ms)} ms"
        return self._then(
            operation,
            name=text("tag_name", tag_name),
            snapshot_id=optional_number("snapshot_id", snapshot_id),
            time_retained=optional_text("time_retained", time_retained),
        )
