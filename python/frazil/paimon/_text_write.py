"""Writing of text files in format tables, in the notation of Java's writers (documentation: "File Format").

The lines are those that Java (release 1.4.2) writes, with three exceptions. Java does not escape the escape character
in CSV files. Floating-point numbers and decimals below 0.000001 have the notation of Arrow, as in `1e+10`. Java writes
map keys in JSON files as `toString` returns them, and cannot read such keys of type timestamp or bytes.

Values are written as strings. Timestamps with local time zone are in UTC, and bytes are base64, as readers expect.
"""

from __future__ import annotations

import bz2
import gzip
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.paimon._data_types import LOCAL_ZONED
from frazil.paimon._text_files import CsvDialect, line_delimiter
from frazil.paimon._text_values import BYTES, NESTED, TEXTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from frazil.files.write.options import WrittenColumns
    from frazil.paimon._data_types import DataType
    from frazil.paimon._schema import DataField


def _zstd(content: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(content, asbytes=True))


COMPRESSIONS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "none": ("", bytes),
    "gzip": (".gz", gzip.compress),
    "bzip2": (".bz2", bz2.compress),
    "zstd": (".zst", _zstd),
}
"""The file name suffix and the function of each compression of text files."""


class TextFormat:
    """The format `csv`, `json` or `text` of the files in one write."""

    group_bytes = 8 << 20

    def __init__(self, name: str, fields: Sequence[DataField], options: Mapping[str, str], compression: str) -> None:
        """Check that the columns and the options can be written.

        Raises:
            InvalidArgumentError: An option is invalid.
            UnsupportedError: The format cannot store the type of a column.
        """
        if compression not in COMPRESSIONS:
            message = f"the compression {compression!r} of {name} files is not supported"
            raise UnsupportedError(message, hint=f"use one of {', '.join(COMPRESSIONS)}")
        suffix, self._compress = COMPRESSIONS[compression]
        self.name, self.extension = name.upper(), f"{name}{suffix}"
        self._lines, self._header, self._delimiter = _encoder(name, fields, options)

    def open(self, sink: Any, first: pa.Table) -> _TextWriter:
        """Start a file."""
        del first
        return _TextWriter(sink, self)

    def encoded(self, rows: pa.RecordBatch, *, begins: bool) -> bytes:
        """Return rows as compressed lines, after the header if they begin a file."""
        lines = self._lines(rows)
        joined = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), self._delimiter)[0].as_py()
        header = f"{self._header}{self._delimiter}" if begins and self._header is not None else ""
        return self._compress(f"{header}{joined}{self._delimiter}".encode())


class _TextWriter:
    def __init__(self, sink: Any, text_format: TextFormat) -> None:
        self._sink, self._format, self._begins = sink, text_format, True

    def write(self, rows: pa.Table) -> None:
        for batch in rows.to_batches():
            if batch.num_rows:
                self._sink.write(self._format.encoded(batch, begins=self._begins))
                self._begins = False

    def close(self) -> WrittenColumns:
        return {}, None


_Lines = tuple["Callable[[pa.RecordBatch], pa.Array]", "str | None", str]
"""A function that returns rows as lines, the header line, and the line delimiter."""


def _encoder(name: str, fields: Sequence[DataField], options: Mapping[str, str]) -> _Lines:
    types = {field.name: field.data_type for field in fields}
    if name == "json":
        _check_json(types)
        return lambda rows: _json_lines(rows, types), None, line_delimiter(options, "json")
    if name == "text":
        delimiter = line_delimiter(options, "text")
        (column,) = types
        return lambda rows: pc.fill_null(_one_line(rows.column(0), delimiter, column), ""), None, delimiter
    dialect = CsvDialect.of(options)
    if len(dialect.delimiter) > 1:
        message = f"the field delimiter {dialect.delimiter!r} of CSV must be a single character"
        raise InvalidArgumentError(message)
    _check_marks(dialect)
    nested = next((name for name, data_type in types.items() if data_type.name in NESTED), None)
    if nested is not None:
        message = f"column {nested!r} of type {types[nested]} cannot be written to CSV files"
        raise UnsupportedError(message, hint="set the option `file.format` to json or parquet")
    header = dialect.delimiter.join(_quoted(pa.array(list(types), pa.string()), dialect).to_pylist())
    return lambda rows: _csv_lines(rows, types, dialect), header if dialect.header else None, dialect.line_delimiter


def _check_marks(dialect: CsvDialect) -> None:
    """Reject delimiters and a NULL literal that readers could not find, because they split files into lines first."""
    breaks = _breaks(dialect.line_delimiter)
    for name, mark in (("field delimiter", dialect.delimiter), ("quote", dialect.quote), ("escape", dialect.escape)):
        if any(mark in line_break for line_break in breaks):
            what = name if name == "field delimiter" else f"{name} character"
            message = f"the {what} {mark!r} of CSV occurs in the line delimiter {dialect.line_delimiter!r}"
            if mark in ("\n", "\r"):
                message = f"the {what} {mark!r} of CSV ends a line"
            raise InvalidArgumentError(message, hint="use another character")
    null = dialect.null_literal
    if any(mark in null for mark in (dialect.delimiter, dialect.quote, dialect.escape, *breaks)):
        message = f"the null literal {null!r} of CSV contains a delimiter, the quote character or the escape character"
        raise InvalidArgumentError(message, hint="set `csv.null-literal` to another string")


def _check_json(types: Mapping[str, DataType]) -> None:
    """Reject columns that Java does not read from JSON files."""
    for name, data_type in types.items():
        wrong = _wrong_in_json(data_type)
        if wrong is not None:
            message = f"column {name!r} of type {data_type} cannot be written to JSON files: {wrong} are not supported"
            raise UnsupportedError(message, hint="set the option `file.format` to parquet")


def _wrong_in_json(data_type: DataType) -> str | None:
    if data_type.name in {"MULTISET", "VARIANT", "BLOB"}:
        return f"values of type {data_type.name}"
    if data_type.name == "MAP" and data_type.children[0].name in BYTES:
        return "maps with bytes as keys"
    inner = [*data_type.children, *(field.type for field in data_type.fields)]
    return next((found for found in map(_wrong_in_json, inner) if found is not None), None)


def texts_of(values: pa.Array, data_type: DataType) -> pa.Array:
    """Return values as strings, the inverse of `values_of`; the type must not be nested."""
    name = data_type.name
    if name in TEXTS:
        return values.cast(pa.string())
    if name in BYTES:
        import base64

        encoded = [None if value is None else base64.b64encode(value).decode() for value in values.to_pylist()]
        return pa.array(encoded, pa.string())
    if name == LOCAL_ZONED:
        values = values.cast(pa.timestamp(values.type.unit))
    texts = values.cast(pa.string())
    if name in {"TIMESTAMP", LOCAL_ZONED}:
        # Java writes as many fractional digits as the precision of the type, and further digits unless they are zero.
        texts = pc.replace_substring_regex(texts, rf"(\.\d{{{data_type.numbers[0]}}}\d*?)0+$", r"\1")
        return pc.replace_substring_regex(texts, r"\.$", "")
    if name == "TIME":
        # Java omits trailing zeros, except in the first fractional digit.
        texts = pc.replace_substring_regex(texts, rf"\.(\d{{{min(data_type.numbers[0], 3)}}})\d*$", r".\1")
        return pc.replace_substring_regex(pc.replace_substring_regex(texts, r"(\.\d+?)0+$", r"\1"), r"\.$", "")
    if name in {"FLOAT", "DOUBLE"}:
        # Java cannot parse `inf` and `nan`, which Arrow writes.
        for found, written in (("inf", "Infinity"), ("nan", "NaN")):
            texts = pc.replace_substring(texts, found, written)
    return texts


def _csv_lines(rows: pa.RecordBatch, types: Mapping[str, DataType], dialect: CsvDialect) -> pa.Array:
    columns = []
    for name, data_type in types.items():
        texts = _one_line(texts_of(rows.column(name), data_type), dialect.line_delimiter, name)
        _check_not_null_literal(texts, dialect.null_literal, name)
        columns.append(pc.fill_null(_quoted(texts, dialect), dialect.null_literal))
    return columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, dialect.delimiter)


def _quoted(texts: pa.Array, dialect: CsvDialect) -> pa.Array:
    marks = [pc.match_substring(texts, mark) for mark in (dialect.delimiter, dialect.quote, dialect.escape)]
    needed = pc.match_substring_regex(texts, r"^\s+$")
    for found in marks:
        needed = pc.or_(needed, found)
    if not pc.any(needed).as_py():
        return texts
    escaped = texts
    for mark in (dialect.escape, dialect.quote):
        escaped = pc.replace_substring(escaped, mark, dialect.escape + mark)
    quoted = pc.binary_join_element_wise(dialect.quote, escaped, dialect.quote, "")
    return pc.if_else(needed, quoted, texts)


def _one_line(texts: pa.Array, delimiter: str, column: str) -> pa.Array:
    """Reject values that contain a line break, because readers split files into lines first."""
    for mark in _breaks(delimiter):
        if pc.any(pc.match_substring(texts, mark)).as_py():
            row = pc.index(pc.match_substring(texts, mark), value=True).as_py()
            message = f"column {column!r}: the value {texts[row].as_py()!r} contains the line delimiter (row {row})"
            hint = "set the option `file.format` to json or parquet"
            raise InvalidArgumentError(message, context={"column": column}, hint=hint)
    return texts


def _breaks(delimiter: str) -> tuple[str, ...]:
    """Return the strings at which readers split a file into lines."""
    return ("\n", "\r") if delimiter == "\n" else (delimiter,)


def _check_not_null_literal(texts: pa.Array, literal: str, column: str) -> None:
    """Reject values that readers would return as NULL; the empty string is NULL by default, as in Java."""
    if literal and (row := pc.index(texts, pa.scalar(literal)).as_py()) >= 0:
        message = f"column {column!r}: the value {literal!r} would be read as NULL (row {row})"
        hint = f"it equals the option `csv.null-literal` of the table, {literal!r}: set the option to another string"
        raise InvalidArgumentError(message, context={"column": column}, hint=hint)


def _json_lines(rows: pa.RecordBatch, types: Mapping[str, DataType]) -> pa.Array:
    parts: list[Any] = []
    for number, (name, data_type) in enumerate(types.items()):
        parts += ["{" if number == 0 else ",", json.dumps(name, ensure_ascii=False) + ":"]
        parts.append(_json_column(rows.column(name), data_type))
    return pc.binary_join_element_wise(*parts, "}", "")


def _json_column(values: pa.Array, data_type: DataType) -> pa.Array:
    if data_type.name in NESTED:
        found = [json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in _nested(values, data_type)]
        return pa.array(found, pa.string())
    texts = texts_of(values, data_type)
    if data_type.name in TEXTS:
        if pc.any(pc.match_substring_regex(texts, "[\\x00-\\x1f]")).as_py():
            found = [json.dumps(text, ensure_ascii=False) for text in texts.to_pylist()]
            return pa.array(found, pa.string())
        for mark in ("\\", '"'):
            texts = pc.replace_substring(texts, mark, "\\" + mark)
    return pc.fill_null(pc.binary_join_element_wise('"', texts, '"', ""), "null")


def _nested(values: pa.Array, data_type: DataType) -> list[Any]:
    """Return values as JSON objects; map keys and all values that are not nested are strings."""
    if data_type.name == "ROW":
        columns = {
            field.name: _nested(column, field.type)
            for field, column in zip(data_type.fields, values.flatten(), strict=True)
        }
        return [
            {name: column[row] for name, column in columns.items()} if valid else None
            for row, valid in enumerate(values.is_valid().to_pylist())
        ]
    if data_type.name == "ARRAY":
        return _split(values, [(values.values, data_type.children[0])], list)
    if data_type.name == "MAP":
        key_type, value_type = data_type.children
        return _split(values, [(values.keys, key_type), (values.items, value_type)], dict)
    found: list[Any] = texts_of(values, data_type).to_pylist()
    return found


def _split(values: pa.Array, parts: list[tuple[pa.Array, DataType]], kind: Callable[[Any], Any]) -> list[Any]:
    """Return the lists or maps of an array, whose elements are in one or two other arrays."""
    offsets = values.offsets.to_pylist()
    # The elements of a sliced array begin at its first offset.
    first, last = offsets[0], offsets[-1]
    columns = [_nested(part.slice(first, last - first), data_type) for part, data_type in parts]
    items = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    return [
        kind(items[start - first : end - first]) if valid else None
        for start, end, valid in zip(offsets[:-1], offsets[1:], values.is_valid().to_pylist(), strict=True)
    ]
