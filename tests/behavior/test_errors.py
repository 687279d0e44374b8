"""What a wrong call says: a class that can be caught, and a message that helps."""

from __future__ import annotations

import datetime as dt
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
        ({"row_filter": "idd > 3"}, errors.InvalidArgument, "did you mean"),
        ({"row_filter": "nothing_like_it > 3"}, errors.InvalidArgument, "nothing_like_it"),
        ({"row_filter": "ID > 3"}, errors.InvalidArgument, "id"),
        ({"row_filter": "id > 'abc'"}, errors.InvalidArgument, "abc"),
        ({"row_filter": "id > "}, errors.InvalidArgument, ""),
        ({"row_filter": "id = 1; drop table t"}, errors.InvalidArgument, ""),
        ({"row_filter": "(" * 100_000 + "id = 1" + ")" * 100_000}, errors.FrazilError, ""),
        ({"row_filter": 7}, errors.InvalidArgument, "row_filter"),
        ({"row_filter": "c is nan"}, errors.InvalidArgument, "c"),
        ({"row_filter": "c.d = 1"}, errors.InvalidArgument, "c.d"),
        ({"selected_fields": ("id", "valeu")}, errors.InvalidArgument, "valeu"),
        ({"selected_fields": ("idd",)}, errors.InvalidArgument, "did you mean"),
        ({"selected_fields": "id"}, errors.InvalidArgument, "sequence"),
        ({"selected_fields": ("_nothing",)}, errors.InvalidArgument, "_nothing"),
        ({"ref": "mian"}, errors.NoSuchSnapshot, "mian"),
        ({"snapshot_id": 17}, errors.NoSuchSnapshot, "17"),
        ({"as_of": 0}, errors.NoSuchSnapshot, ""),
        ({"snapshot_id": 17, "ref": "main"}, errors.InvalidArgument, "exclude"),
        ({"ref": "main", "as_of": 10**13}, errors.InvalidArgument, "exclude"),
        ({"as_of": dt.datetime(2024, 1, 1)}, errors.InvalidArgument, "time zone"),  # noqa: DTZ001 - the mistake
        ({"limit": -1}, errors.InvalidArgument, "limit"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_a_wrong_scan_says_what_is_wrong(
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
def test_text_is_no_number(table: Table, argument: str) -> None:
    arguments: dict[str, Any] = {argument: "1"}
    with pytest.raises(errors.InvalidArgument, match=f"{argument} is '1'"):
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
    with pytest.raises(errors.NoSuchSnapshot):
        table.scan(as_of=first - 1)


def test_a_range_of_appends_needs_an_ancestor(table: Table) -> None:
    with pytest.raises(errors.NoSuchSnapshot):
        table.incremental_append_scan(to_snapshot_id_inclusive=17)
    with pytest.raises((errors.InvalidArgument, errors.NoSuchSnapshot)):
        table.incremental_append_scan(from_snapshot_id_exclusive=17)
    first, last = table.history()[0].snapshot_id, table.history()[-1].snapshot_id
    with pytest.raises(errors.InvalidArgument):
        table.incremental_append_scan(from_snapshot_id_exclusive=last, to_snapshot_id_inclusive=first)


def test_no_table_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place in (tmp_path, tmp_path / "missing", tmp_path / "file", tmp_path / "missing.metadata.json"):
        with pytest.raises(errors.FrazilError) as caught:
            frazil.load_table(str(place))
        assert isinstance(caught.value, errors.NoSuchTable | errors.MissingFile)
        assert place.name in str(caught.value)


def test_an_unknown_format_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgument, match="delta"):
        frazil.load_table(str(tmp_path), format="delta")


@pytest.mark.parametrize("version", [4, 99, 0, -1, "2", None])
def test_an_unknown_format_version_is_refused(tmp_path: Path, version: Any) -> None:
    copy = Copy(NAME, tmp_path)
    copy.edit_metadata(lambda content: content.update({"format-version": version}))
    with pytest.raises((errors.Unsupported, errors.CorruptMetadata)) as caught:
        copy.open()
    if version in {4, 99}:
        assert isinstance(caught.value, errors.Unsupported)
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
    assert isinstance(caught.value, errors.MissingFile)
    assert missing.name in str(caught.value)
    assert missing.name in str(caught.value.filename)


def test_errors_survive_pickling(table: Table) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        table.scan("idd > 3")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - written a moment ago
    assert type(again) is errors.InvalidArgument
    assert (str(again), again.context, again.hint) == (
        str(caught.value),
        caught.value.context,
        caught.value.hint,
    )
