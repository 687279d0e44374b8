"""Text files of format tables (documentation: "File Format", CSV, JSON, TEXT).

A file is read in blocks of whole lines, so that memory is bounded and no line is split. Blocks with only simple content
are parsed by pyarrow, and all other blocks are parsed line by line as in Java.
"""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv
from pyarrow import json as arrow_json

from frazil.errors import CorruptDataFileError, InvalidArgumentError
from frazil.paimon._data_types import DataType
from frazil.paimon._text_values import values_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from frazil.paimon._schema import DataField

BLOCK_BYTES = 8 << 20
"""The number of bytes parsed in one call; a line longer than this forms a separate block."""

LINE_LIMIT_BYTES = 1 << 30
"""The maximum length of a line; longer lines are rejected."""

_COUNT = DataType("INT", nullable=False)

_LINE_END = re.compile(r"\r\n|\r|\n")


def _first(options: Mapping[str, str], *names: str, default: str) -> str:
    return next((options[name] for name in names if name in options), default)


def line_delimiter(options: Mapping[str, str], file_format: str) -> str:
    """Return the line delimiter of JSON or text files; as in Java, the short option name applies to text files only."""
    short = ["lineSep"] if file_format == "text" else []
    return _first(options, f"{file_format}.line-delimiter", *short, default="\n")


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """The dialect of a CSV file."""

    delimiter: str = ","
    line_delimiter: str = "\n"
    quote: str = '"'
    escape: str = "\\"
    header: bool = False
    null_literal: str = ""
    mode: str = "permissive"

    @classmethod
    def of(cls, options: Mapping[str, str]) -> CsvDialect:
        """Read the `csv.*` options of a table, and their short names.

        Raises:
            InvalidArgumentError: An option is invalid.
        """
        made = cls(
            delimiter=_first(options, "csv.field-delimiter", "field-delimiter", "seq", "delimiter", default=","),
            line_delimiter=_first(options, "csv.line-delimiter", "lineSep", default="\n"),
            quote=_first(options, "csv.quote-character", "quote", default='"')[:1],
            escape=_first(options, "csv.escape-character", "escape", default="\\")[:1],
            header=_first(options, "csv.include-header", "header", default="false").lower() == "true",
            null_literal=_first(options, "csv.null-literal", "nullvalue", default=""),
            mode=_first(options, "csv.mode", "mode", default="permissive").lower(),
        )
        if made.mode not in {"permissive", "dropmalformed", "failfast"}:
            message = f"csv.mode is {made.mode!r}, expected permissive, dropmalformed or failfast"
            raise InvalidArgumentError(message)
        marks = [made.delimiter[:1], made.quote, made.escape]
        if "" in marks or not made.line_delimiter or len(set(marks)) < len(marks):
            message = (
                "the field delimiter, the quote character and the escape character of CSV must be three different "
                "characters"
            )
            raise InvalidArgumentError(message)
        return made


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file in order, and the wanted columns."""

    fields: Sequence[DataField]
    wanted: Sequence[str]
    context: dict[str, str] = field(default_factory=dict)

    def types(self) -> dict[str, DataType]:
        """Return the types of the wanted columns by name."""
        types = {column.name: column.data_type for column in self.fields}
        return {name: types[name] for name in self.wanted}


def read_csv(stream: pa.NativeFile, columns: Columns, dialect: CsvDialect) -> Iterator[pa.RecordBatch]:
    """Stream the wanted columns of a CSV file.

    Raises:
        CorruptDataFileError: The file is not valid UTF-8, or a field is malformed and `csv.mode` is `failfast`.
    """
    names = [column.name for column in columns.fields]
    first = dialect.header
    for block in _blocks(stream, dialect.line_delimiter, columns.context):
        texts = None if first else _plain_csv(block, names, columns.wanted, dialect)
        if texts is None:
            lines = _lines(block, dialect.line_delimiter, columns.context)
            texts = _lines_of_csv(lines[1:] if first else lines, names, columns.wanted, dialect)
        first = False
        yield _typed(texts, columns, drop=dialect.mode == "dropmalformed", fail=dialect.mode == "failfast")


def read_json(stream: pa.NativeFile, columns: Columns, options: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """Stream the wanted columns of a file with one JSON object per line.

    Raises:
        CorruptDataFileError: A line is not an object or a value has the wrong type, and `json.ignore-parse-errors` is
            not set.
    """
    ignore = options.get("json.ignore-parse-errors", "false").lower() == "true"
    delimiter = line_delimiter(options, "json")
    for block in _blocks(stream, delimiter, columns.context):
        texts = _plain_json(block, columns) if delimiter == "\n" else None
        if texts is not None:
            yield _typed(texts, columns, drop=ignore, fail=not ignore)
        else:
            yield _objects(_lines(block, delimiter, columns.context), columns, ignore=ignore)


def read_text(stream: pa.NativeFile, columns: Columns, options: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """Stream the lines of a file as the only column."""
    delimiter = line_delimiter(options, "text")
    for block in _blocks(stream, delimiter, columns.context):
        lines = pa.array(_lines(block, delimiter, columns.context), pa.string())
        yield pa.RecordBatch.from_arrays([lines for _ in columns.wanted], list(columns.wanted))


def split_csv(line: str, dialect: CsvDialect, count: int) -> list[str | None]:
    r"""Split a line as in Java, into at most `count` fields; missing fields are NULL.

    An escape character is dropped. Inside a field, it makes a following quote or escape character literal.

    >>> split_csv(r'a,"b""c, \"d",x\y', CsvDialect(), 4)
    ['a', 'b"c, "d', 'xy', None]
    """
    fields: list[str | None] = []
    value: list[str] = []
    quoted = begun = False
    at = 0
    while at < len(line) and len(fields) < count:
        mark, following = line[at], line[at + 1 : at + 2]
        if mark == dialect.escape:
            if (quoted or begun) and following in {dialect.quote, dialect.escape}:
                value.append(following)
                at += 1
        elif mark == dialect.quote:
            if (quoted or begun) and following == dialect.quote:
                value.append(following)
                at += 1
            else:
                value = _embedded(line, at, value, dialect)
                quoted = not quoted
            begun = not begun
        elif mark == dialect.delimiter[0] and not quoted:
            fields.append("".join(value))
            value = []
            begun = False
        else:
            value.append(mark)
            begun = True
        at += 1
    if len(fields) < count and not quoted and line.strip():
        fields.append("".join(value))
    if not line.strip():
        fields = []
    return fields + [None] * (count - len(fields))


def _embedded(line: str, at: int, value: list[str], dialect: CsvDialect) -> list[str]:
    """Return the field value so far; a quote within an unquoted field is kept, as in `a,bc"d"ef,g`."""
    separator = dialect.delimiter[0]
    if at <= 2 or line[at - 1] == separator or line[at + 1 : at + 2] in {"", separator}:  # noqa: PLR2004 - as in Java
        return value
    return [] if value and not "".join(value).strip() else [*value, dialect.quote]


def _plain_csv(block: bytes, names: list[str], wanted: Sequence[str], dialect: CsvDialect) -> pa.Table | None:
    """Parse a block with pyarrow and return the wanted columns as strings; None if it needs the line parser."""
    if dialect.line_delimiter != "\n" or dialect.escape.encode() in block or not dialect.delimiter.isascii():
        return None
    try:
        return csv.read_csv(
            pa.BufferReader(block),
            csv.ReadOptions(column_names=names, use_threads=False, block_size=len(block) + 1),
            csv.ParseOptions(delimiter=dialect.delimiter[0], quote_char=dialect.quote, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[dialect.null_literal],
                strings_can_be_null=True,
                include_columns=list(wanted),
            ),
        )
    except (pa.ArrowInvalid, ValueError):
        return None


def _lines_of_csv(lines: list[str], names: list[str], wanted: Sequence[str], dialect: CsvDialect) -> pa.Table:
    rows = [split_csv(line, dialect, len(names)) for line in lines]
    null = dialect.null_literal
    columns = []
    for name in wanted:
        at = names.index(name)
        columns.append(pa.array([None if row[at] == null else row[at] for row in rows], pa.string()))
    return pa.table(columns, names=list(wanted))


def _plain_json(block: bytes, columns: Columns) -> pa.Table | None:
    """Parse a block with pyarrow; None if a value is not a string. Paimon writes all values as strings."""
    types = columns.types()
    if not types or any(data_type.children or data_type.fields for data_type in types.values()):
        return None
    schema = pa.schema([(name, pa.string()) for name in types])
    parse = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    read = arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    try:
        return arrow_json.read_json(pa.BufferReader(block), read, parse).select(list(types))
    except (pa.ArrowInvalid, KeyError):
        return None


def _objects(lines: list[str], columns: Columns, *, ignore: bool) -> pa.RecordBatch:
    rows = []
    for line in filter(str.strip, lines):
        with contextlib.suppress(CorruptDataFileError) if ignore else contextlib.nullcontext():
            rows.append(_object(line, columns.context))
    malformed: set[int] = set()
    arrays = []
    for name, data_type in columns.types().items():
        found, wrong = _nested([row.get(name) for row in rows], data_type)
        if wrong and not ignore:
            _malformed(name, data_type, rows[wrong[0]].get(name), columns.context)
        malformed.update(wrong)
        arrays.append(found)
    batch = pa.RecordBatch.from_arrays(arrays, list(columns.wanted))
    return _without(batch, malformed)


def _object(line: str, context: dict[str, str]) -> dict[str, Any]:
    """Parse a line as a JSON object; numbers are returned as strings."""
    try:
        found = json.loads(line, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        message = f"a line is not valid JSON: {error}"
        raise CorruptDataFileError(message, context=context) from error
    if not isinstance(found, dict):
        message = "a line is valid JSON but not an object"
        raise CorruptDataFileError(message, context=context)
    return found


def _nested(values: list[Any], data_type: DataType) -> tuple[pa.Array, list[int]]:
    """Convert parsed JSON values; return the array, and the numbers of the rows with a value of the wrong type."""
    if data_type.name in {"ARRAY", "MAP", "MULTISET"}:
        return _collections(values, data_type)
    if data_type.name == "ROW":
        wrong = [row for row, value in enumerate(values) if value is not None and not isinstance(value, dict)]
        arrays = []
        for inner in data_type.fields:
            array, inner_wrong = _nested(
                [value.get(inner.name) if isinstance(value, dict) else None for value in values], inner.type
            )
            arrays.append(array)
            wrong += inner_wrong
        mask = pa.array([not isinstance(value, dict) for value in values], pa.bool_())
        return pa.StructArray.from_arrays(arrays, fields=list(data_type.arrow()), mask=mask), wrong
    return values_of(pa.array([_leaf(value) for value in values], pa.string()), data_type)


def _collections(values: list[Any], data_type: DataType) -> tuple[pa.Array, list[int]]:
    kind = list if data_type.name == "ARRAY" else dict
    wrong = [row for row, value in enumerate(values) if value is not None and not isinstance(value, kind)]
    kept = [value if isinstance(value, kind) else None for value in values]
    owners = [row for row, value in enumerate(kept) for _ in value or ()]
    offsets: list[int | None] = [0]
    for value in kept:
        offsets.append((offsets[-1] or 0) + len(value or ()))
    items = [item for value in kept for item in (value.values() if isinstance(value, dict) else value or ())]
    arrow = data_type.arrow()
    mask = pa.array([value is None for value in kept], pa.bool_())
    if data_type.name == "ARRAY":
        inner, malformed = _nested(items, data_type.children[0])
        made = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), inner, type=arrow, mask=mask)
    else:
        keys, malformed = _nested([key for value in kept for key in value or ()], data_type.children[0])
        value_type = data_type.children[1] if data_type.name == "MAP" else _COUNT
        inner, wrong_values = _nested(items, value_type)
        malformed += wrong_values
        made = pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, inner, type=arrow, mask=mask)
    return made, wrong + [owners[at] for at in malformed]


def _leaf(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else json.dumps(value)


def _typed(texts: pa.Table, columns: Columns, *, drop: bool, fail: bool) -> pa.RecordBatch:
    malformed: set[int] = set()
    arrays = []
    for name, data_type in columns.types().items():
        text = texts.column(name).combine_chunks()
        if isinstance(text, pa.ChunkedArray):
            text = pa.concat_arrays(text.chunks) if text.num_chunks else pa.array([], pa.string())
        found, wrong = values_of(text, data_type)
        if wrong and fail:
            _malformed(name, data_type, text[wrong[0]].as_py(), columns.context)
        malformed.update(wrong)
        arrays.append(found)
    batch = pa.RecordBatch.from_arrays(arrays, list(columns.wanted))
    return _without(batch, malformed) if drop else batch


def _without(batch: pa.RecordBatch, rows: set[int]) -> pa.RecordBatch:
    if not rows:
        return batch
    return batch.filter(pa.array([row not in rows for row in range(batch.num_rows)], pa.bool_()))


def _malformed(name: str, data_type: DataType, value: object, context: dict[str, str]) -> None:
    message = f"column {name!r} contains {value!r}, which is not a valid {data_type}"
    raise CorruptDataFileError(message, context=context | {"column": name})


def _blocks(stream: pa.NativeFile, delimiter: str, context: dict[str, str]) -> Iterator[bytes]:
    """Yield the content of a file in blocks that end at the end of a line."""
    mark = delimiter.encode()
    rest = b""
    while chunk := stream.read(BLOCK_BYTES):
        whole = rest + chunk
        cut = whole.rfind(mark, max(len(rest) - len(mark), 0))
        if cut < 0:
            rest = whole
            if len(rest) > LINE_LIMIT_BYTES:
                message = f"a line is longer than {LINE_LIMIT_BYTES} bytes"
                raise CorruptDataFileError(message, context=context)
            continue
        yield whole[: cut + len(mark)]
        rest = whole[cut + len(mark) :]
    if rest:
        yield rest


def _lines(block: bytes, delimiter: str, context: dict[str, str]) -> list[str]:
    try:
        text = block.decode()
    except UnicodeDecodeError as error:
        message = f"the file is not valid UTF-8: {error}"
        raise CorruptDataFileError(message, context=context) from error
    lines = _LINE_END.split(text) if delimiter == "\n" else text.split(delimiter)
    return lines[:-1] if lines and not lines[-1] else lines
