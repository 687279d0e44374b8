"""Tests of format tables and object tables in Paimon catalogs."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors
from frazil.paimon import FormatTable, ObjectTable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COLUMNS = [("a", "INT"), ("b", "STRING")]


def lake(root: Path, kind: str = "filesystem") -> Any:
    database = {"metastore": "jdbc", "uri": f"sqlite:///{root}/catalog.db"} if kind == "jdbc" else {}
    catalog = frazil.load_catalog("lake", type="paimon", warehouse=str(root / "lake"), **database)
    catalog.create_namespace_if_not_exists("db")
    return catalog


@pytest.mark.parametrize("kind", ["filesystem", "jdbc"])
def test_a_format_table_is_created_and_loaded(tmp_path: Path, kind: str) -> None:
    options = {"type": "format-table", "file.format": "csv", "field-delimiter": ";"}
    table = lake(tmp_path, kind).create_table("db.t", COLUMNS, partition_keys=["b"], options=options, comment="logs")
    assert isinstance(table, FormatTable)
    folder = tmp_path / "lake" / "db.db" / "t"
    stored = json.loads((folder / "schema" / "schema-0").read_text())
    assert stored.pop("timeMillis") > 0
    assert stored == {
        "version": 3,
        "id": 0,
        "fields": [{"id": 0, "name": "a", "type": "INT"}, {"id": 1, "name": "b", "type": "STRING"}],
        "highestFieldId": 1,
        "partitionKeys": ["b"],
        "primaryKeys": [],
        "options": options,
        "comment": "logs",
    }
    catalog = lake(tmp_path, kind)
    assert catalog.list_tables("db") == [("db", "t")]
    assert catalog.table_exists("db.t")
    (folder / "b=x").mkdir()
    (folder / "b=x" / "f.csv").write_text("1;\n")
    loaded = catalog.load_table("db.t")
    assert (loaded.comment, loaded.partition_keys, loaded.options) == ("logs", ["b"], options)
    for found in (table, loaded, pickle.loads(pickle.dumps(loaded))):  # noqa: S301
        assert found.scan().to_arrow().to_pylist() == [{"a": 1, "b": "x"}]
    with pytest.raises(errors.AlreadyExistsError):
        catalog.create_table("db.t", COLUMNS, options=options)
    with pytest.raises(errors.UnsupportedError, match="has no system tables"):
        catalog.load_table("db.t$files")
    assert catalog.inspect.all_tables(selected_fields=["table_name"]).to_pylist() == [{"table_name": "t"}]
    assert catalog.inspect.all_partitions().num_rows == 0
    catalog.purge_table("db.t")
    assert not catalog.table_exists("db.t")
    assert not folder.exists()


@pytest.mark.parametrize("partition_keys", [[], ["b"]])
def test_a_new_format_table_is_empty(tmp_path: Path, partition_keys: Sequence[str]) -> None:
    catalog = lake(tmp_path)
    elsewhere = str(tmp_path / "elsewhere")
    options = {"type": "format-table", "file.format": "csv"}
    for name, more in (("here", {}), ("there", {"path": elsewhere})):
        table = catalog.create_table(f"db.{name}", COLUMNS, partition_keys=partition_keys, options=options | more)
        assert table.scan().count() == 0
    assert table.location == elsewhere


def test_a_location_outside_the_warehouse_must_be_allowed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "f.csv").write_text("1,x\n")
    elsewhere = str(tmp_path / "elsewhere")
    created = [
        lake(tmp_path).create_table(
            "db.f", COLUMNS, options={"type": "format-table", "path": elsewhere, "file.format": "csv"}
        ),
        lake(tmp_path).create_table("db.o", [], options={"type": "object-table", "object-location": elsewhere}),
    ]
    for name, table in zip("fo", created, strict=True):
        assert table.scan().count() == 1
        assert pickle.loads(pickle.dumps(table)).scan().count() == 1  # noqa: S301
        with pytest.raises(errors.PathNotAllowedError):
            lake(tmp_path).load_table(f"db.{name}").scan().count()


@pytest.mark.parametrize("kind", ["filesystem", "jdbc"])
def test_an_object_table_is_created_and_loaded(tmp_path: Path, kind: str) -> None:
    (tmp_path / "files" / "sub").mkdir(parents=True)
    (tmp_path / "files" / "sub" / "a.txt").write_text("12345")
    options = {"type": "object-table", "object-location": str(tmp_path / "files")}
    catalog = lake(tmp_path, kind)
    table = catalog.create_table("db.o", [], options=options, comment="images")
    assert isinstance(table, ObjectTable)
    assert (table.location, table.comment, table.options) == (options["object-location"], "images", options)
    assert catalog.load_table("db.o").scan(selected_fields=["path", "length"]).to_arrow().to_pylist() == [
        {"path": "sub/a.txt", "length": 5}
    ]
    (tmp_path / "files" / "b.txt").write_text("1")
    assert table.refresh() == 2
    assert table.scan(options={"file-reader-async-threshold": "1 mb"}).count() == 2
    for chosen in ({"snapshot_id": 1}, {"options": {"scan.snapshot-id": "1"}}):
        with pytest.raises(errors.UnsupportedError, match="object tables have no snapshots"):
            table.scan(**chosen)
    catalog.purge_table("db.o")
    assert (tmp_path / "files" / "sub" / "a.txt").exists()


@pytest.mark.parametrize(
    ("columns", "options", "more", "message"),
    [
        (COLUMNS, {"file.format": "cvs"}, {}, "did you mean `csv`"),
        (COLUMNS, {"file.format": "lance"}, {}, "expected one of"),
        (COLUMNS, {"file.format": "text"}, {}, "exactly one STRING column"),
        ([("a", "INT")], {"file.format": "text"}, {}, "exactly one STRING column"),
        (COLUMNS, {}, {"primary_keys": ["a"]}, "do not support primary keys"),
        (COLUMNS, {"format-table.implementation": "spark"}, {}, "expected paimon or engine"),
        (COLUMNS, {}, {"partition_keys": ["a", "b"]}, "at least one column"),
        ([], {}, {}, "at least one column"),
        ([], {"type": "object-table"}, {}, "needs the option `object-location`"),
        (COLUMNS, {"type": "object-table", "object-location": "/x"}, {}, "always has the columns path, name"),
    ],
)
def test_invalid_definitions_are_rejected(
    tmp_path: Path, columns: Any, options: dict[str, str], more: dict[str, Any], message: str
) -> None:
    catalog = lake(tmp_path)
    with pytest.raises(errors.InvalidArgumentError) as caught:
        catalog.create_table("db.t", columns, options={"type": "format-table"} | options, **more)
    assert message in str(caught.value)
    assert catalog.list_tables("db") == []
    assert not (tmp_path / "lake" / "db.db" / "t").exists()


NESTED = [("a", "INT"), ("b", "ARRAY<INT>")]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (COLUMNS, {"file.format": "parquet", "file.compression": "foo"}, "the codec `foo` is not supported"),
        (COLUMNS, {"file.format": "orc", "compression": "gzip"}, "the codec `gzip` is not supported"),
        (COLUMNS, {"file.format": "csv", "file.compression": "lz4"}, "the compression 'lz4' of csv files"),
        (COLUMNS, {"file.format": "json", "target-file-size": "x"}, "expected a size such as 128 mb"),
        (COLUMNS, {"file.format": "csv", "csv.field-delimiter": "||"}, "must be a single character"),
        (COLUMNS, {"file.format": "csv", "field-delimiter": "||"}, "must be a single character"),
        (COLUMNS, {"file.format": "csv", "csv.field-delimiter": "\n"}, r"'\n' of CSV ends a line"),
        (COLUMNS, {"file.format": "csv", "csv.field-delimiter": "\r"}, r"'\r' of CSV ends a line"),
        (COLUMNS, {"file.format": "csv", "csv.line-delimiter": ",;"}, "occurs in the line delimiter ',;'"),
        (COLUMNS, {"file.format": "csv", "csv.line-delimiter": '"'}, "occurs in the line delimiter"),
        (COLUMNS, {"file.format": "csv", "csv.null-literal": "a,b"}, "the null literal 'a,b' of CSV contains"),
        (COLUMNS, {"file.format": "csv", "csv.mode": "x"}, "csv.mode is 'x'"),
        (COLUMNS, {"data-file.prefix": "_x"}, "`data-file.prefix` is '_x'"),
        (COLUMNS, {"data-file.prefix": ".x"}, "`data-file.prefix` is '.x'"),
        (COLUMNS, {"data-file.prefix": "a/b"}, "`data-file.prefix` is 'a/b'"),
        (COLUMNS, {"file.format": "avro"}, "Java cannot open them"),
        (NESTED, {"file.format": "csv"}, "cannot be written to CSV files"),
        ([("a", "INT"), ("b", "VARIANT")], {"file.format": "orc"}, "columns of type VARIANT to ORC files"),
        ([("a", "INT"), ("b", "MAP<BYTES, INT>")], {"file.format": "json"}, "cannot be written to JSON files"),
    ],
)
def test_definitions_with_which_no_row_could_be_written_are_rejected(
    tmp_path: Path, columns: Any, options: dict[str, str], message: str
) -> None:
    catalog = lake(tmp_path)
    with pytest.raises((errors.InvalidArgumentError, errors.UnsupportedError)) as caught:
        catalog.create_table("db.t", columns, options={"type": "format-table"} | options)
    assert message in str(caught.value)
    assert not (tmp_path / "lake" / "db.db" / "t").exists()


def test_options_of_other_formats_do_not_matter(tmp_path: Path) -> None:
    options = {"type": "format-table", "file.format": "csv", "parquet.compression": "foo"}
    table = lake(tmp_path).create_table("db.t", COLUMNS, options=options)
    assert table.append([{"a": 1, "b": "x"}]).added_files == 1


def test_the_folder_of_a_format_table_must_not_be_that_of_another_table(tmp_path: Path) -> None:
    catalog = lake(tmp_path)
    catalog.create_table("db.other", COLUMNS).append([{"a": 1, "b": "x"}])
    frazil.create_table(tmp_path / "iceberg", {"a": "int"})
    for folder in (tmp_path / "lake" / "db.db" / "other", tmp_path / "iceberg"):
        for place in (str(folder), f"{folder}/"):
            options = {"type": "format-table", "file.format": "parquet", "path": place}
            with pytest.raises(errors.InvalidArgumentError, match="is the folder of another table"):
                catalog.create_table("db.t", COLUMNS, options=options)
    assert catalog.list_tables("db") == [("db", "other")]
