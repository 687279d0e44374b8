"""Lakes for tests of Spark SQL, and an engine that runs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

import frazil
from frazil.sql import Lake

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from frazil.iceberg import Table
    from frazil.sql._sources import Source


class RecordingEngine:
    """Notes the queries that it is given, and answers with their number."""

    def __init__(self, values: Sequence[Any] = ()) -> None:
        """Answer these values in turn where a query is asked for one."""
        self.queries: list[tuple[str, tuple[Source, ...], Any]] = []
        self._values = iter(values)

    def query(self, text: str, sources: Sequence[Source], args: Any = None) -> int:
        """Note a query."""
        self.queries.append((text, tuple(sources), args))
        return len(self.queries)

    def value(self, frame: int) -> Any:
        """Return the next value."""
        assert frame == len(self.queries)
        return next(self._values)

    def has_temporary_view(self, name: str) -> bool:
        """Return whether the name begins with `view`."""
        return name.startswith("view")

    def frame(self, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> int:
        """Return no rows."""
        return len(columns) * len(rows)


def recorded(engine: RecordingEngine, **catalogs: Any) -> Lake[int]:
    """Return a lake that runs its queries in this engine."""
    return Lake(catalogs, engine)  # type: ignore[arg-type] - only what queries need


def iceberg_catalog(folder: Path, kind: str = "hadoop") -> tuple[Any, Table]:
    """Return a catalog with the table `db.t`, which has two snapshots; the first one has a tag and a branch."""
    folder.mkdir(exist_ok=True)
    catalog = frazil.load_catalog("lake", type=kind, warehouse=str(folder))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64()), ("name", pa.string())]))
    table.append(pa.table({"id": [1], "name": ["a"]}))
    first = table.snapshots()[0].snapshot_id
    table.append(pa.table({"id": [2, 3], "name": ["b", "c"]}))
    table.manage_snapshots().create_tag(first, "v1").create_branch(first, "b1").commit()
    return catalog, table
