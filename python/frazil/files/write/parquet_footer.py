"""Changes the footer of a Parquet file: adds schema annotations for types that pyarrow's writer omits.

A file ends with `FileMetaData` in Thrift's compact protocol, its length in four bytes, and `PAR1`:

    FileMetaData  = 1: version | 2: list<SchemaElement> | ...
    SchemaElement = 1: type | ... | 9: field_id | 10: logicalType
    LogicalType   = 16: VariantType (1: specification_version, i8)
                  | 8: TimestampType (1: isAdjustedToUTC, bool | 2: unit, a union of 1: MILLIS | 2: MICROS)

pyarrow writes either all or no timestamps of a file as INT96. If some must be INT96, the others are written as
integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil._thrift import CompactCursor
from frazil.errors import InternalError
from frazil.files.write.leaves import is_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["FooterSink", "annotated", "schema_annotations"]

_TAIL_BYTES = 8

_VARIANT = bytes([0x1C, 0x0C, 0x20, 0x13, 0x01, 0x00, 0x00])
"""The encoded field 10 when it follows field 9: a union whose field 16 is a struct with version 1."""

_FIELD_ID, _SCHEMA = 9, 2


def schema_annotations(schema: pa.Schema, stored: pa.Schema) -> dict[int, bytes]:
    """Return the encoded annotations by index of the schema element; the root has index 0.

    Args:
        schema: The columns.
        stored: The same columns as pyarrow writes them, with integers in place of some timestamps.
    """
    elements = [found for pair in zip(schema, stored, strict=True) for found in _elements(*pair)]
    return {position: found for position, found in enumerate(elements, start=1) if found is not None}


class FooterSink:
    """A sink for pyarrow that forwards bytes but holds back the end of the file, so that the footer can be changed."""

    def __init__(self, sink: Any) -> None:
        """Create a sink that forwards to `sink`."""
        self._sink = sink
        self._held: bytearray | None = None
        self.closed = False

    def hold(self) -> None:
        """Hold back all further bytes, which are the end of the file including the footer."""
        self._held = bytearray()

    def finish(self, change: Callable[[bytes], bytes]) -> None:
        """Pass on the held bytes, with `FileMetaData` changed."""
        held = bytes(self._held or b"")
        length = int.from_bytes(held[-_TAIL_BYTES:-4], "little")
        start = len(held) - _TAIL_BYTES - length
        if length == 0 or start < 0:
            message = "a footer was written before its file was closed"
            raise InternalError(message)
        metadata = change(held[start : start + length])
        self._sink.write(held[:start])
        self._sink.write(metadata + len(metadata).to_bytes(4, "little") + held[-4:])

    def write(self, data: Any) -> int:
        """Forward or hold back bytes, and return their number."""
        if self._held is None:
            return int(self._sink.write(data))
        self._held += data
        return len(data)

    def tell(self) -> int:
        """Return the number of bytes received."""
        return int(self._sink.tell()) + len(self._held or b"")

    def writable(self) -> bool:
        """Return True: the sink is writable."""
        return True

    def readable(self) -> bool:
        """Return False: the sink is not readable."""
        return False

    def seekable(self) -> bool:
        """Return False: the sink is not seekable."""
        return False

    def flush(self) -> None:
        """Do nothing, because the owner flushes the underlying sink."""

    def close(self) -> None:
        """Do nothing, because the owner closes the underlying sink."""


def annotated(metadata: bytes, found: dict[int, bytes]) -> bytes:
    """Return `FileMetaData` with the annotations that `schema_annotations` returns."""
    cursor = CompactCursor(metadata)
    for kind, field in cursor.fields():
        if field == _SCHEMA:
            break
        cursor.skip(kind)
    count, _ = cursor.list_header()
    out, copied = [], 0
    for element in range(count):
        last = 0
        for kind, field in cursor.fields():
            cursor.skip(kind)
            last = field
        if element in found:
            if last != _FIELD_ID:
                message = f"schema element {element} ends with the unexpected field {last}"
                raise InternalError(message)
            end = cursor.position - 1
            out += [metadata[copied:end], found[element]]
            copied = end
    return b"".join([*out, metadata[copied:]])


def _elements(field: pa.Field, stored: pa.Field) -> Iterator[bytes | None]:
    data_type, stored_type = field.type, stored.type
    if pa.types.is_struct(data_type):
        yield _VARIANT if is_variant(field) else None
        for part, stored_part in zip(data_type, stored_type, strict=True):
            yield from _elements(part, stored_part)
    elif pa.types.is_map(data_type):
        yield from (None, None)
        yield from _elements(data_type.key_field, stored_type.key_field)
        yield from _elements(data_type.item_field, stored_type.item_field)
    elif pa.types.is_list(data_type):
        yield from (None, None)
        yield from _elements(data_type.value_field, stored_type.value_field)
    else:
        yield None if data_type == stored_type else _timestamp(data_type)


def _timestamp(data_type: pa.DataType) -> bytes:
    """Return the annotation for a timestamp that pyarrow writes as an integer."""
    is_adjusted = 0x11 if data_type.tz is not None else 0x12
    unit = {"ms": 0x1C, "us": 0x2C}[data_type.unit]
    return bytes([0x1C, 0x8C, is_adjusted, 0x1C, unit, 0x00, 0x00, 0x00, 0x00])
