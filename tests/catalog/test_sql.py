from __future__ import annotations

import sqlite3
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import frazil
from frazil import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Database = Callable[..., Path]

GOLDEN = Path(__file__).parents[1] / "golden" / "iceberg"

TABLES_V0 = """
    CREATE TABLE iceberg_tables (
        catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL,
        metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000),
        PRIMARY KEY (catalog_name, table_namespace, table_name))
"""
NAMESPACE_PROPERTIES = """
    CREATE TABLE iceberg_namespace_properties (
        catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255),
        property_value VARCHAR(1000), PRIMARY KEY (catalog_name, namespace, property_key))
"""

Row = tuple[str, str, str, str | None]


def metadata_file(folder: Path) -> str:
    """Return the latest metadata file of a golden table."""
    return str(max((folder / "metadata").glob("*.metadata.json"), key=lambda file: file.name))


ORDERS = metadata_file(GOLDEN / "del_pos_file_parquet_part")
OTHER = metadata_file(GOLDEN / "inc_mor")

ROWS = [
    ("gold", "a.b", "orders", ORDERS),
    ("gold", "a.b", "odd name", OTHER),
    ("gold", "a.b.c", "T4", OTHER),
    ("gold", "my_ns_1_2", "t", ORDERS),
    ("gold", "my_ns_112", "u", ORDERS),
    ("gold", "x%", "t", ORDERS),
    ("gold", "xyz.w", "t", ORDERS),
    ("gold", "", "root", ORDERS),
    ("other", "a.b", "theirs", ORDERS),
    ("other", "only.theirs", "t", ORDERS),
]
PROPERTIES = [
    ("gold", "z", "exists", "true"),
    ("gold", "a.b", "owner", "me"),
    ("gold", "a.b", "note", "é"),
    ("gold", "a.b", "nothing", None),
    ("other", "q", "exists", "true"),
]


@pytest.fixture
def database(tmp_path: Path) -> Callable[..., Path]:
    """Create a SQLite database with Java's tables in schema V0 or V1, and return its path."""

    def make(rows: Iterable[Row] = (), *, v1: bool = False, properties: Iterable[Row] = ()) -> Path:
        path = tmp_path / "catalog.db"
        with sqlite3.connect(path) as connection:
            connection.execute(TABLES_V0)
            connection.execute(NAMESPACE_PROPERTIES)
            connection.executemany("INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, NULL)", rows)
            connection.executemany("INSERT INTO iceberg_namespace_properties VALUES (?, ?, ?, ?)", properties)
            if v1:
                connection.execute("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)")
        connection.close()
        return path

    return make


@pytest.fixture(params=[False, True], ids=["V0", "V1"])
def path(request: pytest.FixtureRequest, database: Database) -> Path:
    return database(ROWS, v1=request.param, properties=PROPERTIES)


def test_namespaces_are_derived_from_tables_and_properties(path: Path) -> None:
    catalog = frazil.load_catalog("gold", uri=f"sqlite:///{path}")
    assert catalog.list_namespaces() == [("a",), ("my_ns_112",), ("my_ns_1_2",), ("x%",), ("xyz",), ("z",)]
    assert catalog.list_namespaces("a") == [("a", "b")]
    assert catalog.list_namespaces(("a", "b")) == [("a", "b", "c")]
    assert catalog.list_namespaces("x%") == []
    assert catalog.load_namespace_properties("a.b") == {"owner": "me", "note": "é"}
    assert catalog.load_namespace_properties("a") == catalog.load_namespace_properties("z") == {}
    located = frazil.load_catalog("gold", uri=f"sqlite:///{path}", warehouse="s3://wh/")
    assert located.load_namespace_properties("a.b") == {"location": "s3://wh/a/b", "owner": "me", "note": "é"}


def test_tables_are_those_of_the_catalog_and_the_whole_namespace(path: Path) -> None:
    catalog = frazil.load_catalog("gold", uri=f"sqlite:///{path}")
    assert catalog.list_tables("a.b") == [("a", "b", "odd name"), ("a", "b", "orders")]
    assert catalog.list_tables("a") == []
    assert catalog.list_tables("my_ns_1_2") == [("my_ns_1_2", "t")]
    assert catalog.list_tables(()) == [("root",)]
    assert catalog.table_exists("a.b.orders")
    assert not catalog.table_exists("a.b.theirs")
    assert not catalog.table_exists("a.b.ORDERS")
    assert not catalog.namespace_exists("only")


def test_tables_are_read_by_name(path: Path) -> None:
    catalog = frazil.load_catalog("gold", uri=f"sqlite:///{path}")
    assert catalog.load_table("a.b.orders").scan().count() == 52
    assert catalog.load_table(("a", "b", "odd name")).scan().to_arrow().num_rows == 7
    assert catalog.load_table("root").name() == ("root",)


def test_names_are_never_part_of_a_statement(path: Path) -> None:
    catalog = frazil.load_catalog("gold", uri=f"sqlite:///{path}")
    for name in ("' OR '1'='1", "x'; DROP TABLE iceberg_tables; --", "%", "_", "a%b"):
        assert not catalog.table_exists(("a.b", name))
        assert not catalog.namespace_exists((name,))
    assert frazil.load_catalog("' OR ''='", uri=f"sqlite:///{path}").list_namespaces() == []
    assert catalog.table_exists("a.b.orders")


def test_absent_names_are_typed_errors_that_know_of_other_catalogs(path: Path) -> None:
    catalog = frazil.load_catalog("mine", uri=f"sqlite:///{path}")
    with pytest.raises(errors.NoSuchTableError, match="no table") as caught:
        catalog.load_table("a.b.orders")
    assert "'gold', 'other'" in str(caught.value.hint)
    with pytest.raises(errors.NoSuchNamespaceError):
        catalog.list_tables("a.b")


def test_view_is_not_a_table(database: Database) -> None:
    path = database(ROWS[:2], v1=True)
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO iceberg_tables VALUES ('gold', 'a.b', 'seen', ?, NULL, 'VIEW')", (ORDERS,))
        connection.execute("INSERT INTO iceberg_tables VALUES ('gold', 'v', 'seen', ?, NULL, 'VIEW')", (ORDERS,))
        connection.execute("UPDATE iceberg_tables SET iceberg_type = 'TABLE' WHERE table_name = 'orders'")
    connection.close()
    catalog = frazil.load_catalog("gold", uri=f"sqlite:///{path}")
    assert catalog.list_tables("a.b") == [("a", "b", "odd name"), ("a", "b", "orders")]
    assert catalog.list_tables("v") == []
    assert not catalog.table_exists("a.b.seen")
    with pytest.raises(errors.NoSuchTableError, match="it is a view"):
        catalog.load_table("a.b.seen")


def test_reading_leaves_the_database_as_it_is(path: Path) -> None:
    before = path.read_bytes()
    catalog = frazil.load_catalog("gold", uri=f"sqlite:///{path}")
    catalog.load_table("a.b.orders").refresh()
    catalog.list_namespaces()
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["catalog.db", "home"]


@pytest.mark.parametrize("uri", ["sqlite:///{}", "jdbc:sqlite:{}", "jdbc:sqlite:file:{}", "sqlite:///file:{}?uri=true"])
def test_every_spelling_of_a_sqlite_address(database: Database, uri: str) -> None:
    path = database(ROWS)
    assert frazil.load_catalog("gold", uri=uri.format(path)).table_exists("a.b.orders")


def test_missing_database_is_not_created(tmp_path: Path) -> None:
    for uri in ("sqlite:///no.db", f"jdbc:sqlite:{tmp_path}/no.db"):
        with pytest.raises(errors.MissingFileError, match="does not exist"):
            frazil.load_catalog("gold", uri=uri).list_namespaces()
    for uri in ("sqlite://", "sqlite:///:memory:", "jdbc:sqlite::memory:"):
        with pytest.raises(errors.InvalidArgumentError, match="in-memory database"):
            frazil.load_catalog("gold", uri=uri)
    assert not list(tmp_path.glob("*.db"))


def test_a_database_without_a_catalog_is_an_error(tmp_path: Path) -> None:
    empty, other, wrong = tmp_path / "empty.db", tmp_path / "other.db", tmp_path / "wrong.db"
    empty.touch()
    other.write_text("no database at all, " * 100)
    with sqlite3.connect(wrong) as connection:
        connection.execute("CREATE TABLE iceberg_tables (catalog_name TEXT, table_name TEXT)")
    connection.close()
    for path, expected in (
        (empty, "no table iceberg_tables"),
        (other, "not a database"),
        (wrong, "no column table_namespace, metadata_location"),
    ):
        with pytest.raises(errors.CatalogError, match=expected):
            frazil.load_catalog("gold", uri=f"sqlite:///{path}").list_namespaces()


def test_a_catalog_without_namespace_properties_is_read(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as connection:
        connection.execute(TABLES_V0)
        connection.execute("INSERT INTO iceberg_tables VALUES ('gold', 'a', 't', ?, NULL)", (ORDERS,))
    connection.close()
    catalog = frazil.load_catalog("gold", uri=f"sqlite:///{path}")
    assert (catalog.list_namespaces(), catalog.load_namespace_properties("a")) == ([("a",)], {})


def test_a_row_without_a_metadata_file_is_an_error(database: Database) -> None:
    catalog = frazil.load_catalog("gold", uri=f"sqlite:///{database([('gold', 'a', 't', None)])}")
    with pytest.raises(errors.CatalogError, match="no metadata file"):
        catalog.load_table("a.t")


def test_recorded_locations_are_relocated(database: Database) -> None:
    recorded = ORDERS.replace(str(GOLDEN), "hdfs://nn:8020/wh")
    path = database([("gold", "a", "t", recorded)])
    catalog = frazil.load_catalog("gold", uri=f"sqlite:///{path}", relocate={"hdfs://nn:8020/wh": str(GOLDEN)})
    table = catalog.load_table("a.t")
    assert table.scan().count() == 52
    assert table.metadata_location == ORDERS


def test_refresh_follows_the_catalog(database: Database) -> None:
    path = database([("gold", "a", "t", ORDERS)])
    table = frazil.load_catalog("gold", uri=f"sqlite:///{path}").load_table("a.t")
    older = min((GOLDEN / "del_pos_file_parquet_part" / "metadata").glob("*.metadata.json"))
    for location, outcome in ((str(older), None), (OTHER, errors.CorruptMetadataError)):
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE iceberg_tables SET metadata_location = ?", (location,))
        connection.close()
        if outcome is None:
            assert table.refresh().metadata_location == location
        else:
            with pytest.raises(outcome, match="was replaced by table"):
                table.refresh()


def test_secrets_never_show(monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlalchemy as sa

    made: list[sa.URL] = []
    real = sa.create_engine

    def create(url: sa.URL, **_: object) -> sa.Engine:
        made.append(url)
        return real("sqlite://")

    monkeypatch.setattr(sa, "create_engine", create)
    password = "canary-password"  # noqa: S105
    catalogs = [
        frazil.load_catalog("pg", uri=f"postgresql+psycopg://me:{password}@host:5432/db"),
        frazil.load_catalog("pg", uri=f"jdbc:postgresql://host:5432/db?user=me&password={password}"),
        frazil.load_catalog(
            "pg", uri="jdbc:postgresql://host:5432/db", **{"jdbc.user": "me", "jdbc.password": password}
        ),
    ]
    assert {(url.username, url.password, url.host, url.port, url.database) for url in made} == {
        ("me", password, "host", 5432, "db")
    }
    assert not any(password in repr(catalog) + str(catalog.properties) for catalog in catalogs)
    with pytest.raises(errors.InvalidArgumentError) as caught:
        frazil.load_catalog("pg", type="sql", uri=f"://{password}@@")
    assert password not in str(caught.value)


def test_missing_driver_or_library_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.UnsupportedError, match="driver"):
        frazil.load_catalog("c", uri="mysql+nodriver://host/db")
    monkeypatch.delitem(sys.modules, "frazil.catalog._server_database", raising=False)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(errors.UnsupportedError, match="SQLAlchemy") as caught:
        frazil.load_catalog("c", uri="postgresql://host/db")
    assert caught.value.hint == "pip install 'frazil[sql]'"


def test_it_agrees_with_pyiceberg(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle = pytest.importorskip("pyiceberg.catalog.sql")
        schema = pytest.importorskip("pyiceberg.schema").Schema()
        theirs = oracle.SqlCatalog("cat", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/wh")
        for namespace in ("a", "a.b", "a_b", "azb.c", "w"):
            theirs.create_namespace(namespace, {"note": namespace})
            for table in ("t", "T", "odd name"):
                theirs.create_table((*namespace.split("."), table), schema)
        ours = frazil.load_catalog("cat", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"{tmp_path}/wh")
        try:
            for parent in ((), "a", "a.b", "a_b", "azb", "w"):
                assert ours.list_namespaces(parent) == sorted(theirs.list_namespaces(parent)), parent
            for namespace in ("a", "a.b", "a_b", "azb.c", "w"):
                expected = {k: v for k, v in theirs.load_namespace_properties(namespace).items() if k != "exists"}
                expected["location"] = "/".join((f"{tmp_path}/wh", *namespace.split(".")))
                assert ours.load_namespace_properties(namespace) == expected
                assert ours.list_tables(namespace) == sorted(theirs.list_tables(namespace))
                for name in ours.list_tables(namespace):
                    table = theirs.load_table(name)
                    assert ours.load_table(name).uuid == str(table.metadata.table_uuid)
                    assert ours.load_table(name).metadata_location.endswith(
                        table.metadata_location.removeprefix("file://")
                    )
        finally:
            theirs.engine.dispose()
