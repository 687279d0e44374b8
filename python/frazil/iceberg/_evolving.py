"""What tables and transactions change without writing data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._arguments import flag, path_text, property_texts, whole_number
from frazil.errors import InvalidArgumentError
from frazil.iceberg._manage_snapshots import ManageSnapshots
from frazil.iceberg._property_names import warn_of_unknown
from frazil.iceberg._update_schema import UpdateSchema
from frazil.iceberg._update_sort_order import UpdateSortOrder
from frazil.iceberg._update_spec import UpdateSpec

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping


class Evolving:
    """Schema, partition spec, sort order, properties, branches and tags, changed."""

    __slots__ = ()

    def update_schema(
        self,
        allow_incompatible_changes: bool = False,  # noqa: FBT001, FBT002 - as PyIceberg has it
        case_sensitive: bool = True,  # noqa: FBT001, FBT002 - as PyIceberg has it
    ) -> UpdateSchema:
        """Change the columns: `with table.update_schema() as update: update.add_column("a", "long")`.

        Args:
            allow_incompatible_changes: Whether columns may become required, which rows that are there may break.
            case_sensitive: Whether `ID` is another column than `id`.
        """
        return UpdateSchema(
            self._commit,
            case_sensitive=flag("case_sensitive", case_sensitive),
            allow_incompatible=flag("allow_incompatible_changes", allow_incompatible_changes),
        )

    def update_spec(self, case_sensitive: bool = True) -> UpdateSpec:  # noqa: FBT001, FBT002 - as PyIceberg has it
        """Change how new files are partitioned: `table.update_spec().add_field("day(ts)").commit()`."""
        return UpdateSpec(self._commit, case_sensitive=flag("case_sensitive", case_sensitive))

    def update_sort_order(self, case_sensitive: bool = True) -> UpdateSortOrder:  # noqa: FBT001, FBT002
        """Say how new files are sorted: `table.update_sort_order().asc("id").commit()`."""
        return UpdateSortOrder(self._commit, case_sensitive=flag("case_sensitive", case_sensitive))

    def manage_snapshots(self) -> ManageSnapshots:
        """Change branches and tags: `table.manage_snapshots().create_tag(None, "v1").commit()`."""
        return ManageSnapshots(self._commit)

    def set_properties(self, properties: Mapping[str, str] | None = None, **more: str) -> None:
        """Set properties, leaving others as they are. Names that are probably misspelt emit a `UserWarning`.

        Raises:
            InvalidArgumentError: A value that a known property does not take, or a name that is reserved.
        """
        changed = property_texts(properties) | property_texts(more)
        warn_of_unknown(changed)
        self._commit({"update": "properties", "set": changed})

    def remove_properties(self, *names: str) -> None:
        """Remove properties; those that are not there are no error.

        Raises:
            InvalidArgumentError: A name that is no text.
        """
        wrong = next((name for name in names if not isinstance(name, str)), None)
        if wrong is not None:
            message = f"the name of a property is a text, not {wrong!r}"
            raise InvalidArgumentError(message, hint="give the names one by one, as in remove_properties('a', 'b')")
        self._commit({"update": "properties", "remove": list(names)})

    def update_location(self, location: str | os.PathLike[str]) -> None:
        """Say where new files go; tables that are found by their folder cannot move."""
        self._commit({"update": "properties", "location": path_text("location", location)})

    def upgrade(self, format_version: int) -> None:
        """Upgrade the table to format version 2 or 3; there is no way back."""
        self._commit({"update": "properties", "format_version": whole_number("format_version", format_version)})

    def _commit(self, change: dict[str, Any]) -> None:
        """Make a change in its wire form."""
        raise NotImplementedError
