"""Writes Avro object containers from columns: a manifest of thousands of entries is one matrix of bytes.

A schema is Avro JSON as Python objects. A value has the structure of its schema. Each leaf is either a single value,
which all records share, or a column with one element for each record.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from values import Bytes, Integers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Schema = Any
# A part of every record: the same bytes, or rows of bytes and a mask of the valid ones.
Piece = bytes | tuple[Bytes, NDArray[np.bool_] | None]

SYNC = bytes(range(16))
BLOCK_BYTES = 64_000  # a block is closed when it has as many, as Java does it
DEFLATE_LEVEL = 9  # Java's default for manifests


def record(name: str, fields: list[Schema]) -> Schema:
    return {"type": "record", "name": name, "fields": fields}


def optional(kind: Schema) -> Schema:
    return ["null", kind]


def array_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def field(name: str, kind: Schema, **attributes: Any) -> Schema:
    """Return a field of a record; an optional field is missing by default."""
    default = {"default": None} if isinstance(kind, list) else {}
    return {"name": name, "type": kind, **default, **attributes}


def write(path: Path, schema: Schema, metadata: dict[str, str], records: Iterable[Any]) -> int:
    """Write records whose leaves are single values, and return the length of the file."""
    return write_blocks(path, schema, metadata, blocks([encode(schema, record, 1) for record in records]))


def write_columns(path: Path, schema: Schema, metadata: dict[str, str], value: Any, count: int) -> int:
    """Write `count` records that are described by one value, and return the length of the file."""
    return write_blocks(path, schema, metadata, blocks([encode(schema, value, count)]))


def write_blocks(path: Path, schema: Schema, metadata: dict[str, str], parts: Iterable[tuple[int, bytes]]) -> int:
    """Write encoded records; the metadata may contain `avro.codec`."""
    metadata = {"avro.schema": json.dumps(schema), "avro.codec": "deflate"} | metadata
    pairs = b"".join(text(key) + text(value) for key, value in metadata.items())
    out = [b"Obj\x01", long(len(metadata)), pairs, b"\0", SYNC]
    for count, raw in parts:
        data = compress(metadata["avro.codec"], raw)
        out += [long(count), long(len(data)), data, SYNC]
    return path.write_bytes(b"".join(out))


def compress(codec: str, data: bytes) -> bytes:
    if codec == "deflate":
        deflate = zlib.compressobj(DEFLATE_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        return deflate.compress(data) + deflate.flush()
    if codec == "zstandard":
        return bytes(pa.Codec("zstd", compression_level=1).compress(data, asbytes=True))
    return data


def blocks(parts: Iterable[tuple[bytes, Integers]]) -> Iterator[tuple[int, bytes]]:
    """Split encoded records into blocks: their numbers of records and their bytes."""
    parts = list(parts)
    data = b"".join(part for part, _ in parts)
    ends = np.cumsum(np.concatenate([lengths for _, lengths in parts])) if parts else np.zeros(0, np.int64)
    first = start = 0
    while first < len(ends):
        after = min(int(np.searchsorted(ends, start + BLOCK_BYTES)) + 1, len(ends))
        end = int(ends[after - 1])
        yield after - first, data[start:end]
        first, start = after, end


def encode(schema: Schema, value: Any, count: int) -> tuple[bytes, Integers]:
    """Return the bytes of `count` records, concatenated, and the length of each."""
    found = merged(pieces(schema, value))
    if len(found) == 1 and isinstance(found[0], bytes):
        return found[0] * count, np.full(count, len(found[0]))
    widths = [len(piece) if isinstance(piece, bytes) else piece[0].shape[1] for piece in found]
    matrix = np.empty((count, sum(widths)), np.uint8)
    used = np.ones(matrix.shape, bool)
    start = 0
    for piece, width in zip(found, widths, strict=True):
        part = np.s_[:, start : start + width]
        if isinstance(piece, bytes):
            matrix[part] = np.frombuffer(piece, np.uint8)
        else:
            matrix[part] = piece[0]
            if piece[1] is not None:
                used[part] = piece[1]
        start += width
    return matrix[used].tobytes(), used.sum(axis=1)


def merged(found: Iterable[Piece]) -> list[Piece]:
    """Join adjacent constants."""
    out: list[Piece] = []
    for piece in found:
        if isinstance(piece, bytes) and out and isinstance(out[-1], bytes):
            out[-1] += piece
        else:
            out.append(piece)
    return out


def pieces(schema: Schema, value: Any) -> Iterator[Piece]:
    """Yield the parts of every record in order."""
    if isinstance(schema, list):
        yield long(0) if value is None else long(1)
        if value is not None:
            yield from pieces(schema[1], value)
        return
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "record":
        for part in schema["fields"]:
            yield from pieces(part["type"], value[part["name"]])
    elif kind == "array":
        yield from array(schema, value)
    elif isinstance(kind, dict):
        yield from pieces(kind, value)
    else:
        yield from leaf(kind, value)


def leaf(kind: str, value: Any) -> Iterator[Piece]:
    if kind in {"int", "long"}:
        yield varints(value) if isinstance(value, np.ndarray) else long(value)
    elif kind in {"bytes", "string"} and isinstance(value, np.ndarray):
        yield long(value.shape[1])
        yield value, None
    elif kind in {"bytes", "string"}:
        yield text(value)
    elif kind == "boolean":
        yield bytes([value])
    else:
        message = f"unknown Avro type: {kind}"
        raise ValueError(message)


def array(schema: Schema, value: Any) -> Iterator[Piece]:
    """Yield the items of an array; a map whose keys are not strings is an array of pairs, given as a dict."""
    if value:
        yield long(len(value))
    if schema.get("logicalType") == "map":
        value = [{"key": key, "value": item} for key, item in value.items()]
    for item in value:
        yield from pieces(schema["items"], item)
    yield long(0)


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return long(len(data)) + data


def long(value: int) -> bytes:
    """Return a zigzag-encoded number, with seven bits per byte, lowest first."""
    rest = value << 1 ^ value >> 63
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def varints(numbers: Integers) -> Piece:
    """Return a column of variable-length numbers."""
    zigzag = (numbers.astype(np.int64) << 1 ^ numbers.astype(np.int64) >> 63).view(np.uint64)
    width = len(long(int(zigzag.max()) >> 1))
    rest = zigzag[:, None] >> (np.uint64(7) * np.arange(width, dtype=np.uint64))
    used = rest > 0
    used[:, 0] = True
    more = np.zeros(used.shape, np.uint8)  # the bit that says that another byte follows
    more[:, :-1] = used[:, 1:] * np.uint8(0x80)
    more |= (rest & np.uint64(0x7F)).astype(np.uint8)
    return more, None if used.all() else used
