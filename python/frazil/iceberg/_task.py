"""Tasks: one data file of a scan with its deletes, which can be read alone and anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _native
from frazil._part import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

DeleteFile = _native.DeleteFile
DataFile = _native.FileScanTask


class FileScanTask(Part[_native.FileScanTask]):
    """One data file of a scan with its deletes. Pickles as its wire form, which holds no credentials."""

    @property
    def file(self) -> DataFile:
        """The data file: `file_path`, `file_format`, `record_count`, `file_size_in_bytes`, `partition` and so on."""
        return self._native

    @property
    def delete_files(self) -> list[DeleteFile]:
        """The delete files and deletion vectors that apply to the data file."""
        return self._native.delete_files

    @property
    def residual(self) -> str:
        """What is left of the filter for rows of this file, as SQL."""
        return self._native.residual

    def to_arrow_batches(self) -> Iterator[pa.RecordBatch]:
        """Stream the rows of the task."""
        from frazil.iceberg._read import read_task

        return read_task(self._native)

    @classmethod
    def _reader(cls) -> Callable[[bytes, _native.Files], list[_native.FileScanTask]]:
        return _native.FileScanTask.from_bytes

    def __repr__(self) -> str:
        """Give the data file and how many deletes it has."""
        file = self._native
        deletes = len(file.delete_files)
        return f"<frazil.iceberg.FileScanTask {file.file_path!r}: {file.record_count} rows, {deletes} delete files>"
