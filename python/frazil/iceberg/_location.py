"""The location of a table, as a callable string."""

from __future__ import annotations


class Location(str):
    """A location as a string. It can also be called, because PyIceberg has a method `location()`."""

    __slots__ = ()

    def __call__(self) -> str:
        """Return the location."""
        return str(self)
