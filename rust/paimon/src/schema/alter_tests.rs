use std::sync::Arc;

use frazil_core::storage::{Files, MemoryStorage};
use serde_json::{Value, json};

use super::super::create::create;
use super::*;
use crate::commit::NoLock;
use crate::spec::option_rules::check_written_with;

const ROOT: &str = "memory://warehouse/d.db/t";

fn schema(changes: &Value) -> TableSchema {
    let mut value = json!({
        "version": 3, "id": 4, "highestFieldId": 9, "partitionKeys": ["p"], "primaryKeys": ["p", "k"], "timeMillis": 1,
        "fields": [
            {"id": 0, "name": "k", "type": "INT NOT NULL"}, {"id": 1, "name": "p", "type": "STRING NOT NULL"},
            {"id": 2, "name": "v", "type": "INT"},
            {"id": 5, "name": "s", "type": {"type": "ROW", "fields": [
                {"id": 3, "name": "x", "type": "INT"}, {"id": 4, "name": "y", "type": "STRING"}]}},
            {"id": 8, "name": "a", "type": {"type": "ARRAY", "element": {"type": "ROW", "fields": [
                {"id": 6, "name": "x", "type": "INT"}, {"id": 7, "name": "y", "type": "INT"}]}}},
            {"id": 9, "name": "m", "type": {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}},
        ],
        "options": {"bucket": "2", "bucket-key": "k"},
    });
    for (key, member) in changes.as_object().unwrap() {
        value[key] = member.clone();
    }
    TableSchema::parse(value.to_string().as_bytes()).unwrap()
}

fn changed(changes: &Value, has_snapshots: bool) -> Result<TableSchema> {
    let changes = Change::parse_all(changes.to_string().as_bytes())?;
    altered(&schema(&json!({})), &changes, has_snapshots, 7)
}

fn refused(changes: &Value) -> String {
    let error = changed(changes, true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    error.to_string()
}

fn names(fields: &[DataField]) -> Vec<&str> {
    fields.iter().map(|field| field.name.as_str()).collect()
}

#[test]
fn new_fields_have_new_ids_and_the_fields_in_them_follow() {
    let row = json!({"type": "ROW", "fields": [{"id": 0, "name": "a", "type": "INT"}, {"id": 1, "name": "b", "type": "INT"}]});
    let schema = changed(
        &json!([
            {"operation": "add_column", "path": "r", "type": row, "doc": "text"},
            {"operation": "add_column", "path": "s.z", "type": "BIGINT"},
            {"operation": "add_column", "path": ["a", "element", "z"], "type": "INT", "default": "5"},
        ]),
        true,
    )
    .unwrap();
    assert_eq!((schema.id, schema.time_ms, schema.highest_field_id), (5, 7, 14));
    let json = serde_json::to_value(&schema).unwrap();
    assert_eq!(
        json["fields"][6],
        json!({"id": 10, "name": "r", "description": "text", "type": {"type": "ROW", "fields": [
            {"id": 11, "name": "a", "type": "INT"}, {"id": 12, "name": "b", "type": "INT"}]}})
    );
    assert_eq!(json["fields"][3]["type"]["fields"][2], json!({"id": 13, "name": "z", "type": "BIGINT"}));
    assert_eq!(
        json["fields"][4]["type"]["element"]["fields"][2],
        json!({"id": 14, "name": "z", "type": "INT", "defaultValue": "5"})
    );
}

#[test]
fn operations_are_applied_in_order() {
    let schema = changed(
        &json!([
            {"operation": "rename_column", "path": "v", "name": "w"},
            {"operation": "add_column", "path": "v", "type": "STRING"},
            {"operation": "move_after", "path": "v", "other": "k"},
            {"operation": "move_last", "path": "k"},
            {"operation": "move_before", "path": ["s", "y"], "other": ["s", "x"]},
            {"operation": "delete_column", "path": "a.x"},
            {"operation": "update_column", "path": "m.value", "type": "BIGINT"},
            {"operation": "update_column", "path": "w", "type": "STRING", "doc": "d"},
            {"operation": "set_comment", "comment": "c"},
            {"operation": "set_option", "name": "owner", "value": "me"},
        ]),
        true,
    )
    .unwrap();
    assert_eq!(names(&schema.fields), ["v", "p", "w", "s", "a", "m", "k"]);
    let json = serde_json::to_value(&schema).unwrap();
    assert_eq!(json["fields"][2], json!({"id": 2, "name": "w", "type": "STRING", "description": "d"}));
    assert_eq!(json["fields"][3]["type"]["fields"][0]["name"], "y");
    assert_eq!(json["fields"][4]["type"]["element"]["fields"], json!([{"id": 7, "name": "y", "type": "INT"}]));
    assert_eq!(json["fields"][5]["type"]["value"], "BIGINT");
    assert_eq!((json["comment"].as_str(), json["options"]["owner"].as_str()), (Some("c"), Some("me")));
}

#[test]
fn a_renamed_key_stays_the_key() {
    let schema = changed(&json!([{"operation": "rename_column", "path": "k", "name": "id"}]), true).unwrap();
    assert_eq!(schema.primary_keys, ["p", "id"]);
    assert_eq!(schema.options["bucket-key"], "id");
}

#[test]
fn changes_that_would_break_rows_are_refused_by_name() {
    for (operation, message) in [
        (json!({"operation": "add_column", "path": "n", "type": "INT NOT NULL"}), "a new column cannot be NOT NULL"),
        (json!({"operation": "add_column", "path": "n", "type": "INT", "required": true}), "cannot be NOT NULL"),
        (json!({"operation": "add_column", "path": "v", "type": "INT"}), "already exists"),
        (json!({"operation": "add_column", "path": "v.n", "type": "INT"}), "not a ROW"),
        (json!({"operation": "add_column", "path": "no.n", "type": "INT"}), "no column `no`"),
        (json!({"operation": "add_column", "path": "m.value", "type": "INT"}), "not fields"),
        (json!({"operation": "add_column", "path": "_ROW_ID", "type": "INT"}), "reserves"),
        (json!({"operation": "add_column", "path": "n", "type": "INT", "default": "x"}), "default"),
        (json!({"operation": "delete_column", "path": "k"}), "primary key cannot be dropped"),
        (json!({"operation": "delete_column", "path": "p"}), "partition key cannot be dropped"),
        (json!({"operation": "delete_column", "path": "no"}), "no column `no`"),
        (json!({"operation": "delete_column", "path": "a.element"}), "not fields"),
        (json!({"operation": "rename_column", "path": "p", "name": "q"}), "partition key cannot be renamed"),
        (json!({"operation": "rename_column", "path": "v", "name": "s"}), "already exists"),
        (json!({"operation": "rename_column", "path": "v", "name": " "}), "needs a name"),
        (json!({"operation": "update_column", "path": "k", "type": "BIGINT"}), "primary key cannot be changed"),
        (json!({"operation": "update_column", "path": "p", "type": "INT"}), "partition key cannot be changed"),
        (json!({"operation": "update_column", "path": "v", "type": "DATE"}), "INT cannot be changed to DATE"),
        (json!({"operation": "update_column", "path": "s", "type": "INT"}), "cannot be changed to INT"),
        (json!({"operation": "update_column", "path": "v", "required": true}), "cannot become NOT NULL"),
        (json!({"operation": "update_column", "path": "k", "required": false}), "cannot be made nullable"),
        (json!({"operation": "set_default", "path": "v", "default": "x"}), "default"),
        (json!({"operation": "move_first", "path": "k"}), "already at this position"),
        (json!({"operation": "move_after", "path": "k", "other": "k"}), "already at this position"),
        (json!({"operation": "move_after", "path": "k", "other": "s.x"}), "within its ROW"),
        (json!({"operation": "set_option", "name": "bucket", "value": "-1"}), "`bucket` cannot be changed"),
        (json!({"operation": "remove_option", "name": "bucket"}), "`bucket` cannot be changed"),
        (json!({"operation": "set_option", "name": "merge-engine", "value": "first-row"}), "`merge-engine`"),
        (json!({"operation": "set_option", "name": "deletion-vectors.enabled", "value": "true"}), "deletion-vectors"),
        (json!({"operation": "set_option", "name": "path", "value": "/x"}), "`path` cannot be changed"),
        (json!({"operation": "set_option", "name": "sequence.field", "value": "no"}), "no"),
    ] {
        let found = refused(&json!([operation]));
        assert!(found.contains(message), "{operation}: {found}");
    }
    let error = changed(&json!([{"operation": "union_by_name"}]), true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn the_last_column_and_the_last_field_stay() {
    let one = schema(&json!({"partitionKeys": [], "primaryKeys": [], "options": {}, "fields": [
        {"id": 1, "name": "s", "type": {"type": "ROW", "fields": [{"id": 0, "name": "x", "type": "INT"}]}}]}));
    for path in ["s", "s.x"] {
        let changes = [Change::DropColumn { path: super::super::ColumnPath::Text(path.to_string()) }];
        let error = altered(&one, &changes, false, 1).unwrap_err();
        assert!(error.to_string().contains("cannot be dropped"), "{error}");
    }
}

#[test]
fn options_of_tables_without_snapshots_may_change() {
    let schema = changed(
        &json!([
            {"operation": "set_option", "name": "merge-engine", "value": "first-row"},
            {"operation": "set_option", "name": "bucket", "value": "-1"},
            {"operation": "remove_option", "name": "bucket-key"},
        ]),
        false,
    )
    .unwrap();
    assert_eq!(
        schema.options,
        [("bucket", "-1"), ("merge-engine", "first-row")].map(|(a, b)| (a.into(), b.into())).into()
    );
}

#[test]
fn options_permit_what_is_refused_by_default() {
    let table = |options: Value| schema(&json!({"options": options}));
    let apply = |schema: &TableSchema, operation: Value| {
        altered(schema, &Change::parse_all(json!([operation]).to_string().as_bytes()).unwrap(), true, 1)
    };
    let required = json!({"operation": "update_column", "path": "v", "required": true});
    apply(&table(json!({"bucket": "1", "alter-column-null-to-not-null.disabled": "false"})), required).unwrap();
    let vectors = json!({"operation": "set_option", "name": "deletion-vectors.enabled", "value": "true"});
    apply(&table(json!({"bucket": "1", "deletion-vectors.modifiable": "true"})), vectors).unwrap();
    let implicit = table(json!({"bucket": "1", "disable-explicit-type-casting": "true"}));
    apply(&implicit, json!({"operation": "update_column", "path": "v", "type": "BIGINT"})).unwrap();
    for narrower in ["SMALLINT", "STRING", "BOOLEAN"] {
        apply(&implicit, json!({"operation": "update_column", "path": "v", "type": narrower})).unwrap_err();
    }
    let ignoring = table(json!({"bucket": "1", "ignore-delete": "true"}));
    apply(&ignoring, json!({"operation": "remove_option", "name": "ignore-delete"})).unwrap_err();
}

#[test]
fn a_writer_of_an_older_schema_conflicts_if_its_files_do_not_fit() {
    let written = schema(&json!({}));
    let later = |changes: Value| {
        let mut latest = schema(&changes);
        latest.id = 5;
        check_written_with(&written, &latest)
    };
    later(json!({"options": {"bucket": "2", "bucket-key": "k", "owner": "me"}})).unwrap();
    for options in [json!({"bucket": "3", "bucket-key": "k"}), json!({"bucket": "2", "merge-engine": "first-row"})] {
        let error = later(json!({"options": options})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
    }
    let renamed = changed(&json!([{"operation": "rename_column", "path": "k", "name": "id"}]), true).unwrap();
    check_written_with(&written, &renamed).unwrap();
}

#[test]
fn each_change_publishes_the_next_schema() {
    let files = Files::below(Arc::new(MemoryStorage::default()), ROOT).unwrap();
    let definition = json!({"fields": [{"id": 0, "name": "k", "type": "INT"}]});
    let table = create(&files, ROOT, Definition::parse(definition.to_string().as_bytes()).unwrap()).unwrap();
    let context = Context::default();
    let add = |table: &Table, name: &str| {
        let change = json!([{"operation": "add_column", "path": name, "type": "INT"}]);
        alter(table, &Change::parse_all(change.to_string().as_bytes()).unwrap(), &NoLock, &context)
    };
    let first = add(&table, "a").unwrap();
    // `table` does not know the column `a`, which is kept.
    let second = add(&table, "b").unwrap();
    assert_eq!((first.schema().id, second.schema().id), (1, 2));
    assert_eq!(names(&second.schema().fields), ["k", "a", "b"]);
    assert_eq!(table.refresh().unwrap().schema(), second.schema());
    add(&table, "a").unwrap_err();
    assert_eq!(table.schema_ids().unwrap(), [0, 1, 2]);
}

#[test]
fn names_that_options_or_arrow_cannot_contain_are_refused() {
    let renamed = |name: &str| refused(&json!([{"operation": "rename_column", "path": "k", "name": name}]));
    for name in [" k2", "k2 ", "v,a", "v[x]"] {
        assert!(renamed(name).contains("an option contains the name of the column"), "{name}");
        // No option names this column.
        changed(&json!([{"operation": "rename_column", "path": "v", "name": name}]), true).unwrap();
    }
    let row = json!({"type": "ROW", "fields": [{"id": 0, "name": "a\0", "type": "INT"}]});
    for change in [
        json!({"operation": "rename_column", "path": "v", "name": "v\0"}),
        json!({"operation": "rename_column", "path": "s.x", "name": "\0"}),
        json!({"operation": "add_column", "path": "n\0", "type": "INT"}),
        json!({"operation": "add_column", "path": "n", "type": {"type": "ARRAY", "element": row}}),
    ] {
        assert!(refused(&json!([change])).contains("U+0000"), "{change}");
    }
    for change in [
        json!({"operation": "rename_column", "path": "v", "name": "_ROW_KIND"}),
        json!({"operation": "add_column", "path": "_ROW_KIND", "type": "STRING"}),
    ] {
        assert!(refused(&json!([change])).contains("holds the kinds of appended rows"), "{change}");
    }
}
