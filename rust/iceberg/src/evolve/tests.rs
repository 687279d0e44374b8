//! Tests of changes applied to metadata: results and rejections.

use std::sync::Arc;

use frazil_core::storage::MemoryStorage;
use serde_json::{Value as Json, json};

use super::*;
use crate::commit::staged::Transaction;
use crate::commit::update::MetadataBuilder;
use crate::spec::metadata_write::MetadataCodec;
use crate::table::State;

/// Returns a table with the columns 1 id, 2 ts, 3 s{4 x, 5 y}, 6 l[7 element{8 a}], 9 m{10 key{12 k}, 11 value{13 v}},
/// 14 n, 15 d.
fn table(version: u8) -> TableMetadata {
    changed_json(version, |_| {})
}

fn changed_json(version: u8, change: impl FnOnce(&mut Json)) -> TableMetadata {
    let optional =
        |id: i32, name: &str, field_type: Json| json!({"id": id, "name": name, "required": false, "type": field_type});
    let list = json!({"type": "list", "element-id": 7, "element-required": false,
        "element": {"type": "struct", "fields": [optional(8, "a", json!("int"))]}});
    let map = json!({"type": "map", "key-id": 10, "value-id": 11, "value-required": false,
        "key": {"type": "struct", "fields": [optional(12, "k", json!("int"))]},
        "value": {"type": "struct", "fields": [optional(13, "v", json!("int"))]}});
    let mut table = json!({
        "format-version": version, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "/t",
        "last-sequence-number": 0, "last-updated-ms": 1_000_000, "last-column-id": 15, "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [
            {"id": 1, "name": "id", "required": true, "type": "int"},
            optional(2, "ts", json!("timestamp")),
            optional(3, "s", json!({"type": "struct", "fields": [
                optional(4, "x", json!("float")), optional(5, "y", json!("decimal(9, 2)"))]})),
            optional(6, "l", list), optional(9, "m", map), optional(14, "n", json!("string")),
            optional(15, "d", json!("date"))]}],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}], "properties": {}
    });
    if version == 3 {
        table["next-row-id"] = json!(0);
    }
    change(&mut table);
    if version == 1 {
        table["schema"] = table["schemas"][0].clone();
        table["partition-spec"] = table["partition-specs"][0]["fields"].clone();
    }
    TableMetadata::parse(table.to_string().as_bytes()).unwrap()
}

/// Returns the state after a change, written and read again: a state that our own reader rejects must never be written.
fn made(base: &TableMetadata, change: &Json) -> Result<TableMetadata> {
    made_again(base, &mut Evolution::from_json(&change.to_string()).unwrap())
}

fn made_again(base: &TableMetadata, change: &mut Evolution) -> Result<TableMetadata> {
    let Revision::Update(updates) = change.revise(Some(base), 1, &Context::default())? else { panic!() };
    let mut builder = MetadataBuilder::new(base.clone(), 2_000_000);
    updates.into_iter().try_for_each(|update| builder.apply(update))?;
    let (built, _) = builder.build(None)?;
    TableMetadata::parse(&built.to_bytes(MetadataCodec::None)?)
}

fn schema_change(operations: &Json) -> Json {
    json!({"update": "schema", "operations": operations})
}

fn spec_change(operations: &Json) -> Json {
    json!({"update": "spec", "operations": operations})
}

fn with_schema(base: &TableMetadata, operations: &Json) -> Result<TableMetadata> {
    made(base, &schema_change(operations))
}

fn add(path: &str, field_type: &str) -> Json {
    json!({"operation": "add_column", "path": path, "type": field_type})
}

fn columns(table: &TableMetadata) -> Vec<String> {
    table.current_schema().unwrap().full_names()
}

/// Returns `name: type` of a column, with its id.
fn shown(table: &TableMetadata, name: &str) -> String {
    let schema = table.current_schema().unwrap();
    let found = schema.find(name, true).unwrap().unwrap();
    let field = found.field();
    format!("{} {}", field.id, if field.required { "required " } else { "" }) + &field.field_type.to_string()
}

#[test]
fn columns_are_added_at_any_depth_with_new_ids() {
    let operations = json!([
        add("a", "long"),
        add("s.z", "list<struct<p: int, q: map<string, int>>>"),
        add("l.b", "int"),
        add("m.value.w", "uuid"),
        {"operation": "add_column", "path": ["dotted.name"], "type": "int", "doc": "why"},
    ]);
    let table = with_schema(&table(2), &operations).unwrap();
    assert_eq!(shown(&table, "a"), "16 long");
    assert!(shown(&table, "s.z").starts_with("17 list<struct<19: p: optional int, 20: q: "));
    assert_eq!(shown(&table, "s.z.element.q.value"), "22 int");
    assert_eq!(shown(&table, "l.element.b"), "23 int");
    assert_eq!(shown(&table, "m.value.w"), "24 uuid");
    assert_eq!(shown(&table, "dotted.name"), "25 int");
    assert_eq!(table.current_schema().unwrap().field(25).unwrap().doc.as_deref(), Some("why"));
    assert_eq!((table.last_column_id, table.schemas.len()), (25, 2));
}

#[test]
fn a_retry_gives_ids_of_the_state_that_it_meets() {
    let mut change = Evolution::from_json(&schema_change(&json!([add("mine", "int")])).to_string()).unwrap();
    let first = made_again(&table(2), &mut change).unwrap();
    assert_eq!(shown(&first, "mine"), "16 int");
    let theirs = with_schema(&table(2), &json!([add("theirs", "int")])).unwrap();
    let second = made_again(&theirs, &mut change).unwrap();
    assert_eq!((shown(&second, "theirs"), shown(&second, "mine")), ("16 int".into(), "17 int".into()));
    // The other writer added the same column.
    assert_eq!(made_again(&first, &mut change).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn schema_operations_that_cannot_be_are_refused_by_name() {
    let path = |operation: &str, path: &str| json!({"operation": operation, "path": path});
    let rename = |path: &str, name: &str| json!({"operation": "rename_column", "path": path, "name": name});
    let widen = |path: &str, to: &str| json!({"operation": "update_column", "path": path, "type": to});
    let required = |path: &str| json!({"operation": "update_column", "path": path, "required": true});
    let beside = |path: &str, other: &str| json!({"operation": "move_after", "path": path, "other": other});
    let identifier = |path: &str| json!({"operation": "set_identifier_fields", "paths": [path]});
    for (operations, message) in [
        (json!([add("id", "int")]), "a column `id` already exists"),
        (json!([add("nope.a", "int")]), "no column `nope`"),
        (json!([add("n.a", "int")]), "`n` does not contain a struct"),
        (json!([add("m.key.a", "int")]), "key of a map"),
        (json!([add("", "int")]), "is not a valid column name"),
        (json!([add("a", "frob")]), "unknown type"),
        (json!([add("a", "struct<x: int, x: int>")]), "two columns would have the name `a.x`"),
        (json!([{"operation": "add_column", "path": "a", "type": "int", "required": true}]), "without a default"),
        (json!([{"operation": "add_column", "path": ["s.x"], "type": "int"}]), "two columns would have the name `s.x`"),
        (json!([path("delete_column", "nope")]), "no column `nope`"),
        (json!([path("delete_column", "l.element")]), "part of a list or a map"),
        (json!([path("delete_column", "m.key.k")]), "key of a map"),
        (json!([path("delete_column", "n"), path("delete_column", "n")]), "no column `n`"),
        (json!([rename("id", "ts")]), "a column `ts` already exists"),
        (json!([rename("id", "")]), "empty"),
        (json!([rename("m.value", "x")]), "part of a list or a map"),
        (json!([widen("ts", "timestamptz")]), "timestamp cannot be changed to timestamptz"),
        (json!([widen("id", "string")]), "int cannot be changed to string"),
        (json!([widen("s.y", "decimal(12, 3)")]), "cannot be changed to decimal(12, 3)"),
        (json!([widen("s.y", "decimal(8, 2)")]), "cannot be changed to decimal(8, 2)"),
        (json!([widen("d", "timestamp")]), "date cannot be changed to timestamp"),
        (json!([widen("m.key.k", "long")]), "key of a map"),
        (json!([widen("s", "int")]), "cannot be changed to int"),
        (json!([required("n")]), "cannot become required"),
        (json!([beside("id", "s.x")]), "cannot be moved next to `s.x`"),
        (json!([beside("id", "id")]), "cannot be moved next to `id`"),
        (json!([identifier("n")]), "may be NULL"),
        (json!([identifier("l.element.a")]), "inside a list"),
        (json!([identifier("s.x")]), "floating-point"),
        (json!([identifier("id"), path("delete_column", "id")]), "`id` cannot be dropped: it is an identifier field"),
        (json!([identifier("id"), {"operation": "update_column", "path": "id", "required": false}]), "may be NULL"),
    ] {
        let error = with_schema(&table(2), &operations).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{operations}");
        assert!(error.to_string().contains(message), "{operations}: {error}");
    }
}

#[test]
fn columns_are_dropped_renamed_and_moved() {
    let rename = |path: &str, name: &str| json!({"operation": "rename_column", "path": path, "name": name});
    let order = with_schema(
        &table(2),
        &json!([
            {"operation": "set_identifier_fields", "paths": ["id"]},
            {"operation": "delete_column", "path": "l"}, {"operation": "delete_column", "path": "m"},
            {"operation": "delete_column", "path": "d"}, rename("id", "key"), rename("s.x", "first"),
            {"operation": "move_first", "path": "s.y"}, {"operation": "move_before", "path": "n", "other": "ts"},
            // By its previous name: no other column has it.
            {"operation": "move_after", "path": "id", "other": "ts"},
        ]),
    )
    .unwrap();
    assert_eq!(columns(&order), ["n", "ts", "key", "s", "s.y", "s.first"]);
    assert_eq!(order.current_schema().unwrap().identifier_field_ids, [1]);

    let swapped = with_schema(&table(2), &json!([rename("n", "t"), rename("d", "n"), rename("t", "d")])).unwrap();
    assert_eq!((shown(&swapped, "d"), shown(&swapped, "n")), ("14 string".into(), "15 date".into()));

    // Dropped and added again: a different column with a new id.
    let again = with_schema(&table(2), &json!([{"operation": "delete_column", "path": "n"}, add("n", "int")])).unwrap();
    assert_eq!(shown(&again, "n"), "16 int");
    assert!(again.schemas[0].field(14).is_some(), "old schemas stay");
}

#[test]
fn only_lossless_type_widening_is_allowed() {
    let widen = |path: &str, to: &str| json!({"operation": "update_column", "path": path, "type": to});
    let two = with_schema(
        &table(2),
        &json!([widen("id", "long"), widen("s.x", "double"), widen("s.y", "decimal(12, 2)"), widen("l.a", "long")]),
    )
    .unwrap();
    assert_eq!((shown(&two, "id"), shown(&two, "s.x")), ("1 required long".into(), "4 double".into()));
    assert_eq!((shown(&two, "s.y"), shown(&two, "l.element.a")), ("5 decimal(12, 2)".into(), "8 long".into()));
    for to in ["timestamp", "timestamp_ns"] {
        assert_eq!(shown(&with_schema(&table(3), &json!([widen("d", to)])).unwrap(), "d"), format!("15 {to}"));
    }
    for to in ["timestamptz", "timestamptz_ns", "long"] {
        assert!(with_schema(&table(3), &json!([widen("d", to)])).is_err(), "{to}");
    }
    let unknown = with_schema(&table(3), &json!([add("u", "unknown"), widen("u", "list<int>")])).unwrap();
    assert_eq!((shown(&unknown, "u"), shown(&unknown, "u.element")), ("16 list<int>".into(), "17 int".into()));
}

#[test]
fn dates_stay_dates_where_partition_values_would_change() {
    let widen = json!([{"operation": "update_column", "path": "d", "type": "timestamp"}]);
    for (transform, ok) in
        [("day", true), ("month", true), ("year", true), ("void", true), ("identity", false), ("bucket[4]", false)]
    {
        let table = changed_json(3, |table| {
            let field = json!({"name": "p", "transform": transform, "source-id": 15, "field-id": 1000});
            // An older spec, which existing files still use.
            table["partition-specs"] = json!([{"spec-id": 0, "fields": []}, {"spec-id": 1, "fields": [field]}]);
            table["last-partition-id"] = json!(1000);
        });
        let result = with_schema(&table, &widen);
        assert_eq!(result.is_ok(), ok, "{transform}");
        assert!(ok || result.unwrap_err().to_string().contains("partition field `p`"));
    }
}

#[test]
fn defaults_are_of_v3_and_follow_their_types() {
    let with = |path: &str, field_type: &str, default: &str| json!({"operation": "add_column", "path": path, "type": field_type, "required": true, "default": default});
    let old = with_schema(&table(2), &json!([with("a", "int", "7")])).unwrap_err();
    assert_eq!(old.kind(), ErrorKind::Unsupported);
    let set = json!([{"operation": "set_write_default", "path": "n", "default": "\"x\""}]);
    assert_eq!(with_schema(&table(2), &set).unwrap_err().kind(), ErrorKind::Unsupported);

    let default = |table: &TableMetadata, name: &str| {
        let schema = table.current_schema().unwrap();
        let field = serde_json::to_value(schema.find(name, true).unwrap().unwrap().field()).unwrap();
        (field["initial-default"].clone(), field["write-default"].clone())
    };
    let operations = json!([
        with("a", "int", "7"), with("f", "float", "0.1"), with("day", "date", "\"1969-12-31\""),
        with("c", "decimal(9, 2)", "1.5"), {"operation": "set_write_default", "path": "a", "default": "8"},
    ]);
    let three = with_schema(&table(3), &operations).unwrap();
    assert_eq!(default(&three, "a"), (json!(7), json!(8)));
    assert_eq!(default(&three, "c"), (json!("1.50"), json!("1.50")));
    let widen = |path: &str, to: &str| json!({"operation": "update_column", "path": path, "type": to});
    let wide = with_schema(
        &three,
        &json!([
            widen("a", "long"), widen("f", "double"), widen("day", "timestamp"), widen("c", "decimal(20, 2)"),
            {"operation": "set_write_default", "path": "a", "default": null},
        ]),
    )
    .unwrap();
    assert_eq!(default(&wide, "a"), (json!(7), Json::Null));
    assert_eq!(default(&wide, "f").0, json!(f64::from(0.1_f32)), "the value of old rows is that of the float");
    assert_eq!(default(&wide, "day").0, json!("1969-12-31T00:00:00"));
    assert_eq!(default(&wide, "c").0, json!("1.50"));
    for (field_type, value) in
        [("variant", "1"), ("unknown", "1"), ("geometry", "\"00\""), ("int", "\"x\""), ("int", "2147483648")]
    {
        let operation = json!([{"operation": "add_column", "path": "b", "type": field_type, "default": value}]);
        assert_eq!(with_schema(&three, &operation).unwrap_err().kind(), ErrorKind::InvalidArgument, "{field_type}");
    }
    let unknown = json!({"operation": "add_column", "path": "b", "type": "unknown", "required": true});
    let lax = json!({"update": "schema", "allow_incompatible": true, "operations": [unknown]});
    assert!(made(&three, &lax).unwrap_err().to_string().contains("always optional"));
}

#[test]
fn columns_become_required_only_where_that_is_allowed() {
    let required = json!([{"operation": "update_column", "path": "n", "required": true}]);
    let lax = json!({"update": "schema", "allow_incompatible": true, "operations": required});
    assert_eq!(shown(&made(&table(2), &lax).unwrap(), "n"), "14 required string");
    let optional = json!([{"operation": "update_column", "path": "id", "required": false, "doc": "why"}]);
    assert_eq!(shown(&with_schema(&table(2), &optional).unwrap(), "id"), "1 int");
}

#[test]
fn names_that_differ_in_case_only_are_found_when_case_does_not_matter() {
    let loose = |operations: Json| json!({"update": "schema", "case_sensitive": false, "operations": operations});
    assert!(with_schema(&table(2), &json!([add("ID", "int")])).is_ok());
    for operations in [json!([add("ID", "int")]), json!([{"operation": "rename_column", "path": "N", "name": "TS"}])] {
        assert!(made(&table(2), &loose(operations)).unwrap_err().to_string().contains("already"));
    }
    let widened = made(&table(2), &loose(json!([{"operation": "update_column", "path": "S.X", "type": "double"}])));
    assert_eq!(shown(&widened.unwrap(), "s.x"), "4 double");
}

#[test]
fn names_that_were_ambiguous_before_stay_as_they_are() {
    let base = changed_json(2, |table| table["schemas"][0]["fields"][5]["name"] = json!("s.x"));
    assert!(with_schema(&base, &json!([add("a", "int")])).is_ok());
    assert!(with_schema(&base, &json!([{"operation": "delete_column", "path": "s.x"}])).is_err(), "which of the two");
    let named = json!([{"operation": "delete_column", "path": ["s.x"]}]);
    assert!(with_schema(&base, &named).unwrap().current_schema().unwrap().field(14).is_none());
}

#[test]
fn ids_end_before_the_reserved_ones() {
    let full = changed_json(2, |table| table["last-column-id"] = json!(2_147_483_446));
    let one = with_schema(&full, &json!([add("a", "int")])).unwrap();
    assert_eq!(one.last_column_id, 2_147_483_447);
    assert_eq!(with_schema(&one, &json!([add("b", "int")])).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn a_union_adds_and_widens_and_never_narrows() {
    let other = json!({"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "n", "required": false, "type": "string", "doc": "named"},
        {"id": 2, "name": "s", "required": false, "type": {"type": "struct", "fields": [
            {"id": 3, "name": "x", "required": false, "type": "double"},
            {"id": 4, "name": "y", "required": false, "type": "decimal(5, 2)"},
            {"id": 5, "name": "z", "required": true, "type": "int"}]}},
        {"id": 6, "name": "l", "required": false, "type": {"type": "list", "element-id": 7, "element-required": false,
            "element": {"type": "struct", "fields": [{"id": 8, "name": "b", "required": false, "type": "int"}]}}},
        {"id": 9, "name": "id", "required": false, "type": "long"},
        {"id": 10, "name": "new", "required": true, "type": "string"}]});
    let union = |base: &TableMetadata, other: &Json| {
        with_schema(base, &json!([{"operation": "union_by_name", "schema": other.to_string()}]))
    };
    let table = table(2);
    let joined = union(&table, &other).unwrap();
    for (name, expected) in [
        ("s.x", "4 double"),
        ("s.y", "5 decimal(9, 2)"),
        ("s.z", "16 int"),
        ("l.element.b", "17 int"),
        ("l.element.a", "8 int"),
        ("id", "1 long"),
        ("new", "18 string"),
        ("ts", "2 timestamp"),
    ] {
        assert_eq!(shown(&joined, name), expected);
    }
    assert_eq!(joined.current_schema().unwrap().field(14).unwrap().doc.as_deref(), Some("named"));
    assert_eq!(union(&joined, &other).unwrap().schemas.len(), 2, "again there is nothing to do");
    let identified = with_schema(&table, &json!([{"operation": "set_identifier_fields", "paths": ["id"]}])).unwrap();
    assert_eq!(shown(&union(&identified, &other).unwrap(), "id"), "1 required long");
    for field_type in ["int", "binary", "timestamptz"] {
        let other =
            json!({"type": "struct", "fields": [{"id": 1, "name": "ts", "required": false, "type": field_type}]});
        assert!(union(&table, &other).unwrap_err().to_string().contains("cannot be changed to"));
    }
}

#[test]
fn partition_and_sort_source_columns_cannot_be_dropped() {
    let delete = json!([{"operation": "delete_column", "path": "ts"}]);
    for (key, field) in [
        ("partition-specs", json!({"name": "ts_day", "transform": "day", "source-id": 2, "field-id": 1000})),
        (
            "sort-orders",
            json!({"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first"}),
        ),
    ] {
        let table = changed_json(2, |table| {
            table[key][0]["fields"] = json!([field]);
            if key == "sort-orders" {
                table[key][0]["order-id"] = json!(1);
                table["default-sort-order-id"] = json!(1);
            }
        });
        let error = with_schema(&table, &delete).unwrap_err();
        assert!(error.to_string().contains("`ts` cannot be dropped"), "{error}");
    }
    // A field of an old spec can be.
    let old = changed_json(2, |table| {
        let field = json!({"name": "ts_day", "transform": "day", "source-id": 2, "field-id": 1000});
        table["partition-specs"] = json!([{"spec-id": 0, "fields": []}, {"spec-id": 1, "fields": [field]}]);
    });
    let dropped = with_schema(&old, &delete).unwrap();
    assert_eq!(dropped.partition_type(dropped.spec(1).unwrap()).fields[0].field_type.to_string(), "date");
}

#[test]
fn name_mappings_and_properties_of_columns_follow() {
    let mapping = r#"[{"field-id":1,"names":["id"]},{"field-id":3,"names":["s"],"fields":[{"field-id":4,"names":["x"]}]},{"field-id":14,"names":["n"]}]"#;
    let base = changed_json(2, |table| {
        table["properties"] = json!({
            "schema.name-mapping.default": mapping, "write.metadata.metrics.column.s.x": "full",
            "write.parquet.bloom-filter-enabled.column.n": "true",
            "write.parquet.bloom-filter-ndv.column.id": "5", "write.metadata.metrics.column.gone": "none"});
    });
    let table = with_schema(
        &base,
        &json!([
            {"operation": "rename_column", "path": "s", "name": "t"},
            {"operation": "rename_column", "path": "id", "name": "key"}, add("id", "int"),
            {"operation": "delete_column", "path": "n"}, add("n", "struct<q: int>"), add("t.z", "int"),
        ]),
    )
    .unwrap();
    assert_eq!(
        table.properties["schema.name-mapping.default"],
        r#"[{"field-id":1,"names":["id","key"]},{"field-id":3,"names":["s","t"],"fields":[{"field-id":4,"names":["x"]},{"field-id":19,"names":["z"]}]},{"field-id":14,"names":["n"]},{"field-id":16,"names":[]},{"field-id":17,"names":[],"fields":[{"field-id":18,"names":["q"]}]}]"#
    );
    let others: Vec<_> = table.properties.keys().filter(|key| key.starts_with("write")).collect();
    let expected =
        ["metadata.metrics.column.gone", "metadata.metrics.column.t.x", "parquet.bloom-filter-ndv.column.key"];
    assert_eq!(others, expected.map(|key| format!("write.{key}")).iter().collect::<Vec<_>>());
}

fn add_field(text: &str) -> Json {
    json!({"operation": "add_field", "term": {"transform": text}})
}

fn remove_field(name: &str) -> Json {
    json!({"operation": "remove_field", "name": name})
}

fn with_spec(base: &TableMetadata, operations: &Json) -> Result<TableMetadata> {
    made(base, &spec_change(operations))
}

fn spec_of(table: &TableMetadata) -> String {
    let fields = table.default_spec().unwrap().fields.iter();
    fields.map(|field| format!("{}:{}:{}", field.field_id, field.name, field.transform)).collect::<Vec<_>>().join(" ")
}

#[test]
fn partition_fields_get_the_names_of_java() {
    let operations = json!([
        add_field("bucket(16, id)"), add_field("day(ts)"), add_field("truncate(4, n)"), add_field("truncate(2, n)"),
        add_field("d"),
        {"operation": "add_field", "term": {"column": "id", "transform": "bucket[4]"}, "name": "shard"},
        {"operation": "add_field", "term": {"column": "s.y", "transform": "identity"}},
    ]);
    for version in 1..=3 {
        let table = with_spec(&table(version), &operations).unwrap();
        assert_eq!(
            spec_of(&table),
            "1000:id_bucket_16:bucket[16] 1001:ts_day:day 1002:n_trunc_4:truncate[4] 1003:n_trunc_2:truncate[2] \
             1004:d:identity 1005:shard:bucket[4] 1006:s.y:identity"
        );
        assert_eq!((table.default_spec_id, table.last_partition_id), (1, 1006));
    }
}

#[test]
fn v1_fields_keep_their_positions_and_other_fields_are_restored() {
    let first =
        |version| with_spec(&table(version), &json!([add_field("day(ts)"), add_field("bucket(4, id)")])).unwrap();
    let swap = json!([remove_field("ts_day"), add_field("hour(ts)")]);
    let one = with_spec(&first(1), &swap).unwrap();
    assert_eq!(spec_of(&one), "1000:ts_day:void 1001:id_bucket_4:bucket[4] 1002:ts_hour:hour");
    let back = with_spec(&one, &json!([remove_field("ts_hour"), add_field("day(ts)")])).unwrap();
    assert_eq!(
        spec_of(&back),
        "1000:ts_day_1000:void 1001:id_bucket_4:bucket[4] 1002:ts_hour:void 1003:ts_day:day",
        "a void field gives up its name"
    );

    let two = with_spec(&first(2), &swap).unwrap();
    assert_eq!(spec_of(&two), "1001:id_bucket_4:bucket[4] 1002:ts_hour:hour");
    let back = with_spec(&two, &json!([remove_field("hour(ts)"), add_field("day(ts)")])).unwrap();
    assert_eq!(spec_of(&back), "1001:id_bucket_4:bucket[4] 1000:ts_day:day", "the id that it had");
    let renamed = json!([{"operation": "add_field", "term": {"transform": "hour(ts)"}, "name": "h"}]);
    assert!(spec_of(&with_spec(&back, &renamed).unwrap()).ends_with("1003:h:hour"), "another name, another id");
    let none = json!([remove_field("id_bucket_4"), remove_field("ts_day")]);
    let none = with_spec(&back, &none).unwrap();
    assert_eq!((none.default_spec_id, none.partition_specs.len()), (0, 4), "the spec of the beginning");
    // Removed and added again in one update: no change.
    let same = with_spec(&back, &json!([remove_field("ts_day"), add_field("day(ts)")])).unwrap();
    assert_eq!(same.default_spec_id, back.default_spec_id);
}

#[test]
fn spec_operations_that_cannot_be_are_refused() {
    let base = with_spec(&table(2), &json!([add_field("day(ts)")])).unwrap();
    let rename = |name: &str, new: &str| json!({"operation": "rename_field", "name": name, "new_name": new});
    let named = |text: &str, name: &str| json!({"operation": "add_field", "term": {"transform": text}, "name": name});
    for (operations, message) in [
        (json!([add_field("day(ts)")]), "is already the partition field `ts_day`"),
        (json!([add_field("id"), add_field("id")]), "is already the partition field `id`"),
        (json!([add_field("hour(ts)"), add_field("month(ts)")]), "redundant"),
        (json!([named("id", "ts_day")]), "a partition field `ts_day` already exists"),
        (json!([named("bucket(4, id)", "n")]), "has the same name as a column"),
        (json!([add_field("day(n)")]), "does not apply"),
        (json!([add_field("day(nope)")]), "no column `nope`"),
        (json!([add_field("frob(ts)")]), "is not a valid transform"),
        (json!([add_field("bucket(0, id)")]), "is not a valid transform"),
        (json!([add_field("bucket(4, l.a)")]), "inside a list"),
        (json!([add_field("s")]), "does not have a primitive type"),
        (json!([remove_field("nope")]), "no partition field `nope`"),
        (json!([add_field("id"), remove_field("id")]), "was added by this update"),
        (json!([remove_field("ts_day"), rename("ts_day", "x")]), "no partition field `ts_day`"),
        (json!([rename("ts_day", "id")]), "has the same name as a column"),
        (json!([add_field("id"), rename("ts_day", "id")]), "a partition field `id` already exists"),
    ] {
        let error = with_spec(&base, &operations).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{operations}");
        assert!(error.to_string().contains(message), "{operations}: {error}");
    }
    // An hour field next to the existing day field is valid: Java allows it.
    assert_eq!(
        spec_of(&with_spec(&base, &json!([add_field("hour(ts)")])).unwrap()),
        "1000:ts_day:day 1001:ts_hour:hour"
    );
    let renamed = with_spec(&base, &json!([rename("ts_day", "day_of_ts")])).unwrap();
    assert_eq!(spec_of(&renamed), "1000:day_of_ts:day");
}

#[test]
fn unknown_transforms_of_a_table_are_kept_as_they_are() {
    let base = changed_json(2, |table| {
        table["partition-specs"][0]["fields"] = json!([
            {"name": "odd", "transform": "Frob[7]", "source-id": 1, "field-id": 1000},
            {"name": "two", "transform": "pair", "source-ids": [1, 2], "field-id": 1001}]);
        table["last-partition-id"] = json!(1001);
    });
    let more = with_spec(&base, &json!([add_field("bucket(4, id)")])).unwrap();
    assert_eq!(spec_of(&more), "1000:odd:Frob[7] 1001:two:pair 1002:id_bucket_4:bucket[4]");
    assert_eq!(
        with_schema(&more, &json!([add("a", "int")])).unwrap().default_spec().unwrap().fields[1].source_ids,
        [1, 2]
    );
    let needed = with_schema(&base, &json!([{"operation": "delete_column", "path": "ts"}])).unwrap_err();
    assert!(needed.to_string().contains("partition field `two`"));
    let gone = with_spec(&base, &json!([remove_field("odd"), remove_field("two")])).unwrap();
    assert_eq!(
        (spec_of(&gone).as_str(), gone.partition_specs[0].fields[0].transform.to_string().as_str()),
        ("", "Frob[7]")
    );
}

#[test]
fn sort_orders_are_replaced_and_found_again() {
    let order = |terms: Json| json!({"update": "sort_order", "terms": terms});
    let by = |text: &str, descending: bool| json!({"term": {"transform": text}, "descending": descending, "nulls_first": !descending});
    let one = made(&table(2), &order(json!([by("day(ts)", true), by("id", false)]))).unwrap();
    assert_eq!((one.default_sort_order_id, one.sort_orders.len()), (1, 2));
    let fields = &one.sort_orders[1].fields;
    assert!(fields[0].descending && !fields[0].nulls_first && fields[1].nulls_first);
    let none = made(&one, &order(json!([]))).unwrap();
    assert_eq!((none.default_sort_order_id, none.sort_orders.len()), (0, 2));
    let again = made(&none, &order(json!([by("day(ts)", true), by("id", false)]))).unwrap();
    assert_eq!((again.default_sort_order_id, again.sort_orders.len()), (1, 2));
    for terms in [json!([by("nope", true)]), json!([by("id", true), by("id", false)]), json!([by("s", true)])] {
        assert_eq!(made(&one, &order(terms)).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn properties_are_checked_before_they_are_set() {
    let set = |key: &str, value: &str| json!({"update": "properties", "set": {key: value}});
    for (key, value, ok) in [
        ("anything", "at all", true),
        ("commit.retry.num-retries", "7", true),
        ("commit.retry.num-retries", "-1", false),
        ("write.target-file-size-bytes", "0", false),
        ("write.target-file-size-bytes", "512MB", false),
        ("write.wap.enabled", "TRUE", true),
        ("write.wap.enabled", "yes", false),
        ("write.delete.mode", "merge-on-read", true),
        ("write.delete.mode", "mor", false),
        ("write.metadata.metrics.default", "truncate(4)", true),
        ("write.metadata.metrics.default", "all", false),
        ("write.metadata.metrics.column.s.x", "counts", true),
        ("write.metadata.metrics.column.nope", "counts", false),
        ("schema.name-mapping.default", "[]", true),
        ("schema.name-mapping.default", "{}", false),
        ("format-version", "3", false),
        ("current-schema", "3", false),
    ] {
        let result = made(&table(2), &set(key, value));
        assert_eq!(result.is_ok(), ok, "{key} = {value}");
        assert!(ok || result.unwrap_err().kind() == ErrorKind::InvalidArgument);
    }
    let both = json!({"update": "properties", "set": {"a": "1"}, "remove": ["a"]});
    assert!(made(&table(2), &both).unwrap_err().to_string().contains("both set and removed"));
    let change = json!({"update": "properties", "set": {"a": "1"}, "remove": ["b"], "location": "/t/"});
    let mut change = Evolution::from_json(&change.to_string()).unwrap();
    let changed = made_again(&table(2), &mut change).unwrap();
    let Revision::Update(again) = change.revise(Some(&changed), 2, &Context::default()).unwrap() else { panic!() };
    assert!(again.is_empty(), "what is set already is no change");
}

#[test]
fn locations_change_and_change_back() {
    let to = |location: &str| json!({"update": "properties", "location": location});
    let base = table(2);
    let moved = made(&base, &to("s3://bucket/elsewhere/")).unwrap();
    assert_eq!(moved.location, "s3://bucket/elsewhere");
    assert_eq!((&moved.schemas, &moved.properties), (&base.schemas, &base.properties));
    assert_eq!(made(&moved, &to(&base.location)).unwrap().location, base.location);
    for empty in ["", "/"] {
        assert_eq!(made(&base, &to(empty)).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn upgraded_tables_gain_the_missing_metadata() {
    let upgrade = |version: u8| json!({"update": "properties", "format_version": version});
    let bare = changed_json(1, |table| {
        table.as_object_mut().unwrap().remove("table-uuid");
    });
    let two = made(&bare, &upgrade(2)).unwrap();
    assert!(two.format_version == 2 && two.table_uuid.is_some());
    let three = made(&bare, &upgrade(3)).unwrap();
    assert_eq!((three.format_version, three.next_row_id), (3, Some(0)));
    assert!(made(&three, &upgrade(2)).is_err());
    assert_eq!(made(&three, &upgrade(4)).unwrap_err().kind(), ErrorKind::Unsupported);
    let inline = changed_json(1, |table| {
        table["snapshots"] = json!([{"snapshot-id": 1, "timestamp-ms": 5, "manifests": ["m"]}]);
        table["current-snapshot-id"] = json!(1);
    });
    assert_eq!(made(&inline, &upgrade(2)).unwrap_err().kind(), ErrorKind::Unsupported);
}

/// Returns a table with the snapshots 10 <- 20 <- 30 (main); 20 <- 25 (dev), an append; 30 <- 40 staged under the
/// wap.id `w`.
fn forked() -> TableMetadata {
    changed_json(2, |table| {
        let snapshot = |id: i64, parent: Option<i64>, summary: Json| {
            let mut snapshot = json!({"snapshot-id": id, "sequence-number": id / 5, "timestamp-ms": 1000 * id, "manifest-list": "m", "summary": summary});
            if let Some(parent) = parent {
                snapshot["parent-snapshot-id"] = json!(parent);
            }
            snapshot
        };
        let append = json!({"operation": "append"});
        table["snapshots"] = json!([
            snapshot(10, None, append.clone()),
            snapshot(20, Some(10), append.clone()),
            snapshot(25, Some(20), append.clone()),
            snapshot(30, Some(20), append),
            snapshot(40, Some(30), json!({"operation": "overwrite", "wap.id": "w"})),
            snapshot(45, Some(20), json!({"operation": "delete"})),
        ]);
        table["current-snapshot-id"] = json!(30);
        table["last-sequence-number"] = json!(9);
        table["refs"] = json!({"main": {"snapshot-id": 30, "type": "branch"},
            "dev": {"snapshot-id": 25, "type": "branch"}, "v1": {"snapshot-id": 10, "type": "tag"}});
    })
}

fn managed(operations: &Json) -> Json {
    json!({"update": "snapshots", "operations": operations})
}

fn refs(operations: &Json) -> Result<String> {
    let table = made(&forked(), &managed(operations))?;
    assert_eq!(table.current_snapshot_id, Some(table.refs["main"].snapshot_id));
    Ok(table.refs.iter().map(|(name, r)| format!("{name}={}", r.snapshot_id)).collect::<Vec<_>>().join(" "))
}

#[test]
fn references_are_made_moved_and_removed() {
    let op = |operation: &str, more: Json| {
        let mut op = more;
        op["operation"] = json!(operation);
        op
    };
    for (operations, expected) in [
        (json!([op("create_branch", json!({"name": "b", "snapshot_id": null}))]), "b=30 dev=25 main=30 v1=10"),
        (json!([op("create_tag", json!({"name": "t", "snapshot_id": 20}))]), "dev=25 main=30 t=20 v1=10"),
        (json!([op("replace_branch", json!({"name": "dev", "snapshot_id": 10}))]), "dev=10 main=30 v1=10"),
        (json!([op("replace_tag", json!({"name": "v1", "snapshot_id": 20}))]), "dev=25 main=30 v1=20"),
        (json!([op("remove_branch", json!({"name": "dev"})), op("remove_tag", json!({"name": "v1"}))]), "main=30"),
        (json!([op("rename_branch", json!({"name": "dev", "new_name": "x"}))]), "main=30 v1=10 x=25"),
        (json!([op("rollback_to_snapshot", json!({"snapshot_id": 10}))]), "dev=25 main=10 v1=10"),
        (json!([op("rollback_to_timestamp", json!({"timestamp_ms": 30_000}))]), "dev=25 main=20 v1=10"),
        (json!([op("set_current_snapshot", json!({"snapshot_id": 25}))]), "dev=25 main=25 v1=10"),
        (json!([op("set_current_reference", json!({"name": "dev"}))]), "dev=25 main=25 v1=10"),
        (
            json!([
                op("rollback_to_snapshot", json!({"snapshot_id": 20})),
                op("fast_forward", json!({"name": "main", "to": "dev"}))
            ]),
            "dev=25 main=25 v1=10",
        ),
        (json!([op("fast_forward", json!({"name": "new", "to": "v1"}))]), "dev=25 main=30 new=10 v1=10"),
        (json!([op("cherry_pick", json!({"snapshot_id": 40}))]), "dev=25 main=40 v1=10"),
        (json!([op("publish_changes", json!({"wap_id": "w"}))]), "dev=25 main=40 v1=10"),
    ] {
        assert_eq!(refs(&operations).unwrap(), expected, "{operations}");
    }
    for (operations, kind, message) in [
        (op("create_branch", json!({"name": "dev"})), ErrorKind::AlreadyExists, "`dev` already"),
        (op("create_tag", json!({"name": "t", "snapshot_id": 99})), ErrorKind::NoSuchSnapshot, "no snapshot 99"),
        (op("create_tag", json!({"name": "t", "min_snapshots_to_keep": 2})), ErrorKind::InvalidArgument, "a tag"),
        (op("create_tag", json!({"name": "t", "max_ref_age_ms": 0})), ErrorKind::InvalidArgument, "must be at least 1"),
        (op("create_tag", json!({"name": ""})), ErrorKind::InvalidArgument, "empty"),
        (op("replace_branch", json!({"name": "v1", "snapshot_id": 10})), ErrorKind::InvalidArgument, "is a tag"),
        (op("remove_tag", json!({"name": "dev"})), ErrorKind::InvalidArgument, "is a branch"),
        (op("remove_branch", json!({"name": "main"})), ErrorKind::InvalidArgument, "`main`"),
        (op("remove_branch", json!({"name": "nope"})), ErrorKind::NoSuchSnapshot, "`nope`"),
        (op("rename_branch", json!({"name": "main", "new_name": "x"})), ErrorKind::InvalidArgument, "`main`"),
        (op("rename_branch", json!({"name": "dev", "new_name": "v1"})), ErrorKind::AlreadyExists, "`v1`"),
        (op("rollback_to_snapshot", json!({"snapshot_id": 25})), ErrorKind::InvalidArgument, "is not an ancestor"),
        (op("rollback_to_timestamp", json!({"timestamp_ms": 10_000})), ErrorKind::NoSuchSnapshot, "older than"),
        (
            op("fast_forward", json!({"name": "main", "to": "dev"})),
            ErrorKind::InvalidArgument,
            "not an ancestor of `dev`",
        ),
        (op("fast_forward", json!({"name": "v1", "to": "main"})), ErrorKind::InvalidArgument, "is a tag"),
        (op("cherry_pick", json!({"snapshot_id": 45})), ErrorKind::CommitValidation, "not an append"),
        (op("cherry_pick", json!({"snapshot_id": 20})), ErrorKind::CommitValidation, "an ancestor"),
        (op("publish_changes", json!({"wap_id": "nope"})), ErrorKind::NoSuchSnapshot, "`nope`"),
    ] {
        let error = refs(&json!([operations])).unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(message), "{operations}: {error}");
    }
}

#[test]
fn retention_is_set_and_kept() {
    let operations = json!([
        {"operation": "create_branch", "name": "b", "max_ref_age_ms": 5, "min_snapshots_to_keep": 2},
        {"operation": "set_retention", "name": "b", "max_snapshot_age_ms": 7},
        {"operation": "replace_branch", "name": "b", "snapshot_id": 10, "max_ref_age_ms": 6},
    ]);
    let table = made(&forked(), &managed(&operations)).unwrap();
    let branch = &table.refs["b"];
    assert_eq!(
        (branch.max_ref_age_ms, branch.max_snapshot_age_ms, branch.min_snapshots_to_keep),
        (Some(6), Some(7), Some(2))
    );
}

#[test]
fn published_snapshots_are_not_published_again() {
    let published = changed_json(2, |table| {
        let snapshot = |id: i64, summary: Json| json!({"snapshot-id": id, "sequence-number": id, "timestamp-ms": id, "manifest-list": "m", "summary": summary});
        table["snapshots"] = json!([
            snapshot(1, json!({"operation": "append", "wap.id": "w"})),
            snapshot(2, json!({"operation": "append", "source-snapshot-id": "1", "published-wap-id": "w"})),
            snapshot(3, json!({"operation": "append", "wap.id": "w"})),
        ]);
        table["current-snapshot-id"] = json!(2);
        table["last-sequence-number"] = json!(3);
    });
    for (id, message) in [(1, "already picked"), (3, "already published")] {
        let pick = managed(&json!([{"operation": "cherry_pick", "snapshot_id": id}]));
        let error = made(&published, &pick).unwrap_err();
        assert!(error.kind() == ErrorKind::CommitValidation && error.to_string().contains(message), "{error}");
    }
}

#[test]
fn operations_before_one_that_fails_leave_nothing_in_a_transaction() {
    let files = Files::below(Arc::new(MemoryStorage::default()), "memory://t").unwrap();
    let base = State { metadata: Arc::new(forked()), metadata_location: "memory://t/v1.json".to_string() };
    let mut transaction = Transaction::new(base);
    let tag = |name: &str| json!({"operation": "create_tag", "name": name, "snapshot_id": 10});
    let pick = json!({"operation": "cherry_pick", "snapshot_id": 45});
    let mut make = |operations: Json| {
        let change = Evolution::from_json(&managed(&operations).to_string()).unwrap();
        transaction.add_all(change.into_changes(&files), &Context::default())
    };
    make(json!([tag("a")])).unwrap();
    assert_eq!(make(json!([tag("b"), pick])).unwrap_err().kind(), ErrorKind::CommitValidation);
    make(json!([tag("c")])).unwrap();
    assert_eq!(transaction.staged().refs.keys().collect::<Vec<_>>(), ["a", "c", "dev", "main", "v1"]);
}

#[test]
fn a_retry_does_not_undo_unseen_commits() {
    for operation in [
        json!({"operation": "rollback_to_snapshot", "snapshot_id": 10}),
        json!({"operation": "set_current_snapshot", "snapshot_id": 10}),
        json!({"operation": "replace_branch", "name": "main", "snapshot_id": 10}),
    ] {
        let mut change = Evolution::from_json(&managed(&json!([operation])).to_string()).unwrap();
        made_again(&forked(), &mut change).unwrap();
        let moved = made(&forked(), &managed(&json!([{"operation": "publish_changes", "wap_id": "w"}]))).unwrap();
        assert_eq!(made_again(&moved, &mut change).unwrap_err().kind(), ErrorKind::CommitConflict);
    }
    // An operation that moves off no snapshot is retried.
    let tag = managed(&json!([{"operation": "create_tag", "name": "t", "snapshot_id": 10}]));
    let mut change = Evolution::from_json(&tag.to_string()).unwrap();
    made_again(&forked(), &mut change).unwrap();
    let moved = made(&forked(), &managed(&json!([{"operation": "publish_changes", "wap_id": "w"}]))).unwrap();
    assert_eq!(made_again(&moved, &mut change).unwrap().current_snapshot_id, Some(40));
}

#[test]
fn invalid_evolutions_are_rejected() {
    for text in ["", "{}", r#"{"update": "frob"}"#, r#"{"update": "spec", "operations": [{"operation": "frob"}]}"#] {
        assert_eq!(Evolution::from_json(text).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}
