"""Splits: files of one bucket that are read together, alone and anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _native

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    DataFile = _native.PaimonDataFile
    DeletionFile = _native.PaimonDeletionFile


class Split:
    """Files of one bucket with their deletion vectors. Pickles as its wire form, which holds no credentials."""

    def __init__(self, native: _native.PaimonSplit) -> None:
        """Use `Scan.plan_files` or `Split.from_bytes` instead."""
        self._native = native

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

    def schema(self) -> pa.Schema:
        """Give the Arrow schema of the rows."""
        return self._native.schema()

    def to_arrow_batches(self) -> Iterator[pa.RecordBatch]:
        """Stream the rows of the split."""
        from frazil.paimon.read import read_split

        return read_split(self._native)

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the rows of the split, with their schema."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema(), self.to_arrow_batches())

    def to_arrow(self) -> pa.Table:
        """Give the rows of the split."""
        return self.to_arrow_batch_reader().read_all()

    def to_bytes(self) -> bytes:
        """Give the wire form: all that another process needs to read the split but credentials."""
        return self._native.to_bytes()

    @classmethod
    def from_bytes(cls, content: bytes, *, properties: Mapping[str, str] | None = None) -> list[Split]:
        """Read the splits of a wire form; `properties` are the options of the storage.

        Raises:
            Unsupported: The bytes were written by another version.
            CorruptData: The bytes are no wire form of splits.
        """
        files = _native.Files("/", [], [], dict(properties or {}))
        return [cls(native) for native in _native.PaimonSplit.from_bytes(content, files)]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the wire form."""
        return _from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        """Give place, number of files, and whether they are merged."""
        place = "/".join(f"{key}={value}" for key, value in self.partition)
        bucket = f"{place}/bucket-{self.bucket}" if place else f"bucket-{self.bucket}"
        how = "as they are" if self.raw_convertible else "merged"
        return f"<frazil.paimon.Split {bucket}: {len(self.files)} files, {how}>"


def _from_bytes(content: bytes) -> Split:
    return Split.from_bytes(content)[0]
