"""Tests of invalid merges, and of the requests of the merge builder."""

from __future__ import annotations

import datetime
import decimal

import pyarrow as pa
import pytest

import frazil
from frazil import _native
from frazil._merge import MergeBuilder, MergePlan, set_clause
from frazil.errors import InvalidArgumentError

TARGET = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string()), ("n", pa.int32())])
SOURCE = pa.schema([("id", pa.int32()), ("name", pa.large_string()), ("n", pa.int32())])


def builder(on: str | list[str] = "target.id = source.id", **aliases: str) -> MergeBuilder[MergePlan]:
    return MergeBuilder(lambda plan: plan, on, **aliases)


def sealed(plan: MergePlan, source: list[dict[str, object]], schema: pa.Schema = SOURCE) -> _native.Merger:
    merger = plan.merger(TARGET, schema, now_us=0)
    merger.source(pa.RecordBatch.from_pylist(source, schema=schema))
    merger.seal()
    return merger


def target(*rows: tuple[int, str | None, int | None]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(zip(TARGET.names, row, strict=True)) for row in rows], schema=TARGET)


def test_the_builder_collects_clauses_in_order_and_changes_nothing_before() -> None:
    start = builder(on=["id"], source_alias="s", target_alias="t")
    plan = (
        start.when_matched_delete("s.n is null")
        .when_matched_update({"name": "s.name", "n": 5}, condition="s.n > t.n")
        .when_matched_update_all(except_columns=["n"])
        .when_not_matched_insert({"id": "s.id", "name": frazil.lit("it's")})
        .when_not_matched_by_source_update({"n": None}, "t.n > 1")
        .when_not_matched_by_source_delete()
        .execute()
    )
    assert start.plan.clauses == ()
    assert [(clause.when, clause.condition, clause.action) for clause in plan.clauses] == [
        ("matched", "s.n is null", "delete"),
        ("matched", "s.n > t.n", "update"),
        ("matched", None, "update_all"),
        ("not_matched", None, "insert"),
        ("not_matched_by_source", "t.n > 1", "update"),
        ("not_matched_by_source", None, "delete"),
    ]
    assert plan.clauses[1].assignments == [("name", "s.name"), ("n", "5")]
    assert plan.clauses[3].assignments == [("id", "s.id"), ("name", "'it''s'")]
    merger = sealed(plan, [{"id": 1, "name": "new", "n": 1}, {"id": 9, "name": None, "n": 2}])
    untouched, deleted, updated, rows, has_matches = merger.probe(target((1, "old", 7), (2, "x", 2), (3, "y", 1)))
    assert (untouched.to_pylist(), deleted.to_pylist(), updated.to_pylist()) == ([False] * 3, [2], [0, 1])
    assert has_matches
    assert rows.to_pylist() == [{"id": 1, "name": "new", "n": 7}, {"id": 2, "name": "x", "n": None}]
    assert [batch.to_pylist() for batch in merger.inserts()] == [[{"id": 9, "name": "it's"}]]


def test_python_values_are_literals_and_text_is_sql() -> None:
    values = {
        "a": "x + 1",
        "b": 1,
        "c": decimal.Decimal("1.50"),
        "d": datetime.date(2024, 1, 2),
        "e": b"\x01",
        "f": None,
    }
    assert dict(set_clause(values)) == {
        "a": "x + 1",
        "b": "1",
        "c": "1.50",
        "d": "DATE '2024-01-02'",
        "e": "X'01'",
        "f": "NULL",
    }


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (
            builder("target.id = 1").when_matched_delete(),
            "the ON condition needs at least one equality between target and source",
        ),
        (builder("target.id = source.name").when_matched_delete(), "bigint cannot be compared with one of type string"),
        (builder("id = source.id").when_matched_delete(), "in both target and source"),
        (builder([]).when_matched_delete(), "a merge needs at least one key column"),
        (builder(["z"]).when_matched_delete(), "no column `target.z`"),
        (builder(source_alias="target").when_matched_delete(), "both sides"),
        (builder().when_matched_delete().when_matched_update_all(), "never applies"),
        (builder().when_matched_update({"z": "1"}), "no column `z`"),
        (builder().when_matched_update({"n": "source.name"}), "int does not accept a value of type string"),
        (builder().when_matched_update({"n": "target.n +"}), "found the end"),
        (builder().when_not_matched_insert({"id": "target.id"}), "target has no row here"),
        (builder().when_not_matched_by_source_delete("source.n = 1"), "source has no row here"),
        (builder().when_matched_update_all(except_columns=["z"]), "no column `z` to exclude"),
        (builder().when_matched_delete("target.n"), "a condition requires a boolean"),
    ],
)
def test_invalid_merges_are_rejected_before_reading(plan: MergeBuilder[MergePlan], message: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        plan.execute().merger(TARGET, SOURCE, now_us=0)
    assert message in str(raised.value)


def test_a_merge_without_clauses_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="the merge has no clauses"):
        builder().execute()


def test_columns_that_the_table_does_not_have_need_evolution() -> None:
    wide = SOURCE.append(pa.field("extra", pa.int32()))
    plan = builder().when_not_matched_insert_all().execute()
    with pytest.raises(InvalidArgumentError, match=r"`extra`.*schema evolution"):
        plan.merger(TARGET, wide, now_us=0)
    builder().when_not_matched_insert_all(except_columns=["extra"]).execute().merger(TARGET, wide, now_us=0)


def test_columns_that_the_source_does_not_have_stay_or_get_their_defaults() -> None:
    narrow = pa.schema([("id", pa.int64()), ("n", pa.int32())])
    plan = builder().when_matched_update_all().when_not_matched_insert_all().execute()
    merger = sealed(plan, [{"id": 1, "n": 5}, {"id": 2, "n": 6}], narrow)
    *_, rows, _ = merger.probe(target((1, "kept", 0)))
    assert rows.to_pylist() == [{"id": 1, "name": "kept", "n": 5}]
    [inserted] = merger.inserts()
    assert inserted.schema.names == ["id", "n"]
    assert inserted.to_pylist() == [{"id": 2, "n": 6}]


def test_two_changes_of_one_row_name_five_keys() -> None:
    rows = [{"id": i, "name": "a", "n": i} for i in range(7)] * 2
    merger = sealed(builder().when_matched_update_all().execute(), rows)
    with pytest.raises(InvalidArgumentError) as raised:
        merger.probe(target(*((i, None, None) for i in range(7))))
    assert "(0), (1), (2), (3), (4)" in str(raised.value)
    assert "(5)" not in str(raised.value)


def test_a_row_may_be_deleted_twice_and_changed_once_by_exclusive_conditions() -> None:
    rows = [{"id": 1, "name": "a", "n": 1}, {"id": 1, "name": "b", "n": 2}]
    untouched, deleted, *_ = sealed(builder().when_matched_delete().execute(), rows).probe(target((1, None, None)))
    assert (untouched.to_pylist(), deleted.to_pylist()) == ([False], [0])
    merger = sealed(builder().when_matched_update_all("source.n > 1").execute(), rows)
    assert merger.probe(target((1, None, None)))[3].to_pylist() == [{"id": 1, "name": "b", "n": 2}]
    with pytest.raises(InvalidArgumentError, match="several source rows"):
        sealed(builder().when_matched_delete("source.n > 0").execute(), rows).probe(target((1, None, None)))


def test_null_in_a_required_column_is_refused() -> None:
    merger = sealed(builder().when_matched_update({"id": "null"}).execute(), [{"id": 1, "name": None, "n": None}])
    with pytest.raises(InvalidArgumentError, match="the required column `id` is NULL"):
        merger.probe(target((1, "a", 1)))


def test_filters_list_few_keys_and_bound_many() -> None:
    plan = builder().when_matched_delete().execute()
    assert sealed(plan, [{"id": 3}, {"id": None}, {"id": 1}, {"id": 3}]).filter() == "id IN (1, 3)"
    assert sealed(plan, [{"id": i} for i in range(201)]).filter() == "id >= 0 AND id <= 200"
    assert sealed(plan, []).filter() == "false"
    assert not sealed(plan, []).changes_unmatched()
    assert sealed(builder().when_not_matched_by_source_delete().execute(), []).changes_unmatched()


def test_duplicate_keys_of_an_upsert_are_named() -> None:
    merger = _native.Merger.upsert(["id"], update=True, insert=True, target_schema=TARGET, source_schema=SOURCE)
    merger.source(pa.RecordBatch.from_pylist([{"id": i} for i in range(7)] * 2, schema=SOURCE))
    with pytest.raises(InvalidArgumentError, match=r"\(0\), \(1\), \(2\), \(3\), \(4\);"):
        merger.seal()


def test_nested_values_that_are_the_same_are_not_updated() -> None:
    nested = pa.struct([("x", pa.float64()), ("l", pa.list_(pa.int32()))])
    schema = pa.schema([("id", pa.int32()), ("v", nested), ("m", pa.map_(pa.string(), pa.float64()))])
    old = [
        {"id": 1, "v": {"x": float("nan"), "l": [1, None]}, "m": [("a", 0.0)]},
        {"id": 2, "v": None, "m": None},
        {"id": 3, "v": {"x": 1.0, "l": []}, "m": []},
        {"id": 4, "v": {"x": 1.0, "l": None}, "m": [("a", 1.0)]},
    ]
    new = [
        {"id": 1, "v": {"x": float("nan"), "l": [1, None]}, "m": [("a", -0.0)]},
        {"id": 2, "v": None, "m": None},
        {"id": 3, "v": {"x": 1.0, "l": None}, "m": []},
        {"id": 4, "v": {"x": 1.0, "l": None}, "m": [("b", 1.0)]},
    ]
    merger = _native.Merger.upsert(["id"], update=True, insert=False, target_schema=schema, source_schema=schema)
    merger.source(pa.RecordBatch.from_pylist(new, schema=schema))
    merger.seal()
    _, _, updated, rows, _ = merger.probe(pa.RecordBatch.from_pylist(old, schema=schema))
    assert updated.to_pylist() == [2, 3]
    assert rows.to_pylist() == new[2:]
    assert merger.inserts() == []


def test_an_update_replaces_columns_in_the_schema_of_the_table() -> None:
    schema = pa.schema([("id", pa.int64()), ("name", pa.large_string()), ("price", pa.decimal128(6, 2))])
    rows = pa.RecordBatch.from_pylist(
        [{"id": 1, "name": "a", "price": decimal.Decimal("1.50")}, {"id": None, "name": None, "price": None}],
        schema=schema,
    )
    updater = _native.Updater([("price", "price * 2"), ("name", "upper(t.name) || '!'")], schema, "t", now_us=0)
    updated = updater.update(rows)
    assert updated.schema == schema
    assert updated.to_pylist()[0] == {"id": 1, "name": "A!", "price": decimal.Decimal("3.00")}
    assert updated.to_pylist()[1] == {"id": None, "name": None, "price": None}
    with pytest.raises(InvalidArgumentError, match="decimal"):
        _native.Updater([("price", "price * 50000")], schema, "t", now_us=0).update(rows)
    with pytest.raises(InvalidArgumentError, match="set twice"):
        _native.Updater([("id", "1"), ("id", "2")], schema, "t", now_us=0)


NESTED = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("a.b", pa.int64()),
        pa.field(
            "s",
            pa.struct(
                [
                    pa.field("x", pa.int32()),
                    pa.field("in", pa.struct([pa.field("t", pa.large_string()), pa.field("u", pa.string())])),
                ]
            ),
        ),
        pa.field("r", pa.struct([pa.field("k", pa.int32(), nullable=False), pa.field("v", pa.int32())])),
        pa.field("l", pa.list_(pa.struct([pa.field("e", pa.int32())]))),
    ]
)


def nested(s: object, r: object = None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"id": 7, "a.b": 1, "s": s, "r": r, "l": None}], schema=NESTED)


@pytest.mark.parametrize(
    ("assignments", "before", "after"),
    [
        ([("s.x", "t.s.x + CAST(id AS int)")], {"x": 1, "in": None}, {"x": 8, "in": None}),
        ([("s.in.u", "'new'")], {"x": 1, "in": {"t": "a", "u": "b"}}, {"x": 1, "in": {"t": "a", "u": "new"}}),
        (
            [("t.s.in.t", "s.in.u"), ("`s`.x", "2")],
            {"x": 1, "in": {"t": "a", "u": "b"}},
            {"x": 2, "in": {"t": "b", "u": "b"}},
        ),
        ([("s.in", "null")], {"x": 1, "in": {"t": "a", "u": "b"}}, {"x": 1, "in": None}),
        # As in Spark, the field is set, and its parent structs are created.
        ([("s.in.u", "'new'")], None, {"x": None, "in": {"t": None, "u": "new"}}),
    ],
)
def test_a_field_of_a_struct_is_set_and_its_neighbours_stay(
    assignments: list[tuple[str, str]], before: object, after: object
) -> None:
    updated = _native.Updater(assignments, NESTED, "t", now_us=0).update(nested(before))
    assert updated.schema == NESTED
    assert updated.to_pylist() == [{"id": 7, "a.b": 1, "s": after, "r": None, "l": None}]


def test_dotted_column_name_is_not_a_nested_field() -> None:
    assert _native.Updater([("a.b", "2")], NESTED, "t", now_us=0).update(nested(None)).column("a.b").to_pylist() == [2]


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (["s.x", "s"], "`s` is set twice"),
        (["s.x", "s.x"], "`x` is set twice"),
        (["s.in.t", "s.in"], "`in` is set twice"),
        (["s.y"], "no field `y`"),
        (["s.x.z"], "`x` of type int has no fields"),
        (["l.element.e"], "has no fields"),
        (["other.x"], "no column `other.x`"),
        (["s.x + 1"], "no column"),
    ],
)
def test_invalid_struct_field_assignments_are_rejected(assignments: list[str], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        _native.Updater([(name, "null") for name in assignments], NESTED, "t", now_us=0)


def test_a_required_neighbour_of_a_null_struct_is_missing() -> None:
    updater = _native.Updater([("r.v", "1")], NESTED, "t", now_us=0)
    assert updater.update(nested(None, {"k": 3, "v": 0})).column("r").to_pylist() == [{"k": 3, "v": 1}]
    with pytest.raises(InvalidArgumentError, match="a value of the required field `k` is NULL"):
        updater.update(nested(None))


def test_fields_are_set_where_rows_match_and_all_of_them_where_they_do_not() -> None:
    schema = pa.schema([("id", pa.int64()), ("s", pa.struct([("x", pa.int32()), ("y", pa.int32())]))])
    matched = builder(["id"]).when_matched_update({"s.x": "source.s.y"})
    plan = matched.when_not_matched_insert({"id": "source.id", "s.x": "1", "s.y": "source.s.y"}).execute()
    merger = plan.merger(schema, schema, now_us=0)
    row = {"id": 1, "s": {"x": 10, "y": 20}}
    merger.source(pa.RecordBatch.from_pylist([row, row | {"id": 2}], schema=schema))
    merger.seal()
    old = pa.RecordBatch.from_pylist([{"id": 1, "s": {"x": 5, "y": 6}}], schema=schema)
    assert merger.probe(old)[3].to_pylist() == [{"id": 1, "s": {"x": 20, "y": 6}}]
    assert [rows.to_pylist() for rows in merger.inserts()] == [[{"id": 2, "s": {"x": 1, "y": 20}}]]
    with pytest.raises(InvalidArgumentError, match=r"target has no row here"):
        builder(["id"]).when_not_matched_insert({"id": "source.id", "s.x": "1"}).execute().merger(
            schema, schema, now_us=0
        )


def test_batches_of_another_schema_are_refused() -> None:
    merger = builder().when_matched_delete().execute().merger(TARGET, SOURCE, now_us=0)
    with pytest.raises(InvalidArgumentError, match="does not match the declared schema"):
        merger.source(pa.record_batch({"id": [1]}))
    merger.seal()
    with pytest.raises(InvalidArgumentError, match="does not match the declared schema"):
        merger.probe(pa.record_batch({"id": [1]}))
    with pytest.raises(InvalidArgumentError, match="matched rows"):
        merger.merge_matched(b"\x00" * 8)


def test_merged_rows_use_the_arrow_types_of_the_table() -> None:
    forms = pa.schema(
        [
            ("key", pa.dictionary(pa.int32(), pa.string())),
            ("at", pa.timestamp("us", "Europe/Berlin")),
            ("text", pa.large_string()),
            ("list", pa.large_list(pa.int64())),
        ]
    )
    given = pa.schema(
        [
            ("key", pa.string()),
            ("at", pa.timestamp("us", "UTC")),
            ("text", pa.string_view()),
            ("list", pa.large_list(pa.int32())),
        ]
    )
    at = datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)
    merger = (
        builder(["key"])
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute()
        .merger(forms, given, now_us=0)
    )
    new = [{"key": "a", "at": at, "text": "x", "list": [1]}, {"key": "b", "at": at, "text": None, "list": None}]
    merger.source(pa.RecordBatch.from_pylist(new, schema=given))
    merger.seal()
    old = pa.RecordBatch.from_pylist([{"key": "a"}, {"key": None}], schema=forms)
    untouched, _, updated, rows, _ = merger.probe(old)
    assert (untouched.to_pylist(), updated.to_pylist()) == ([False, True], [0])
    assert rows.schema == forms
    assert rows.to_pylist() == new[:1]
    [inserted] = merger.inserts()
    assert inserted.schema == forms
    assert inserted.to_pylist() == new[1:]


def test_keys_that_only_match_as_doubles_bound_nothing() -> None:
    source = pa.schema([("id", pa.float64())])
    merger = sealed(builder().when_matched_delete().execute(), [{"id": 1.0}], source)
    assert merger.filter() is None
    assert merger.probe(target((1, None, None)))[1].to_pylist() == [0]


@pytest.mark.parametrize(
    ("kind", "values", "text"),
    [
        (pa.date32(), [datetime.date(2024, 1, 2)], "k IN (DATE '2024-01-02')"),
        (pa.decimal128(5, 2), [decimal.Decimal("1.50")], "k IN (1.50)"),
        (pa.string(), ["it's"], "k IN ('it''s')"),
        (pa.binary(2), [b"\x00\xff"], "k IN (X'00ff')"),
        (pa.float32(), [1.5], "k IN (1.5)"),
        (pa.bool_(), [True], "k IN (true)"),
        (pa.timestamp("us", "UTC"), [datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)], None),
    ],
)
def test_filters_are_text_that_filters_read(kind: pa.DataType, values: list[object], text: str | None) -> None:
    schema = pa.schema([("k", kind)])
    merger = builder(["k"]).when_matched_delete().execute().merger(schema, schema, now_us=0)
    merger.source(pa.RecordBatch.from_pylist([{"k": value} for value in values], schema=schema))
    merger.seal()
    found = merger.filter()
    assert found is not None
    assert text is None or found == text
    _native.normalize_predicate(found)
    assert merger.probe(pa.RecordBatch.from_pylist([{"k": value} for value in [*values, None]], schema=schema))[
        1
    ].to_pylist() == [0]
