"""Planned expiry of the tags of Paimon tables."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from frazil._boundary import operation
from frazil._maintenance_plan import MaintenancePlan

if TYPE_CHECKING:
    from frazil import _native
    from frazil.paimon._manage_snapshots import ManageSnapshots
    from frazil.paimon._snapshot import Tag

__all__ = ["ExpireTags", "ExpireTagsResult"]


class Tagged(Protocol):
    """A table whose tags expire."""

    location: str

    def tags(self) -> dict[str, Tag]:
        """Return the tags by name."""

    def manage_snapshots(self) -> ManageSnapshots:
        """Change tags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireTagsResult:
    """The result of an expiry."""

    tags: tuple[str, ...]
    """The names of the deleted tags."""
    seconds: float = 0.0


class ExpireTags(MaintenancePlan[tuple[str, ...]]):
    """A plan to expire tags: nothing is changed until `apply` is called, which can be done once.

    >>> import frazil, tempfile
    >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "INT"}, format="paimon")
    >>> _ = table.append([{"id": 1}])
    >>> table.manage_snapshots().create_tag(None, "short", time_retained="0 ms").create_tag(None, "long").commit()
    >>> table.expire_tags().apply().tags
    ('short',)
    """

    _method = "expire_tags"

    def __init__(self, table: Tagged, files: _native.Files, older_than_ms: int | None) -> None:
        """Not for direct use; use `Table.expire_tags`."""
        super().__init__(lambda: table.location)
        self._table, self._files, self._older_than_ms = table, files, older_than_ms

    @property
    def tags(self) -> tuple[str, ...]:
        """The names of the tags that expire."""
        return self._plan()

    def apply(self) -> ExpireTagsResult:
        """Delete the tags, and the files that only they keep.

        A tag that another writer has replaced since the plan was made may be kept.

        Raises:
            InvalidArgumentError: The plan was already applied.
        """
        began = time.perf_counter()
        planned = self._take()
        with operation(self._method, self._place):
            due = self._make()
        expired = tuple(name for name in planned if name in due)
        changes = self._table.manage_snapshots()
        for name in expired:
            changes.remove_tag(name)
        changes.commit()
        return ExpireTagsResult(tags=expired, seconds=time.perf_counter() - began)

    def _make(self) -> tuple[str, ...]:
        now = dt.datetime.now()  # noqa: DTZ005 - as the creation times of tags
        return tuple(name for name, tag in sorted(self._table.tags().items()) if self._is_due(name, tag, now))

    def _is_due(self, name: str, tag: Tag, now: dt.datetime) -> bool:
        created = tag.created_at
        if created is not None and tag.time_retained is not None and now > created + tag.time_retained:
            return True
        if self._older_than_ms is None:
            return False
        # Java records the time of creation only with tags that expire.
        created_ms = self._modified_ms(name) if created is None else int(created.timestamp() * 1000)
        return created_ms is not None and created_ms < self._older_than_ms

    def _modified_ms(self, name: str) -> int | None:
        files = self._files.list(f"{self._table.location}/tag")
        return next((at for location, _, at in files if location.endswith(f"/tag-{name}")), None)

    def _summary(self, plan: tuple[str, ...]) -> str:
        return f"{len(plan)} tags expire"
