"""Expiry of partitions, tags and consumers of Paimon tables."""

from __future__ import annotations

import datetime as dt
import json
import os
import time
import warnings
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil import errors
from frazil.paimon import _expire_partitions
from frazil.paimon._partition_time import PartitionTime
from support.paimon_garbage import garbage

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.paimon import Table

COLUMNS = {"id": "INT", "day": "STRING", "hour": "INT"}


def table_of(path: Path, days: list[str | None], **options: str) -> Table:
    table = frazil.create_table(path / "t", COLUMNS, format="paimon", partition_keys=["day", "hour"], options=options)
    table.append([{"id": place, "day": day, "hour": place % 3} for place, day in enumerate(days)])
    return table


def days(table: Table) -> list[Any]:
    return sorted((row["day"] for row in table.scan().to_arrow().to_pylist()), key=str)


@pytest.mark.parametrize(
    ("pattern", "formatter", "values", "expected"),
    [
        (None, None, {"a": "2024-01-31"}, "2024-01-31 00:00:00"),
        (None, None, {"a": "2024-1-3 4:05:06.5"}, "2024-01-03 04:05:06.500000"),
        (None, None, {"a": "20240131"}, "None"),
        (None, None, {"a": "2024-02-30"}, "None"),
        (None, None, {"a": None}, "None"),
        (None, "yyyyMMdd", {"a": "20240131"}, "2024-01-31 00:00:00"),
        (None, "yyyyMMdd", {"a": "2024-01-31"}, "None"),
        (None, "yyyy-MM-dd'T'HH:mm", {"a": "2024-01-31T05:06"}, "2024-01-31 05:06:00"),
        (None, "yyyyMMdd[ HH]", {"a": "20240131 07"}, "2024-01-31 07:00:00"),
        (None, "yyyyMMdd[ HH]", {"a": "20240131"}, "2024-01-31 00:00:00"),
        (None, "d.M.yyyy", {"a": "3.11.2024"}, "2024-11-03 00:00:00"),
        (None, "yyyy''MM", {"a": "2024'11"}, "2024-11-01 00:00:00"),
        ("$a-$b-01", None, {"a": "2024", "b": "11"}, "2024-11-01 00:00:00"),
        ("$a $b:00:00", "yyyyMMdd HH:mm:ss", {"a": "20240131", "b": "05"}, "2024-01-31 05:00:00"),
    ],
)
def test_times_of_partitions(
    pattern: str | None, formatter: str | None, values: dict[str, str | None], expected: str
) -> None:
    assert str(PartitionTime(["a", "b"], pattern, formatter).of({"b": None, **values})) == expected


@pytest.mark.parametrize(
    ("pattern", "formatter", "message"),
    [
        ("$c", None, "`\\$c`, which is not a partition column"),
        (None, "yyyy-MMM", "contains 'MMM', which is not supported"),
        (None, "eee", "contains 'eee', which is not supported"),
        (None, "yyyy[MM", "'yyyy\\[MM' is invalid"),
        (None, "dd.dd", "'dd.dd' is invalid"),
    ],
)
def test_invalid_forms_of_times(pattern: str | None, formatter: str | None, message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        PartitionTime(["a", "b"], pattern, formatter)


def test_partitions_expire_by_their_values(tmp_path: Path) -> None:
    today = dt.date.today()  # noqa: DTZ011 - as the times of partitions
    recent = str(today - dt.timedelta(days=2))
    table = table_of(tmp_path, ["2020-01-31", "2019-12-01", recent, "soon", None, "2020-01-31"])
    plan = table.expire_partitions("7 d")
    assert "not planned yet" in repr(plan)
    assert plan.partitions == (
        {"day": "2019-12-01", "hour": "1"},
        {"day": "2020-01-31", "hour": "0"},
        {"day": "2020-01-31", "hour": "2"},
    )
    assert days(table) == sorted([None, "2019-12-01", "2020-01-31", "2020-01-31", recent, "soon"], key=str)
    done = plan.apply()
    assert (done.partitions, done.snapshot_id) == (plan.partitions, table.refresh().current_snapshot().snapshot_id)
    assert days(table) == sorted([None, recent, "soon"], key=str)
    assert table.expire_partitions("7 d").apply().snapshot_id is None
    assert not garbage(tmp_path / "t")
    with pytest.raises(errors.InvalidArgumentError, match="already applied"):
        plan.apply()


def test_the_options_of_the_table_apply(tmp_path: Path) -> None:
    options = {
        "partition.expiration-time": "1 d",
        "partition.timestamp-formatter": "yyyyMMdd HH",
        "partition.timestamp-pattern": "$day 0$hour",
        "partition.expiration-max-num": "2",
    }
    with pytest.warns(UserWarning, match="expire_partitions"):
        table = table_of(tmp_path, ["20200131", "20200130", "20200129", "2020-01-28"], **options)
    assert [one["day"] for one in table.expire_partitions().apply().partitions] == ["20200129", "20200130"]
    assert days(table) == ["2020-01-28", "20200131"]
    assert table.expire_partitions(timestamp_pattern="$day", timestamp_formatter="yyyy-MM-dd").partitions == (
        {"day": "2020-01-28", "hour": "0"},
    )


def test_partitions_expire_by_their_last_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(tmp_path, ["a", "b", None])
    assert table.expire_partitions("1 d", strategy="update-time").partitions == ()
    time.sleep(0.01)
    now = dt.datetime.now()  # noqa: DTZ005 - as the times of partitions
    time.sleep(0.01)
    monkeypatch.setattr(_expire_partitions, "_now", lambda: now)
    plan = table.expire_partitions("0 ms", strategy="update-time")
    assert len(plan.partitions) == 3
    # Another writer changes a partition before the plan is applied.
    frazil.load_table(tmp_path / "t").append([{"id": 9, "day": "b", "hour": 1}])
    assert {one["day"] for one in plan.apply().partitions} == {"a", None}
    assert days(table) == ["b", "b"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs an expiration_time"),
        ({"expiration_time": "soon"}, "`expiration_time` .*soon"),
        ({"expiration_time": "1 d", "strategy": "mine"}, "strategy 'mine' is not supported"),
        ({"expiration_time": "1 d", "max_expires": 0}, "expected a positive number"),
        ({"expiration_time": 5}, "expiration_time"),
    ],
)
def test_refused_expiry_of_partitions(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    table = table_of(tmp_path, ["2020-01-31"])
    with pytest.raises(errors.FrazilError, match=message):
        table.expire_partitions(**arguments).apply()
    assert days(table) == ["2020-01-31"]


def test_partitions_with_names_of_columns_are_ambiguous(tmp_path: Path) -> None:
    table = table_of(tmp_path, ["x/hour=5"])
    with pytest.raises(errors.UnsupportedError, match="is ambiguous"):
        table.expire_partitions("1 d").apply()


def test_tables_without_partitions_are_refused(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", {"id": "INT"}, format="paimon")
    with pytest.raises(errors.InvalidArgumentError, match="has no partitions"):
        table.expire_partitions("1 d").apply()


def test_tags_expire(tmp_path: Path) -> None:
    table = table_of(tmp_path, ["a"])
    changes = table.manage_snapshots().create_tag(None, "short", time_retained="0 ms")
    changes.create_tag(None, "long", time_retained="1 d").create_tag(None, "kept").commit()
    plan = table.expire_tags()
    assert plan.tags == ("short",)
    # Another writer moves the tag before the plan is applied.
    other = table.expire_tags()
    assert other.tags == ("short",)
    table.manage_snapshots().replace_tag("short", time_retained="1 d").commit()
    assert plan.apply().tags == ()
    assert sorted(table.tags()) == ["kept", "long", "short"]
    assert table.expire_tags(dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)).apply().tags == ("kept", "long", "short")
    assert table.tags() == {}
    assert not garbage(tmp_path / "t")


def test_consumers_keep_snapshots(tmp_path: Path) -> None:
    table = table_of(tmp_path, ["a"])
    for _ in range(4):
        table.append([{"id": 1, "day": "a", "hour": 1}])
    table.manage_snapshots().set_consumer("reader", 4).set_consumer("other one", 3).commit()
    assert json.loads((tmp_path / "t/consumer/consumer-reader").read_text()) == {"nextSnapshot": 4}
    table.manage_snapshots().set_consumer("other one", 2).commit()
    assert table.inspect.consumers().to_pylist() == [
        {"consumer_id": "other one", "next_snapshot_id": 2},
        {"consumer_id": "reader", "next_snapshot_id": 4},
    ]
    expiry = table.expire_snapshots("2100-01-01T00:00:00Z", retain_min=1)
    assert expiry.snapshot_ids == (1,)
    table.manage_snapshots().remove_consumer("other one").commit()
    assert table.expire_snapshots("2100-01-01T00:00:00Z", retain_min=1).apply().snapshot_ids == (1, 2, 3)
    for change, message in [
        (lambda changes: changes.remove_consumer("other one"), "no consumer `other one`.*`reader`"),
        (lambda changes: changes.set_consumer("a/b", 1), "not a valid name"),
        (lambda changes: changes.set_consumer("c", 0), "next snapshot of a consumer is 0"),
    ]:
        with pytest.raises(errors.InvalidArgumentError, match=message):
            change(table.manage_snapshots()).commit()
    assert [path.name for path in (tmp_path / "t/consumer").iterdir()] == ["consumer-reader"]


def test_rollback_to_a_watermark(tmp_path: Path) -> None:
    table = table_of(tmp_path, ["a"])
    for watermark in (10, 20, 30):
        table.append([{"id": watermark, "day": "a", "hour": 1}], watermark=watermark)
    with pytest.raises(errors.NoSuchSnapshotError, match="not greater than 5"):
        table.rollback_to(watermark=5).apply()
    with pytest.raises(errors.InvalidArgumentError, match="only one of"):
        table.rollback_to(1, watermark=5)
    plan = table.rollback_to(watermark=25)
    assert (plan.snapshot_id, plan.snapshot_ids) == (3, (4,))
    assert plan.apply().snapshot_id == 3
    assert table.refresh().current_snapshot().watermark == 20


def test_commits_expire_tags_and_consumers_by_options(tmp_path: Path) -> None:
    options = {"tag.default-time-retained": "0 ms", "consumer.expiration-time": "1 h"}
    table = table_of(tmp_path, ["a"], **options)
    table.manage_snapshots().create_tag(None, "short").create_tag(None, "long", time_retained="9 d").commit()
    table.manage_snapshots().set_consumer("old", 1).set_consumer("new", 1).commit()
    long_ago = time.time() - 7200
    os.utime(tmp_path / "t" / "consumer" / "consumer-old", (long_ago, long_ago))
    assert sorted(table.tags()) == ["long", "short"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.append([{"id": 5, "day": "b", "hour": 1}])
    assert list(table.tags()) == ["long"]
    assert table.inspect.consumers()["consumer_id"].to_pylist() == ["new"]


@pytest.mark.parametrize(
    "option", [{"end-input.check-partition-expire": "true"}, {"partition.expiration-check-interval": "0 s"}]
)
def test_commits_expire_partitions_by_options(tmp_path: Path, option: dict[str, str]) -> None:
    table = table_of(tmp_path, ["2020-01-31", "2999-01-31"], **{"partition.expiration-time": "1 d"} | option)
    assert days(table) == ["2999-01-31"]
    table.append([{"id": 5, "day": "2020-01-30", "hour": 1}, {"id": 6, "day": None, "hour": 1}])
    assert days(table) == ["2999-01-31", None]
    kinds = [snapshot.commit_kind for snapshot in table.snapshots()]
    assert kinds == ["APPEND", "OVERWRITE", "APPEND", "OVERWRITE"]
    assert not garbage(tmp_path / "t")


def test_a_failed_expiry_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_of(tmp_path, ["a"], **{"tag.default-time-retained": "1 d"})

    def fail(*_: Any) -> None:
        message = "no access"
        raise errors.StorageError(message)

    monkeypatch.setattr(type(table), "tags", fail)
    assert table.append([{"id": 5, "day": "b", "hour": 1}]).snapshot_id == 2
    assert "were not expired: no access" in caplog.text
