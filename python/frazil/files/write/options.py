"""The writer options set by table formats, and the interfaces that the writers of all file formats share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from frazil.files.rows.places import TypeName

__all__ = [
    "AvroEncoder",
    "BloomFilter",
    "FileFormat",
    "FormatWriter",
    "SortedColumn",
    "Splitter",
    "WriterOptions",
    "WrittenColumns",
]

WrittenColumns = tuple[dict[int, int], list[int] | None]
"""The known sizes in bytes of columns by field id, and the offsets at which the file can be split."""


class Splitter(Protocol):
    """Splits rows by partition and receives the statistics of each file. Each table format implements it."""

    def schema(self) -> pa.Schema:
        """Return the columns of the files; every field, including nested ones, has its id as `leaves.FIELD_ID`."""

    def split(self, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
        """Accept rows; return the rows that can be written now, with the numbers of their partitions."""

    def next_sorted(self, most_rows: int) -> list[tuple[int, pa.RecordBatch]] | None:
        """Return the next sorted rows, one partition at a time, once all rows have arrived."""

    def new_location(self, partition: int, count: int, extension: str) -> str:
        """Return the location for a new file of a partition; `count` is its number among the partition's files."""

    def close(
        self,
        partition: int,
        path: str,
        file_format: str,
        size_bytes: int,
        column_sizes: dict[int, int],
        split_offsets: Sequence[int] | None,
    ) -> None:
        """Receive the statistics of a complete file."""

    def written(self) -> tuple[int, int, int]:
        """Return the number of files, rows and bytes written so far."""


class AvroEncoder(Protocol):
    """An encoder for one Avro file."""

    def write(self, batch: pa.RecordBatch) -> bytes:
        """Encode rows and return the bytes that are ready to be written."""

    def finish(self) -> bytes:
        """Return the remaining bytes of the file."""


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """The settings of a column's Bloom filter."""

    fpp: float
    """The false positive probability."""
    ndv: int | None = None
    """The number of distinct values in a row group; None for the number of rows."""


@dataclass(frozen=True, slots=True)
class SortedColumn:
    """A sort column of the rows in each file."""

    field_id: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterOptions:
    """The options for writing data files. A table format creates them from its properties, which it validates."""

    format: Literal["parquet", "orc", "avro"]
    target_file_bytes: int
    """The file length at which a new file begins."""
    codec: str
    """The codec, as named by the encoder of the format."""
    level: int | None = None
    """The compression level; codecs without levels ignore it."""
    row_group_bytes: int = 128 << 20
    """The bytes of rows in a Parquet row group or ORC stripe."""
    bloom_filters: Mapping[str, BloomFilter] = field(default_factory=dict)
    """Bloom filters, keyed by leaf path in Parquet files (pyarrow 24 or later) and by top-level column in ORC files."""

    bloom_max_bytes: int = 1 << 20
    """Parquet: the maximum bytes of a Bloom filter."""
    page_bytes: int = 1 << 20
    page_rows: int = 20_000
    """Parquet: the maximum rows of a page, for pyarrow 24 or later."""
    page_version: str = "1.0"
    """Parquet: `1.0` or `2.0`."""
    dictionary_bytes: int = 2 << 20
    """Parquet: the maximum bytes of a column chunk's dictionary; above it the dictionary is abandoned."""
    fixed_dictionaries: bool = True
    """Parquet: whether columns of fixed-length byte arrays, such as long decimals, may have dictionaries."""
    int96_nanoseconds: bool = False
    """Parquet: whether nanosecond timestamps are stored as INT96. Timestamps of other units are never stored as INT96.
    """
    without_statistics: frozenset[str] = frozenset()
    """Parquet: the paths of leaf columns without statistics."""
    sorted_by: tuple[SortedColumn, ...] = ()
    """Parquet: the sort order that row groups declare."""

    type_name: TypeName = str
    """ORC: a function that returns the name of a type in errors."""
    parquet_hint: str = "write Parquet files"
    """ORC: the hint for switching to Parquet, in errors about values that ORC files cannot store."""
    compression_strategy: str = "speed"
    """ORC: `speed` or `compression`."""
    orc_attributes: Callable[[pa.Field], Mapping[str, str]] | None = None
    """ORC: a function that returns the attributes of a field's type, such as its id."""

    avro_encoder: Callable[[str, int | None], AvroEncoder] | None = None
    """Avro: a function that creates an encoder for a codec and level."""


class FormatWriter(Protocol):
    """A file that is being written."""

    def write(self, rows: pa.Table) -> None:
        """Write rows, as one row group if the format has row groups."""

    def close(self) -> WrittenColumns:
        """Finish the file."""


class FileFormat(Protocol):
    """The format of the files in one write."""

    name: str
    """The name of the format in manifests."""
    extension: str
    group_bytes: int
    """The bytes of rows that are efficient to write in one call."""

    def open(self, sink: Any, first: pa.Table) -> FormatWriter:
        """Start a file; `first` holds rows that will be written to it."""
