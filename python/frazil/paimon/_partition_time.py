"""The times of partitions, by the options `partition.timestamp-pattern` and `partition.timestamp-formatter`."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PartitionTime"]

_LETTERS = {"y": "year", "u": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second"}
_DATE = {"year": 1970, "month": 1, "day": 1}
"""The date of a time without one."""

_YEARS = ("y", "u")
_FRACTION = "S"
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(\[|\])|.", re.DOTALL)
_COLUMN = re.compile(r"\$(\w+)")

_DEFAULT = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?:[ T](?P<hour>\d{1,2}):(?P<minute>\d{1,2}):(?P<second>\d{1,2})(?:\.(?P<fraction>\d{1,9}))?)?"
)
"""The form without a formatter: `2024-01-31`, or `2024-01-31 12:00:00`."""


class PartitionTime:
    """Reads the time of a partition from its values."""

    def __init__(self, columns: Sequence[str], pattern: str | None, formatter: str | None) -> None:
        """Prepare for partitions of these columns.

        Args:
            columns: The partition columns.
            pattern: Text with `$` before the names of columns, such as `$year-$month-$day`; by default, the time is
                the value of the first column.
            formatter: The form of the time in the notation of Java's `DateTimeFormatter`, such as `yyyyMMdd`.

        Raises:
            InvalidArgumentError: The pattern contains an unknown column, or a letter of the formatter is not supported.
        """
        self._pattern = pattern or f"${columns[0]}"
        for name in _COLUMN.findall(self._pattern):
            if name not in columns:
                message = f"the timestamp pattern {pattern!r} contains `${name}`, which is not a partition column"
                raise InvalidArgumentError(message, hint=f"the partition columns are {', '.join(columns)}")
        self._form = _DEFAULT if formatter is None else _regular_expression(formatter)

    def of(self, partition: Mapping[str, str | None]) -> dt.datetime | None:
        """Return the local time of a partition, or None if its values are not a time.

        >>> PartitionTime(["d", "h"], "$d $h:00:00", "yyyyMMdd HH:mm:ss").of({"d": "20240131", "h": "05"})
        datetime.datetime(2024, 1, 31, 5, 0)
        >>> PartitionTime(["d"], None, None).of({"d": "yesterday"})
        """
        text = _COLUMN.sub(lambda found: str(partition[found[1]]), self._pattern)
        found = self._form.fullmatch(text)
        if found is None:
            return None
        parts = {name: value for name, value in found.groupdict().items() if value}
        year, month, day = (int(parts.get(name, least)) for name, least in _DATE.items())
        hour, minute, second = (int(parts.get(name, 0)) for name in ("hour", "minute", "second"))
        micros = int(parts.get("fraction", "").ljust(6, "0")[:6])
        try:
            return dt.datetime(year, month, day, hour, minute, second, micros)  # noqa: DTZ001 - a local time
        except ValueError:
            return None


def _regular_expression(formatter: str) -> re.Pattern[str]:
    r"""Return a regular expression for a format in Java's notation, with groups named like the parts of a time.

    >>> _regular_expression("yyyy'w'MM").pattern
    '(?P<year>\\d{4})w(?P<month>\\d{2})'
    """
    found = "".join(_part(token, formatter) for token in _TOKEN.finditer(formatter))
    try:
        return re.compile(found)
    except re.error as error:
        message = f"the timestamp formatter {formatter!r} is invalid"
        raise InvalidArgumentError(message, hint="write a form such as yyyyMMdd or yyyy-MM-dd HH:mm:ss") from error


def _part(token: re.Match[str], formatter: str) -> str:
    """Return the regular expression for a quoted text, letters of one kind, a bracket or another character."""
    quoted, letter, bracket = token.groups()
    if quoted is not None:
        return re.escape(quoted.replace("''", "'") or "'")
    if bracket is not None:
        return "(?:" if bracket == "[" else ")?"
    if letter is None:
        return re.escape(token[0])
    count = len(token[0])
    if letter == _FRACTION:
        return rf"(?P<fraction>\d{{{count}}})"
    longest = 4 if letter in _YEARS else 2
    if letter not in _LETTERS or count > longest:
        message = f"the timestamp formatter {formatter!r} contains {token[0]!r}, which is not supported"
        raise InvalidArgumentError(message, hint="use y, M, d, H, m, s and S, with numbers for months")
    digits = f"1,{longest}" if count == 1 else str(count)
    return rf"(?P<{_LETTERS[letter]}>\d{{{digits}}})"
