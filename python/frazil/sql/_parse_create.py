"""Parsing of CREATE TABLE, in the syntax of Spark and of Flink."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from frazil.sql._column_types import COLUMN_CLAUSES, Column, column_rest
from frazil.sql._lexer import unsupported
from frazil.sql._parse_insert import QUERY
from frazil.sql._parse_parts import partition_field, properties
from frazil.sql._parts import PartitionField
from frazil.sql._reader import Name
from frazil.sql._statements import CreateTable, CreateTableLike

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import NoReturn

    from frazil.sql._reader import Reader

_OTHER_CLAUSES: dict[tuple[str, ...], str | None] = {
    ("CLUSTERED",): "use PARTITIONED BY (bucket(8, id)), or for a Paimon table the property `bucket`",
    ("CLUSTER",): None,
    ("DISTRIBUTED",): "for a Paimon table use the property `bucket`",
    ("ROW",): None,
    ("STORED",): "write USING iceberg",
}
"""The first words of unsupported clauses, with hints."""

_OTHER_ELEMENTS: dict[tuple[str, ...], str | None] = {
    ("WATERMARK", "FOR"): "watermarks exist in Flink only; omit the clause",
    ("UNIQUE", "("): None,
    ("CHECK", "("): None,
    ("FOREIGN", "KEY"): None,
    ("PERIOD", "FOR"): None,
}
"""The first words of unsupported elements of the column list, with hints."""

_AFTER_COLUMNS = ("COMMENT", "LOCATION", "OPTIONS", "PARTITIONED", "TBLPROPERTIES", "USING", "WITH")

_NOT_ENFORCED = "write PRIMARY KEY … NOT ENFORCED: rows with the same key are merged, not rejected"


def create_table(reader: Reader) -> CreateTable | CreateTableLike:
    """Parse CREATE TABLE, CREATE TABLE … LIKE and REPLACE TABLE."""
    creates = reader.accept("CREATE")
    replaces = reader.accept("OR", "REPLACE") or reader.accept("REPLACE")
    reader.expect("TABLE")
    if_not_exists = not replaces and reader.accept("IF", "NOT", "EXISTS")
    name = reader.name("the name of a table")
    elements = _Elements(reader)
    if reader.at("(") and not _is_query(reader):
        elements.parse()
    clauses = _Clauses(reader)
    while clauses.take():
        pass
    if reader.at("LIKE"):
        if elements.columns or clauses.partitioned_by or clauses.options or replaces:
            reader.reject("LIKE with columns, PARTITIONED BY, OPTIONS or REPLACE is not supported")
        reader.expect("LIKE")
        return _like(reader, name, clauses, if_not_exists=if_not_exists)
    query = None
    if reader.accept("AS") or any(reader.at(word) for word in QUERY):
        if elements.columns:
            reader.reject("a column list with AS is not supported", "use column aliases in the query")
        query = reader.rest()
    return CreateTable(
        name,
        (*elements.columns, *clauses.partition_columns),
        clauses.provider,
        clauses.partitioned_by,
        clauses.comment,
        clauses.properties,
        clauses.options,
        clauses.location,
        if_not_exists,
        replaces,
        creates,
        query,
        elements.primary_key,
        clauses.with_start,
    )


def _like(reader: Reader, name: Name, clauses: _Clauses, *, if_not_exists: bool) -> CreateTableLike:
    """Parse the source of LIKE, and the clauses after it."""
    source = reader.name("the name of a table")
    if reader.at("("):
        reader.reject("LIKE with options such as EXCLUDING is not supported", "set the properties in WITH")
    while clauses.take():
        pass
    given = (clauses.provider, clauses.comment, clauses.properties, clauses.location)
    return CreateTableLike(name, source, *given, if_not_exists)


def _is_query(reader: Reader) -> bool:
    """Return whether a parenthesized query comes next; a list followed by a clause is a column list."""
    following = reader.peek(1)
    if following is None or not following.is_word("SELECT", "WITH", "FROM", "VALUES"):
        return False
    begin = reader.mark()
    reader.skip_parentheses()
    is_list = any(reader.at(word) for word in _AFTER_COLUMNS)
    reader.back_to(begin)
    return not is_list


def reject_materialized_table(reader: Reader) -> NoReturn:
    """Reject CREATE MATERIALIZED TABLE.

    Raises:
        UnsupportedError: Always.
    """
    hint = "create a table with CREATE TABLE, and refresh its rows with INSERT OVERWRITE"
    reader.reject("CREATE MATERIALIZED TABLE is not supported: materialized tables exist in Flink only", hint)


class _Elements:
    """The column list: columns and the primary key."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.columns: list[Column] = []
        self.primary_key: tuple[Name, ...] = ()

    def parse(self) -> None:
        reader = self._reader
        reader.expect("(")
        while True:
            self._element()
            if not reader.accept(","):
                break
        reader.expect(")")

    def _element(self) -> None:
        reader = self._reader
        _reject_any(reader, _OTHER_ELEMENTS, "{} in the column list is not supported")
        if _at_key(reader):
            _accept_key(reader)
            reader.expect("(")
            keys = [reader.name("a column")]
            while reader.accept(","):
                keys.append(reader.name("a column"))
            reader.expect(")")
            self._set_key(tuple(keys))
            return
        first = reader.peek()
        name = reader.identifier("the name of a column")
        if reader.at("AS"):
            reader.reject("computed columns are not supported", "compute the column in queries, or in a view")
        column = column_rest(reader, name, _CLAUSES)
        start = first.start if first else 0
        if column.is_key:
            self._set_key((Name((name,), start, first.end if first else 0),), is_parsed=True)
        self.columns.append(replace(column, start=start))

    def _set_key(self, keys: tuple[Name, ...], *, is_parsed: bool = False) -> None:
        if self.primary_key:
            self._reader.fail("PRIMARY KEY is specified twice")
        self.primary_key = keys
        if not is_parsed:
            _expect_not_enforced(self._reader)


def _at_key(reader: Reader) -> bool:
    """Return whether a constraint comes next; a column may be named `constraint`."""
    if reader.at("PRIMARY", "KEY"):
        return True
    following = reader.peek(2)
    if not reader.at("CONSTRAINT") or following is None:
        return False
    if following.is_word("UNIQUE", "CHECK", "FOREIGN"):
        reader.reject(f"{following.text.upper()} in the column list is not supported")
    return following.is_word("PRIMARY")


def _accept_key(reader: Reader) -> None:
    if reader.accept("CONSTRAINT"):
        reader.identifier("the name of the constraint")
    reader.expect("PRIMARY", "KEY")


def _expect_not_enforced(reader: Reader) -> None:
    if not reader.accept("NOT", "ENFORCED"):
        reader.reject("an enforced PRIMARY KEY is not supported", _NOT_ENFORCED)


def _key_of_column(reader: Reader) -> dict[str, Any]:
    if not _at_key(reader):
        reader.fail("expected PRIMARY KEY")
    _accept_key(reader)
    _expect_not_enforced(reader)
    return {"is_key": True}


def _default_of_column(reader: Reader) -> dict[str, Any]:
    reader.expect("DEFAULT")
    following = reader.peek(1)
    if reader.at("X") and following is not None and following.kind == "string":
        reader.expect("X")
        return {"default": reader.string("the literal"), "has_binary_default": True}
    if reader.accept("CAST", "("):
        return {"default": _not_finite(reader)}
    return {"default": _constant(reader)}


def _not_finite(reader: Reader) -> str:
    """Parse the part after `CAST(` of `CAST('NaN' AS DOUBLE)`, the form in which Spark shows such numbers."""
    place = reader.mark()
    token = reader.peek()
    if token is not None and token.kind == "string" and token.value in _NOT_FINITE:
        found = reader.string("a number")
        if reader.accept("AS") and reader.accept_any("DOUBLE", "FLOAT") and reader.accept(")"):
            return found
    reader.back_to(place)
    return reader.reject("a DEFAULT that is not a literal is not supported", "use a literal")


def _constant(reader: Reader) -> str | None:
    """Parse a literal, and return its value as a string; None for NULL."""
    first = reader.peek()
    sign = reader.accept_any("-", "+")
    token = reader.take("the default as a literal")
    following = reader.peek()
    found: str | None = token.value
    if sign is None and token.is_word("NULL"):
        found = None
    elif sign is None and token.is_word("TRUE", "FALSE"):
        found = token.text.lower()
    elif sign is None and token.is_word(*_TYPED) and following is not None and following.kind == "string":
        found = reader.string("the literal")
    elif token.kind == "number":
        found = ("-" if sign == "-" else "") + token.text.upper().rstrip("BLSYFD")
    elif sign is not None or token.kind != "string":
        start = first.start if first else 0
        raise unsupported(reader.text, start, "a DEFAULT that is not a literal is not supported", "use a literal")
    return found


_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_TYPED = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ")
"""The words before the string of a typed literal, such as `DATE '2024-02-29'`."""

_CLAUSES = {
    **COLUMN_CLAUSES,
    "CONSTRAINT": _key_of_column,
    "DEFAULT": _default_of_column,
    "PRIMARY": _key_of_column,
}
"""The clauses of a column, by first word."""


class _Clauses:
    """The clauses of CREATE TABLE after the columns, each of which may occur once."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._taken: set[str] = set()
        self._parsers: dict[str, Callable[[], None]] = {
            "COMMENT": self._comment,
            "LOCATION": self._location,
            "OPTIONS": self._options,
            "PARTITIONED": self._partitioned,
            "TBLPROPERTIES": self._properties,
            "USING": self._using,
            "WITH": self._with,
        }
        self.provider: str | None = None
        self.partitioned_by: tuple[PartitionField, ...] = ()
        self.partition_columns: tuple[Column, ...] = ()
        self.comment: str | None = None
        self.properties: dict[str, str] = {}
        self.options: dict[str, str] = {}
        self.location: str | None = None
        self.with_start: int | None = None

    def take(self) -> bool:
        """Parse a clause and return whether there was one."""
        reader = self._reader
        word = next((word for word in self._parsers if reader.at(word)), None)
        if word is None or (word == "WITH" and not reader.at("WITH", "(")):
            _reject_any(reader, _OTHER_CLAUSES, "{} in CREATE TABLE is not supported")
            return False
        if word in self._taken:
            reader.fail(f"{word} is specified twice")
        self._taken.add(word)
        if {"WITH", "TBLPROPERTIES"} <= self._taken:
            reader.fail("WITH and TBLPROPERTIES are the same clause; use only one of them")
        token = reader.take(word)
        self.with_start = token.start if word == "WITH" else self.with_start
        self._parsers[word]()
        return True

    def _comment(self) -> None:
        self.comment = self._reader.string("the comment")

    def _location(self) -> None:
        self.location = self._reader.string("the location")

    def _options(self) -> None:
        self.options = properties(self._reader)

    def _properties(self) -> None:
        self.properties = properties(self._reader)

    def _with(self) -> None:
        self.properties = properties(self._reader)

    def _using(self) -> None:
        self.provider = str(self._reader.name("the name of a format")).lower()

    def _partitioned(self) -> None:
        reader = self._reader
        reader.expect("BY", "(")
        found = list(_partition_fields(reader))
        self.partitioned_by = tuple(field for field, _ in found)
        self.partition_columns = tuple(column for _, column in found if column is not None)
        if len(self.partition_columns) not in (0, len(found)):
            hint = "declare all partition columns in the column list, or all of them in PARTITIONED BY"
            start = self.partition_columns[0].start
            raise unsupported(reader.text, start, "PARTITIONED BY cannot mix columns with and without types", hint)


def _reject_any(reader: Reader, forms: dict[tuple[str, ...], str | None], problem: str) -> None:
    """Reject the next words if `forms` contains them."""
    for words, hint in forms.items():
        if reader.at(*words):
            reader.reject(problem.format(" ".join(word for word in words if word != "(")), hint)


def _partition_fields(reader: Reader) -> Iterator[tuple[PartitionField, Column | None]]:
    while True:
        yield _partition_field(reader)
        if not reader.accept(","):
            break
    reader.expect(")")


def _partition_field(reader: Reader) -> tuple[PartitionField, Column | None]:
    """Parse a partition field, or the declaration of a partition column that is not in the column list."""
    following = reader.peek(1)
    if following is None or following.text != "(":
        name = reader.name("a column")
        field = PartitionField("identity", name)
        if reader.at(",") or reader.at(")") or len(name.parts) > 1:
            return field, None
        return field, replace(column_rest(reader, name.parts[0]), start=name.start)
    return partition_field(reader), None
