"""Tasks: one data file of a scan with its deletes, which can be read alone and anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _native

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

DeleteFile = _native.DeleteFile
DataFile = _native.FileScanTask


class FileScanTask:
    """One data file of a scan with its deletes. Pickles as its wire form, which holds no credentials."""

    def __init__(self, native: _native.FileScanTask) -> None:
        """Use `Scan.plan_files` or `FileScanTask.from_bytes` instead."""
        self._native = native

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
        from frazil.iceberg.read import read_task

        return read_task(self._native)

    def to_arrow(self) -> pa.Table:
        """Give the rows of the task."""
        import pyarrow as pa

        return pa.Table.from_batches(list(self.to_arrow_batches()), self._native.schema())

    def to_bytes(self) -> bytes:
        """Give the wire form: all that another process needs to read the task but credentials."""
        return self._native.to_bytes()

    @classmethod
    def from_bytes(cls, content: bytes, *, properties: Mapping[str, str] | None = None) -> list[FileScanTask]:
        """Read the tasks of a wire form; `properties` are the options of the storage.

        Raises:
            Unsupported: The bytes were written by another version.
            CorruptData: The bytes are no wire form of tasks.
        """
        files = _native.Files("/", [], [], dict(properties or {}))
        return [cls(native) for native in _native.FileScanTask.from_bytes(content, files)]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the wire form."""
        return _from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        """Give the data file and how many deletes it has."""
        file = self._native
        deletes = len(file.delete_files)
        return f"<frazil.iceberg.FileScanTask {file.file_path!r}: {file.record_count} rows, {deletes} delete files>"


def _from_bytes(content: bytes) -> FileScanTask:
    return FileScanTask.from_bytes(content)[0]
