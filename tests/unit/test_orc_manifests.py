"""Tests of Paimon manifests in ORC files of the C++ library, which the C++ and the Python library of Paimon write."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import orc

import frazil
from frazil import _native

if TYPE_CHECKING:
    from pathlib import Path

CREATED = "_CREATION_TIME"


def written_as_orc(path: Path, created: Any) -> None:
    """Rewrite an Avro metadata file as ORC, with these creation times."""
    folder = str(path.parent)
    reader = _native.BatchReader(_native.Files(folder, [], [folder], {}), str(path), "AVRO")
    reader.begin(list(range(len(reader.schema()))), 1000)
    schema = reader.schema()
    batches = list(iter(reader.next_batch, None))
    table = pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()
    if "_FILE" in table.column_names:
        file = table["_FILE"].combine_chunks()
        times = pa.array([created] * len(table), pa.timestamp("us"))
        names = [field.name for field in file.type]
        fields = dict(zip(names, file.flatten(), strict=True)) | {CREATED: times}
        nested = pa.StructArray.from_arrays(list(fields.values()), names)
        table = table.set_column(table.column_names.index("_FILE"), "_FILE", nested)
    orc.write_table(table, path)


def table_with_orc_manifests(folder: Path, created: Any) -> Path:
    table = frazil.create_table(folder / "t", {"id": "bigint", "s": "string"}, format="paimon")
    table.append([{"id": 1, "s": "a"}])
    table.append([{"id": 2, "s": "b"}])
    for path in (folder / "t" / "manifest").iterdir():
        written_as_orc(path, created)
    return folder / "t"


@pytest.mark.parametrize(
    "created",
    [None, dt.datetime(1970, 1, 2), dt.datetime(2026, 11, 29, 1, 22, 25, 464000)],  # noqa: DTZ001
)
def test_tables_with_orc_manifests_of_the_cpp_library_are_read_and_written(tmp_path: Path, created: Any) -> None:
    table = frazil.load_table(table_with_orc_manifests(tmp_path, created))
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    assert table.scan("id = 2").to_arrow()["s"].to_pylist() == ["b"]
    table.append([{"id": 3}])
    table.delete("id = 1")
    assert sorted(frazil.load_table(tmp_path / "t").scan().to_arrow()["id"].to_pylist()) == [2, 3]


def test_creation_times_before_1970_in_orc_manifests_of_the_cpp_library_are_refused(tmp_path: Path) -> None:
    table = frazil.load_table(table_with_orc_manifests(tmp_path, dt.datetime(1969, 12, 31, 23, 59, 59, 500000)))  # noqa: DTZ001
    with pytest.raises(frazil.errors.UnsupportedError, match="timestamps before 1970"):
        table.scan().to_arrow()
