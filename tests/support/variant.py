"""A decoder of Parquet variants that is independent of frazil's, for comparison.

Types that JSON lacks are represented by objects with one key: `{"$decimal": "1.50"}`, `{"$date": "19000"}`.
"""

from __future__ import annotations

import decimal
import struct
import uuid
from itertools import pairwise
from typing import Any

_DECIMAL_BYTES = {8: 4, 9: 8, 10: 16}
_INTEGER_BYTES = {3: 1, 4: 2, 5: 4, 6: 8}
_TIMES = {
    11: ("$date", 4),
    12: ("$timestamptz", 8),
    13: ("$timestampntz", 8),
    17: ("$time", 8),
    18: ("$timestamptz_nanos", 8),
    19: ("$timestampntz_nanos", 8),
}


def decode_variant(metadata: bytes, value: bytes) -> Any:
    """Return a variant in the form of `json.loads`."""
    return _value(_names(metadata), value, 0)


def _unsigned(content: bytes, start: int, size: int) -> int:
    return int.from_bytes(content[start : start + size], "little")


def _names(metadata: bytes) -> list[str]:
    size = 1 + (metadata[0] >> 6)
    count = _unsigned(metadata, 1, size)
    offsets = [_unsigned(metadata, 1 + size * (1 + index), size) for index in range(count + 1)]
    text = metadata[1 + size * (count + 2) :]
    return [text[start:end].decode() for start, end in pairwise(offsets)]


def _value(names: list[str], value: bytes, at: int) -> Any:
    kind, header = value[at] & 3, value[at] >> 2
    if kind == 0:
        return _primitive(header, value[at + 1 :])
    if kind == 1:
        return value[at + 1 : at + 1 + header].decode()
    offset_size = 1 + (header & 3)
    id_size = 1 + (header >> 2 & 3) if kind == 2 else 0
    count_size = 4 if header & (16 if kind == 2 else 4) else 1
    count = _unsigned(value, at + 1, count_size)
    ids = at + 1 + count_size
    offsets = ids + count * id_size
    start = offsets + (count + 1) * offset_size
    parts = [
        _value(names, value, start + _unsigned(value, offsets + index * offset_size, offset_size))
        for index in range(count)
    ]
    if kind == 3:
        return parts
    return {names[_unsigned(value, ids + index * id_size, id_size)]: part for index, part in enumerate(parts)}


def _primitive(code: int, rest: bytes) -> Any:  # noqa: PLR0911 - JSON, one for each form
    def integer(size: int) -> int:
        return int.from_bytes(rest[:size], "little", signed=True)

    if code <= 2:
        return None if code == 0 else code == 1
    if code in _INTEGER_BYTES:
        return integer(_INTEGER_BYTES[code])
    if code == 7:
        return struct.unpack("<d", rest[:8])[0]
    if code in _DECIMAL_BYTES:
        unscaled = int.from_bytes(rest[1 : 1 + _DECIMAL_BYTES[code]], "little", signed=True)
        return {"$decimal": f"{decimal.Decimal(unscaled).scaleb(-rest[0], decimal.Context(prec=60)):f}"}
    if code == 14:
        return {"$float": _shortest(rest[:4])}
    if code in {15, 16}:
        content = rest[4 : 4 + _unsigned(rest, 0, 4)]
        return content.decode() if code == 16 else {"$binary": content.hex()}
    if code == 20:
        return {"$uuid": str(uuid.UUID(bytes=bytes(rest[:16])))}
    name, size = _TIMES[code]
    return {name: str(integer(size))}


def _shortest(content: bytes) -> str:
    """Return the shortest string that parses to the float with these bytes."""
    value = struct.unpack("<f", content)[0]
    texts = (f"{value:.{digits}g}" for digits in range(1, 18))
    return next(text for text in texts if struct.pack("<f", float(text)) == content)
