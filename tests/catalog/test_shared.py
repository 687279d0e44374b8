"""The JDBC warehouses that Java wrote, beside the repository."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import frazil

pytest.importorskip("sqlalchemy")

GOLDEN = Path(os.environ.get("FRAZIL_SHARED", Path(__file__).parents[3] / "shared")) / "golden"


@pytest.fixture(params=["v0", "v1"])
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    path = GOLDEN / "iceberg_cases" / f"jdbc_{request.param}.json"
    if not path.is_file():
        pytest.skip("there is no ../shared")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.shared
def test_the_catalog_that_java_wrote(case: dict[str, Any]) -> None:
    database = case["database"].replace("/golden", str(GOLDEN), 1)
    uri, mapping = f"jdbc:sqlite:{database}", {"/golden": str(GOLDEN)}
    catalog = frazil.load_catalog(case["catalog_name"], uri=uri, warehouse=case["location"], relocate=mapping)
    assert [".".join(name) for name in catalog.list_namespaces()] == case["root_namespaces"]
    for name, namespace in case["namespaces"].items():
        assert catalog.load_namespace_properties(name) == namespace["properties"]
        assert {".".join(child) for child in catalog.list_namespaces(name)} == set(namespace["children"])
        assert {".".join(table) for table in catalog.list_tables(name)} == set(namespace["tables"])
        assert not any(catalog.table_exists(view) for view in namespace.get("views", ()))
    for name, expected in case["tables"].items():
        table = catalog.load_table(name)
        assert table.format_version == expected["format_version"]
        rows = table.scan().to_arrow().to_pylist()
        assert sorted(rows, key=repr) == sorted(expected["rows_inline"], key=repr)
