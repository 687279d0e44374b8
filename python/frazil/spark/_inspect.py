"""Metadata tables in Spark: `spark.read.format("frazil").load("/path/of/table$files")`; a partition is one part."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from frazil._read_ahead import read_parts
from frazil.spark._iceberg import snapshot_arguments
from frazil.spark._options import check_names
from frazil.spark._state import TableState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from frazil._virtual_table import VirtualScan, VirtualTable
    from frazil.iceberg import Table
    from frazil.spark._options import ReadOptions


class InspectState(TableState):
    """A metadata table of an Iceberg table, as one metadata file describes it."""

    def __init__(self, table: Table, name: str, asked: ReadOptions) -> None:
        """Note which metadata file is the table's newest; every read is by that one."""
        super().__init__(asked)
        check_names(asked.others, (), {})
        self._name = name
        self._snapshot = snapshot_arguments(asked)
        self._metadata_file = table.metadata_location
        self._table: VirtualTable | None = table.inspect.open(name, **self._snapshot)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_table": None}

    def scan(self, columns: Sequence[str], row_filter: str = "", limit: int | None = None) -> VirtualScan:
        """Describe a read of the metadata table."""
        case_sensitive = self.asked.case_sensitive
        return self._opened().scan(row_filter or True, columns, case_sensitive=case_sensitive, limit=limit)

    def table_sizes(self) -> tuple[int | None, int | None]:
        """Return no sizes: a partition is a part."""
        return None, None

    def groups(self, columns: Sequence[str], row_filter: str, limit: int | None) -> list[list[bytes]]:
        """Plan, and return the parts; with a limit they are one partition."""
        plan = self.scan(columns, row_filter).plan()
        read = {"columns": list(columns), "filter": row_filter}
        parts = [json.dumps(read | {"part": part.hex()}).encode() for part in plan.groups(0, 0)]
        return [[part] for part in parts] if limit is None else [parts] if parts else []

    def read(self, contents: Sequence[bytes], limit: int | None) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Read parts."""
        wanted = [json.loads(content) for content in contents]
        scan = self.scan(wanted[0]["columns"], wanted[0]["filter"])
        parts = (bytes.fromhex(content["part"]) for content in wanted)
        return scan.schema(), read_parts(parts, scan.read, workers=1, limit=limit)

    def _opened(self) -> VirtualTable:
        if self._table is None:
            from frazil._table import load_table

            table = load_table(self._metadata_file, format="iceberg", **self.asked.opening)
            self._table = table.inspect.open(self._name, **self._snapshot)
        return self._table
