"""Tests that a panic of native code or its dependencies raises a frazil error with the operation and table."""

from __future__ import annotations

import ctypes
import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import frazil
from frazil import _native, transforms, variant
from frazil.errors import InternalError
from frazil.files.read.parquet import ParquetFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from frazil.iceberg import Table

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


class Lying:
    """An array that claims to be a struct of two fields but has one, which makes arrow-rs panic."""

    def __arrow_c_schema__(self) -> object:
        return pa.struct([("metadata", pa.binary()), ("value", pa.binary())]).__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        del requested_schema
        values = pa.array([{"metadata": b""}], pa.struct([("metadata", pa.binary())]))
        return self.__arrow_c_schema__(), values.__arrow_c_array__()[1]


def hostile() -> pa.RecordBatch:
    """Return a row whose dictionary index has no entry, which neither pyarrow nor frazil checks."""
    names = pa.DictionaryArray.from_arrays(pa.array([100], pa.int32()), pa.array(["a"]), safe=False)
    return pa.record_batch({"id": pa.array([0], pa.int64()), "name": names})


@pytest.fixture(autouse=True)
def _as_users_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUST_BACKTRACE", raising=False)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = frazil.create_table(tmp_path / "t", SCHEMA, properties={"write.delete.mode": "merge-on-read"})
    table.append([{"id": 0, "name": "x"}])
    return table


CALLS: dict[str, Callable[[], object]] = {
    "variant": lambda: variant.to_json(Lying()),
    "transform": lambda: _native.apply_transform("bucket[4]", Lying()),
    "positions": lambda: _native.encode_positions(Lying()),
    "expression": lambda: _native.evaluate_expression("t.value", [("t", Lying())]),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_panic_while_arguments_are_imported_is_an_error(call: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InternalError, match=r"panic: assertion failed.*arrow-array.*report it") as caught:
        CALLS[call]()
    assert "arrow-array" in caught.value.context["source"]
    assert capfd.readouterr() == ("", "")


WRITES: dict[str, Callable[[Table], object]] = {
    "append": lambda table: table.append(hostile()),
    "overwrite": lambda table: table.overwrite(hostile(), "id = 0"),
    "dynamic_partition_overwrite": lambda table: table.dynamic_partition_overwrite(hostile()),
    "upsert": lambda table: table.upsert(hostile(), ["id"]),
    "merge": lambda table: table.merge(hostile(), ["id"]).when_matched_update_all().execute(),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_panic_of_a_write_names_operation_and_table_and_commits_nothing(name: str, table: Table) -> None:
    before = table.metadata_location
    with pytest.raises(InternalError, match=f"{name} of table {table.location} failed: panic: ") as caught:
        WRITES[name](table)
    error = caught.value
    assert (error.context["operation"], error.context["table"]) == (name, table.location)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - of ours
    assert table.refresh().metadata_location == before
    table.append([{"id": 5, "name": "y"}])
    assert table.scan().count() == 2


READS: dict[str, Callable[[Table], object]] = {
    "scan": lambda table: table.scan("name <> 'b'").to_arrow(),
    "delete": lambda table: table.delete("name is not null and id < 9"),
    "update": lambda table: table.update({"id": "id + 1"}),
}


@pytest.mark.parametrize("name", READS)
def test_a_panic_of_a_read_names_operation_and_table(name: str, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def batches(*arguments: Any, **options: Any) -> Iterator[Any]:
        del arguments, options
        yield 0, hostile(), 1

    monkeypatch.setattr(ParquetFile, "batches", batches)
    with pytest.raises(InternalError, match=f"{name} of table {table.location} failed: panic: "):
        READS[name](table)


class LyingSchema:
    """A schema with a list that has no element, which makes arrow-rs panic."""

    def __arrow_c_schema__(self) -> object:
        capsule = pa.schema([("a", pa.list_(pa.int64()))]).__arrow_c_schema__()
        point = ctypes.pythonapi.PyCapsule_GetPointer
        point.restype, point.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        # struct ArrowSchema: format, name, metadata, flags, n_children, children
        column = ctypes.cast(point(capsule, b"arrow_schema"), ctypes.POINTER(ctypes.c_void_p))[5]
        element = ctypes.cast(column, ctypes.POINTER(ctypes.c_void_p))[0]
        ctypes.cast(element, ctypes.POINTER(ctypes.c_int64))[4] = 0
        return capsule


def test_a_panic_of_creating_a_table_names_operation_and_table(tmp_path: Path) -> None:
    with pytest.raises(InternalError, match=r"create_table of table .*/t failed: panic: ") as caught:
        frazil.create_table(tmp_path / "t", LyingSchema())
    assert caught.value.context["operation"] == "create_table"
    assert not (tmp_path / "t").exists()


def test_a_panic_that_escaped_native_code_is_an_error_too() -> None:
    from frazil._boundary import operation

    escaped = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
    with (
        pytest.raises(InternalError, match="scan of table /t failed: panic: index out of bounds"),
        operation("scan", lambda: "/t"),
    ):
        raise escaped("index out of bounds")


def test_types_nested_without_end_are_refused() -> None:
    data_type = pa.int64()
    for _ in range(5_000):
        data_type = pa.struct([("x", data_type)])
    with pytest.raises(frazil.errors.InvalidArgumentError, match="nested more than"):
        _native.schema_json(pa.schema([("a", data_type)]))


def test_transforms_pass_pyarrow_first() -> None:
    with pytest.raises(frazil.FrazilError):
        transforms.bucket(3)(Lying())
