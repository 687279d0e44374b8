"""Rows of files that are appended to a table: CSV and JSON in the types of the table, and files that have types."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil import _native
from frazil.cli._read_csv import csv_rows
from frazil.cli._read_json import json_rows
from frazil.cli._typed import check_names
from frazil.errors import InvalidArgumentError, MissingFileError
from frazil.files.read.avro import AvroFile
from frazil.files.rows.batches import unnamed_levels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["FORMATS", "Input", "inputs_of", "rows_of"]

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".orc": "orc",
    ".avro": "avro",
    ".arrow": "arrow",
    ".feather": "arrow",
}
FORMATS = ("csv", "tsv", "json", "jsonl", "parquet", "orc", "avro", "arrow")
_CSV = ("csv", "tsv")
_TEXT = (*_CSV, "json")
_GZIP = b"\x1f\x8b"
_ARROW_FILE = b"ARROW1"
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Input:
    """A file, or standard input."""

    name: str
    """The path, or `-`."""
    format: str
    delimiter: str

    @property
    def shown(self) -> str:
        """Return the name for messages."""
        return "standard input" if self.name == "-" else self.name


def inputs_of(names: Sequence[str], given: str | None, delimiter: str | None) -> list[Input]:
    """Return the files with their formats.

    Args:
        names: The paths; `-` is standard input.
        given: The format of all files; by default, the names of the files determine it.
        delimiter: The character between the cells of CSV files; a comma by default.

    Raises:
        InvalidArgumentError: A format is not known, or an option does not apply.
        MissingFileError: A file does not exist.
    """
    found = [_input(name, given, delimiter) for name in names]
    if list(names).count("-") > 1:
        message = "standard input is given twice, but can only be read once"
        raise InvalidArgumentError(message)
    if delimiter is not None and not any(one.format in _CSV for one in found):
        message = "--delimiter applies to CSV files, and no file is one"
        raise InvalidArgumentError(message, hint="omit --delimiter, or pass --format csv")
    return found


def _input(name: str, given: str | None, delimiter: str | None) -> Input:
    path = Path(name)
    suffix = path.suffix.lower()
    if suffix == ".gz":
        suffix = path.with_suffix("").suffix.lower()
    kind = _SUFFIXES.get(suffix) if given is None else _SUFFIXES[f".{given}"]
    if kind is None or (given is None and path.suffix.lower() == ".gz" and kind not in _TEXT):
        if name == "-":
            message = "the format of standard input is not given"
            raise InvalidArgumentError(message, hint=f"pass --format: {', '.join(FORMATS)}")
        message = f"the format of {name} cannot be determined from its name"
        hint = f"pass --format; the known suffixes are {', '.join(_SUFFIXES)}, and .gz after those of text files"
        raise InvalidArgumentError(message, context={"file": name}, hint=hint)
    if name != "-" and not path.is_file():
        message = f"file {name} does not exist"
        raise MissingFileError(message, context={"file": name})
    return Input(name, kind, _delimiter(delimiter, "\t" if kind == "tsv" else ","))


def _delimiter(given: str | None, default: str) -> str:
    if given is None:
        return default
    character = "\t" if given == r"\t" else given
    if len(character) != 1 or not character.isascii() or character in '"\r\n':
        message = f"--delimiter must be one ASCII character other than a quote or a line break, not {given!r}"
        raise InvalidArgumentError(message)
    return character


def rows_of(inputs: Sequence[Input], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read the rows of files, in batches of bounded size.

    Args:
        inputs: The files.
        schema: The columns that the rows may have.

    Raises:
        InvalidArgumentError: A file cannot be read, has a column that the schema lacks, or a value that does not fit.
    """
    for one in inputs:
        try:
            with _opened(one.name) as stream:
                yield from _rows(one, stream, schema)
        except (pa.ArrowException, OSError, EOFError) as error:
            if hasattr(error, "kind"):
                raise
            message = f"{one.shown} cannot be read as {one.format}: {error}"
            raise InvalidArgumentError(message, context={"file": one.name}) from error


def _opened(name: str) -> contextlib.AbstractContextManager[Any]:
    return contextlib.nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb")


def _rows(one: Input, stream: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    if one.format in _CSV:
        return csv_rows(_text(stream), one.shown, one.delimiter, schema)
    if one.format == "json":
        return json_rows(_text(stream), one.shown, schema)
    return _typed_rows(one, stream, schema)


def _text(stream: Any) -> Any:
    """Return a stream of text, which may be compressed by gzip, after its byte order mark."""
    if stream.peek(len(_GZIP))[: len(_GZIP)] == _GZIP:
        stream = gzip.GzipFile(fileobj=stream)
    if stream.peek(len(_BOM))[: len(_BOM)] == _BOM:
        stream.read(len(_BOM))
    return stream


def _typed_rows(one: Input, stream: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    if one.format == "arrow" and stream.peek(len(_ARROW_FILE))[: len(_ARROW_FILE)] != _ARROW_FILE:
        reader = pa.ipc.open_stream(stream)
        check_names(reader.schema.names, schema.names, one.shown)
        yield from reader
        return
    with _seekable(one, stream) as path:
        found, batches = _avro(path) if one.format == "avro" else _dataset(path, one.format)
        check_names([name for name in found.names if name not in unnamed_levels(found)], schema.names, one.shown)
        yield from batches


@contextlib.contextmanager
def _seekable(one: Input, stream: Any) -> Iterator[Path]:
    """Copy standard input to a file, for formats that are read from their end."""
    if one.name != "-":
        yield Path(one.name)
        return
    with tempfile.NamedTemporaryFile(prefix="frazil-") as copy:
        shutil.copyfileobj(stream, copy)
        copy.flush()
        yield Path(copy.name)


def _dataset(path: Path, kind: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    import pyarrow.dataset as ds

    dataset = ds.dataset(str(path), format="ipc" if kind == "arrow" else kind)
    return dataset.schema, dataset.to_batches()


def _avro(path: Path) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    path = path.resolve()
    file = AvroFile(_native.Files(str(path.parent), [], [], {}), str(path))
    wanted = list(range(len(file.schema)))
    # The reader leaves it to its users to check that strings are UTF-8.
    batches = (batch.cast(file.schema) for _, batch, _ in file.batches(([], wanted), None) if batch is not None)
    return file.schema, batches
