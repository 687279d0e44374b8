"""Tests that secrets of a catalog never occur in text that frazil produces."""

from __future__ import annotations

import traceback
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import frazil
from frazil.catalog._properties import Properties

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "canary-SECRET"
HARD = "canary/S@CR:ET"


def text_of(error: BaseException) -> str:
    context = str(getattr(error, "context", "")) + str(getattr(error, "hint", ""))
    return str(error) + repr(error) + context + "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    "uri",
    [
        f"postgresql://user:{CANARY}@127.0.0.1:9/db",
        f"postgresql+nodriver://user:{CANARY}@127.0.0.1:9/db",
        f"postgresql://127.0.0.1:9/db?user=u&password={CANARY}&sslpassword={CANARY}",
        f"jdbc:postgresql://127.0.0.1:9/db?user=u&password={CANARY}",
        f"jdbc:mysql://user:{CANARY}@127.0.0.1:9/db",
        f"jdbc:sqlserver://127.0.0.1:1433;user=sa;password={CANARY}",
        f"jdbc:oracle:thin:scott/{CANARY}@127.0.0.1:1521:x",
        f"jdbc:sqlite:/no/such/file.db?password={CANARY}",
        f"sqlite:///no/such/file.db?password={CANARY}",
        f"postgresql://user:{CANARY}@127.0.0.1:port/db",
        f"nothing://user:{CANARY}@host/db",
        f"https://user:{CANARY}@host/catalog",
    ],
)
@pytest.mark.parametrize("kind", ["sql", "paimon", None])
def test_addresses_of_databases_are_shown_without_their_secrets(uri: str, kind: str | None) -> None:
    pytest.importorskip("sqlalchemy")
    properties = {"type": kind, "metastore": "jdbc" if kind == "paimon" else None, "uri": uri, "jdbc.password": CANARY}
    texts = [repr(Properties({"uri": uri}))]
    with pytest.raises(frazil.FrazilError) as caught:
        texts.append(repr(frazil.load_catalog("c", **properties).list_namespaces()))
    texts.append(text_of(caught.value))
    # The frames of a traceback quote the lines of this file, which do not contain a value.
    assert not [text for text in texts if CANARY in text]


def test_driver_errors_are_redacted() -> None:
    sa = pytest.importorskip("sqlalchemy")
    from frazil.catalog._server_database import ServerDatabase

    database: Any = ServerDatabase("c", "sqlite://", {})
    url = sa.URL.create("postgresql", password=HARD, query={"sslpassword": CANARY, "n": "1"})
    database._engine = SimpleNamespace(url=url)
    said = f"no login 1 for {HARD} canary%2FS%40CR%3AET with {CANARY}"
    with pytest.raises(frazil.FrazilError) as caught, database._guarded():
        raise sa.exc.OperationalError("select 1", {}, Exception(said))
    assert "no login 1 for *** *** with ***" in str(caught.value)
    assert "canary" not in text_of(caught.value).replace(said, "")


@pytest.mark.parametrize(
    "warehouse",
    [
        f"file://user:{CANARY}@host/warehouse",
        f"s3://key:{CANARY}@bucket/warehouse",
        f"https://host/warehouse?sig={CANARY}",
        f"unknown://user:{CANARY}@host/warehouse",
    ],
)
@pytest.mark.parametrize("kind", ["hadoop", "paimon"])
def test_warehouses_are_shown_without_their_secrets(warehouse: str, kind: str) -> None:
    def ask(call: str, *names: str) -> None:
        catalog: Any = frazil.load_catalog("c", type=kind, warehouse=warehouse, **{"s3.secret-access-key": CANARY})
        texts.append(repr(catalog))
        getattr(catalog, call)(*names)

    texts: list[str] = []
    for call, *names in (("list_namespaces",), ("load_table", "a.b"), ("list_tables", "a")):
        with pytest.raises(frazil.FrazilError) as caught:
            ask(call, *names)
        texts.append(text_of(caught.value))
    assert not [text for text in texts if CANARY in text]


@pytest.mark.parametrize(
    "address",
    [
        f"user:{CANARY}@host/db",
        f"//user:{CANARY}@host/db",
        f"postgresql:user:{CANARY}@host/db",
        f"host/db?user=me&password={CANARY}",
        f"host=h password={CANARY} dbname=x",
        f"HTTPS://user:{CANARY}@host/db",
    ],
)
@pytest.mark.parametrize(
    "properties", [{"type": "sql"}, {"type": "rest"}, {"type": "hadoop"}, {"type": "paimon"}, {"type": "local"}, {}]
)
@pytest.mark.parametrize("key", ["uri", "warehouse", "path"])
def test_addresses_without_a_scheme_are_shown_without_their_secrets(
    address: str, properties: dict[str, str], key: str
) -> None:
    texts = [repr(Properties({key: address}))]
    with pytest.raises(frazil.FrazilError) as caught:
        texts.append(repr(frazil.load_catalog("c", **properties, **{key: address}).load_table("a.b")))
    texts.append(text_of(caught.value))
    assert not [text for text in texts if CANARY in text]


@pytest.mark.parametrize("kind", ["sql", "paimon"])
@pytest.mark.parametrize("place", [f"user:{CANARY}@host/t", f"s3://user:{CANARY}@b/t", f"https://h/t?sig={CANARY}"])
def test_registered_locations_are_shown_without_their_secrets(tmp_path: Path, kind: str, place: str) -> None:
    properties = {"type": kind, "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"{tmp_path}/wh"}
    catalog = frazil.load_catalog("c", **properties, metastore="jdbc")
    catalog.create_namespace("n")
    for location in (place, f"{place}/v1.metadata.json"):
        with pytest.raises(frazil.FrazilError) as caught:
            catalog.register_table("n.t", location)
        assert CANARY not in text_of(caught.value)


def test_a_token_before_a_host_is_hidden() -> None:
    assert repr(Properties({"uri": f"{CANARY}@host/db"})) == "{'uri': '***@host/db'}"


@pytest.mark.parametrize(
    "uri",
    [
        f"postgresql://me:{HARD}@host/db",
        f"jdbc:oracle:thin:me/{HARD}@host:1521:x",
        f"jdbc:sqlserver://host;password={HARD}",
        f"s3://me:{HARD}@bucket/x?y={HARD}",
    ],
)
def test_properties_hide_addresses_with_odd_passwords(uri: str) -> None:
    assert "CR:ET" not in repr(Properties({"uri": uri, "db.pwd": HARD}))
    assert "host" in repr(Properties({"uri": uri})) or "bucket" in repr(Properties({"uri": uri}))
