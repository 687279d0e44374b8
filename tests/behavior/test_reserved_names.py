"""Tests of columns that have the names of metadata columns: the table column wins in every change and scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.iceberg import Table

STATES = [(1, "copy-on-write"), (2, "copy-on-write"), (2, "merge-on-read"), (3, "copy-on-write"), (3, "merge-on-read")]

NAMES = [
    # The metadata columns of Iceberg, of its position deletes and of its changelogs.
    "_file",
    "_pos",
    "_deleted",
    "_spec_id",
    "_partition",
    "_row_id",
    "_last_updated_sequence_number",
    "_change_type",
    "_change_ordinal",
    "_commit_snapshot_id",
    "file_path",
    "pos",
    "row",
    # Names that Paimon, Spark or frazil use elsewhere.
    "_ROW_ID",
    "_POS",
    "rowkind",
    "_KEY_id",
    "_SEQUENCE_NUMBER",
    "_VALUE_KIND",
    "_ROW_KIND",
    "_metadata",
    "__frazil_key_0",
    "matched",
    "message",
    # Names that require quotes, and one that is not reserved.
    "q?",
    "a.b",
    'say "x"',
    "plain",
]

METADATA = 7
"""The number of names at the start that are metadata columns of scans."""

CHANGES: dict[str, tuple[Any, list[tuple[int, int | None]]]] = {
    "update": (lambda t, n, q: t.update({n: f"{q} + 1"}, f"{q} is not null"), [(1, 11), (2, 21), (3, None)]),
    "update another": (lambda t, _, q: t.update({"id": "id + 10"}, f"{q} = 20"), [(1, 10), (3, None), (12, 20)]),
    "delete": (lambda t, _, _q: t.delete("id = 2"), [(1, 10), (3, None)]),
    "delete by it": (lambda t, _, q: t.delete(f"{q} >= 20"), [(1, 10), (3, None)]),
    "overwrite": (lambda t, n, q: t.overwrite(rows(n, (4, 40)), f"{q} = 10"), [(2, 20), (3, None), (4, 40)]),
    "upsert": (
        lambda t, n, _q: t.upsert(rows(n, (3, 30), (4, 40)), ["id"]),
        [(1, 10), (2, 20), (3, 30), (4, 40)],
    ),
    "upsert by it": (
        lambda t, n, _q: t.upsert(rows(n, (9, 20), (4, 40)), [n]),
        [(1, 10), (3, None), (4, 40), (9, 20)],
    ),
    "merge": (
        lambda t, n, q: (
            t.merge(rows(n, (1, 0), (2, 5), (5, 50)), ["id"])
            .when_matched_delete(f"source.{q} = 0")
            .when_matched_update({n: f"target.{q} + source.{q}"})
            .when_not_matched_insert_all()
            .when_not_matched_by_source_update({n: "7"})
            .execute()
        ),
        [(2, 25), (3, 7), (5, 50)],
    ),
    "merge that deletes": (
        lambda t, n, _q: t.merge(rows(n, (1, 0), (2, 5)), ["id"]).when_matched_delete().execute(),
        [(3, None)],
    ),
}


def rows(name: str, *pairs: tuple[int, int | None]) -> pa.Table:
    schema = pa.schema([("id", pa.int64()), (name, pa.int64())])
    return pa.Table.from_pylist([{"id": key, name: value} for key, value in pairs], schema)


def made(folder: Path, name: str, version: int, mode: str, **properties: str) -> Table:
    modes = {f"write.{operation}.mode": mode for operation in ("delete", "update", "merge")}
    table = frazil.create_table(folder / "t", rows(name).schema, format_version=version, properties=modes | properties)
    table.append(rows(name, (1, 10), (2, 20), (3, None)))
    return table


def found(table: Table, name: str) -> list[tuple[int, int | None]]:
    read = frazil.load_table(table.location).scan().to_arrow()
    assert read.column_names == ["id", name]
    return sorted((row["id"], row[name]) for row in read.to_pylist())


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.sampled(24)
@pytest.mark.parametrize(
    ("name", "version", "mode"),
    [(name, *state) for name in NAMES[:METADATA] for state in STATES]
    + [(name, *STATES[number % len(STATES)]) for number, name in enumerate(NAMES[METADATA:])],
)
def test_changes_take_a_column_for_itself(tmp_path: Path, name: str, version: int, mode: str) -> None:
    for number, (what, (change, left)) in enumerate(CHANGES.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        table = made(folder, name, version, mode)
        change(table, name, quoted(name))
        assert found(table, name) == left, what


@pytest.mark.parametrize("data_format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("name", ["_row_id", "_last_updated_sequence_number", "_ROW_ID", "_pos"])
def test_rows_keep_their_ids_next_to_a_column_of_that_name(
    tmp_path: Path, name: str, mode: str, data_format: str
) -> None:
    """The ids are visible after the column of the table is renamed."""
    table = made(tmp_path, name, 3, mode, **{"write.format.default": data_format})
    table.update({"id": "id + 10"}, "id = 2")
    table.upsert(rows(name, (3, 30)), ["id"])
    assert found(table, name) == [(1, 10), (3, 30), (12, 20)]
    table.update_schema().rename_column(name, "renamed").commit()
    read = table.scan(selected_fields=["id", "renamed", "_row_id", "_last_updated_sequence_number"]).to_arrow()
    by_id = {row["id"]: tuple(row.values())[1:] for row in read.to_pylist()}
    assert by_id == {1: (10, 0, 1), 12: (20, 1, 2), 3: (30, 2, 3)}


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("_")])
def test_a_scan_gives_the_column_of_the_table(tmp_path: Path, name: str) -> None:
    table = made(tmp_path, name, 3, "copy-on-write")
    table.delete("id = 1")
    for fields in (("id", name), ("*",), ("*", name)):
        read = table.scan(selected_fields=fields).to_arrow()
        assert read.column_names == ["id", name]
        assert read[name].to_pylist() == [20, None]
    assert table.scan(f"{quoted(name)} = 20").to_arrow()["id"].to_pylist() == [2]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_expressions_do_not_see_metadata_columns(tmp_path: Path, version: int) -> None:
    table = made(tmp_path, "v", version, "copy-on-write")
    for name in ("_pos", "_row_id", "_file"):
        with pytest.raises(frazil.errors.InvalidArgumentError, match=name):
            table.update({"v": name})
        with pytest.raises(frazil.errors.InvalidArgumentError, match=name):
            table.update({name: "5"})
    assert found(table, "v") == [(1, 10), (2, 20), (3, None)]
