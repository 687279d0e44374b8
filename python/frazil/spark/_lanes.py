"""Selection of the Iceberg data files that Spark's own Parquet reader reads with the same result as frazil.

Passing rows from Python to Spark costs Spark as much as reading Parquet, so Spark itself reads files that need no
processing: Parquet with the names, ids and types of the table, and without deletes, filters or defaults to fill in. A
file is left to Spark only if its footer shows that the result is the same; frazil reads all other files.

A condition on the DataFrame is not known when the files are selected, and Spark skips row groups and pages by it. Where
it might skip matching rows (see `_lane_pruning`), this skipping is switched off.
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
from frazil.spark._lane_pruning import Pruning, pruning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from frazil import _native, iceberg
    from frazil.iceberg._scan import Plan

MOST_FILES = 2048
"""The maximum number of files in a plan that Spark reads; if a plan has more files, frazil reads all of them.

frazil reads the footer of each candidate file on the driver, and Spark lists each file.
"""

_PATH = re.compile(r"(?:/(?![._])[A-Za-z0-9_.=+,@-]+)+")
"""Paths that Spark reads literally: without glob patterns, encoded characters or hidden names."""

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
"""The first field id reserved for metadata columns, which data files do not contain."""

_MOST_DIGITS = {"INT32": 9, "INT64": 18, "FIXED_LEN_BYTE_ARRAY": 38}
_OPTIONS = {
    # Releases before 3.0 may have shifted dates and timestamps; such files are not left to Spark.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "recursiveFileLookup": "true",
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "parquet.page.verify-checksum.enabled": "true",
}
_LISTING = "spark.sql.sources.parallelPartitionDiscovery.threshold"


class NativeFiles:
    """The data files of a plan that Spark reads itself."""

    def __init__(self, paths: list[str], places: set[int], plan: Plan, allowed: Pruning) -> None:
        """Not for direct use; use `native_files`."""
        self.paths = paths
        self.places = places
        self.pruning = allowed
        self.are_all = len(paths) == len(plan)
        self._plan = plan

    def option(self) -> str:
        """Return the option that makes the data source omit these files: the plan's digest and their position bits."""
        bits = sum(1 << place for place in self.places)
        content = bits.to_bytes(len(self._plan) // 8 + 1, "little")
        return f"{_digest(self._plan)}:{base64.b64encode(content).decode()}"

    def frame(self, spark: SparkSession, schema: StructType, options: Mapping[str, str]) -> DataFrame:
        """Read the files with Spark; its plan keeps the options."""
        with _listed_by_the_driver(spark):
            return (
                spark.read.schema(schema)
                .options(**_OPTIONS, **self.pruning.options(), **options)
                .parquet(*(f"file://{path}" for path in self.paths))
            )


def native_files(scan: iceberg.Scan, *, nullable: bool, is_filtered_later: bool = False) -> NativeFiles | None:
    """Return the files that Spark can read with the same result, or None.

    Spark returns required columns as nullable. Therefore, without `nullable`, files with required columns are not left
    to Spark. With `is_filtered_later`, Spark may also read files from which the filter of the scan excludes some rows.
    """
    wanted = scan.schema()
    if not all(_is_plain(field, nullable=nullable) for field in wanted) or not wanted.names:
        return None
    plan = scan.plan()
    if not 0 < len(plan) <= MOST_FILES:
        return None
    native = plan._native  # noqa: SLF001 - as the data source has it
    with ThreadPoolExecutor(config.max_workers) as pool:
        found = list(pool.map(lambda place: _file(native.task(place), wanted, is_filtered_later), range(len(plan))))
    places = {place for place, file in enumerate(found) if file is not None}
    files = [file for file in found if file is not None]
    paths = [path for path, _ in files]
    if not paths or len(set(paths)) < len(paths):
        return None
    return NativeFiles(paths, places, plan, Pruning.of_all(allowed for _, allowed in files))


def places_of(option: str, plan: Plan) -> set[int]:
    """Return the positions stored in `NativeFiles.option`.

    Raises:
        InvalidArgumentError: The option belongs to another plan.
    """
    digest, _, text = option.partition(":")
    if digest != _digest(plan):
        message = "the files that Spark reads were selected from another plan of the table"
        raise InvalidArgumentError(message, hint="create the DataFrame again with `frazil.spark.read`")
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
    """Make the driver list the files; for more than a few dozen, Spark would run one task per file."""
    before = spark.conf.get(_LISTING)
    spark.conf.set(_LISTING, str(1 << 30))
    try:
        yield
    finally:
        spark.conf.set(_LISTING, str(before))


def _is_plain(field: pa.Field, *, nullable: bool) -> bool:
    """Return whether Spark can return a column of the table unchanged, independent of its files."""
    plain_id = _field_id(field) in range(1, _FIRST_METADATA_ID)
    return plain_id and bool(_NAME.fullmatch(field.name)) and (field.nullable or nullable) and not _extension(field)


def _file(
    task: _native.FileScanTask,
    wanted: pa.Schema,
    is_filtered_later: bool,  # noqa: FBT001 - mapped
) -> tuple[str, Pruning] | None:
    """Return the path of a task's data file and how it can be pruned, or None if Spark's result may differ."""
    has_all_rows = task.residual.lower() == "true" or is_filtered_later
    if task.file_format != "PARQUET" or task.delete_files or not has_all_rows:
        return None
    # Errors are ignored here, because frazil raises them when it reads the file.
    with contextlib.suppress(Exception):
        path = task.files.openable(task.file_path)
        if not _PATH.fullmatch(path):
            return None
        footer = pq.read_metadata(path)
        if footer.num_rows == task.record_count and _fits(footer, wanted):
            return path, pruning(footer, wanted)
    return None


def _fits(footer: pq.FileMetaData, wanted: pa.Schema) -> bool:
    """Return whether a file contains every wanted column with its name, its id and the type that Spark reads."""
    if not _is_by_new_calendar(footer.metadata or {}):
        return False
    schema = footer.schema.to_arrow_schema()
    # Spark may compare names case-insensitively.
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
