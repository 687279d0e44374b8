"""Parsing of user-provided scan options into strings.

Paimon has a very large number of options, and ignores unknown ones. With a misspelt `incremental-between`, the whole
table would be read. Therefore, names that are similar to an option that selects the data to read are rejected.

>>> scan_options({"scan.snapshot-id": 2, "source.split.target-size": "64 mb"})
{'scan.snapshot-id': '2', 'source.split.target-size': '64 mb'}
>>> scan_options({"incremental_between": "1,2"})
Traceback (most recent call last):
  ...
frazil.errors.InvalidArgumentError: unknown option `incremental_between`; did you mean `incremental-between`?
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
"""The options that select the rows to read; all other options affect only how rows are read."""

_CHOOSE_STATE = {name for name in READ_OPTIONS if name.startswith("scan.") and not name.endswith("-branch")}

_NEAR = 0.85
"""The similarity at which a name counts as misspelt. Other valid Paimon options are less similar to the options above.
"""


def chooses_state(options: Iterable[str]) -> bool:
    """Return whether any of these options selects an earlier state of a table, or its changes.

    >>> chooses_state(["scan.snapshot-id"]), chooses_state(["bucket"])
    (True, False)
    """
    return any(name in _CHOOSE_STATE or name.startswith("incremental-") for name in options)


def scan_options(options: Mapping[str, object] | None) -> dict[str, str]:
    """Return the options as strings.

    Raises:
        InvalidArgumentError: A name is similar to one in `READ_OPTIONS`, a value is None, or the argument is not a
            mapping.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        message = f"options must be a mapping of names to values, not {type(options).__name__}"  # type: ignore[unreachable]
        raise InvalidArgumentError(message, hint='pass it as {"scan.snapshot-id": 2}')
    return {str(name): _text(str(name), value) for name, value in options.items()}


def _text(name: str, value: object) -> str:
    near = difflib.get_close_matches(name.lower().replace("_", "-"), READ_OPTIONS, 1, _NEAR)
    if near and name not in READ_OPTIONS:
        message = f"unknown option `{name}`"
        raise InvalidArgumentError(message, hint=f"did you mean `{near[0]}`?")
    if isinstance(value, list | tuple):
        return ",".join(_text(name, part) for part in value)
    if value is None:
        message = f"the option `{name}` has no value"
        raise InvalidArgumentError(message, hint="omit it")
    return str(value).lower() if isinstance(value, bool) else str(value)
