"""Opening files that hold rows."""

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
    """Open a file at a recorded location; every failure of a reader becomes an error that names the file.

    Top-level columns of Parquet that are named in `dictionaries` come as such: for text that is repeated.

    INT96 timestamps of Parquet become `int96_unit`: microseconds hold the far years, nanoseconds every digit; what does
    not fit nanoseconds is refused. Inside other columns what pyarrow gives does not tell 2262 to 2554 from the times
    before 1970 that Java writes: it is taken for the latter.
    With `dictionaries` texts and bytes that a Parquet file has as dictionaries may come as such.
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
    """Open a file at a recorded location as a stream of bytes, decompressed; errors as of `open_data_file`."""
    with _named(path), contextlib.ExitStack() as stack:
        stream = stack.enter_context(source(files, path))
        if compression is not None:
            stream = stack.enter_context(pa.CompressedInputStream(stream, compression))
        yield stream


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """Turn what pyarrow raises into errors that name the file."""
    context = {"file": path}
    try:
        yield
    except FileNotFoundError as error:
        if isinstance(error, MissingFileError):
            raise
        message = f"a file that the table needs is missing (file: {path})"
        raise MissingFileError(message, context=context) from error
    except pa.ArrowMemoryError as error:
        message = f"a data file asks for more memory than there is: {error} (file: {path})"
        raise LimitExceededError(message, context=context) from error
    except (pa.ArrowException, OSError, ValueError, struct.error) as error:
        if hasattr(error, "kind"):
            raise
        message = f"a data file cannot be decoded: {error} (file: {path})"
        raise CorruptDataFileError(message, context=context) from error
