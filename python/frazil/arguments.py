"""Arguments of scans as users give them, checked and in the form that the native module takes."""

from __future__ import annotations

import datetime
import operator
from typing import TYPE_CHECKING

from frazil import _native
from frazil.config import config
from frazil.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SnapshotChoice = tuple[str, int | str]
"""Which snapshot: `("id", 7)`, `("ref", "name")` or `("as_of", milliseconds)`."""


def table_files(root: str, relocate: Mapping[str, str], properties: Mapping[str, str]) -> _native.Files:
    """Give the files that a table in the folder `root` may read."""
    return _native.Files(root, list(relocate.items()), list(config.allowed_locations), dict(properties))


def filter_text(row_filter: str | bool) -> str:  # noqa: FBT001
    """Give the SQL of a filter; nothing for all rows."""
    if isinstance(row_filter, bool):
        return "" if row_filter else "false"
    if isinstance(row_filter, str):
        return row_filter
    message = f"row_filter is SQL text or True, not {type(row_filter).__name__}"  # type: ignore[unreachable]
    raise InvalidArgument(message)


def field_names(selected_fields: Sequence[str]) -> list[str]:
    """Give the names of columns as a list."""
    if isinstance(selected_fields, str):
        message = f"selected_fields is a sequence of names, not the text {selected_fields!r}"
        raise InvalidArgument(message)
    return list(selected_fields)


def row_limit(limit: int | None) -> int | None:
    """Give how many rows at most."""
    if limit is None:
        return None
    limit = _whole_number("limit", limit)
    if limit < 0:
        message = f"limit is {limit}, expected 0 or more"
        raise InvalidArgument(message)
    check_64_bits(limit)
    return limit


def snapshot_choice(
    snapshot_id: int | None, ref: str | None, as_of: int | datetime.datetime | None
) -> SnapshotChoice | None:
    """Give the one way to choose a snapshot that was used; None for none."""
    given: list[SnapshotChoice] = []
    if snapshot_id is not None:
        given.append(("id", _whole_number("snapshot_id", snapshot_id)))
    if ref is not None:
        if not isinstance(ref, str):
            message = f"ref is the name of a tag or branch, not {type(ref).__name__}"  # type: ignore[unreachable]
            raise InvalidArgument(message)
        given.append(("ref", ref))
    if as_of is not None:
        given.append(("as_of", milliseconds(as_of)))
    if len(given) > 1:
        message = f"{' and '.join(name for name, _ in given)} exclude each other"
        raise InvalidArgument(message)
    check_64_bits(*(value for _, value in given))
    return given[0] if given else None


def property_texts(properties: Mapping[str, object]) -> dict[str, str]:
    """Give the texts of properties, as formats write them: numbers, and `true` and `false`."""
    texts = {}
    for name, value in properties.items():
        if not isinstance(value, (str, int, float)):
            message = f"the property {name!r} is a text, not {type(value).__name__}"
            raise InvalidArgument(message)
        texts[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts


def check_64_bits(*numbers: object) -> None:
    """Refuse numbers that the native module could not take; what is no number passes."""
    for number in numbers:
        if isinstance(number, int) and not -(2**63) <= number < 2**64:
            message = f"{number} is no 64-bit number"
            raise InvalidArgument(message)


def milliseconds(as_of: int | datetime.datetime) -> int:
    """Give a moment as milliseconds since the epoch."""
    if isinstance(as_of, datetime.datetime):
        if as_of.tzinfo is None:
            message = "as_of is a datetime without a time zone"
            raise InvalidArgument(message, hint="give it one, as in datetime(2024, 1, 1, tzinfo=timezone.utc)")
        return (as_of - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(milliseconds=1)
    return _whole_number("as_of", as_of)


def _whole_number(name: str, value: object) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError as error:
        message = f"{name} is {value!r}, expected a whole number"
        raise InvalidArgument(message) from error
