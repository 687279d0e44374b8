"""Tests of beginners' mistakes: each raises a frazil error with the location and the valid choices."""

from __future__ import annotations

import datetime as dt
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import errors
from support.cases import GOLDEN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
PAIMON = GOLDEN / "paimon/g.db/cl_lookup_avro"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAZIL_HOME", str(tmp_path))


@pytest.fixture
def table(tmp_path: Path) -> Any:
    made = frazil.create_table(tmp_path / "t", SCHEMA)
    made.append([{"id": 1, "name": "a"}])
    return made


CHANGES = [
    "transaction",
    "update_spec",
    "update_sort_order",
    "update_location",
    "upgrade",
    "rewrite_data_files",
]


def test_every_change_of_an_iceberg_table_is_known_of_paimon_tables(table: Any) -> None:
    own = {name for name in dir(table) if not name.startswith("_") and callable(getattr(table, name))}
    reads = set(dir(frazil.load_table(PAIMON)))
    only_read = {
        "ancestors_of",
        "specs",
        "spec",
        "sort_order",
        "refs",
        "incremental_append_scan",
        "snapshot_as_of_timestamp",
        "snapshot_by_id",
        "snapshot_by_name",
    }
    assert not own - reads - only_read - {"open", "create"}


@pytest.mark.parametrize("name", CHANGES)
def test_paimon_tables_name_changes_that_are_not_made_yet(name: str) -> None:
    change = getattr(frazil.load_table(PAIMON), name)
    arguments = () if name == "transaction" else ([{"k": 1}],)
    with pytest.raises(errors.UnsupportedError, match=f"{name} is not supported for Paimon tables yet"):
        change(*arguments)


@pytest.mark.parametrize("module", ["pandas", "polars", "duckdb"])
def test_a_missing_library_names_the_extra(table: Any, module: str) -> None:
    code = f"""
import sys
class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == {module!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
import frazil
scan = frazil.load_table({str(table.location)!r}).scan()
try:
    scan.to_{module}(*{["t"] if module == "duckdb" else []!r})
except frazil.errors.UnsupportedError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert ran.stdout.endswith(f"which is not installed; pip install 'frazil[{module}]'\n")


def lake(folder: Path) -> Any:
    catalog = frazil.load_catalog("local", path=folder / "lake")
    catalog.create_namespace_if_not_exists("ns")
    return catalog


CATALOGS: dict[str, Callable[[Path], Any]] = {
    "local": lake,
    "sql": lambda folder: frazil.load_catalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder)),
    "hadoop": lambda folder: frazil.load_catalog("c", type="hadoop", warehouse=folder),
    "memory": lambda _: frazil.load_catalog("c", type="memory"),
    "paimon": lambda _: frazil.load_catalog("p", type="paimon", warehouse=GOLDEN / "paimon"),
}


@pytest.mark.parametrize("kind", CATALOGS)
def test_catalogs_are_pickled(tmp_path: Path, kind: str) -> None:
    catalog = CATALOGS[kind](tmp_path)
    if kind != "paimon":
        catalog.create_namespace_if_not_exists("ns")
        catalog.create_table_if_not_exists("ns.t", SCHEMA)
    again = pickle.loads(pickle.dumps(catalog))  # noqa: S301
    assert again.list_namespaces() == catalog.list_namespaces()
    assert type(again) is type(catalog)


@pytest.mark.parametrize(
    "thing",
    [
        lambda table: table.scan("id > 0"),
        lambda table: table.scan().plan(),
        lambda table: table.transaction(),
        lambda table: table.merge([{"id": 1}], ["id"]),
        lambda _: frazil.load_table(PAIMON).scan(),
        lambda _: frazil.load_table(PAIMON).scan().plan(),
    ],
)
def test_pickling_unsupported_objects_suggests_alternatives(table: Any, thing: Callable[[Any], Any]) -> None:
    with pytest.raises(errors.UnsupportedError, match="cannot be pickled"):
        pickle.dumps(thing(table))


def delta(folder: Path) -> Path:
    (folder / "d" / "_delta_log").mkdir(parents=True)
    (folder / "d" / "_delta_log" / "0.json").write_text("{}")
    return folder / "d"


def hudi(folder: Path) -> Path:
    (folder / "h" / ".hoodie").mkdir(parents=True)
    (folder / "h" / ".hoodie" / "hoodie.properties").touch()
    return folder / "h"


def file(folder: Path) -> Path:
    (folder / "f.parquet").write_bytes(b"PAR1")
    return folder / "f.parquet"


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (delta, "Delta Lake"),
        (hudi, "Hudi"),
        (file, "the location is a file"),
        (lambda folder: folder / "nothing", "nothing.*does not exist"),
        (lambda folder: folder, "its subfolders contain tables, such as 't'"),
        (lambda folder: folder / "t" / "metadata", "pass the folder of the table, perhaps '.*/t'"),
        (lambda folder: folder / "t" / "data", "pass the folder of the table, perhaps '.*/t'"),
        (lambda _: GOLDEN / "paimon" / "g.db", "its subfolders contain tables"),
        (lambda _: PAIMON / "schema", "pass the folder of the table"),
    ],
)
@pytest.mark.usefixtures("table")
def test_error_for_a_location_without_a_table_describes_its_contents(
    tmp_path: Path, location: Callable[[Path], Path], expected: str
) -> None:
    place = location(tmp_path)
    with pytest.raises(errors.NoSuchTableError, match=f"(?s){expected}") as caught:
        frazil.load_table(place)
    assert str(place) in str(caught.value)


@pytest.mark.parametrize("wrong", [None, 5, ["t"]])
def test_a_location_is_a_path(wrong: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="location"):
        frazil.load_table(wrong)


@pytest.mark.usefixtures("table")
def test_a_table_that_exists_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.AlreadyExistsError, match=str(tmp_path / "t")):
        frazil.create_table(tmp_path / "t", SCHEMA)
    lake(tmp_path).create_table("ns.t", SCHEMA)
    with pytest.raises(errors.AlreadyExistsError, match=r"'ns\.t'.*load_table"):
        lake(tmp_path).create_table("ns.t", SCHEMA)


def test_a_warehouse_that_is_missing_is_named(tmp_path: Path) -> None:
    catalog = frazil.load_catalog("c", type="paimon", warehouse=tmp_path / "nowhere")
    assert catalog.list_namespaces() == []
    with pytest.raises(errors.MissingFileError, match=str(tmp_path / "nowhere")):
        catalog.list_tables("db")
    (tmp_path / "file").touch()
    with pytest.raises(errors.MissingFileError, match="is not a folder"):
        frazil.load_catalog("c", type="hadoop", warehouse=tmp_path / "file")
    with pytest.raises(errors.MissingFileError, match=str(tmp_path / "no.db")):
        frazil.load_catalog("c", uri=f"sqlite:///{tmp_path}/no.db").list_namespaces()


def test_an_unknown_catalog_lists_those_that_are_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yaml")
    (tmp_path / ".frazil.yaml").write_text("catalog: {prod: {warehouse: /x}, dev: {path: /y}}")
    monkeypatch.setenv("FRAZIL_CATALOG__TEST_LAKE__PATH", "/z")
    with pytest.raises(errors.InvalidArgumentError, match=r"'prdo'.*'dev', 'prod', 'test-lake'"):
        frazil.load_catalog("prdo")
    (tmp_path / ".frazil.yaml").write_text("catalog: {prod: {warehouse: /x}")
    with pytest.raises(errors.InvalidArgumentError, match=f"{tmp_path}/.frazil.yaml is not valid YAML.*line 1"):
        frazil.load_catalog("prod")


WRONG_MOMENTS = ["2024-01-01", "2024-01-01T00:00:00", "yesterday", "1700000000000", dt.date(2030, 1, 1), 1.5, True]


@pytest.mark.parametrize("moment", WRONG_MOMENTS)
def test_timestamp_without_a_zone_is_rejected_with_a_hint(table: Any, moment: Any) -> None:
    for opened in (table, frazil.load_table(PAIMON)):
        with pytest.raises(errors.InvalidArgumentError, match=r"as_of.*(zone|expected milliseconds)"):
            opened.scan(as_of=moment)


@pytest.mark.parametrize("moment", ["2100-01-01T00:00:00Z", "2100-01-01T00:00:00+01:00", "2100-01-01 00:00+00:00"])
def test_a_moment_is_text_of_iso_8601(table: Any, moment: str) -> None:
    assert table.scan(as_of=moment).count() == 1
    assert frazil.load_table(PAIMON).scan(as_of=moment).count() == 5


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda t: frazil.load_table(t.location, format="delta"), "iceberg, paimon"),
        (
            lambda t: frazil.load_table(t.location, storage={"write.format.default": "orc"}),
            "` is a table property, not a storage option",
        ),
        (lambda t: frazil.load_table(t.location, relocate="/x"), "mapping"),
        (lambda t: t.scan(case_sensitive="no"), "True or False"),
        (lambda t: t.scan().to_duckdb(5), "table_name"),
        (lambda t: t.scan().to_duckdb("t", "x"), "DuckDB connection, not str"),
        (lambda t: t.scan(snapshot_id="5"), "an integer"),
        (lambda t: t.scan(ref="nope"), "`main`"),
        (lambda t: t.set_properties({"write.format.default": "csv"}), "parquet, orc, avro"),
        (lambda _: frazil.load_catalog("c", type="sqlite"), "hadoop, local, memory, paimon, rest, sql"),
    ],
)
def test_a_wrong_value_names_the_choices(table: Any, call: Callable[[Any], Any], expected: str) -> None:
    with pytest.raises((errors.InvalidArgumentError, errors.NoSuchSnapshotError), match=expected):
        call(table)


@pytest.mark.parametrize("name", ["file", "new.metadata.json"])
def test_the_location_of_a_new_table_is_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(errors.InvalidArgumentError, match="must be a folder, not a file"):
        frazil.create_table(tmp_path / name, SCHEMA)


@pytest.mark.parametrize("wrong", [5, [5], [""], None])
def test_allowed_locations_of_the_process_are_paths(wrong: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="allowed_locations must be"):
        frazil.config.allowed_locations = wrong


def test_properties_of_a_catalog_are_passed_one_by_one() -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"load_catalog\(name, \*\*properties\)"):
        frazil.load_catalog("c", properties={"path": "x"})


@pytest.mark.parametrize("kind", ["local", "sql", "memory"])
def test_a_table_or_namespace_that_is_missing_lists_the_others(tmp_path: Path, kind: str) -> None:
    catalog = CATALOGS[kind](tmp_path)
    catalog.create_namespace_if_not_exists("ns")
    catalog.create_table("ns.orders", SCHEMA)
    for call in (catalog.load_table, catalog.drop_table, lambda name: catalog.rename_table(name, "ns.other")):
        with pytest.raises(errors.NoSuchTableError, match=r"has no table 'ns\.order'; existing names: 'ns\.orders'"):
            call("ns.order")
    with pytest.raises(errors.NoSuchNamespaceError, match=r"has no namespace 'nss'; existing names: 'ns'"):
        catalog.list_tables("nss")
