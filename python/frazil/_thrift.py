"""A reader for Thrift's compact protocol, limited to what Parquet footers use.

A struct is a sequence of fields that ends with a zero byte. Each field starts with a byte that contains the type and
the difference between its id and the previous field id. A difference of 0 means that the id follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["STRUCT", "CompactCursor"]

STRUCT = 12
"""The type of structs."""

_BYTE, _VARINTS, _BINARY, _LISTS = 3, (4, 5, 6), 8, (9, 10)
_FIXED = {_BYTE: 1, 7: 8}
"""The size in bytes of each fixed-size type: byte and double."""

_BOOLEANS = (1, 2)
_LAST_SHIFT = 63


class CompactCursor:
    """A reader of values in Thrift's compact protocol. Malformed input raises `IndexError` or `ValueError`."""

    def __init__(self, data: bytes) -> None:
        """Start at the first byte."""
        self._data, self.position = data, 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield the type and the id of each field of a struct; the caller reads or skips the value in between."""
        number = 0
        while header := self._byte():
            delta, kind = header >> 4, header & 15
            number = number + delta if delta else self.zigzag()
            yield kind, number

    def list_header(self) -> tuple[int, int]:
        """Read the length of a list and the type of its elements."""
        header = self._byte()
        size = header >> 4
        return (self.varint() if size == 15 else size), header & 15  # noqa: PLR2004 - longer lists

    def varint(self) -> int:
        """Read an unsigned variable-length integer."""
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > _LAST_SHIFT:
                message = "a varint is longer than 64 bits"
                raise ValueError(message)
        return value | byte << shift

    def zigzag(self) -> int:
        """Read a signed, zigzag-encoded integer."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def skip(self, kind: int) -> None:
        """Skip a value of the Thrift type `kind`."""
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
        elif kind == STRUCT:
            for of, _ in self.fields():
                self.skip(of)
        elif kind not in _BOOLEANS:
            message = f"unknown Thrift type {kind}"
            raise ValueError(message)
        if self.position > len(self._data):
            message = "a value extends beyond the end of the data"
            raise IndexError(message)

    def _byte(self) -> int:
        self.position += 1
        return self._data[self.position - 1]
