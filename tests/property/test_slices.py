"""Property tests of slices: for all functions of Arrow data, f(slice of data) is the slice of f(data)."""

from __future__ import annotations

import itertools
import json
import tempfile
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import frazil
from frazil import _native, transforms, variant
from frazil.files.read.avro import AvroFile
from frazil.files.read.orc import OrcFile
from frazil.files.read.parquet import ParquetFile
from frazil.files.write.writer import BATCH_ROWS
from frazil.iceberg import deletion_vector
from frazil.paimon._schema import Schema
from support.cases import GOLDEN
from support.filters import EXAMPLES, examples
from support.slices import LEAVES, array, arrays, deeply_shifted, plain, shifted, shifted_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FORMATS = ("parquet", "orc", "avro")
FEW = examples(EXAMPLES)
MANY = examples(EXAMPLES * 4)
OFFSETS = st.integers(0, 9)

FOLDER = tempfile.TemporaryDirectory()
NUMBERS = itertools.count()

ICEBERG = sorted(folder.name for folder in (GOLDEN / "iceberg").iterdir() if folder.is_dir())
PAIMON = sorted(
    str(folder.parent.relative_to(GOLDEN / "paimon")) for folder in (GOLDEN / "paimon").glob("*.db/*/schema")
)

SHIFTS: dict[str, Callable[[pa.Array, int], pa.Array]] = {"slice": shifted, "slices in structs": deeply_shifted}


def created(schema: pa.Schema, partition_by: Sequence[str] = (), **properties: str) -> frazil.iceberg.Table:
    return frazil.create_table(
        f"{FOLDER.name}/{next(NUMBERS)}", schema, partition_by=partition_by, properties=properties
    )


def rows_of(values: pa.Array, first: int = 0) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + len(values)), pa.int64()), "c": values})


def read(table: frazil.iceberg.Table) -> list[Any]:
    return plain(table.scan().to_arrow().sort_by("id")["c"])


def pieces(rows: pa.Table, by: int) -> Iterator[Any]:
    """Yield the same rows in different forms: a table with offsets, a reader of slices, a table of chunks."""
    yield pa.Table.from_batches([shifted_batch(batch, by) for batch in rows.to_batches()], rows.schema)
    yield rows.to_reader(max_chunksize=by + 1)
    yield pa.concat_tables([rows.slice(0, by), rows.slice(by)])


@pytest.mark.parametrize("file_format", FORMATS)
@FEW
@given(values=arrays(foreign=True), by=OFFSETS)
def test_slices_are_appended_as_their_copies_are(file_format: str, values: pa.Array, by: int) -> None:
    for rows in pieces(rows_of(values), by):
        table = created(rows_of(values).schema, **{"write.format.default": file_format})
        table.append(rows)
        assert read(table) == plain(values)


def _nested(values: pa.Array) -> Iterator[pa.Array]:
    """Yield values in structs, some of which are NULL, in all types that can contain a struct."""
    one = pa.StructArray.from_arrays([values], ["b"], mask=_every(4, len(values)))
    ends = pa.array(range(0, len(values) + 1, 2), pa.int32())
    yield one
    yield pa.StructArray.from_arrays([one], ["a"], mask=_every(5, len(values)))
    yield pa.ListArray.from_arrays(ends, one)
    yield pa.MapArray.from_arrays(ends, pa.array(range(len(values)), pa.int32()), one)


def _every(step: int, count: int) -> pa.Array:
    return pa.array([index % step == 2 for index in range(count)])


def test_slices_of_run_ends_are_appended_as_their_copies_are() -> None:
    values = pa.array([1, 1, None, None, 2, 2, 2, 3])
    encoded = pc.run_end_encode(values, pa.int16())
    nested = pa.StructArray.from_arrays([encoded], ["x"])
    for start in range(len(values)):
        table = created(pa.schema([("c", pa.int64()), ("s", pa.struct([("x", pa.int64())]))]))
        table.append(pa.table({"c": encoded, "s": nested}).slice(start, 4))
        found = table.scan().to_arrow()
        assert found["c"].to_pylist() == values.slice(start, 4).to_pylist()
        assert [row["x"] for row in found["s"].to_pylist()] == found["c"].to_pylist()


@pytest.mark.parametrize("data_type", [leaf for leaf, _ in LEAVES], ids=str)
@pytest.mark.parametrize("file_format", FORMATS)
def test_every_type_keeps_its_values_in_sliced_structs(file_format: str, data_type: pa.DataType) -> None:
    values = array([None if index % 3 == 1 else _value(data_type, index) for index in range(40)], data_type)
    columns = {f"c{place}": nested[:20] for place, nested in enumerate(_nested(values))}
    rows = pa.table({"id": pa.array(range(20), pa.int64()), **columns})
    table = created(rows.schema, **{"write.format.default": file_format})
    table.append(rows.slice(1, 7))
    table.append(rows.slice(8).to_reader(max_chunksize=5))
    table.append(rows.slice(0, 1))
    assert plain(table.scan().to_arrow().sort_by("id")) == plain(rows)


def _value(data_type: pa.DataType, index: int) -> Any:
    if pa.types.is_boolean(data_type):
        return index % 2 == 0
    if pa.types.is_string(data_type):
        return f"v{index}"
    if isinstance(data_type, pa.UuidType) or pa.types.is_fixed_size_binary(data_type):
        return bytes([index]) * (16 if isinstance(data_type, pa.UuidType) else data_type.byte_width)
    return b"v%d" % index if pa.types.is_binary(data_type) else index


@pytest.mark.parametrize("file_format", FORMATS)
def test_tables_longer_than_a_batch_keep_their_structs(file_format: str) -> None:
    count = BATCH_ROWS + 1000
    inner = pa.StructArray.from_arrays(
        [pa.array([index % 3 == 0 for index in range(count)]), pa.array(range(count), pa.int64())],
        ["b", "n"],
        mask=_every(4, count),
    )
    rows = pa.table({"id": range(count), "c": pa.StructArray.from_arrays([inner], ["s"], mask=_every(5, count))})
    table = created(rows.schema, **{"write.format.default": file_format})
    table.append(rows)
    assert read(table) == plain(rows["c"])


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("file_format", FORMATS)
@FEW
@given(values=arrays(rows=12), by=OFFSETS, start=st.integers(0, 11))
def test_row_changes_take_slices_as_their_copies(
    mode: str, file_format: str, values: pa.Array, by: int, start: int
) -> None:
    modes = {f"write.{operation}.mode": mode for operation in ("delete", "update", "merge")}
    table = created(rows_of(values).schema, **modes, **{"write.format.default": file_format})
    half = start % len(values)
    empty = plain(values)
    table.append(rows_of(pa.nulls(half, values.type) if half else values[:0]))
    changed = next(pieces(rows_of(values), by))
    table.upsert(changed, ["id"])
    assert read(table) == empty
    table.update({"id": "id + 1000"}, f"id >= {half}")
    assert read(table) == empty
    table.delete(f"id >= 1000 or id < {half // 2}")
    assert read(table) == empty[half // 2 : half]
    table.overwrite(changed.slice(half), "id >= 0")
    assert read(table) == empty[half:]
    table.merge(changed, ["id"]).when_matched_update_all().when_not_matched_insert_all().execute()
    assert read(table) == empty


@FEW
@given(values=arrays(rows=12), by=OFFSETS)
def test_sorted_and_partitioned_tables_take_slices_as_their_copies(values: pa.Array, by: int) -> None:
    table = created(rows_of(values).schema, ["bucket(2, id)"])
    with table.update_sort_order() as order:
        order.desc("id")
    for rows in pieces(rows_of(values), by):
        table.overwrite(rows)
        assert read(table) == plain(values)


TRANSFORMS = [transforms.identity, transforms.void, transforms.bucket(7), transforms.truncate(2), transforms.days]


@MANY
@given(values=arrays(depth=0), by=OFFSETS)
def test_transforms_of_slices_are_slices_of_transforms(values: pa.Array, by: int) -> None:
    for transform in TRANSFORMS:
        try:
            whole = transform(values)
        except frazil.errors.InvalidArgumentError:
            continue
        for start in range(len(values)):
            assert transform(values.slice(start)).equals(whole.slice(start))
        assert transform(shifted(values, by)).equals(whole)


@pytest.mark.parametrize("shift", SHIFTS)
@MANY
@given(values=arrays(), by=OFFSETS)
def test_expressions_over_slices_are_slices_of_expressions(shift: str, values: pa.Array, by: int) -> None:
    batch = pa.record_batch({"c": values, "b": pa.array(range(len(values)), pa.int32())})
    moved = pa.record_batch({"c": SHIFTS[shift](values, by), "b": shifted(batch["b"], by)})
    texts = ["t.c", "t.c is null", "case when t.b > 3 then t.c end", "coalesce(t.c, t.c)"]
    if pa.types.is_struct(values.type):
        texts += ["t.c.x", "t.c.y is not null"]
    for text in texts:
        whole = _native.evaluate_expression(text, [("t", batch)])
        assert plain(_native.evaluate_expression(text, [("t", moved)])) == plain(whole), text
        for start in range(len(values)):
            part = _native.evaluate_expression(text, [("t", batch.slice(start))])
            assert plain(part) == plain(whole.slice(start)), text


@pytest.mark.parametrize("shift", SHIFTS)
@MANY
@given(values=arrays(), by=OFFSETS)
def test_filters_of_paimon_keep_the_same_rows_of_slices(shift: str, values: pa.Array, by: int) -> None:
    assume(not any(name in str(values.type) for name in ("uuid", "fixed_size_binary", "time64")))
    batch = pa.record_batch({"c": values, "b": pa.array(range(len(values)), pa.int32())})
    schema = json.dumps(Schema.of(batch.schema).to_json())
    for text in ("b >= 3", "c is not null", "c is null or b = 1"):
        whole = _native.filter_batch(schema, text, batch, case_sensitive=True)
        moved = pa.record_batch({"c": SHIFTS[shift](values, by), "b": shifted(batch["b"], by)})
        assert plain(_native.filter_batch(schema, text, moved, case_sensitive=True).to_pylist()) == plain(
            whole.to_pylist()
        )
        for start in range(len(values)):
            part = _native.filter_batch(schema, text, batch.slice(start), case_sensitive=True)
            assert plain(part.to_pylist()) == [row for row in plain(whole.to_pylist()) if row["b"] >= start], text


@pytest.mark.parametrize("name", PAIMON)
def test_buckets_of_a_slice_are_a_slice_of_the_buckets(name: str) -> None:
    table = frazil.load_table(str(GOLDEN / "paimon" / name), format="paimon")
    rows = table.scan().to_arrow().combine_chunks().to_batches()
    try:
        whole = table.bucket_ids(rows[0]) if rows else None
    except frazil.FrazilError as error:
        pytest.skip(f"no fixed buckets: {error}")
    for start in range(rows[0].num_rows if rows else 0):
        part = shifted_batch(rows[0].slice(start), start % 9)
        assert table.bucket_ids(part).equals(whole.slice(start))


@MANY
@given(positions=st.lists(st.integers(0, 100_000), min_size=1, max_size=30), by=OFFSETS, count=st.integers(0, 30))
def test_deletion_vectors_hold_the_positions_of_a_slice(positions: list[int], by: int, count: int) -> None:
    values = shifted(pa.array(positions, pa.int64()), by)[:count]
    blob = deletion_vector.encode(values)
    assert deletion_vector.positions(blob).to_pylist() == sorted(set(positions[:count]))
    kept = deletion_vector.kept_rows(blob, 100_001)
    assert pc.sum(pc.invert(kept)).as_py() == len(set(positions[:count]))


@pytest.mark.parametrize("name", ["variant_parquet", "variant_spark_shredded"])
def test_variants_of_a_slice_are_a_slice_of_the_variants(name: str) -> None:
    table = frazil.load_table(str(GOLDEN / "iceberg" / name))
    column = next(field.name for field in table.schema().fields if field.type == "variant")
    values = table.scan().to_arrow()[column].combine_chunks()
    whole = variant.to_json(values)
    for start in range(len(values)):
        for by in range(9):
            part = deeply_shifted(values.slice(start), by)
            assert variant.to_json(part).equals(whole.slice(start))


@pytest.mark.parametrize("name", [*(f"iceberg/{name}" for name in ICEBERG), *(f"paimon/{name}" for name in PAIMON)])
def test_readers_take_slices_of_data_and_delete_files_as_their_copies(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows() -> list[Any]:
        table = frazil.load_table(str(GOLDEN / name))
        return plain(table.scan().to_arrow())

    try:
        whole = rows()
    except frazil.FrazilError as error:
        pytest.skip(f"not read: {error}")

    for kind in (ParquetFile, OrcFile, AvroFile):
        monkeypatch.setattr(kind, "batches", _with_offsets(kind.batches))
    assert rows() == whole


def _with_offsets(batches: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Return the same batches of a data file, split into small ones with offsets."""

    def cut(*arguments: Any, **options: Any) -> Iterator[Any]:
        for position, batch, count in batches(*arguments, **options):
            if batch is None:
                yield position, None, count
                continue
            for start in range(0, max(count, 1), 5):
                part = batch.slice(start, 5)
                yield position + start, shifted_batch(part, (position + start) % 7), part.num_rows

    return cut
