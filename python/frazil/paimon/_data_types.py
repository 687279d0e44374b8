"""Data types (documentation: "Data Types"): their SQL notation, their JSON form in schemas and their Arrow types."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from frazil.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

LONGEST = 2**31 - 1
"""The length parameter of the types STRING and BYTES, which are the longest VARCHAR and VARBINARY."""

DEPTH_LIMIT = 100
"""The maximum nesting depth of types; deeper types are rejected."""

LOCAL_ZONED = "TIMESTAMP WITH LOCAL TIME ZONE"

_SYNONYMS = {"INTEGER": "INT", "DEC": "DECIMAL", "NUMERIC": "DECIMAL", "TIMESTAMP_LTZ": LOCAL_ZONED}
_PLAIN = frozenset({"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "VARIANT", "BLOB"})
_DEFAULTS = {
    "CHAR": (1,),
    "VARCHAR": (1,),
    "BINARY": (1,),
    "VARBINARY": (1,),
    "DECIMAL": (10, 0),
    "TIME": (0,),
    "TIMESTAMP": (6,),
    LOCAL_ZONED: (6,),
}
_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)*)`|'((?:[^']|'')*)'|(\w+)|([<>(),]))")


@dataclass(frozen=True, slots=True)
class TypeField:
    """A field of a ROW, with its name and type."""

    field_id: int
    name: str
    type: DataType
    description: str | None = None


@dataclass(frozen=True, slots=True)
class DataType:
    """A type: its name, its parameters (length, precision and scale) and its nested types."""

    name: str
    numbers: tuple[int, ...] = ()
    nullable: bool = True
    children: tuple[DataType, ...] = ()
    fields: tuple[TypeField, ...] = ()

    def __str__(self) -> str:
        """Return the SQL notation, as in `ARRAY<DECIMAL(10, 2) NOT NULL>`."""
        return self._text() + ("" if self.nullable else " NOT NULL")

    def to_json(self) -> str | dict[str, Any]:
        """Return the JSON form of schema files."""
        name = self.name if self.nullable else f"{self.name} NOT NULL"
        if self.name == "ROW":
            return {"type": name, "fields": [_field_json(field) for field in self.fields]}
        if self.name == "MAP":
            return {"type": name, "key": self.children[0].to_json(), "value": self.children[1].to_json()}
        if self.children:
            return {"type": name, "element": self.children[0].to_json()}
        return str(self)

    def arrow(self) -> pa.DataType:
        """Return the Arrow type of the values."""
        import pyarrow as pa

        if self.name == "ROW":
            return pa.struct([pa.field(field.name, field.type.arrow(), field.type.nullable) for field in self.fields])
        if self.name == "VARIANT":
            return pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)])  # noqa: FBT003
        if self.name == "ARRAY":
            element = self.children[0]
            return pa.list_(pa.field("element", element.arrow(), element.nullable))
        if self.name in {"MAP", "MULTISET"}:
            key, value = (*self.children, DataType("INT", nullable=False))[:2]
            return pa.map_(
                pa.field("key", key.arrow(), nullable=False), pa.field("value", value.arrow(), value.nullable)
            )
        return _leaf_arrow(self)

    def texts(self, path: str) -> Iterator[tuple[str, str]]:
        """Yield the path of the value and the path of each nested value, each with its SQL type without NOT NULL."""
        yield path, self._text()
        names = {"ARRAY": ("element",), "MAP": ("key", "value"), "MULTISET": ("key",)}.get(self.name, ())
        for name, child in zip(names, self.children, strict=True):
            yield from child.texts(f"{path}.{name}")
        for member in self.fields:
            yield from member.type.texts(f"{path}.{member.name}")

    def _text(self) -> str:
        if self.name == "ROW":
            return f"ROW<{', '.join(_field_text(field) for field in self.fields)}>"
        if self.children:
            return f"{self.name}<{', '.join(str(child) for child in self.children)}>"
        if self.numbers == (LONGEST,):
            return {"VARCHAR": "STRING", "VARBINARY": "BYTES"}.get(self.name, f"{self.name}({LONGEST})")
        if not self.numbers:
            return self.name
        numbers = f"({', '.join(map(str, self.numbers))})"
        return f"TIMESTAMP{numbers} WITH LOCAL TIME ZONE" if self.name == LOCAL_ZONED else self.name + numbers


def parse_type(form: str | dict[str, Any], next_id: Callable[[], int] = lambda: 0) -> DataType:
    """Parse a type from SQL or from the JSON form of schema files; `next_id` assigns ids to fields without one.

    Raises:
        InvalidArgumentError: The argument is not a type.

    >>> str(parse_type("row<a int not null, `b c` array<varchar(2147483647)>>"))
    'ROW<`a` INT NOT NULL, `b c` ARRAY<STRING>>'
    """
    parsed = _from_json(form, next_id, 0) if isinstance(form, dict) else _Text(form, next_id).whole()
    if not isinstance(form, str | dict):
        message = f"a type must be a string or a mapping, not {type(form).__name__}"  # type: ignore[unreachable]
        raise InvalidArgumentError(message)
    return parsed


def type_of_arrow(arrow: pa.DataType, next_id: Callable[[], int] = lambda: 0, *, nullable: bool = True) -> DataType:
    """Return the Paimon type for values of an Arrow type; `next_id` assigns ids to nested fields.

    Raises:
        UnsupportedError: Paimon does not have a corresponding type.
    """
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(arrow):
        return type_of_arrow(arrow.value_type, next_id, nullable=nullable)
    if kinds.is_struct(arrow):
        fields = (
            TypeField(next_id(), field.name, type_of_arrow(field.type, next_id, nullable=field.nullable))
            for field in arrow
        )
        return DataType("ROW", (), nullable, (), tuple(fields))
    if kinds.is_list(arrow) or kinds.is_large_list(arrow):
        inner = type_of_arrow(arrow.value_type, next_id, nullable=arrow.value_field.nullable)
        return DataType("ARRAY", (), nullable, (inner,))
    if kinds.is_map(arrow):
        key = type_of_arrow(arrow.key_type, next_id, nullable=False)
        value = type_of_arrow(arrow.item_type, next_id, nullable=arrow.item_field.nullable)
        return DataType("MAP", (), nullable, (key, value))
    return _leaf_of_arrow(arrow, nullable=nullable)


def _leaf_of_arrow(arrow: pa.DataType, *, nullable: bool) -> DataType:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_decimal128(arrow):
        return DataType("DECIMAL", (arrow.precision, arrow.scale), nullable)
    if kinds.is_timestamp(arrow):
        digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[arrow.unit]
        return DataType("TIMESTAMP" if arrow.tz is None else LOCAL_ZONED, (digits,), nullable)
    if kinds.is_fixed_size_binary(arrow):
        return DataType("BINARY", (arrow.byte_width,), nullable)
    for test, name, numbers in (
        (kinds.is_boolean, "BOOLEAN", ()),
        (kinds.is_int8, "TINYINT", ()),
        (kinds.is_int16, "SMALLINT", ()),
        (kinds.is_int32, "INT", ()),
        (kinds.is_int64, "BIGINT", ()),
        (kinds.is_float32, "FLOAT", ()),
        (kinds.is_float64, "DOUBLE", ()),
        (kinds.is_date32, "DATE", ()),
        (kinds.is_time, "TIME", (3,)),
        (_any_of(kinds.is_string, kinds.is_large_string, kinds.is_string_view), "VARCHAR", (LONGEST,)),
        (_any_of(kinds.is_binary, kinds.is_large_binary, kinds.is_binary_view), "VARBINARY", (LONGEST,)),
    ):
        if test(arrow):
            return DataType(name, numbers, nullable)
    message = f"Paimon does not have a type for the Arrow type {arrow}"
    raise UnsupportedError(message)


def _any_of(*tests: Callable[[pa.DataType], bool]) -> Callable[[pa.DataType], bool]:
    return lambda arrow: any(test(arrow) for test in tests)


def _leaf_arrow(leaf: DataType) -> pa.DataType:
    import pyarrow as pa

    if leaf.name == "DECIMAL":
        return pa.decimal128(*leaf.numbers)
    if leaf.name in {"TIMESTAMP", LOCAL_ZONED}:
        digits = leaf.numbers[0]
        unit = "ms" if digits <= 3 else "us" if digits <= 6 else "ns"  # noqa: PLR2004 - digits after the second
        return pa.timestamp(unit, None if leaf.name == "TIMESTAMP" else "UTC")
    made: dict[str, pa.DataType] = {
        "BOOLEAN": pa.bool_(),
        "TINYINT": pa.int8(),
        "SMALLINT": pa.int16(),
        "INT": pa.int32(),
        "BIGINT": pa.int64(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "DATE": pa.date32(),
        "TIME": pa.time32("ms"),
        "CHAR": pa.string(),
        "VARCHAR": pa.string(),
    }
    return made.get(leaf.name, pa.binary())


def _field_text(field: TypeField) -> str:
    comment = "" if not field.description else " COMMENT '{}'".format(field.description.replace("'", "''"))
    return f"`{field.name.replace('`', '``')}` {field.type}{comment}"


def _field_json(field: TypeField) -> dict[str, Any]:
    form = {"id": field.field_id, "name": field.name, "type": field.type.to_json()}
    return form | ({"description": field.description} if field.description else {})


def _from_json(form: str | dict[str, Any], next_id: Callable[[], int], depth: int) -> DataType:
    if isinstance(form, str):
        return _Text(form, next_id).whole()
    name, _, rest = str(form.get("type")).partition(" ")
    parts = {"ARRAY": ("element",), "MULTISET": ("element",), "MAP": ("key", "value"), "ROW": ("fields",)}.get(name)
    if parts is None or any(part not in form for part in parts) or depth > DEPTH_LIMIT:
        message = f"unknown type {form.get('type')!r}"
        raise InvalidArgumentError(message)
    nullable = rest != "NOT NULL"
    if name != "ROW":
        return DataType(name, (), nullable, tuple(_from_json(form[part], next_id, depth + 1) for part in parts))
    fields = (
        TypeField(
            field["id"] if "id" in field else next_id(),
            field["name"],
            _from_json(field["type"], next_id, depth + 1),
            field.get("description"),
        )
        for field in form["fields"]
    )
    return DataType(name, (), nullable, (), tuple(fields))


class _Text:
    """A parser for the SQL notation of a type."""

    def __init__(self, text: str, next_id: Callable[[], int]) -> None:
        self._text, self._next_id = text, next_id
        self._tokens = list(self._split(text))
        self._at = 0

    def whole(self) -> DataType:
        found = self._type(0)
        if self._at < len(self._tokens):
            self._refuse()
        return found

    def _split(self, text: str) -> Iterator[tuple[str, str]]:
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                self._refuse()
            at = found.end()
            quoted, comment, word, mark = found.groups()
            if quoted is not None:
                yield "name", quoted.replace("``", "`")
            elif comment is not None:
                yield "text", comment.replace("''", "'")
            else:
                yield ("word", word) if word else ("mark", mark)

    def _type(self, depth: int) -> DataType:
        if depth > DEPTH_LIMIT:
            self._refuse()
        name = self._word().upper()
        name = _SYNONYMS.get(name, name)
        children: tuple[DataType, ...] = ()
        fields: tuple[TypeField, ...] = ()
        numbers: tuple[int, ...] = ()
        if name in {"ARRAY", "MULTISET", "MAP"}:
            children = tuple(self._listed(lambda: self._type(depth + 1)))
            if len(children) != (2 if name == "MAP" else 1):
                self._refuse()
        elif name == "ROW":
            fields = tuple(self._listed(lambda: self._field(depth + 1)))
        elif name in {"STRING", "BYTES"}:
            name, numbers = {"STRING": "VARCHAR", "BYTES": "VARBINARY"}[name], (LONGEST,)
        elif name in _DEFAULTS:
            name, numbers = self._numbered(name)
        elif name not in _PLAIN:
            self._refuse()
        nullable = not self._words("NOT", "NULL")
        if nullable:
            self._words("NULL")
        return DataType(name, numbers, nullable, children, fields)

    def _numbered(self, name: str) -> tuple[str, tuple[int, ...]]:
        numbers = _DEFAULTS[name]
        if self._is("("):
            given = tuple(int(number) if number.isdecimal() else -1 for number in self._listed(self._word))
            numbers = given + numbers[len(given) :]
            if len(given) > len(_DEFAULTS[name]) or -1 in given:
                self._refuse()
        if name == "TIMESTAMP" and self._words("WITH", "LOCAL", "TIME", "ZONE"):
            name = LOCAL_ZONED
        elif name in {"TIMESTAMP", "TIME"}:
            self._words("WITHOUT", "TIME", "ZONE")
        return name, numbers

    def _field(self, depth: int) -> TypeField:
        name = self._word(quoted=True)
        field_id = self._next_id()
        data_type = self._type(depth)
        self._words("COMMENT")
        description = None
        if self._at < len(self._tokens) and self._tokens[self._at][0] == "text":
            description = self._tokens[self._at][1]
            self._at += 1
        return TypeField(field_id, name, data_type, description)

    def _listed(self, one: Callable[[], Any]) -> Iterator[Any]:
        close = {"<": ">", "(": ")"}.get(self._tokens[self._at][1]) if self._at < len(self._tokens) else None
        if close is None:
            self._refuse()
        self._at += 1
        while True:
            yield one()
            if self._is(close):
                self._at += 1
                return
            if not self._is(","):
                self._refuse()
            self._at += 1

    def _is(self, mark: str | None) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at] == ("mark", mark)

    def _words(self, *words: str) -> bool:
        """Consume the given words if they are the next tokens, and return whether they were."""
        coming = self._tokens[self._at : self._at + len(words)]
        if [(kind, word.upper()) for kind, word in coming] != [("word", word) for word in words]:
            return False
        self._at += len(words)
        return True

    def _word(self, *, quoted: bool = False) -> str:
        if self._at >= len(self._tokens) or self._tokens[self._at][0] not in ({"word", "name"} if quoted else {"word"}):
            self._refuse()
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _refuse(self) -> NoReturn:
        message = f"unknown type {self._text!r}"
        raise InvalidArgumentError(
            message, hint="use Paimon's SQL notation: INT NOT NULL, DECIMAL(10, 2), ARRAY<STRING>"
        )
