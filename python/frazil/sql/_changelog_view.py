"""The procedure `create_changelog_view`, which creates a temporary view of the changes of an Iceberg table."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.sql._reader import Reader
from frazil.sql._row_targets import named
from frazil.sql._sources import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.sql._procedure_types import Context, Rows

__all__ = ["create_changelog_view"]

_RANGE = ("start-snapshot-id", "end-snapshot-id")
_TIMES = ("start-timestamp", "end-timestamp")


def create_changelog_view(context: Context, given: Mapping[str, Any]) -> Rows:
    """Create or replace the view, and return its name."""
    levels = context.levels(given["table"])
    view = given.get("changelog_view", f"`{levels[-1].replace('`', '``')}_changes`")
    name = _one_part(view)
    options = _range(given.get("options", {})) | {"net-changes": str(given["net_changes"]).lower()}
    if "compute_updates" in given:
        options["compute-updates"] = str(given["compute_updates"]).lower()
    table = context.table(given["table"])
    if columns := given.get("identifier_columns"):
        known = table.scan().schema().names
        columns = [next(iter(named(known, column, context.engine)), column) for column in columns]
        options["identifier-columns"] = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
    source = Source(table, "changes", options=options)
    frame = context.engine.query("SELECT * FROM {t0}", (source,))
    context.engine.create_view(frame, name, None, replaces=True, is_global=False)
    return [(view,)]


def _range(options: Mapping[str, str]) -> dict[str, str]:
    """Check the options that select the snapshots, and return them."""
    for name in options:
        if name in _TIMES:
            message = f"create_changelog_view: the option {name!r} is not supported"
            raise UnsupportedError(message, hint=f"use {' and '.join(_RANGE)}")
        if name not in _RANGE:
            near = difflib.get_close_matches(name, _RANGE, n=1)
            message = f"create_changelog_view has no option {name!r}"
            raise InvalidArgumentError(message, hint=f"the options are {', '.join(near or _RANGE)}")
    return dict(options)


def _one_part(view: str) -> str:
    """Return the name of a view without backquotes.

    >>> _one_part("`t_changes`"), _one_part("v")
    ('t_changes', 'v')
    """
    reader = Reader(view)
    parts = reader.name("the name of a view").parts
    reader.end()
    if len(parts) > 1:
        message = f"create_changelog_view: the name of a temporary view must have one part, not {view!r}"
        raise InvalidArgumentError(message)
    return parts[0]
