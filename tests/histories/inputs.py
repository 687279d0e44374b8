"""Converts rows to every type of input that a write accepts."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from histories.arrow import table_of
from histories.types import DAY_US, List, Map, Simple, Struct, Type, arrow_type, walk
from histories.values import YEAR_1_DAY, YEAR_9999_DAY, unscaled

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = ("table", "slice", "chunks", "reader", "batches", "dicts", "pages", "pandas", "polars")
"""`batches` is an iterator of record batches, `pages` an iterator of lists of dictionaries."""


@dataclass(frozen=True)
class Source:
    """The form of the input: its type, whether columns have other Arrow types than the table, and a random seed."""

    kind: str = "table"
    odd_types: bool = False
    seed: int = 0


def as_input(rows: Sequence[dict[str, Any]], columns: Struct, source: Source) -> Any:
    """Return rows of these columns as an input."""
    random = Random(source.seed)  # noqa: S311 - a test
    kind = source.kind
    if kind in ("dicts", "pages") and not _fits_python(rows, columns):
        kind = "table"
    if kind == "dicts":
        return [plain_row(row, columns) for row in rows]
    if kind == "pages":
        cuts = _cuts(random, len(rows))
        return ([plain_row(row, columns) for row in rows[a:b]] for a, b in cuts)
    if kind in ("pandas", "polars") and not _fits_frame(rows, columns, kind):
        kind = "slice"
    types = [
        odd_type(random, field.type, [row[field.name] for row in rows]) if source.odd_types else arrow_type(field.type)
        for field in columns.fields
    ]
    if kind == "slice":
        return _sliced(random, rows, columns, types)
    return _given(random, table_of(rows, columns, types), kind)


def _given(random: Random, table: pa.Table, kind: str) -> Any:  # noqa: PLR0911 - one line for each kind
    if kind == "chunks":
        parts = [table.slice(a, b - a) for a, b in _cuts(random, table.num_rows)]
        return pa.concat_tables([*parts, table.slice(0, 0)])
    if kind == "reader":
        return table.to_reader(max_chunksize=random.randint(1, 4))
    if kind == "batches":
        return iter(table.to_batches(max_chunksize=random.randint(1, 4)) or [_empty(table)])
    if kind == "pandas":
        import pandas as pd

        return table.to_pandas(types_mapper=pd.ArrowDtype)
    if kind == "polars":
        import polars as pl

        try:
            return pl.from_arrow(table)
        except pl.exceptions.ComputeError:
            # The library does not support list views.
            return table
    return table


def _sliced(random: Random, rows: Sequence[dict[str, Any]], columns: Struct, types: list[pa.DataType]) -> pa.Table:
    """Return a slice of a longer table with other rows around it."""
    before, after = random.randint(1, 9), random.randint(0, 3)
    others = [dict(random.choice(rows)) for _ in range(before + after)] if rows else []
    if not others:
        return table_of(rows, columns, types)
    return table_of([*others[:before], *rows, *others[before:]], columns, types).slice(before, len(rows))


def _empty(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([column.chunk(0) for column in table.columns], schema=table.schema)


def _cuts(random: Random, count: int) -> list[tuple[int, int]]:
    places = sorted(random.randint(0, count) for _ in range(random.randint(0, 3)))
    return list(zip([0, *places], [*places, count], strict=True))


def odd_type(random: Random, kind: Type, values: list[Any]) -> pa.DataType:
    """Return an Arrow type that can hold these values and is accepted for the type."""
    there = [value for value in values if value is not None]
    match kind:
        case Struct(fields):
            return pa.struct(
                [
                    pa.field(
                        field.name,
                        odd_type(random, field.type, [value[field.name] for value in there]),
                        nullable=not field.required,
                    )
                    for field in fields
                ]
            )
        case List(element, required):
            inner = odd_type(random, element, [part for value in there for part in value])
            child = pa.field("item", inner, nullable=not required)
            return random.choice((pa.list_, pa.large_list, pa.list_view))(child)
        case Map():
            return arrow_type(kind)
        case Simple():
            return random.choice([arrow_type(kind), *_odd_simple(kind, there)])
    raise TypeError(kind)


def _odd_simple(kind: Simple, values: list[Any]) -> list[pa.DataType]:  # noqa: PLR0911 - one line for each type
    match kind.name:
        case "int" | "long":
            fitting = (pa.int8(), pa.int16(), pa.uint8(), pa.uint16(), pa.int32())
            return [width for width in fitting if all(_in_width(value, width) for value in values)]
        case "double":
            return [pa.float32()] if all(pa.scalar(v, pa.float32()).as_py() == v for v in values) else []
        case "decimal":
            digits = max((len(str(abs(unscaled(v, kind.scale)))) for v in values), default=1)
            return [pa.decimal256(kind.size, kind.scale), pa.decimal128(max(digits, kind.scale, 1), kind.scale)]
        case "string":
            return [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
        case "binary":
            return [pa.large_binary(), pa.binary_view()]
        case "uuid":
            return [pa.binary(16)]
        case "timestamp" | "timestamptz" | "timestamp_ns" | "timestamptz_ns":
            return _units(kind, values)
        case _:
            return []


def _units(kind: Simple, values: list[Any]) -> list[pa.DataType]:
    per_second = 10**9 if kind.name.endswith("_ns") else 10**6
    zone = "UTC" if "tz" in kind.name else None
    units = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
    return [
        pa.timestamp(unit, zone)
        for unit, size in units.items()
        if all(v * size % per_second == 0 and abs(v * size // per_second) < 2**63 - 1 for v in values)
    ]


def _in_width(value: int, width: pa.DataType) -> bool:
    low, high = (-(1 << (width.bit_width - 1)), 1 << (width.bit_width - 1))
    if pa.types.is_unsigned_integer(width):
        low, high = 0, 1 << width.bit_width
    return low <= value < high


def plain_row(row: dict[str, Any], columns: Struct) -> dict[str, Any]:
    """Return a row as a user would write it in Python."""
    return {field.name: plain_value(row[field.name], field.type) for field in columns.fields}


_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the zone is added where there is one


def plain_value(value: Any, kind: Type) -> Any:  # noqa: PLR0911
    """Return a value as a user would write it in Python."""
    if value is None:
        return None
    match kind:
        case Struct(fields):
            return {field.name: plain_value(value[field.name], field.type) for field in fields}
        case List(element):
            return [plain_value(part, element) for part in value]
        case Map(key, item):
            return [(plain_value(k, key), plain_value(v, item)) for k, v in value]
        case Simple("date"):
            return dt.date.fromordinal(value + 719163)
        case Simple("time"):
            return (_EPOCH + dt.timedelta(microseconds=value)).time()
        case Simple("timestamp" | "timestamp_ns" as name) | Simple("timestamptz" | "timestamptz_ns" as name):
            moment = _EPOCH + dt.timedelta(microseconds=value // (1000 if name.endswith("_ns") else 1))
            return moment.replace(tzinfo=dt.UTC) if "tz" in name else moment
        case Simple("uuid"):
            return uuid.UUID(bytes=value)
        case _:
            return value


def _fits_python(rows: Sequence[dict[str, Any]], columns: Struct) -> bool:
    """Return whether Python's own types can hold the rows: no nanoseconds, years 1 to 9999."""
    return all(_python_holds(row[field.name], field.type) for row in rows for field in columns.fields)


def _python_holds(value: Any, kind: Type) -> bool:  # noqa: PLR0911 - one line for each type
    if value is None:
        return True
    match kind:
        case Struct(fields):
            return all(_python_holds(value[field.name], field.type) for field in fields)
        case List(element):
            return all(_python_holds(part, element) for part in value)
        case Map(key, item):
            return all(_python_holds(k, key) and _python_holds(v, item) for k, v in value)
        case Simple("date"):
            return bool(YEAR_1_DAY <= value <= YEAR_9999_DAY)
        case Simple("timestamp" | "timestamptz"):
            return bool(YEAR_1_DAY <= value // DAY_US <= YEAR_9999_DAY)
        case Simple("timestamp_ns" | "timestamptz_ns"):
            return bool(value % 1000 == 0)
        case _:
            return True


_FRAME_TYPES = {
    "pandas": {"boolean", "int", "long", "float", "double", "string", "timestamp", "date", "decimal"},
    "polars": {"boolean", "int", "long", "float", "double", "string", "timestamp", "date", "binary", "time"},
}


def _fits_frame(rows: Sequence[dict[str, Any]], columns: Struct, kind: str) -> bool:
    if not columns.fields or len(set(columns.names)) != len(columns.names) or not rows:
        return False
    known = _FRAME_TYPES[kind]
    nested = (Struct, List) if kind == "polars" else ()
    return all(
        (isinstance(part, nested) and part != Struct(())) or (isinstance(part, Simple) and part.name in known)
        for field in columns.fields
        for part in walk(field.type)
    )
