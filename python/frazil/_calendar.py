"""ISO 8601 text of dates and timestamps of any year; Python's own are limited to the years 1 to 9999.

Years of more than four digits have a sign, as in Java: `+12345-01-01`, `-0044-03-15`.
"""

from __future__ import annotations

import datetime as dt
import re

__all__ = ["date_text", "days_of", "ticks_of", "time_text", "timestamp_text"]

_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_CYCLE_YEARS = 400
_CYCLE_DAYS = 146_097
"""The days of 400 years, after which the Gregorian calendar repeats."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MOST_PLAIN_YEAR = 9999
_DAY_SECONDS = 86_400
_DATE = re.compile(r"([+-]?[0-9]{4,9})-([0-9]{2})-([0-9]{2})")
_TIMESTAMP = re.compile(
    r"(?P<date>[+-]?[0-9]{4,9}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9])"
    r"(?::(?P<second>[0-5][0-9])(?:\.(?P<fraction>[0-9]{1,9}))?)?)?"
    r"(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)


def date_text(days: int) -> str:
    """Return a date, counted in days since 1970.

    >>> date_text(19782), date_text(4_000_000), date_text(-735_000)
    ('2024-02-29', '+12921-08-18', '-0043-08-22')
    """
    cycles, rest = divmod(days, _CYCLE_DAYS)
    day = dt.date.fromordinal(_EPOCH_DAY + rest)
    year = day.year + cycles * _CYCLE_YEARS
    if 0 <= year <= _MOST_PLAIN_YEAR:
        return f"{year:04d}-{day.month:02d}-{day.day:02d}"
    return f"{year:+05d}-{day.month:02d}-{day.day:02d}"


def time_text(count: int, unit: str) -> str:
    """Return a time of day, counted in `s`, `ms`, `us` or `ns` since midnight.

    >>> time_text(43_200_000_001, "us"), time_text(43_200_001, "ms"), time_text(43_200, "s")
    ('12:00:00.000001', '12:00:00.001', '12:00:00')
    """
    seconds, fraction = divmod(count, _PER_SECOND[unit])
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    digits = f"{fraction:0{len(str(_PER_SECOND[unit])) - 1}d}"
    if unit == "ns":
        digits = digits.removesuffix("000")
    return f"{hour:02d}:{minute:02d}:{second:02d}" + (f".{digits}" if fraction else "")


def timestamp_text(count: int, unit: str) -> str:
    """Return a timestamp, counted in `s`, `ms`, `us` or `ns` since 1970, without a time zone.

    >>> timestamp_text(-1, "ns")
    '1969-12-31T23:59:59.999999999'
    """
    days, rest = divmod(count, _DAY_SECONDS * _PER_SECOND[unit])
    return f"{date_text(days)}T{time_text(rest, unit)}"


def days_of(text: str) -> int | None:
    """Return the days since 1970 of a date; None if the text is not a date.

    >>> days_of("2024-02-29"), days_of("-0043-08-22"), days_of("2023-02-29")
    (19782, -735000, None)
    """
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    cycles, year = divmod(int(found[1]) - 1, _CYCLE_YEARS)
    try:
        day = dt.date(year + 1, int(found[2]), int(found[3]))
    except ValueError:
        return None
    return day.toordinal() - _EPOCH_DAY + cycles * _CYCLE_DAYS


def ticks_of(text: str, unit: str, *, zoned: bool) -> int | None:
    """Return the ticks of `unit` since 1970 of a timestamp; None if the text is not one, or has digits below the unit.

    >>> ticks_of("+12345-01-01T00:00:00.5+01:00", "ms", zoned=True), ticks_of("2024-02-29", "s", zoned=True)
    (327403378800500, None)
    """
    found = _TIMESTAMP.fullmatch(text)
    days = days_of(found["date"]) if found else None
    if found is None or days is None or (found["zone"] is not None) != zoned:
        return None
    seconds = days * _DAY_SECONDS - _offset_seconds(found["zone"])
    seconds += int(found["hour"] or 0) * 3600 + int(found["minute"] or 0) * 60 + int(found["second"] or 0)
    ticks, lost = divmod(int((found["fraction"] or "").ljust(9, "0")) * _PER_SECOND[unit], 10**9)
    return None if lost else seconds * _PER_SECOND[unit] + ticks


def _offset_seconds(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (int(digits[:2]) * 3600 + int(digits[2:]) * 60) * (-1 if zone[0] == "-" else 1)
