"""Tests that the statement of SHOW CREATE TABLE creates a table with the same metadata, for the golden tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil.errors import FrazilError
from support.cases import SHARED, golden_cases, golden_paimon_cases
from support.sql_lakes import RecordingEngine, recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from frazil.iceberg import NestedField
    from support.cases import Case

pytestmark = pytest.mark.filterwarnings("ignore:unknown table property")

ICEBERG = {
    "differs: names": "nested_partitioned nested_partitioned_v3 pevo_v2_three_specs stats_partition",
    # UUIDs are strings in SQL, and only the current default of a column is shown.
    "differs: columns": """
        evo_defaults_avro evo_defaults_orc evo_defaults_parquet evo_defaults_parquet_rowwise p_v2_identity_uuid
        p_v2_none_uuid p_v3_bucket5_uuid p_v3_identity_uuid type_all_v3
    """,
    "`void` is not a partition transform": "p_v1_void_string p_v2_void_int p_v3_void_string",
    "`zorder` is not a partition transform": "edit_unknown_transform",
    "column type UNKNOWN is not supported": "type_unknown",
}
"""The Iceberg tables that SQL cannot create again, by the difference or the error."""

PAIMON = {
    "`clustering.incremental` = `true`": "append_bucketed_clustered",
    "`data-evolution.enabled` = `true`": "data_evolution data_evolution_compacted data_evolution_partitioned",
    "`fields.s.default-value` = `dflt`": "pk_default_value",
    "`manifest.format` = `orc`": "old_0_8_2_pk_orc_manifest old_0_9_0_pk_orc_manifest pk_manifest_orc",
    "`metadata.iceberg.storage` = `table-location`": "iceberg_append iceberg_append_partitioned iceberg_pk",
    "`row-tracking.enabled` = `true`": "row_tracking_compacted row_tracking_dv",
    "`tag.automatic-creation` = `batch`": "tag_auto_batch",
    "`type` = `materialized-table`": "materialized_options",
    "columns of type BINARY": "append_types_orc pk_types_orc_b1 pk_types_orc_b4",
    "`file.format` with the value `csv`": "format_csv_options",
    "references the branch": "branch_fallback fallback_nested fallback_renamed",
}
"""The Paimon tables that frazil cannot create again, by the error."""

UNREADABLE = ("edit_ref_to_missing_snapshot", "hadoop_no_metadata")

_NAME = re.compile(r"CREATE TABLE lake\.db\.shown ")
_LOCATION = re.compile(r"\nLOCATION '(?:[^'\\]|\\.)*'")


def round_trip(table: Any, catalog: Any) -> Any:
    """Return a new table of the catalog, created with the statement that SHOW CREATE TABLE returns for a table."""
    engine = RecordingEngine()
    lake = recorded(engine, lake=catalog)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog, "load_table", lambda *_, **__: table)
        lake.sql("SHOW CREATE TABLE lake.db.shown")
    [(_, [(text,)])] = engine.frames
    assert _NAME.match(text)
    lake.sql(_LOCATION.sub("", _NAME.sub("CREATE TABLE lake.db.made ", text)))
    return catalog.load_table("db.made")


def outcome(case: Case, catalog: Any) -> str:
    """Return the error of the statement, or the parts of the table that differ."""
    catalog.create_namespace("db")
    try:
        made = round_trip(case.table, catalog)
    except FrazilError as error:
        return str(error)
    parts = iceberg_parts if hasattr(made, "spec") else paimon_parts
    old, new = parts(case.table), parts(made)
    return ", ".join(f"differs: {name}" for name in old if old[name] != new[name])


def iceberg_parts(table: Any) -> dict[str, Any]:
    """Return the metadata of an Iceberg table without ids, the location and the owner."""
    schema, spec, order = table.schema(), table.spec().fields, table.sort_order().fields
    return {
        "columns": [column(field) for field in schema.fields],
        "identifiers": schema.identifier_field_names(),
        "spec": [(sources(field, schema), field.transform) for field in spec],
        "names": [field.name for field in spec],
        "order": [(sources(key, schema), key.transform, key.direction, key.null_order) for key in order],
        "properties": {name: value for name, value in table.properties.items() if name != "owner"},
        "version": table.format_version,
    }


def column(field: NestedField) -> tuple[Any, ...]:
    """Return a field and its nested fields, without ids."""
    kind = field.type.split("<")[0] if field.fields else field.type
    defaults = (field.initial_default, field.write_default)
    return field.name, kind, field.required, field.doc, defaults, [column(one) for one in field.fields]


def sources(field: Any, schema: Any) -> list[str]:
    """Return the names of the source columns."""
    return [schema.find_column_name(source) for source in field.source_ids]


def paimon_parts(table: Any) -> dict[str, Any]:
    """Return the metadata of a Paimon table without ids and the location."""
    fields = table.schema().fields
    return {
        "columns": [(one.name, str(one.type), one.description, one.default_value) for one in fields],
        "keys": (table.primary_keys, table.partition_keys),
        "options": {name: value for name, value in table.options.items() if name != "path"},
        "comment": table.comment,
    }


def listed(groups: Mapping[str, str]) -> dict[str, str]:
    """Return the expected outcome by table."""
    return {name: problem for problem, names in groups.items() for name in names.split()}


def params(cases: Iterable[Case]) -> Any:
    return [pytest.param(case, id=case.id) for case in cases if case.id not in UNREADABLE]


@pytest.mark.parametrize("case", params(golden_cases()))
def test_an_iceberg_table_is_created_again(case: Case, tmp_path: Path) -> None:
    catalog = frazil.load_catalog("lake", type="hadoop", warehouse=str(tmp_path))
    assert re.search(listed(ICEBERG).get(case.id, "^$"), outcome(case, catalog))


@pytest.mark.parametrize("case", params(golden_paimon_cases()))
def test_a_paimon_table_is_created_again(case: Case, tmp_path: Path) -> None:
    catalog = frazil.load_catalog("lake", type="paimon", warehouse=str(tmp_path))
    assert re.search(listed(PAIMON).get(case.id, "^$"), outcome(case, catalog))


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the shared tables")
def test_all_listed_tables_exist() -> None:
    assert set(listed(ICEBERG)) <= {case.id for case in golden_cases()}
    assert set(listed(PAIMON)) <= {case.id for case in golden_paimon_cases()}
