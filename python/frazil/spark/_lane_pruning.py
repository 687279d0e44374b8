"""Selection of the ways in which Spark's own Parquet reader can skip rows of a file by a condition on the DataFrame.

Spark passes conditions to its reader, which skips row groups and pages by their bounds, dictionaries and Bloom filters.
It skips matching rows in these cases:

* A value is compared with a dictionary or Bloom filter by its bits, in which -0.0 differs from 0.0.
* Bounds of writers such as pyarrow ignore NaN, which is greater than all other values in a condition.
* Spark passes dates and timestamps of a condition through the Julian calendar, in which 1582-10-05 to 1582-10-14 do not
  exist: all of them become 1582-10-15. Before 1900, clocks of time zones can also differ from those of later Javas.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from frazil.files.write.parquet_bounds import NAN_FREE_BOUNDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow.parquet as pq

__all__ = ["Pruning", "pruning"]

_FIRST_DAY = -141_426
"""1582-10-16, in days since 1970: the first date that no other date becomes."""

_FIRST_MOMENT_US = -2_208_816_000_000_000
"""1900-01-03, in microseconds since 1970: later timestamps are the same in both calendars and all time zones."""

_JAVA = re.compile(r"parquet-mr version 1\.[1-9]\d\.")
"""Releases whose bounds include NaN. They do not read bounds with NaN, and write no column index for them."""

_ARROW = "parquet-cpp-arrow "


class Pruning(NamedTuple):
    """The ways in which Spark's reader can skip rows without skipping matching rows."""

    by_bounds: bool
    by_values: bool
    """By dictionaries and Bloom filters, and record by record."""

    @staticmethod
    def of_all(files: Iterable[Pruning]) -> Pruning:
        """Return the ways that are correct for every file."""
        found = list(files)
        return Pruning(all(one.by_bounds for one in found), all(one.by_values for one in found))

    def options(self) -> dict[str, str]:
        """Return the options of Spark's reader that switch off all other ways."""
        off = [] if self.by_bounds else ["stats", "columnindex"]
        off += [] if self.by_values else ["dictionary", "bloom", "record-level"]
        return {f"parquet.filter.{name}.enabled": "false" for name in off}


def pruning(footer: pq.FileMetaData, wanted: pa.Schema) -> Pruning:
    """Return the ways in which Spark can skip rows of a file by any condition on the wanted columns.

    Every wanted column is a column of the file with the same name and type, and is not nested.
    """
    leaves = {footer.schema.column(leaf).path: leaf for leaf in range(footer.num_columns)}
    result = Pruning(by_bounds=True, by_values=True)
    for field in wanted:
        if pa.types.is_floating(field.type):
            result = Pruning(result.by_bounds and _bounds_respect_nan(footer), by_values=False)
        elif not all(_is_of_both_calendars(chunk, field.type) for chunk in _chunks(footer, leaves[field.name])):
            result = Pruning(by_bounds=False, by_values=False)
    return result


def _chunks(footer: pq.FileMetaData, leaf: int) -> Iterator[pq.ColumnChunkMetaData]:
    return (footer.row_group(group).column(leaf) for group in range(footer.num_row_groups))


def _bounds_respect_nan(footer: pq.FileMetaData) -> bool:
    """Return whether Spark finds NaN by the bounds of a file, which depends on its writer."""
    writer, metadata = footer.created_by or "", footer.metadata or {}
    if _JAVA.match(writer):
        return True
    # pyarrow copies the metadata of a table to new files, but then also stores the Arrow schema.
    is_original = writer.startswith(_ARROW) and b"ARROW:schema" not in metadata
    return is_original and metadata.get(NAN_FREE_BOUNDS.encode()) == str(footer.num_rows).encode()


def _is_of_both_calendars(chunk: pq.ColumnChunkMetaData, data_type: pa.DataType) -> bool:
    """Return whether a chunk has only values that a condition can contain unchanged."""
    if pa.types.is_date(data_type):
        first: int = _FIRST_DAY
    elif pa.types.is_timestamp(data_type) and data_type.tz is not None:
        first = _FIRST_MOMENT_US
    else:
        # Spark passes no conditions on timestamps without a time zone.
        return True
    found: Any = chunk.statistics
    if found is None:
        return False
    if found.has_null_count and found.null_count == chunk.num_values:
        return True
    return bool(found.has_min_max and found.min_raw >= first)
