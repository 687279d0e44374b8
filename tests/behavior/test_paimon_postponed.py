"""Tests of tables with postponed buckets: partitions with numbers of buckets of their own, and rows that wait."""

from __future__ import annotations

import json
import logging
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors
from frazil.paimon import _compacting
from support.paimon_files import HINTS, files_in, files_known

if TYPE_CHECKING:
    from frazil.paimon import Table

SCHEMA = {"id": "BIGINT NOT NULL", "part": "STRING NOT NULL", "n": "INT", "s": "STRING"}
WAITS = {"postpone.batch-write-fixed-bucket": "false"}
COUNT = "postpone.default-bucket-num"


def create(folder: Path, *, partitioned: bool = True, **options: Any) -> Table:
    table: Any = frazil.create_table(
        folder / "t",
        SCHEMA,
        format="paimon",
        primary_keys=["part", "id"] if partitioned else ["id"],
        partition_keys=["part"] if partitioned else [],
        options={
            "bucket": "-2",
            **{
                name.replace("num_sorted_run_compaction_trigger", "num-sorted-run.compaction-trigger"): str(value)
                for name, value in options.items()
            },
        },
    )
    return table


def row(id: int, part: str = "x", n: int | None = None, s: str | None = None, **more: Any) -> dict[str, Any]:  # noqa: A002 - a column
    return {"id": id, "part": part, "n": n, "s": s, **more}


def rows(table: Any) -> list[tuple[Any, ...]]:
    found = table.scan().to_arrow().to_pylist()
    return sorted((one["part"], one["id"], one["n"], one["s"]) for one in found)


def buckets(table: Table) -> dict[str, set[int]]:
    """Return the buckets of each partition that have files."""
    found: dict[str, set[int]] = {}
    for file in table.inspect.files().to_pylist():
        found.setdefault(file["partition"], set()).add(file["bucket"])
    return found


def alter(table: Table, **options: Any) -> Table:
    """Return the table with changed options, in a new schema as Java would write it."""
    newest = max((table_folder(table) / "schema").iterdir(), key=lambda path: int(path.name.removeprefix("schema-")))
    schema = json.loads(newest.read_text())
    schema["id"] += 1
    schema["options"].update(options)
    newest.with_name(f"schema-{schema['id']}").write_text(json.dumps(schema))
    return opened(table)


def opened(table: Table) -> Any:
    return frazil.load_table(table.location)


def table_folder(table: Table) -> Path:
    return Path(table.location)


def test_each_partition_keeps_its_number_of_buckets(tmp_path: Path) -> None:
    table = create(tmp_path, **{COUNT: 3})
    table.append([row(key, n=1) for key in range(100)])
    assert buckets(table) == {"{x}": {0, 1, 2}}
    table = alter(table, **{COUNT: "2"})
    table.append([row(key, part, 2) for key in range(50, 150) for part in ("x", "y")])
    found = [("x", key, 1 + (key >= 50), None) for key in range(150)] + [("y", key, 2, None) for key in range(50, 150)]
    assert rows(table) == found
    assert buckets(table) == {"{x}": {0, 1, 2}, "{y}": {0, 1}}
    # An overwrite begins again.
    table.overwrite([row(key) for key in range(100)], partitions=[{"part": "x"}])
    assert buckets(table) == {"{x}": {0, 1}, "{y}": {0, 1}}
    table.append([row(key, n=3) for key in range(100)])
    table.compact()
    assert rows(table)[:100] == [("x", key, 3, None) for key in range(100)]


def test_writers_do_not_compact(tmp_path: Path) -> None:
    table = create(tmp_path, num_sorted_run_compaction_trigger=2)
    for n in range(5):
        table.append([row(1, n=n)])
    assert set(table.inspect.files()["level"].to_pylist()) == {0}
    assert table.compact().removed_files == 5
    assert rows(table) == [("x", 1, 4, None)]


@pytest.mark.parametrize(
    "options",
    [
        {"merge-engine": "first-row"},
        {"deletion-vectors.enabled": "true"},
        {"changelog-producer": "lookup"},
        {"changelog-producer": "input"},
        {"merge-engine": "partial-update", "changelog-producer": "lookup"},
        {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"},
    ],
    ids=lambda options: "-".join(options.values()),
)
@pytest.mark.parametrize("waits", [False, True], ids=["fixed", "waiting"])
def test_rows_and_changes(tmp_path: Path, options: dict[str, str], waits: bool) -> None:  # noqa: FBT001 - a parameter
    table = create(tmp_path, **{COUNT: 2}, **options, **(WAITS if waits else {}))
    plain: Any = frazil.create_table(
        tmp_path / "plain",
        SCHEMA,
        format="paimon",
        primary_keys=["part", "id"],
        partition_keys=["part"],
        options={"bucket": "1", **{name: value for name, value in options.items() if name != "changelog-producer"}},
    )
    chooser = random.Random(7)  # noqa: S311 - of a test
    for _ in range(6):
        news = [row(chooser.randrange(40), chooser.choice("xy"), chooser.randrange(9)) for _ in range(30)]
        table.append(news)
        plain.append(news)
        if waits:
            table.compact()
        assert rows(table) == rows(plain)
    if "changelog-producer" in options:
        state: dict[Any, Any] = {}
        for change in table.changes().to_arrow().to_pylist():
            key = (change["part"], change["id"])
            if change["_change_type"] in {"DELETE", "UPDATE_BEFORE"}:
                state.pop(key)
            else:
                state[key] = (*key, change["n"], change["s"])
        assert sorted(state.values()) == rows(plain)


def test_rows_wait_until_they_are_compacted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = create(tmp_path, **{COUNT: 2}, **WAITS)
    with caplog.at_level(logging.WARNING, logger="frazil"):
        assert table.append([row(key, part, 1) for key in range(10) for part in ("x", "y")]).inserted_rows == 20
    assert "are not visible until compact() is called" in caplog.text
    table.append([row(3, n=5), row(4, _ROW_KIND="-D")])
    table.append([row(3, n=6)])
    assert rows(table) == []
    assert all("/bucket-postpone/data-" in name and "-w-" in name for name in files_in(table) if name.endswith(".avro"))
    assert {path.suffix for path in table_folder(table).rglob("data-*")} == {".avro"}

    assert table.compact(where="part = 'y'").snapshot_id is not None
    assert rows(table) == [("y", key, 1, None) for key in range(10)]
    result = table.compact()
    assert (result.removed_records, result.inserted_rows, result.deleted_rows) == (13 + 10, 0, 0)
    kept = [("x", key, 6 if key == 3 else 1, None) for key in range(10) if key != 4]
    assert rows(table) == kept + [("y", key, 1, None) for key in range(10)]
    assert table.compact().snapshot_id is None
    assert buckets(table) == {"{x}": {0, 1}, "{y}": {0, 1}}
    assert [kind for kind in table.inspect.snapshots()["commit_kind"].to_pylist() if kind != "APPEND"] == [
        "COMPACT"
    ] * 4


def test_the_order_of_writes_is_kept(tmp_path: Path) -> None:
    table = create(tmp_path, partitioned=False, **WAITS)
    for n in range(20):
        table.append([row(n % 3, n=n)])
    table.compact()
    assert rows(table) == [("x", 0, 18, None), ("x", 1, 19, None), ("x", 2, 17, None)]
    table.append([row(0, n=20)])
    table.append([row(0, n=1, _ROW_KIND="-D"), row(1, n=5)])
    table.compact()
    assert rows(table) == [("x", 1, 5, None), ("x", 2, 17, None)]


def test_an_overwrite_removes_rows_that_wait(tmp_path: Path) -> None:
    table = create(tmp_path, **WAITS)
    table.append([row(1), row(1, "y")])
    table.overwrite([row(2)], partitions=[{"part": "x"}])
    table.compact()
    assert rows(table) == [("x", 2, None, None), ("y", 1, None, None)]
    table.append([row(3)])
    table.truncate()
    assert table.compact().snapshot_id is None
    assert rows(table) == []


def test_two_compactions_count_every_row_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(tmp_path, **{COUNT: 2, "merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}, **WAITS)
    table.append([row(key, part, 1) for key in range(20) for part in ("x", "y")])
    table.append([row(key, "x", 1) for key in range(20)])
    other = opened(table)
    begin, others = _compacting.write_rows, []

    def slow(*arguments: Any, **options: Any) -> list[bytes]:
        written = begin(*arguments, **options)
        if not others:
            others.append(other)
            # The other one has only one of the two partitions.
            other.compact(where="part = 'x'")
            other.append([row(0, "x", 1)])
        return written

    monkeypatch.setattr(_compacting, "write_rows", slow)
    table.compact()
    expected = [("x", key, 2 + (key == 0), None) for key in range(20)] + [("y", key, 1, None) for key in range(20)]
    assert rows(table) == expected
    assert files_in(table) - HINTS == files_known(table), "files of the lost compaction are deleted"


def test_many_writers_and_compactions(tmp_path: Path) -> None:
    options = {COUNT: 2, "merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "commit.max-retries": 100}
    table = create(tmp_path, **options, **WAITS)

    def work(worker: int) -> None:
        own = opened(table)
        for _ in range(6):
            own.append([row(key, part, 1) for key in range(10) for part in ("x", "y")])
            if worker % 2:
                own.compact()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    table.compact()
    assert rows(table) == [(part, key, 24, None) for part in ("x", "y") for key in range(10)]


def test_two_writers_of_a_new_partition_agree_on_its_buckets(tmp_path: Path) -> None:
    from frazil.paimon import _input_rows

    table = create(tmp_path, **{COUNT: 1})
    with pytest.MonkeyPatch.context() as patch:
        write = _input_rows.write_rows

        def later(*arguments: Any, **options: Any) -> list[bytes]:
            written = write(*arguments, **options)
            patch.setattr(_input_rows, "write_rows", write)
            alter(table, **{COUNT: "4"}).append([row(key, n=1) for key in range(20)])
            return written

        patch.setattr(_input_rows, "write_rows", later)
        with pytest.raises(
            errors.CommitConflictError, match="a partition has 4 buckets, but the commit adds files for"
        ):
            table.append([row(key, n=2) for key in range(20)])
    assert rows(table) == [("x", key, 1, None) for key in range(20)]
    table = opened(table)
    table.append([row(key, n=2) for key in range(20)])
    assert rows(table) == [("x", key, 2, None) for key in range(20)]
    assert files_in(table) - HINTS == files_known(table)


@pytest.mark.parametrize(
    ("keys", "options", "named"),
    [
        ([], {}, "`bucket` is `-2` on a table without a primary key"),
        (["part", "id"], {COUNT: "0"}, f"`{COUNT}` is 0, but must be at least 1"),
        (["part", "id"], {COUNT: "many"}, COUNT),
        (["part", "id"], {"bucket": "-3"}, "bucket"),
    ],
)
def test_bad_options_are_refused(tmp_path: Path, keys: list[str], options: dict[str, str], named: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=named):
        frazil.create_table(
            tmp_path / "t",
            SCHEMA,
            format="paimon",
            primary_keys=keys,
            partition_keys=["part"],
            options={"bucket": "-2", **options},
        )
    assert not list(tmp_path.iterdir())
