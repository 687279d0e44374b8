"""Thrift's compact protocol, as far as Parquet footers use it.

A struct is a run of fields and a zero byte; a field begins with a byte: how far its number is from the one before it
(0 where the number follows) and its kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CompactCursor"]

_BYTE, _VARINTS, _BINARY, _LISTS, _STRUCT = 3, (4, 5, 6), 8, (9, 10), 12
_FIXED = {_BYTE: 1, 7: 8}
"""The bytes of a byte and of a double."""

_BOOLEANS = (1, 2)
_LAST_SHIFT = 63


class CompactCursor:
    """Reads values of Thrift's compact protocol; `IndexError` or `ValueError` where the bytes are damaged."""

    def __init__(self, data: bytes) -> None:
        """Begin at the first byte."""
        self._data, self.position = data, 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield kind and number of each field of a struct; the caller reads or skips its value in between."""
        number = 0
        while header := self._byte():
            delta, kind = header >> 4, header & 15
            number = number + delta if delta else self.zigzag()
            yield kind, number

    def list_header(self) -> tuple[int, int]:
        """Read how many elements a list has, and their kind."""
        header = self._byte()
        size = header >> 4
        return (self.varint() if size == 15 else size), header & 15  # noqa: PLR2004 - longer lists

    def varint(self) -> int:
        """Read a number without a sign."""
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > _LAST_SHIFT:
                message = "a number is longer than 64 bits"
                raise ValueError(message)
        return value | byte << shift

    def zigzag(self) -> int:
        """Read a number with a sign."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def skip(self, kind: int) -> None:
        """Pass a value of a kind."""
        if kind in _FIXED:
            self.position += _FIXED[kind]
        elif kind in _VARINTS:
            self.varint()
        elif kind == _BINARY:
            length = self.varint()
            self.position += length
        elif kind in _LISTS:
            count, of = self.list_header()
            for _ in range(count):
                self.skip(_BYTE if of in _BOOLEANS else of)
        elif kind == _STRUCT:
            for of, _ in self.fields():
                self.skip(of)
        elif kind not in _BOOLEANS:
            message = f"Thrift type {kind} is not known"
            raise ValueError(message)
        if self.position > len(self._data):
            message = "a value ends after the data"
            raise IndexError(message)

    def _byte(self) -> int:
        self.position += 1
        return self._data[self.position - 1]
