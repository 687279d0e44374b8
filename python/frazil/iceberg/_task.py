"""Scan tasks: one data file of a scan with its deletes, which any process can read independently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _native
from frazil._part import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

DeleteFile = _native.DeleteFile


class DataFile:
    """A data file, with the values recorded in manifests (spec: "Manifests", the struct `data_file`)."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.FileScanTask) -> None:
        """Not for direct use; use the property `FileScanTask.file`."""
        self._native = native

    @property
    def file_path(self) -> str:
        """The location as recorded in the manifest."""
        return self._native.file_path

    @property
    def file_format(self) -> str:
        """`PARQUET`, `ORC` or `AVRO`."""
        return self._native.file_format

    @property
    def record_count(self) -> int:
        """The number of rows, including deleted ones."""
        return self._native.record_count

    @property
    def file_size_in_bytes(self) -> int:
        """The size in bytes."""
        return self._native.file_size_in_bytes

    @property
    def spec_id(self) -> int:
        """The id of the partition spec."""
        return self._native.spec_id

    @property
    def sequence_number(self) -> int:
        """The data sequence number; 0 in format version 1."""
        return self._native.sequence_number

    @property
    def first_row_id(self) -> int | None:
        """The id of the first row; None before format version 3."""
        return self._native.first_row_id

    @property
    def partition(self) -> list[tuple[str, str | None]]:
        """The partition fields with their values as strings."""
        return self._native.partition

    def __repr__(self) -> str:
        """Return a representation with the path and the number of rows."""
        return f"<frazil.iceberg.DataFile {self.file_path!r}: {self.record_count} rows>"


class FileScanTask(Part[_native.FileScanTask]):
    """One data file of a scan with its deletes. It is pickled without credentials."""

    @property
    def file(self) -> DataFile:
        """The data file."""
        return DataFile(self._native)

    @property
    def delete_files(self) -> list[DeleteFile]:
        """The delete files and deletion vectors that apply to the data file."""
        return self._native.delete_files

    @property
    def residual(self) -> str:
        """The residual filter for the rows of this file, as SQL."""
        return self._native.residual

    def to_arrow_batches(self) -> Iterator[pa.RecordBatch]:
        """Stream the rows of the task."""
        from frazil.iceberg._read import read_task

        return read_task(self._native)

    @classmethod
    def _reader(cls) -> Callable[[bytes, _native.Files], list[_native.FileScanTask]]:
        return _native.FileScanTask.from_bytes

    def __repr__(self) -> str:
        """Return a representation with the data file and the number of its deletes."""
        file = self._native
        deletes = len(file.delete_files)
        return f"<frazil.iceberg.FileScanTask {file.file_path!r}: {file.record_count} rows, {deletes} delete files>"
