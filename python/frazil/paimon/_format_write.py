"""Writes of format tables: new files, their commit, and the removal of replaced files.

    table/p=a/.tmp.<uuid>                a file during the write; readers ignore it because of the dot
    table/p=a/data-<uuid>-0.csv          the same file after the commit, which renames it

File names are those of Java (`DataFilePathFactory`): `data-<uuid>-<number in the folder>.<format>`, with the suffix of
the compression for text files. Java does not add this suffix to TEXT files, which it then reads as uncompressed. By
default, folder names are those of `partition.legacy-name`: days since 1970 for DATE, milliseconds for TIME.

In an object store, files are written under their final names, because a file there appears only when it is complete.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._arguments import table_files
from frazil._progress import reported
from frazil.config import config
from frazil.errors import FrazilError, InvalidArgumentError, StorageError
from frazil.files.rows.batches import batches
from frazil.files.rows.places import TypeNames
from frazil.files.write.writer import DataFileWriter, write_memory
from frazil.paimon._format_file import DEFAULT_PARTITION
from frazil.paimon._text_write import TextFormat
from frazil.paimon._writer_options import type_name, utc_offset_ms, writer_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from frazil.config import Progress
    from frazil.files.write.options import FileFormat
    from frazil.paimon._schema import Schema

TEXT_FORMATS = frozenset({"csv", "json", "text"})

_COMPRESSION = {"parquet": "snappy", "orc": "zstd", "avro": "zstd", "csv": "none", "json": "none", "text": "none"}
"""The default compression of each format, as in Java's format tables."""

_COMPRESSION_OPTIONS = ("file.compression", "format-table.file.compression", "compression")
"""The options that set the compression of new files; as in Java, the first one that is set applies."""

_OF_ALL_FORMATS = ("file.block-size", "target-file-size", "partition.")
"""The prefixes of the options that apply to every format; the others begin with the name of their format."""


@dataclass(slots=True)
class NewFile:
    """A written file: its location before and after the commit."""

    written: str
    target: str
    folders: list[str]
    """The names of its partition folders."""
    new_folders: list[Path] = field(default_factory=list)
    """The local folders that did not exist before this write, innermost first."""
    size_bytes: int = 0


class FormatRows:
    """Rows that are split by partition; the files contain the columns that are not partition keys."""

    def __init__(self, place: str, schema: Schema, scratch: str, files: _native.Files) -> None:
        """Begin a write to the folder `place`; `scratch` is an empty local folder."""
        self._place, self._files = place, files
        options = _writer_options(schema)
        stored = [field for field in schema.to_json()["fields"] if field["name"] not in schema.partition_keys]
        whole = {"fields": schema.to_json()["fields"], "partitionKeys": list(schema.partition_keys)}
        self._rows = _paimon_rows(f"{scratch}/rows", whole, options)
        self._encoder = _paimon_rows(f"{scratch}/files", {"fields": stored, "partitionKeys": []}, options)
        self._scratch = f"{scratch}/rows/"
        self._names = [field["name"] for field in stored]
        self._only_values = is_true(schema.options, "format-table.partition-path-only-value")
        self._default = schema.options.get("partition.default-name", DEFAULT_PARTITION)
        self._prefix = f"{_prefix(schema)}{uuid.uuid4()}"
        self._new_folders: set[Path] = set()
        self.new_files: dict[str, NewFile] = {}
        self.rows = 0

    @property
    def encoder(self) -> _native.PaimonRows:
        """The encoding of the files."""
        return self._encoder

    def input_schema(self) -> pa.Schema:
        """Return the columns that `split` accepts."""
        return self._rows.input_schema()

    def schema(self) -> pa.Schema:
        """Return the columns of the files, with field ids."""
        return self._encoder.schema()

    def split(self, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
        """Check rows and split them by partition."""
        self.rows += batch.num_rows
        return [(slot, rows.select(self._names)) for slot, rows in self._rows.split(batch)]

    def next_sorted(self, most_rows: int) -> list[tuple[int, pa.RecordBatch]] | None:
        """Return the next rows that were held back until all rows were added."""
        found = self._rows.next_sorted(most_rows)
        return None if found is None else [(slot, rows.select(self._names)) for slot, rows in found]

    def new_location(self, partition: int, count: int, extension: str) -> str:
        """Return the location for a new file of a partition."""
        inner = self._rows.new_location(partition, count, extension).removeprefix("file://").removeprefix(self._scratch)
        # The last two parts are the bucket and the file name.
        folders = inner.split("/")[:-2]
        if self._only_values:
            folders = [folder.partition("=")[2] for folder in folders]
            self._check_visible(folders)
        parent = "/".join((self._place.rstrip("/"), *folders))
        number = sum(file.folders == folders for file in self.new_files.values())
        target = f"{parent}/{self._prefix}-{number}.{extension}"
        place = self._files.writable(target)
        is_local = place.startswith("/")
        written = f"{parent}/.tmp.{uuid.uuid4()}" if is_local else target
        parents = list(Path(place).parents)[: len(folders)] if is_local else []
        self._new_folders.update(folder for folder in parents if not folder.exists())
        new_folders = [folder for folder in parents if folder in self._new_folders]
        self.new_files[written] = NewFile(written, target, folders, new_folders)
        return written

    def _check_visible(self, folders: list[str]) -> None:
        """Reject partition values that would be the names of hidden folders or of parent folders."""
        hidden = next((name for name in folders if name.startswith((".", "_")) and name != self._default), None)
        if hidden is not None:
            message = f"the partition value {hidden!r} cannot be a folder name: readers ignore it"
            hint = "create the table without the option `format-table.partition-path-only-value`"
            raise InvalidArgumentError(message, context={"table": self._place}, hint=hint)

    def close(
        self,
        partition: int,
        path: str,
        file_format: str,
        size_bytes: int,
        column_sizes: dict[int, int],
        split_offsets: Sequence[int] | None,
    ) -> None:
        """Record the size of a complete file."""
        del partition, file_format, column_sizes, split_offsets
        self.new_files[path].size_bytes = size_bytes

    def written(self) -> tuple[int, int, int]:
        """Return the number of files, rows and bytes written so far."""
        return len(self.new_files), self.rows, sum(file.size_bytes for file in self.new_files.values())


def check_writable(schema: Schema) -> None:
    """Check that rows can be written with the columns and options of a format table.

    Raises:
        InvalidArgumentError: An option is invalid.
        UnsupportedError: The format cannot store the type of a column, or an option is not supported.
    """
    with tempfile.TemporaryDirectory(prefix="frazil-") as scratch:
        files = table_files(scratch, {}, {})
        _writer(FormatRows(scratch, schema, scratch, files), schema, files)


def write_files(place: str, schema: Schema, files: _native.Files, data: Any) -> tuple[list[NewFile], int]:
    """Write rows into new files that are not yet committed; return them and the number of rows.

    On failure, the files are deleted.
    """
    with tempfile.TemporaryDirectory(prefix="frazil-") as scratch, reported(config.progress) as progress:
        rows = FormatRows(place, schema, scratch, files)
        writer = _writer(rows, schema, files, progress)
        types = {path: text for column in schema.fields for path, text in column.data_type.texts(column.name)}
        try:
            writer.write(batches(data, rows.input_schema(), TypeNames(type_name, types)))
            writer.close()
        except BaseException:
            writer.abort()
            discard(files, rows.new_files.values())
            raise
        return list(rows.new_files.values()), rows.rows


def publish(files: _native.Files, new: Sequence[NewFile]) -> None:
    """Make new files visible; on failure, delete all of them.

    Raises:
        StorageError: A file cannot be renamed; the table is unchanged.
    """
    try:
        for file in new:
            if file.written != file.target:
                Path(files.writable(file.written)).rename(files.writable(file.target))
    except BaseException as error:
        discard(files, new)
        if isinstance(error, OSError) and not isinstance(error, FrazilError):
            message = f"a new file cannot be renamed: {error}"
            raise StorageError(message, context={"file": error.filename or ""}) from error
        raise


def discard(files: _native.Files, new: Iterable[NewFile]) -> None:
    """Delete new files, published or not, and the partition folders that the write created, if they are empty."""
    for file in new:
        for path in {file.written, file.target}:
            with contextlib.suppress(FrazilError):
                files.delete(path)
        # An empty folder that existed before may belong to a concurrent writer, which is about to write to it.
        with contextlib.suppress(OSError):
            for folder in file.new_folders:
                folder.rmdir()


def file_format_of(schema: Schema) -> str:
    """Return the format of new files, `parquet` by default."""
    return schema.options.get("file.format", schema.options.get("format", "parquet")).strip().lower()


def is_true(options: Mapping[str, str], name: str) -> bool:
    """Return whether an option is set to true."""
    return options.get(name, "false").strip().lower() == "true"


def _writer(
    rows: FormatRows, schema: Schema, files: _native.Files, progress: Progress | None = None
) -> DataFileWriter[FormatRows]:
    text_format = _text_format(schema)
    return DataFileWriter(files, rows, writer_options(rows.encoder), file_format=text_format, progress=progress)


def _prefix(schema: Schema) -> str:
    """Return the prefix of the names of new files, which must not hide the files or name another folder."""
    prefix = schema.options.get("data-file.prefix", "data-")
    if prefix.startswith((".", "_")) or "/" in prefix:
        message = f"the option `data-file.prefix` is {prefix!r}: readers would not find files with such names"
        raise InvalidArgumentError(message, hint="use a prefix that begins with a letter or a digit, without `/`")
    return prefix


def _compression(schema: Schema) -> str:
    given = next((schema.options[name] for name in _COMPRESSION_OPTIONS if name in schema.options), None)
    return _COMPRESSION[file_format_of(schema)] if given is None else given.strip().lower()


def _text_format(schema: Schema) -> FileFormat | None:
    name = file_format_of(schema)
    if name not in TEXT_FORMATS:
        return None
    fields = [field for field in schema.fields if field.name not in schema.partition_keys]
    return TextFormat(name, fields, schema.options, _compression(schema))


def _writer_options(schema: Schema) -> dict[str, str]:
    name = file_format_of(schema)
    prefixes = (*_OF_ALL_FORMATS, f"{name}.")
    found = {option: value for option, value in schema.options.items() if option.startswith(prefixes)}
    # Rows of text files are checked and split in the same way; only the files differ.
    encoding = {"file.format": "parquet"} if name in TEXT_FORMATS else {"file.format": name}
    return found | encoding | ({} if name in TEXT_FORMATS else {"file.compression": _compression(schema)})


def _paimon_rows(place: str, definition: dict[str, Any], options: dict[str, str]) -> _native.PaimonRows:
    whole = definition | {"primaryKeys": [], "options": options}
    table = _native.paimon_create(table_files(place, {}, {}), place, json.dumps(whole))
    return _native.PaimonRows(
        table, memory_bytes=write_memory(), utc_offset_ms=utc_offset_ms(), overwrites=False, name=None
    )
