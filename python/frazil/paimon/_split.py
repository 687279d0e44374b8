"""Splits: the files of one bucket that are read together, which any process can read independently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _native
from frazil._part import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    DataFile = _native.PaimonDataFile
    DeletionFile = _native.PaimonDeletionFile


class Split(Part[_native.PaimonSplit]):
    """Files of one bucket with their deletion vectors. It is pickled without credentials."""

    @property
    def snapshot_id(self) -> int:
        """The snapshot that is read."""
        return self._native.snapshot_id

    @property
    def partition(self) -> list[tuple[str, str | None]]:
        """The partition keys with their values as strings."""
        return self._native.partition

    @property
    def bucket(self) -> int:
        """The bucket number."""
        return self._native.bucket

    @property
    def total_buckets(self) -> int:
        """The number of buckets that the partition had when the files were written."""
        return self._native.total_buckets

    @property
    def raw_convertible(self) -> bool:
        """Whether the rows can be read from the files without a merge."""
        return self._native.raw_convertible

    @property
    def files(self) -> list[DataFile]:
        """The data files: `file_path`, `file_format`, `row_count`, `level`, `schema_id` and so on."""
        return self._native.data_files()

    @property
    def deletion_files(self) -> list[DeletionFile | None]:
        """The location of each data file's deletion vector; None for a file without deleted rows."""
        return self._native.deletion_files()

    def to_arrow_batches(self) -> Iterator[pa.RecordBatch]:
        """Stream the rows of the split."""
        from frazil.paimon._read import read_split

        return read_split(self._native)

    @classmethod
    def _reader(cls) -> Callable[[bytes, _native.Files], list[_native.PaimonSplit]]:
        return _native.PaimonSplit.from_bytes

    def __repr__(self) -> str:
        """Return a representation with the partition, bucket, number of files, and whether they are merged."""
        place = "/".join(f"{key}={value}" for key, value in self.partition)
        bucket = f"{place}/bucket-{self.bucket}" if place else f"bucket-{self.bucket}"
        how = "as they are" if self.raw_convertible else "merged"
        return f"<frazil.paimon.Split {bucket}: {len(self.files)} files, {how}>"
