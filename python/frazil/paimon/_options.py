"""Options of a scan as users give them: names and values as text.

Paimon has options without number, and one that nobody knows changes nothing. So a misspelt `incremental-between` would
read the whole table: names that are nearly those of options which say what is read are refused.

>>> scan_options({"scan.snapshot-id": 2, "source.split.target-size": "64 mb"})
{'scan.snapshot-id': '2', 'source.split.target-size': '64 mb'}
>>> scan_options({"incremental_between": "1,2"})
Traceback (most recent call last):
  ...
frazil.errors.InvalidArgumentError: there is no option `incremental_between`; did you mean `incremental-between`?
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from frazil.errors import InvalidArgumentError

READ_OPTIONS = (
    "branch",
    "incremental-between",
    "incremental-between-scan-mode",
    "incremental-between-tag-to-snapshot",
    "incremental-between-timestamp",
    "incremental-to-auto-tag",
    "scan.creation-time-millis",
    "scan.fallback-branch",
    "scan.fallback-delta-branch",
    "scan.fallback-snapshot-branch",
    "scan.file-creation-time-millis",
    "scan.mode",
    "scan.primary-branch",
    "scan.snapshot-id",
    "scan.tag-name",
    "scan.timestamp",
    "scan.timestamp-millis",
    "scan.version",
    "scan.watermark",
)
"""The options that say which rows of a table are read, not how."""

_CHOOSE_STATE = {name for name in READ_OPTIONS if name.startswith("scan.") and not name.endswith("-branch")}

_NEAR = 0.85
"""How alike two names are of which one is a misspelling. Other options of Paimon are less like those above."""


def chooses_state(options: Iterable[str]) -> bool:
    """Return whether one of these options chooses an earlier state of a table, or changes of it.

    >>> chooses_state(["scan.snapshot-id"]), chooses_state(["bucket"])
    (True, False)
    """
    return any(name in _CHOOSE_STATE or name.startswith("incremental-") for name in options)


def scan_options(options: Mapping[str, object] | None) -> dict[str, str]:
    """Give the options as text.

    Raises:
        InvalidArgumentError: A name that is nearly one of `READ_OPTIONS`, a value that is None, or no mapping.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        message = f"options is a mapping of names to values, not {type(options).__name__}"  # type: ignore[unreachable]
        raise InvalidArgumentError(message, hint='write it as {"scan.snapshot-id": 2}')
    return {str(name): _text(str(name), value) for name, value in options.items()}


def _text(name: str, value: object) -> str:
    near = difflib.get_close_matches(name.lower().replace("_", "-"), READ_OPTIONS, 1, _NEAR)
    if near and name not in READ_OPTIONS:
        message = f"there is no option `{name}`"
        raise InvalidArgumentError(message, hint=f"did you mean `{near[0]}`?")
    if isinstance(value, list | tuple):
        return ",".join(_text(name, part) for part in value)
    if value is None:
        message = f"the option `{name}` has no value"
        raise InvalidArgumentError(message, hint="leave it out")
    return str(value).lower() if isinstance(value, bool) else str(value)
