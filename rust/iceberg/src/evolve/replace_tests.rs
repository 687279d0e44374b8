use serde_json::{Value, json};

use super::*;
use crate::commit::update::MetadataBuilder;

/// Returns a table of three columns, partitioned by the day of one and by another, with a snapshot.
fn table(version: u8) -> TableMetadata {
    let schema = json!({"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "id", "required": false, "type": "long"},
        {"id": 2, "name": "ts", "required": false, "type": "timestamp"},
        {"id": 3, "name": "s", "required": false, "type": {"type": "struct", "fields": [
            {"id": 4, "name": "x", "required": false, "type": "int"}]}}]});
    let fields = json!([
        {"source-id": 2, "field-id": 1000, "name": "ts_day", "transform": "day"},
        {"source-id": 1, "field-id": 1001, "name": "id", "transform": "identity"}]);
    let mut table = json!({
        "format-version": version, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "/t",
        "last-sequence-number": 1, "last-updated-ms": 1_000_000, "last-column-id": 7, "current-schema-id": 0,
        "schemas": [schema], "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": fields}],
        "last-partition-id": 1001, "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {"a": "1", "b": "2"}, "current-snapshot-id": 20,
        "snapshots": [{"snapshot-id": 20, "sequence-number": 1, "timestamp-ms": 4, "manifest-list": "m",
                       "summary": {"operation": "append"}}],
        "snapshot-log": [{"snapshot-id": 20, "timestamp-ms": 4}],
        "refs": {"main": {"snapshot-id": 20, "type": "branch"}, "v": {"snapshot-id": 20, "type": "tag"}}
    });
    if version == 1 {
        table["schema"] = schema;
        table["partition-spec"] = fields;
    }
    TableMetadata::parse(table.to_string().as_bytes()).unwrap()
}

fn replaced(base: &TableMetadata, schema: &Value, partition_by: &[&str]) -> Result<TableMetadata> {
    let schema = Schema::from_json(&schema.to_string())?;
    let change = ReplaceTable {
        format_version: None,
        location: None,
        spec: PartitionSpec::from_texts(partition_by, &schema)?,
        schema,
        order: SortOrder::default(),
        properties: BTreeMap::from([("b".into(), "3".into())]),
    };
    let mut builder = MetadataBuilder::new(base.clone(), 2_000_000);
    change.updates(base)?.into_iter().try_for_each(|update| builder.apply(update))?;
    builder.into_metadata()
}

fn new_schema() -> Value {
    json!({"type": "struct", "fields": [
        {"id": 1, "name": "s", "required": false, "type": {"type": "struct", "fields": [
            {"id": 4, "name": "x", "required": false, "type": "string"},
            {"id": 5, "name": "y", "required": false, "type": "string"}]}},
        {"id": 2, "name": "new", "required": false, "type": "int"},
        {"id": 3, "name": "id", "required": true, "type": "long"}]})
}

fn ids(schema: &Schema) -> Vec<(String, i32)> {
    in_order(&schema.fields).into_iter().map(|id| (schema.full_name(id).unwrap(), id)).collect()
}

#[test]
fn columns_keep_the_ids_of_their_names_and_history_stays() {
    let base = table(2);
    let new = replaced(&base, &new_schema(), &[]).unwrap();
    let expected = [("s", 3), ("new", 8), ("id", 1), ("s.x", 4), ("s.y", 9)];
    assert_eq!(ids(new.current_schema().unwrap()), expected.map(|(name, id)| (name.to_string(), id)));
    assert_eq!((new.last_column_id, new.current_schema_id), (9, 1));
    assert!(new.current_snapshot_id.is_none());
    assert_eq!(new.snapshot_log, base.snapshot_log);
    assert_eq!(new.refs.keys().collect::<Vec<_>>(), ["v"]);
    assert_eq!((new.snapshots.len(), new.table_uuid.as_ref()), (1, base.table_uuid.as_ref()));
    assert_eq!(new.properties, BTreeMap::from([("a".into(), "1".into()), ("b".into(), "3".into())]));
    assert_eq!((new.default_spec_id, new.partition_specs.len(), new.last_partition_id), (1, 2, 1001));
    // The columns of the earlier spec may be dropped.
    assert!(new.current_schema().unwrap().field(2).is_none());
}

#[test]
fn partition_fields_keep_their_ids_and_in_v1_their_places() {
    let schema = new_schema();
    let found = |version, partition_by: &[&str]| {
        let new = replaced(&table(version), &schema, partition_by).unwrap();
        let fields = new.default_spec().unwrap().fields.iter();
        fields.map(|field| format!("{} {} {}", field.field_id, field.name, field.transform)).collect::<Vec<_>>()
    };
    assert_eq!(found(2, &["bucket(4, new)", "id"]), ["1002 new_bucket bucket[4]", "1001 id identity"]);
    assert_eq!(
        found(1, &["bucket(4, new)", "id"]),
        ["1000 ts_day void", "1001 id identity", "1002 new_bucket bucket[4]"]
    );
    assert_eq!(found(1, &["bucket(4, id)"]), ["1000 ts_day void", "1001 id void", "1002 id_bucket bucket[4]"]);
    let same = json!({"type": "struct", "fields": [{"id": 9, "name": "ts", "required": false, "type": "timestamp"}]});
    let new = replaced(&table(1), &same, &["hour(ts) as ts_day"]);
    assert!(new.is_err() || new.unwrap().default_spec().unwrap().fields[0].name == "ts_day_1000");
}

#[test]
fn an_equal_definition_adds_no_schema_and_no_spec() {
    let base = table(2);
    let schema: Value = serde_json::from_str(&base.current_schema().unwrap().to_json()).unwrap();
    let new = replaced(&base, &schema, &["day(ts)", "id"]).unwrap();
    assert_eq!((new.schemas.len(), new.partition_specs.len(), new.default_spec_id), (1, 1, 0));
    assert!(new.current_snapshot_id.is_none());
}

#[test]
fn names_with_dots_share_no_id() {
    let base = json!({"type": "struct", "fields": [
        {"id": 1, "name": "s.x", "required": false, "type": "int"},
        {"id": 2, "name": "t", "required": false, "type": "int"}]});
    let first = replaced(&table(2), &base, &[]).unwrap();
    let found = ids(first.current_schema().unwrap());
    assert_eq!(found, [("s.x".to_string(), 4), ("t".to_string(), 8)]);
}

#[test]
fn a_type_that_an_earlier_transform_does_not_take_gets_a_new_id() {
    for (field_type, id) in [(json!("int"), 8), (json!("date"), 2)] {
        let schema = json!({"type": "struct", "fields": [
            {"id": 1, "name": "ts", "required": false, "type": field_type}]});
        let new = replaced(&table(2), &schema, &[]).unwrap();
        assert_eq!(ids(new.current_schema().unwrap()), [("ts".to_string(), id)]);
    }
    let nested = json!({"type": "struct", "fields": [{"id": 1, "name": "id", "required": false, "type":
        {"type": "list", "element-id": 2, "element-required": false, "element": "int"}}]});
    let new = replaced(&table(2), &nested, &[]).unwrap();
    assert_eq!(ids(new.current_schema().unwrap()), [("id".to_string(), 8), ("id.element".to_string(), 9)]);
}
