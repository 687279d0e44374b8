"""Column types as plain data, their values, and the values under an evolved type.

Values are bool, int, float, Decimal, str and bytes. Dates are days, times and timestamps are microseconds or
nanoseconds. A struct is a dictionary by name, a list a list, and a map a list of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY_US = 86_400_000_000


@dataclass(frozen=True)
class Simple:
    """A type without nested types: `Simple("decimal", 9, 2)`, `Simple("fixed", 4)`."""

    name: str
    size: int = 0
    scale: int = 0


@dataclass(frozen=True)
class Field:
    """A column, or a field of a struct. `initial` is the value of rows that were written before the field was added."""

    id: int
    name: str
    type: Type
    required: bool = False
    initial: Any = None
    default: Any = None


@dataclass(frozen=True)
class Struct:
    """A struct; a table is a struct of its columns."""

    fields: tuple[Field, ...]

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.fields]

    def find(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)


@dataclass(frozen=True)
class List:
    """A list."""

    element: Type
    required: bool = False


@dataclass(frozen=True)
class Map:
    """A map; keys are never NULL."""

    key: Type
    value: Type
    required: bool = False


Type = Simple | Struct | List | Map

INTEGERS = {"int": 32, "long": 64}
FLOATS = ("float", "double")
MOMENTS = ("timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns")
BYTES = ("binary", "fixed", "uuid")

_PLAIN_ARROW = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz_ns": pa.timestamp("ns", "UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
    "uuid": pa.uuid(),
}


def arrow_type(kind: Type) -> pa.DataType:
    """Return the Arrow type from which a table column of this type is created."""
    match kind:
        case Struct(fields):
            return pa.struct([arrow_field(field) for field in fields])
        case List(element, required):
            return pa.list_(pa.field("element", arrow_type(element), nullable=not required))
        case Map(key, value, required):
            return pa.map_(
                pa.field("key", arrow_type(key), nullable=False),
                pa.field("value", arrow_type(value), nullable=not required),
            )
        case Simple("decimal", size, scale):
            return pa.decimal128(size, scale)
        case Simple("fixed", size):
            return pa.binary(size)
        case _:
            return _PLAIN_ARROW[kind.name]


def arrow_field(field: Field) -> pa.Field:
    """Return the Arrow field of a column."""
    return pa.field(field.name, arrow_type(field.type), nullable=not field.required)


def arrow_schema(columns: Struct) -> pa.Schema:
    """Return the Arrow schema of a table."""
    return pa.schema([arrow_field(field) for field in columns.fields])


def walk(kind: Type) -> Iterator[Type]:
    """Yield a type and all types nested in it."""
    yield kind
    match kind:
        case Struct(fields):
            for field in fields:
                yield from walk(field.type)
        case List(element):
            yield from walk(element)
        case Map(key, value):
            yield from walk(key)
            yield from walk(value)


def leaves(columns: Struct, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Simple]]:
    """Yield the path and the type of every simple column outside of lists and maps."""
    for field in columns.fields:
        if isinstance(field.type, Simple):
            yield (*prefix, field.name), field.type
        elif isinstance(field.type, Struct):
            yield from leaves(field.type, (*prefix, field.name))


def at(columns: Struct, path: tuple[str, ...]) -> Field | None:
    """Return the field at a path of names, or None."""
    found = columns.find(path[0])
    for name in path[1:]:
        if found is None or not isinstance(found.type, Struct):
            return None
        found = found.type.find(name)
    return found


def value_at(row: dict[str, Any], path: tuple[str, ...]) -> Any:
    """Return the value at a path of names, which is NULL below NULL."""
    value: Any = row
    for name in path:
        if value is None:
            return None
        value = value[name]
    return value


def project(value: Any, written: Type, read: Type) -> Any:  # noqa: PLR0911 - one line for each type
    """Return a value that was written with one type, as it is read with a later one."""
    if value is None or written is read or written == read:
        return value
    match written, read:
        case Struct(), Struct():
            known = {field.id: field for field in written.fields}
            found = {}
            for field in read.fields:
                old = known.get(field.id)
                found[field.name] = field.initial if old is None else project(value[old.name], old.type, field.type)
            return found
        case List(), List():
            return [project(element, written.element, read.element) for element in value]
        case Map(), Map():
            return [
                (project(key, written.key, read.key), project(part, written.value, read.value)) for key, part in value
            ]
        case Simple("date"), Simple("timestamp"):
            return value * DAY_US
        case Simple("date"), Simple("timestamp_ns"):
            return value * DAY_US * 1000
        case _:
            return value
