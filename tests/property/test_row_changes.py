"""Property tests of row changes over the golden tables: a change applies to the rows of a scan with the same filter."""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frazil
from support.copies import Copy
from support.filters import EXAMPLES, TABLES, Filter, Whole, examples, filters, quoted, rows_of, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from frazil.iceberg import Table

MODES = ("copy-on-write", "merge-on-read")

READ_ONLY = {
    "edit_unknown_transform": "its transform is not known, so new files have no place",
    "edit_v1_inline_manifests": "its snapshot has no manifest list",
}


def copied(name: str, mode: str, folder: str) -> Table:
    copy = Copy(name, Path(folder))
    modes = {f"write.{operation}.mode": mode for operation in ("delete", "update", "merge")}
    # ORC files do not support some of the timestamps.
    modes["write.format.default"] = "parquet"
    copy.edit_metadata(lambda content: content.setdefault("properties", {}).update(modes))
    return copy.open()


def of_every_table(law: Callable[..., None]) -> Callable[..., None]:
    """Run a property test on every writable table, in both modes."""
    law = given(data=st.data())(examples(max(2, EXAMPLES // 4))(law))
    for name, values in (("name", [name for name in TABLES if name not in READ_ONLY]), ("mode", MODES)):
        law = pytest.mark.parametrize(name, values)(law)
    return law


@contextlib.contextmanager
def drawn(name: str, mode: str, data: st.DataObject) -> Iterator[tuple[Whole, Filter, Table]]:
    """Yield the rows of a table, a filter on its columns, and a copy of it."""
    table = whole(name)
    chosen = data.draw(filters(table.columns))
    with tempfile.TemporaryDirectory() as folder:
        yield table, chosen, copied(name, mode, folder)


@of_every_table
def test_delete_removes_the_rows_a_scan_returns(name: str, mode: str, data: st.DataObject) -> None:
    with drawn(name, mode, data) as (table, chosen, copy):
        gone = table.expected(chosen)
        result = copy.delete(chosen.sql)
        left = Counter(rows_of(copy.scan().to_arrow()))
        assert left == Counter(table.rows) - gone, chosen.sql
        assert result.deleted_rows == gone.total(), chosen.sql
        assert Counter(rows_of(copy.refresh().scan().to_arrow())) == left


@of_every_table
def test_updating_a_column_to_itself_preserves_rows(name: str, mode: str, data: st.DataObject) -> None:
    with drawn(name, mode, data) as (table, chosen, copy):
        lineage = ["_row_id"] if copy.format_version > 2 else []
        before = copy.scan(selected_fields=["*", *lineage]).to_arrow()
        column = data.draw(st.sampled_from(copy.schema().column_names))
        result = copy.update({column: quoted(column)}, chosen.sql)
        assert result.updated_rows == table.expected(chosen).total(), chosen.sql
        # Rows that were written before their table had row ids get one when they are rewritten.
        after = copy.scan(selected_fields=["*", *lineage]).to_arrow()
        assert Counter(rows_of(after)) == Counter(rows_of(before)), chosen.sql


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["dv_spark_avro_part", "del_pos_file_parquet_part", "nested_partitioned_v3"])
def test_rows_keep_their_ids_when_others_go(name: str, mode: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(name, mode, folder)
        columns = ["_row_id", "_last_updated_sequence_number"]
        filled = copy.schema().column_names[0]
        before = copy.scan(selected_fields=["*", *columns]).to_arrow()
        value = next(value for value in before[filled].to_pylist() if value is not None)
        copy.delete(f'"{filled}" = {value!r}')
        after = copy.scan(selected_fields=["*", *columns]).to_arrow()
        kept = before.filter(pc.fill_null(pc.not_equal(before[filled], value), fill_value=True))
        assert Counter(rows_of(after)) == Counter(rows_of(kept))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("mode", MODES)
def test_deleting_all_counts_the_rows_that_are_there(tmp_path: Path, version: int, mode: str) -> None:
    schema = pa.schema([("id", pa.int64())])
    table = frazil.create_table(tmp_path / "t", schema, format_version=version, properties={"write.delete.mode": mode})
    table.append(pa.table({"id": range(10)}))
    assert table.delete("id < 3").deleted_rows == 3
    assert table.delete().deleted_rows == 7
    assert (table.scan().count(), table.delete().snapshot_id) == (0, None)


@pytest.mark.parametrize("name", sorted(READ_ONLY))
def test_unsupported_writes_are_rejected_and_leave_the_table_unchanged(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(name, "copy-on-write", folder)
        before = copy.metadata_location
        rows = copy.scan().to_arrow()
        with pytest.raises(frazil.errors.UnsupportedError):
            copy.append(rows)
        assert copy.refresh().metadata_location == before
