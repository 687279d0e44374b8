"""Parquet files whose group nodes have a logical type that is valid only for primitive fields.

pyarrow rejects such a file ("Logical type Null cannot be applied to group node"). Other readers ignore the annotation,
which does not affect how values are stored. This module removes the annotation from the footer that is passed to
pyarrow:

    FileMetaData  = 1: version | 2: list<SchemaElement> | ...
    SchemaElement = ... | 5: num_children | 6: converted_type | ... | 10: logicalType
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from frazil._thrift import CompactCursor

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = ["metadata_without_group_types"]

_MAGIC = b"PAR1"
_TAIL_BYTES = 8
_SCHEMA, _CHILDREN, _CONVERTED, _LOGICAL = 2, 5, 6, 10
_GROUP_CONVERTED = (1, 2, 3)
"""The converted types that groups can have: MAP, MAP_KEY_VALUE and LIST."""

_GROUP_LOGICAL = (1, 2, 16)
"""The logical types that groups can have, as field ids of the union: MAP, LIST and VARIANT."""


def metadata_without_group_types(source: pa.NativeFile) -> pq.FileMetaData | None:
    """Read the footer of a file without the logical types that groups cannot have.

    Returns: None if the footer does not contain such types or is malformed.
    """
    import pyarrow.parquet as pq

    size = source.size()
    source.seek(max(0, size - _TAIL_BYTES))
    tail = source.read(_TAIL_BYTES)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length > size - _TAIL_BYTES:
        return None
    source.seek(size - _TAIL_BYTES - length)
    original = source.read(length)
    try:
        footer = _without_group_types(original)
    except (IndexError, ValueError, RecursionError):
        return None
    if footer == original:
        return None
    content = _MAGIC + footer + len(footer).to_bytes(4, "little") + _MAGIC
    return pq.read_metadata(pa.BufferReader(content))


def _without_group_types(footer: bytes) -> bytes:
    cursor = CompactCursor(footer)
    for kind, field in cursor.fields():
        if field == _SCHEMA:
            break
        cursor.skip(kind)
    count, _ = cursor.list_header()
    start = cursor.position
    elements = [_element(cursor, footer) for _ in range(count)]
    return footer[:start] + b"".join(elements) + footer[cursor.position :]


def _element(cursor: CompactCursor, footer: bytes) -> bytes:
    """Return the next schema element, without invalid annotations."""
    start = cursor.position
    fields: list[tuple[int, int, bytes]] = []
    children, unfit = 0, set()
    for kind, field in cursor.fields():
        begin = cursor.position
        if field in (_CHILDREN, _CONVERTED):
            number = cursor.zigzag()
            if field == _CHILDREN:
                children = number
            elif number not in _GROUP_CONVERTED:
                unfit.add(field)
        else:
            cursor.skip(kind)
            if field == _LOGICAL and _first_field(footer[begin : cursor.position]) not in _GROUP_LOGICAL:
                unfit.add(field)
        fields.append((kind, field, footer[begin : cursor.position]))
    if not children or not unfit:
        return footer[start : cursor.position]
    out, last = bytearray(), 0
    for kind, field, value in fields:
        if field not in unfit:
            # The ids of the fields are below 16, so their difference always fits into four bits.
            out.append((field - last) << 4 | kind)
            out += value
            last = field
    return bytes(out) + b"\0"


def _first_field(union: bytes) -> int:
    return next((field for _, field in CompactCursor(union).fields()), 0)
