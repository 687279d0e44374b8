"""Tests that storage options are arguments of a handle: never written to a table, with the same names everywhere."""

from __future__ import annotations

import inspect
import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
import frazil.paimon
from frazil import errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCHEMA = pa.schema([("id", pa.int64())])
CANARY = "AKIACANARYSECRET"
STORAGE_KEYS = [
    "s3.secret-access-key",
    "S3.Secret-Access-Key",
    "client.region",
    "gcs.oauth2.token",
    "adls.sas-token.account",
    "aws_secret_access_key",
    "google_service_account_key",
    "azure_storage_account_key",
    "fs.s3a.secret.key",
    "hadoop.fs.s3a.secret.key",
]


def in_catalog(**properties: str) -> Any:
    catalog = frazil.load_catalog("c", **properties)
    catalog.create_namespace_if_not_exists("ns")
    return catalog


CATALOGS: dict[str, Callable[[Path], Any]] = {
    "local": lambda folder: in_catalog(path=str(folder / "lake")),
    "sql": lambda folder: in_catalog(uri=f"sqlite:///{folder}/c.db", warehouse=str(folder / "wh")),
    "memory": lambda folder: in_catalog(type="memory", warehouse=str(folder / "memory")),
    "hadoop": lambda folder: in_catalog(type="hadoop", warehouse=str(folder)),
}


def setters(folder: Path) -> dict[str, Callable[[dict[str, str]], object]]:
    """Return every way to set properties of a table."""
    table = frazil.create_table(folder / "set", SCHEMA)
    made = {
        "create_table": lambda given: frazil.create_table(folder / "t", SCHEMA, properties=given),
        "set_properties": table.set_properties,
        "transaction": lambda given: in_transaction(table, given),
    }
    for name, open_catalog in CATALOGS.items():
        catalog = open_catalog(folder)
        made[name] = lambda given, catalog=catalog: catalog.create_table("ns.t", SCHEMA, properties=given)
    return made


def in_transaction(table: Any, given: dict[str, str]) -> None:
    with table.transaction() as changes:
        changes.set_properties(given)


@pytest.mark.parametrize("way", ["create_table", "set_properties", "transaction", *CATALOGS])
@pytest.mark.parametrize("key", STORAGE_KEYS)
def test_storage_options_are_rejected_as_table_properties(tmp_path: Path, way: str, key: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="is a storage option") as caught:
        setters(tmp_path)[way]({key: CANARY})
    assert CANARY not in str(caught.value)
    assert "storage={...}" in str(caught.value)
    holding = [path for path in tmp_path.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert not holding


def test_an_option_that_a_table_holds_can_be_removed(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA, properties={"owner": "me"})
    newest = tmp_path / "t/metadata/v1.metadata.json"
    newest.write_text(newest.read_text(encoding="utf-8").replace('"owner"', '"s3.secret-access-key"'), encoding="utf-8")
    table = frazil.load_table(tmp_path / "t")
    table.remove_properties("s3.secret-access-key")
    assert "s3.secret-access-key" not in frazil.load_table(tmp_path / "t").properties


def test_the_argument_is_called_storage_everywhere() -> None:
    functions = [
        frazil.load_table,
        frazil.create_table,
        frazil.paimon.format_table,
        frazil.paimon.object_table,
    ]
    for function in functions:
        assert "storage" in inspect.signature(function).parameters, function
    with pytest.raises(TypeError, match="properties"):
        frazil.load_table("/t", properties={"s3.region": "eu"})  # type: ignore[call-overload]


def again(table: Any) -> Any:
    return pickle.loads(pickle.dumps(table))  # noqa: S301 - what this test pickled


def elsewhere(folder: Path) -> dict[str, str]:
    return {"write.data.path": str(folder / "elsewhere/data")}


@pytest.mark.parametrize("name", CATALOGS)
def test_a_data_path_that_the_creator_names_is_allowed_in_its_catalog(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    catalog = CATALOGS[name](folder)
    table = catalog.create_table("ns.t", SCHEMA, properties=elsewhere(tmp_path))
    table.append([{"id": 1}])
    assert catalog.load_table("ns.t").scan().count() == 1
    assert catalog.load_table("ns.t").scan().to_arrow().num_rows == 1
    assert table.refresh().scan().to_arrow().num_rows == 1
    if name != "memory":
        assert again(table).scan().to_arrow().num_rows == 1


def test_a_data_path_that_the_creator_names_is_allowed_for_the_handle_only(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA, properties=elsewhere(tmp_path))
    table.append([{"id": 1}])
    assert table.scan().to_arrow().num_rows == 1
    assert again(table).scan().to_arrow().num_rows == 1
    # Metadata alone never grants access to a location.
    with pytest.raises(errors.PathNotAllowedError, match="allowed_locations"):
        frazil.load_table(tmp_path / "t").scan().to_arrow()
    with pytest.raises(errors.PathNotAllowedError, match="allowed_locations"):
        frazil.load_table(tmp_path / "t").append([{"id": 2}])


def test_a_data_path_that_is_set_through_a_handle_is_allowed_for_it(tmp_path: Path) -> None:
    table = frazil.create_table(tmp_path / "t", SCHEMA)
    table.append([{"id": 1}])
    table.set_properties(elsewhere(tmp_path))
    table.append([{"id": 2}])
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    assert list((tmp_path / "elsewhere/data").iterdir())


@pytest.mark.parametrize("name", [*CATALOGS, None])
@pytest.mark.parametrize("form", ["list", "text", "path"])
def test_locations_are_allowed_per_handle(tmp_path: Path, name: str | None, form: str) -> None:
    if name == "memory":
        pytest.skip("no second catalog sees its tables")
    folder = tmp_path / "c"
    folder.mkdir()
    place = tmp_path / "elsewhere"
    allowed: Any = {"list": [str(place)], "text": str(place), "path": place}[form]
    if name is None:
        frazil.create_table(folder / "t", SCHEMA, properties=elsewhere(tmp_path)).append([{"id": 1}])
        table = frazil.load_table(folder / "t", allowed_locations=allowed)
    else:
        catalog = CATALOGS[name](folder)
        catalog.create_table("ns.t", SCHEMA, properties=elsewhere(tmp_path)).append([{"id": 1}])
        given = {key: value for key, value in catalog.properties.items() if name != "local" or key != "warehouse"}
        with pytest.raises(errors.PathNotAllowedError, match="allowed_locations"):
            frazil.load_catalog("c", **given).load_table("ns.t").scan().to_arrow()
        table = frazil.load_catalog("c", **given, allowed_locations=allowed).load_table("ns.t")
    table.append([{"id": 2}])
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2]


@pytest.mark.parametrize("wrong", [[1], [""], 7, {"a": 1, 2: 3}])
def test_wrong_locations_are_refused(tmp_path: Path, wrong: Any) -> None:
    frazil.create_table(tmp_path / "t", SCHEMA)
    with pytest.raises(errors.InvalidArgumentError, match="allowed_locations"):
        frazil.load_table(tmp_path / "t", allowed_locations=wrong)
