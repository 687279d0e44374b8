"""Changes to the schema of a table."""

from __future__ import annotations

import datetime as dt
import decimal
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn

from frazil._arguments import optional_text, property_texts
from frazil._literal import plain
from frazil._update_columns import Path, UpdateColumns, column_path
from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.paimon._data_types import parse_type, type_of_arrow
from frazil.paimon._option_names import check_options

if TYPE_CHECKING:
    from typing import Self

__all__ = ["UpdateSchema"]


class UpdateSchema(UpdateColumns):
    """Adds, drops, renames, moves and retypes columns, and changes options and the comment of the table.

    Columns are specified as `a.b`, or as `("a", "b")` if a name contains a dot. The elements of an array are
    `a.element`, the values of a map `m.value`; before the name of a field, `element` and `value` can be omitted. Types
    are Arrow types or strings in Paimon's notation: `DECIMAL(9, 2)`, `ARRAY<INT>`.

    Operations are applied in order; each operation sees the result of the previous ones. All operations are published
    as one new schema.
    """

    def move_last(self, path: Path) -> Self:
        """Move a column to the last position of its ROW."""
        return self._then("move_last", path=column_path(path))

    def set_comment(self, comment: str | None) -> Self:
        """Set the comment on the table; None removes it."""
        return self._then("set_comment", comment=optional_text("comment", comment))

    def set_option(self, name: str, value: object) -> Self:
        """Set a table option. A name that is probably misspelt emits a `UserWarning`."""
        [(name, text)] = property_texts({name: value}, "options").items()
        check_options([name])
        return self._then("set_option", name=name, value=text)

    def remove_option(self, name: str) -> Self:
        """Remove a table option. Removing an option that is not set is not an error."""
        if not isinstance(name, str):
            message = f"the name of an option must be a string, not {type(name).__name__}"  # type: ignore[unreachable]
            raise InvalidArgumentError(message, hint="pass the names as separate arguments")
        return self._then("remove_option", name=name)

    def set_identifier_fields(self, *_: Path) -> NoReturn:
        """Raise `UnsupportedError`: the primary key of a table cannot change."""
        message = "the primary key of a Paimon table cannot change"
        raise UnsupportedError(message, hint="create a table with other keys and copy the rows")

    def union_by_name(self, _: Any) -> NoReturn:
        """Raise `UnsupportedError`: Paimon tables do not support this operation yet."""
        message = "union_by_name is not supported for Paimon tables yet"
        raise UnsupportedError(message, hint="call add_column and update_column")

    def _type(self, field_type: Any) -> Any:
        ids = count()
        if isinstance(field_type, str | dict):
            return parse_type(field_type, lambda: next(ids)).to_json()
        return type_of_arrow(field_type, lambda: next(ids)).to_json()

    def _default(self, value: Any) -> str | None:
        return _default_text(value)


def _default_text(value: Any) -> str | None:
    """Return the text that Paimon stores for a default."""
    value = plain(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        moment = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
        return moment.isoformat(sep=" ")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    message = f"a default must be a plain value or its text in Paimon's notation, not {type(value).__name__}"
    raise InvalidArgumentError(message)
