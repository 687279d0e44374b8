"""Tests that each reader finds the same rows by a condition, for boundary values and files of several writers."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil
from frazil.files.write import writer as data_files
from frazil.spark import read
from frazil.spark._lane_pruning import Pruning, pruning
from frazil.spark._lanes import native_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

INF, NAN = math.inf, math.nan
EPOCH = dt.date(1970, 1, 1)
DAYS = ["0001-01-01", "1582-10-04", "1582-10-10", "1582-10-15", "1582-10-16", "1899-12-31", "1970-01-01", "9999-12-31"]
MOMENTS_US = [((dt.date.fromisoformat(day) - EPOCH).days * 24 + 19) * 3_600_000_000 + 1 for day in DAYS]
FLOATS = [-INF, -1.5, -0.0, 0.0, 1.0, INF, NAN]


def decimals(digits: int, scale: int) -> list[decimal.Decimal]:
    most = "9" * digits
    values = (decimal.Decimal(value) for value in (f"-{most}", "-1", "0", most))
    return [value.scaleb(-scale, decimal.Context(38)) for value in values]


def number(name: str) -> Callable[[Any], str]:
    return lambda value: f"CAST('{value}' AS {name})"


def text(value: str) -> str:
    return "'" + "".join(f"\\U{ord(character):08X}" for character in value) + "'"


# By type: the Arrow type, values in ascending order, and their SQL literals.
TYPES: dict[str, tuple[pa.DataType, list[Any], Callable[[Any], str]]] = {
    "boolean": (pa.bool_(), [False, True], str),
    "int": (pa.int32(), [-(1 << 31), -1, 0, 1, (1 << 31) - 1], number("INT")),
    "long": (pa.int64(), [-(1 << 63), -1, 0, 1 << 32, (1 << 63) - 1], number("BIGINT")),
    "float": (pa.float32(), [*FLOATS, 1e-45], number("FLOAT")),
    "double": (pa.float64(), [*FLOATS, 5e-324], number("DOUBLE")),
    "date": (
        pa.date32(),
        [dt.date.fromisoformat(day) for day in DAYS],
        lambda day: f"DATE_FROM_UNIX_DATE({(day - EPOCH).days})",
    ),
    "timestamptz": (pa.timestamp("us", "UTC"), MOMENTS_US, lambda value: f"TIMESTAMP_MICROS({value})"),
    "timestamp": (
        pa.timestamp("us"),
        MOMENTS_US,
        lambda value: f"TIMESTAMP_NTZ '{DAYS[MOMENTS_US.index(value)]} 19:00:00.000001'",
    ),
    "string": (pa.string(), ["", "\0", "A", "a", "a" * 70, "a" * 5000, "é", "\uffff", "😀"], text),
    "binary": (pa.binary(), [b"", b"\0", b"\x7f", b"\x80", b"\xff" * 70, b"\xff" * 5000], lambda v: f"X'{v.hex()}'"),
    "decimal(9, 2)": (pa.decimal128(9, 2), decimals(9, 2), number("DECIMAL(9, 2)")),
    "decimal(18, 4)": (pa.decimal128(18, 4), decimals(18, 4), number("DECIMAL(18, 4)")),
    "decimal(38, 10)": (pa.decimal128(38, 10), decimals(38, 10), number("DECIMAL(38, 10)")),
}

CONDITIONS = ["v = {0}", "v <> {0}", "v < {0}", "v <= {0}", "v > {0}", "v >= {0}", "v IN ({0}, {1})"]
CONDITIONS += ["v NOT IN ({0}, {1})", "NOT (v <= {0})", "v <=> {0}"]


def table_rows(name: str) -> pa.Table:
    """Return rows of which each two are a row group: every value with NULL, and with every other value nearby."""
    data_type, values, _ = TYPES[name]
    pairs = [pair for i, value in enumerate(values) for pair in ((value, None), (value, values[i - 1]))]
    column = [value for pair in [(None, None), *pairs] for value in pair]
    return pa.table({"id": pa.array(range(len(column)), pa.int32()), "v": pa.array(column, data_type)})


def by_frazil(folder: Path, rows: pa.Table) -> str:
    """Write row groups of two rows, to which the fixture `written` limits them."""
    frazil.create_table(folder / "t", rows.schema).append(rows)
    return str(folder / "t")


def by_pyarrow(folder: Path, rows: pa.Table) -> str:
    path = by_frazil(folder, rows)
    [file] = (folder / "t" / "data").rglob("*.parquet")
    fields = [f.with_metadata({"PARQUET:field_id": str(i)}) for i, f in enumerate(rows.schema, 1)]
    with pq.ParquetWriter(file, pa.schema(fields), write_page_index=True, store_decimal_as_integer=True) as writer:
        writer.write_table(rows.cast(pa.schema(fields)), row_group_size=2)
    return path


def by_pyiceberg(folder: Path, rows: pa.Table) -> str:
    from pyiceberg.catalog.memory import InMemoryCatalog

    catalog = InMemoryCatalog("c", warehouse=f"file://{folder}")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", rows.schema, properties={"write.parquet.row-group-limit": "2"})
    table.append(rows)
    return table.metadata_location.removeprefix("file://")


UNCOMPILED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
WRITERS = {"frazil": by_frazil, "pyarrow": by_pyarrow, "pyiceberg": by_pyiceberg}


@pytest.fixture
def uncompiled(spark: SparkSession) -> Iterator[None]:
    """Evaluate queries without compiling them, which would take longer than running them."""
    for name, value in UNCOMPILED.items():
        spark.conf.set(name, value)
    yield
    for name in UNCOMPILED:
        spark.conf.unset(name)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    monkeypatch.setattr(data_files, "GROUP_ROWS", 2)
    monkeypatch.setattr(data_files, "BATCH_ROWS", 2)
    return lambda name, writer: WRITERS[writer](tmp_path, table_rows(name))


def conditions(name: str) -> list[str]:
    _, values, literal = TYPES[name]
    literals = [literal(value) for value in values]
    found = [text.format(one, literals[i - 1]) for text in CONDITIONS for i, one in enumerate(literals)]
    return [*found, "v IS NULL", "v IS NOT NULL", f"v IN ({', '.join(literals * 2)})"]


def scanned(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


@pytest.mark.sampled(6)
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.usefixtures("uncompiled")
def test_every_lane_finds_the_same_rows(
    spark: SparkSession, written: Callable[[str, str], str], name: str, writer: str
) -> None:
    path, asked = written(name, writer), conditions(name)
    lanes = {"arrow": read(spark, path, read_lane="arrow"), "native": read(spark, path, read_lane="native")}
    for lane, frame in lanes.items():
        frame.createOrReplaceTempView(f"lane_{lane}")
    # As columns, conditions are not passed to a reader.
    columns = [f"{condition} AS c{number}" for number, condition in enumerate(asked)]
    matches = lanes["arrow"].selectExpr("id", *columns).toArrow()
    ids = matches["id"].to_pylist()
    expected = [
        (condition, sorted(one for one, is_match in zip(ids, matches[f"c{i}"].to_pylist(), strict=True) if is_match))
        for i, condition in enumerate(asked)
    ]
    # Starting Python takes most of the time of the lane `arrow`, in which all conditions are applied alike.
    for lane, step in (("native", 1), ("arrow", 7)):
        assert ("FileScan parquet" in scanned(lanes[lane])) == (lane == "native")
        parts = [f"SELECT {i} AS c, id FROM lane_{lane} WHERE {asked[i]}" for i in range(0, len(asked), step)]  # noqa: S608
        found: list[list[int]] = [[] for _ in parts]
        for row in spark.sql(" UNION ALL ".join(parts)).collect():
            found[row.c // step].append(row.id)
        pairs = zip(asked[::step], found, strict=True)
        assert [(condition, sorted(one)) for condition, one in pairs] == expected[::step], lane


@pytest.mark.parametrize(
    ("name", "writer", "expected"),
    [
        ("double", "frazil", Pruning(by_bounds=True, by_values=False)),
        ("float", "pyarrow", Pruning(by_bounds=False, by_values=False)),
        ("float", "pyiceberg", Pruning(by_bounds=False, by_values=False)),
        ("date", "frazil", Pruning(by_bounds=False, by_values=False)),
        ("timestamptz", "pyiceberg", Pruning(by_bounds=False, by_values=False)),
        ("timestamp", "pyarrow", Pruning(by_bounds=True, by_values=True)),
        ("string", "pyiceberg", Pruning(by_bounds=True, by_values=True)),
        ("decimal(38, 10)", "pyarrow", Pruning(by_bounds=True, by_values=True)),
    ],
)
def test_spark_prunes_where_it_is_correct(
    written: Callable[[str, str], str], name: str, writer: str, expected: Pruning
) -> None:
    files = native_files(frazil.load_table(written(name, writer)).scan(), nullable=True)
    assert files is not None
    assert files.pruning == expected


@pytest.mark.parametrize(
    ("data_type", "values", "is_pruned"),
    [
        (pa.date32(), [dt.date(1582, 10, 16), None], True),
        (pa.date32(), [None, None], True),
        (pa.date32(), [dt.date(2000, 1, 1), dt.date(1582, 10, 15)], False),
        (pa.timestamp("us", "UTC"), [dt.datetime(1900, 1, 3, tzinfo=dt.UTC)], True),
        (pa.timestamp("us", "UTC"), [dt.datetime(1899, 12, 31, tzinfo=dt.UTC)], False),
        (pa.timestamp("us"), [dt.datetime(1000, 1, 1)], True),  # noqa: DTZ001 - without a zone
        (pa.int64(), [-(1 << 63)], True),
    ],
)
def test_days_of_one_calendar_only_are_not_pruned(
    tmp_path: Path, data_type: pa.DataType, values: list[Any], *, is_pruned: bool
) -> None:
    data = pa.table({"v": pa.array(values, data_type)})
    pq.write_table(data, tmp_path / "a.parquet")
    assert pruning(pq.read_metadata(tmp_path / "a.parquet"), data.schema) == (is_pruned, is_pruned)
    if is_pruned and data_type != pa.int64() and data_type != pa.timestamp("us") and values[0] is not None:
        pq.write_table(data, tmp_path / "b.parquet", write_statistics=False)
        assert pruning(pq.read_metadata(tmp_path / "b.parquet"), data.schema) == (False, False)


def test_copies_of_files_by_other_writers_are_not_trusted(tmp_path: Path) -> None:
    data = pa.table({"v": [1.0, 2.0]})
    frazil.create_table(tmp_path / "t", data.schema).append(data)
    [own] = (tmp_path / "t" / "data").rglob("*.parquet")
    copied = pq.read_table(own)
    assert copied.schema.metadata is not None
    pq.write_table(copied, tmp_path / "copy.parquet")
    pq.write_table(copied.slice(1), tmp_path / "part.parquet", store_schema=False)
    found = [pruning(pq.read_metadata(path), data.schema).by_bounds for path in (own, tmp_path / "copy.parquet")]
    assert found == [True, False]
    assert not pruning(pq.read_metadata(tmp_path / "part.parquet"), data.schema).by_bounds
