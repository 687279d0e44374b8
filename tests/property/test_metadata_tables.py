"""Property tests of metadata tables: pushing down filters and projections does not change the result."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frazil
from frazil import iceberg, paimon
from frazil.paimon._views import VIEWS
from support.cases import GOLDEN
from support.filters import EXAMPLES, TABLES, Column, columns_of, examples, filters, quoted, rows_of

# Binlog filters select records with several images: `tests/interop/test_system_tables.py`.
SYSTEM_TABLES = sorted({*paimon.Inspect.names()} - {"row_tracking", "binlog"})
PAIMON = (
    "d.db/path_directory_index",
    "fi.db/index_mixed_rows",
    "g.db/append_dv_parquet_b64_bucketed",
    "g.db/branches_pk",
    "g.db/cl_lookup_avro",
    "g.db/data_evolution",
    "g.db/pk_multi_key",
    "g.db/tags_pk",
    "old.db/old_0_9_0_evolved",
)


@cache
def opened(place: str) -> Any:
    return frazil.load_table(str(GOLDEN / place))


@cache
def whole(place: str, name: str) -> tuple[pa.Table, tuple[Column, ...]]:
    """Return all rows of a metadata table, and the simple columns that filters can reference."""
    data = opened(place).inspect[name].scan().to_arrow()
    # Filters of views apply to the columns of the table itself.
    labels = [label for label in data.column_names if name not in VIEWS or label != "rowkind"]
    return data, tuple(column for label in labels for column in columns_of(quoted(label), combined(data[label])))


def combined(column: pa.ChunkedArray) -> pa.Array:
    # `combine_chunks` cannot create empty arrays of UUIDs in structs.
    return column.combine_chunks() if column.num_chunks else pa.nulls(0, column.type)


def check(place: str, name: str, data: st.DataObject) -> None:
    rows, columns = whole(place, name)
    places = data.draw(st.lists(st.integers(0, len(columns) - 1), min_size=1, max_size=3, unique=True))
    chosen = data.draw(filters(tuple(columns[place] for place in places)))
    selected = data.draw(st.lists(st.sampled_from(rows.column_names), min_size=1, max_size=4, unique=True))
    found = getattr(opened(place).inspect, name)(row_filter=chosen.sql, selected_fields=selected)
    projected = rows.select(found.column_names)
    expected = [row for row, truth in zip(rows_of(projected), chosen.truths, strict=True) if truth]
    assert sorted(found.column_names) == sorted(selected)
    assert found.schema.equals(projected.schema, check_metadata=True)
    assert rows_of(found) == expected, chosen.sql
    assert opened(place).inspect[name].scan(chosen.sql).count() == len(expected), chosen.sql


@pytest.mark.parametrize("name", iceberg.Inspect.names())
@given(table=st.sampled_from(TABLES), data=st.data())
@examples(EXAMPLES * 4)
def test_metadata_tables_of_iceberg(name: str, table: str, data: st.DataObject) -> None:
    check(f"iceberg/{table}", name, data)


@pytest.mark.parametrize("name", SYSTEM_TABLES)
@given(table=st.sampled_from(PAIMON), data=st.data())
@examples(EXAMPLES * 4)
def test_system_tables_of_paimon(name: str, table: str, data: st.DataObject) -> None:
    check(f"paimon/{table}", name, data)
