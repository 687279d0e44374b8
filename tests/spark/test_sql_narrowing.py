"""Tests of Spark SQL queries of which frazil reads only some columns and rows, compared with Spark."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import frazil.spark
from frazil.errors import FrazilError, UnsupportedError
from frazil.sql._references import references, replaced
from frazil.sql._sources import Source
from support.sizes import size
from support.sql_grammar import Queries
from support.sql_lakes import grammar_catalog

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from frazil.sql import Lake

pytestmark = pytest.mark.spark

WRITTEN = (Path(__file__).parents[1] / "support" / "sql_queries.txt").read_text(encoding="utf-8").splitlines()
GENERATED = size("FRAZIL_SQL_QUERIES")
"""The number of generated queries; `make nightly` runs 500."""
PARTS = 7
"""The number of cases that share the generated queries."""

RELATION = re.compile(r"'UnresolvedRelation \[([^\]]*)\]")


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake[DataFrame]:
    return frazil.spark.connect(spark, {"lake": grammar_catalog(tmp_path_factory.mktemp("narrowing") / "lake")})


@pytest.fixture(scope="module")
def relations(spark: SparkSession) -> Callable[[str], Counter[str] | None]:
    """Return a function that finds table names with Spark's parser, or None for text that it rejects."""
    from pyspark.errors import PySparkException

    parser: Any = spark._jsparkSession.sessionState().sqlParser()  # type: ignore[attr-defined] - of Classic

    def found(text: str) -> Counter[str] | None:
        try:
            return Counter(RELATION.findall(parser.parsePlan(text).toString()))
        except PySparkException:
            return None

    return found


def is_ours(parts: tuple[str, ...]) -> bool:
    return len(parts) == 3 and parts[0] == "lake"


def test_sparks_parser_finds_the_same_names(relations: Callable[[str], Counter[str] | None]) -> None:
    series = Queries(7)
    refused, taken = [], 0
    for text in [*WRITTEN, *(series.query() for _ in range(300))]:
        expected = relations(text)
        if expected is None:
            continue
        expected = Counter({name: count for name, count in expected.items() if name.startswith("lake, ")})
        try:
            found = references(text, is_ours)
        except UnsupportedError:
            refused.append(text)
            continue
        taken += 1
        assert Counter(", ".join(one.name.parts) for one in found) == expected, text
        # The positions are checked: if other names are substituted there, Spark finds only those.
        if found:
            written = replaced(text, found).format(**{f"t{index}": f"__t{index}" for index in range(len(found))})
            after = relations(written)
            assert after is not None, written
            assert not [name for name in after if name.startswith("lake, ")], written
            assert all(after[f"__t{index}"] == 1 for index in range(len(found))), written
    assert taken > 350
    assert refused == []


def rows_or_error(lake: Lake[DataFrame], text: str) -> tuple[str, object]:
    from pyspark.errors import PySparkException

    try:
        frame = lake.sql(text)
        return "rows", (frame.columns, sorted(repr(tuple(row)) for row in frame.collect()))
    except PySparkException as error:
        return "error", error.getCondition()
    except FrazilError as error:
        return "error", str(error)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("part", range(PARTS))
def test_queries_have_the_rows_of_queries_that_read_everything(
    lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    series = Queries(size("FRAZIL_SQL_SEED"))
    queries = [series.query() for _ in range(GENERATED)][part::PARTS]
    narrowed, ran = Source.narrowed, 0
    for text in queries:
        found = rows_or_error(lake, text)
        monkeypatch.setattr(Source, "narrowed", lambda _, schema, *_moments: (schema.names, []))
        expected = rows_or_error(lake, text)
        monkeypatch.setattr(Source, "narrowed", narrowed)
        assert found == expected, text
        ran += found[0] == "rows"
    assert ran > len(queries) // 3


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT name FROM lake.db.t WHERE id > 1", ["id", "name"]),
        ("SELECT x.ID FROM lake.db.t x", ["id"]),
        ("SELECT lake.db.t.big FROM lake.db.t", ["Big"]),
        ("SELECT count(*) FROM lake.db.t", ["id"]),
        ("SELECT s.x FROM lake.db.t", ["s"]),
        ("SELECT /*+ REPARTITION(2, d) */ id FROM lake.db.t", ["id", "d"]),
        ("SELECT id FROM lake.db.t WHERE EXISTS (SELECT * FROM lake.db.u i WHERE i.t_id = 1)", ["id"]),
        ("SELECT * EXCEPT (id) FROM lake.db.t", ["id", "name", "d", "v", "n", "s", "Big"]),
    ],
)
def test_plans_have_the_columns_of_the_query_only(
    lake: Lake[DataFrame], monkeypatch: pytest.MonkeyPatch, query: str, columns: list[str]
) -> None:
    from frazil.spark import _engine

    read = []
    relation = _engine.relation
    monkeypatch.setattr(_engine, "relation", lambda *args, **more: (read.append(relation(*args, **more)), read[-1])[1])
    frame = lake.sql(query)
    assert read[0].columns == columns
    plan = frame._jdf.queryExecution().analyzed().toString()  # type: ignore[attr-defined] - of Classic
    scans = [re.findall(r"(\w+)#", line) for line in plan.splitlines() if re.search(r"Relation(V2)? ?\[", line)]
    assert columns in scans


def test_files_that_a_condition_excludes_are_not_read(lake: Lake[DataFrame]) -> None:
    def files(query: str) -> int:
        return len(lake.sql(query).inputFiles())

    assert files("SELECT id FROM lake.db.t") == 3
    assert files("SELECT id FROM lake.db.t WHERE id = 1") == 1
    assert files("SELECT x.id FROM lake.db.t x LEFT JOIN lake.db.u y ON x.id = y.id WHERE x.id = 1") == 3
    assert files("SELECT x.id FROM lake.db.u y LEFT JOIN lake.db.t x ON x.id = y.id WHERE x.id = 1") == 5
