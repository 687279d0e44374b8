"""Random filters over the golden tables, with a simple evaluator of the rows that they select.

The evaluator implements three-valued logic (None is unknown), NaN = NaN and above everything, -0.0 = 0.0.
`FRAZIL_EXAMPLES` requests more, random examples for each table.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import os
import re
import uuid
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as is_type
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import frazil
from support.sizes import size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from frazil.iceberg._table import Table

GOLDEN = Path(__file__).parents[1] / "golden" / "iceberg"

# Excludes mapping_add_files_parquet_hive, whose counts were recorded with a name mapping that was changed later.
TABLES = (
    "del_eq_null_keys",
    "del_eq_renamed_column",
    "del_eq_sequence",
    "del_pos_file_parquet_part",
    "del_pos_partition_orc_part",
    "dv_spark_avro_part",
    "edit_unknown_transform",
    "edit_v1_inline_manifests",
    "evo_defaults_orc",
    "evo_defaults_parquet",
    "evo_drop_readd",
    "evo_promotion_v3_parquet",
    "fmt_mixed",
    "inc_mor",
    "meta_odd_names",
    "nested_parquet",
    "nested_partitioned_v3",
    "p_v1_day_timestamptz",
    "p_v2_bucket5_string",
    "p_v2_truncate10_decimal9_2",
    "p_v3_bucket4_timestamp_ns",
    "pevo_v2_three_specs",
    "type_all_v3",
)

EXAMPLES = size("FRAZIL_EXAMPLES")


def examples(count: int) -> settings:
    """Return settings for a few deterministic examples, or for many random ones on request."""
    health = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(
        max_examples=count, deadline=None, derandomize="FRAZIL_EXAMPLES" not in os.environ, suppress_health_check=health
    )


# Truth


Truth = bool | None


def both(left: Truth, right: Truth) -> Truth:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def opposite(truth: Truth) -> Truth:
    return None if truth is None else not truth


# Columns and their values


@dataclass(frozen=True)
class Column:
    """A simple column: its name in SQL, its type and the values of all rows in a comparable Python form."""

    sql: str
    type: pa.DataType
    values: tuple[Any, ...]

    @property
    def is_float(self) -> bool:
        return bool(is_type.is_floating(self.type))

    @property
    def is_text(self) -> bool:
        return bool(is_type.is_string(self.type))


def key(value: Any) -> Any:
    """Return the sort key of a value, in which floats are ordered as in filters."""
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def simple(data_type: pa.DataType) -> bool:
    kinds = (is_type.is_boolean, is_type.is_integer, is_type.is_floating, is_type.is_decimal, is_type.is_temporal)
    texts = (is_type.is_string, is_type.is_binary, is_type.is_fixed_size_binary)
    return any(kind(data_type) for kind in (*kinds, *texts))


def columns_of(name: str, array: pa.Array) -> Iterator[Column]:
    """Yield a column, or the columns in a struct at every depth."""
    if isinstance(array, pa.ExtensionArray):
        yield Column(name, array.type, tuple(array.storage.to_pylist()))
    elif is_type.is_struct(array.type):
        if {field.name for field in array.type} != {"metadata", "value"}:
            for field, child in zip(array.type, array.flatten(), strict=True):
                yield from columns_of(f"{name}.{quoted(field.name)}", child)
    elif is_type.is_timestamp(array.type) or is_type.is_time(array.type):
        yield Column(name, array.type, tuple(array.cast(pa.int64()).to_pylist()))
    elif simple(array.type):
        yield Column(name, array.type, tuple(array.to_pylist()))


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# Literals


def literal(column: Column, value: Any) -> str:  # noqa: PLR0911
    """Return a value of a column as SQL."""
    kind = column.type
    if isinstance(kind, pa.UuidType):
        return f"'{uuid.UUID(bytes=value)}'"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan" if math.isnan(value) else repr(value))
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    if is_type.is_timestamp(kind):
        return f"TIMESTAMP '{moment(value, kind.unit)}'"
    if is_type.is_time(kind):
        return f"TIME '{moment(value, kind.unit)[11:]}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)


def moment(value: int, unit: str) -> str:
    microseconds, nanoseconds = divmod(value, 1000) if unit == "ns" else (value * {"us": 1, "ms": 1000}[unit], 0)
    time = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=microseconds)  # noqa: DTZ001 - has no zone
    return time.isoformat(timespec="microseconds") + (f"{nanoseconds:03d}" if unit == "ns" else "")


DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def neighbours(column: Column, value: Any) -> list[Any]:  # noqa: PLR0911
    """Return a value and its neighbours."""
    if isinstance(value, bool):
        return [value, not value]
    if isinstance(value, int):
        inside = [value - 1, value, value + 1]
        width = column.type.bit_width
        low, high = (
            (0, DAY[column.type.unit]) if is_type.is_time(column.type) else (-(1 << (width - 1)), 1 << (width - 1))
        )
        return [n for n in inside if low <= n < high]
    if isinstance(value, float):
        return [value, -value, value * 2, math.floor(value) if math.isfinite(value) else 0.0]
    if isinstance(value, Decimal):
        return [value, -value, value + Decimal(1).scaleb(-column.type.scale)]
    if isinstance(value, dt.date):
        beside = (value.toordinal() + step for step in (-1, 0, 1))
        return [dt.date.fromordinal(day) for day in beside if 1 <= day <= dt.date.max.toordinal()]
    if isinstance(value, str):
        return [value, value[:2], value + "a", value[::-1]]
    return [value]


def literals(column: Column) -> list[Any]:
    values = [neighbour for value in set(column.values) - {None} for neighbour in neighbours(column, value)]
    if column.is_float:
        values = [float(value) for value in values] + [math.nan, math.inf, -math.inf, 0.0, -0.0]
    return sorted((v for v in {repr(v): v for v in values}.values() if in_range(column, v)), key=key)


def in_range(column: Column, value: Any) -> bool:
    try:
        literal(column, value)
        if is_type.is_decimal(column.type):
            pa.scalar(value, column.type)
    except (OverflowError, pa.ArrowInvalid):
        return False
    return True


# Filters


@dataclass(frozen=True)
class Filter:
    """A filter as SQL, and its value for each row."""

    sql: str
    truths: tuple[Truth, ...]


def leaf(sql: str, column: Column, test: Callable[[Any], Truth]) -> Filter:
    """Create a filter from a test of values that are not NULL."""
    return Filter(sql, tuple(None if value is None else test(value) for value in column.values))


COMPARISONS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@st.composite
def leaves(draw: st.DrawFn, columns: tuple[Column, ...]) -> Filter:
    column = draw(st.sampled_from(columns))
    choices = literals(column)
    kinds = ["null", *(("compare", "compare", "in", "between") if choices else ())]
    kinds += ["nan"] * column.is_float + ["like", "like"] * bool(column.is_text and choices)
    match draw(st.sampled_from(kinds)):
        case "compare":
            symbol, value = draw(st.sampled_from(sorted(COMPARISONS))), draw(st.sampled_from(choices))
            holds = COMPARISONS[symbol]
            return leaf(f"{column.sql} {symbol} {literal(column, value)}", column, lambda v: holds(key(v), key(value)))
        case "between":
            low, high = draw(st.sampled_from(choices)), draw(st.sampled_from(choices))
            sql = f"{column.sql} BETWEEN {literal(column, low)} AND {literal(column, high)}"
            return leaf(sql, column, lambda v: key(low) <= key(v) <= key(high))
        case "in":
            return among(column, draw(st.lists(st.sampled_from(choices), min_size=1, max_size=4)), draw(st.booleans()))
        case "like":
            return like(column, draw(st.sampled_from(choices)), draw(st.sampled_from(["%", "_%", "%_", "", "a%"])))
        case "nan":
            return Filter(f"{column.sql} IS NAN", tuple(v is not None and math.isnan(v) for v in column.values))
        case _:
            return Filter(f"{column.sql} IS NULL", tuple(v is None for v in column.values))


def among(column: Column, values: list[Any], with_null: bool) -> Filter:  # noqa: FBT001
    keys = {key(value) for value in values}
    written = [literal(column, value) for value in values] + ["NULL"] * with_null
    missing = None if with_null else False
    return leaf(f"{column.sql} IN ({', '.join(written)})", column, lambda v: True if key(v) in keys else missing)


def like(column: Column, text: str, ending: str) -> Filter:
    start = re.sub(r"([\\%_])", r"\\\1", text[:3])
    pattern = re.compile(re.escape(text[:3]) + ending.replace("%", ".*").replace("_", "."), re.DOTALL)
    sql = f"{column.sql} LIKE '{start.replace(chr(39), chr(39) * 2)}{ending}'"
    return leaf(sql, column, lambda v: pattern.fullmatch(v) is not None)


def combined(word: str, parts: list[Filter]) -> Filter:
    """Combine filters by AND or OR."""
    flip = opposite if word == "OR" else lambda truth: truth
    rows = zip(*(part.truths for part in parts), strict=True)
    truths = tuple(flip(reduce(both, (flip(truth) for truth in row))) for row in rows)
    return Filter(f" {word} ".join(f"({part.sql})" for part in parts), truths)


def negated(part: Filter) -> Filter:
    return Filter(f"NOT ({part.sql})", tuple(opposite(truth) for truth in part.truths))


def filters(columns: tuple[Column, ...]) -> st.SearchStrategy[Filter]:
    return st.recursive(
        leaves(columns),
        lambda inner: st.one_of(
            inner.map(negated),
            st.builds(combined, st.sampled_from(["AND", "OR"]), st.lists(inner, min_size=2, max_size=3)),
        ),
        max_leaves=5,
    )


# Tables


@dataclass(frozen=True)
class Whole:
    """A table with all its rows."""

    table: Table
    columns: tuple[Column, ...]
    rows: tuple[str, ...]

    def expected(self, chosen: Filter) -> Counter[str]:
        return Counter(row for row, truth in zip(self.rows, chosen.truths, strict=True) if truth)


@cache
def whole(name: str) -> Whole:
    table = frazil.load_table(str(GOLDEN / name))
    data = table.scan().to_arrow()
    arrays = [column.combine_chunks() for column in data.columns]
    columns = [c for field, a in zip(data.schema, arrays, strict=True) for c in columns_of(quoted(field.name), a)]
    return Whole(table, tuple(columns), tuple(rows_of(data)))


def rows_of(data: pa.Table) -> list[str]:
    """Return each row as a string, which unlike Python values can compare NaN, signed zeros and nanoseconds."""
    columns = [column.cast(pa.int64()) if is_type.is_timestamp(column.type) else column for column in data.columns]
    return [repr(row) for row in zip(*(column.to_pylist() for column in columns), strict=True)]
