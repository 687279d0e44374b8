"""Tests of the JDBC warehouses that Java wrote, which are next to the repository."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import frazil

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


@pytest.mark.shared
@pytest.mark.parametrize("name", ["catalog_filesystem", "catalog_jdbc"])
def test_the_paimon_catalog_that_java_wrote(name: str) -> None:
    path = GOLDEN / "paimon_cases" / f"{name}.json"
    if not path.is_file():
        pytest.skip("there is no ../shared")
    case = json.loads(path.read_text(encoding="utf-8"))
    root = GOLDEN / case["dir"]
    if name == "catalog_jdbc":
        options = {"uri": f"jdbc:sqlite:{root}/catalog.db", "metastore": "jdbc", "catalog-key": "golden"}
        catalog = frazil.load_catalog("p", **options, relocate={"/golden": str(GOLDEN)})
    else:
        catalog = frazil.load_catalog("p", type="paimon", warehouse=str(root))
    # Folders without files are lost in a copy.
    present = {database: tables for database, tables in case["tables"].items() if tables or name == "catalog_jdbc"}
    assert catalog.list_namespaces() == sorted((database,) for database in present)
    for database, tables in present.items():
        assert catalog.list_tables((database,)) == sorted((database, table) for table in tables)
        assert all(catalog.table_exists((database, table)) for table in tables)
        options = catalog.load_namespace_properties((database,))
        assert options.items() >= case["database_options"][database].items()
