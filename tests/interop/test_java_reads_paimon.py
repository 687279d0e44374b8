"""Tests in which Java reads, filters and appends to Paimon tables that frazil wrote, and frazil reads the result."""

from __future__ import annotations

import datetime as dt
import json
import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from histories.paimon.history import Compact, Write
from histories.paimon.java_process import TABLE
from histories.paimon.reads import Read, Rows
from support.canonical import canonical_rows
from support.paimon_values import FORMATS, NESTED, TYPES, values_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from frazil.paimon import Table
    from histories.paimon.oracle import Oracle

CODECS = {
    "parquet": ["zstd", "snappy", "gzip", "lz4", "none"],
    "orc": ["zstd", "snappy", "zlib", "lz4", "none"],
    "avro": ["zstd", "zstandard", "snappy", "deflate", "null"],
}


def create(
    oracle: Oracle, name: str, columns: list[tuple[str, str]], partition_keys: Sequence[str] = (), **options: Any
) -> Table:
    catalog = frazil.load_catalog("lake", type="paimon", warehouse=str(oracle.table.parent.parent))
    catalog.create_namespace_if_not_exists("db")
    keys = options.pop("primary_keys", ())
    table: Table = catalog.create_table(
        f"db.{name}", columns, partition_keys=partition_keys, primary_keys=keys, options=options
    )
    return table


def ours(table: Table) -> list[dict[str, Any]]:
    return sorted(canonical_rows(table.refresh().scan().to_arrow()), key=repr)


def theirs(oracle: Oracle) -> Rows:
    [found] = oracle.read([Read()])
    assert isinstance(found, Rows), found
    return found


def check(oracle: Oracle, table: Table) -> None:
    """Check that both read the same rows."""
    found = theirs(oracle)
    assert [name for name, _ in found.columns] == table.schema().column_names
    assert [kind for _, kind in found.columns] == [field.type for field in table.schema().fields]
    assert sorted(found.rows, key=repr) == ours(table)


def test_every_type_is_read_and_appended_to(oracle: Oracle) -> None:
    columns = [("id", "INT"), *((name, text) for name, (text, _) in TYPES.items())]
    table = create(oracle, TABLE, columns)
    given = [{"id": i, **{name: values[i] for name, (_, values) in TYPES.items()}} for i in range(2)]
    table.append(given)
    nulls = [{"id": 9, **{name: values[0] for name, (text, values) in TYPES.items() if "NOT NULL" in text}}]
    table.append(nulls)
    steps = [
        Write(("id", "whole", "name", "text"), (("+I", 100, 1, None, "of Java"), ("+I", 101, 2, None, None))),
        Write(("id", "whole", "day", "short_decimal"), (("+I", 102, 3, "2024-02-29", "1.25"),)),
    ]
    outcome = oracle.adopt(steps, TABLE)
    assert outcome.rejected == (None, None)
    assert [kind for _, kind in outcome.snapshots["main"]] == ["APPEND"] * 4
    check(oracle, table)
    assert len(ours(table)) == 6
    table.append(given)
    check(oracle, table)
    assert len(ours(table)) == 8
    assert oracle.adopt([Compact(full=True)], TABLE).rejected == (None,)
    check(oracle, table)


def test_nested_types_are_read_and_compacted(oracle: Oracle) -> None:
    columns = [("id", "INT"), *((name, text) for name, (text, _) in NESTED.items())]
    table = create(oracle, "nested", columns)
    for i in range(2):
        table.append([{"id": i, **{name: values[i] for name, (_, values) in NESTED.items()}}])
    assert oracle.adopt([], "nested").rejected == ()
    check(oracle, table)
    table.compact()
    check(oracle, table)
    assert oracle.adopt([Write(("id",), (("+I", 5),)), Compact(full=True)], "nested").rejected == (None, None)
    check(oracle, table)
    assert len(ours(table)) == 3


def check_filters(oracle: Oracle, table: Table) -> None:
    """Check that Java finds each row by the value of each column, so that statistics are correct."""
    everything = theirs(oracle)
    columns = [name for name, _ in everything.columns]
    wanted = [(name, number) for name in columns for number in range(len(everything.rows))]
    found = oracle.read([Read(equal_to_row=one) for one in wanted])
    for (name, number), rows in zip(wanted, found, strict=True):
        assert isinstance(rows, Rows), (name, rows)
        row = everything.rows[number]
        assert row in rows.rows, (name, row)
    assert table.scan().count() == len(everything.rows)


@pytest.mark.parametrize("mode", ["truncate(16)", "full", "counts", "none"])
def test_statistics_do_not_hide_rows(oracle: Oracle, mode: str) -> None:
    columns = [("id", "INT"), *((name, text) for name, (text, _) in TYPES.items())]
    name = f"s_{mode[:4]}"
    table = create(oracle, name, columns, **{"metadata.stats-mode": mode, "fields.big.stats-mode": "full"})
    for i in range(2):
        table.append([{"id": i, **{name: values[i] for name, (_, values) in TYPES.items()}}])
    assert oracle.adopt([], name).rejected == ()
    check(oracle, table)
    check_filters(oracle, table)


@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("keyed", [False, True])
def test_every_type_of_every_format_is_read_and_found(oracle: Oracle, data_format: str, keyed: bool) -> None:  # noqa: FBT001
    values = values_for(data_format) | {"blanks": ("CHAR(4)", ["a ", " b"])}
    name = f"f_{data_format}_{keyed}"
    options: dict[str, Any] = {"bucket": 1, "primary_keys": ["id", "text"]} if keyed else {}
    options |= {"file.format": data_format, "metadata.stats-mode": "full"}
    columns = [("id", "INT"), *((name, text) for name, (text, _) in values.items())]
    table = create(oracle, name, columns, **options)
    for i in range(2):
        table.append([{"id": i, **{name: found[i] for name, (_, found) in values.items()}, "text": "x" * 30 * (i + 1)}])
    nulls = {name: found[0] for name, (text, found) in values.items() if text.endswith("NOT NULL")}
    table.append([{"id": 9, **nulls, "text": "t"}])
    assert oracle.adopt([], name).rejected == ()
    check(oracle, table)
    check_filters(oracle, table)
    assert len(ours(table)) == 3
    write = Write(("id", "whole", "text", "day", "short_decimal"), (("+I", 100, 1, "of Java", "2024-02-29", "1.25"),))
    assert oracle.adopt([write], name).rejected == (None,)
    check(oracle, table)
    table.compact()
    check(oracle, table)
    check_filters(oracle, table)
    assert oracle.adopt([write, Compact(full=True)], name).rejected == (None, None)
    check(oracle, table)
    assert len(ours(table)) == 5 - keyed


@pytest.mark.parametrize("keys", [(), ("id",)])
def test_levels_of_other_formats_are_read_and_compacted(oracle: Oracle, keys: tuple[str, ...]) -> None:
    per_level = {"file.format.per.level": "0:avro,5:orc", "file.compression.per.level": "0:deflate,5:snappy"}
    options: dict[str, Any] = {"bucket": 1, "primary_keys": keys} if keys else {}
    name = f"l_{len(keys)}"
    table = create(oracle, name, [("id", "BIGINT"), ("name", "STRING"), ("code", "CHAR(3)")], **per_level, **options)
    for start in (0, 2):
        table.append([{"id": i, "name": f"n{i}", "code": "a "} for i in range(start, start + 3)])
    write = Write(("id", "name", "code"), (("+I", 7, "java", "ab"),))
    assert oracle.adopt([write], name).rejected == (None,)
    check(oracle, table)
    table.compact()
    check(oracle, table)
    check_filters(oracle, table)
    assert oracle.adopt([write, Compact(full=True)], name).rejected == (None, None)
    check(oracle, table)
    table.append([{"id": 2, "name": "again"}])
    table.compact()
    check(oracle, table)


@pytest.mark.parametrize("buckets", [None, 3])
def test_partitions_and_buckets_are_read_and_appended_to(oracle: Oracle, buckets: int | None) -> None:
    columns = [("id", "BIGINT"), ("day", "DATE"), ("region", "STRING"), ("name", "STRING")]
    options: dict[str, Any] = {} if buckets is None else {"bucket": buckets, "bucket-key": "id"}
    name = f"p_{buckets}"
    table = create(oracle, name, columns, partition_keys=["day", "region"], **options)
    regions = ["eu", "a/b=c", "", None, "éü "]
    days = [None, dt.date(2024, 2, 29), dt.date(1969, 12, 31)]
    given = [{"id": i, "day": days[i % 3], "region": regions[i % 5], "name": f"n{i}"} for i in range(20)]
    table.append(given)
    java = (("+I", 50, "2024-02-29", "eu", "java"), ("+I", 51, None, None, "j"))
    write = Write(("id", "day", "region", "name"), java)
    assert oracle.adopt([write], name).rejected == (None,)
    check(oracle, table)
    table.append([{**row, "id": row["id"] + 100} for row in given])
    check(oracle, table)
    check_filters(oracle, table)
    assert oracle.adopt([Compact(full=True), write], name).rejected == (None, None)
    check(oracle, table)
    table.append(given[:3])
    check(oracle, table)
    before = ours(table)
    table.compact()
    assert ours(table) == before
    check(oracle, table)
    check_filters(oracle, table)
    assert oracle.adopt([write, Compact(full=True)], name).rejected == (None, None)
    check(oracle, table)


@pytest.mark.parametrize(("data_format", "codec"), [(name, codec) for name, found in CODECS.items() for codec in found])
def test_every_codec_is_read(oracle: Oracle, data_format: str, codec: str) -> None:
    options = {"file.compression": codec, "file.format": data_format}
    table = create(oracle, f"c_{data_format}_{codec}", [("id", "BIGINT"), ("name", "STRING")], **options)
    table.append(pa.table({"id": range(5_000), "name": [f"{i % 100}" for i in range(5_000)]}))
    assert oracle.adopt([], table.location.rpartition("/")[2]).rejected == ()
    check(oracle, table)


def test_many_files_and_commits_are_read(oracle: Oracle) -> None:
    table = create(oracle, "many", [("id", "BIGINT NOT NULL"), ("name", "STRING")], **{"target-file-size": "5 kb"})
    for start in range(0, 15_000, 5_000):
        names = [f"{i * 7919:x}" for i in range(start, start + 5_000)]
        table.append(pa.table({"id": range(start, start + 5_000), "name": names}), watermark=start)
    assert sum(len(split.files) for split in table.scan().plan_files()) > 3
    outcome = oracle.adopt([Compact(full=True), Write(("id", "name"), (("+I", -1, "java"),))], "many")
    assert outcome.rejected == (None, None)
    check(oracle, table)
    assert table.append([{"id": -2}]).snapshot_id == outcome.snapshots["main"][-1][0] + 1
    check(oracle, table)


ENGINES: dict[str, dict[str, Any]] = {
    "deduplicate": {},
    "thin": {"data-file.thin-mode": "true"},
    "sequence": {"sequence.field": "at"},
    "descending": {"sequence.field": "at", "sequence.field.sort-order": "descending"},
    "ignore_delete": {"ignore-delete": "true"},
    "partial_update": {"merge-engine": "partial-update", "ignore-delete": "true"},
    "groups": {"merge-engine": "partial-update", "fields.at.sequence-group": "name"},
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.amount.aggregate-function": "sum",
        "fields.name.aggregate-function": "last_value",
    },
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("keys", [("id",), ("part", "id")])
def test_java_reads_and_continues_upserts(oracle: Oracle, engine: str, keys: tuple[str, ...]) -> None:
    columns = [("id", "BIGINT"), ("part", "STRING"), ("at", "INT"), ("name", "STRING"), ("amount", "DECIMAL(9, 2)")]
    name = f"u_{engine}_{len(keys)}"
    options = {"bucket": 2, "primary_keys": keys, "num-sorted-run.compaction-trigger": 3} | ENGINES[engine]
    table = create(oracle, name, columns, partition_keys=keys[:-1], **options)
    seeded = random.Random(engine)  # noqa: S311 - not a secret

    def some(count: int) -> list[dict[str, Any]]:
        kinds = (
            ["+I", "+U", "-D"]
            if engine in ("deduplicate", "thin", "sequence", "descending", "ignore_delete")
            else ["+I"]
        )
        return [
            {
                "id": seeded.randint(0, 30),
                "part": seeded.choice(["x", "y"]),
                "at": seeded.choice([None, 1, 2, 3]),
                "name": seeded.choice([None, "a", "b"]),
                "amount": Decimal(seeded.randint(-99, 99)),
                "_ROW_KIND": seeded.choice(kinds),
            }
            for _ in range(count)
        ]

    for _ in range(3):
        table.append(some(20))
    assert oracle.adopt([], name).rejected == ()
    check(oracle, table)
    write = Write(
        ("id", "part", "at", "name", "amount"), (("+I", 5, "x", 2, "java", "1.00"), ("+I", 99, "y", 1, None, None))
    )
    assert oracle.adopt([write, Compact(full=True)], name).rejected == (None, None)
    check(oracle, table)
    table.append(some(20))
    check(oracle, table)
    assert oracle.adopt([write, Compact(full=False), write], name).rejected == (None, None, None)
    check(oracle, table)
    table.append(some(3))
    check(oracle, table)
    check_filters(oracle, table)
    before = ours(table)
    assert table.compact().removed_files > 0
    assert ours(table) == before
    check(oracle, table)
    check_filters(oracle, table)
    assert oracle.adopt([write, write, Compact(full=False), write, Compact(full=True)], name).rejected == (None,) * 5
    check(oracle, table)
    table.append(some(20))
    table.compact()
    check(oracle, table)


def test_statistics_are_read(oracle: Oracle) -> None:
    """Java parses the least and greatest values by the types of their columns."""
    columns = [("id", "INT"), *((name, text) for name, (text, _) in TYPES.items())]
    table = create(oracle, "analyzed", columns)
    table.append([{"id": i, **{name: values[i] for name, (_, values) in TYPES.items()}} for i in range(2)])
    table.analyze()
    (own,) = table.inspect.statistics().to_pylist()
    assert oracle.adopt([], "analyzed").rejected == ()
    [found] = oracle.read([Read("statistics")])
    assert isinstance(found, Rows), found
    (read,) = found.rows
    assert json.loads(read.pop("colstat")) == json.loads(own.pop("colstat"))
    assert {name: int(value) for name, value in read.items()} == own
    write = Write(("id", "whole"), (("+I", 7, 1),))
    assert oracle.adopt([write], "analyzed").rejected == (None,)
    assert table.refresh().inspect.statistics().num_rows == 1


def test_manifest_entries_match_java(oracle: Oracle) -> None:
    """The same rows result in the same entries in both: keys, bounds, counts and sequence numbers."""
    columns = [("id", "INT"), *((name, text) for name, (text, _) in TYPES.items() if name in FLAT_FOR_JAVA)]
    found = []
    for name in ("ours", "theirs"):
        table = create(oracle, f"e_{name}", columns, primary_keys=["id", "text"], bucket=1, **{"write-only": "true"})
        given = [
            {"id": i, "text": "t" * 40, "whole": i, "day": dt.date(2024, 1, i + 1), "big": -i} for i in (3, 1, 2, 1)
        ]
        if name == "ours":
            table.append(given)
        else:
            values = tuple(("+I", row["id"], row["text"], row["whole"], str(row["day"]), row["big"]) for row in given)
            assert oracle.adopt([Write(("id", "text", "whole", "day", "big"), values)], f"e_{name}").rejected == (None,)
        entries = table.refresh().inspect.files().to_pylist()
        leave_out = ("file_path", "file_size_in_bytes", "creation_time")
        found.append([{key: value for key, value in entry.items() if key not in leave_out} for entry in entries])
    assert found[0] == found[1]


FLAT_FOR_JAVA = ("text", "whole", "day", "big")


@pytest.mark.parametrize("keys", [(), ("part", "id")])
def test_java_reads_and_continues_overwrites(oracle: Oracle, keys: tuple[str, ...]) -> None:
    columns = [("id", "BIGINT"), ("part", "STRING"), ("name", "STRING")]
    options: dict[str, Any] = {"bucket": 2, "primary_keys": keys} if keys else {}
    name = f"o_{len(keys)}"
    table = create(oracle, name, columns, partition_keys=["part"], **options)
    table.append([{"id": i, "part": "xyz"[i % 3], "name": "a"} for i in range(9)])
    write = Write(("id", "part", "name"), (("+I", 50, "x", "java"), ("+I", 51, "y", "java")))
    assert oracle.adopt([write, Compact(full=True)], name).rejected == (None, None)
    table.dynamic_partition_overwrite([{"id": 100, "part": "x", "name": "b"}])
    table.drop_partitions([{"part": "z"}])
    check(oracle, table)
    assert {row["part"] for row in ours(table)} == {"x", "y"}
    assert oracle.adopt([write, Compact(full=True)], name).rejected == (None, None)
    check(oracle, table)
    table.overwrite([{"id": 7, "part": "q"}])
    check(oracle, table)
    assert len(ours(table)) == 1
    table.truncate()
    check(oracle, table)
    assert ours(table) == []


@pytest.mark.parametrize("keys", [(), ("id",)])
@pytest.mark.parametrize("threshold", ["0 b", "10 mb"])
def test_file_indexes_do_not_hide_rows(oracle: Oracle, keys: tuple[str, ...], threshold: str) -> None:
    columns = [("id", "BIGINT"), ("name", "STRING"), ("n", "INT")]
    options: dict[str, Any] = {
        "file-index.bloom-filter.columns": "name",
        "file-index.bitmap.columns": "name,n",
        "file-index.bsi.columns": "n",
        "file-index.range-bitmap.columns": "n",
        "file-index.in-manifest-threshold": threshold,
    }
    name = f"i_{len(keys)}_{threshold[:2].strip()}"
    buckets = {"bucket": 1, "primary_keys": keys} if keys else {}
    table = create(oracle, name, columns, **options, **buckets)
    for first in (0, 10):
        rows = [{"id": i, "name": None if i % 4 == 0 else f"x{i % 3}", "n": i * 5 % 7} for i in range(first, first + 8)]
        table.append(rows)
    assert oracle.adopt([], name).rejected == ()
    check(oracle, table)
    check_filters(oracle, table)
    table.compact()
    check_filters(oracle, table)
    assert oracle.adopt([Write(("id", "name", "n"), (("+I", 5, "y", 3),)), Compact(full=True)], name).rejected == (
        None,
        None,
    )
    check(oracle, table)
    check_filters(oracle, table)


@pytest.mark.parametrize("keys", [(), ("part", "id")])
@pytest.mark.parametrize("strategy", ["round-robin", "specific-fs", "entropy-inject", "weight-robin"])
def test_tables_with_external_paths_are_read_and_written(
    oracle: Oracle, tmp_path: Path, strategy: str, keys: tuple[str, ...]
) -> None:
    paths = "data-file.external-paths"
    options: dict[str, Any] = {
        paths: f"file://{tmp_path}/a/, file:{tmp_path}/b",
        f"{paths}.strategy": strategy,
        f"{paths}.specific-fs": "file",
        f"{paths}.weights": "2,1",
        "file-index.bitmap.columns": "name",
        "file-index.in-manifest-threshold": "0 b",
        "bucket": 2,
    } | ({"primary_keys": keys, "changelog-producer": "input"} if keys else {"bucket-key": "id"})
    name = f"x_{strategy.replace('-', '_')}_{len(keys)}"
    table = create(oracle, name, [("id", "BIGINT"), ("part", "STRING"), ("name", "STRING")], ["part"], **options)

    def check_both() -> None:
        check(oracle, table)
        check_filters(oracle, table)
        files = table.inspect.files()["file_path"].to_pylist()
        assert all(path.startswith((f"file:{tmp_path}/a/part=", f"file:{tmp_path}/b/part=")) for path in files), files

    def some(first: int) -> list[dict[str, Any]]:
        return [{"id": i, "part": "xy"[i % 2], "name": f"n{i % 3}"} for i in range(first, first + 8)]

    table.append(some(0))
    assert oracle.adopt([], name).rejected == ()
    check_both()
    table.append(some(4))
    write = Write(("id", "part", "name"), (("+I", 1, "x", "java"), ("+I", 50, "y", "java")))
    assert oracle.adopt([write, Compact(full=True)], name).rejected == (None, None)
    check_both()
    table.append(some(6))
    table.compact()
    check_both()
    assert oracle.adopt([write, Compact(full=False), write], name).rejected == (None, None, None)
    table.drop_partitions([{"part": "y"}])
    check_both()
    assert {row["part"] for row in ours(table)} == {"x"}
