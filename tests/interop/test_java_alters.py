"""Tests of ALTER TABLE: Iceberg (Java) changes metadata as in the golden file, with which frazil is compared.

With FRAZIL_WRITE_GOLDEN set, the file is written instead.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from support import sql_alterations
from support.java import JavaError

if TYPE_CHECKING:
    from support.java import Java

GOLDEN = Path(__file__).parents[1] / "golden/sql/alterations.json"


def outcome(java: Java, catalog: Any, text: str, version: int, name: str) -> Any:
    """Return the facts that a statement changes in Java; None if Java rejects it."""
    table = sql_alterations.make(catalog, name, version)
    before = sql_alterations.facts(sql_alterations.metadata(table.location))
    try:
        java.sql(sql_alterations.statement(text, f"java.db.{name}", table))
    except JavaError:
        assert sql_alterations.facts(sql_alterations.metadata(table.location)) == before
        return None
    return sql_alterations.changed(before, sql_alterations.facts(sql_alterations.metadata(table.location)))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_java_matches_the_golden_file(java: Java, warehouse: Path, version: int) -> None:
    catalog = frazil.load_catalog(type="hadoop", warehouse=str(warehouse))
    catalog.create_namespace_if_not_exists("db")
    found = {
        text: outcome(java, catalog, text, version, f"altered{version}_{place}")
        for place, text in enumerate(sql_alterations.STATEMENTS)
    }
    golden = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    if os.environ.get("FRAZIL_WRITE_GOLDEN"):
        golden[str(version)] = found
        GOLDEN.write_text(sql_alterations.text(golden), encoding="utf-8")
    assert golden[str(version)] == found
