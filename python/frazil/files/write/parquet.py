"""Parquet data files, encoded by pyarrow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from frazil._extras import has_pyarrow
from frazil.files.write.leaves import leaves, stored_schema
from frazil.files.write.parquet_bounds import NAN_FREE_BOUNDS, float_leaves, leaves_with_nan, without_bounds
from frazil.files.write.parquet_footer import FooterSink, annotated, schema_annotations
from frazil.files.write.stored import as_stored, with_types, without_offsets

if TYPE_CHECKING:
    from frazil.files.write.leaves import Leaf
    from frazil.files.write.options import BloomFilter, SortedColumn, WriterOptions, WrittenColumns
    from frazil.files.write.parquet_bounds import FloatLeaf

__all__ = ["BLOOM_VERSION", "ParquetFormat"]

_LEVELS = {"gzip", "brotli", "zstd"}
_MOST_INTEGER_DIGITS = 18
"""The maximum number of digits of decimals that are stored as integers."""
_SAMPLE_VALUES = 16_384
_FEW_VALUES = 1_024
_DISTINCT_SHARE = 0.95
"""The share of distinct values in a sample above which no dictionary is built.

A dictionary for such values is abandoned halfway or as long as the column, and building it takes a third of the
encoding time.
"""


BLOOM_VERSION = 24
"""The first pyarrow version that writes Bloom filters and limits the rows of a page."""


class ParquetFormat:
    """The Parquet format of the files in one write."""

    name = "PARQUET"
    extension = "parquet"

    def __init__(self, schema: pa.Schema, options: WriterOptions) -> None:
        """Prepare the columns and the pyarrow arguments."""
        columns = stored_schema(schema)
        has_int96 = options.int96_nanoseconds and any(
            leaf.type == pa.timestamp("ns", leaf.type.tz)
            for leaf in leaves(columns)
            if pa.types.is_timestamp(leaf.type)
        )
        self._schema = pa.schema([with_types(field, _without_timestamp) for field in columns]) if has_int96 else columns
        self._leaves = leaves(self._schema)
        self._floats = float_leaves(self._schema, self._leaves)
        self._annotations = schema_annotations(columns, self._schema)
        self.group_bytes = options.row_group_bytes
        self._bloom, self._bloom_bytes = options.bloom_filters, options.bloom_max_bytes
        self._dictionaries: list[str] | None = None
        self._fixed_dictionaries = options.fixed_dictionaries
        self._options: dict[str, Any] = {
            "compression": options.codec,
            "compression_level": options.level if options.codec in _LEVELS else None,
            "data_page_size": options.page_bytes,
            "dictionary_pagesize_limit": options.dictionary_bytes,
            "data_page_version": options.page_version,
            "write_statistics": self._with_statistics(options.without_statistics),
            "sorting_columns": self._sorting_columns(options.sorted_by),
            "use_deprecated_int96_timestamps": has_int96,
        }
        if has_pyarrow(BLOOM_VERSION):
            self._options["max_rows_per_page"] = options.page_rows

    def open(self, sink: Any, first: pa.Table) -> _ParquetWriter:
        """Start a file."""
        if self._dictionaries is None:
            self._dictionaries = self._with_dictionary(first)
        options = dict(self._options)
        if self._bloom:
            sizes = {path: self._bloom_size(first.num_rows, found) for path, found in self._bloom.items()}
            options["bloom_filter_options"] = sizes
        metadata: list[pq.FileMetaData] = []
        end = FooterSink(sink) if self._annotations or self._floats else None
        writer = pq.ParquetWriter(
            end or sink,
            self._schema,
            use_dictionary=self._dictionaries or False,
            store_schema=False,
            store_decimal_as_integer=True,
            write_page_checksum=True,
            write_page_index=True,
            metadata_collector=metadata,
            **options,
        )
        footer = _Footer(end, self._floats, self._annotations)
        return _ParquetWriter(writer, self._schema, self._leaves, metadata, footer)

    def _bloom_size(self, rows: int, bloom: BloomFilter) -> dict[str, float]:
        """Return the size of a Bloom filter for `rows` values, limited to the maximum that the table allows."""
        # A Bloom filter's size in bytes is a power of two, and each value sets eight bits in a block.
        most_bits = 8 << (self._bloom_bytes.bit_length() - 1)
        most_values = int(-most_bits * math.log(1 - bloom.fpp ** (1 / 8)) / 8)
        return {"ndv": max(1, min(bloom.ndv or rows, most_values)), "fpp": bloom.fpp}

    def _with_statistics(self, without: frozenset[str]) -> bool | list[str]:
        return [leaf.path for leaf in self._leaves if leaf.path not in without] if without else True

    def _sorting_columns(self, sorted_by: tuple[SortedColumn, ...]) -> list[pq.SortingColumn] | None:
        """Return the sort columns up to the first whose NaN order Parquet does not support."""
        positions = {leaf.field_id: i for i, leaf in enumerate(self._leaves)}
        columns = []
        for column in sorted_by:
            position = positions.get(column.field_id)
            if position is None or pa.types.is_floating(self._leaves[position].type):
                break
            columns.append(pq.SortingColumn(position, column.descending, column.nulls_first))
        return columns or None

    def _with_dictionary(self, first: pa.Table) -> list[str]:
        """Return the leaf columns to encode with a dictionary: those without almost only distinct values."""
        columns = {name: first.column(name) for name in self._schema.names}
        fixed = self._fixed_dictionaries
        leaves = [leaf for leaf in self._leaves if fixed or not _is_fixed(leaf.type)]
        return [leaf.path for leaf in leaves if not _is_distinct(columns.get(leaf.path))]


class _Footer:
    """The parts of the footer that pyarrow does not write."""

    def __init__(self, end: FooterSink | None, floats: list[FloatLeaf], annotations: dict[int, bytes]) -> None:
        self._end, self._floats, self._annotations = end, floats, annotations
        self._rows = 0
        # The leaves with NaN of each row group.
        self._unbounded: list[frozenset[int]] = []

    def add(self, rows: pa.Table) -> None:
        """Record the rows of a row group."""
        if self._floats:
            self._rows += rows.num_rows
            self._unbounded.append(leaves_with_nan(rows, self._floats))

    def close(self, writer: pq.ParquetWriter) -> None:
        """Close the file."""
        if self._floats:
            writer.add_key_value_metadata({NAN_FREE_BOUNDS: str(self._rows)})
        if self._end is not None:
            self._end.hold()
        writer.close()
        if self._end is not None:
            self._end.finish(self._changed)

    def _changed(self, metadata: bytes) -> bytes:
        if self._annotations:
            metadata = annotated(metadata, self._annotations)
        return without_bounds(metadata, self._unbounded) if any(self._unbounded) else metadata


class _ParquetWriter:
    def __init__(
        self,
        writer: pq.ParquetWriter,
        schema: pa.Schema,
        leaves: list[Leaf],
        metadata: list[pq.FileMetaData],
        footer: _Footer,
    ) -> None:
        self._writer, self._schema, self._leaves, self._metadata = writer, schema, leaves, metadata
        self._footer = footer

    def write(self, rows: pa.Table) -> None:
        if rows.num_columns != len(self._schema):
            rows = rows.select(self._schema.names)
        if rows.schema.types != self._schema.types:
            columns = [as_stored(without_offsets(rows.column(field.name)), field.type) for field in self._schema]
            rows = pa.Table.from_arrays(columns, schema=self._schema)
        self._footer.add(rows)
        self._writer.write_table(rows, row_group_size=max(rows.num_rows, 1))

    def close(self) -> WrittenColumns:
        self._footer.close(self._writer)
        [metadata] = self._metadata
        sizes: dict[int, int] = {}
        offsets = []
        for group in (metadata.row_group(i) for i in range(metadata.num_row_groups)):
            columns = [group.column(i) for i in range(group.num_columns)]
            for leaf, column in zip(self._leaves, columns, strict=True):
                sizes[leaf.field_id] = sizes.get(leaf.field_id, 0) + column.total_compressed_size
            first = columns[0]
            offsets.append(first.dictionary_page_offset or first.data_page_offset)
        return sizes, offsets


def _without_timestamp(data_type: pa.DataType) -> pa.DataType:
    """Return an integer type for timestamps that are not stored as INT96."""
    return pa.int64() if pa.types.is_timestamp(data_type) and data_type.unit != "ns" else data_type


def _is_fixed(data_type: pa.DataType) -> bool:
    """Return whether values are stored as fixed-length byte arrays."""
    if pa.types.is_decimal(data_type):
        return bool(data_type.precision > _MOST_INTEGER_DIGITS)
    return bool(pa.types.is_fixed_size_binary(data_type))


def _is_distinct(column: pa.ChunkedArray | None) -> bool:
    """Return whether almost all values of a column are distinct, based on a sample across the column."""
    if column is None or pa.types.is_nested(column.type) or len(column) < _FEW_VALUES:
        return False
    each = max(1, _SAMPLE_VALUES // column.num_chunks)
    sample = pa.chunked_array([chunk[:each] for chunk in column.chunks], column.type)
    if isinstance(column.type, pa.BaseExtensionType):
        sample = sample.cast(column.type.storage_type)
    distinct = pc.count_distinct(sample, mode="only_valid").as_py()
    return bool(distinct > _DISTINCT_SHARE * (len(sample) - sample.null_count))
