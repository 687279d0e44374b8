//! Tests of snapshots: time travel and incremental append scans.

use frazil_core::context::Context;
use frazil_core::error::{ErrorKind, Result};
use frazil_iceberg::scan::incremental::SnapshotRange;
use frazil_iceberg::scan::plan::Plan;
use frazil_iceberg::scan::table_scan::{ScanOptions, TableScan};
use frazil_iceberg::table::{SnapshotChoice, Table};
use rstest::rstest;
use serde_json::json;

use crate::support::*;

/// Returns a table in which 1 adds a, 2 adds b, 3 overwrites a with c, 4 adds d. Every snapshot includes the manifests
/// of the earlier ones.
fn appends_and_an_overwrite() -> Fixture {
    let mut fixture = Fixture::new();
    let added = |id: i64, name: &str| Entry { snapshot_id: Some(id), ..Entry::data(name) };
    let manifest = |id: i64, name: &str| Manifest::data(&format!("m{id}"), id, vec![added(id, name)]);
    let removed = Entry { status: 2, snapshot_id: Some(3), ..Entry::data("a") }.sequence(1);
    let overwrite = Manifest::data("m3", 3, vec![removed, added(3, "c")]);
    fixture.commit(1, "append", &[manifest(1, "a")]);
    fixture.commit(2, "append", &[manifest(1, "a"), manifest(2, "b")]);
    fixture.commit(3, "overwrite", &[overwrite.clone(), manifest(2, "b")]);
    fixture.commit(4, "append", &[overwrite, manifest(2, "b"), manifest(4, "d")]);
    fixture
}

fn incremental(table: &Table, from: Option<i64>, to: Option<i64>) -> Result<Plan> {
    let range = SnapshotRange { from_snapshot_id_exclusive: from, to_snapshot_id_inclusive: to };
    TableScan::incremental(table, &options(""), range)?.plan(2, &Context::default())
}

#[rstest]
#[case::all(None, None, &["a", "b", "d"])]
#[case::up_to_the_overwrite(None, Some(3), &["a", "b"])]
#[case::the_overwrite_alone(Some(2), Some(3), &[])]
#[case::after_the_first(Some(1), None, &["b", "d"])]
#[case::one(Some(3), Some(4), &["d"])]
#[case::none(Some(4), Some(4), &[])]
fn incremental_scans_return_appended_files(
    #[case] from: Option<i64>,
    #[case] to: Option<i64>,
    #[case] expected: &[&str],
) {
    // `a` was removed later, and is returned by the append that added it.
    let mut found = names(&incremental(&appends_and_an_overwrite().open(), from, to).unwrap());
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn a_range_must_lie_within_one_lineage() {
    let table = appends_and_an_overwrite().open();
    assert_eq!(incremental(&table, Some(4), Some(2)).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(incremental(&table, Some(77), None).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(incremental(&table, None, Some(77)).unwrap_err().kind(), ErrorKind::NoSuchSnapshot);
}

#[test]
fn an_incremental_scan_ignores_deletes_and_entries_that_were_carried_over() {
    let mut fixture = Fixture::new();
    let carried = Entry { snapshot_id: Some(1), ..Entry::data("a") }.existing(Some(1));
    fixture.commit(1, "append", &[Manifest::data("m1", 1, vec![Entry::data("a")])]);
    let merged = Manifest::data("m2", 2, vec![carried, Entry { snapshot_id: Some(2), ..Entry::data("b") }]);
    let deletes = Manifest::deletes("d", 2, vec![Entry::vector("v", "b")]);
    fixture.commit(2, "append", &[merged, deletes]);
    let plan = incremental(&fixture.open(), Some(1), None).unwrap();
    assert_eq!(names(&plan), ["b"]);
    assert!(deletes_of(&plan, "b").is_empty());
}

#[test]
fn a_file_that_two_appends_added_is_returned_for_both() {
    let mut fixture = Fixture::new();
    let added =
        |id: i64| Manifest::data(&format!("m{id}"), id, vec![Entry { snapshot_id: Some(id), ..Entry::data("a") }]);
    fixture.commit(1, "append", &[added(1)]);
    fixture.commit(2, "delete", &[]);
    fixture.commit(3, "append", &[added(3)]);
    assert_eq!(names(&incremental(&fixture.open(), None, None).unwrap()), ["a", "a"]);
}

/// Returns a table in which schema 0 has only `id` and schema 1 has `id, added`. Snapshot 1 has schema 0, 2 has 1; main
/// was rolled back to 1 at 5000 ms.
fn rolled_back() -> Fixture {
    let column = |id: i32, name: &str| json!({"id": id, "name": name, "required": false, "type": "long"});
    let mut fixture = Fixture::of(&[column(1, "id")], &[json!({"spec-id": 3, "fields": []})]);
    let second = json!({"type": "struct", "schema-id": 1, "fields": [column(1, "id"), column(2, "added")]});
    fixture.json["schemas"].as_array_mut().unwrap().push(second);
    fixture.json["current-schema-id"] = json!(1);
    fixture.json["default-spec-id"] = json!(3);
    fixture.commit(1, "append", &[Manifest::data("m1", 1, vec![Entry::data("a")])]);
    fixture.commit(2, "append", &[Manifest::data("m2", 2, vec![Entry::data("b")])]);
    fixture.json["snapshots"][1]["schema-id"] = json!(1);
    fixture.json["current-snapshot-id"] = json!(1);
    fixture.json["snapshot-log"].as_array_mut().unwrap().push(json!({"snapshot-id": 1, "timestamp-ms": 5000}));
    fixture.json["refs"] = json!({
        "main": {"snapshot-id": 1, "type": "branch"},
        "dev": {"snapshot-id": 1, "type": "branch"},
        "old": {"snapshot-id": 1, "type": "tag"},
        "new": {"snapshot-id": 2, "type": "tag"},
    });
    fixture
}

#[rstest]
#[case::current_has_the_current_schema(SnapshotChoice::Current, "a", 2)]
#[case::an_id_has_its_own_schema(SnapshotChoice::Id(1), "a", 1)]
#[case::an_id_off_the_main_line(SnapshotChoice::Id(2), "b", 2)]
#[case::a_branch_has_the_current_schema(SnapshotChoice::Ref("dev".into()), "a", 2)]
#[case::main_is_a_branch(SnapshotChoice::Ref("main".into()), "a", 2)]
#[case::a_tag_has_its_own_schema(SnapshotChoice::Ref("old".into()), "a", 1)]
#[case::another_tag(SnapshotChoice::Ref("new".into()), "b", 2)]
#[case::a_time_is_inclusive(SnapshotChoice::AsOf(2000), "b", 2)]
#[case::a_time_between(SnapshotChoice::AsOf(1999), "a", 1)]
#[case::a_time_after_the_rollback(SnapshotChoice::AsOf(9000), "a", 1)]
fn time_travel_chooses_snapshot_and_schema(
    #[case] snapshot: SnapshotChoice,
    #[case] file: &str,
    #[case] columns: usize,
) {
    let options = ScanOptions { snapshot, ..options("") };
    let plan = try_plan(&rolled_back().open(), &options).unwrap();
    assert_eq!(names(&plan), [file]);
    assert_eq!(plan.read().output.fields.fields.len(), columns);
}

#[rstest]
#[case(SnapshotChoice::Id(3))]
#[case(SnapshotChoice::Ref("none".into()))]
#[case(SnapshotChoice::AsOf(999))]
fn missing_snapshots_cannot_be_selected(#[case] snapshot: SnapshotChoice) {
    let options = ScanOptions { snapshot, ..options("") };
    assert_eq!(try_plan(&rolled_back().open(), &options).unwrap_err().kind(), ErrorKind::NoSuchSnapshot);
}

#[test]
fn filters_are_bound_to_the_schema_of_the_snapshot() {
    let table = rolled_back().open();
    assert!(try_plan(&table, &options("added > 1")).is_ok());
    let old = ScanOptions { snapshot: SnapshotChoice::Id(1), ..options("added > 1") };
    assert_eq!(try_plan(&table, &old).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_table_without_snapshots_has_no_files() {
    let table = Fixture::new().open();
    assert!(plan(&table, "").is_empty());
    assert!(incremental(&table, None, None).unwrap().is_empty());
}

#[test]
fn a_newer_version_than_the_hint_says_is_current() {
    let mut fixture = Fixture::new();
    fixture.put("metadata/v2.metadata.json", fixture.json.to_string().into());
    fixture.put("metadata/version-hint.text", "1".into());
    fixture.commit(1, "append", &[Manifest::data("m1", 1, vec![Entry::data("a")])]);
    fixture.put("metadata/v3.metadata.json", fixture.json.to_string().into());
    let table = fixture.open();
    assert!(table.metadata_location().ends_with("/v3.metadata.json"));
    assert_eq!(names(&plan(&table, "")), ["a"]);
}
