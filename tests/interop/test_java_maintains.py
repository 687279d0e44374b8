"""Tests of maintenance: frazil picks the same data files and orphan files as Iceberg (Java)."""

from __future__ import annotations

import datetime as dt
import os
import random
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from interop.test_java_expires import change
from support.garbage import path_of

if TYPE_CHECKING:
    from pathlib import Path

    from support.java import Java


def made(chance: random.Random, warehouse: Path, name: str) -> Any:
    """Return a table after random changes, partly with an earlier partition spec."""
    catalog = frazil.load_catalog(type="hadoop", warehouse=str(warehouse))
    catalog.create_namespace_if_not_exists("kept")
    table = catalog.create_table(
        f"kept.{name}",
        {"id": "long", "p": "string"},
        partition_by=["p"],
        format_version=chance.choice([2, 3]),
        properties={"write.delete.mode": chance.choice(["copy-on-write", "merge-on-read"])},
    )
    table.append([{"id": number, "p": "abc"[number % 3]} for number in range(chance.randrange(1, 200))])
    for number in range(14):
        change(chance, table)
        if number == 6 and chance.random() < 0.3:
            table.update_spec().add_field("bucket(2, id)").commit()
    return table


def drawn(chance: random.Random) -> dict[str, Any]:
    """Return random options with frazil's names."""
    options: dict[str, Any] = {}
    if chance.random() < 0.7:
        options["min_input_files"] = chance.randrange(1, 7)
    if chance.random() < 0.5:
        # The files have about 600 bytes or more.
        options["target_file_size_bytes"] = chance.choice([500, 700, 900, 2_000, 5_000])
    if chance.random() < 0.3:
        options["delete_file_threshold"] = chance.randrange(1, 3)
    if chance.random() < 0.3:
        options["delete_ratio_threshold"] = chance.choice([0.1, 0.5, 1.0])
    if chance.random() < 0.3:
        options["max_file_group_size_bytes"] = chance.choice([1_000, 2_000, 10_000])
    if chance.random() < 0.2:
        options["rewrite_all"] = True
    return options


def of_java(value: Any) -> str:
    return str(value).lower()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(20))
def test_java_writes_the_same_files_again(java: Java, warehouse: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    table, options = made(chance, warehouse, f"rewritten{seed}"), drawn(chance)
    where = chance.choice([None, None, "p = 'a'", "id > 50"])
    before = sorted(map(repr, table.scan().to_arrow().to_pylist()))
    plan = table.rewrite_data_files(where or True, **options)
    planned = (plan.input_files, plan.input_bytes)
    pairs = ", ".join(f"'{name.replace('_', '-')}', '{of_java(value)}'" for name, value in options.items())
    arguments = f", options => map({pairs})" if pairs else ""
    arguments += f', where => "{where}"' if where else ""
    name = f"java.kept.rewritten{seed}"
    # Java's own rewrite follows; frazil's plan must not depend on it.
    result = java.sql(f"call java.system.rewrite_data_files(table => '{name}'{arguments})").to_pylist()[0]
    assert (result["rewritten_data_files_count"], result["rewritten_bytes_count"]) == planned
    after = table.refresh()
    assert sorted(map(repr, after.scan().to_arrow().to_pylist())) == before
    after.rewrite_data_files(rewrite_all=True).apply()
    java.sql(f"refresh table {name}")
    assert sorted(map(repr, java.sql(f"table {name}").to_pylist())) == before
    # Files of an earlier spec may now share their partition with another new file.
    after.rewrite_data_files(min_input_files=2).apply()
    assert after.rewrite_data_files(min_input_files=2).input_files == 0


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(10))
def test_java_finds_the_same_orphans(java: Java, warehouse: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    table = made(chance, warehouse, f"strays{seed}")
    root = warehouse / "kept" / f"strays{seed}"
    for number in range(5):
        folder = root / chance.choice(["data", "data/p=a", "data/p=b/id_bucket=0", "metadata", "other"])
        folder.mkdir(parents=True, exist_ok=True)
        name = chance.choice([f"{number}.parquet", f"_{number}", f".{number}", f"a b {number}", f"snap-{number}.avro"])
        (folder / name).write_bytes(b"stray")
    moment = dt.datetime.now(dt.UTC) - dt.timedelta(days=5)
    for path in root.rglob("*"):
        if path.is_file() and chance.random() < 0.9:
            os.utime(path, (moment.timestamp(), moment.timestamp()))
    older_than = (dt.datetime.now(dt.UTC) - dt.timedelta(days=2)).strftime("%Y-%m-%d %H:%M:%S")
    plan = table.remove_orphan_files(older_than.replace(" ", "T") + "Z")
    found = java.sql(
        f"call java.system.remove_orphan_files(table => 'java.kept.strays{seed}', "
        f"older_than => timestamp '{older_than}', dry_run => true)"
    )
    theirs = {path_of(location) for location in found.column(0).to_pylist()}
    assert {path_of(location) for location in plan.files["location"].to_pylist()} == theirs
