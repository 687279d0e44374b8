"""The files of format tables, with the format and compression that their names indicate."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from frazil.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMATS = ("AVRO", "CSV", "JSON", "ORC", "PARQUET", "TEXT")

DEFAULT_PARTITION = "__DEFAULT_PARTITION__"
"""The default name of the partition whose value is NULL."""

_COMPRESSIONS = {".gz": "gzip", ".gzip": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zstd": "zstd"}
_FORMAT_OF = {
    ".avro": "AVRO",
    ".csv": "CSV",
    ".json": "JSON",
    ".orc": "ORC",
    ".parquet": "PARQUET",
    ".text": "TEXT",
    ".txt": "TEXT",
}


@dataclass(frozen=True, slots=True)
class FormatFile:
    """A file of a format table."""

    file_path: str
    file_format: str
    file_size_in_bytes: int
    partition: dict[str, str | None] = field(default_factory=dict)


def file_format(name: str, options: Mapping[str, str], location: str) -> str:
    """Return the format of a file, from the option `file.format`, or from the file name if the option is not set.

    Args:
        name: The name of the file, without its folder.
        options: The options of the table.
        location: The folder of the table, for messages.

    Raises:
        UnsupportedError: The format is not supported, or cannot be determined from the name.
    """
    given = options.get("file.format", options.get("format"))
    if given is not None and given.upper() in FORMATS:
        return given.upper()
    path = PurePosixPath(name)
    extension = (path.with_suffix("") if path.suffix.lower() in _COMPRESSIONS else path).suffix
    found = _FORMAT_OF.get(extension.lower()) if given is None else None
    if found is None:
        what = f"files of format {given}" if given is not None else f"files named *{extension}"
        message = f"format tables with {what} are not supported"
        hint = f"set the option file.format to one of {', '.join(FORMATS).lower()}"
        raise UnsupportedError(message, context={"table": location}, hint=hint)
    return found


def compression_of(path: str) -> str | None:
    """Return the compression that the name of a text file indicates; None if it is not compressed."""
    return _COMPRESSIONS.get(PurePosixPath(path).suffix.lower())
