"""Validation of user-provided arguments, and their conversion to the form that the native module expects."""

from __future__ import annotations

import datetime
import json
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from frazil import _arrow_filter, _native, _polars_filter, _pyiceberg_filter
from frazil._literal import SqlText
from frazil.config import config
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    import pyarrow.compute
    from pyiceberg.expressions import BooleanExpression

    from frazil._credentials import Credentials

SnapshotChoice = tuple[str, int | str]
"""The selected snapshot: `("id", 7)`, `("ref", "name")` or `("as_of", milliseconds)`."""


def table_files(
    root: str,
    relocate: Mapping[str, str],
    storage: Mapping[str, str],
    allowed_locations: Iterable[str] = (),
    credentials: Credentials | None = None,
) -> _native.Files:
    """Return the native file access of a table in the folder `root`, limited to the locations it may access."""
    allowed = [*config.allowed_locations, *allowed_locations]
    return _native.Files(root, list(relocate.items()), allowed, dict(storage), credentials)


def place_of_new(location: str | os.PathLike[str]) -> str:
    """Return the location to record for a new table: an absolute path, or a URI."""
    place = path_text("location", location).rstrip("/")
    if not place:
        message = "the location of the table is empty"
        raise InvalidArgumentError(message)
    # resolve() would follow symbolic links.
    return place if ":" in place.partition("/")[0] else os.path.abspath(place)  # noqa: PTH100


def path_text(name: str, location: object) -> str:
    """Return a path or a URI as a string; raise `InvalidArgumentError` for other types."""
    return text(name, os.fspath(location) if isinstance(location, os.PathLike) else location)


def relocations(relocate: Mapping[str, str] | None) -> dict[str, str]:
    """Return the mapping of recorded prefixes to current locations; empty for None."""
    if relocate is None:
        return {}
    if not isinstance(relocate, Mapping):
        message = f"relocate must be a mapping of recorded prefixes to locations, not {type(relocate).__name__}"  # type: ignore[unreachable]
        raise InvalidArgumentError(message, hint='such as relocate={"hdfs://nn/wh/db/t": "/data/t"}')
    return {path_text("relocate", recorded): path_text("relocate", place) for recorded, place in relocate.items()}


def locations(allowed: Iterable[str] | None) -> list[str]:
    """Return the locations in the argument `allowed_locations`, which may be a single location."""
    if allowed is None:
        return []
    given = [allowed] if isinstance(allowed, str | os.PathLike) else allowed
    if not isinstance(given, Iterable):
        message = f"allowed_locations must be paths or URIs, not {type(given).__name__}"  # type: ignore[unreachable]
        raise InvalidArgumentError(message)
    places = [path_text("allowed_locations", place) for place in given]
    if not all(places):
        message = "allowed_locations contains an empty string"
        raise InvalidArgumentError(message)
    return places


_OF_TABLES = ("write.", "read.", "commit.", "history.", "gc.", "schema.name-mapping.", "format-version")


def storage_options(storage: Mapping[str, object] | None) -> dict[str, str]:
    """Return storage options as strings, and reject table properties that were passed by mistake.

    Raises:
        InvalidArgumentError: An option is a table property.
    """
    options = property_texts(storage, "storage")
    wrong = next((key for key in options if key.startswith(_OF_TABLES)), None)
    if wrong is not None:
        message = f"`{wrong}` is a table property, not a storage option"
        raise InvalidArgumentError(message, hint="pass it in properties={...} to create_table, or to set_properties")
    return options


def listed_locations(text: str) -> list[str]:
    """Return locations that are given as a JSON list or separated by commas.

    Raises:
        InvalidArgumentError: The string is not a list of locations.
    """
    if not text.lstrip().startswith("["):
        return [place.strip() for place in text.split(",") if place.strip()]
    try:
        return locations(json.loads(text))
    except ValueError as error:
        message = "allowed_locations is not a list of paths or URIs"
        raise InvalidArgumentError(message) from error


RowFilter: TypeAlias = "str | bool | SqlText | pyarrow.compute.Expression | pl.Expr | BooleanExpression"
"""A filter: an SQL expression, an expression of `frazil.col`, pyarrow, Polars or PyIceberg, or a Boolean."""

_LIBRARIES: dict[str, Any] = {"pyarrow": _arrow_filter, "Polars": _polars_filter, "PyIceberg": _pyiceberg_filter}


def filter_text(
    row_filter: RowFilter,
    name: str = "row_filter",
    schema: Callable[[], pa.Schema] | None = None,
    *,
    of_changes: bool = False,
) -> str:
    """Return a filter as SQL, or an empty string for all rows; error messages call the argument `name`.

    Expressions of PyIceberg depend on the types in the `schema`. They select other rows in scans than in operations
    that change the selected rows.
    """
    if isinstance(row_filter, bool):
        return "" if row_filter else "false"
    if isinstance(row_filter, str | SqlText):
        return str(row_filter)
    for library, translator in _LIBRARIES.items():
        if translator.is_expression(row_filter):
            try:
                if translator is _pyiceberg_filter:
                    return _pyiceberg_filter.expression_sql(row_filter, schema, of_changes=of_changes)
                return str(translator.expression_sql(row_filter))
            except RecursionError:
                message = f"the {library} expression is nested too deeply"
                raise InvalidArgumentError(message, hint="use a list of values, or pass an SQL string") from None
    message = f"{name} must be an SQL string, an expression or True, not {type(row_filter).__name__}"
    raise InvalidArgumentError(message)


def field_names(fields: object, name: str = "selected_fields") -> list[str]:
    """Return the column names in the argument `name` as a list."""
    if isinstance(fields, str):
        message = f"{name} must be a sequence of names, not the string {fields!r}"
        raise InvalidArgumentError(message, hint=f"pass {name}=[{fields!r}]")
    names: list[Any] = list(fields) if isinstance(fields, Iterable) else [fields]
    for wrong in names:
        if not isinstance(wrong, str):
            message = f"{name} must be a sequence of names, not {wrong!r}"
            raise InvalidArgumentError(message)
    return names


def row_limit(limit: int | None) -> int | None:
    """Return the maximum number of rows, or None for all rows; raise `InvalidArgumentError` if negative."""
    if limit is None:
        return None
    limit = whole_number("limit", limit)
    if limit < 0:
        message = f"limit is {limit}, expected 0 or more"
        raise InvalidArgumentError(message)
    return limit


def snapshot_choice(
    snapshot_id: int | None, ref: str | None, as_of: int | str | datetime.datetime | None
) -> SnapshotChoice | None:
    """Return the snapshot that one of the arguments selects; None if none of the arguments is given."""
    arguments = {"snapshot_id": snapshot_id, "ref": ref, "as_of": as_of}
    if len(names := [name for name, value in arguments.items() if value is not None]) > 1:
        message = f"{', '.join(names[:-1])} and {names[-1]} are mutually exclusive"
        raise InvalidArgumentError(message)
    if snapshot_id is not None:
        return "id", whole_number("snapshot_id", snapshot_id)
    if ref is not None:
        if not isinstance(ref, str):
            message = f"ref must be the name of a tag or branch, not {type(ref).__name__}"  # type: ignore[unreachable]
            raise InvalidArgumentError(message)
        return "ref", ref
    return None if as_of is None else ("as_of", milliseconds(as_of))


def property_texts(properties: Mapping[str, object] | None, name: str = "properties") -> dict[str, str]:
    """Return property values as strings, with numbers and Booleans in the formats' notation; empty for None."""
    if properties is None:
        return {}
    if not isinstance(properties, Mapping):
        message = f"{name} must be a mapping of names to strings, not {type(properties).__name__}"  # type: ignore[unreachable]
        raise InvalidArgumentError(message)
    texts = {}
    for key, value in properties.items():
        if not isinstance(value, (str, int, float)):
            message = f"the property {key!r} must be a string, not {type(value).__name__}"
            raise InvalidArgumentError(message)
        texts[text("the name of a property", key)] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts


def text(name: str, value: object) -> str:
    """Return `value` if it is a string; raise `InvalidArgumentError` otherwise."""
    if not isinstance(value, str):
        message = f"{name} must be a string, not {value!r}"
        raise InvalidArgumentError(message)
    return value


def optional_text(name: str, value: object) -> str | None:
    """Return `value` if it is a string or None; raise `InvalidArgumentError` otherwise."""
    return None if value is None else text(name, value)


def flag(name: str, value: object) -> bool:
    """Return `value` if it is True or False; raise `InvalidArgumentError` otherwise."""
    if not isinstance(value, bool):
        message = f"{name} must be True or False, not {value!r}"
        raise InvalidArgumentError(message)
    return value


def whole_number(name: str, value: object) -> int:
    """Return `value` as a signed or unsigned 64-bit integer; raise `InvalidArgumentError` if that fails."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError as error:
        message = f"{name} is {value!r}, expected an integer"
        raise InvalidArgumentError(message) from error
    if not -(2**63) <= number < 2**64:
        message = f"{name} is {number}, which is not a 64-bit integer"
        raise InvalidArgumentError(message)
    return number


def optional_number(name: str, value: object) -> int | None:
    """Return `value` as an integer, or None if it is None, as `whole_number` does."""
    return None if value is None else whole_number(name, value)


def fraction(name: str, value: object) -> float:
    """Return `value` as a float; raise `InvalidArgumentError` unless it is above 0 and at most 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        message = f"{name} is {value!r}, expected a number above 0 and up to 1"
        raise InvalidArgumentError(message)
    return float(value)


def milliseconds(moment: int | str | datetime.datetime, name: str = "as_of") -> int:
    """Return a time in milliseconds since the epoch; error messages call the argument `name`."""
    if isinstance(moment, str):
        moment = _moment(moment, name)
    if isinstance(moment, datetime.datetime):
        if moment.tzinfo is None:
            moment = _local(moment, name)
        return (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(milliseconds=1)
    if isinstance(moment, bool) or not hasattr(moment, "__index__"):
        message = f"{name} is {moment!r}, expected {_MOMENTS}"
        raise InvalidArgumentError(message)
    return whole_number(name, moment)


def _local(moment: datetime.datetime, name: str) -> datetime.datetime:
    """Interpret a datetime without a time zone as local time."""
    try:
        return moment.astimezone()
    except (OverflowError, OSError, ValueError) as error:
        message = f"{name} is {moment}, which the local time zone does not cover"
        raise InvalidArgumentError(message, hint="add a time zone, such as timezone.utc") from error


_MOMENTS = "milliseconds since the epoch, a datetime, or text such as '2024-01-31T12:00:00Z'"


def _moment(text: str, name: str) -> datetime.datetime:
    """Parse an ISO 8601 time, and reject a time without a time zone as ambiguous."""
    try:
        moment = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        message = f"{name} is {text!r}, expected {_MOMENTS}"
        raise InvalidArgumentError(message) from None
    if moment.tzinfo is None:
        message = f"{name} is {text!r}, which has no time zone"
        hint = f"use {moment.isoformat()}Z for UTC, or an offset such as {moment.isoformat()}+01:00"
        raise InvalidArgumentError(message, hint=hint)
    return moment
