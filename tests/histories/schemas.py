"""Random schemas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from histories.names import new_name
from histories.types import Field, List, Map, Simple, Struct, Type

if TYPE_CHECKING:
    from random import Random

V1_TYPES = tuple(
    "boolean int long float double decimal date time timestamp timestamptz string binary fixed uuid".split()  # noqa: SIM905
)
V3_TYPES = ("timestamp_ns", "timestamptz_ns")
KEY_TYPES = ("int", "long", "string", "date", "boolean", "decimal", "timestamp")


@dataclass(frozen=True)
class Shape:
    """The properties of schemas."""

    types: tuple[str, ...]
    hostile: float
    reserved: tuple[str, ...] = ()


class Ids:
    """The counter of field ids."""

    def __init__(self, last: int = 0) -> None:
        self.last = last

    def next(self) -> int:
        self.last += 1
        return self.last


def random_schema(random: Random, shape: Shape) -> Struct:
    """Return the columns of a table; the first one is an int or a long with few distinct values."""
    ids = Ids()
    first = Field(ids.next(), "id", Simple(random.choice(("int", "long", "long"))), required=random.random() < 0.3)
    columns = [first]
    for _ in range(random.randint(1, 5)):
        columns.append(random_column(random, shape, ids, [column.name for column in columns]))
    random.shuffle(columns)
    return Struct(tuple(columns))


def random_column(random: Random, shape: Shape, ids: Ids, taken: list[str], depth: int = 3) -> Field:
    """Return a column with an unused name."""
    name = new_name(random, taken, shape.hostile, shape.reserved)
    number = ids.next()
    return Field(number, name, random_type(random, shape, ids, depth), required=random.random() < 0.15)


def random_type(random: Random, shape: Shape, ids: Ids, depth: int = 3) -> Type:
    """Return a type of at most this nesting depth."""
    chosen = random.random() if depth else 0.0
    if chosen < 0.68:
        return simple_type(random, shape.types)
    if chosen < 0.84:
        fields: list[Field] = []
        for _ in range(random.randint(1, 3)):
            fields.append(random_column(random, shape, ids, [field.name for field in fields], depth - 1))
        return Struct(tuple(fields))
    if chosen < 0.93:
        return List(random_type(random, shape, ids, depth - 1), required=random.random() < 0.2)
    key = simple_type(random, KEY_TYPES)
    return Map(key, random_type(random, shape, ids, depth - 1), required=random.random() < 0.2)


def simple_type(random: Random, names: tuple[str, ...]) -> Simple:
    """Return a simple type."""
    name = random.choice(names)
    if name == "decimal":
        size, scale = random.choice(((1, 0), (4, 2), (9, 2), (18, 4), (19, 0), (38, 10), (38, 38)))
        return Simple(name, size, scale)
    return Simple(name, random.choice((1, 4, 16, 20))) if name == "fixed" else Simple(name)
