"""Columns and their types, in the syntax of Spark, Flink and Paimon."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from frazil.sql._lexer import invalid, unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from frazil.sql._reader import Reader

SESSION_TIMESTAMP = "TIMESTAMP"
"""The type whose time zone is determined by `spark.sql.timestampType`."""

_SYNONYMS = {
    "BYTE": "TINYINT",
    "BYTES": "BINARY",
    "CHARACTER": "CHAR",
    "DEC": "DECIMAL",
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "NUMERIC": "DECIMAL",
    "REAL": "FLOAT",
    "SHORT": "SMALLINT",
}
_NUMBERS = {
    "BIGINT": (0, 0),
    "BINARY": (0, 1),
    "BLOB": (0, 0),
    "BOOLEAN": (0, 0),
    "CHAR": (1, 1),
    "DATE": (0, 0),
    "DECIMAL": (0, 2),
    "DOUBLE": (0, 0),
    "FLOAT": (0, 0),
    "INT": (0, 0),
    "SMALLINT": (0, 0),
    "STRING": (0, 0),
    "TIME": (0, 1),
    "TIMESTAMP": (0, 1),
    "TIMESTAMP_LTZ": (0, 1),
    "TIMESTAMP_NTZ": (0, 1),
    "TINYINT": (0, 0),
    "VARBINARY": (1, 1),
    "VARCHAR": (1, 1),
    "VARIANT": (0, 0),
}
"""The primitive types, with the minimum and maximum number of their parameters."""

_SPATIAL = ("GEOGRAPHY", "GEOMETRY")
_NESTED = ("ARRAY", "MAP", "MULTISET", "ROW", "STRUCT")
_DEFAULTS = {"DECIMAL": (10, 0)}
_PRECISIONS = {"TIME": 9, "TIMESTAMP": 9, "TIMESTAMP_LTZ": 9, "TIMESTAMP_NTZ": 9}
"""The maximum number of fractional digits of seconds."""

_LATER = ("DEFAULT", "GENERATED", "PRIMARY", "CONSTRAINT", "CHECK", "COLLATE", "METADATA", "REFERENCES", "UNIQUE")


@dataclass(frozen=True, slots=True)
class Primitive:
    """A primitive type: its Spark name, and its length or its precision and scale.

    The session determines whether TIMESTAMP has a time zone.
    """

    name: str
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Spatial:
    """GEOMETRY or GEOGRAPHY, with its parameters: a coordinate reference system, and an algorithm for GEOGRAPHY."""

    name: str
    parameters: str = ""


@dataclass(frozen=True, slots=True)
class Array:
    """An array type."""

    element: ColumnType
    element_required: bool = False


@dataclass(frozen=True, slots=True)
class Multiset:
    """A multiset type."""

    element: ColumnType
    element_required: bool = False


@dataclass(frozen=True, slots=True)
class Map:
    """A map type."""

    key: ColumnType
    value: ColumnType
    key_required: bool = False
    value_required: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field of a struct."""

    name: str
    type: ColumnType
    required: bool = False
    comment: str | None = None
    default: str | None = None
    """The value of the DEFAULT literal."""
    has_binary_default: bool = False
    """Whether the DEFAULT literal is `X'…'`, whose value consists of hexadecimal digits."""
    is_key: bool = False
    """Whether the column has the clause PRIMARY KEY."""
    is_nullable: bool = False
    """Whether the column has the clause NULL."""
    start: int = field(default=0, repr=False, compare=False)
    """The offset of the name in the statement."""


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct type."""

    fields: tuple[Column, ...]


ColumnType = Primitive | Spatial | Array | Multiset | Map | Struct


def structs(found: ColumnType) -> Iterator[Struct]:
    """Yield the structs in a type, including the type itself.

    >>> [len(one.fields) for one in structs(Array(Struct((Column("a", Struct(())),))))]
    [1, 0]
    """
    match found:
        case Struct(fields):
            yield found
            inner = [field.type for field in fields]
        case Array(element) | Multiset(element):
            inner = [element]
        case Map(key, value):
            inner = [key, value]
        case _:
            inner = []
    for one in inner:
        yield from structs(one)


def column_type(reader: Reader) -> ColumnType:
    """Parse a type.

    Raises:
        InvalidArgumentError: A parameter of the type is invalid.
        UnsupportedError: The type does not exist, or tables do not support it.

    >>> from frazil.sql._reader import Reader
    >>> column_type(Reader("array<decimal(9, 2) not null>"))
    Array(element=Primitive(name='DECIMAL', numbers=(9, 2)), element_required=True)
    >>> column_type(Reader("timestamp(3) with local time zone"))
    Primitive(name='TIMESTAMP_LTZ', numbers=(3,))
    """
    if reader.accept("ARRAY", "<"):
        element = _nested(reader)
        reader.expect(">")
        return Array(*element)
    if reader.accept("MULTISET", "<"):
        element = _nested(reader)
        reader.expect(">")
        return Multiset(*element)
    if reader.accept("MAP", "<"):
        key, key_required = _nested(reader)
        reader.expect(",")
        value, value_required = _nested(reader)
        reader.expect(">")
        return Map(key, value, key_required, value_required)
    if reader.accept("STRUCT", "<") or reader.accept("ROW", "<"):
        return Struct(tuple(_fields(reader, ">")))
    if reader.accept("ROW", "("):
        return Struct(tuple(_fields(reader, ")")))
    return _primitive(reader)


def _required(reader: Reader) -> dict[str, Any]:
    reader.expect("NOT", "NULL")
    return {"required": True}


def _nullable(reader: Reader) -> dict[str, Any]:
    reader.expect("NULL")
    return {"is_nullable": True}


def _comment(reader: Reader) -> dict[str, Any]:
    reader.expect("COMMENT")
    return {"comment": reader.string("the comment")}


COLUMN_CLAUSES: Mapping[str, Callable[[Reader], dict[str, Any]]] = {
    "COMMENT": _comment,
    "NOT": _required,
    "NULL": _nullable,
}
"""The clauses of a column or a field by first word; each parser returns the changed attributes."""


def column_rest(
    reader: Reader, name: str, clauses: Mapping[str, Callable[[Reader], dict[str, Any]]] = COLUMN_CLAUSES
) -> Column:
    """Parse the part after a column name: its type and its clauses.

    Raises:
        InvalidArgumentError: A clause is specified twice, or clauses contradict each other.
        UnsupportedError: The column has an unsupported clause.
    """
    column = Column(name, column_type(reader))
    taken: set[str] = set()
    while word := next((word for word in clauses if reader.at(word)), None):
        if word in taken or {word, *taken} >= {"NOT", "NULL"}:
            reader.fail(f"column `{name}`: {word} is specified twice or contradicts another clause")
        taken.add(word)
        column = replace(column, **clauses[word](reader))
    if clause := next((word for word in _LATER if reader.at(word)), None):
        reader.reject(f"{clause} of a column is not supported")
    return column


def _nested(reader: Reader) -> tuple[ColumnType, bool]:
    """Parse a nested type, and whether it is NOT NULL."""
    found = column_type(reader)
    required = reader.accept("NOT", "NULL")
    if not required:
        reader.accept("NULL")
    return found, required


def _fields(reader: Reader, closing: str) -> Iterator[Column]:
    while True:
        name = reader.identifier("the name of a field")
        reader.accept(":")
        column = column_rest(reader, name)
        token = reader.peek()
        if token is not None and token.kind == "string" and column.comment is None:
            column = replace(column, comment=reader.string("the comment"))
        yield column
        if not reader.accept(","):
            break
    reader.expect(closing)


def _primitive(reader: Reader) -> Primitive | Spatial:
    place = reader.peek()
    start = place.start if place else 0
    word = reader.identifier("a type").upper()
    name = _SYNONYMS.get(word, word)
    if name in _SPATIAL:
        return Spatial(name, _spatial_parameters(reader))
    if name not in _NUMBERS:
        types = ", ".join(sorted((*_NUMBERS, *_SPATIAL, *_NESTED)))
        problem = f"column type {word} is not supported"
        raise unsupported(reader.text, start, problem, f"the supported types are {types}")
    if name == "DOUBLE":
        reader.accept("PRECISION")
    least, most = (0, 0) if word == "BYTES" else _NUMBERS[name]
    numbers = _numbers(reader) if least or (most and reader.at("(")) else ()
    if len(numbers) > most:
        raise invalid(reader.text, start, f"the type {word} has at most {most} parameters, not {len(numbers)}")
    limit = _PRECISIONS.get(name)
    if limit is not None and numbers and numbers[0] > limit:
        raise invalid(reader.text, start, f"the precision of {word} must be from 0 to {limit}, not {numbers[0]}")
    default = _DEFAULTS.get(name, ())
    return Primitive(_zoned(reader, name, numbers), (*numbers, *default[len(numbers) :]))


def _zoned(reader: Reader, name: str, numbers: tuple[int, ...]) -> str:
    """Parse the time zone of a timestamp, and return the name of the type."""
    if name not in ("TIME", SESSION_TIMESTAMP):
        return name
    if reader.accept("WITHOUT", "TIME", "ZONE"):
        return "TIME" if name == "TIME" else "TIMESTAMP_NTZ"
    if name == SESSION_TIMESTAMP and reader.accept("WITH", "LOCAL", "TIME", "ZONE"):
        return "TIMESTAMP_LTZ"
    if reader.at("WITH", "TIME", "ZONE"):
        reader.reject(f"{name} WITH TIME ZONE is not supported", "use TIMESTAMP WITH LOCAL TIME ZONE")
    # Only Flink has timestamps with a precision; there they do not have a time zone.
    return "TIMESTAMP_NTZ" if name == SESSION_TIMESTAMP and numbers else name


def _numbers(reader: Reader) -> tuple[int, ...]:
    reader.expect("(")
    found = [reader.whole_number("a length or a precision")]
    while reader.accept(","):
        found.append(reader.whole_number("a scale"))
    reader.expect(")")
    return tuple(found)


def _spatial_parameters(reader: Reader) -> str:
    """Return the text in the parentheses of GEOMETRY or GEOGRAPHY."""
    first = reader.peek()
    if first is None or not reader.at("("):
        return ""
    second = reader.peek(1)
    if second is not None and second.kind == "number":
        reader.reject("a coordinate reference system as a number is not supported", f"write (srid:{second.text})")
    if second is not None and second.kind == "string":
        reader.expect("(")
        found = reader.string("the coordinate reference system")
        reader.expect(")")
        return found
    reader.skip_parentheses()
    return reader.since(first).text[1:-1].strip()
