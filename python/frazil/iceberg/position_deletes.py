"""Position delete files, which tables of v2 have (spec: "Position Delete Files")."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from frazil import _native
    from frazil.iceberg.table import Table


def write_position_deletes(table: Table, delta: _native.RowDelta, *, by_file: bool) -> list[str]:
    """Write the deletes of the data files that stay; give where."""
    native = table._native  # noqa: SLF001 - of one package
    written = []
    for deletes in delta.position_deletes(native, by_file):
        written.append(deletes.path)
        size, column_sizes = _write(native.files, deletes)
        delta.add_position_deletes(native, deletes, size, column_sizes)
    return written


def _write(files: _native.Files, deletes: _native.PositionDeletes) -> tuple[int, list[int]]:
    location = files.writable(deletes.path)
    rows = pa.Table.from_batches([deletes.rows()])
    is_local = location.startswith("/")
    if is_local:
        Path(location).parent.mkdir(parents=True, exist_ok=True)
    sink: Any = pa.OSFile(location, mode="wb") if is_local else pa.BufferOutputStream()
    collected: list[pq.FileMetaData] = []
    pq.write_table(
        rows, sink, compression="zstd", store_schema=False, write_page_checksum=True, metadata_collector=collected
    )
    size = int(sink.tell())
    if is_local:
        sink.close()
    else:
        files.put(deletes.path, sink.getvalue().to_pybytes())
    [metadata] = collected
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return size, [sum(group.column(i).total_compressed_size for group in groups) for i in range(metadata.num_columns)]
