"""Casts of columns with NULL structs whose fields are NOT NULL."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def cast_nested(array: pa.Array, target: pa.DataType, *, safe: bool) -> pa.Array:
    """Cast an array; a NOT NULL field of a struct may be NULL if the struct is NULL, which pyarrow rejects.

    Raises:
        pyarrow.ArrowInvalid: The array cannot be cast, or a NOT NULL field is NULL.

    >>> target = pa.struct([pa.field("a", pa.int64(), nullable=False)])
    >>> cast_nested(pa.array([{"a": 1}, None], pa.struct([("a", pa.int32())])), target, safe=True).to_pylist()
    [{'a': 1}, None]
    """
    if not pa.types.is_nested(target):
        return array.cast(target, safe=safe)
    return _declared(array.cast(_nullable(target), safe=safe), target)


def _nullable(kind: pa.DataType) -> pa.DataType:
    """Return a type whose nested fields are all nullable, except map keys."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_nullable(field.type)).with_nullable(nullable=True) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(
            kind.key_field.with_type(_nullable(kind.key_type)),
            kind.item_field.with_type(_nullable(kind.item_type)).with_nullable(nullable=True),
        )
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_nullable(kind.value_type)).with_nullable(nullable=True))
    return kind


def _declared(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return an array with the type `target`, which differs only in the nullability of nested fields."""
    if array.type == target:
        return array
    if pa.types.is_struct(target):
        valid = array.is_valid()
        fields = list(zip(target, [array.field(index) for index in range(target.num_fields)], strict=True))
        for field, child in fields:
            _check(field, child, valid)
        # The validity bitmap of a slice is the buffer of the whole array; that of a new array begins at bit 0.
        fresh = pc.if_else(valid, pa.scalar(value=True), pa.scalar(value=False))
        validity = fresh.buffers()[1] if array.null_count else None
        children = [_declared(child, field.type) for field, child in fields]
        return pa.Array.from_buffers(target, len(array), [validity], children=children)
    if pa.types.is_map(target):
        entries = pa.struct([target.key_field, target.item_field])
        _check(target.item_field, array.items)
        columns = [_declared(array.keys, target.key_type), _declared(array.items, target.item_type)]
        child = pa.Array.from_buffers(entries, len(columns[0]), [None], children=columns)
    else:
        _check(target.value_field, array.values)
        child = _declared(array.values, target.value_type)
    return pa.Array.from_buffers(target, len(array), array.buffers()[:2], offset=array.offset, children=[child])


def _check(field: pa.Field, child: pa.Array, parents: Any = None) -> None:
    if field.nullable or not child.null_count:
        return
    if parents is None or pc.any(pc.and_(child.is_null(), parents)).as_py():
        message = f"the field {field.name!r} is NOT NULL, but has NULL values"
        raise pa.ArrowInvalid(message)
