"""Changes to the partitioning of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._arguments import optional_text, text
from frazil._change import Change
from frazil.iceberg._term import term

if TYPE_CHECKING:
    from typing import Self


class UpdateSpec(Change):
    """Adds, removes and renames partition fields. Existing files keep the spec that they were written with."""

    _update = "spec"

    def add_field(
        self, source_column_name: str, transform: Any = None, partition_field_name: str | None = None
    ) -> Self:
        """Add a field: `add_field("ts", "day", "ts_day")` or `add_field("day(ts)")`.

        Args:
            source_column_name: A column; or, if no transform is given, a term such as `day(ts)` or `bucket(16, id)`.
            transform: `identity`, `year`, `month`, `day`, `hour`, `bucket[16]`, `truncate[4]`.
            partition_field_name: The name of the field; derived from the column and the transform by default.
        """
        name = optional_text("partition_field_name", partition_field_name)
        return self._then("add_field", term=term(source_column_name, transform), name=name)

    def add_identity(self, source_column_name: str) -> Self:
        """Add a field with the values of a column."""
        return self.add_field(source_column_name, "identity")

    def remove_field(self, name: str) -> Self:
        """Remove a field, given by name or as a term: `day(ts)`."""
        return self._then("remove_field", name=text("name", name))

    def rename_field(self, name: str, new_name: str) -> Self:
        """Rename a field."""
        return self._then("rename_field", name=text("name", name), new_name=text("new_name", new_name))
