"""Removes the bounds of floating-point column chunks with NaN from the footer of a Parquet file.

pyarrow ignores NaN when it computes bounds, but readers that compare NaN as the greatest value, such as Spark's, would
skip a chunk with NaN by its maximum. parquet-java writes neither bounds nor a column index for such a chunk:

    FileMetaData   = ... | 4: list<RowGroup> | ...
    RowGroup       = 1: list<ColumnChunk> | ...
    ColumnChunk    = ... | 3: ColumnMetaData | ... | 6: column_index_offset | 7: column_index_length
    ColumnMetaData = ... | 12: Statistics | ...
    Statistics     = 1: max | 2: min | 3: null_count | 4: distinct_count | 5: max_value | 6: min_value
                     | 7: is_max_value_exact | 8: is_min_value_exact
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from frazil._thrift import STRUCT, CompactCursor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from frazil.files.write.leaves import Leaf

__all__ = ["NAN_FREE_BOUNDS", "FloatLeaf", "float_leaves", "leaves_with_nan", "without_bounds"]

NAN_FREE_BOUNDS = "frazil.nan-free-bounds"
"""The key of the footer that states that chunks with NaN have no bounds; the value is the number of rows of the file.
"""

Way = tuple[int | str, ...]
"""The way from a column to a leaf: the index of each struct field, `elements` of a list, `keys` or `items` of a map."""

FloatLeaf = tuple[int, int, Way]
"""A floating-point leaf: its index, that of its column, and the way from the column to the leaf."""

_ROW_GROUPS, _COLUMNS = 4, 1

_Rules = Mapping[int, "_Rules | None"]
"""The fields of a struct that are removed (None) or changed; all other fields are kept."""

_STATISTICS: _Rules = dict.fromkeys((1, 2, 5, 6, 7, 8))
_COLUMN_CHUNK: _Rules = {3: {12: _STATISTICS}, 6: None, 7: None}
_KEPT: _Rules = {}


def float_leaves(schema: pa.Schema, leaves: Sequence[Leaf]) -> list[FloatLeaf]:
    """Return the floating-point leaves of a schema, whose leaf columns are given."""
    if not any(pa.types.is_floating(leaf.type) for leaf in leaves):
        return []
    ways = [(column, way) for column, field in enumerate(schema) for way in _ways(field.type)]
    pairs = zip(leaves, ways, strict=True)
    return [(index, *way) for index, (leaf, way) in enumerate(pairs) if pa.types.is_floating(leaf.type)]


def leaves_with_nan(rows: pa.Table, floats: Sequence[FloatLeaf]) -> frozenset[int]:
    """Return the indices of the leaves with NaN in these rows."""
    return frozenset(leaf for leaf, column, way in floats if _has_nan(rows.column(column), way))


def without_bounds(metadata: bytes, groups: Sequence[frozenset[int]]) -> bytes:
    """Return `FileMetaData` without the bounds of some column chunks, given by their indices for each row group."""
    cursor, out = CompactCursor(metadata), _Copy(metadata)
    _find(cursor, _ROW_GROUPS)
    cursor.list_header()
    for chunks in groups:
        for kind, field in cursor.fields():
            if field != _COLUMNS or not chunks:
                cursor.skip(kind)
                continue
            count, _ = cursor.list_header()
            for chunk in range(count):
                if chunk not in chunks:
                    cursor.skip(STRUCT)
                    continue
                start = cursor.position
                out.replace(start, _changed(metadata, cursor, _COLUMN_CHUNK), cursor)
    return out.finish()


class _Copy:
    """A copy of bytes with some parts replaced."""

    def __init__(self, data: bytes) -> None:
        self._data, self._parts, self._copied = data, list[bytes](), 0

    def replace(self, start: int, part: bytes, end: CompactCursor) -> None:
        self._parts += [self._data[self._copied : start], part]
        self._copied = end.position

    def finish(self) -> bytes:
        return b"".join([*self._parts, self._data[self._copied :]])


def _find(cursor: CompactCursor, wanted: int) -> None:
    """Move to the value of a field."""
    for kind, field in cursor.fields():
        if field == wanted:
            return
        cursor.skip(kind)


def _changed(data: bytes, cursor: CompactCursor, rules: _Rules) -> bytes:
    """Read a struct and return it, changed by the rules."""
    out, last = bytearray(), 0
    for kind, field in cursor.fields():
        start, rule = cursor.position, rules.get(field, _KEPT)
        if rule:
            value = _changed(data, cursor, rule)
        else:
            cursor.skip(kind)
            value = data[start : cursor.position]
        if rule is not None:
            out.append((field - last) << 4 | kind)
            out += value
            last = field
    out.append(0)
    return bytes(out)


def _ways(data_type: pa.DataType) -> Iterator[Way]:
    if pa.types.is_struct(data_type):
        for index, part in enumerate(data_type):
            yield from ((index, *rest) for rest in _ways(part.type))
    elif pa.types.is_map(data_type):
        for name, part in (("keys", data_type.key_type), ("items", data_type.item_type)):
            yield from ((name, *rest) for rest in _ways(part))
    elif pa.types.is_list(data_type):
        yield from (("elements", *rest) for rest in _ways(data_type.value_type))
    else:
        yield ()


def _has_nan(values: pa.ChunkedArray, way: Way) -> bool:
    if not way:
        return bool(pc.any(pc.is_nan(values)).as_py())
    return any(_has_nan(_leaf(chunk, way), ()) for chunk in values.chunks)


def _leaf(values: Any, way: Way) -> Any:
    """Return the values of a leaf, including those of NULL structs."""
    for step in way:
        if step == "elements":
            values = values.flatten()
        elif isinstance(step, int):
            values = values.field(step)
        else:
            offsets = values.offsets
            first, end = offsets[0].as_py(), offsets[-1].as_py()
            values = getattr(values, step)[first:end]
    return values
