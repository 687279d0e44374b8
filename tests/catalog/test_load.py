from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import frazil
from frazil.catalog._load import load_catalog
from frazil.catalog._settings import configured_properties
from frazil.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"warehouse": "."}, "hadoop"),
        ({"warehouse": ".", "type": "HADOOP"}, "hadoop"),
        ({"warehouse": ".", "type": "Paimon"}, "paimon"),
        ({"warehouse": ".", "metastore": "filesystem"}, "paimon"),
        ({"warehouse": "s3://bucket/wh", "s3.endpoint": "http://localhost:1"}, "hadoop"),
        ({"path": "lake"}, "local"),
        ({"type": "in-memory"}, "memory"),
    ],
)
def test_the_type_follows_from_the_properties(properties: dict[str, str], expected: str) -> None:
    assert load_catalog("c", **properties).type == expected


@pytest.mark.parametrize(
    "properties",
    [{"type": name} for name in ("hive", "glue", "dynamodb", "bigquery")] + [{"uri": "thrift://host:9083"}],
)
def test_unsupported_catalog_types_are_named(properties: dict[str, str]) -> None:
    with pytest.raises(UnsupportedError, match="yet") as caught:
        load_catalog("c", **properties)
    assert caught.value.hint == "the supported catalog types are hadoop, local, memory, paimon, rest, sql"


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, "not configured"),
        ({"type": "hadop"}, "unknown type 'hadop'"),
        ({"uri": "ftp://host"}, "cannot be determined from its"),
        ({"type": "sql"}, "'uri'"),
        ({"path": "lake", "warehouse": "."}, "of type local keeps its warehouse and its database in its own folder"),
        ({"warehouse": {"a": "b"}}, "must be a string, not a mapping"),
        ({"warehouse": ".", "relocate": "{"}, "relocate"),
        ({"warehouse": ".", "relocate": '{"a": 1}'}, "relocate"),
    ],
)
def test_properties_that_make_no_catalog(properties: dict[str, str], expected: str) -> None:
    with pytest.raises(InvalidArgumentError, match=expected):
        load_catalog("c", **properties)


@pytest.mark.parametrize("name", ["", 7])
def test_the_name_is_text(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match="name of a catalog"):
        load_catalog(name, warehouse=".")
    assert load_catalog(None, warehouse=".").name == "default"


def test_the_environment_configures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__MY_CAT__S3__ACCESS_KEY_ID", "theirs")
    monkeypatch.setenv("PYICEBERG_CATALOG__MY_CAT__WAREHOUSE", "theirs")
    monkeypatch.setenv("FRAZIL_CATALOG__MY_CAT__WAREHOUSE", "s3://ours")
    monkeypatch.setenv("FRAZIL_CATALOG__OTHER__WAREHOUSE", "other")
    monkeypatch.setenv("FRAZIL_CATALOG__MY_CAT", "no key")
    expected = {"warehouse": "s3://ours", "s3.access-key-id": "theirs"}
    assert configured_properties("my-cat") == configured_properties("MY_CAT") == expected
    assert load_catalog("my_cat", warehouse="s3://given").properties["warehouse"] == "s3://given"
    assert configured_properties("absent") == {}


def test_files_configure_after_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yaml")
    (tmp_path / ".pyiceberg.yaml").write_text(
        "catalog: {default: {uri: 'http://theirs', warehouse: theirs, s3: {endpoint: e, anonymous: true}, x: 7}}"
    )
    monkeypatch.setenv("PYICEBERG_CATALOG__DEFAULT__X", "8")
    assert configured_properties("default") == {
        "uri": "http://theirs",
        "warehouse": "theirs",
        "s3.endpoint": "e",
        "s3.anonymous": "true",
        "x": "8",
    }
    (tmp_path / ".frazil.yaml").write_text(
        "catalog:\n  Default:\n    type: hadoop\n    warehouse: .\n    relocate: {'s3://a/b.c': /d}\n    none:\n"
    )
    found = configured_properties("default")
    assert (found["type"], found["warehouse"], found["x"]) == ("hadoop", ".", "8")
    assert json.loads(found["relocate"]) == {"s3://a/b.c": "/d"}
    assert load_catalog().type == "hadoop"


def test_the_first_file_found_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yaml")
    special = tmp_path / "special"
    special.mkdir()
    for folder, place in ((tmp_path, "cwd"), (tmp_path / "home", "home"), (special, "special")):
        (folder / ".frazil.yaml").write_text(f"catalog: {{c: {{warehouse: {place}}}}}")
    assert configured_properties("c") == {"warehouse": "home"}
    monkeypatch.setenv("FRAZIL_HOME", str(special))
    assert configured_properties("c") == {"warehouse": "special"}


@pytest.mark.parametrize(
    "text",
    [
        "catalog: {c: {token: canary",
        "- canary",
        "catalog: [canary]",
        "catalog: {c: canary}",
        "catalog: {c: &a {b: *canary}}",
    ],
)
def test_a_broken_file_is_named_and_not_quoted(tmp_path: Path, text: str) -> None:
    pytest.importorskip("yaml")
    (tmp_path / ".frazil.yaml").write_text(text)
    with pytest.raises(InvalidArgumentError, match="configuration file") as caught:
        load_catalog("c")
    assert caught.value.context["file"] == ".frazil.yaml"
    assert "canary" not in str(caught.value)


def test_without_pyyaml_only_a_file_that_names_the_catalog_matters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / ".pyiceberg.yaml").write_text("catalog: {prod: {uri: http://host}}")
    assert load_catalog("local", warehouse=".").type == "hadoop"
    with pytest.raises(UnsupportedError, match="PyYAML") as caught:
        load_catalog("prod")
    assert caught.value.hint == "pip install 'frazil[yaml]'"


def test_properties_mask_secrets_in_their_repr() -> None:
    secrets = ("s3.secret-access-key", "s3.session-token", "credential", "token", "adls.account-key", "header.x")
    catalog = frazil.load_catalog("c", warehouse="s3://me:canary@b/wh?sig=canary", **dict.fromkeys(secrets, "canary"))
    assert "canary" not in repr(catalog) + str(catalog.properties) + f"{catalog.properties}"
    assert catalog.properties["token"] == "canary"  # noqa: S105


def test_importing_frazil_imports_no_database_library() -> None:
    code = "import sys, frazil; print([m for m in ('sqlalchemy', 'yaml', 'pyarrow') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"  # noqa: S603


def test_a_misspelt_property_is_answered_with_a_near_name(tmp_path: Path) -> None:
    for wrong, near in [("wharehouse", "warehouse"), ("tokenn", "token"), ("catalog_key", "catalog-key")]:
        with pytest.warns(UserWarning, match=f"unknown catalog property `{wrong}`; did you mean `{near}`"):
            frazil.load_catalog("x", type="hadoop", warehouse=str(tmp_path), **{wrong: "x"})
    frazil.load_catalog("x", type="hadoop", warehouse=str(tmp_path), owner="me", **{"s3.endpoint": "http://x"})
