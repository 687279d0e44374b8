"""Changes to the sort order of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._arguments import flag
from frazil._change import Change
from frazil.iceberg._term import term

if TYPE_CHECKING:
    from typing import Self


class UpdateSortOrder(Change):
    """Replaces the sort order for new files; without keys, new files are not sorted."""

    _update = "sort_order"
    _is_committed = False

    def asc(self, source_column_name: str, transform: Any = None, *, nulls_first: bool = True) -> Self:
        """Sort by a column, or by a transform of it: `asc("id")`, `asc("ts", "day")`, `asc("bucket(16, id)")`."""
        return self._by(source_column_name, transform, descending=False, nulls_first=nulls_first)

    def desc(self, source_column_name: str, transform: Any = None, *, nulls_first: bool = False) -> Self:
        """Sort by a column or a transform of it, in descending order."""
        return self._by(source_column_name, transform, descending=True, nulls_first=nulls_first)

    def commit(self) -> None:
        """Commit the change; see `Change.commit`. Without keys, new files are not sorted."""
        if not self._is_committed or self._operations:
            self._commit({"update": self._update, **self._options, "terms": self._operations})
        self._operations, self._is_committed = [], True

    def _by(self, column: str, transform: Any, *, descending: bool, nulls_first: bool) -> Self:
        nulls_first = flag("nulls_first", nulls_first)
        self._operations.append({"term": term(column, transform), "descending": descending, "nulls_first": nulls_first})
        return self
