"""Tests of replacing rows of Paimon tables: all rows, named partitions, or partitions with new rows."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from frazil.paimon import Table

COLUMNS = [("id", "BIGINT"), ("day", "DATE"), ("region", "STRING")]
DAY, OTHER = dt.date(2024, 2, 29), dt.date(1969, 12, 31)


def create(folder: Path, *, keyed: bool = False, **options: Any) -> Table:
    keys = ["day", "region", "id"] if keyed else []
    if keyed:
        options = {"bucket": 2} | options
    columns = [(name, f"{kind} NOT NULL" if keyed else kind) for name, kind in COLUMNS]
    return frazil.create_table(
        folder / "t", columns, format="paimon", primary_keys=keys, partition_keys=["day", "region"], options=options
    )


def given() -> list[dict[str, Any]]:
    places = [(DAY, "eu"), (DAY, "us"), (OTHER, "eu"), (OTHER, "")]
    return [{"id": i, "day": day, "region": region} for i, (day, region) in enumerate(places * 2)]


def ids(table: Table) -> list[int]:
    return sorted(table.scan().to_arrow()["id"].to_pylist())


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("keyed", [False, True])
def test_all_rows_are_replaced(tmp_path: Path, keyed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    table = create(tmp_path, keyed=keyed)
    table.append(given())
    done = table.overwrite([{"id": 9, "day": DAY, "region": "x"}])
    assert (done.added_records, done.removed_records, done.snapshot_id) == (1, 8, 2)
    assert ids(table) == [9]
    assert table.current_snapshot().operation == "overwrite"  # type: ignore[union-attr]
    assert table.scan(snapshot_id=1).count() == 8
    assert table.truncate().removed_records == 1
    assert (ids(table), table.current_snapshot().total_record_count) == ([], 0)  # type: ignore[union-attr]
    table.append(given())
    assert ids(table) == list(range(8))


@pytest.mark.parametrize("keyed", [False, True])
def test_named_partitions_are_replaced(tmp_path: Path, keyed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    table = create(tmp_path, keyed=keyed)
    table.append(given())
    table.overwrite([{"id": 20, "day": DAY, "region": "eu"}], partitions=[{"day": DAY}])
    assert ids(table) == [2, 3, 6, 7, 20]
    table.overwrite([], partitions=[{"day": "1969-12-31", "region": "eu"}, {"region": ""}])
    assert ids(table) == [20]
    table.append(given())
    table.drop_partitions([{"region": "eu"}])
    assert ids(table) == [1, 3, 5, 7]
    before = files(tmp_path)
    with pytest.raises(errors.InvalidArgumentError, match="partitions that are not overwritten"):
        table.overwrite(given(), partitions=[{"day": DAY}])
    for wrong, named in [
        ({"id": 1}, "`id` is not a partition key"),
        ({"day": "soon"}, "`soon` is not a value"),
        (5, "int"),
    ]:
        with pytest.raises(errors.InvalidArgumentError, match=named):
            table.drop_partitions([wrong])  # type: ignore[list-item]
    with pytest.raises(errors.InvalidArgumentError, match="at least one partition"):
        table.drop_partitions([])
    assert files(tmp_path) == before


@pytest.mark.parametrize("keyed", [False, True])
def test_partitions_with_new_rows_are_replaced(tmp_path: Path, keyed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    table = create(tmp_path, keyed=keyed)
    table.append(given())
    table.dynamic_partition_overwrite([{"id": 30, "day": DAY, "region": "us"}, {"id": 31, "day": DAY, "region": "new"}])
    assert ids(table) == [0, 2, 3, 4, 6, 7, 30, 31]
    assert table.dynamic_partition_overwrite([]).snapshot_id is None
    assert ids(table) == [0, 2, 3, 4, 6, 7, 30, 31]


def test_an_overwrite_may_change_the_number_of_buckets(tmp_path: Path) -> None:
    table = create(tmp_path, keyed=True)
    table.append(given())
    schema = tmp_path / "t" / "schema" / "schema-0"
    text = schema.read_text().replace('"bucket": "2"', '"bucket": "3"').replace('"id": 0,', '"id": 1,', 1)
    (schema.parent / "schema-1").write_text(text)
    newer = frazil.load_table(tmp_path / "t")
    with pytest.raises(errors.InvalidArgumentError, match="has 2 buckets"):
        newer.append(given())
    newer.overwrite(given())  # type: ignore[attr-defined]
    newer.append(given())
    assert ids(newer) == list(range(8))  # type: ignore[arg-type]


DELETIONS: dict[str, tuple[Callable[..., Any], list[int]]] = {
    "truncate": (lambda table, **about: table.truncate(**about), []),
    "drop_partitions": (lambda table, **about: table.drop_partitions([{"day": DAY}], **about), [2, 3, 6, 7]),
}


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("method", DELETIONS)
def test_a_deletion_has_its_user_watermark_and_properties_once(tmp_path: Path, method: str, keyed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    delete, left = DELETIONS[method]
    table = create(tmp_path, keyed=keyed)
    table.append(given(), commit_user="job", identifier=6, watermark=50)
    about: dict[str, Any] = {"commit_user": "job", "identifier": 7}
    first = delete(table, **about, watermark=99, snapshot_properties={"k": "v"})
    assert (first.snapshot_id, first.removed_records, first.attempts) == (2, 8 - len(left), 1)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert (snapshot.operation, snapshot.commit_user, snapshot.commit_identifier) == ("overwrite", "job", 7)
    assert snapshot.watermark == 99
    assert json.loads((tmp_path / "t" / "snapshot" / "snapshot-2").read_bytes())["properties"] == {"k": "v"}
    # Rows that another writer adds concurrently are kept when the call is repeated.
    table.append([{"id": 40, "day": DAY, "region": "eu"}])
    before = files(tmp_path)
    again = delete(frazil.load_table(tmp_path / "t"), **about)
    assert (again.snapshot_id, again.removed_records, again.attempts) == (2, 0, 0)
    assert (files(tmp_path), ids(table)) == (before, [*left, 40])
    # Another identifier, or another user with the same identifier, deletes.
    assert delete(table, commit_user="job", identifier=8, watermark=1).attempts == 1
    newest = table.current_snapshot()
    assert newest is not None
    assert (newest.commit_identifier, newest.watermark, ids(table)) == (8, 99, left)
    table.append([{"id": 41, "day": DAY, "region": "eu"}])
    assert delete(table, commit_user="other", identifier=7).removed_records == 1
    assert ids(table) == left


@pytest.mark.parametrize("method", DELETIONS)
def test_a_deletion_with_wrong_arguments_changes_nothing(tmp_path: Path, method: str) -> None:
    delete, _ = DELETIONS[method]
    table = create(tmp_path)
    table.append(given(), commit_user="job", identifier=7)
    before = files(tmp_path)
    for wrong, error, named in [
        (
            {"identifier": 8},
            errors.InvalidArgumentError,
            "an identifier is a number among the commits of a user and requires commit_user",
        ),
        ({"watermark": 2**63}, errors.InvalidArgumentError, "watermark.*must fit BIGINT"),
        ({"commit_user": "job", "identifier": 2**63}, errors.InvalidArgumentError, "identifier.*must fit BIGINT"),
        ({"snapshot_properties": {"k": None}}, errors.InvalidArgumentError, "property .k."),
        ({"commit_user": "job", "identifier": 6}, errors.CommitValidationError, "6"),
    ]:
        with pytest.raises(error, match=named):
            delete(table, **wrong)
    assert (files(tmp_path), ids(table)) == (before, list(range(8)))


def test_a_view_is_not_overwritten(tmp_path: Path) -> None:
    table = create(tmp_path)
    for change in (lambda view: view.overwrite([]), lambda view: view.truncate()):
        with pytest.raises(errors.UnsupportedError, match="audit-log"):
            change(table.audit_log())


@pytest.mark.parametrize("name", ["__DEFAULT_PARTITION__", "nothing"])
def test_the_name_of_the_folder_of_null_is_a_text(tmp_path: Path, name: str) -> None:
    table = frazil.create_table(
        tmp_path / "t",
        {"k": "INT", "p": "STRING"},
        format="paimon",
        partition_keys=["p"],
        options={"partition.default-name": name},
    )
    rows = [{"k": 1, "p": None}, {"k": 2, "p": name}, {"k": 3, "p": "a"}]
    table.append(rows)

    def keys() -> list[int]:
        return sorted(table.scan().to_arrow()["k"].to_pylist())

    table.overwrite([{"k": 9, "p": name}], partitions=[{"p": name}])
    assert keys() == [1, 3, 9]
    with pytest.raises(errors.InvalidArgumentError, match="not overwritten"):
        table.overwrite([{"k": 8, "p": name}], partitions=[{"p": None}])
    table.drop_partitions([{"p": name}])
    assert keys() == [1, 3]
    table.overwrite([{"k": 7, "p": None}], partitions=[{"p": None}])
    assert keys() == [3, 7]
    table.drop_partitions([{"p": None}])
    assert keys() == [3]


def test_rows_are_deleted_regardless_of_file_column_types(tmp_path: Path) -> None:
    columns = {"p": "INT", "b": "VARBINARY(3)"}
    frazil.create_table(tmp_path / "t", columns, format="paimon", partition_keys=["p"]).append(
        [{"p": 1, "b": b"a"}, {"p": 2, "b": b"b"}]
    )
    # Java can create such tables.
    schema = tmp_path / "t" / "schema" / "schema-0"
    schema.write_text(json.dumps(json.loads(schema.read_text()) | {"options": {"file.format": "orc"}}))
    table = frazil.load_table(tmp_path / "t")
    for write in (lambda: table.append([{"p": 1}]), lambda: table.overwrite([{"p": 1}])):
        with pytest.raises(errors.UnsupportedError, match="VARBINARY"):
            write()
    table.drop_partitions([{"p": 2}])
    assert table.scan().to_arrow()["p"].to_pylist() == [1]
    table.truncate()
    assert table.scan().count() == 0
