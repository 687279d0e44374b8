"""Dates and times that are counted since the epoch, as ISO 8601 text and as SQL literals."""

from __future__ import annotations

import datetime as dt

from frazil._literal import Lit
from frazil.errors import InvalidArgumentError

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - a timestamp without a zone
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def date_text(days: int) -> str:
    """Return a date, counted in days.

    >>> date_text(19782)
    '2024-02-29'
    """
    return _after_epoch(days=days).date().isoformat()


def time_text(count: int, unit: str) -> str:
    """Return a time of day, counted in `s`, `ms`, `us` or `ns`."""
    return timestamp_text(count, unit).partition("T")[2]


def timestamp_text(count: int, unit: str) -> str:
    """Return a timestamp, counted in `s`, `ms`, `us` or `ns`.

    >>> timestamp_text(-1, "ns")
    '1969-12-31T23:59:59.999999999'
    """
    seconds, fraction = divmod(count, _PER_SECOND[unit])
    digits = f"{fraction * 10**9 // _PER_SECOND[unit]:09d}"
    if digits.endswith("000"):
        digits = digits.removesuffix("000")
    return _after_epoch(seconds=seconds).isoformat() + (f".{digits}" if fraction else "")


def date_literal(days: int) -> Lit:
    """Return a date, counted in days, as SQL."""
    return Lit(f"DATE '{date_text(days)}'")


def time_literal(count: int, unit: str) -> Lit:
    """Return a time of day as SQL."""
    return Lit(f"TIME '{time_text(count, unit)}'")


def timestamp_literal(count: int, unit: str, *, zoned: bool) -> Lit:
    """Return a timestamp as SQL; one with a time zone is counted in UTC."""
    return Lit(f"TIMESTAMP '{timestamp_text(count, unit)}{'+00:00' * zoned}'")


def _after_epoch(*, days: int = 0, seconds: int = 0) -> dt.datetime:
    try:
        return _EPOCH + dt.timedelta(days=days, seconds=seconds)
    except OverflowError:
        message = "a date or timestamp is not between the years 1 and 9999"
        raise InvalidArgumentError(message, hint="compare with a value in this range") from None
