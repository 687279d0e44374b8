"""Tests that column arguments accept both the plain name and its quoted SQL form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["q?", '"q?"', "`q?`"]
ROWS = [{"q?": 1, "v": "a"}, {"q?": 2, "v": "b"}]


def lake(tmp_path: Path, *columns: tuple[str, pa.DataType], **options: Any) -> Any:
    catalog = frazil.load_catalog("h", type="hadoop", warehouse=str(tmp_path))
    catalog.create_namespace("n")
    return catalog.create_table("n.t", pa.schema(columns), **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("transform", ["{}", "bucket(4, {})", "truncate(2, {})"])
def test_partitions_and_sort_orders(tmp_path: Path, name: str, transform: str) -> None:
    table = lake(tmp_path, ("q?", pa.int64()), ("v", pa.string()), partition_by=[transform.format(name)])
    table.append(ROWS)
    assert table.scan(selected_fields=(name,)).to_arrow().column_names == ["q?"]
    assert not any('"' in field.name for field in table.spec().fields)
    table.update_spec().remove_field(table.spec().fields[0].name).add_field(transform.format(name)).commit()
    table.update_sort_order().asc(name).commit()
    table.append(ROWS)
    assert table.scan('"q?" = 2').count() == 2


@pytest.mark.parametrize("name", NAMES)
def test_row_level_operations(tmp_path: Path, name: str) -> None:
    table = lake(tmp_path, ("q?", pa.int64()), ("v", pa.string()))
    table.append(ROWS)
    table.update({name: '"q?" + 10'}, '"q?" = 2')
    table.upsert([{"q?": 12, "v": "c"}], [name])
    source = [{"q?": 12, "v": "d"}, {"q?": 13, "v": "e"}]
    table.merge(source, [name]).when_matched_update_all(except_columns=[name]).when_not_matched_insert_all().execute()
    found = table.scan().to_arrow().sort_by("q?").to_pylist()
    assert found == [{"q?": 1, "v": "a"}, {"q?": 12, "v": "d"}, {"q?": 13, "v": "e"}]


@pytest.mark.parametrize("name", NAMES)
def test_schemas(tmp_path: Path, name: str) -> None:
    table = lake(tmp_path, ("q?", pa.int64()), ("v", pa.string()))
    table.update_schema().rename_column(name, "r").commit()
    assert [field.name for field in table.schema().fields] == ["r", "v"]


def test_quoted_column_name_takes_precedence(tmp_path: Path) -> None:
    table = lake(tmp_path, ("q", pa.int64()), ('"q"', pa.string()))
    table.append([{"q": 1, '"q"': "x"}])
    assert table.scan(selected_fields=('"q"',)).to_arrow().to_pylist() == [{'"q"': "x"}]
    assert table.scan(selected_fields=("`q`",)).to_arrow().to_pylist() == [{"q": 1}]
    table.update_spec().add_field('"q"').commit()
    assert [field.name for field in table.spec().fields] == ['"q"']
