"""Tests that rows of Paimon append tables are written to their partitions and buckets, with statistics."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil
from frazil import errors
from support.paimon_values import TYPES

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.paimon import Table

SCHEMA = [("id", "BIGINT"), ("day", "DATE"), ("region", "STRING")]
DAYS = [None, dt.date(2024, 2, 29), dt.date(1969, 12, 31)]


def create(folder: Path, schema: Any = SCHEMA, **arguments: Any) -> Table:
    return frazil.create_table(folder / "t", schema, format="paimon", **arguments)


def folders(folder: Path) -> set[str]:
    return {str(path.parent.relative_to(folder / "t")) for path in (folder / "t").rglob("*.parquet")}


def rows(table: Table, *scan: Any) -> list[dict[str, Any]]:
    return sorted(table.scan(*scan).to_arrow().to_pylist(), key=lambda row: row["id"])


def given(count: int, first: int = 0) -> list[dict[str, Any]]:
    regions = ["eu", "a/b=c", "", None, "éü ", "x" * 40]
    return [{"id": i, "day": DAYS[i % 3], "region": regions[i % 6]} for i in range(first, first + count)]


def test_partitions_have_folders_and_are_pruned(tmp_path: Path) -> None:
    table = create(tmp_path, partition_keys=["day", "region"])
    result = table.append(given(12))
    assert result.added_files == 6
    assert "day=19782/region=a%2Fb%3Dc/bucket-0" in folders(tmp_path)
    assert "day=__DEFAULT_PARTITION__/region=__DEFAULT_PARTITION__/bucket-0" in folders(tmp_path)
    assert rows(table) == given(12)
    assert rows(table, "day = date '2024-02-29'") == [row for row in given(12) if row["day"] == DAYS[1]]
    assert rows(table, "region is null") == [row for row in given(12) if row["region"] is None]
    assert rows(table, "region = ''") == [row for row in given(12) if row["region"] == ""]
    assert len(list(table.scan("region = 'eu'").plan_files())) == 1
    table.append(given(6, first=12))
    assert rows(table) == given(18)
    assert table.inspect.partitions().column("record_count").to_pylist() == [3] * 6


@pytest.mark.parametrize("name", TYPES)
def test_each_type_partitions(tmp_path: Path, name: str) -> None:
    text, values = TYPES[name]
    arguments: dict[str, Any] = {"schema": [("id", "INT"), ("part", text)], "partition_keys": ["part"]}
    if "BINARY" in text or "BYTES" in text:
        with pytest.raises(errors.UnsupportedError, match=r"partitioning by .* is not supported"):
            create(tmp_path, **arguments)
        assert not list(tmp_path.iterdir())
        return
    table = create(tmp_path, **arguments)
    # The name of a folder has at most 255 bytes.
    values = [value[:50] if isinstance(value, str) else value for value in values]
    expected = [{"id": i, "part": value} for i, value in enumerate(values)]
    table.append(expected)
    assert rows(table) == expected


def test_many_partitions_in_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frazil.config, "memory_limit", 1 << 20)
    table = create(tmp_path, [("id", "BIGINT"), ("part", "INT"), ("text", "STRING")], partition_keys=["part"])
    count = 60_000
    data = pa.table(
        {
            "id": range(count),
            "part": pa.array([i * 7919 % 300 for i in range(count)], pa.int32()),
            "text": [f"{i:>60}" for i in range(count)],
        }
    )
    assert table.append(data).added_files == 300
    found = table.scan().to_arrow().sort_by("id")
    assert found.equals(data.cast(found.schema))
    assert table.scan("part = 17").to_arrow()["id"].to_pylist() == [i for i in range(count) if i * 7919 % 300 == 17]


def test_rows_are_written_to_the_bucket_of_their_key(tmp_path: Path) -> None:
    table = create(tmp_path, partition_keys=["day"], options={"bucket": 3, "bucket-key": "id"})
    table.append(given(30))
    table.append(given(30, first=30))
    assert rows(table) == given(60)
    ids = table.bucket_ids(pa.table({"id": pa.array(range(60), pa.int64())})).to_pylist()
    for path in (tmp_path / "t").rglob("*.parquet"):
        found = pq.read_table(path, partitioning=None)["id"].to_pylist()
        assert {ids[i] for i in found} == {int(path.parent.name.removeprefix("bucket-"))}
    sequences: dict[Any, list[tuple[int, int]]] = {}
    for split in table.scan().plan_files():
        place = (str(split.partition), split.bucket)
        sequences.setdefault(place, []).extend(
            (file.min_sequence_number, file.max_sequence_number) for file in split.files
        )
    assert len(sequences) > 3
    for ranges in sequences.values():
        ends = [(0, -1), *sorted(ranges)]
        assert all(start == end + 1 for (_, end), (start, _) in itertools.pairwise(ends)), ranges


def stats(table: Table) -> list[tuple[str, str, str]]:
    """Return the null counts, minimums and maximums of each file, in file order."""
    found = table.inspect.files()
    names = ("null_value_counts", "min_value_stats", "max_value_stats")
    return list(zip(*(found.column(name).to_pylist() for name in names), strict=True))


def test_statistics_follow_the_modes(tmp_path: Path) -> None:
    schema = [("id", "BIGINT"), ("long", "STRING"), ("score", "DOUBLE"), ("raw", "BYTES")]
    data = [
        {"id": 1, "long": "a" * 30, "score": 0.5, "raw": b"a"},
        {"id": 2, "long": "z" * 30, "score": None, "raw": b"b"},
    ]
    modes: dict[str, dict[str, Any]] = {
        "default": {},
        "full": {"metadata.stats-mode": "full"},
        "counts": {"metadata.stats-mode": "counts"},
        "none": {"metadata.stats-mode": "none", "fields.score.stats-mode": "full"},
    }
    found = {}
    for name, options in modes.items():
        table = create(tmp_path / name, schema, options=options)
        table.append(data)
        [found[name]] = stats(table)
        assert rows(table) == data
        assert rows(table, "long = 'zzz'") == []
    a, z = "a" * 16, "z" * 15 + "{"
    assert found["default"] == (
        "{id=0, long=0, raw=0, score=1}",
        f"{{id=1, long={a}, raw=null, score=0.5}}",
        f"{{id=2, long={z}, raw=null, score=0.5}}",
    )
    assert f"long={'a' * 30}" in found["full"][1]
    assert found["counts"][:2] == (found["default"][0], "{id=null, long=null, raw=null, score=null}")
    assert found["none"][0] == "{id=null, long=null, raw=null, score=1}"


def literal(value: Any) -> str:
    match value:
        case bool() | int() | float() | Decimal():
            return f"'{value}'" if value == float("inf") else str(value)
        case str():
            return "'" + value + "'"
        case bytes():
            return f"x'{value.hex()}'"
        case dt.datetime():
            return f"timestamp '{value.isoformat(sep=' ')}'"
        case dt.date():
            return f"date '{value}'"
        case _:
            return f"'{value}'"


def test_filters_on_each_type_find_the_rows_that_match(tmp_path: Path) -> None:
    table = create(tmp_path, [("id", "INT"), *((name, text) for name, (text, _) in TYPES.items())])
    given = [{"id": i, **{name: values[i] for name, (_, values) in TYPES.items()}} for i in range(2)]
    for row in given:
        table.append([row])
    for name, (_, values) in TYPES.items():
        for value in values:
            condition = f"{name} is null" if value is None else f"{name} = {literal(value)}"
            expected = [row["id"] for row in given if row[name] == value]
            assert [row["id"] for row in rows(table, condition)] == expected, condition
            # Statistics show that the other file has no such row.
            if name not in ("fixed", "bytes", "blob") and len(expected) == 1:
                assert sum(len(split.files) for split in table.scan(condition).plan_files()) == 1, condition


def test_a_partition_with_other_buckets_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    table = create(tmp_path, options={"bucket": 2, "bucket-key": "id"})
    table.append(given(4))
    schema = tmp_path / "t" / "schema" / "schema-0"
    text = schema.read_text().replace('"bucket": "2"', '"bucket": "3"')
    assert text != schema.read_text()
    (schema.parent / "schema-1").write_text(text.replace('"id": 0,', '"id": 1,', 1))
    before = folders(tmp_path)
    with pytest.raises(errors.InvalidArgumentError, match="has 2 buckets"):
        frazil.load_table(tmp_path / "t").append(given(4))
    assert folders(tmp_path) == before
