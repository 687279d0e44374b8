"""Tests of a disk that is full or read-only: creating a table fails definitely and leaves no files."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
KINDS = ["folder", "local", "sql", "memory", "hadoop"]


def mount(place: Path, *options: str) -> bool:
    arguments = ["mount", *options, str(place)]
    try:
        return subprocess.run(arguments, capture_output=True, check=False).returncode == 0  # noqa: S603
    except OSError:
        return False


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a separate file system with 512 KiB of space."""
    place = tmp_path / "disk"
    place.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0 or not mount(place, "-t", "tmpfs", "-o", "size=512k", "tmpfs"):
        pytest.skip("mounting needs root on Linux")
    yield place
    subprocess.run(["umount", str(place)], check=True)  # noqa: S603, S607


def fill(place: Path) -> None:
    """Fill the file system without creating further files."""
    with (place / "filler").open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass


def creator(kind: str, place: Path) -> Callable[[], Any]:
    """Return a function that creates a table, in a catalog that is created first."""
    properties: dict[str, dict[str, str]] = {
        "local": {"path": f"{place}/lake"},
        "sql": {"uri": f"sqlite:///{place}/catalog.db", "warehouse": f"{place}/wh"},
        "memory": {"type": "memory", "warehouse": f"{place}/wh"},
        "hadoop": {"type": "hadoop", "warehouse": str(place)},
    }
    if kind == "folder":
        return lambda: frazil.create_table(place / "ns" / "t", SCHEMA)

    def create() -> Any:
        catalog = frazil.load_catalog("c", **properties[kind])
        catalog.create_namespace_if_not_exists("ns")
        return catalog.create_table("ns.t", SCHEMA)

    return create


def left(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.name != "filler")


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_takes_no_table_and_keeps_nothing(disk: Path, kind: str) -> None:
    fill(disk)
    with pytest.raises((errors.StorageError, errors.CatalogError), match=r"full|space"):
        creator(kind, disk)()
    # Folders take no space in this file system, so a hadoop catalog could create the folder of its namespace.
    assert left(disk) == (["ns"] if kind == "hadoop" else [])
    (disk / "filler").unlink()
    creator(kind, disk)().append([{"id": 1}])


@pytest.mark.parametrize("kind", KINDS)
def test_a_read_only_disk_takes_no_table_and_keeps_nothing(disk: Path, kind: str) -> None:
    mount(disk, "-o", "remount,ro")
    with pytest.raises((errors.StorageError, errors.CatalogError), match=r"(?i)read-only|unable to open"):
        creator(kind, disk)()
    assert left(disk) == []


@pytest.mark.parametrize("kind", KINDS)
def test_full_or_read_only_disk_does_not_damage_existing_tables(disk: Path, kind: str) -> None:
    table = creator(kind, disk)()
    table.append([{"id": 1, "name": "a"}])
    before = left(disk)
    for harm in (lambda: fill(disk), lambda: mount(disk, "-o", "remount,ro")):
        harm()
        for change in (
            lambda: table.append([{"id": 2, "name": "b" * 100}]),
            lambda: table.set_properties({"owner": "me"}),
            lambda: table.delete("id = 1"),
        ):
            with pytest.raises(
                (errors.StorageError, errors.CatalogError), match=r"(?i)full|space|read-?only|unable to open"
            ):
                change()
        assert [path for path in left(disk) if path not in before and not (disk / path).is_dir()] == []
        assert table.refresh().scan().to_arrow().num_rows == 1
