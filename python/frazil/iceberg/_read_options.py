"""The argument `options` of scans, which PyIceberg has. Each option that it could contain is an argument of `scan`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from frazil._arguments import text
from frazil.errors import InvalidArgumentError

_ARGUMENTS = {
    "snapshot-id": "snapshot_id",
    "branch": "ref",
    "tag": "ref",
    "ref": "ref",
    "as-of": "as_of",
    "as-of-timestamp": "as_of",
    "row-filter": "row_filter",
    "selected-fields": "selected_fields",
    "case-sensitive": "case_sensitive",
    "limit": "limit",
    "start-snapshot-id": "from_snapshot_id_exclusive",
    "end-snapshot-id": "to_snapshot_id_inclusive",
    "from-snapshot-id-exclusive": "from_snapshot_id_exclusive",
    "to-snapshot-id-inclusive": "to_snapshot_id_inclusive",
}
"""The names of read options of Iceberg, and those of arguments in the same form, with the argument for each."""


def check_read_options(options: Mapping[str, object] | None) -> None:
    """Raise an error unless there are no options.

    Raises:
        InvalidArgumentError: There is an option, or the argument is not a mapping.

    >>> check_read_options({})
    >>> check_read_options({"snapshot_id": 5})
    Traceback (most recent call last):
    frazil.errors.InvalidArgumentError: unknown read option `snapshot_id`; use the argument `snapshot_id`
    """
    if options is not None and not isinstance(options, Mapping):
        message = f"options must be a mapping of names to values, not {type(options).__name__}"  # type: ignore[unreachable]
        raise InvalidArgumentError(message)
    for name in options or ():
        wanted = text("the name of a read option", name).lower().replace("_", "-")
        near = difflib.get_close_matches(wanted, _ARGUMENTS, n=1)
        hint = f"use the argument `{_ARGUMENTS[near[0]]}`" if near else "omit it: scans do not have read options"
        message = f"unknown read option `{name}`"
        raise InvalidArgumentError(message, hint=hint)
