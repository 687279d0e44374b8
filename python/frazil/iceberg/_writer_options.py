"""The writer options of a table's data files, derived from its properties."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from frazil import _native
from frazil._extras import has_pyarrow
from frazil.errors import InternalError, InvalidArgumentError, UnsupportedError
from frazil.files.write.leaves import FIELD_ID, leaves, stored_schema
from frazil.files.write.options import BloomFilter, SortedColumn, WriterOptions
from frazil.iceberg._type_name import type_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.files.write.leaves import Leaf

__all__ = ["Properties", "writer_options"]

_PARQUET_CODECS = {
    "uncompressed": "none",
    "snappy": "snappy",
    "gzip": "gzip",
    "brotli": "brotli",
    "lz4": "lz4",
    "lz4_raw": "lz4",
    "zstd": "zstd",
}
_ORC_CODECS = {"none": "uncompressed", "zlib": "zlib", "snappy": "snappy", "lz4": "lz4", "zstd": "zstd"}
_AVRO_CODECS = {"uncompressed": "null", "gzip": "deflate", "snappy": "snappy", "zstd": "zstandard"}
_PAGE_VERSIONS = {"v1": "1.0", "v2": "2.0"}
_PARQUET_HINT = "set write.format.default to parquet"

_ENABLED = "write.parquet.bloom-filter-enabled.column."
_FPP = "write.parquet.bloom-filter-fpp.column."
_NDV = "write.parquet.bloom-filter-ndv.column."
_STATISTICS = "write.parquet.stats-enabled.column."
_ORC_BLOOM = "write.orc.bloom.filter.columns"


class Properties:
    """The validated properties of a table, with the defaults of `_native.table_properties`.

    >>> properties = Properties({"write.parquet.page-row-limit": "10"})
    >>> properties.number("write.parquet.page-row-limit"), properties.number("write.parquet.page-size-bytes")
    (10, 1048576)
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Read the properties of a table."""
        self._properties = properties

    def value(self, key: str) -> str | None:
        """Return the value of a known property, or its default.

        Raises:
            InvalidArgumentError: The property does not accept the value.
        """
        known, text = _known(key), self._properties.get(key)
        if text is None:
            return known.default
        known.check(text)
        return text

    def name(self, key: str) -> str:
        """Return a property value in lower case, without validation; empty if the property has no value or default."""
        return (self._properties.get(key) or _known(key).default or "").lower()

    def number(self, key: str) -> int:
        """Return an integer; 0 if the property is not set and has no default."""
        return int(self.value(key) or 0)

    def fraction(self, key: str) -> float:
        """Return a number between 0 and 1."""
        return float(self.value(key) or 0)

    def level(self, key: str) -> int | None:
        """Return the compression level of a codec; None if the property is not set."""
        return self.number(key) if key in self._properties else None

    def codec(self, key: str, known: Mapping[str, str]) -> str:
        """Return the writer's name for the codec that a table property sets; `known` maps codecs to these names.

        Raises:
            UnsupportedError: The codec is not among `known`.
        """
        name = self.name(key)
        codec = known.get(name)
        if codec is None:
            message = f"the codec {name!r} of {key} is not supported for writing"
            raise UnsupportedError(message, context={"property": key}, hint=f"set it to one of {', '.join(known)}")
        return codec

    def by_column(self, prefix: str) -> dict[str, str]:
        """Return the values of a per-column property by column name."""
        return {key[len(prefix) :]: value for key, value in self._properties.items() if key.startswith(prefix)}


def _known(key: str) -> _native.TableProperty:
    known = _native.table_property(key)
    if known is None:
        message = f"unknown table property {key!r}"
        raise InternalError(message)
    return known


def writer_options(
    rows: _native.RowWriter, properties: Mapping[str, str], data_format: str | None = None
) -> WriterOptions:
    """Return the writer options, with the file format from `data_format` or `write.format.default`.

    Raises:
        InvalidArgumentError: A property has an invalid value or references a column that does not exist.
        UnsupportedError: The format or the codec is not supported for writing.
    """
    checked = Properties(properties)
    name = (data_format or checked.name("write.format.default")).lower()
    rows.check_format(name)
    if name == "parquet":
        return _parquet_options(rows, checked)
    if name == "orc":
        return _orc_options(rows, checked)
    if name == "avro":
        return _avro_options(rows, checked)
    message = f"data files of format {name!r} are not supported for writing"
    raise UnsupportedError(message, hint="set write.format.default to parquet, orc or avro")


def _parquet_options(rows: _native.RowWriter, properties: Properties) -> WriterOptions:
    found = leaves(stored_schema(rows.schema()))
    return WriterOptions(
        format="parquet",
        target_file_bytes=properties.number("write.target-file-size-bytes"),
        codec=properties.codec("write.parquet.compression-codec", _PARQUET_CODECS),
        level=properties.level("write.parquet.compression-level"),
        row_group_bytes=properties.number("write.parquet.row-group-size-bytes"),
        bloom_filters=_parquet_bloom_filters(found, properties),
        bloom_max_bytes=properties.number("write.parquet.bloom-filter-max-bytes"),
        page_bytes=properties.number("write.parquet.page-size-bytes"),
        page_rows=properties.number("write.parquet.page-row-limit"),
        page_version=properties.codec("write.parquet.page-version", _PAGE_VERSIONS),
        dictionary_bytes=properties.number("write.parquet.dict-size-bytes"),
        without_statistics=frozenset(
            _named(found, _STATISTICS, name).path
            for name, on in properties.by_column(_STATISTICS).items()
            if on.lower() != "true"
        ),
        sorted_by=_sorted_by(rows),
    )


def _named(found: list[Leaf], key: str, name: str) -> Leaf:
    leaf = next((leaf for leaf in found if leaf.name == name), None)
    if leaf is None:
        message = f"{key}{name} is set, but the table has no leaf column `{name}`"
        raise InvalidArgumentError(message, context={"property": key + name})
    return leaf


def _parquet_bloom_filters(found: list[Leaf], properties: Properties) -> dict[str, BloomFilter]:
    from frazil.files.write.parquet import BLOOM_VERSION

    filters = {}
    for name, enabled in properties.by_column(_ENABLED).items():
        if enabled.lower() == "true":
            number = properties.number(_NDV + name)
            share = properties.fraction(_FPP + name)
            filters[_named(found, _ENABLED, name).path] = BloomFilter(share, number or None)
    if filters and not has_pyarrow(BLOOM_VERSION):
        message = f"pyarrow {pa.__version__} cannot write Bloom filters: `{_ENABLED}*` is ignored; "
        warnings.warn(f"{message}install pyarrow {BLOOM_VERSION} or later", stacklevel=2)
        return {}
    return filters


def _sorted_by(rows: _native.RowWriter) -> tuple[SortedColumn, ...]:
    """Return the sort columns before the first column that is transformed."""
    columns = []
    for ids, transform, descending, nulls_first in rows.order():
        if transform != "identity":
            break
        columns.append(SortedColumn(ids[0], descending, nulls_first))
    return tuple(columns)


def _orc_options(rows: _native.RowWriter, properties: Properties) -> WriterOptions:
    return WriterOptions(
        format="orc",
        target_file_bytes=properties.number("write.target-file-size-bytes"),
        codec=properties.codec("write.orc.compression-codec", _ORC_CODECS),
        row_group_bytes=properties.number("write.orc.stripe-size-bytes"),
        type_name=type_name,
        parquet_hint=_PARQUET_HINT,
        bloom_filters=_orc_bloom_filters(rows.schema(), properties),
        compression_strategy=(properties.value("write.orc.compression-strategy") or "").lower(),
        orc_attributes=_orc_attributes,
    )


def _orc_bloom_filters(schema: pa.Schema, properties: Properties) -> dict[str, BloomFilter]:
    share = properties.fraction("write.orc.bloom.filter.fpp")
    names = {name.strip() for name in (properties.value(_ORC_BLOOM) or "").split(",")} - {""}
    found = {field.name.lower(): field for field in schema}
    wrong = next((name for name in names if name not in found or pa.types.is_nested(found[name].type)), None)
    if wrong is not None:
        message = f"{_ORC_BLOOM} contains {wrong!r}, which is not a leaf column"
        raise InvalidArgumentError(message, context={"property": _ORC_BLOOM})
    return {field.name: BloomFilter(share) for field in schema if field.name.lower() in names}


def _orc_attributes(field: pa.Field) -> dict[str, str]:
    """Return the attributes that identify the Iceberg type of an ORC type (spec: appendix A, "ORC")."""
    data_type = field.type
    attributes = {"iceberg.id": field.metadata[FIELD_ID].decode(), "iceberg.required": str(not field.nullable).lower()}
    if isinstance(data_type, pa.UuidType):
        attributes["iceberg.binary-type"] = "UUID"
    elif pa.types.is_fixed_size_binary(data_type):
        attributes |= {"iceberg.binary-type": "FIXED", "iceberg.length": str(data_type.byte_width)}
    elif pa.types.is_time64(data_type):
        attributes["iceberg.long-type"] = "TIME"
    elif pa.types.is_timestamp(data_type):
        attributes["iceberg.timestamp-unit"] = "NANOS" if data_type.unit == "ns" else "MICROS"
    return attributes


def _avro_options(rows: _native.RowWriter, properties: Properties) -> WriterOptions:
    return WriterOptions(
        format="avro",
        target_file_bytes=properties.number("write.target-file-size-bytes"),
        codec=properties.codec("write.avro.compression-codec", _AVRO_CODECS),
        level=properties.level("write.avro.compression-level"),
        avro_encoder=partial(_native.AvroWriter, rows),
    )
