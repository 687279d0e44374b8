"""Tests that misspelt names of table properties raise a warning, and custom names do not."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import frazil
from frazil import _native
from frazil.iceberg._property_names import closest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCHEMA = pa.schema([("id", pa.int64())])

MISSPELT = {
    "write.parquet.compresion-codec": "write.parquet.compression-codec",
    "write.delet.mode": "write.delete.mode",
    "write.delete.mod": "write.delete.mode",
    "Write.Delete.Mode": "write.delete.mode",
    "commit.retry.num-retrys": "commit.retry.num-retries",
    "commit.retry.num_retries": "commit.retry.num-retries",
    "read.split.targetsize": "read.split.target-size",
    "history.expire.max-snapshot-age": "history.expire.max-snapshot-age-ms",
    "schema.name-mapping": "schema.name-mapping.default",
    "gc.enable": "gc.enabled",
    "encryption.keyid": "encryption.key-id",
    "write.metadata.metrics.colum.id": "write.metadata.metrics.column.id",
    "write.parquet.bloom-filter-enable.column.a.b": "write.parquet.bloom-filter-enabled.column.a.b",
}
UNKNOWN = ["write.zstd", "read.me", "commit.message", "history.x", "format-x", "schema.owner", "write."]
OF_USERS = ["owner", "my.key", "comment", "created-by", "gc", "team.write.mode", "a", "parquet", "ü.ö"]


def created(folder: Path, names: dict[str, str]) -> None:
    frazil.create_table(folder / "t", SCHEMA, properties=names)


def created_in_a_catalog(folder: Path, names: dict[str, str]) -> None:
    frazil.load_catalog("c", path=folder / "lake").create_table("t", SCHEMA, properties=names)


def set_by_the_table(folder: Path, names: dict[str, str]) -> None:
    frazil.create_table(folder / "t", SCHEMA).set_properties(names)


def set_by_name(folder: Path, names: dict[str, str]) -> None:
    frazil.create_table(folder / "t", SCHEMA).set_properties(**names)


def set_in_a_transaction(folder: Path, names: dict[str, str]) -> None:
    with frazil.create_table(folder / "t", SCHEMA).transaction() as tx:
        tx.set_properties(names)


WAYS = [created, created_in_a_catalog, set_by_the_table, set_by_name, set_in_a_transaction]


@pytest.mark.parametrize("way", WAYS)
def test_a_misspelt_name_warns_where_the_user_called(tmp_path: Path, way: Callable[..., None]) -> None:
    with pytest.warns(UserWarning, match="unknown table property") as caught:
        way(tmp_path, {"write.delet.mode": "merge-on-read", "owner": "me"})
    messages = [(str(warning.message), warning.filename) for warning in caught]
    assert messages == [("unknown table property `write.delet.mode`; did you mean `write.delete.mode`?", __file__)]


@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_name_names_the_property(tmp_path: Path, name: str) -> None:
    with pytest.warns(UserWarning, match=f"did you mean `{MISSPELT[name]}`") as caught:
        created(tmp_path, {name: "1"})
    assert len(caught) == 1
    assert frazil.load_table(tmp_path / "t").properties[name] == "1"


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_name_with_a_prefix_of_iceberg_warns(tmp_path: Path, name: str) -> None:
    with pytest.warns(UserWarning, match=f"unknown table property `{name}`; it has no effect in frazil"):
        created(tmp_path, {name: "1"})


def test_known_names_and_those_of_users_do_not_warn(tmp_path: Path) -> None:
    known = {found.key + "id" * found.is_of_column: found.default for found in _native.table_properties()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        created(tmp_path, dict.fromkeys(OF_USERS, "1"))
        table = frazil.load_table(tmp_path / "t")
        table.set_properties({name: default for name, default in known.items() if default is not None})


def test_each_property_is_found_without_one_of_its_letters() -> None:
    for known in _native.table_properties():
        column = "a.b" * known.is_of_column
        for place in range(1, len(known.key) - 1, 5):
            name = known.key[:place] + known.key[place + 1 :] + column
            if known.key[place] != "." and _native.table_property(name) is None:
                found = closest(name, 0.88)
                assert found is not None, name
