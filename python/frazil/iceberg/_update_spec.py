"""Changes of how a table is partitioned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._arguments import optional_text, text
from frazil.iceberg._change import Change, term

if TYPE_CHECKING:
    from typing import Self


class UpdateSpec(Change):
    """Adds, removes and renames partition fields. Files that are there keep the spec they were written with."""

    _update = "spec"

    def add_field(
        self, source_column_name: str, transform: Any = None, partition_field_name: str | None = None
    ) -> Self:
        """Add a field: `add_field("ts", "day", "ts_day")` or `add_field("day(ts)")`.

        Args:
            source_column_name: A column; or, without a transform, all of it: `day(ts)`, `bucket(16, id)`.
            transform: `identity`, `year`, `month`, `day`, `hour`, `bucket[16]`, `truncate[4]`.
            partition_field_name: Its name; made of the column and the transform unless given.
        """
        name = optional_text("partition_field_name", partition_field_name)
        return self._then("add_field", term=term(source_column_name, transform), name=name)

    def add_identity(self, source_column_name: str) -> Self:
        """Add a field that holds the values of a column."""
        return self.add_field(source_column_name, "identity")

    def remove_field(self, name: str) -> Self:
        """Remove a field, by its name or as it is written: `day(ts)`."""
        return self._then("remove_field", name=text("name", name))

    def rename_field(self, name: str, new_name: str) -> Self:
        """Rename a field."""
        return self._then("rename_field", name=text("name", name), new_name=text("new_name", new_name))
