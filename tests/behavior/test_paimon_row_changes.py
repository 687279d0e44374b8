"""Tests of DELETE, UPDATE, MERGE and upsert in Paimon tables with a primary key, against dictionaries by key."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.expressions import EqualTo

import frazil
from frazil import errors
from frazil._write_result import WriteResult
from frazil.paimon import _input_rows
from support.added_columns import AddedColumns
from support.cases import GOLDEN
from support.paimon_garbage import garbage
from support.paimon_values import FORMATS, NANOS, TYPES, values_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from frazil.paimon import Table

Row = dict[str, Any]
SCHEMA = [("part", "STRING"), ("id", "BIGINT"), ("v", "INT"), ("name", "STRING")]
REMOVES: dict[str, Any] = {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}


def create(folder: Path, schema: Any = SCHEMA, *, keys: Any = ("part", "id"), **options: Any) -> Table:
    return frazil.create_table(
        folder / "t",
        schema,
        format="paimon",
        primary_keys=keys,
        partition_keys=["part"] if "part" in keys else [],
        options={"bucket": 2, **{name.replace("_", "-"): value for name, value in options.items()}},
    )


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows(table: Table) -> list[Row]:
    return sorted(table.scan().to_arrow().to_pylist(), key=lambda row: (str(row.get("part")), str(row["id"])))


def row(part: str, number: int, v: int | None = None, name: str | None = None) -> Row:
    return {"part": part, "id": number, "v": v, "name": name}


class Model:
    """The rows of a table by key, changed by random statements in the same way as the table."""

    def __init__(self, seed: int, table: Table) -> None:
        self.random = random.Random(seed)  # noqa: S311 - not a secret
        self.table = table
        # Partial updates ignore NULL.
        self.added = AddedColumns(self.random, nulls="merge-engine" not in table.options)
        self.rows: dict[tuple[str, int], Row] = {}

    def any_rows(self, most: int) -> list[Row]:
        found: dict[tuple[str, int], Row] = {}
        for _ in range(self.random.randint(1, most)):
            key = (self.random.choice("xyz"), self.random.randint(0, 30))
            found[key] = row(*key, self.random.randint(0, 9), self.random.choice(["a", "b", "c"])) | self.added.values()
        return list(found.values())

    def evolve(self) -> None:
        with self.table.update_schema() as update:
            changed = self.added.evolve(update, list(self.rows.values()))
        self.rows = dict(zip(self.rows, changed, strict=True))

    def are_refused(self, updated: Iterable[Row], change: Callable[[], object]) -> bool:
        """Check whether a change is refused because updated rows have NULL in a column with a default."""
        if not self.added.lack_defaults(updated):
            return False
        with pytest.raises(errors.InvalidArgumentError, match="written as the default of the column"):
            change()
        return True

    def append(self) -> None:
        added = self.any_rows(25)
        self.table.append(added)
        self.rows |= {(one["part"], one["id"]): one for one in self.added.written(added)}

    def delete(self) -> None:
        limit, part = self.random.randint(0, 9), self.random.choice("xyz")
        gone = {key for key, one in self.rows.items() if one["v"] < limit and key[0] != part}
        assert self.table.delete(f"v < {limit} and part <> '{part}'").deleted_rows == len(gone)
        self.rows = {key: one for key, one in self.rows.items() if key not in gone}

    def update(self) -> None:
        limit = self.random.randint(0, 30)
        found = {key: one for key, one in self.rows.items() if key[1] >= limit}
        values = {"v": "v + CAST(id % 2 AS int)", "name": frazil.lit("u")}
        if self.are_refused(found.values(), lambda: self.table.update(values, f"id >= {limit}")):
            return
        assert self.table.update(values, f"id >= {limit}") == AnyResult(updated=len(found))
        self.rows |= {key: one | {"v": one["v"] + key[1] % 2, "name": "u"} for key, one in found.items()}

    def upsert(self) -> None:
        source = {(one["part"], one["id"]): one for one in self.added.written(self.any_rows(15))}
        changed = [key for key, one in source.items() if key in self.rows and self.rows[key] != one]
        new = source.keys() - self.rows.keys()
        assert self.table.upsert(list(source.values())) == AnyResult(updated=len(changed), inserted=len(new))
        self.rows |= source

    def merge(self) -> None:
        source = {(one["part"], one["id"]): one for one in self.added.written(self.any_rows(15))}
        limit = self.random.randint(0, 9)
        by_source = self.random.random() < 0.5
        matched = source.keys() & self.rows.keys()
        gone = {key for key in matched if source[key]["v"] < limit}
        changed = matched - gone
        new = {key for key in source.keys() - self.rows.keys() if source[key]["v"] != 5}
        others = {key for key, one in self.rows.items() if key not in source and one["v"] == limit}
        builder = (
            self.table.merge(pa.Table.from_pylist(list(source.values())), ["part", "id"])
            .when_matched_delete(f"source.v < {limit}")
            .when_matched_update({"v": "target.v + source.v", "name": "source.name"})
            .when_not_matched_insert_all("source.v <> 5")
        )
        if by_source:
            builder = builder.when_not_matched_by_source_delete(f"target.v = {limit}")
            gone |= others
        if self.are_refused((self.rows[key] for key in changed), builder.execute):
            return
        assert builder.execute() == AnyResult(deleted=len(gone), updated=len(changed), inserted=len(new))
        updates = {
            key: self.rows[key] | {"v": self.rows[key]["v"] + source[key]["v"], "name": source[key]["name"]}
            for key in changed
        }
        self.rows = {key: one for key, one in self.rows.items() if key not in gone}
        self.rows |= updates | {key: source[key] for key in new}

    def compact(self) -> None:
        self.table.compact()

    def step(self) -> None:
        steps = [self.append, self.delete, self.update, self.upsert, self.merge, self.compact, self.evolve, self.evolve]
        self.random.choice(steps)()
        assert rows(self.table) == [self.rows[key] for key in sorted(self.rows, key=lambda key: (key[0], str(key[1])))]


class AnyResult:
    """Equal to every write result with these counts of changed rows."""

    def __init__(self, deleted: int = 0, updated: int = 0, inserted: int = 0) -> None:
        self.counts = (deleted, updated, inserted)

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, WriteResult)
        return self.counts == (other.deleted_rows, other.updated_rows, other.inserted_rows)

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("bucket", [2, -1])
@pytest.mark.parametrize("options", [{}, REMOVES, {"changelog-producer": "input"}], ids=["rows", "partial", "input"])
@pytest.mark.parametrize("seed", range(4))
def test_random_changes_have_the_results_of_a_dictionary(
    tmp_path: Path, seed: int, options: dict[str, Any], bucket: int
) -> None:
    model = Model(seed, create(tmp_path, **options, bucket=bucket))
    model.append()
    for _ in range(14):
        model.step()
    if "changelog-producer" in options:
        replayed = {}
        log = model.table.audit_log().scan(
            options={"incremental-between": (0, model.table.snapshots()[-1].snapshot_id)}
        )
        for change in log.to_arrow().to_pylist():
            kind = change.pop("rowkind")
            assert kind in ("+I", "+U", "-D")
            replayed[change["part"], change["id"]] = None if kind == "-D" else change
        assert {key: one for key, one in replayed.items() if one is not None} == model.rows


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("bucket", [1, -1])
def test_values_of_all_types_survive_changes(tmp_path: Path, data_format: str, bucket: int) -> None:
    kinds = values_for(data_format)
    schema = [("id", "INT"), ("mark", "INT"), *((name, kind) for name, (kind, _) in kinds.items())]
    table = create(tmp_path, schema, keys=("id",), bucket=bucket, **{"file.format": data_format})
    table.append([{"id": i, "mark": 0} | {name: both[i] for name, (_, both) in kinds.items()} for i in (0, 1)])
    before = table.scan().to_arrow().sort_by("id")
    assert table.update({"mark": "mark + 1"}, "id = 0").updated_rows == 1
    source = before.set_column(1, "mark", pa.array([2, 2], pa.int32()))
    table.merge(source, "target.id = source.id").when_matched_update_all("target.id = 1").execute()
    after = table.scan().to_arrow().sort_by("id")
    assert after["mark"].to_pylist() == [1, 2]
    assert after.drop_columns("mark").to_pylist() == before.drop_columns("mark").to_pylist()
    assert table.upsert(after) == AnyResult()
    assert table.delete("mark = 2").deleted_rows == 1
    assert table.scan().to_arrow()["id"].to_pylist() == [0]


KEYS = {name: kind for name, kind in (TYPES | NANOS).items() if not kind[0].startswith(("ARRAY", "ROW"))}


@pytest.mark.parametrize("name", [name for name, (_, both) in KEYS.items() if None not in both])
@pytest.mark.parametrize("bucket", [2, -1])
def test_keys_of_all_types_identify_rows(tmp_path: Path, name: str, bucket: int) -> None:
    kind, (first, second) = KEYS[name]
    table = create(tmp_path, [("k", kind), ("id", "INT"), ("v", "INT")], keys=("k",), bucket=bucket)
    table.append([{"k": first, "id": 1, "v": 0}, {"k": second, "id": 2, "v": 0}])
    assert table.update({"v": "v + id"}, "id = 1").updated_rows == 1
    one = table.scan("id = 2").to_arrow()
    merged = table.merge(one, ["k"]).when_matched_update({"v": "source.id * 10"}).execute()
    assert merged.updated_rows == 1
    assert table.upsert(one.set_column(2, "v", pa.array([30], pa.int32()))).updated_rows == 1
    assert [(row["id"], row["v"]) for row in rows(table)] == [(1, 1), (2, 30)]
    assert table.delete("id = 2").deleted_rows == 1
    assert table.scan().to_arrow()["k"].to_pylist() == [first]
    again = pa.concat_tables([one, table.scan().to_arrow()])
    merged = table.merge(again, ["k"]).when_matched_delete().when_not_matched_insert_all().execute()
    assert merged == AnyResult(deleted=1, inserted=1)
    assert rows(table) == one.to_pylist()
    with pytest.raises(errors.InvalidArgumentError, match="cannot set the primary key column `k`"):
        table.update({"k": "k"})
    with pytest.raises(errors.InvalidArgumentError, match="several source rows would be inserted"):
        table.merge(pa.concat_tables([again.slice(1)] * 2), ["k"]).when_not_matched_insert_all().execute()


def test_floating_keys_are_identified_by_their_bits(tmp_path: Path) -> None:
    table = create(tmp_path, [("k", "DOUBLE"), ("id", "INT"), ("v", "INT")], keys=("k",))
    table.append([{"k": 0.0, "id": 1}, {"k": float("nan"), "id": 2}, {"k": 1.5, "id": 3}])
    assert table.update({"v": "id"}).updated_rows == 3
    merged = table.merge([{"k": -0.0, "v": 7}], ["k"]).when_matched_update_all().execute()
    assert merged.updated_rows in (0, 1)
    found = rows(table)
    assert [one["id"] for one in found] == [1, 2, 3]
    assert found[0]["v"] == (7 if merged.updated_rows else 1)
    assert str(found[0]["k"]) == "0.0"
    assert table.delete("id < 3").deleted_rows == 2
    assert [one["k"] for one in rows(table)] == [1.5]


HOSTILE = [
    "a b",
    "sélect",
    "x.y",
    'q"q',
    "b`t",
    "and",
    "OR",
    "case",
    "end",
    "'",
    "target",
    "source",
    "_rowkind",
    "null",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_of_keys_and_columns(tmp_path: Path, name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    table = create(tmp_path, [(name, "INT"), ("id", "INT"), ("v " + name, "INT")], keys=(name, "id"))
    table.append([{name: 1, "id": 1, "v " + name: 1}, {name: 2, "id": 2, "v " + name: 2}])
    value = "`v " + quoted[1:]
    assert table.update({value: f"{value} + 1"}, f"{quoted} = 1").updated_rows == 1
    on = f"(t.{quoted} = s.{quoted}) and (s.id = t.id)"
    source = [{name: 1, "id": 1}, {name: 2, "id": 9}]
    merged = table.merge(source, on, source_alias="s", target_alias="t")
    assert merged.when_matched_update({value: 5}).when_not_matched_insert_all().execute() == AnyResult(0, 1, 1)
    found = sorted((one["id"], one["v " + name]) for one in table.scan().to_arrow().to_pylist())
    assert found == [(1, 5), (2, 2), (9, None)]
    with pytest.raises(errors.InvalidArgumentError, match="cannot set the primary key column"):
        table.update({quoted: 1})
    with pytest.raises(errors.InvalidArgumentError, match="primary key; it lacks"):
        table.merge(source, f"target.{quoted} = source.{quoted}").when_matched_delete().execute()
    assert table.delete(f"{quoted} = 2").deleted_rows == 2


@pytest.mark.parametrize(
    "chosen",
    ["id = 1", frazil.col("id") == 1, EqualTo("id", 1), pc.field("id") == 1],
    ids=lambda one: type(one).__name__,
)
def test_filters_of_all_libraries_choose_rows(tmp_path: Path, chosen: Any) -> None:
    table = create(tmp_path)
    table.append([row("x", 1, 1), row("x", 2, 2)])
    assert table.update({"v": "v * 10", "name": frazil.lit("it's")}, chosen).updated_rows == 1
    assert rows(table) == [row("x", 1, 10, "it's"), row("x", 2, 2)]
    assert table.delete(chosen).deleted_rows == 1
    assert rows(table) == [row("x", 2, 2)]
    assert table.delete("ID = 2", case_sensitive=False).deleted_rows == 1
    assert table.delete() == AnyResult()


def test_a_change_without_matches_commits_nothing(tmp_path: Path) -> None:
    table = create(tmp_path)
    assert table.delete().snapshot_id is None
    table.append([row("x", 1, 1)])
    before = files(tmp_path)
    assert table.delete("id = 9").snapshot_id is None
    assert table.update({"v": 1}, False).snapshot_id is None  # noqa: FBT003
    assert table.upsert([row("x", 1, 1)]).snapshot_id is None
    assert table.merge([row("x", 2)], ["part", "id"]).when_matched_delete().execute().snapshot_id is None
    assert files(tmp_path) == before


def test_a_commit_with_an_identifier_is_applied_once(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([row("x", 1, 1), row("x", 2, 2)])
    once: dict[str, Any] = {"commit_user": "u", "identifier": 1, "watermark": 7, "snapshot_properties": {"a": "b"}}
    assert table.update({"v": "v + 1"}, **once).updated_rows == 2
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert (snapshot.commit_user, snapshot.watermark) == ("u", 7)
    assert table.inspect.snapshots()["commit_identifier"].to_pylist()[-1] == 1
    before = files(tmp_path)
    assert table.update({"v": "v + 1"}, **once) == AnyResult()
    assert table.delete(**once) == AnyResult()
    assert table.upsert([row("x", 9)], **once) == AnyResult()
    assert table.merge([row("x", 1)], ["part", "id"], **once).when_matched_delete().execute() == AnyResult()
    assert files(tmp_path) == before
    assert rows(table) == [row("x", 1, 2), row("x", 2, 3)]


def between(monkeypatch: pytest.MonkeyPatch, concurrent: Callable[[], object]) -> None:
    """Run `concurrent` once, after the rows of the next change are read and written, and before its commit."""
    write_rows = _input_rows.write_rows

    def write(*arguments: Any, **options: Any) -> list[bytes]:
        written = write_rows(*arguments, **options)
        monkeypatch.undo()
        concurrent()
        return written

    monkeypatch.setattr("frazil.paimon._row_changes.write_rows", write)


@pytest.mark.parametrize("bucket", [2, -1])
def test_a_concurrent_append_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bucket: int) -> None:
    table = create(tmp_path, bucket=bucket)
    table.append([row("x", number, number) for number in range(20)])
    other = frazil.load_table(tmp_path / "t")
    between(monkeypatch, lambda: other.append([row("x", number) for number in range(100, 120)] + [row("new", 1)]))
    assert table.update({"v": "v + 1"}).updated_rows == 20
    found = rows(table)
    assert len(found) == 41
    assert {one["id"]: one["v"] for one in found if one["v"] is not None} == {n: n + 1 for n in range(20)}


@pytest.mark.parametrize("bucket", [2, -1])
def test_a_change_reads_again_if_its_snapshot_expires(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bucket: int
) -> None:
    table = create(tmp_path, bucket=bucket)
    source = [row("x", n, 100) for n in range(4)]
    changes: dict[str, Callable[[], Any]] = {
        "update": lambda: table.update({"v": "v + 1"}),
        "merge": lambda: table.merge(source, ["part", "id"]).when_matched_update_all().execute(),
        "upsert": lambda: table.upsert(source),
        "delete": table.delete,
    }
    table.append([row("x", n, n) for n in range(4)])
    write_rows = _input_rows.write_rows
    for name, change in changes.items():

        def expired_first(*arguments: Any, **options: Any) -> list[bytes]:
            # The scan has chosen a snapshot, but has not read it.
            monkeypatch.undo()
            other = frazil.load_table(tmp_path / "t")
            other.update({"v": "v + 10"})
            other.compact()
            other.expire_snapshots(retain_max=1, retain_min=1).apply()
            return write_rows(*arguments, **options)

        monkeypatch.setattr("frazil.paimon._row_changes.write_rows", expired_first)
        result = change()
        assert result.deleted_rows + result.updated_rows == 4, name
        values = [one["v"] for one in rows(table)]
        assert values == {"update": [11, 12, 13, 14], "delete": []}.get(name, [100] * 4)
        assert not garbage(tmp_path / "t")


@pytest.mark.parametrize("change", ["delete", "update"])
def test_a_concurrent_row_with_a_greater_sequence_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    table = create(tmp_path, **{"sequence.field": "v"})
    table.append([row("x", 1, 5, "old"), row("x", 2, 5, "old")])
    other = frazil.load_table(tmp_path / "t")
    between(monkeypatch, lambda: other.append([row("x", 1, 6, "greater"), row("x", 2, 4, "lower")]))
    if change == "delete":
        table.delete()
        assert rows(table) == [row("x", 1, 6, "greater")]
    else:
        table.update({"name": frazil.lit("new")})
        assert rows(table) == [row("x", 1, 6, "greater"), row("x", 2, 5, "new")]


@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_sequence_fields_cannot_decrease(tmp_path: Path, order: str) -> None:
    table = create(tmp_path, **{"sequence.field": "v,name", "sequence.field.sort-order": order})
    table.append([row("x", 1, 5, "b"), row("x", 2, None, "b"), row("x", 3, 5)])
    forward = "v + 1" if order == "ascending" else "v - 1"
    assert table.update({"v": forward}).updated_rows == 3
    kept = rows(table)
    back = "v - 1" if order == "ascending" else "v + 1"
    lower = frazil.lit("a" if order == "ascending" else "c")
    before = files(tmp_path)
    for values in ({"v": back}, {"v": None}, {"name": lower}):
        with pytest.raises(errors.InvalidArgumentError, match=r"key part='x', id=1: the new value of `sequence.field`"):
            table.update(values)
    with pytest.raises(errors.InvalidArgumentError, match=r"upsert cannot change the row .* lower than the old one"):
        table.upsert([{"part": "x", "id": 1, "v": None}])
    assert files(tmp_path) == before
    assert rows(table) == kept


def test_kinds_in_a_column_are_set(tmp_path: Path) -> None:
    columns = [("id", "INT"), ("v", "INT"), ("kind", "STRING")]
    table = create(tmp_path, columns, keys=("id",), **{"rowkind.field": "kind"})
    table.append([{"id": number, "v": number, "kind": "+I"} for number in range(4)])
    assert table.delete("id = 0").deleted_rows == 1
    assert table.update({"v": "v + 1"}, "id = 1").updated_rows == 1
    merge = table.merge([{"id": 2, "v": 9, "kind": "-D"}, {"id": 5, "v": 9, "kind": "-D"}], ["id"])
    assert merge.when_matched_update_all().when_not_matched_insert_all().execute() == AnyResult(0, 1, 1)
    assert [tuple(one.values()) for one in rows(table)] == [(1, 2, "+U"), (2, 9, "+U"), (3, 3, "+I"), (5, 9, "+I")]
    with pytest.raises(errors.InvalidArgumentError, match="update cannot set the column `kind`"):
        table.update({"kind": frazil.lit("-D")})


def test_partial_updates_set_columns_of_the_merged_row(tmp_path: Path) -> None:
    table = create(tmp_path, **REMOVES)
    table.append([row("x", 1, 1), row("x", 2, 1)])
    table.append([row("x", 1, None, "n")])
    assert table.update({"v": "v + 1"}).updated_rows == 2
    before = files(tmp_path)
    with pytest.raises(errors.InvalidArgumentError, match=r"key part='x', id=1: column `name` cannot become NULL"):
        table.update({"name": None})
    assert files(tmp_path) == before
    assert table.delete("id = 2").deleted_rows == 1
    assert rows(table) == [row("x", 1, 2, "n")]
    table.append([row("x", 2, None, "again")])
    assert rows(table)[1] == row("x", 2, None, "again")


def test_deletes_of_aggregated_rows_and_of_sequence_groups(tmp_path: Path) -> None:
    options: dict[str, Any] = {"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"}
    sums = create(tmp_path / "sums", **options, **{"fields.v.aggregate-function": "sum"})
    sums.append([row("x", 1, 2), row("x", 2, 3)])
    sums.append([row("x", 1, 5)])
    assert sums.delete("v = 7").deleted_rows == 1
    assert rows(sums) == [row("x", 2, 3)]
    sums.append([row("x", 1, 1)])
    assert rows(sums)[0] == row("x", 1, 1)
    options = {"merge-engine": "partial-update", "partial-update.remove-record-on-sequence-group": "v"}
    groups = create(tmp_path / "groups", **options, **{"fields.v.sequence-group": "name"})
    groups.append([row("x", 1, 1, "a"), row("x", 2, None)])
    assert groups.delete("id = 1").deleted_rows == 1
    with pytest.raises(errors.InvalidArgumentError, match="id=2: the sequence fields `v` are NULL"):
        groups.delete()
    assert rows(groups) == [row("x", 2)]


REFUSED: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "ignore-delete": ({"ignore-delete": "true"}, {"delete": "`ignore-delete` is true", "merge": "`ignore-delete`"}),
    "partial": (
        {"merge-engine": "partial-update"},
        {"delete": "`merge-engine` = `partial-update`", "merge": "deletes are not supported"},
    ),
    "sum": (
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
        dict.fromkeys(("delete", "update", "merge", "upsert"), "not supported with `merge-engine` = `aggregation`"),
    ),
    "groups": (
        {"merge-engine": "partial-update", "fields.v.sequence-group": "name"},
        dict.fromkeys(("update", "merge", "upsert"), "`fields.v.sequence-group`"),
    ),
    "old state": (
        {"scan.snapshot-id": "1"},
        dict.fromkeys(("delete", "update", "merge", "upsert"), "the option `scan.snapshot-id` makes reads"),
    ),
}

CALLS: dict[str, Callable[[Table], object]] = {
    "delete": lambda table: table.delete("id = 1"),
    "update": lambda table: table.update({"v": 1}),
    "merge": lambda table: table.merge([row("x", 1)], ["part", "id"]).when_matched_delete().execute(),
    "upsert": lambda table: table.upsert([row("x", 1, 2)]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tables_whose_records_would_lose_are_refused(tmp_path: Path, name: str) -> None:
    options, refused = REFUSED[name]
    table = create(tmp_path, **options)
    table.append([row("x", 1, 1)])
    before = files(tmp_path)
    for verb, message in refused.items():
        with pytest.raises(errors.UnsupportedError, match=message) as raised:
            CALLS[verb](table)
        assert verb in str(raised.value)
        assert raised.value.hint
    assert files(tmp_path) == before


@pytest.mark.parametrize("verb", CALLS)
def test_views_are_refused(tmp_path: Path, verb: str) -> None:
    keyed = create(tmp_path / "keyed")
    with pytest.raises(errors.UnsupportedError, match="read-only"):
        CALLS[verb](keyed.audit_log())


INVALID: dict[str, tuple[Callable[[Table], object], str]] = {
    "key": (lambda t: t.update({"id": "id + 1"}), "update cannot set the primary key column `id`"),
    "qualified key": (lambda t: t.update({"target.id": 1}), "cannot set the primary key column `id`"),
    "partition": (lambda t: t.update({"part": "name"}), "update cannot set the partition column `part`"),
    "unknown": (lambda t: t.update({"nope": 1}), "no column `nope`"),
    "empty": (lambda t: t.update({}), "the set clause is empty"),
    "filter": (lambda t: t.delete("nope = 1"), "nope"),
    "overflow": (lambda t: t.update({"v": "v + 2147483647"}), "overflow|range|fit"),
    "division": (lambda t: t.update({"v": "v % CAST(id - 2 AS int)"}), "zero"),
    "upsert keys": (lambda t: t.upsert([row("x", 1)], ["id"]), "join_cols must be the primary key of the table"),
    "upsert twice": (lambda t: t.upsert([row("x", 1), row("x", 1)]), "same key"),
    "upsert column": (lambda t: t.upsert([{**row("x", 1), "nope": 1}]), "nope"),
    "upsert nothing": (
        lambda t: t.upsert([row("x", 1)], when_matched_update_all=False, when_not_matched_insert_all=False),
        "no effect",
    ),
    "no clauses": (lambda t: t.merge([row("x", 1)], ["part", "id"]).execute(), "no clauses"),
    "part of the key": (
        lambda t: t.merge([row("x", 1)], "target.id = source.id").when_matched_delete().execute(),
        "it lacks `part`",
    ),
    "or": (
        lambda t: (
            t.merge([row("x", 1)], "target.v = source.v and (target.id = source.id or target.part = source.part)")
            .when_matched_delete()
            .execute()
        ),
        "it lacks `part`, `id`",
    ),
    "own column": (
        lambda t: (
            t.merge([row("x", 1)], "target.id = source.id and target.part = target.name")
            .when_matched_delete()
            .execute()
        ),
        "it lacks `part`",
    ),
    "merged key": (
        lambda t: t.merge([row("x", 1)], ["part", "id"]).when_matched_update({"id": "source.v"}).execute(),
        "merge cannot set the primary key column `id`",
    ),
    "existing key": (
        lambda t: (
            t.merge([row("x", 1), row("y", 9)], "target.id = source.id and target.part = source.part and target.v > 1")
            .when_not_matched_insert_all()
            .execute()
        ),
        "the table has a row with the key part='x', id=1, which did not match",
    ),
    "computed key": (
        lambda t: (
            t.merge([row("x", 9)], ["part", "id"])
            .when_not_matched_insert({"part": "source.part", "id": "source.id - 7"})
            .execute()
        ),
        "the table has a row with the key part='x', id=2",
    ),
    "two inserts": (
        lambda t: t.merge([row("n", 1), row("n", 1)], ["part", "id"]).when_not_matched_insert_all().execute(),
        "several source rows would be inserted with the key part='n', id=1",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_changes_write_nothing(tmp_path: Path, name: str) -> None:
    call, message = INVALID[name]
    table = create(tmp_path)
    table.append([row("x", 1, 1), row("x", 2, 2), row("y", 3, 3)])
    before = files(tmp_path)
    with pytest.raises(errors.InvalidArgumentError, match=message):
        call(table)
    assert files(tmp_path) == before


def test_new_keys_are_inserted_with_further_conditions(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([row("x", 1, 1), row("x", 2, 2)])
    on = "target.id = source.id and target.part = source.part and target.v > 1"
    merge = table.merge([row("x", 2, 5), row("y", 1, 5)], on).when_matched_update_all()
    assert merge.when_not_matched_insert_all().execute() == AnyResult(updated=1, inserted=1)
    assert rows(table) == [row("x", 1, 1), row("x", 2, 5), row("y", 1, 5)]


def test_several_source_rows_for_one_row_are_refused(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([row("x", 1, 1)])
    before = files(tmp_path)
    source = [row("x", 1, 2), row("x", 1, 3)]
    with pytest.raises(errors.InvalidArgumentError, match="source rows"):
        table.merge(source, ["part", "id"]).when_matched_update_all().execute()
    assert files(tmp_path) == before


def test_null_matches_nothing_and_required_columns_stay_required(tmp_path: Path) -> None:
    table = create(tmp_path, [("id", "INT"), ("v", "INT"), ("must", "INT NOT NULL")], keys=("id",))
    table.append([{"id": 1, "must": 1}, {"id": 2, "v": 2, "must": 2}])
    assert table.delete("v <> 2") == AnyResult()
    assert table.delete("not (v = 1)").deleted_rows == 1
    before = files(tmp_path)
    with pytest.raises(errors.InvalidArgumentError, match="must"):
        table.update({"must": None})
    with pytest.raises(errors.InvalidArgumentError, match=r"id|must"):
        table.merge([{"id": None, "v": 1}], ["id"]).when_not_matched_insert_all().execute()
    assert files(tmp_path) == before
    assert rows(table) == [{"id": 1, "v": None, "must": 1}]


def test_only_matching_files_are_read_and_a_failed_read_commits_nothing(tmp_path: Path) -> None:
    table = create(tmp_path, bucket=1)
    for part in "abc":
        table.append([row(part, number, number) for number in range(10)])
    (broken,) = (path for path in (tmp_path / "t/part=c").rglob("*.parquet"))
    broken.write_bytes(b"")
    assert table.update({"v": "v + 1"}, "part = 'a' and id < 5").updated_rows == 5
    assert table.merge([row("b", 3)], ["part", "id"]).when_matched_delete().execute().deleted_rows == 1
    before = files(tmp_path)
    with pytest.raises(errors.FrazilError):
        table.delete()
    assert files(tmp_path) == before


def test_changes_after_a_schema_change_and_on_branches(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([row("x", 1, 1)])
    stale = frazil.load_table(tmp_path / "t")
    table.update({"v": 2})
    assert stale.update({"v": "v + 1"}).updated_rows == 1
    assert rows(table) == [row("x", 1, 3)]


def test_sources_of_other_libraries_and_wider_types(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([row("x", 1, 1, "a"), row("x", 2, 2, "b")])
    source = pa.table(
        {
            "part": pa.array(["x", "x"], pa.large_string()).dictionary_encode(),
            "id": pa.array([1, 2], pa.int32()),
            "name": pa.array(["p", "q"], pa.large_string()),
            "v": pa.array([7, 8], pa.int64()),
        }
    )
    assert table.upsert(iter(source.to_batches(max_chunksize=1))).updated_rows == 2
    assert rows(table) == [row("x", 1, 7, "p"), row("x", 2, 8, "q")]
    too_big = source.set_column(3, "v", pa.array([7, 2**40]))
    with pytest.raises(errors.InvalidArgumentError, match="`v`"):
        table.upsert(too_big)


def test_branches_are_changed_separately(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append([row("x", 1, 1)])
    (tmp_path / "t/branch/branch-b/schema").mkdir(parents=True)
    (tmp_path / "t/branch/branch-b/schema/schema-0").write_bytes((tmp_path / "t/schema/schema-0").read_bytes())
    branch = table.with_branch("b")
    branch.append([row("x", 1, 5), row("x", 2, 5)])
    assert branch.update({"v": "v + 1"}).updated_rows == 2
    assert branch.delete("id = 2").deleted_rows == 1
    assert rows(branch) == [row("x", 1, 6)]
    assert rows(table) == [row("x", 1, 1)]


def test_null_does_not_become_a_default(tmp_path: Path) -> None:
    definition = {
        "fields": [
            {"id": 0, "name": "id", "type": "INT NOT NULL"},
            {"id": 1, "name": "v", "type": "INT", "defaultValue": "7"},
            {"id": 2, "name": "w", "type": "INT"},
        ]
    }
    table = create(tmp_path, definition, keys=("id",))
    table.append([{"id": 1}, {"id": 2, "v": 2}])
    assert table.update({"w": "v"}).updated_rows == 2
    with pytest.raises(errors.InvalidArgumentError, match="id=1: column `v` is NULL, which is written as the default"):
        table.update({"v": None}, "id = 1")
    assert table.merge([{"id": 3}], ["id"]).when_not_matched_insert_all().execute().inserted_rows == 1
    assert [tuple(one.values()) for one in rows(table)] == [(1, 7, 7), (2, 2, 2), (3, 7, None)]


@pytest.mark.parametrize("verb", ["delete", "update", "upsert", "merge"])
def test_tables_that_append_refuses_are_refused(tmp_path: Path, verb: str) -> None:
    name = "first_row_lookup"
    shutil.copytree(GOLDEN / "paimon/g.db" / name, tmp_path / name)
    table = frazil.load_table(tmp_path / name, format="paimon")
    before = files(tmp_path)
    source = table.scan().to_arrow()
    keys = table.primary_keys or ["k"]
    column = next(name for name in source.column_names if name not in keys)
    calls: dict[str, Callable[[], object]] = {
        "delete": table.delete,
        "update": lambda: table.update({column: None}),
        "upsert": lambda: table.upsert(source),
        "merge": lambda: table.merge(source, keys).when_matched_update_all().execute(),
    }
    with pytest.raises(errors.UnsupportedError, match="first-row"):
        calls[verb]()
    assert files(tmp_path) == before


def test_changes_of_many_rows_and_files(tmp_path: Path) -> None:
    table = create(tmp_path, bucket=3, **{"target-file-size": "64 kb", "write-only": "true"})
    count = 30_000
    ids = pa.array(range(count), pa.int64())
    part = pa.array(["x", "y"]).take(pa.array([n % 2 for n in range(count)]))
    table.append(pa.table({"part": part, "id": ids, "v": pa.array(range(count), pa.int32())}))
    assert table.update({"v": "v + 1"}, "id >= 1000").updated_rows == count - 1000
    assert table.delete("id % 3 = 0").deleted_rows == count // 3
    source = pa.table({"part": part, "id": ids, "name": pa.array(["n"] * count)})
    merged = table.merge(source, ["part", "id"]).when_matched_update_all().when_not_matched_insert_all().execute()
    assert merged == AnyResult(updated=count - count // 3, inserted=count // 3)
    found = table.scan().to_arrow().sort_by("id")
    assert found["id"].to_pylist() == list(range(count))
    assert found["v"].to_pylist() == [None if n % 3 == 0 else n + (n >= 1000) for n in range(count)]
    assert set(found["name"].to_pylist()) == {"n"}
