"""Parquet data files (`write.parquet.*`), encoded by pyarrow."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from frazil._extras import has_pyarrow
from frazil.errors import InvalidArgumentError
from frazil.iceberg._leaves import leaves
from frazil.iceberg._parquet_footer import VariantSink, variant_groups

if TYPE_CHECKING:
    from frazil import _native
    from frazil.iceberg._file_format import Properties, WrittenColumns
    from frazil.iceberg._leaves import Leaf

__all__ = ["ParquetFormat"]

_CODECS = {
    "uncompressed": "none",
    "snappy": "snappy",
    "gzip": "gzip",
    "brotli": "brotli",
    "lz4": "lz4",
    "lz4_raw": "lz4",
    "zstd": "zstd",
}
_LEVELS = {"gzip", "brotli", "zstd"}
_PAGE_VERSIONS = {"v1": "1.0", "v2": "2.0"}

_ENABLED = "write.parquet.bloom-filter-enabled.column."
_FPP = "write.parquet.bloom-filter-fpp.column."
_NDV = "write.parquet.bloom-filter-ndv.column."
_STATISTICS = "write.parquet.stats-enabled.column."

_SAMPLE_VALUES = 16_384
_FEW_VALUES = 1_024
_DISTINCT_SHARE = 0.95
"""Where more of a sample is distinct, a row group has so many distinct values that its dictionary would be given up
halfway, or be as long as the column. Building it is then a third of the time that encoding takes."""


_BLOOM_VERSION = 24
"""The first version of pyarrow that writes Bloom filters and limits the rows of a page."""


class ParquetFormat:
    """How Parquet files are written."""

    name = "PARQUET"
    extension = "parquet"

    def __init__(self, rows: _native.RowWriter, properties: Properties) -> None:
        """As the properties of a table say."""
        schema = rows.schema()
        kept = [field for field in schema if not pa.types.is_null(field.type)]
        # A column that holds nothing but NULL is not stored, unless there is no other.
        self._schema = pa.schema(kept) if kept else schema
        self._leaves = leaves(self._schema)
        self._variants = variant_groups(self._schema)
        self.group_bytes = properties.number("write.parquet.row-group-size-bytes")
        codec = properties.codec("write.parquet.compression-codec", _CODECS)
        level = properties.level("write.parquet.compression-level")
        self._bloom_bytes = properties.number("write.parquet.bloom-filter-max-bytes")
        self._bloom = self._bloom_filters(properties)
        self._dictionaries: list[str] | None = None
        self._options: dict[str, Any] = {
            "compression": codec,
            "compression_level": level if codec in _LEVELS else None,
            "data_page_size": properties.number("write.parquet.page-size-bytes"),
            "dictionary_pagesize_limit": properties.number("write.parquet.dict-size-bytes"),
            "data_page_version": properties.codec("write.parquet.page-version", _PAGE_VERSIONS),
            "write_statistics": self._with_statistics(properties),
            "sorting_columns": self._sorting_columns(rows),
        }
        if has_pyarrow(_BLOOM_VERSION):
            self._options["max_rows_per_page"] = properties.number("write.parquet.page-row-limit")
        elif self._bloom:
            message = f"pyarrow {pa.__version__} cannot write Bloom filters: `{_ENABLED}*` is ignored; "
            warnings.warn(f"{message}install pyarrow {_BLOOM_VERSION} or later", stacklevel=2)
            self._bloom = {}

    def open(self, sink: Any, first: pa.Table) -> _ParquetWriter:
        """Begin a file."""
        if self._dictionaries is None:
            self._dictionaries = self._with_dictionary(first)
        options = dict(self._options)
        if self._bloom:
            sizes = {path: self._bloom_size(first.num_rows, *filter_) for path, filter_ in self._bloom.items()}
            options["bloom_filter_options"] = sizes
        metadata: list[pq.FileMetaData] = []
        end = VariantSink(sink, self._variants) if self._variants else None
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
        return _ParquetWriter(writer, self._schema, self._leaves, metadata, end)

    def _named(self, key: str, name: str) -> Leaf:
        found = next((leaf for leaf in self._leaves if leaf.name == name), None)
        if found is None:
            message = f"{key}{name} is set, and the table has no column of values `{name}`"
            raise InvalidArgumentError(message, context={"property": key + name})
        return found

    def _bloom_filters(self, properties: Properties) -> dict[str, tuple[float, int | None]]:
        filters = {}
        for name, enabled in properties.by_column(_ENABLED).items():
            if enabled.lower() == "true":
                number = properties.number(_NDV + name)
                share = properties.fraction(_FPP + name)
                filters[self._named(_ENABLED, name).path] = (share, number or None)
        return filters

    def _bloom_size(self, rows: int, share: float, distinct: int | None) -> dict[str, float]:
        """Size a filter for as many values as there are rows, within the most bytes that the table allows."""
        # Bytes are a power of two, and eight bits of each block are set by a value.
        most_bits = 8 << (self._bloom_bytes.bit_length() - 1)
        most_values = int(-most_bits * math.log(1 - share ** (1 / 8)) / 8)
        return {"ndv": max(1, min(distinct or rows, most_values)), "fpp": share}

    def _with_statistics(self, properties: Properties) -> bool | list[str]:
        named = properties.by_column(_STATISTICS)
        without = {self._named(_STATISTICS, name).path for name, on in named.items() if on.lower() != "true"}
        return [leaf.path for leaf in self._leaves if leaf.path not in without] if without else True

    def _sorting_columns(self, rows: _native.RowWriter) -> list[pq.SortingColumn] | None:
        """Give the columns that rows are sorted by as they are.

        The first that is computed ends them, and the first whose order of NaN Parquet does not have.
        """
        positions = {leaf.field_id: i for i, leaf in enumerate(self._leaves)}
        columns = []
        for ids, transform, descending, nulls_first in rows.order():
            position = positions.get(ids[0])
            if transform != "identity" or position is None or pa.types.is_floating(self._leaves[position].type):
                break
            columns.append(pq.SortingColumn(position, descending, nulls_first))
        return columns or None

    def _with_dictionary(self, first: pa.Table) -> list[str]:
        """Choose the columns for which a dictionary is worth its time."""
        columns = {name: first.column(name) for name in self._schema.names}
        return [leaf.path for leaf in self._leaves if not _is_distinct(columns.get(leaf.path))]


class _ParquetWriter:
    def __init__(
        self,
        writer: pq.ParquetWriter,
        schema: pa.Schema,
        leaves: list[Leaf],
        metadata: list[pq.FileMetaData],
        end: VariantSink | None,
    ) -> None:
        self._writer, self._schema, self._leaves, self._metadata, self._end = writer, schema, leaves, metadata, end

    def write(self, rows: pa.Table) -> None:
        if rows.num_columns != len(self._schema):
            rows = rows.select(self._schema.names)
        self._writer.write_table(rows, row_group_size=max(rows.num_rows, 1))

    def close(self) -> WrittenColumns:
        if self._end is not None:
            self._end.hold()
        self._writer.close()
        if self._end is not None:
            self._end.finish()
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


def _is_distinct(column: pa.ChunkedArray | None) -> bool:
    """Tell, by a sample from all over a column, whether nearly every value is another one."""
    if column is None or pa.types.is_nested(column.type) or len(column) < _FEW_VALUES:
        return False
    each = max(1, _SAMPLE_VALUES // column.num_chunks)
    sample = pa.chunked_array([chunk[:each] for chunk in column.chunks], column.type)
    if isinstance(column.type, pa.BaseExtensionType):
        sample = sample.cast(column.type.storage_type)
    distinct = pc.count_distinct(sample, mode="only_valid").as_py()
    return bool(distinct > _DISTINCT_SHARE * (len(sample) - sample.null_count))
