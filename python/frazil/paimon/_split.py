"""Splits: files of one bucket that are read together, alone and anywhere."""

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
    """Files of one bucket with their deletion vectors. Pickles as its wire form, which holds no credentials."""

    @property
    def snapshot_id(self) -> int:
        """The snapshot that is read."""
        return self._native.snapshot_id

    @property
    def partition(self) -> list[tuple[str, str | None]]:
        """The partition: its keys with their values as text."""
        return self._native.partition

    @property
    def bucket(self) -> int:
        """The bucket."""
        return self._native.bucket

    @property
    def total_buckets(self) -> int:
        """How many buckets the partition had when the files were written."""
        return self._native.total_buckets

    @property
    def raw_convertible(self) -> bool:
        """Whether the rows are those of the files, without a merge."""
        return self._native.raw_convertible

    @property
    def files(self) -> list[DataFile]:
        """The data files: `file_path`, `file_format`, `row_count`, `level`, `schema_id` and so on."""
        return self._native.data_files()

    @property
    def deletion_files(self) -> list[DeletionFile | None]:
        """Where the deletion vector of each data file lies; None where no row is deleted."""
        return self._native.deletion_files()

    def to_arrow_batches(self) -> Iterator[pa.RecordBatch]:
        """Stream the rows of the split."""
        from frazil.paimon._read import read_split

        return read_split(self._native)

    @classmethod
    def _reader(cls) -> Callable[[bytes, _native.Files], list[_native.PaimonSplit]]:
        return _native.PaimonSplit.from_bytes

    def __repr__(self) -> str:
        """Give place, number of files, and whether they are merged."""
        place = "/".join(f"{key}={value}" for key, value in self.partition)
        bucket = f"{place}/bucket-{self.bucket}" if place else f"bucket-{self.bucket}"
        how = "as they are" if self.raw_convertible else "merged"
        return f"<frazil.paimon.Split {bucket}: {len(self.files)} files, {how}>"
