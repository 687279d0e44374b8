"""Tests of the errors of invalid calls: a specific class and a helpful message."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors
from support.cases import GOLDEN
from support.copies import Copy

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.iceberg import Table

NAME = "del_pos_file_parquet_part"


@pytest.fixture(scope="module")
def table() -> Table:
    return frazil.load_table(str(GOLDEN / "iceberg" / NAME))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"row_filter": "idd > 3"}, errors.InvalidArgumentError, "did you mean"),
        ({"row_filter": "nothing_like_it > 3"}, errors.InvalidArgumentError, "nothing_like_it"),
        ({"row_filter": "ID > 3"}, errors.InvalidArgumentError, "id"),
        ({"row_filter": "id > 'abc'"}, errors.InvalidArgumentError, "abc"),
        ({"row_filter": "id > "}, errors.InvalidArgumentError, ""),
        ({"row_filter": "id = 1; drop table t"}, errors.InvalidArgumentError, ""),
        ({"row_filter": "(" * 100_000 + "id = 1" + ")" * 100_000}, errors.FrazilError, ""),
        ({"row_filter": 7}, errors.InvalidArgumentError, "row_filter"),
        ({"row_filter": "c is nan"}, errors.InvalidArgumentError, "c"),
        ({"row_filter": "c.d = 1"}, errors.InvalidArgumentError, "c.d"),
        ({"selected_fields": ("id", "valeu")}, errors.InvalidArgumentError, "valeu"),
        ({"selected_fields": ("idd",)}, errors.InvalidArgumentError, "did you mean"),
        ({"selected_fields": "id"}, errors.InvalidArgumentError, "sequence"),
        ({"selected_fields": ("_nothing",)}, errors.InvalidArgumentError, "_nothing"),
        ({"ref": "mian"}, errors.NoSuchSnapshotError, "mian"),
        ({"snapshot_id": 17}, errors.NoSuchSnapshotError, "17"),
        ({"as_of": 0}, errors.NoSuchSnapshotError, ""),
        ({"snapshot_id": 17, "ref": "main"}, errors.InvalidArgumentError, "exclusive"),
        ({"ref": "main", "as_of": 10**13}, errors.InvalidArgumentError, "exclusive"),
        ({"limit": -1}, errors.InvalidArgumentError, "limit"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_invalid_scan_arguments_are_explained(
    table: Table, arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        table.scan(**arguments)
    assert text in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**64, "1", 1.5, True])
def test_a_wrong_snapshot_id_is_a_typed_error(table: Table, value: Any) -> None:
    with pytest.raises(frazil.FrazilError):
        table.scan(snapshot_id=value)


@pytest.mark.parametrize("argument", ["snapshot_id", "as_of", "limit"])
def test_strings_are_rejected_as_numbers(table: Table, argument: str) -> None:
    arguments: dict[str, Any] = {argument: "1"}
    with pytest.raises(errors.InvalidArgumentError, match=f"{argument} is '1'"):
        table.scan(**arguments)


@pytest.mark.parametrize("value", [2**63, 2**64, "1", 1.5])
def test_a_wrong_limit_is_a_typed_error(table: Table, value: Any) -> None:
    try:
        rows = table.scan(limit=value).to_arrow()
    except frazil.FrazilError:
        return
    assert rows.num_rows == table.scan().count()


def test_a_moment_before_the_table_has_no_snapshot(table: Table) -> None:
    first = table.history()[0].timestamp_ms
    assert table.scan(as_of=first).snapshot_id == table.history()[0].snapshot_id
    with pytest.raises(errors.NoSuchSnapshotError):
        table.scan(as_of=first - 1)


def test_a_range_of_appends_needs_an_ancestor(table: Table) -> None:
    with pytest.raises(errors.NoSuchSnapshotError):
        table.incremental_append_scan(to_snapshot_id_inclusive=17)
    with pytest.raises((errors.InvalidArgumentError, errors.NoSuchSnapshotError)):
        table.incremental_append_scan(from_snapshot_id_exclusive=17)
    first, last = table.history()[0].snapshot_id, table.history()[-1].snapshot_id
    with pytest.raises(errors.InvalidArgumentError):
        table.incremental_append_scan(from_snapshot_id_exclusive=last, to_snapshot_id_inclusive=first)


def test_load_table_fails_without_a_table(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place in (tmp_path, tmp_path / "missing", tmp_path / "file", tmp_path / "missing.metadata.json"):
        with pytest.raises(errors.FrazilError) as caught:
            frazil.load_table(str(place))
        assert isinstance(caught.value, errors.NoSuchTableError | errors.MissingFileError)
        assert place.name in str(caught.value)


def test_an_unknown_format_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="delta"):
        frazil.load_table(str(tmp_path), format="delta")


@pytest.mark.parametrize("version", [4, 99, 0, -1, "2", None])
def test_an_unknown_format_version_is_refused(tmp_path: Path, version: Any) -> None:
    copy = Copy(NAME, tmp_path)
    copy.edit_metadata(lambda content: content.update({"format-version": version}))
    with pytest.raises((errors.UnsupportedError, errors.CorruptMetadataError)) as caught:
        copy.open()
    if version in {4, 99}:
        assert isinstance(caught.value, errors.UnsupportedError)
        assert str(version) in str(caught.value)


def test_another_table_at_the_place_is_not_taken_for_this_one(tmp_path: Path) -> None:
    copy = Copy(NAME, tmp_path)
    table = copy.open()
    assert table.refresh().uuid == table.uuid
    copy.edit_metadata(lambda content: content.update({"table-uuid": "00000000-0000-4000-8000-000000000000"}))
    with pytest.raises(errors.FrazilError, match="replaced"):
        table.refresh()


def test_a_missing_data_file_is_a_file_not_found_error(tmp_path: Path) -> None:
    copy = Copy(NAME, tmp_path)
    missing = copy.file()
    missing.unlink()
    with pytest.raises(FileNotFoundError) as caught:
        copy.open().scan().to_arrow()
    assert isinstance(caught.value, errors.MissingFileError)
    assert missing.name in str(caught.value)
    assert missing.name in str(caught.value.filename)


def test_errors_survive_pickling(table: Table) -> None:
    with pytest.raises(errors.InvalidArgumentError) as caught:
        table.scan("idd > 3")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - written a moment ago
    assert type(again) is errors.InvalidArgumentError
    assert (str(again), again.context, again.hint) == (
        str(caught.value),
        caught.value.context,
        caught.value.hint,
    )
