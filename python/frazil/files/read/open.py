"""Opens files that contain rows."""

from __future__ import annotations

import contextlib
import struct
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from frazil.errors import CorruptDataFileError, LimitExceededError, MissingFileError, UnsupportedError
from frazil.files.read.avro import AvroFile
from frazil.files.read.orc import OrcFile
from frazil.files.read.parquet import ParquetFile
from frazil.files.read.remote import source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from frazil import _native
    from frazil.files.read.data_file import DataFile

__all__ = ["open_data_file", "open_stream"]


@contextlib.contextmanager
def open_data_file(
    files: _native.Files,
    path: str,
    file_format: str,
    *,
    int96_unit: Literal["us", "ns"],
    dictionaries: bool = False,
) -> Iterator[DataFile]:
    """Open a file at a recorded location; errors of the readers are converted to errors that include the file path.

    The top-level Parquet columns in `dictionaries` are returned as dictionaries, which suits repeated strings.

    Parquet INT96 timestamps are read in `int96_unit`: microseconds cover distant years; nanoseconds are exact and raise
    an error on overflow. In nested columns, pyarrow returns the same values for the years 2262 to 2554 as for the times
    before 1970 that Java writes. Such values are read as times before 1970. With `dictionaries`, strings and bytes that
    are dictionary-encoded in a Parquet file may be returned as dictionaries.
    """
    with _named(path), contextlib.ExitStack() as stack:
        if file_format == "PARQUET":
            yield ParquetFile(files, path, stack, int96_unit, dictionaries=dictionaries)
        elif file_format == "ORC":
            yield OrcFile(files, path, stack)
        elif file_format == "AVRO":
            yield AvroFile(files, path)
        else:
            message = f"data files of format {file_format} are not supported"
            raise UnsupportedError(message, context={"file": path})


@contextlib.contextmanager
def open_stream(files: _native.Files, path: str, compression: str | None) -> Iterator[pa.NativeFile]:
    """Open a file at a recorded location as a decompressed byte stream; errors are those of `open_data_file`."""
    with _named(path), contextlib.ExitStack() as stack:
        stream = stack.enter_context(source(files, path))
        if compression is not None:
            stream = stack.enter_context(pa.CompressedInputStream(stream, compression))
        yield stream


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """Convert pyarrow exceptions to errors that include the file path."""
    context = {"file": path}
    try:
        yield
    except FileNotFoundError as error:
        if isinstance(error, MissingFileError):
            raise
        message = f"a file that the table references is missing (file: {path})"
        raise MissingFileError(message, context=context) from error
    except pa.ArrowMemoryError as error:
        message = f"a data file requires more memory than is available: {error} (file: {path})"
        raise LimitExceededError(message, context=context) from error
    except (pa.ArrowException, OSError, ValueError, struct.error) as error:
        if hasattr(error, "kind"):
            raise
        message = f"a data file cannot be decoded: {error} (file: {path})"
        raise CorruptDataFileError(message, context=context) from error
