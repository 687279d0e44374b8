"""Metadata tables and system tables in Spark: `spark.read.format("frazil").load("/path/of/table$files")`.

A partition is one part.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, cast

from frazil import _native
from frazil._read_ahead import read_parts
from frazil.paimon._table import Table as PaimonTable
from frazil.spark._iceberg import snapshot_arguments
from frazil.spark._options import check_names
from frazil.spark._state import ReadState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from frazil._virtual_table import VirtualScan, VirtualTable
    from frazil.iceberg import Table as IcebergTable
    from frazil.spark._options import ReadOptions


class InspectState(ReadState):
    """A metadata table of an Iceberg table, as one metadata file describes it, or a system table of a Paimon table.

    System tables of one snapshot show the snapshot that was current when this was made; the others what is current when
    they are read.
    """

    def __init__(self, table: IcebergTable | PaimonTable, name: str, asked: ReadOptions) -> None:
        """Note the newest metadata file or snapshot of the table; every read is by that one."""
        super().__init__(asked)
        check_names(asked.others, (), {})
        self._name = name
        if isinstance(table, PaimonTable):
            self._place, self._format = asked.path, "paimon"
            self._snapshot = snapshot_arguments(dataclasses.replace(asked, branch=None)) or _current(table, name, asked)
        else:
            self._place, self._format = table.metadata_location, "iceberg"
            self._snapshot = snapshot_arguments(asked)
        self._table: VirtualTable | None = self._open(table)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_table": None}

    def scan(self, columns: Sequence[str], row_filter: str = "", limit: int | None = None) -> VirtualScan:
        """Describe a read of the metadata table."""
        case_sensitive = self.asked.case_sensitive
        scan = self._opened().scan(row_filter or True, columns, case_sensitive=case_sensitive, limit=limit)
        return cast("VirtualScan", scan)

    def table_sizes(self) -> tuple[int | None, int | None]:
        """Return no sizes: a partition is a part."""
        return None, None

    def lasting_options(self) -> dict[str, str | None] | None:
        """Return the metadata file of an Iceberg table."""
        return None if self._format == "paimon" else {"path": self._place, "inspect": self._name}

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

            table = load_table(self._place, format=self._format, **self.asked.opening)
            self._table = self._open(table)
        return self._table

    def _open(self, table: IcebergTable | PaimonTable) -> VirtualTable:
        if isinstance(table, PaimonTable):
            table = _on_branch(table, self.asked)
        return table.inspect.open(self._name, **self._snapshot)


def _on_branch(table: PaimonTable, asked: ReadOptions) -> PaimonTable:
    return table if asked.branch is None else table.with_branch(asked.branch)


def _current(table: PaimonTable, name: str, asked: ReadOptions) -> dict[str, Any]:
    """Return the argument that chooses the current snapshot, if `name` shows one and reads the same rows by its id."""
    table = _on_branch(table, asked)
    shows_one = {found for found, _, time_travel in _native.paimon_system_tables() if time_travel}
    current = table.current_snapshot() if name in shows_one else None
    if current is None or current.schema_id != table.schema().schema_id:
        return {}
    return {} if any(option.startswith("scan.") for option in table.options) else {"snapshot_id": current.snapshot_id}
