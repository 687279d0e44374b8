"""Which data files of an Iceberg table Spark's own Parquet reader reads as frazil would.

What Python hands to Spark costs Spark as much again as reading Parquet does, so files that need nothing but to be read
are left to Spark: Parquet with the names, ids and types of the table, no deletes, no filter, no default to fill in. A
file is left to Spark only where its footer shows that the rows are the same; all else is read by frazil.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from frazil.config import config
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from frazil import _native, iceberg
    from frazil.iceberg._scan import Plan

MOST_FILES = 2048
"""With more files than this frazil reads them all: each footer is looked at here, and Spark lists each file."""

_PATH = re.compile(r"(?:/(?![._])[A-Za-z0-9_.=+,@-]+)+")
"""Paths that Spark neither globs, decodes nor takes for hidden."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_CODECS = {"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD"}
_ENCODINGS = {
    "PLAIN",
    "RLE",
    "BIT_PACKED",
    "PLAIN_DICTIONARY",
    "RLE_DICTIONARY",
    "DELTA_BINARY_PACKED",
    "DELTA_LENGTH_BYTE_ARRAY",
    "DELTA_BYTE_ARRAY",
}
_FIRST_METADATA_ID = (1 << 31) - 1 - 200
"""Field ids from here on are of columns that no data file holds."""

_MOST_DIGITS = {"INT32": 9, "INT64": 18, "FIXED_LEN_BYTE_ARRAY": 38}
_OPTIONS = {
    # Spark may have moved dates and timestamps of its releases before 3.0; such files are not left to it.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "recursiveFileLookup": "true",
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "parquet.page.verify-checksum.enabled": "true",
}
_LISTING = "spark.sql.sources.parallelPartitionDiscovery.threshold"


class NativeFiles:
    """The data files of a plan that are left to Spark."""

    def __init__(self, paths: list[str], places: set[int], plan: Plan) -> None:
        """Use `native_files` instead."""
        self.paths = paths
        self.places = places
        self.are_all = len(paths) == len(plan)
        self._plan = plan

    def option(self) -> str:
        """Give what tells the data source to leave these files out: the plan, and their places in it as bits."""
        bits = sum(1 << place for place in self.places)
        content = bits.to_bytes(len(self._plan) // 8 + 1, "little")
        return f"{_digest(self._plan)}:{base64.b64encode(content).decode()}"

    def frame(self, spark: SparkSession, schema: StructType, options: Mapping[str, str]) -> DataFrame:
        """Read the files by Spark; its plan keeps the options."""
        with _listed_by_the_driver(spark):
            return (
                spark.read.schema(schema)
                .options(**_OPTIONS, **options)
                .parquet(*(f"file://{path}" for path in self.paths))
            )


def native_files(scan: iceberg.Scan, *, nullable: bool, is_filtered_later: bool = False) -> NativeFiles | None:
    """Choose the files that Spark reads with the same result; None for none.

    Required columns come as nullable ones from Spark; without `nullable` no file with one is left to it. If the rows
    are filtered later, files are left to Spark of which the filter of the scan excludes some rows.
    """
    wanted = scan.schema()
    if not all(_is_plain(field, nullable=nullable) for field in wanted) or not wanted.names:
        return None
    plan = scan.plan()
    if not 0 < len(plan) <= MOST_FILES:
        return None
    native = plan._native  # noqa: SLF001 - as the data source has it
    with ThreadPoolExecutor(config.max_workers) as pool:
        found = list(pool.map(lambda place: _path(native.task(place), wanted, is_filtered_later), range(len(plan))))
    places = {place for place, path in enumerate(found) if path is not None}
    paths = [path for path in found if path is not None]
    if not paths or len(set(paths)) < len(paths):
        return None
    return NativeFiles(paths, places, plan)


def places_of(option: str, plan: Plan) -> set[int]:
    """Give the places that `NativeFiles.option` names.

    Raises:
        InvalidArgumentError: It is of another plan.
    """
    digest, _, text = option.partition(":")
    if digest != _digest(plan):
        message = "the files that Spark reads were chosen from another plan of the table"
        raise InvalidArgumentError(message, hint="make the DataFrame again by `frazil.spark.read`")
    bits = int.from_bytes(base64.b64decode(text), "little")
    return {place for place in range(len(plan)) if bits >> place & 1}


def _digest(plan: Plan) -> str:
    digest = hashlib.sha256()
    for batch in plan.to_arrow_batch_reader():
        for path in batch.column("file_path").to_pylist():
            digest.update(path.encode() + b"\0")
    return digest.hexdigest()


@contextlib.contextmanager
def _listed_by_the_driver(spark: SparkSession) -> Iterator[None]:
    """Let the driver look at the files: above some dozens Spark would run a job with a task for each."""
    before = spark.conf.get(_LISTING)
    spark.conf.set(_LISTING, str(1 << 30))
    try:
        yield
    finally:
        spark.conf.set(_LISTING, str(before))


def _is_plain(field: pa.Field, *, nullable: bool) -> bool:
    """Whether a column of the table may come from Spark at all."""
    plain_id = _field_id(field) in range(1, _FIRST_METADATA_ID)
    return plain_id and bool(_NAME.fullmatch(field.name)) and (field.nullable or nullable) and not _extension(field)


def _path(task: _native.FileScanTask, wanted: pa.Schema, is_filtered_later: bool) -> str | None:  # noqa: FBT001 - mapped
    """Give where the data file of a task lies, if Spark reads it with the same result."""
    has_all_rows = task.residual.lower() == "true" or is_filtered_later
    if task.file_format != "PARQUET" or task.delete_files or not has_all_rows:
        return None
    # What is wrong with a file is said by the lane that fails on it.
    with contextlib.suppress(Exception):
        path = task.files.openable(task.file_path)
        if not _PATH.fullmatch(path):
            return None
        footer = pq.read_metadata(path)
        if footer.num_rows == task.record_count and _fits(footer, wanted):
            return path
    return None


def _fits(footer: pq.FileMetaData, wanted: pa.Schema) -> bool:
    """Whether a file holds every wanted column under its name and id, as Spark reads the same type."""
    if not _is_by_new_calendar(footer.metadata or {}):
        return False
    schema = footer.schema.to_arrow_schema()
    # Spark may compare names without case.
    names = [name.lower() for name in schema.names]
    ids = [_field_id(field) for field in schema]
    leaves = {footer.schema.column(leaf).path: leaf for leaf in range(footer.num_columns)}
    for field in wanted:
        number = _field_id(field)
        if names.count(field.name.lower()) != 1 or ids.count(number) != 1 or field.name not in leaves:
            return False
        leaf = leaves[field.name]
        if schema.names[ids.index(number)] != field.name or not _same_type(footer.schema.column(leaf), field.type):
            return False
        groups = (footer.row_group(group).column(leaf) for group in range(footer.num_row_groups))
        if not all(chunk.compression in _CODECS and set(chunk.encodings) <= _ENCODINGS for chunk in groups):
            return False
    return True


def _is_by_new_calendar(metadata: dict[bytes, bytes]) -> bool:
    legacy = any(key.startswith(b"org.apache.spark.legacy") for key in metadata)
    version = metadata.get(b"org.apache.spark.version", b"4")
    return not legacy and version[:1] in (b"3", b"4")


def _same_type(column: pq.ColumnSchema, wanted: pa.DataType) -> bool:
    if column.max_repetition_level > 0 or column.max_definition_level > 1:
        return False
    physical, logical = column.physical_type, json.loads(column.logical_type.to_json())
    if pa.types.is_decimal128(wanted):
        digits = (logical["Type"], logical.get("precision"), logical.get("scale"))
        return digits == ("Decimal", wanted.precision, wanted.scale) and wanted.precision <= _MOST_DIGITS.get(
            physical, 0
        )
    if pa.types.is_timestamp(wanted):
        stored = (physical, logical["Type"], logical.get("timeUnit"), logical.get("isAdjustedToUTC"))
        return wanted.unit == "us" and stored == ("INT64", "Timestamp", "microseconds", wanted.tz is not None)
    if logical["Type"] == "Int":
        form = f"Int{logical['bitWidth']}{'' if logical['isSigned'] else 'u'}"
    else:
        form = logical["Type"]
    return (physical, form) in _FORMS.get(wanted, ())


_FORMS: dict[pa.DataType, Sequence[tuple[str, str]]] = {
    pa.bool_(): [("BOOLEAN", "None")],
    pa.int32(): [("INT32", "None"), ("INT32", "Int32")],
    pa.int64(): [("INT64", "None"), ("INT64", "Int64")],
    pa.float32(): [("FLOAT", "None")],
    pa.float64(): [("DOUBLE", "None")],
    pa.date32(): [("INT32", "Date")],
    pa.string(): [("BYTE_ARRAY", "String")],
    pa.binary(): [("BYTE_ARRAY", "None")],
}


def _field_id(field: pa.Field) -> int:
    text = (field.metadata or {}).get(b"PARQUET:field_id", b"-1")
    return int(text)


def _extension(field: pa.Field) -> bool:
    named: Any = (field.metadata or {}).get(b"ARROW:extension:name")
    return named is not None or isinstance(field.type, pa.BaseExtensionType)
