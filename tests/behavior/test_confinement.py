"""Tests that a table reads only its own files. Paths outside of it are rejected before any file is opened."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import frazil
from frazil import errors
from support.cases import GOLDEN
from support.copies import Copy, live

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "del_pos_file_parquet_part"


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(NAME, tmp_path)


@pytest.fixture
def outside(copy: Copy, tmp_path: Path) -> Path:
    """Move an intact data file out of the folder of its table."""
    found = tmp_path / "outside.parquet"
    shutil.copyfile(copy.file(), found)
    return found


@pytest.fixture
def allowed() -> Iterator[list[str]]:
    before = list(frazil.config.allowed_locations)
    yield frazil.config.allowed_locations
    frazil.config.allowed_locations = before


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}", "FILE:{}", "file://localhost{}"])
def test_a_data_file_outside_is_refused(copy: Copy, outside: Path, form: str) -> None:
    path = form.format(outside)
    copy.edit_file(lambda file: file.update(file_path=path))
    with pytest.raises(errors.PathNotAllowedError, match="outside"):
        copy.open().scan().to_arrow()


def test_a_place_that_was_allowed_is_read(copy: Copy, outside: Path, allowed: list[str]) -> None:
    rows = copy.open().scan().count()
    copy.edit_file(lambda file: file.update(file_path=str(outside)))
    allowed.append(str(outside.parent))
    assert copy.open().scan().to_arrow().num_rows >= rows


@pytest.mark.parametrize(
    "path",
    [
        "{location}/../../outside.parquet",
        "{location}/data/../../outside.parquet",
        "{location}/%2e%2e/outside.parquet",
        "file:{location}/../outside.parquet",
        "../outside.parquet",
        "http://169.254.169.254/latest/meta-data/outside.parquet",
        "http://[fe80::1]/outside.parquet",
        "http://metadata.google.internal/outside.parquet",
        "https://example.invalid/outside.parquet",
        "s3://bucket/outside.parquet",
        "hdfs://nn/outside.parquet",
        "ftp://host/outside.parquet",
        "//host/share/outside.parquet",
        "{location}-sibling/outside.parquet",
        "/proc/self/environ",
        "/dev/zero",
        "",
        "\x00",
    ],
)
def test_a_path_that_climbs_out_is_refused(copy: Copy, outside: Path, path: str) -> None:
    del outside
    path = path.format(location=copy.location)
    copy.edit_file(lambda file: file.update(file_path=path))
    with pytest.raises(
        (errors.PathNotAllowedError, errors.MissingFileError, errors.CorruptManifestError, errors.UnsupportedError)
    ):
        copy.open().scan().to_arrow()


@pytest.mark.parametrize("content", [0, 1], ids=["data", "deletes"])
def test_a_link_out_is_refused(copy: Copy, tmp_path: Path, content: int) -> None:
    file = copy.file(content)
    target = tmp_path / "target.parquet"
    file.rename(target)
    file.symlink_to(target)
    with pytest.raises(errors.PathNotAllowedError):
        copy.open().scan().to_arrow()


def test_a_linked_folder_out_is_refused(copy: Copy, tmp_path: Path) -> None:
    (copy.root / "data").rename(tmp_path / "target")
    (copy.root / "data").symlink_to(tmp_path / "target")
    with pytest.raises(errors.PathNotAllowedError):
        copy.open().scan().to_arrow()


def test_a_link_to_the_table_and_a_link_within_it_are_fine(copy: Copy, tmp_path: Path) -> None:
    rows = copy.open().scan().count()
    (tmp_path / "link").symlink_to(copy.root)
    assert frazil.load_table(str(tmp_path / "link")).scan().to_arrow().num_rows == rows
    file = copy.file()
    file.rename(file.with_name("target.parquet"))
    file.symlink_to(file.with_name("target.parquet"))
    assert copy.open().scan().to_arrow().num_rows == rows


def test_manifests_and_manifest_lists_are_confined_too(copy: Copy, tmp_path: Path) -> None:
    manifest = copy.manifests()[0]
    shutil.copyfile(manifest, tmp_path / "outside.avro")
    copy.edit_list(lambda records: records[0].update(manifest_path=str(tmp_path / "outside.avro")))
    with pytest.raises(errors.PathNotAllowedError):
        copy.open().scan().to_arrow()


def test_a_manifest_list_outside_is_refused(copy: Copy, tmp_path: Path) -> None:
    shutil.copyfile(copy.manifest_list(), tmp_path / "outside.avro")

    def move(content: dict[str, list[dict[str, object]]]) -> None:
        for snapshot in content["snapshots"]:
            snapshot["manifest-list"] = str(tmp_path / "outside.avro")

    copy.edit_metadata(move)
    with pytest.raises(errors.PathNotAllowedError):
        copy.open().scan().to_arrow()


def test_a_delete_file_outside_is_refused(copy: Copy, tmp_path: Path) -> None:
    shutil.copyfile(copy.file(1), tmp_path / "outside.parquet")
    path = str(tmp_path / "outside.parquet")
    copy.edit_manifest(lambda entries: live(entries)["data_file"].update(file_path=path), 1)
    with pytest.raises(errors.PathNotAllowedError):
        copy.open().scan().to_arrow()


def test_a_location_in_metadata_does_not_open_the_machine(copy: Copy, outside: Path) -> None:
    """Opening a folder allows access to that folder, regardless of the location in its metadata."""
    copy.edit_file(lambda file: file.update(file_path=str(outside)))
    copy.edit_metadata(lambda content: content.update(location=str(outside.parent)))
    with pytest.raises(errors.FrazilError):
        copy.open().scan().to_arrow()


def test_the_golden_tables_are_as_they_were() -> None:
    assert frazil.load_table(str(GOLDEN / "iceberg" / NAME)).scan().count() == 52
