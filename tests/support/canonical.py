"""Rows in the canonical form of the golden cases, and their checksum.

There is one JSON object for each row, with sorted keys. The lines are sorted, joined by line feeds and hashed. Numbers
and strings are unchanged; doubles are their shortest string; decimals are `d:` and digits. Dates and times are in ISO
form (zoned timestamps in UTC, nanoseconds with nine digits). Bytes are `x:` and hex, UUIDs strings, maps lists of
pairs. `Form` defines the differences between cases.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from support.variant import decode_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Row = dict[str, Any]

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_NS_PER_S = 1_000_000_000
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the zone is text

_FORMS: list[tuple[Callable[[pa.DataType], bool], Callable[[Any], str]]] = [
    (pa.types.is_floating, lambda value: "NaN" if math.isnan(value) else repr(value)),
    (pa.types.is_decimal, lambda value: f"d:{value:f}"),
    (pa.types.is_date, lambda value: str(value.isoformat())),
    (pa.types.is_time, lambda value: str(value.isoformat())),
    (pa.types.is_binary, lambda value: "x:" + value.hex()),
    (pa.types.is_large_binary, lambda value: "x:" + value.hex()),
    (pa.types.is_fixed_size_binary, lambda value: "x:" + value.hex()),
]


@dataclass(frozen=True)
class Form:
    """The form of the values of some cases."""

    uuid_text: bool = True
    """Whether UUIDs are strings, otherwise bytes."""
    nine_digits: bool = True
    """Whether nanoseconds always have nine digits; otherwise six or none if the remaining digits are zero."""
    plain_variants: bool = False
    """Whether decimals in variants are JSON numbers."""


class YearOutOfRange(Exception):
    """A timestamp is out of the range of Python's datetime."""


GOLDEN_FORM = Form()


def canonical_rows(table: pa.Table, form: Form = GOLDEN_FORM) -> list[Row]:
    """Return the rows of a table in canonical form, with variants as objects with the single key `variant`."""
    columns = [(field.name, _column(table.column(i), field, form)) for i, field in enumerate(table.schema)]
    return [{name: values[row] for name, values in columns} for row in range(table.num_rows)]


def lines(rows: Iterable[Row]) -> list[str]:
    """Return the rows as sorted strings, so that two sets of rows can be compared."""
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def checksum(rows: Iterable[Row]) -> str:
    """Return the checksum by which cases identify rows."""
    return hashlib.sha256("\n".join(lines(rows)).encode()).hexdigest()


def parse_expected(value: Any) -> Any:
    """Return a value of a case with its variants parsed, so that it equals a result of `canonical_rows`."""
    if isinstance(value, dict):
        if set(value) == {"variant_json"}:
            return {"variant": json.loads(value["variant_json"])}
        return {name: parse_expected(part) for name, part in value.items()}
    return [parse_expected(part) for part in value] if isinstance(value, list) else value


def _column(column: pa.ChunkedArray, field: pa.Field, form: Form) -> list[Any]:
    return [value for chunk in column.chunks for value in _values(chunk, field, form)]


def _values(array: pa.Array, field: pa.Field, form: Form) -> list[Any]:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid" and form.uuid_text:
            return _each(array.storage, lambda value: str(uuid.UUID(bytes=value)))
        return _values(array.storage, field, form)
    if pa.types.is_struct(kind):
        return _structs(array, field, form)
    if pa.types.is_map(kind):
        keys = _values(array.keys, kind.key_field, form)
        items = _values(array.items, kind.item_field, form)
        return _runs(array, [list(pair) for pair in zip(keys, items, strict=True)])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _runs(array, _values(array.values, kind.value_field, form))
    return _primitives(array, form)


def _structs(array: pa.Array, field: pa.Field, form: Form) -> list[Any]:
    valid = array.is_valid().to_pylist()
    if _is_variant(field):
        # Names may not be unique, but positions are.
        parts = [array.field(index).to_pylist() for index in range(2)]
        pairs = zip(valid, *parts, strict=True)
        plain = _plain if form.plain_variants else lambda value: value
        return [{"variant": plain(decode_variant(names, value))} if there else None for there, names, value in pairs]
    children = [(child.name, _values(array.field(index), child, form)) for index, child in enumerate(array.type.fields)]
    return [{name: values[row] for name, values in children} if there else None for row, there in enumerate(valid)]


def holds_variants(fields: Iterable[pa.Field]) -> bool:
    """Return whether a column, or a field at any depth, is a variant."""

    def children(field: pa.Field) -> Iterable[pa.Field]:
        kind = field.type
        return (kind.field(index) for index in range(kind.num_fields)) if pa.types.is_nested(kind) else ()

    return any(_is_variant(field) or holds_variants(children(field)) for field in fields)


def _is_variant(field: pa.Field) -> bool:
    metadata = field.metadata or {}
    return bool(metadata.get(b"ARROW:extension:name") == b"arrow.parquet.variant")


def _plain(variant: Any) -> Any:
    if isinstance(variant, dict):
        if variant.keys() == {"$decimal"}:
            return json.loads(variant["$decimal"])
        return {name: _plain(part) for name, part in variant.items()}
    return [_plain(part) for part in variant] if isinstance(variant, list) else variant


def _runs(array: pa.Array, values: list[Any]) -> list[Any]:
    offsets = array.offsets.to_pylist()
    valid = array.is_valid().to_pylist()
    return [values[offsets[row] : offsets[row + 1]] if there else None for row, there in enumerate(valid)]


def _primitives(array: pa.Array, form: Form) -> list[Any]:
    kind = array.type
    if pa.types.is_timestamp(kind):
        zone = "" if kind.tz is None else "+00:00"
        ticks = array.cast(pa.timestamp(kind.unit)).view(pa.int64())
        factor = _NS_PER_S // _PER_SECOND[kind.unit]
        nine = kind.unit == "ns" and form.nine_digits
        return _each(ticks, lambda value: _moment_text(value * factor, nine=nine) + zone)
    text = next((text for of_kind, text in _FORMS if of_kind(kind)), None)
    return _each(array, text) if text else list(array.to_pylist())


def _each(array: pa.Array, form: Callable[[Any], Any]) -> list[Any]:
    return [None if value is None else form(value) for value in array.to_pylist()]


def _moment_text(value_ns: int, *, nine: bool) -> str:
    seconds, rest = divmod(value_ns, _NS_PER_S)
    fraction = f".{rest:09d}" if nine or rest % 1000 else f".{rest // 1000:06d}" if rest else ""
    try:
        return f"{(_EPOCH + dt.timedelta(seconds=seconds)).isoformat()}{fraction}"
    except OverflowError as error:
        raise YearOutOfRange(value_ns) from error
