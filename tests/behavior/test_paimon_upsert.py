"""Tests of writing to Paimon tables with a primary key: the latest row of each key is merged by every engine."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors
from support.paimon_values import NESTED, TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from frazil.paimon import Table

SCHEMA = [("id", "BIGINT"), ("part", "STRING"), ("at", "INT"), ("name", "STRING")]


def create(folder: Path, schema: Any = SCHEMA, *, keys: tuple[str, ...] = ("id",), **arguments: Any) -> Table:
    options = {"bucket": 2} | arguments.pop("options", {})
    return frazil.create_table(folder / "t", schema, format="paimon", primary_keys=keys, options=options, **arguments)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def rows(table: Table) -> list[dict[str, Any]]:
    return sorted(table.scan().to_arrow().to_pylist(), key=lambda row: str(row["id"]))


def test_the_newest_row_of_a_key_counts(tmp_path: Path) -> None:
    table = create(tmp_path)
    first = table.append([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 1, "name": "c"}])
    assert (first.added_records, first.snapshot_id) == (2, 1)
    table.append(pa.table({"id": [2, 3], "name": ["d", "e"]}))
    table.append(
        [{"id": 3, "_ROW_KIND": "-D"}, {"id": 4, "name": "f", "_ROW_KIND": "+U"}, {"id": 9, "_ROW_KIND": "-D"}]
    )
    assert [(row["id"], row["name"]) for row in rows(table)] == [(1, "c"), (2, "d"), (4, "f")]
    found = table.inspect.files()
    assert found.column("level").to_pylist() == [0] * found.num_rows
    assert sum(found.column("deleteRowCount").to_pylist()) == 2
    assert table.scan(snapshot_id=1).count() == 2
    log = table.audit_log().scan(options={"incremental-between": "2,3"}).to_arrow()
    assert sorted(zip(log["rowkind"].to_pylist(), log["id"].to_pylist(), strict=True)) == [
        ("+U", 4),
        ("-D", 3),
        ("-D", 9),
    ]


@pytest.mark.parametrize("seed", range(12))
def test_random_changes_give_the_rows_of_a_dictionary(tmp_path: Path, seed: int) -> None:
    seeded = random.Random(seed)  # noqa: S311 - not a secret
    by_time = seeded.random() < 0.5
    options: dict[str, Any] = {"bucket": seeded.choice([1, 3]), "target-file-size": seeded.choice(["1 kb", "1 mb"])}
    if by_time:
        options["sequence.field"] = "at"
    if seeded.random() < 0.3:
        options["data-file.thin-mode"] = "true"
    table = create(tmp_path, keys=("part", "id"), partition_keys=["part"], options=options)
    model: dict[tuple[str, int], dict[str, Any]] = {}
    for _ in range(seeded.randint(1, 6)):
        batch = []
        for _ in range(seeded.choice([1, 10, 300])):
            row = {
                "id": seeded.randint(0, 40),
                "part": seeded.choice(["x", "y", ""]),
                "at": seeded.choice([None, *range(5)]) if by_time else None,
                "name": seeded.choice([None, "a", "b" * 50]),
                "_ROW_KIND": seeded.choice(["+I", "+U", "-D", None]),
            }
            batch.append(row)
            key = (row["part"], row["id"])
            known = model.get(key)
            if known is None or not by_time or order(row) >= order(known):
                model[key] = row
        data = pa.Table.from_pylist(batch, schema=INPUT)
        chunks = data.to_batches(max_chunksize=seeded.choice([3, 1000]))
        table.append(iter(chunks))
        expected = [row for row in model.values() if row["_ROW_KIND"] != "-D"]
        found = table.scan().to_arrow().to_pylist()
        assert sorted(map(str, found)) == sorted(
            str({k: v for k, v in row.items() if k != "_ROW_KIND"}) for row in expected
        )
    buckets = {(str(split.partition), split.bucket) for split in table.scan().plan_files()}
    assert len(buckets) <= 3 * options["bucket"]


INPUT = pa.schema(
    [("id", pa.int64()), ("part", pa.string()), ("at", pa.int32()), ("name", pa.string()), ("_ROW_KIND", pa.string())]
)


def order(row: dict[str, Any]) -> int:
    return -1 if row["at"] is None else row["at"]


def test_each_engine_merges_within_a_write_and_between_writes(tmp_path: Path) -> None:
    partial = create(tmp_path / "partial", options={"merge-engine": "partial-update"})
    partial.append([{"id": 1, "name": "a"}, {"id": 1, "at": 5}])
    partial.append([{"id": 1, "part": "p"}])
    assert rows(partial) == [{"id": 1, "part": "p", "at": 5, "name": "a"}]
    summed = create(tmp_path / "summed", options={"merge-engine": "aggregation", "fields.at.aggregate-function": "sum"})
    summed.append([{"id": 1, "at": 5}, {"id": 1, "at": 6}, {"id": 2, "at": 1}])
    summed.append([{"id": 1, "at": 7}, {"id": 2, "at": 1, "_ROW_KIND": "-D"}])
    assert [(row["id"], row["at"]) for row in rows(summed)] == [(1, 18), (2, 0)]


def test_a_column_may_say_the_kinds(tmp_path: Path) -> None:
    table = create(tmp_path, options={"rowkind.field": "part"})
    table.append([{"id": 1, "part": "+I", "name": "a"}, {"id": 2, "part": "+I"}, {"id": 1, "part": "-D"}])
    assert [row["id"] for row in rows(table)] == [2]
    with pytest.raises(errors.InvalidArgumentError, match="row kind of row 1 is `x`"):
        table.append([{"id": 1, "part": "+I"}, {"id": 1, "part": "x"}])
    for data in ([{"id": 3, "part": "+I"}, {"id": 1, "part": None}], [{"id": 3, "part": "+I"}, {"id": 1}]):
        with pytest.raises(errors.InvalidArgumentError, match="row kind of row 1 is NULL") as caught:
            table.append(data)
        assert caught.value.context["column"] == "part"
    assert [row["id"] for row in rows(table)] == [2]


def test_every_type_is_a_value_and_flat_ones_are_keys(tmp_path: Path) -> None:
    types = TYPES | NESTED
    table = create(tmp_path, [("id", "INT"), *((name, text) for name, (text, _) in types.items())])
    given = [{"id": i, **{name: values[i] for name, (_, values) in types.items()}} for i in range(2)]
    table.append(given)
    table.append(given)
    assert rows(table) == given
    for name, (text, values) in TYPES.items():
        present = [value for value in values if value is not None]
        keyed = create(tmp_path / name, [("id", "INT"), ("key", text)], keys=("key",))
        keyed.append([{"id": i, "key": value} for i, value in enumerate(present)])
        keyed.append([{"id": 7, "key": present[0]}])
        assert {row["key"]: row["id"] for row in rows(keyed)} == {value: i or 7 for i, value in enumerate(present)}


def test_much_data_in_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frazil.config, "memory_limit", 1 << 20)
    table = create(tmp_path, options={"bucket": 4, "target-file-size": "20 kb"})
    count = 50_000
    keys = [i * 7919 % 20_000 for i in range(count)]
    table.append(pa.table({"id": keys, "name": [f"{i * 2654435761:x}" * 4 for i in range(count)]}))
    newest = {key: f"{i * 2654435761:x}" * 4 for i, key in enumerate(keys)}
    assert {row["id"]: row["name"] for row in rows(table)} == newest
    assert table.inspect.files().num_rows > 8


@pytest.mark.parametrize(
    ("data", "options", "named"),
    [
        ([{"id": None}], {}, "`id` is NOT NULL, but NULL in row 0"),
        ([{"id": 1}, {"id": 2, "_ROW_KIND": "I"}], {}, "row kind of row 1 is `I`"),
        ([{"id": 1, "_ROW_KIND": "-D"}], {"merge-engine": "partial-update"}, "delete|retract"),
        ([{"id": 1, "kind": "-D"}], {}, "no column `kind`"),
    ],
)
def test_bad_input_is_named_and_leaves_nothing(tmp_path: Path, data: Any, options: Any, named: str) -> None:
    table = create(tmp_path, options=options)
    table.append([{"id": 0}])
    before = files(tmp_path)
    with pytest.raises(errors.FrazilError, match=named):
        table.append(data)
    assert files(tmp_path) == before
    assert rows(table)[0]["id"] == 0


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_the_input_is_the_changelog(tmp_path: Path, file_format: str) -> None:
    options = {"bucket": 2, "changelog-producer": "input", "changelog-file.format": file_format}
    schema = {"id": "BIGINT", "name": "STRING"}
    table = frazil.create_table(tmp_path / "t", schema, format="paimon", primary_keys=["id"], options=options)
    table.append([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 1, "name": "c", "_ROW_KIND": "+U"}])
    table.append([{"id": 1, "name": "c", "_ROW_KIND": "-D"}])
    changes = table.changes(0, 2).to_arrow().sort_by([("_change_ordinal", "ascending"), ("id", "ascending")])
    assert [tuple(row.values())[:4] for row in changes.to_pylist()] == [
        (1, "a", "INSERT", 0),
        (1, "c", "UPDATE_AFTER", 0),
        (2, "b", "INSERT", 0),
        (1, "c", "DELETE", 1),
    ]
    assert table.scan().to_arrow().to_pylist() == [{"id": 2, "name": "b"}]
    assert table.inspect.snapshots()["changelog_record_count"].to_pylist() == [3, 1]
    files = [path.name for path in (tmp_path / "t").rglob("changelog-*")]
    assert {name.rpartition(".")[2] for name in files} == {file_format}
    table.overwrite([{"id": 5}])
    assert table.inspect.snapshots()["changelog_record_count"].to_pylist()[2] is None
    assert [path.name for path in (tmp_path / "t").rglob("changelog-*")] == files, "an overwrite is no change"


def test_a_failed_write_leaves_no_changelog(tmp_path: Path) -> None:
    options = {"bucket": 1, "changelog-producer": "input"}
    table = frazil.create_table(
        tmp_path / "t", {"id": "BIGINT", "n": "INT"}, format="paimon", primary_keys=["id"], options=options
    )

    def rows() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pylist([{"id": 1, "n": 1}])
        yield pa.RecordBatch.from_pylist([{"id": None, "n": 1}])

    with pytest.raises(errors.InvalidArgumentError, match="id"):
        table.append(rows())
    assert [str(path.name) for path in (tmp_path / "t").rglob("*") if path.is_file()] == ["schema-0"]
