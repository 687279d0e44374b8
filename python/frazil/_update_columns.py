"""Changes to the columns of a table."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias

from frazil._arguments import flag, optional_text, text
from frazil._change import Change
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Path", "UpdateColumns", "column_path"]

Path: TypeAlias = "str | tuple[str, ...]"


class UpdateColumns(Change):
    """The operations on columns that all table formats have.

    Columns are specified as `a.b`, or as `("a", "b")` if a name contains a dot. Operations are applied in order; each
    operation sees the result of the previous ones.
    """

    _update = "schema"
    _set_default = "set_default"

    def add_column(
        self,
        path: Path,
        field_type: Any,
        doc: str | None = None,
        required: bool = False,  # noqa: FBT001, FBT002 - as PyIceberg has it
        default_value: Any = None,
    ) -> Self:
        """Add a column at the end of its struct.

        Args:
            path: The name of the column, after the names of its enclosing columns.
            field_type: An Arrow type or a string in the notation of the format; Iceberg tables also accept PyIceberg
                types and Spark names such as `bigint`.
            doc: The documentation of the column.
            required: Whether the column is required (never NULL). In Iceberg tables this needs a default; Paimon
                tables do not allow it.
            default_value: In Iceberg tables, the value for existing rows, and for new rows without a value (format
                version 3). In Paimon tables, the value for new rows; existing rows have NULL.
        """
        return self._then(
            "add_column",
            path=column_path(path),
            type=self._type(field_type),
            doc=optional_text("doc", doc),
            required=flag("required", required),
            default=self._default(default_value),
        )

    def delete_column(self, path: Path) -> Self:
        """Drop a column. Its values remain in files, but a later column of the same name does not expose them."""
        return self._then("delete_column", path=column_path(path))

    def rename_column(self, path_from: Path, new_name: str) -> Self:
        """Rename a column; `new_name` is the last part of the name, without the enclosing columns."""
        return self._then("rename_column", path=column_path(path_from), name=text("new_name", new_name))

    def update_column(
        self,
        path: Path,
        field_type: Any = None,
        required: bool | None = None,  # noqa: FBT001 - as PyIceberg has it
        doc: str | None = None,
    ) -> Self:
        """Change type, nullability or documentation; an argument of None changes nothing.

        In Iceberg tables, int widens to long, float to double, and a decimal to a higher precision; in format version 3
        also date to timestamp and timestamp_ns, and unknown to any type. In Paimon tables, any type can be changed to
        one that its values can be cast to; readers cast the values of existing files.
        """
        changed = None if field_type is None else self._type(field_type)
        required = None if required is None else flag("required", required)
        doc = optional_text("doc", doc)
        return self._then("update_column", path=column_path(path), type=changed, required=required, doc=doc)

    def make_column_optional(self, path: Path) -> Self:
        """Make a column optional, so that it can be NULL."""
        return self.update_column(path, required=False)

    def set_default_value(self, path: Path, default_value: Any) -> Self:
        """Set the default value for rows written after the change (Iceberg: format version 3); None means NULL."""
        return self._then(self._set_default, path=column_path(path), default=self._default(default_value))

    def move_first(self, path: Path) -> Self:
        """Move a column to the first position of its struct."""
        return self._then("move_first", path=column_path(path))

    def move_before(self, path: Path, before_path: Path) -> Self:
        """Move a column before another column of the same struct."""
        return self._then("move_before", path=column_path(path), other=column_path(before_path))

    def move_after(self, path: Path, after_name: Path) -> Self:
        """Move a column after another column of the same struct."""
        return self._then("move_after", path=column_path(path), other=column_path(after_name))

    @abstractmethod
    def _type(self, field_type: Any) -> Any:
        """Return the wire form of a type."""

    @abstractmethod
    def _default(self, value: Any) -> str | None:
        """Return the wire form of a default; None for NULL."""


def column_path(path: Path) -> str | list[str]:
    """Return the wire form of the path of a column."""
    if isinstance(path, str):
        return path
    if isinstance(path, (tuple, list)) and path and all(isinstance(name, str) for name in path):
        return list(path)
    message = f"a column must be given as a string or a tuple of strings, not {path!r}"
    raise InvalidArgumentError(message)
