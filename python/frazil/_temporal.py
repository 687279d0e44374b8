"""Dates and times that are counted since the epoch, as ISO 8601 text and as SQL literals."""

from __future__ import annotations

from frazil import _calendar
from frazil._calendar import time_text
from frazil._literal import Lit
from frazil.errors import InvalidArgumentError

__all__ = ["date_literal", "date_text", "time_literal", "time_text", "timestamp_literal", "timestamp_text"]


def date_text(days: int) -> str:
    """Return a date, counted in days.

    >>> date_text(19782)
    '2024-02-29'
    """
    return _checked(_calendar.date_text(days))


def timestamp_text(count: int, unit: str) -> str:
    """Return a timestamp, counted in `s`, `ms`, `us` or `ns`."""
    return _checked(_calendar.timestamp_text(count, unit))


def date_literal(days: int) -> Lit:
    """Return a date, counted in days, as SQL."""
    return Lit(f"DATE '{date_text(days)}'")


def time_literal(count: int, unit: str) -> Lit:
    """Return a time of day as SQL."""
    return Lit(f"TIME '{time_text(count, unit)}'")


def timestamp_literal(count: int, unit: str, *, zoned: bool) -> Lit:
    """Return a timestamp as SQL; one with a time zone is counted in UTC."""
    return Lit(f"TIMESTAMP '{timestamp_text(count, unit)}{'+00:00' * zoned}'")


def _checked(text: str) -> str:
    # A sign, which years of other lengths have, sorts before the digits.
    if text >= "0001":
        return text
    message = "a date or timestamp is not between the years 1 and 9999"
    raise InvalidArgumentError(message, hint="compare with a value in this range")
