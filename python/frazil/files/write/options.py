"""What a table format decides about its data files, and what the writers of all file formats have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from frazil.files.rows.python_values import TypeName

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
"""The bytes of each column by field id, as far as they are known, and where the file can be split."""


class Splitter(Protocol):
    """Splits rows by partition, and takes what is known of each file. Each table format has its own."""

    def schema(self) -> pa.Schema:
        """Return the columns of the files; each field and each value inside it has its id as `leaves.FIELD_ID`."""

    def split(self, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
        """Take rows; return those that can be written now, with the numbers of their partitions."""

    def next_sorted(self, most_rows: int) -> list[tuple[int, pa.RecordBatch]] | None:
        """Return the next of the rows that waited until all were there, one partition after the other."""

    def new_location(self, partition: int, count: int, extension: str) -> str:
        """Return where the file of a partition is written; `count` is its number among the files of the partition."""

    def close(
        self,
        partition: int,
        path: str,
        file_format: str,
        size_bytes: int,
        column_sizes: dict[int, int],
        split_offsets: Sequence[int] | None,
    ) -> None:
        """Take what is known of a file that is complete."""

    def written(self) -> tuple[int, int, int]:
        """Return the numbers of files, rows and bytes that are written so far."""


class AvroEncoder(Protocol):
    """Encodes the rows of one Avro file."""

    def write(self, batch: pa.RecordBatch) -> bytes:
        """Take rows; return the bytes that are complete."""

    def finish(self) -> bytes:
        """Return the rest of the bytes."""


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """A Bloom filter of the values of a column."""

    fpp: float
    """The share of false positives."""
    ndv: int | None = None
    """The number of distinct values in a row group; None for the number of its rows."""


@dataclass(frozen=True, slots=True)
class SortedColumn:
    """A column that the rows of each file are sorted by."""

    field_id: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterOptions:
    """How the data files of one write are written. A table format makes it from its properties, which it checks."""

    format: Literal["parquet", "orc", "avro"]
    target_file_bytes: int
    """A file that reaches this length is ended, and the next one begins."""
    codec: str
    """As the encoder of the format names it."""
    level: int | None = None
    """The level of the codec; codecs without levels ignore it."""
    row_group_bytes: int = 128 << 20
    """Bytes of rows in a row group of Parquet or a stripe of ORC."""
    bloom_filters: Mapping[str, BloomFilter] = field(default_factory=dict)
    """By path of the leaf in Parquet files (pyarrow 24 or later), by name of the top-level column in ORC files."""

    bloom_max_bytes: int = 1 << 20
    """Parquet: the most bytes of a Bloom filter."""
    page_bytes: int = 1 << 20
    page_rows: int = 20_000
    """Parquet: the most rows of a page, if pyarrow is 24 or later."""
    page_version: str = "1.0"
    """Parquet: `1.0` or `2.0`."""
    dictionary_bytes: int = 2 << 20
    """Parquet: a longer dictionary of a column chunk is given up."""
    fixed_dictionaries: bool = True
    """Parquet: whether columns of fixed-length byte arrays, such as long decimals, may have dictionaries."""
    int96_nanoseconds: bool = False
    """Parquet: whether timestamps in nanoseconds are stored as INT96; other timestamps never are."""
    without_statistics: frozenset[str] = frozenset()
    """Parquet: paths of the leaves that get no statistics."""
    sorted_by: tuple[SortedColumn, ...] = ()
    """Parquet: the sort order that row groups declare."""

    type_name: TypeName = str
    """ORC: returns what errors call a type."""
    parquet_hint: str = "write Parquet files"
    """ORC: how to have Parquet files instead, for errors about values that ORC files cannot hold."""
    compression_strategy: str = "speed"
    """ORC: `speed` or `compression`."""
    orc_attributes: Callable[[pa.Field], Mapping[str, str]] | None = None
    """ORC: returns the attributes of the type of a field, such as its id."""

    avro_encoder: Callable[[str, int | None], AvroEncoder] | None = None
    """Avro: begins a file of the codec and level."""


class FormatWriter(Protocol):
    """A file that is being written."""

    def write(self, rows: pa.Table) -> None:
        """Write rows, as a row group where the format has them."""

    def close(self) -> WrittenColumns:
        """End the file."""


class FileFormat(Protocol):
    """How the files of one write are written."""

    name: str
    """As manifests have it."""
    extension: str
    group_bytes: int
    """So many bytes of rows are worth to be written at once."""

    def open(self, sink: Any, first: pa.Table) -> FormatWriter:
        """Begin a file; `first` are rows that will be in it."""
