"""Metadata tables and system tables in Spark: `spark.read.format("frazil").load("/path/of/table$files")`.

Each part of the table is a Spark partition.
"""

from __future__ import annotations

import dataclasses
import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, cast

from frazil import _native
from frazil._read_ahead import read_parts
from frazil.iceberg import load_table as load_iceberg_table
from frazil.paimon import load_table as load_paimon_table
from frazil.spark._options import check_names, snapshot_arguments
from frazil.spark._paimon_options import TIME_TRAVEL
from frazil.spark._session_options import with_session
from frazil.spark._state import ReadState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from frazil._virtual_table import VirtualScan, VirtualTable
    from frazil.iceberg import Table as IcebergTable
    from frazil.paimon import Table as PaimonTable
    from frazil.spark._options import ReadOptions


class InspectState(ReadState):
    """A metadata table or system table; other processes reopen the table that it describes."""

    def __init__(
        self, name: str, asked: ReadOptions, snapshot: Mapping[str, Any], own_options: Sequence[str] = ()
    ) -> None:
        """Keep the name and the options of a metadata table.

        `snapshot` contains arguments of `Inspect.open`, and `own_options` the option names of the table format.
        """
        super().__init__(asked)
        check_names(asked.others, own_options, {})
        self._name, self._snapshot = name, snapshot
        self._table: VirtualTable | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_table": None}

    @abstractmethod
    def _load(self) -> IcebergTable | PaimonTable:
        """Open the table that this metadata table describes."""

    def scan(self, columns: Sequence[str], row_filter: str = "", limit: int | None = None) -> VirtualScan:
        """Create a scan of the metadata table."""
        case_sensitive = self.asked.case_sensitive
        scan = self._opened().scan(row_filter or True, columns, case_sensitive=case_sensitive, limit=limit)
        return cast("VirtualScan", scan)

    def table_sizes(self) -> tuple[int | None, int | None]:
        """Return None for both sizes, because each part is a partition."""
        return None, None

    def groups(self, columns: Sequence[str], row_filter: str, limit: int | None) -> list[list[bytes]]:
        """Plan the read and return its parts; with a limit they form one partition."""
        plan = self.scan(columns, row_filter).plan()
        read = {"columns": list(columns), "filter": row_filter}
        parts = [json.dumps(read | {"part": part.hex()}).encode() for part in plan.groups(0, 0)]
        return [[part] for part in parts] if limit is None else [parts] if parts else []

    def read(self, contents: Sequence[bytes], limit: int | None) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Read the parts in `contents`, and return their schema and rows; at most `limit` rows are returned."""
        wanted = [json.loads(content) for content in contents]
        scan = self.scan(wanted[0]["columns"], wanted[0]["filter"])
        parts = (bytes.fromhex(content["part"]) for content in wanted)
        return scan.schema(), read_parts(parts, scan.read, workers=1, limit=limit)

    def _opened(self) -> VirtualTable:
        if self._table is None:
            self._table = self._open(self._load())
        return self._table

    def _open(self, table: IcebergTable | PaimonTable) -> VirtualTable:
        return table.inspect.open(self._name, **self._snapshot)


class IcebergInspect(InspectState):
    """A metadata table of an Iceberg table, at one metadata file."""

    def __init__(self, table: IcebergTable, name: str, asked: ReadOptions) -> None:
        """Record the latest metadata file of the table, which every read uses."""
        super().__init__(name, asked, snapshot_arguments(asked))
        self._metadata_file = table.metadata_location
        self._table = self._open(table)

    def lasting_options(self) -> dict[str, str | None] | None:
        """Return the option that selects the metadata file."""
        return {"path": self._metadata_file, "inspect": self._name}

    def _load(self) -> IcebergTable:
        return load_iceberg_table(self._metadata_file, **self.asked.opening)


class PaimonInspect(InspectState):
    """A system table of a Paimon table.

    System tables of one snapshot show the snapshot that was current on creation; all others show the state that is
    current when they are read.
    """

    def __init__(self, table: PaimonTable, name: str, asked: ReadOptions) -> None:
        """Record the current snapshot, if the system table shows one."""
        given = with_session(asked)
        others = {key: value for key, value in given.given.items() if key in asked.given or key in TIME_TRAVEL}
        asked = dataclasses.replace(given, given=others)
        table = _on_branch(table, asked)
        chosen = snapshot_arguments(dataclasses.replace(asked, branch=None))
        if options := {key: value for key, value in asked.others.items() if key in TIME_TRAVEL}:
            chosen = {"snapshot_id": table.scan(options=options).snapshot_id}
        super().__init__(name, asked, chosen or _current(table, name), TIME_TRAVEL)
        self._table = self._open(table)

    def _load(self) -> PaimonTable:
        return _on_branch(load_paimon_table(self.asked.path, **self.asked.opening), self.asked)


def _on_branch(table: PaimonTable, asked: ReadOptions) -> PaimonTable:
    return table if asked.branch is None else table.with_branch(asked.branch)


def _current(table: PaimonTable, name: str) -> dict[str, Any]:
    """Return the argument that selects the current snapshot, or an empty dict.

    The dict is empty if the system table does not show a single snapshot, or if the id would select other rows.
    """
    shows_one = {found for found, _, time_travel in _native.paimon_system_tables() if time_travel}
    current = table.current_snapshot() if name in shows_one else None
    if current is None or current.schema_id != table.schema().schema_id:
        return {}
    return {} if any(option.startswith("scan.") for option in table.options) else {"snapshot_id": current.snapshot_id}
