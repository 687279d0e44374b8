"""Queries on DuckDB of which frazil reads only some columns and rows, compared with reads of everything."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import duckdb
import pytest

from frazil.errors import FrazilError
from frazil.sql import Lake
from frazil.sql._sources import Source
from support.duckdb_engine import DuckDbEngine
from support.sizes import size
from support.sql_grammar import JOINS, Queries
from support.sql_lakes import grammar_catalog

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pyarrow as pa

QUERIES = 5 * size("FRAZIL_SQL_QUERIES")
CONDITIONS = ("{}.id = 3", "{}.d IS NULL", "{}.d IS NULL AND {}.id > 1", "{}.d IS NOT NULL", "NOT {}.id IN (1, 5)")


@pytest.fixture
def lake(tmp_path: Path) -> Lake[pa.Table]:
    return Lake({"lake": grammar_catalog(tmp_path)}, DuckDbEngine())


def rows_or_error(lake: Lake[pa.Table], text: str) -> tuple[str, object]:
    try:
        found = lake.sql(text)
    except (duckdb.Error, FrazilError) as error:
        return "error", type(error)
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    return "rows", (found.column_names, sorted(map(repr, rows)))


def compared(lake: Lake[pa.Table], queries: Iterable[str]) -> int:
    """Compare the results of queries with those of the same queries that read everything; return how many have rows."""
    count = 0
    for text in queries:
        found = rows_or_error(lake, text)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Source, "narrowed", lambda _, schema, *_moments: (schema.names, []))
            assert found == rows_or_error(lake, text), text
        count += found[0] == "rows"
    return count


def test_random_queries(lake: Lake[pa.Table]) -> None:
    series = Queries(size("FRAZIL_SQL_SEED"), of_spark=False)
    # The others have ambiguous names.
    assert compared(lake, (series.query() for _ in range(QUERIES))) > QUERIES * 2 / 3


def test_conditions_on_each_side_of_each_join(lake: Lake[pa.Table]) -> None:
    queries = [
        f"SELECT x.id FROM lake.db.u x {join} lake.db.t y{'' if join in JOINS[-2:] else ' ON x.id = y.id'} "  # noqa: S608 - of a test
        f"WHERE {condition.replace('{}', side)}"
        for join, side, condition in itertools.product(JOINS, "xy", CONDITIONS)
    ]
    # The right side of a semi or anti join has no columns.
    assert compared(lake, queries) == len(queries) - 2 * len(CONDITIONS)
