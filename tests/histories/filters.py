"""Filters as trees: their SQL text, and their value for a row in three-valued logic (None is unknown)."""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from histories.names import path_sql
from histories.types import FLOATS, Simple, Struct, leaves, value_at
from histories.values import Limits, random_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from random import Random

Truth = bool | None
Path = tuple[str, ...]
COMPARISONS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Compare:
    path: Path
    type: Simple
    symbol: str
    value: Any


@dataclass(frozen=True)
class Between:
    path: Path
    type: Simple
    low: Any
    high: Any


@dataclass(frozen=True)
class Among:
    path: Path
    type: Simple
    values: tuple[Any, ...]
    with_null: bool = False


@dataclass(frozen=True)
class Like:
    path: Path
    prefix: str
    ending: str


@dataclass(frozen=True)
class IsNull:
    path: Path


@dataclass(frozen=True)
class IsNan:
    path: Path


@dataclass(frozen=True)
class Not:
    part: Filter


@dataclass(frozen=True)
class Both:
    parts: tuple[Filter, ...]


@dataclass(frozen=True)
class Either:
    parts: tuple[Filter, ...]


Filter = Compare | Between | Among | Like | IsNull | IsNan | Not | Both | Either


def paths_of(node: Filter) -> set[Path]:
    """Return the columns that a filter references."""
    match node:
        case Not(part):
            return paths_of(part)
        case Both(parts) | Either(parts):
            return set().union(*map(paths_of, parts))
        case _:
            return {node.path}


def typed_paths(node: Filter) -> Iterable[tuple[Path, Simple | None]]:
    """Yield the columns that a filter references, with the types of its literals."""
    match node:
        case Not(part):
            yield from typed_paths(part)
        case Both(parts) | Either(parts):
            for part in parts:
                yield from typed_paths(part)
        case Compare() | Between() | Among():
            yield node.path, node.type
        case Like():
            yield node.path, Simple("string")
        case _:
            yield node.path, None


def with_paths(node: Filter, change: Callable[[Path], Path]) -> Filter:
    """Return a filter with renamed columns."""
    match node:
        case Not(part):
            return Not(with_paths(part, change))
        case Both(parts) | Either(parts):
            return type(node)(tuple(with_paths(part, change) for part in parts))
        case _:
            return replace(node, path=change(node.path))


# Truth


def key(value: Any) -> Any:
    """Return the sort key of a value: NaN is equal to itself and greater than everything."""
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def truth(node: Filter, row: dict[str, Any]) -> Truth:
    """Return the value of a filter for a row."""
    match node:
        case Not(part):
            held = truth(part, row)
            return None if held is None else not held
        case Both(parts):
            return _all([truth(part, row) for part in parts])
        case Either(parts):
            held = _all([None if t is None else not t for t in (truth(part, row) for part in parts)])
            return None if held is None else not held
        case IsNull(path):
            return value_at(row, path) is None
        case IsNan(path):
            value = value_at(row, path)
            return value is not None and math.isnan(value)
    value = value_at(row, node.path)
    return None if value is None else _holds(node, value)


def _holds(node: Filter, value: Any) -> Truth:
    match node:
        case Compare(_, _, symbol, other):
            return bool(COMPARISONS[symbol](key(value), key(other)))
        case Between(_, _, low, high):
            return bool(key(low) <= key(value) <= key(high))
        case Among(_, _, values, with_null):
            return True if key(value) in {key(v) for v in values} else (None if with_null else False)
        case Like(_, prefix, ending):
            pattern = re.escape(prefix) + ending.replace("%", ".*").replace("_", ".")
            return re.fullmatch(pattern, value, re.DOTALL) is not None
    raise TypeError(node)


def _all(truths: Sequence[Truth]) -> Truth:
    return False if False in truths else (None if None in truths else True)


# SQL


def sql(node: Filter, write: Callable[[Simple, Any], str] | None = None) -> str:  # noqa: PLR0911 - one line for each
    """Return a filter as SQL. Values are formatted by `write`, or else as filter literals."""
    write = write or literal
    match node:
        case Not(part):
            return f"NOT ({sql(part, write)})"
        case Both(parts):
            return " AND ".join(f"({sql(part, write)})" for part in parts)
        case Either(parts):
            return " OR ".join(f"({sql(part, write)})" for part in parts)
        case IsNull(path):
            return f"{path_sql(path)} IS NULL"
        case IsNan(path):
            return f"{path_sql(path)} IS NAN"
        case Compare(path, kind, symbol, value):
            return f"{path_sql(path)} {symbol} {write(kind, value)}"
        case Between(path, kind, low, high):
            return f"{path_sql(path)} BETWEEN {write(kind, low)} AND {write(kind, high)}"
        case Among(path, kind, values, with_null):
            written = [write(kind, value) for value in values] + ["NULL"] * with_null
            return f"{path_sql(path)} IN ({', '.join(written)})"
        case Like(path, prefix, ending):
            start = re.sub(r"([\\%_])", r"\\\1", prefix).replace("'", "''")
            return f"{path_sql(path)} LIKE '{start}{ending}'"


def constant(kind: Simple, value: Any) -> str:
    """Return a value as an SQL expression of the type."""
    if value is None:
        return "NULL"
    if kind.name in FLOATS:
        return f"CAST('{'nan' if math.isnan(value) else repr(value)}' AS {kind.name})"
    if kind.name == "decimal":
        return f"CAST('{value:f}' AS decimal({kind.size}, {kind.scale}))"
    return f"CAST({literal(kind, value)} AS uuid)" if kind.name == "uuid" else literal(kind, value)


def literal(kind: Simple, value: Any) -> str:  # noqa: C901, PLR0911
    """Return a value as an SQL literal."""
    if value is None:
        return "NULL"
    match kind.name:
        case "boolean":
            return str(value).lower()
        case "float" | "double":
            return {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan" if math.isnan(value) else repr(value))
        case "decimal":
            return f"{value:f}"
        case "string":
            return "'" + value.replace("'", "''") + "'"
        case "binary" | "fixed":
            return f"X'{value.hex()}'"
        case "uuid":
            return f"'{uuid.UUID(bytes=value)}'"
        case "date":
            return f"DATE '{dt.date.fromordinal(value + 719163).isoformat()}'"
        case "time":
            return f"TIME '{_moment(value)[11:]}'"
        case "timestamp" | "timestamptz" | "timestamp_ns" | "timestamptz_ns":
            return f"TIMESTAMP '{moment_text(kind, value)}'"
        case _:
            return str(value)


def moment_text(kind: Simple, value: int) -> str:
    """Return a timestamp as a string with all of its digits."""
    zone = "+00:00" if "tz" in kind.name else ""
    return f"{_moment(value // 1000)}{value % 1000:03d}{zone}" if kind.name.endswith("_ns") else _moment(value) + zone


def _moment(value_us: int) -> str:
    epoch = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - the zone is text
    return (epoch + dt.timedelta(microseconds=value_us)).isoformat(timespec="microseconds")


# Random filters


@dataclass(frozen=True)
class Choices:
    """The input for random filters: columns, rows that provide values, and limits of other values."""

    columns: Struct
    rows: Sequence[dict[str, Any]]
    limits: Limits


def random_filter(random: Random, choices: Choices, depth: int = 2) -> Filter | None:
    """Return a random filter, or None for a table without simple columns."""
    paths = list(leaves(choices.columns))
    return _node(random, choices, paths, depth) if paths else None


def _node(random: Random, choices: Choices, paths: list[tuple[Path, Simple]], depth: int) -> Filter:
    chosen = random.random()
    if depth == 0 or chosen < 0.6:
        return _leaf(random, choices, *random.choice(paths))
    if chosen < 0.72:
        return Not(_node(random, choices, paths, depth - 1))
    parts = tuple(_node(random, choices, paths, depth - 1) for _ in range(random.randint(2, 3)))
    return Both(parts) if chosen < 0.86 else Either(parts)


def _leaf(random: Random, choices: Choices, path: Path, kind: Simple) -> Filter:
    def value() -> Any:
        known = [v for row in choices.rows[:20] if (v := value_at(row, path)) is not None]
        return random.choice(known) if known and random.random() < 0.8 else random_value(random, kind, choices.limits)

    kinds = ["compare", "compare", "compare", "in", "between", "null"]
    kinds += ["nan"] * (kind.name in FLOATS) + ["like", "like"] * (kind.name == "string")
    match random.choice(kinds):
        case "compare":
            return Compare(path, kind, random.choice(sorted(COMPARISONS)), value())
        case "in":
            values = tuple(value() for _ in range(random.randint(1, 3)))
            return Among(path, kind, values, random.random() < 0.2)
        case "between":
            return Between(path, kind, value(), value())
        case "like":
            return Like(path, value()[: random.randint(0, 3)], random.choice(("%", "_%", "%_", "", "a%")))
        case "nan":
            return IsNan(path)
        case _:
            return IsNull(path)
