"""Tests of changes of rows of Paimon tables by their addresses, which SQL makes, with concurrent writers."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors
from support.paimon_addresses import Selected, change
from support.paimon_files import HINTS, files_in, files_known

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KINDS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "unaware": ([], {}),
    "partitioned": (["part"], {"file.format": "orc"}),
    "bucketed": (["part"], {"bucket": 2, "bucket-key": "id"}),
    "vectors": ([], {"deletion-vectors.enabled": "true"}),
    "small files": ([], {"target-file-size": "1 kb", "file.format": "avro"}),
}
INSERTED = pa.table({"id": pa.array([100, 101], pa.int64()), "part": ["new", None]})


def create(folder: Path, kind: str) -> Any:
    parts, options = KINDS[kind]
    columns = {"id": "BIGINT NOT NULL", "part": "STRING", "n": "INT", "l": "ARRAY<INT>"}
    return frazil.create_table(folder / "t", columns, format="paimon", partition_keys=parts, options=options)


def rows(table: Any) -> list[str]:
    return sorted(map(str, table.scan().to_arrow().to_pylist()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_random_changes_give_the_rows_of_the_model(tmp_path: Path, kind: str, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - not a secret
    table = create(tmp_path, kind)
    model: list[dict[str, Any]] = []
    for step in range(5):
        new = [
            {
                "id": 20 * step + number,
                "part": chance.choice(["a", "é", None]),
                "n": chance.choice([None, 1, 2]),
                "l": [1],
            }
            for number in range(chance.choice([1, 15]))
        ]
        table.append(new)
        model += new
        low, value = chance.randrange(3), chance.choice([None, 7])
        inserts = chance.random() < 0.5
        selected = Selected(
            f"id % 5 = {low}",
            {
                f"id % 5 = {low + 1} and n > 1": {"n": value, "l": None},
                f"id % 5 = {low + 1} and n <= 1": {"part": "moved", "l": [2, step]},
            },
            [INSERTED] if inserts else [],
        )
        count = len(model)
        result = change(table, selected)
        model = [row for row in model if row["id"] % 5 != low]
        assert result.deleted_rows == count - len(model)
        changed = 0
        for row in model:
            if row["id"] % 5 == low + 1 and row["n"] is not None:
                changed += 1
                row.update({"n": value, "l": None} if row["n"] > 1 else {"part": "moved", "l": [2, step]})
        assert result.updated_rows == changed
        if inserts:
            model += [{"id": 100, "part": "new", "n": None, "l": None}, {"id": 101, "part": None, "n": None, "l": None}]
        assert rows(table) == sorted(map(str, model))
        assert files_known(table) == files_in(table) - HINTS


def compacted(other: Any) -> None:
    other.compact()


def overwritten(other: Any) -> None:
    other.delete("id = 3")


def appended(other: Any) -> None:
    other.append([{"id": 51}])


def evolved(other: Any) -> None:
    other.update_schema().add_column("more", "INT").commit()
    other.append([{"id": 51, "more": 5}])


@pytest.mark.parametrize("kind", ["unaware", "vectors"])
@pytest.mark.parametrize("concurrent", [compacted, overwritten, appended, evolved])
@pytest.mark.parametrize("reads_others", [False, True])
def test_a_concurrent_change_is_kept(
    tmp_path: Path,
    kind: str,
    concurrent: Callable[[Any], None],
    reads_others: bool,  # noqa: FBT001
) -> None:
    table = create(tmp_path, kind)
    for part in range(3):
        table.append([{"id": 10 * part + number, "n": 1} for number in range(5)])
    other = frazil.load_table(table.location)
    selected = Selected("id = 1", {"id >= 2": {"n": 9}}, reads_others=reads_others)
    reads = []

    def once() -> None:
        reads.append(1)
        if len(reads) == 1:
            concurrent(other)

    selected.after_read = once
    change(table, selected)
    found = {row["id"]: row["n"] for row in frazil.load_table(table.location).scan().to_arrow().to_pylist()}
    assert 1 not in found
    assert (3 in found) == (concurrent is not overwritten)
    # A row that is added after the query does not change, unless the query runs again.
    new = {51: 9 if len(reads) > 1 else None} if concurrent in {appended, evolved} else {}
    assert {key: n for key, n in found.items() if n != 9} == {0: 1} | {key: n for key, n in new.items() if n != 9}
    is_repeated = concurrent is not appended or reads_others
    assert len(reads) == 1 + is_repeated


def test_a_required_column_is_not_set_to_null(tmp_path: Path) -> None:
    table = create(tmp_path, "unaware")
    table.append([{"id": 1, "n": 1}])
    before = files_in(table)
    with pytest.raises(errors.InvalidArgumentError, match="column `id` is required"):
        change(table, Selected(updated={"n = 1": {"id": None}}))
    assert files_in(table) == before
