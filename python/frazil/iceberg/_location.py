"""Locations of tables."""

from __future__ import annotations


class Location(str):
    """A location as text. It can also be called, because PyIceberg has a method `location()`."""

    __slots__ = ()

    def __call__(self) -> str:
        """Return the location."""
        return str(self)
