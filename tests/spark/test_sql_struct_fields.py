"""Tests of UPDATE and MERGE in Spark SQL that set fields of structs and defaults, compared with queries of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
import frazil.spark
from frazil.errors import FrazilError, InvalidArgumentError, UnsupportedError
from frazil.spark import _sql_row_changes
from support.sql_row_tables import CASES, branches, contents, in_utc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

INNER = pa.struct([("d", pa.int32()), ("e `f", pa.string()), ("list", pa.list_(pa.int32()))])
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("a", pa.int32()),
        (
            "s",
            pa.struct([("a", pa.int32()), ("b", pa.string()), ("c", INNER), ("m", pa.map_(pa.string(), pa.int32()))]),
        ),
        ("other{", pa.struct([("x", pa.date32())])),
    ]
)
ROWS: list[dict[str, Any]] = [
    {"id": 1, "a": 1, "s": {"a": 1, "b": "one", "c": {"d": 1, "e `f": "x", "list": [1]}, "m": [("k", 1)]}},
    {"id": 2, "a": 2, "s": {"a": 2, "b": None, "c": None, "m": None}, "other{": {"x": None}},
    {"id": 3, "a": None, "s": None, "other{": None},
    {"id": 4, "a": 4, "s": {"a": None, "b": "four", "c": {"d": None, "e `f": None, "list": []}, "m": []}},
]
# The assignments, and the new values of the columns as queries of Spark.
UPDATES: list[tuple[str, dict[str, str]]] = [
    ("s.a = 7", {"s": "named_struct('a', 7, 'b', s.b, 'c', s.c, 'm', s.m)"}),
    ("s.A = id + 1", {"s": "named_struct('a', CAST(id + 1 AS INT), 'b', s.b, 'c', s.c, 'm', s.m)"}),
    (
        "x.s.c.d = x.s.a, a = s.c.d, `S`.`c`.`e ``f` = upper(s.b)",
        {
            "s": (
                "named_struct('a', s.a, 'b', s.b, 'c', "
                "named_struct('d', s.a, 'e `f', upper(s.b), 'list', s.c.list), 'm', s.m)"
            ),
            "a": "s.c.d",
        },
    ),
    (
        "s.b = NULL, s.c = NULL, s.m = map('z', a), `other{`.x = DATE '2024-02-29'",
        {
            "s": "named_struct('a', s.a, 'b', CAST(NULL AS STRING), 'c', CAST(NULL AS {c}), 'm', map('z', a))",
            "other{": "named_struct('x', DATE '2024-02-29')",
        },
    ),
    (
        "s.c.list = array(a, -1), s.a = (SELECT max(id) FROM judged) -- all",
        {
            "s": (
                "named_struct('a', (SELECT CAST(max(id) AS INT) FROM judged), 'b', s.b, 'c', "
                "named_struct('d', s.c.d, 'e `f', s.c.`e ``f`, 'list', array(a, -1)), 'm', s.m)"
            )
        },
    ),
    (
        "s = named_struct('A', a, 'b', 'n', 'c', NULL, 'm', NULL)",
        {"s": "CAST(named_struct('a', a, 'b', 'n', 'c', NULL, 'm', NULL) AS {s})"},
    ),
    ("s = NULL, a = NULL", {"s": "CAST(NULL AS {s})", "a": "CAST(NULL AS INT)"}),
]


@pytest.fixture(autouse=True)
def settings(spark: SparkSession) -> Iterator[None]:
    with in_utc(spark):
        spark.createDataFrame(pa.Table.from_pylist(ROWS, SCHEMA)).createOrReplaceTempView("judged")
        yield
        spark.catalog.dropTempView("judged")


def connect(spark: SparkSession, folder: Path, version: int = 2, mode: str = "merge-on-read") -> Lake[DataFrame]:
    """Return a lake with the table `db.t`."""
    catalog = frazil.load_catalog("lake", type="hadoop", warehouse=str(folder))
    catalog.create_namespace("db")
    modes = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    table = catalog.create_table("db.t", SCHEMA, format_version=version, properties=modes)
    for part in (ROWS[:2], ROWS[2:]):
        table.append(pa.Table.from_pylist(part, SCHEMA))
    return frazil.spark.connect(spark, {"lake": catalog})


def rows(found: pa.Table) -> list[Any]:
    found = found.select(SCHEMA.names).to_pylist()
    return sorted(
        ({**one, "s": one["s"] and {**one["s"], "m": one["s"]["m"] and dict(one["s"]["m"])}} for one in found), key=repr
    )


def expected(spark: SparkSession, values: dict[str, str], condition: str) -> list[Any]:
    """Return the rows with new values, as computed by Spark."""
    [kind] = [kind for name, kind in spark.table("judged").dtypes if name == "s"]
    inner = kind[kind.index("c:") + 2 : kind.index(",m:")].replace("e `f", "`e ``f`")
    columns = [
        f"CASE WHEN {condition} THEN {values.get(name, f'`{name}`')} ELSE `{name}` END AS `{name}`".replace(
            "{c}", inner
        ).replace("{s}", kind.replace("e `f", "`e ``f`"))
        for name in SCHEMA.names
    ]
    return rows(spark.sql(f"SELECT {', '.join(columns)} FROM judged").toArrow())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_fields_of_structs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    lake = connect(spark, tmp_path, *CASES[number])
    cases = UPDATES[number % 3 :: 3]
    branches(lake, 2 * len(cases))
    for place, (assignments, values) in enumerate(cases):
        monkeypatch.setattr(_sql_row_changes, "LOCAL_LIMIT_BYTES", 0 if (place + number) % 3 == 0 else 128 << 20)
        here = f"c{2 * place}"
        lake.sql(f"UPDATE lake.db.t.branch_{here} AS x SET {assignments}\nWHERE id < 4")
        assert rows(lake.table("lake.db.t").scan(ref=here).to_arrow()) == expected(spark, values, "id < 4"), assignments
        here = f"c{2 * place + 1}"
        lake.sql(
            f"MERGE INTO lake.db.t.branch_{here} AS x USING (SELECT id AS i FROM range(1, 4)) AS n ON x.id = n.i "
            f"WHEN MATCHED THEN UPDATE SET {assignments}\nWHEN NOT MATCHED BY SOURCE THEN UPDATE SET {assignments}"
        )
        assert rows(lake.table("lake.db.t").scan(ref=here).to_arrow()) == expected(spark, values, "true"), assignments


INVALID = {
    "s.a = 1, s.A = 2": "column `s.A` is set twice",
    "s.c.d = 1, a = 2, s.c = NULL": "column `s.c.d` is set twice, because `s.c` is set, too",
    "s = NULL, s.a = 1": "column `s.a` is set twice, because `s` is set, too",
    "s.a = 1, x.s.a = 2": "column `s.a` is set twice",
    "s.nope = 1": "the struct `s` has no field `s.nope`",
    "nope.a = 1": "the table has no column `nope.a`",
    "a.b = 1": "column `a` is not a struct, and has no fields",
    "s.a.b = 1": "column `s.a` is not a struct, and has no fields",
    "s.a = s.b": "cannot be assigned",
    "s.c.d = map(1, 2)": "cannot be assigned",
}
UNSUPPORTED = {
    "s.c.list.element = 1": "UPDATE is not supported for parts of column `s.c.list`, which is an array",
    "s.m.value = 1": "UPDATE is not supported for parts of column `s.m`, which is a map",
    "s.b = DEFAULT": "DEFAULT is not supported for field `s.b` of a struct",
    "s.c = named_struct('list', array(1), 'e `f', 'x', 'd', 1)": "cannot be assigned",
    "s.c = named_struct('e `f', 1, 'd', 1, 'list', NULL)": "frazil does not reorder the fields of a struct by name",
    "s.c = named_struct('x', 1, 'e `f', 'x', 'list', NULL)": "frazil does not reorder the fields of a struct by name",
}


def test_invalid_assignments_change_no_file(spark: SparkSession, tmp_path: Path) -> None:
    lake = connect(spark, tmp_path)
    before = contents(tmp_path)
    for statements in (INVALID, UNSUPPORTED):
        for assignments, problem in statements.items():
            with pytest.raises(FrazilError) as error:
                lake.sql(f"UPDATE lake.db.t AS x SET {assignments} WHERE id + 0 = 1")
            assert problem in str(error.value), assignments
            is_unsupported = statements is UNSUPPORTED and problem != "cannot be assigned"
            assert isinstance(error.value, UnsupportedError) == is_unsupported, assignments
    with pytest.raises(InvalidArgumentError, match=r"INSERT cannot set a field of a struct, `s.a`"):
        lake.sql(
            "MERGE INTO lake.db.t USING (SELECT 9 AS i) n ON t.id = n.i WHEN NOT MATCHED THEN INSERT (s.a) VALUES (1)"
        )
    with pytest.raises(UnsupportedError, match="does not reorder the fields of a struct"):
        lake.sql(
            "MERGE INTO lake.db.t USING (SELECT 9 AS i, named_struct('A', 1, 'b', 'x', 'm', NULL, 'c', NULL) AS s) n "
            "ON t.id = n.i WHEN NOT MATCHED THEN INSERT (id, s) VALUES (n.i, n.s)"
        )
    assert contents(tmp_path) == before


def test_required_fields(spark: SparkSession, tmp_path: Path) -> None:
    catalog = frazil.load_catalog("lake", type="hadoop", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    struct = pa.struct([pa.field("a", pa.int32(), nullable=False), pa.field("b", pa.int32())])
    table = catalog.create_table("db.t", pa.schema([("id", pa.int32()), ("s", struct)]))
    table.append([{"id": 1, "s": {"a": 1, "b": 1}}, {"id": 2, "s": None}])
    lake = frazil.spark.connect(spark, {"lake": catalog})
    before = contents(tmp_path)
    for statement in ("SET s.a = NULL WHERE id = 1", "SET s.b = 2", "SET s.a = nullif(id, 1) WHERE id = 1"):
        with pytest.raises(FrazilError, match=r"s\.a|`a`"):
            lake.sql(f"UPDATE lake.db.t {statement}")
    assert contents(tmp_path) == before
    lake.sql("UPDATE lake.db.t SET s.a = 5")
    found = lake.table("lake.db.t").scan().to_arrow()["s"].to_pylist()
    assert sorted(found, key=repr) == [{"a": 5, "b": 1}, {"a": 5, "b": None}]


DEFAULTS = {
    "i": ("int", 7),
    "l": ("long", -7),
    "f": ("double", 0.5),
    "n": ("decimal(9,2)", "1.50"),
    "w": ("string", "it's \\ {x}"),
    "d": ("date", "2024-02-29"),
    "z": ("timestamptz", "2024-02-29T12:00:00+00:00"),
    "t": ("timestamp", "2024-02-29T12:00:00.000001"),
    "b": ("binary", b"\x00\xff"),
    "y": ("boolean", True),
}


def test_defaults(spark: SparkSession, tmp_path: Path) -> None:
    lake = connect(spark, tmp_path, 3)
    with lake.table("lake.db.t").update_schema() as change:
        for name, (kind, value) in DEFAULTS.items():
            change.add_column(name, kind, default_value=value)
    [first, *_] = lake.table("lake.db.t").scan("id = 1", selected_fields=list(DEFAULTS)).to_arrow().to_pylist()
    assert None not in first.values()
    nulls = ", ".join(f"{name} = NULL" for name in DEFAULTS)
    defaults = ", ".join(f"{name} = DEFAULT" for name in DEFAULTS)
    statements = [
        f"UPDATE lake.db.t SET {defaults}, a = DEFAULT WHERE id = 1",
        f"UPDATE lake.db.t SET {defaults}, a = id + 1 WHERE id + 0 = 1",
        (f"MERGE INTO lake.db.t AS x USING (SELECT 1 AS i) AS n ON x.id = n.i WHEN MATCHED THEN UPDATE SET {defaults}"),
    ]
    for statement in statements:
        lake.sql(f"UPDATE lake.db.t SET {nulls}")
        lake.sql(statement)
        found = lake.table("lake.db.t").scan(selected_fields=["id", *DEFAULTS]).to_arrow().to_pylist()
        assert [{**first, "id": 1}] == [one for one in found if one["i"] is not None], statement
        assert [one for one in found if one["id"] == 1] == [{"id": 1, **first}], statement
