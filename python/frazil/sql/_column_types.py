"""Column types of Spark SQL, and the Iceberg schemas built from them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.iceberg._schema import Schema
from frazil.sql._lexer import unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from frazil.sql._reader import Reader

_SYNONYMS = {
    "BYTE": "TINYINT",
    "CHARACTER": "CHAR",
    "DEC": "DECIMAL",
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "NUMERIC": "DECIMAL",
    "REAL": "FLOAT",
    "SHORT": "SMALLINT",
}
_ICEBERG = {
    "BIGINT": "long",
    "BINARY": "binary",
    "BOOLEAN": "boolean",
    "CHAR": "string",
    "DATE": "date",
    "DECIMAL": "decimal",
    "DOUBLE": "double",
    "FLOAT": "float",
    "INT": "int",
    "SMALLINT": "int",
    "STRING": "string",
    "TIMESTAMP_LTZ": "timestamptz",
    "TIMESTAMP_NTZ": "timestamp",
    "TINYINT": "int",
    "VARCHAR": "string",
    "VARIANT": "variant",
}
"""The types of Spark's Iceberg connector, by Spark name. TIMESTAMP depends on `spark.sql.timestampType`."""

_PAIMON = {"BINARY": "BYTES", "TIMESTAMP_NTZ": "TIMESTAMP(6)", "TIMESTAMP_LTZ": "TIMESTAMP(6) WITH LOCAL TIME ZONE"}
"""The types of Paimon's Spark connector, by Spark name. Types that are not listed have the same name in Paimon."""

_DEFAULTS = {"DECIMAL": (10, 0)}
_LENGTHS = ("CHAR", "VARCHAR")
_SESSION_TIMESTAMP = "TIMESTAMP"
_LATER = ("DEFAULT", "GENERATED", "PRIMARY", "CHECK", "COLLATE")


@dataclass(frozen=True, slots=True)
class Primitive:
    """A primitive type: its Spark name, and its length or its precision and scale.

    The session determines whether TIMESTAMP has a time zone.
    """

    name: str
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Array:
    """An array type."""

    element: ColumnType


@dataclass(frozen=True, slots=True)
class Map:
    """A map type."""

    key: ColumnType
    value: ColumnType


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field of a struct."""

    name: str
    type: ColumnType
    required: bool = False
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct type."""

    fields: tuple[Column, ...]


ColumnType = Primitive | Array | Map | Struct


def column_type(reader: Reader) -> ColumnType:
    """Parse a type.

    Raises:
        UnsupportedError: The type does not exist, or tables do not support it.

    >>> from frazil.sql._reader import Reader
    >>> column_type(Reader("array<decimal(9, 2)>"))
    Array(element=Primitive(name='DECIMAL', numbers=(9, 2)))
    """
    if reader.accept("ARRAY", "<"):
        element = column_type(reader)
        reader.expect(">")
        return Array(element)
    if reader.accept("MAP", "<"):
        key = column_type(reader)
        reader.expect(",")
        value = column_type(reader)
        reader.expect(">")
        return Map(key, value)
    if reader.accept("STRUCT", "<"):
        return Struct(tuple(_fields(reader)))
    return _primitive(reader)


def column_rest(reader: Reader, name: str) -> Column:
    """Parse the part after a column name: its type, NOT NULL and COMMENT.

    Raises:
        UnsupportedError: There is another clause, such as DEFAULT.
    """
    found = column_type(reader)
    required, comment = False, None
    while word := reader.accept_any("NOT", "COMMENT"):
        if word == "NOT":
            reader.expect("NULL")
            required = True
        else:
            comment = reader.string("the comment")
    if clause := next((word for word in _LATER if reader.at(word)), None):
        reader.reject(f"{clause} of a column is not supported")
    return Column(name, found, required, comment)


def iceberg_schema(columns: Sequence[Column], *, timestamp_has_zone: bool) -> Schema:
    """Return the Iceberg schema of columns, with ids assigned level by level, as in the Java library.

    >>> both = (Column("a", Primitive("BIGINT")), Column("b", Primitive("STRING")))
    >>> columns = (Column("s", Struct(both)), Column("t", Primitive("TIMESTAMP")))
    >>> schema = iceberg_schema(columns, timestamp_has_zone=True)
    >>> print(schema.find_field("t"), "|", schema.find_field("s.a"))
    2: t: optional timestamptz | 3: a: optional long
    """
    ids = _Ids(_timestamp(timestamp_has_zone))
    return Schema.from_json({"type": "struct", "schema-id": 0, "fields": ids.fields(columns)})


def iceberg_type(found: ColumnType, *, timestamp_has_zone: bool) -> str:
    """Return an Iceberg type as a string or, if it is nested, as JSON.

    >>> iceberg_type(Primitive("BIGINT"), timestamp_has_zone=True)
    'long'
    """
    made = _Ids(_timestamp(timestamp_has_zone)).type(found)
    return made if isinstance(made, str) else json.dumps(made)


def spark_type(iceberg: str) -> str:
    """Return the Spark type of a primitive Iceberg type.

    >>> spark_type("timestamptz"), spark_type("decimal(9, 2)")
    ('TIMESTAMP_LTZ', 'decimal(9, 2)')
    """
    # Several Spark types are stored as int and as string; their widest comes first.
    found = next((spark for spark in ("INT", "STRING", *_ICEBERG) if _ICEBERG[spark] == iceberg), None)
    return found or iceberg


def paimon_columns(columns: Sequence[Column], *, timestamp_has_zone: bool) -> list[tuple[str, str]]:
    """Return columns with their Paimon types, as strings.

    >>> paimon_columns([Column("t", Array(Primitive("TIMESTAMP")), required=True)], timestamp_has_zone=False)
    [('t', 'ARRAY<TIMESTAMP(6)> NOT NULL')]
    """
    timestamp = _timestamp(timestamp_has_zone)
    return [(column.name, _paimon_type(column.type, timestamp) + _not_null(column)) for column in columns]


class _Ids:
    """The counter for field ids."""

    def __init__(self, timestamp: str) -> None:
        self._next = 1
        self._timestamp = timestamp

    def fields(self, columns: Sequence[Column]) -> list[dict[str, Any]]:
        taken = [self._take() for _ in columns]
        return [
            {"id": field_id, "name": column.name, "required": column.required, "type": self.type(column.type)}
            | ({} if column.comment is None else {"doc": column.comment})
            for field_id, column in zip(taken, columns, strict=True)
        ]

    def type(self, found: ColumnType) -> Any:
        match found:
            case Struct(fields):
                return {"type": "struct", "fields": self.fields(fields)}
            case Array(element):
                taken = self._take()
                return {
                    "type": "list",
                    "element-id": taken,
                    "element": self.type(element),
                    "element-required": False,
                }
            case Map(key, value):
                key_id, value_id = self._take(), self._take()
                return {
                    "type": "map",
                    "key-id": key_id,
                    "key": self.type(key),
                    "value-id": value_id,
                    "value": self.type(value),
                    "value-required": False,
                }
        name = self._timestamp if found.name == _SESSION_TIMESTAMP else found.name
        return f"decimal({found.numbers[0]}, {found.numbers[1]})" if name == "DECIMAL" else _ICEBERG[name]

    def _take(self) -> int:
        self._next += 1
        return self._next - 1


def _fields(reader: Reader) -> Iterator[Column]:
    while True:
        name = reader.identifier("the name of a field")
        reader.accept(":")
        yield column_rest(reader, name)
        if not reader.accept(","):
            break
    reader.expect(">")


def _primitive(reader: Reader) -> Primitive:
    place = reader.peek()
    word = reader.identifier("a type").upper()
    name = _SYNONYMS.get(word, word)
    if name not in _ICEBERG and name != _SESSION_TIMESTAMP:
        types = ", ".join(sorted({*_ICEBERG, _SESSION_TIMESTAMP}))
        problem = f"column type {word} is not supported"
        raise unsupported(
            reader.text, place.start if place else 0, problem, f"the supported types are {types}, ARRAY, MAP, STRUCT"
        )
    if name in _LENGTHS:
        reader.expect("(")
        length = reader.whole_number("a length")
        reader.expect(")")
        return Primitive(name, (length,))
    return Primitive(name, _arguments(reader, _DEFAULTS[name])) if name in _DEFAULTS else Primitive(name)


def _timestamp(has_zone: bool) -> str:  # noqa: FBT001 - one of two names
    return "TIMESTAMP_LTZ" if has_zone else "TIMESTAMP_NTZ"


def _not_null(column: Column) -> str:
    return " NOT NULL" if column.required else ""


def _paimon_type(found: ColumnType, timestamp: str) -> str:
    match found:
        case Struct(fields):
            parts = (
                "`" + part.name.replace("`", "``") + "` " + _paimon_type(part.type, timestamp) + _not_null(part)
                for part in fields
            )
            return f"ROW<{', '.join(parts)}>"
        case Array(element):
            return f"ARRAY<{_paimon_type(element, timestamp)}>"
        case Map(key, value):
            return f"MAP<{_paimon_type(key, timestamp)}, {_paimon_type(value, timestamp)}>"
    name = timestamp if found.name == _SESSION_TIMESTAMP else found.name
    numbers = f"({', '.join(map(str, found.numbers))})" if found.numbers else ""
    return _PAIMON.get(name, name) + numbers


def _arguments(reader: Reader, default: tuple[int, int]) -> tuple[int, int]:
    """Parse up to two numbers in parentheses."""
    if not reader.accept("("):
        return default
    first = reader.whole_number("a length or a precision")
    second = reader.whole_number("a scale") if reader.accept(",") else 0
    reader.expect(")")
    return first, second
