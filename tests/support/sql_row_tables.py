"""The table of the tests of row changes in SQL, and the same rows in Parquet files, for queries of Spark."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import frazil

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

CASES = [(1, "copy-on-write"), (2, "copy-on-write"), (2, "merge-on-read"), (3, "copy-on-write"), (3, "merge-on-read")]
HOSTILE = 'it\'s; "x"'
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("d", pa.date32()),
        ("v", pa.float64()),
        ("f", pa.float32()),
        ("n", pa.decimal128(9, 2)),
        ("z", pa.timestamp("us", "UTC")),
        ("t", pa.timestamp("us")),
        ("flag", pa.bool_()),
        ("Big", pa.int32()),
        ("where", pa.int32()),
        ("a.b", pa.int32()),
        (HOSTILE, pa.int32()),
        ("b`q", pa.string()),
    ]
)
DAY = dt.datetime(2024, 3, 10, 6, 30)  # noqa: DTZ001 - a wall clock


def row(id: int | None, name: str | None, v: float | None, n: str | None, hours: int | None) -> dict[str, Any]:  # noqa: A002
    """Return a row, whose dates and times are these hours after `DAY`."""
    moment = None if hours is None else DAY + dt.timedelta(hours=hours)
    values = (
        id,
        name,
        moment and moment.date(),
        v,
        v,
        n and Decimal(n),
        moment and moment.replace(tzinfo=dt.UTC),
        moment,
        None if id is None else id % 2 == 0,
        hours,
        id,
        hours,
        id,
        name,
    )
    return dict(zip(SCHEMA.names, values, strict=True))


FILES = [
    [row(1, "a", 1.5, "1.50", 0), row(2, "b", float("nan"), "2.55", 1), row(3, None, -0.0, None, None)],
    [row(4, "abc", float("inf"), "0.00", 24), row(5, "a\nc", 0.0, "-7.25", 25), row(None, "A", None, "3", 48)],
    [row(7, "it's", float("-inf"), "1.50", 0), row(8, "%", 2.5, "99.99", None), row(9, "日本", 1e300, "7", -3000)],
    [row(-10, "", 1.5, "-0.01", 8000), row(None, None, None, None, None)],
]
CONDITIONS = [
    "id = 1",
    "ID <> 1",
    "5 > id AND name = 'a'",
    "id != 1 AND NOT name IN ('a', 'b')",
    "NOT (id = 1 OR name LIKE 'a%')",
    "name LIKE 'a_c' OR name LIKE '%本'",
    "name NOT LIKE '%'",
    "name = ''",
    "name > 'a' AND name < 'b'",
    "name BETWEEN 'A' AND 'a'",
    "id NOT BETWEEN 2 AND 7",
    "id IN (1, 4, 9) OR id IS NULL",
    "id IS NOT NULL",
    "NOT id IS NULL AND id >= -10",
    "v = 1.5",
    "v > 1.5",
    "v <> 1.5",
    "NOT v < 0.0",
    "v = 0.0",
    "v BETWEEN -1.0 AND 2.5",
    "v IN (0.0, 2.5)",
    "n >= 1.5",
    "n IN (1.50, -7.25)",
    "NOT n = 1.5",
    "d = DATE '2024-03-10'",
    "d < '2024-03-11' OR d IS NULL",
    "d IN (DATE '2024-03-11', '2024-03-12')",
    "z >= TIMESTAMP '2024-03-11 00:00:00'",
    "z <> '2024-03-10 06:30:00'",
    "t < '2024-03-11 00:00:00' AND t >= '2024-03-10'",
    "NOT t = TIMESTAMP_NTZ '2024-03-10 06:30:00'",
    "big = 1 OR `where` = 4",
    "`a.b` = 24",
    f"`{HOSTILE}` = 7",
    "`b``q` = 'abc'",
    "id = 1 -- AND id = 2\n OR /* no */ id = 3",
    "true",
    "false OR id = 1",
    "id = 100",
    "big < 5000000000 AND NOT big = 5000000000",
    "id < 9223372036854775807 OR id IN (7, -9223372036854775807)",
    "n <= 99999999999 AND n > -99999999999.5",
    "NOT n = 99999999999",
    "v = -0.0 OR v < 0.1",
    "name <> 'a' AND NOT (name < 'b' OR name IS NULL)",
]


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows(found: pa.Table) -> list[str]:
    """Return rows in a form that can be compared: NaN equals NaN, and the order does not matter."""
    found = pa.table({name: found[name] for name in found.column_names})
    return sorted(map(repr, found.cast(pa.schema([SCHEMA.field(name) for name in found.column_names])).to_pylist()))


@contextlib.contextmanager
def judging(spark: SparkSession, folder: Path) -> Iterator[SparkSession]:
    """Yield the session with the view `judge` of the same rows."""
    for place, part in enumerate(FILES):
        pq.write_table(pa.Table.from_pylist(part, SCHEMA), folder / f"{place}.parquet")
    spark.read.parquet(str(folder)).createOrReplaceTempView("judge")
    yield spark
    spark.catalog.dropTempView("judge")


@contextlib.contextmanager
def in_utc(spark: SparkSession) -> Iterator[None]:
    """Set the settings of the tests, and restore them afterwards."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    # The statistics of Parquet files do not cover NaN, so that Spark would skip rows with NaN.
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    yield
    spark.conf.unset("spark.sql.parquet.filterPushdown")
    spark.conf.set("spark.sql.session.timeZone", before)
    spark.conf.unset("spark.sql.caseSensitive")
    spark.conf.unset("spark.sql.ansi.enabled")


def make(folder: Path, version: int, mode: str) -> Any:
    """Return a catalog with the table `db.t`, which has several files, and rows that are already deleted."""
    catalog = frazil.load_catalog("lake", type="hadoop", warehouse=str(folder))
    catalog.create_namespace("db")
    modes = {f"write.{verb}.mode": mode for verb in ("delete", "update")}
    table = catalog.create_table("db.t", SCHEMA, format_version=version, properties=modes)
    for part in FILES:
        table.append(pa.Table.from_pylist([*part, row(1000, "deleted", 1.5, "1", 0)], SCHEMA))
    table.delete("id = 1000")
    return catalog


def branches(lake: Lake[DataFrame], count: int) -> int:
    """Create the branches `c0`, `c1` and so on, and return the snapshot."""
    table = lake.table("lake.db.t")
    snapshot: int = table.current_snapshot().snapshot_id
    for number in range(count):
        table.manage_snapshots().create_branch(snapshot, f"c{number}").commit()
    return snapshot


def left(judge: SparkSession, condition: str) -> list[str]:
    """Return the rows that a SELECT with the condition does not return; `x` is an alias of the table."""
    selected = Counter(rows(judge.sql(f"SELECT * FROM judge AS x WHERE {condition}").toArrow()))  # noqa: S608 - of a test
    return sorted((Counter(rows(judge.table("judge").toArrow())) - selected).elements())


def quoted(name: str) -> str:
    """Return the name of a column in quotes."""
    return "`" + name.replace("`", "``") + "`"


def updated(judge: SparkSession, values: dict[str, str], condition: str) -> list[str]:
    """Return the rows after an UPDATE, as computed by Spark."""
    set_values = {name.lower(): value for name, value in values.items()}
    columns = [
        f"CASE WHEN ({condition}) THEN CAST({set_values[name.lower()]} AS {kind}) ELSE {quoted(name)} END "
        f"AS {quoted(name)}"
        if name.lower() in set_values
        else quoted(name)
        for name, kind in judge.table("judge").dtypes
    ]
    return rows(judge.sql(f"SELECT {', '.join(columns)} FROM judge").toArrow())  # noqa: S608 - of a test
