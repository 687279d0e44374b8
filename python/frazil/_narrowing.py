"""Scans that are derived from other scans: with a narrower filter, other columns, or at a branch or tag."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from frazil._arguments import field_names as names_of
from frazil._arguments import filter_text, flag, snapshot_choice
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing import Self

    from frazil._arguments import RowFilter


class Narrowing(ABC):
    """A scan from which other scans can be derived. The scan itself does not change."""

    _arguments: dict[str, Any]
    """The checked arguments of the scan, at least `row_filter`, `selected_fields` and `case_sensitive`."""

    @abstractmethod
    def _with(self, **arguments: Any) -> Self:
        """Return the same scan with some arguments replaced."""

    @property
    @abstractmethod
    def row_filter(self) -> str:
        """The filter as SQL."""

    def filter(self, expr: RowFilter) -> Self:
        """Return the same scan with fewer rows: `expr` must be true in addition to the filter of the scan.

        Args:
            expr: An SQL expression as in `Table.scan`.

        Raises:
            InvalidArgumentError: The expression or one of its columns is invalid.

        >>> import frazil
        >>> table = frazil.load_table("tests/golden/paimon/g.db/cl_lookup_avro")
        >>> scan = table.scan("k > 1 or k = 0").filter("k < 4")
        >>> scan.row_filter
        '(k > 1 OR k = 0) AND k < 4'
        """
        added, own = filter_text(expr, "expr"), self._arguments["row_filter"]
        if not added:
            return self
        # Each of the two filters is complete without the other, so that a parenthesis cannot join parts of both.
        alone = self._with(row_filter=added)
        return self._with(row_filter=f"({own}) AND ({added})") if own else alone

    def select(self, *field_names: str) -> Self:
        """Return the same scan with other columns; `*` selects all columns.

        Raises:
            InvalidArgumentError: The table does not have one of the columns.

        >>> import frazil
        >>> table = frazil.load_table("tests/golden/paimon/g.db/cl_lookup_avro")
        >>> table.scan().select("k").schema().names
        ['k']
        """
        return self._with(selected_fields=names_of(field_names, "field_names"))

    def with_case_sensitive(self, case_sensitive: bool = True) -> Self:  # noqa: FBT001, FBT002 - as PyIceberg has it
        """Return the same scan with case-sensitive or case-insensitive column names.

        Raises:
            InvalidArgumentError: A column of the scan does not exist, or is ambiguous, under the new rule.

        >>> import frazil
        >>> table = frazil.load_table("tests/golden/paimon/g.db/cl_lookup_avro")
        >>> table.scan().with_case_sensitive(False).filter("K = 1").count()
        1
        """
        return self._with(case_sensitive=flag("case_sensitive", case_sensitive))


class StateNarrowing(Narrowing):
    """A scan of a table with snapshots, from which scans at branches and tags can be derived."""

    def _chooses_state(self) -> bool:
        """Return whether the arguments of the scan select a state of the table."""
        return self._arguments["snapshot"] is not None

    def use_ref(self, name: str) -> Self:
        """Return the same scan, but of a branch or tag.

        Raises:
            InvalidArgumentError: The scan already has a snapshot, a branch, a tag or a time.
            NoSuchSnapshotError: The branch or tag does not exist.

        >>> import frazil
        >>> table = frazil.load_table("tests/golden/iceberg/ref_branches_tags")
        >>> table.scan().use_ref("main").count() == table.scan().count()
        True
        """
        if self._chooses_state():
            message = "the scan already selects a snapshot, which a ref would replace"
            raise InvalidArgumentError(message, hint=f"start with table.scan(ref={name!r})")
        return self._with(snapshot=snapshot_choice(None, name, None))
