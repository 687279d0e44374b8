"""How deep types may be nested: what is written can be read, and what cannot be read cannot be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil.errors import FrazilError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

# The types from the column inwards: list, struct, map.
DEEPEST = {
    "parquet": ["l" * 49, "s" * 62, "m" * 31, "l" * 48 + "ss", "s" * 10 + "l" * 44],
    "orc": ["l" * 62, "s" * 62, "m" * 31, "l" * 60 + "ss", "m" * 30 + "ss"],
    "avro": ["l" * 30, "s" * 30, "m" * 20, "l" * 15 + "m" * 10, "s" * 10 + "l" * 11 + "m" * 6],
}
CASES = [(file_format, kinds) for file_format, deepest in DEEPEST.items() for kinds in deepest]


def nested(kinds: str) -> tuple[pa.DataType, Any]:
    """Return a type, and a value of it that is not NULL at any level."""
    data_type, value = pa.int64(), 7
    for kind in reversed(kinds):
        if kind == "l":
            data_type, value = pa.list_(data_type), [value]
        elif kind == "s":
            data_type, value = pa.struct([("x", data_type)]), {"x": value}
        else:
            data_type, value = pa.map_(pa.int32(), data_type), [(1, value)]
    return data_type, value


def created(tmp_path: Path, kinds: str, file_format: str) -> frazil.iceberg.Table:
    schema = pa.schema([("id", pa.int64()), ("a", nested(kinds)[0])])
    return frazil.create_table(tmp_path / "t", schema, properties={"write.format.default": file_format})


@pytest.mark.parametrize(("file_format", "kinds"), CASES)
def test_the_deepest_types_are_read_as_they_were_written(file_format: str, kinds: str, tmp_path: Path) -> None:
    data_type, value = nested(kinds)
    table = created(tmp_path, kinds, file_format)
    rows = pa.table({"id": pa.array([1, 2, 3]), "a": pa.array([None, value, value], data_type)})
    table.append(rows)
    table.delete("id = 3")
    assert table.scan().to_arrow().sort_by("id")["a"].to_pylist() == [None, value]


@pytest.mark.parametrize(("file_format", "kinds"), CASES)
def test_one_level_more_is_refused_when_a_table_is_created(file_format: str, kinds: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=f"nested too deeply to be read from {file_format} files") as caught:
        created(tmp_path, kinds + kinds[-1], file_format)
    assert caught.value.context["column"] == "a"
    with pytest.raises(FrazilError):
        frazil.load_table(tmp_path / "t")


@pytest.mark.parametrize(("file_format", "kinds"), CASES)
def test_one_level_more_is_refused_when_a_column_is_added(file_format: str, kinds: str, tmp_path: Path) -> None:
    table = created(tmp_path, "s", file_format)
    table.append([{"id": 1}])
    deeper = pa.schema([("b", nested(kinds + kinds[0])[0])])
    with pytest.raises(UnsupportedError, match="nested too deeply"), table.update_schema() as update:
        update.union_by_name(deeper)
    assert table.refresh().scan().to_arrow().column_names == ["id", "a"]


def test_rows_are_refused_before_a_file_is_written_of_a_format_that_cannot_hold_them(tmp_path: Path) -> None:
    table = created(tmp_path, "l" * 49, "parquet")
    table.append([{"id": 1, "a": nested("l" * 49)[1]}])
    files = sorted((tmp_path / "t" / "data").iterdir())
    table.set_properties({"write.format.default": "avro"})
    for write in (table.append, table.overwrite):
        with pytest.raises(UnsupportedError, match="read from avro files"):
            write([{"id": 2, "a": nested("l" * 49)[1]}])
    assert sorted((tmp_path / "t" / "data").iterdir()) == files
    assert table.scan().count() == 1
