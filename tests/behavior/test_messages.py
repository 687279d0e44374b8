"""Tests of error messages that name the argument, the endpoint, the types and the fix."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


@pytest.fixture
def table(tmp_path: Path) -> Any:
    return frazil.create_table(tmp_path / "t", SCHEMA)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"snapshot_id": 1, "ref": "main"}, "snapshot_id and ref are mutually exclusive"),
        ({"snapshot_id": 1, "ref": "main", "as_of": 5}, "snapshot_id, ref and as_of are mutually exclusive"),
    ],
)
def test_arguments_that_choose_a_snapshot_are_named(table: Any, arguments: dict[str, Any], expected: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=expected):
        table.scan(**arguments)


@pytest.mark.parametrize("version", [0, 4, 300])
def test_a_format_version_names_the_allowed_ones(tmp_path: Path, version: int) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=f"format_version is {version}, expected 1, 2 or 3"):
        frazil.create_table(tmp_path / "v", SCHEMA, format_version=version)


def test_an_upgrade_names_the_allowed_versions(table: Any) -> None:
    with pytest.raises(errors.FrazilError, match="1, 2 or 3"):
        table.upgrade(4)


@pytest.mark.slow
def test_an_unreachable_store_is_named_without_credentials() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    storage = {
        "s3.endpoint": f"http://CANARYUSER:CANARYPASS@127.0.0.1:{port}",
        "s3.access-key-id": "CANARYKEY",
        "s3.secret-access-key": "CANARYSECRET",
        "aws_allow_http": "true",
    }
    with pytest.raises(errors.FrazilError, match=f"cannot connect to http://127.0.0.1:{port}") as caught:
        frazil.load_table("s3://bucket/t", format="iceberg", storage=storage)
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bigint", "long"),
        ("INTEGER", "int"),
        ("smallint", "int"),
        ("tinyint", "int"),
        ("bool", "boolean"),
        ("real", "float"),
        ("varchar", "string"),
        ("varchar(20)", "string"),
        ("char(3)", "string"),
        ("str", "string"),
        ("bytes", "binary"),
        ("varbinary", "binary"),
        ("numeric(9, 2)", "decimal(9, 2)"),
        ("timestamp_ntz", "timestamp"),
        ("timestamp_ltz", "timestamptz"),
        ("timestamp", "timestamp"),
        ("int64", "long"),
        ("array<bigint>", "list<long>"),
        ("map<varchar, array<smallint>>", "map<string, list<int>>"),
    ],
)
def test_names_of_types_of_other_engines(table: Any, text: str, expected: str) -> None:
    table.update_schema().add_column("added", text).commit()
    assert table.schema().find_field("added").type == expected


@pytest.mark.parametrize("text", ["bigint(5)", "varchar(x)", "varchar()", "interval"])
def test_an_unknown_type_lists_the_known_ones(table: Any, text: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="decimal"):
        table.update_schema().add_column("added", text).commit()


def test_aliases_are_not_read_from_metadata(table: Any, tmp_path: Path) -> None:
    place = next((tmp_path / "t/metadata").glob("*.metadata.json"))
    place.write_text(place.read_text().replace('"long"', '"bigint"'))
    with pytest.raises(errors.CorruptMetadataError, match="unknown type `bigint`"):
        frazil.load_table(tmp_path / "t")
    assert table.format_version == 2


def lazy_frame() -> Any:
    return pytest.importorskip("polars").DataFrame({"id": [1]}).lazy()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (lambda: [(1, "a")], r"row 0 is a tuple, expected a dictionary.*dict\(zip\(names, row\)\)"),
        (lambda: [{"id": 1}, [2, "b"]], "row 1 is a list, expected a dictionary"),
        (lazy_frame, r"LazyFrame.*\.collect\(\)"),
    ],
)
def test_unsupported_row_types_suggest_a_conversion(table: Any, rows: Callable[[], Any], expected: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=expected):
        table.append(rows())


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (pa.table({"id": ["a"]}), "the column `id` has the type string, which cannot be converted to long"),
        (pa.table({"name": [[1]]}), "the column `name` has the type list<long>, which cannot be converted to string"),
        (pa.table({"name": pa.array([1], pa.uint64())}), "the column `name` has the type uint64"),
        ([{"id": "a"}], "the value of `id` in row 0 does not fit long: 'a'"),
    ],
)
def test_types_have_the_names_of_iceberg(table: Any, data: Any, expected: str) -> None:
    with pytest.raises(errors.InvalidArgumentError) as caught:
        table.append(data)
    assert expected in str(caught.value)
    assert "Utf8" not in str(caught.value)
    assert "Int64" not in str(caught.value)


def test_quotes_tell_a_dotted_name_from_a_path(tmp_path: Path) -> None:
    inner = pa.struct([("b.c", pa.int64()), ("b", pa.struct([("c", pa.int64())]))])
    table = frazil.create_table(tmp_path / "q", pa.schema([("a", inner)]))
    table.append([{"a": {"b.c": 1, "b": {"c": 2}}}])
    with pytest.raises(errors.InvalidArgumentError, match=r"`a\.b\.c` is ambiguous.*quote"):
        table.scan(selected_fields=("a.b.c",))
    for name, expected in [('a."b.c"', {"b.c": 1}), ('a."b"."c"', {"b": {"c": 2}}), ("`a`.`b.c`", {"b.c": 1})]:
        assert table.scan(selected_fields=(name,)).to_arrow().to_pylist() == [{"a": expected}]
    for row_filter, rows in [('a."b.c" = 1', 1), ('a."b.c" = 2', 0), ('a."b"."c" = 2', 1), ('a."b"."c" = 1', 0)]:
        assert table.scan(row_filter).count() == rows
    table.update_schema().rename_column('a."b.c"', "d").commit()
    assert table.scan(selected_fields=("a.d",)).to_arrow().to_pylist() == [{"a": {"d": 1}}]
