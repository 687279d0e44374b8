"""Position delete files of v2 tables (spec: "Position Delete Files")."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from frazil.files.write.sink import Sink, named

if TYPE_CHECKING:
    from frazil import _native


def write_position_deletes(table: _native.Table, delta: _native.RowDelta, paths: list[str], *, by_file: bool) -> None:
    """Write the position deletes of a row delta; add each path to `paths` before its file is written."""
    for deletes in delta.position_deletes(table, by_file):
        paths.append(deletes.path)
        size, column_sizes = _write(table.files, deletes)
        delta.add_position_deletes(table, deletes, size, column_sizes)


def _write(files: _native.Files, deletes: _native.PositionDeletes) -> tuple[int, list[int]]:
    rows = pa.Table.from_batches([deletes.rows()])
    collected: list[pq.FileMetaData] = []
    sink = Sink(files, deletes.path)
    try:
        with named(deletes.path):
            pq.write_table(
                rows,
                sink.stream,
                compression="zstd",
                store_schema=False,
                write_page_checksum=True,
                metadata_collector=collected,
            )
        size = sink.tell()
    except BaseException:
        sink.discard()
        raise
    sink.end()
    [metadata] = collected
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return size, [sum(group.column(i).total_compressed_size for group in groups) for i in range(metadata.num_columns)]
