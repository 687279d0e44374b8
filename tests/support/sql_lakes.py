"""Lakes for tests of Spark SQL, and an engine that executes nothing."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import frazil
from frazil.sql import Lake
from frazil.sql._engine import Held

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from frazil.iceberg import Table
    from frazil.sql._column_types import Column
    from frazil.sql._insert import Insertion
    from frazil.sql._row_change import Change
    from frazil.sql._sources import Source


class RecordingEngine:
    """An engine that records its queries, and returns their number."""

    def __init__(
        self, values: Sequence[Any] = (), *, columns: Sequence[Column] = (), overwrites_partitions: bool = False
    ) -> None:
        """Initialize with the values that are returned in turn for queries of a single value.

        `columns` are the columns of every query, and `overwrites_partitions` is the mode of INSERT OVERWRITE.
        """
        self.views: list[tuple[str, Sequence[str] | None, bool, bool]] = []
        self._columns, self._overwrites_partitions = tuple(columns), overwrites_partitions
        self.queries: list[tuple[str, tuple[Source, ...], Any]] = []
        self.frames: list[tuple[Sequence[str], Sequence[tuple[Any, ...]]]] = []
        self.insertions: list[Insertion] = []
        self.changes: list[tuple[Any, Mapping[str, str] | None, str | None, str]] = []
        """The table, the new values or None for DELETE, the filter, and the branch of each change of rows."""
        self._values = iter(values)
        self.is_disconnected = False

    def query(self, text: str, sources: Sequence[Source], args: Any = None) -> int:
        """Record a query."""
        self.queries.append((text, tuple(sources), args))
        return len(self.queries)

    def syntax_error(self, text: str) -> None:
        """Return no error, because statements are not parsed."""

    def clarify(self, error: Exception, sql: Any, columns: Any, catalogs: Any) -> None:
        """Keep the text of an error."""

    def inserted(self, text: str, values: Mapping[str, Any]) -> tuple[str, dict[str, int]]:
        """Insert values; an integer is the number of a query, and is inserted as a name."""
        frames = {f"frame_{value}": value for value in values.values() if isinstance(value, int)}
        names = {name: f"frame_{value}" if isinstance(value, int) else value for name, value in values.items()}
        return text.format(**names), frames

    def with_frames(self, frames: Mapping[str, int]) -> RecordingEngine:
        """Return this engine, which does not look into its queries."""
        del frames
        return self

    def held(self, frame: int, name: str) -> Held[int]:
        """Return the same query, whose rows are not kept."""
        del frame, name
        return Held(self, is_small=True, release=lambda: None)

    def session_branch(self, table: Any, name: tuple[str, ...], change: str | None = None) -> None:
        """Return None: statements change `main`."""

    def transform_function(self, name: str) -> str:
        """Return the name of the transform."""
        return name

    def disconnect(self) -> None:
        """Record that the lake is disconnected."""
        self.is_disconnected = True

    def value(self, frame: int) -> Any:
        """Return the next value."""
        assert frame == len(self.queries)
        return next(self._values)

    def values(self, texts: Sequence[str]) -> list[Any]:
        """Record expressions as a query, and return the next values."""
        self.queries.append((", ".join(texts), (), None))
        return [next(self._values) for _ in texts]

    def constants(self, texts: Sequence[str]) -> list[Any]:
        """Record literals as a query, and return the next values."""
        return self.values(texts)

    def column_names(self, frame: int) -> list[str]:
        """Return the columns of a query, which are the same for all."""
        assert frame == len(self.queries)
        return ["id", "name"]

    def insert(self, frame: int, table: Any, insertion: Insertion) -> None:
        """Record how rows are written."""
        del table
        assert frame == len(self.queries)
        self.insertions.append(insertion)

    def overwrites_partitions(self) -> bool:
        """Return the given mode."""
        return self._overwrites_partitions

    def create_view(
        self, frame: int, name: str, columns: Sequence[str] | None, *, replaces: bool, is_global: bool
    ) -> None:
        """Record a view."""
        assert frame == len(self.queries)
        self.views.append((name, columns, replaces, is_global))

    def is_view_of(self, name: str, frame: Any) -> bool:
        """Return False, because views are not kept."""
        del name, frame
        return False

    def watch_views(self, frame: Any, created: Any) -> None:
        """Create no views."""

    def columns_of(self, frame: int) -> tuple[Column, ...]:
        """Return the given columns."""
        assert frame == len(self.queries)
        return self._columns

    def columns(self, table: Any) -> list[tuple[Any, ...]]:
        """Return the columns with Arrow types, without comments."""
        return [(field.name, str(field.type), "") for field in table.scan().schema()]

    def tree(self, table: Any) -> str:
        """Return one line for each column."""
        return "\n".join(f"{name}: {text}" for name, text, _ in self.columns(table))

    def snapshot_properties(self) -> dict[str, str]:
        """Return no properties."""
        return {}

    def delete(self, table: Any, row_filter: str | None, branch: str) -> None:
        """Record a DELETE."""
        self.changes.append((table, None, row_filter, branch))

    def update(self, table: Any, values: Mapping[str, str], row_filter: str | None, branch: str) -> None:
        """Record an UPDATE."""
        self.changes.append((table, values, row_filter, branch))

    def change(self, table: Any, change: Change[int]) -> None:
        """Record a change of the rows that a query selects."""
        found = change.select(table)
        assert found.frame == len(self.queries)
        self.changes.append((table, None, found.row_filter, change.branch))

    def assigned_constants(self, table: Any, values: Mapping[str, str]) -> Mapping[str, Any]:
        """Return nothing."""
        del table, values
        return {}

    def changes_in_workers(self, table: Any, branch: str) -> bool:
        """Return that no rows are changed in workers."""
        del table, branch
        return False

    def comparable_columns(self, table: Any, frame: int) -> list[str]:
        """Return no columns."""
        del table, frame
        return []

    def joins_few_rows(self, table: Any, branch: str) -> bool:
        """Return that all rows are joined."""
        del table, branch
        return True

    def is_case_sensitive(self) -> bool:
        """Return the default of Spark."""
        return False

    def has_temporary_view(self, name: str) -> bool:
        """Return whether the name begins with `view`."""
        return name.startswith("view")

    def timestamp_has_zone(self) -> bool:
        """Return the default of Spark."""
        return True

    def user(self) -> str:
        """Return the owner of new tables."""
        return "me"

    def frame(self, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> int:
        """Record the rows of a result."""
        self.frames.append((columns, rows))
        return len(columns) * len(rows)


def recorded(engine: RecordingEngine, **catalogs: Any) -> Lake[int]:
    """Return a lake that runs its queries in this engine."""
    return Lake(catalogs, engine)


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


def grammar_catalog(folder: Path) -> Any:
    """Return a catalog with the tables of `sql_grammar`, each with several data files."""
    folder.mkdir(exist_ok=True)
    catalog = frazil.load_catalog("lake", type="hadoop", warehouse=str(folder))
    catalog.create_namespace("db")
    days = [dt.date(2024, month, 1) for month in range(1, 7)]
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("name", pa.string()),
            ("d", pa.date32()),
            ("v", pa.float64()),
            ("n", pa.decimal128(9, 2)),
            ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
            ("Big", pa.int32()),
        ]
    )
    rows = [
        (1, "a", days[0], 1.5, Decimal("1.50"), {"x": 1, "y": "p"}, 10),
        (2, "b", days[1], float("nan"), Decimal("2.55"), None, 20),
        (3, None, None, -0.0, None, {"x": None, "y": "q"}, None),
        (None, "abc", days[3], 2.5, Decimal("0.00"), {"x": 4, "y": None}, 30),
        (4, "b", days[4], None, Decimal("-7.25"), {"x": 5, "y": "p"}, 20),
    ]
    table = catalog.create_table("db.t", schema)
    for part in (rows[:2], rows[2:4], rows[4:]):
        table.append(pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in part], schema))
    schema = pa.schema([("id", pa.int64()), ("t_id", pa.int64()), ("note", pa.string()), ("d", pa.date32())])
    table = catalog.create_table("db.u", schema)
    for part in ([(1, 1, "a", days[0]), (2, 1, "it's", days[1])], [(3, None, None, None), (5, 2, "b", days[2])]):
        table.append(pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in part], schema))
    return catalog
