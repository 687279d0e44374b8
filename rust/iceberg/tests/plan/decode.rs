//! Tests of decoding manifests and manifest lists, valid and invalid ones.

use std::sync::Arc;

use frazil_core::context::Context;
use frazil_core::error::ErrorKind;
use frazil_core::storage::faulty::{Fault, FaultyStorage};
use frazil_iceberg::scan::output::MetadataColumn;
use frazil_iceberg::spec::manifest_list;
use rstest::rstest;
use serde_json::json;

use crate::support::*;

fn refused(manifests: &[Manifest]) -> String {
    let error = try_plan(&table(manifests), &options("")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptManifest, "{error}");
    error.to_string()
}

fn sequences(manifest: Manifest) -> Vec<i64> {
    let plan = plan(&table(&[manifest]), "");
    (0..plan.len()).map(|i| plan.task(i).unwrap().file.sequence_number).collect()
}

#[test]
fn added_entries_inherit_the_sequence_number_of_the_manifest() {
    let entries = vec![Entry::data("a"), Entry::data("b").sequence(3), Entry::data("c").existing(Some(2))];
    assert_eq!(sequences(Manifest::data("m", 7, entries)), [7, 3, 2]);
}

#[test]
fn an_existing_entry_without_sequence_number_is_corrupt_but_in_v1() {
    let manifest = Manifest::data("m", 7, vec![Entry::data("a").existing(None)]);
    assert!(refused(std::slice::from_ref(&manifest)).contains("sequence number"));
    assert_eq!(sequences(Manifest { version: 1, sequence_number: 0, ..manifest }), [0]);
}

#[test]
fn files_of_v1_manifests_are_older_than_every_delete() {
    let data = Manifest { version: 1, ..Manifest::data("m", 0, vec![Entry::data("f")]) };
    let manifests = [data, Manifest::deletes("d", 1, vec![Entry::equality("e"), Entry::vector("v", "f")])];
    assert_eq!(deletes_of(&plan(&table(&manifests), ""), "f"), ["e", "v"]);
}

fn row_ids(manifest: Manifest, filter: &str) -> Vec<Option<i64>> {
    let plan = plan(&table(&[manifest]), filter);
    (0..plan.len()).map(|i| plan.task(i).unwrap().file.first_row_id).collect()
}

#[test]
fn row_ids_count_files_that_a_filter_leaves_out() {
    let rows = |name, record_count, bound: i64| {
        Entry { record_count, ..Entry::data(name) }.bounds(1, &bound.to_le_bytes(), &bound.to_le_bytes())
    };
    let kept = Entry { first_row_id: Some(40), ..rows("b", 4, 2) };
    let deleted = Entry { status: 2, ..rows("d", 7, 1) };
    let entries = vec![rows("a", 5, 1), kept.existing(Some(1)), deleted.sequence(1), rows("c", 6, 3)];
    let manifest = Manifest { first_row_id: Some(100), ..Manifest::data("m", 7, entries) };
    assert_eq!(row_ids(manifest.clone(), ""), [Some(100), Some(40), Some(105)]);
    assert_eq!(row_ids(manifest.clone(), "id = 3"), [Some(105)]);
    assert_eq!(row_ids(Manifest { first_row_id: None, ..manifest }, ""), [None; 3], "from before the upgrade to v3");
}

#[test]
fn row_ids_that_overflow_are_corrupt() {
    let many = |name| Entry { record_count: i64::MAX, ..Entry::data(name) };
    refused(&[Manifest { first_row_id: Some(1), ..Manifest::data("m", 7, vec![many("a"), many("b")]) }]);
}

#[rstest]
#[case::status_3(Entry { status: 3, ..Entry::data("f") })]
#[case::a_negative_status(Entry { status: -1, ..Entry::data("f") })]
#[case::deletes_among_data(Entry::positions("f"))]
#[case::content_3(Entry { content: 3, ..Entry::data("f") })]
#[case::a_negative_content(Entry { content: -1, ..Entry::data("f") })]
#[case::a_negative_count(Entry { record_count: -1, ..Entry::data("f") })]
#[case::a_negative_size(Entry { size: i64::MIN, ..Entry::data("f") })]
fn unknown_codes_and_negative_counts_are_corrupt(#[case] entry: Entry) {
    let text = refused(&[Manifest::data("m", 1, vec![Entry::data("g"), entry])]);
    assert!(text.contains("table/m"), "{text}");
}

#[test]
fn data_among_deletes_is_corrupt() {
    refused(&[Manifest::deletes("m", 1, vec![Entry::data("f")])]);
}

#[test]
fn manifests_of_unknown_content_or_spec_are_corrupt() {
    refused(&[Manifest { content: 2, ..Manifest::data("m", 1, vec![]) }]);
    refused(&[Manifest { spec_id: 77, ..Manifest::data("m", 1, vec![Entry::data("f")]) }]);
}

#[test]
fn an_unknown_format_is_corrupt_where_the_file_is_read() {
    let plan = plan(&table(&[Manifest::data("m", 1, vec![Entry { format: "XLSX".into(), ..Entry::data("f") }])]), "");
    let error = plan.task(0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptManifest);
    assert!(error.to_string().contains("XLSX") && error.to_string().contains("table/f"), "{error}");
}

#[test]
fn formats_are_known_in_any_case() {
    let of = |name: &str, format: &str| Entry { format: format.into(), ..Entry::data(name) };
    let entries = vec![of("a", "parquet"), of("b", "Orc"), of("c", "AVRO")];
    let plan = plan(&table(&[Manifest::data("m", 1, entries)]), "");
    assert_eq!(
        (0..3).map(|i| plan.task(i).unwrap().file.format.name()).collect::<Vec<_>>(),
        ["PARQUET", "ORC", "AVRO"]
    );
}

#[test]
fn duplicate_manifests_and_files_are_corrupt() {
    let manifest = Manifest::data("m", 1, vec![Entry::data("f")]);
    assert!(refused(&[manifest.clone(), manifest.clone()]).contains("twice"));
    assert!(refused(&[manifest.clone(), Manifest { name: "n".into(), ..manifest }]).contains("table/f"));
    assert!(refused(&[Manifest::data("m", 1, vec![Entry::data("f"), Entry::data("f")])]).contains("table/f"));
}

#[test]
fn deleted_entries_are_not_live() {
    let deleted = Entry { status: 2, ..Entry::data("f") };
    let entries = vec![deleted.clone().sequence(1), Entry::data("f"), deleted];
    assert_eq!(names(&plan(&table(&[Manifest::data("m", 1, entries)]), "")), ["f"]);
}

#[test]
fn null_may_be_the_second_branch_of_a_union() {
    let entry = Entry { split_offsets: Some(vec![4, 500]), first_row_id: Some(8), ..Entry::data("f") };
    let entry = entry.partition("a", 5).bounds(1, &3_i64.to_le_bytes(), &9_i64.to_le_bytes()).existing(Some(2));
    let manifest = Manifest { first_row_id: Some(0), null_last: true, ..Manifest::data("m", 1, vec![entry]) };
    let table = table(&[manifest.spec(BY_A, 1000, "a", "int")]);
    let task = plan(&table, "a = 5 and id = 9").task(0).unwrap();
    assert_eq!((task.file.sequence_number, task.file.first_row_id), (2, Some(8)));
    assert_eq!(task.file.split_offsets, [4, 500]);
    assert!(plan(&table, "a = 6").is_empty() && plan(&table, "id = 10").is_empty());
}

#[test]
fn counts_are_resolved_by_field_id_not_by_name() {
    let entries = vec![Entry::data("a"), Entry::data("b").existing(Some(1)), Entry { status: 2, ..Entry::data("c") }];
    let manifests = [Manifest::data("m", 1, entries)];
    let list = manifest_list::read(manifest_list(&manifests), &Context::default()).unwrap();
    assert_eq!((list[0].live_files_count, list[0].live_rows_count), (Some(2), Some(20)));
    assert_eq!((list[0].sequence_number, list[0].added_snapshot_id), (1, Some(1)));
}

#[test]
fn v1_snapshots_may_name_their_manifests_themselves() {
    let entry = |name, a: i32| Entry::data(name).partition("a", a).existing(None);
    let manifest =
        |name: &str, entries| Manifest { version: 1, ..Manifest::data(name, 0, entries) }.spec(BY_A, 1000, "a", "int");
    let mut fixture = Fixture::new();
    fixture.put("m", manifest("m", vec![entry("f", 1)]).bytes());
    fixture.put("n", manifest("n", vec![entry("g", 2)]).bytes());
    fixture.log(1, "append", &json!({"manifests": [at("m"), at("n")]}));
    let table = fixture.open();
    assert_eq!(names(&plan(&table, "")), ["f", "g"]);
    assert_eq!(names(&plan(&table, "a = 2")), ["g"], "partitions are those of the spec in the manifest");
    fixture.log(2, "append", &json!({"manifests": [at("gone")]}));
    let error = try_plan(&fixture.open(), &options("")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingFile);
}

#[test]
fn files_outside_of_the_table_are_not_read() {
    let mut fixture = Fixture::new();
    fixture.log(1, "append", &json!({"manifest-list": "s3://elsewhere/list.avro"}));
    let error = try_plan(&fixture.open(), &options("")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PathNotAllowed);
}

#[test]
fn every_failing_or_shortened_read_is_an_error() {
    let mut fixture = Fixture::new();
    let data = Manifest::data("m", 1, vec![Entry::data("f"), Entry::data("g")]);
    fixture.commit(1, "append", &[data, Manifest::deletes("d", 2, vec![Entry::vector("v", "f")])]);
    for fault in [Fault::Fail(ErrorKind::Storage), Fault::Truncate] {
        for call in 0..3 {
            let table = fixture.open();
            let faulty = Arc::new(FaultyStorage::new(fixture.storage.clone(), fault, call));
            let files = frazil_core::storage::Files::below(faulty, ROOT).unwrap();
            let (snapshot, schema) = table.choose(&options("").snapshot).unwrap();
            let output = frazil_iceberg::scan::output::Output::default();
            let filter = frazil_core::sql::predicate::BoundPredicate::True;
            let read =
                frazil_iceberg::scan::context::ReadContext::try_new(table.metadata(), schema, output, filter, files);
            let request = frazil_iceberg::scan::plan::PlanRequest {
                snapshots: &snapshot.into_iter().collect::<Vec<_>>(),
                selection: frazil_iceberg::scan::plan::Selection::Live,
                limit: None,
                whole_files: false,
                workers: 1,
            };
            let result = frazil_iceberg::scan::plan::Plan::try_new(read.unwrap().into(), &request, &Context::default());
            let kind = result.unwrap_err().kind();
            let expected = if fault == Fault::Truncate { ErrorKind::CorruptManifest } else { ErrorKind::Storage };
            assert_eq!(kind, expected, "{fault:?} at {call}");
        }
    }
}

#[test]
fn a_plan_keeps_no_statistics() {
    let text = "x".repeat(100);
    let entries = |statistics: bool| -> Vec<Entry> {
        let entry = |i: i32| Entry::data(&format!("f{i}"));
        let full = |i| entry(i).bounds(3, text.as_bytes(), text.as_bytes());
        (0..2000).map(|i| if statistics { full(i) } else { entry(i) }).collect()
    };
    let size_of = |statistics| {
        let plan = plan(&table(&[Manifest::data("m", 1, entries(statistics))]), "s >= 'x'");
        assert_eq!(plan.len(), 2000);
        plan.files()[0].entries().size_bytes()
    };
    let (with, without) = (size_of(true), size_of(false));
    assert_eq!(with, without);
    assert!(with < 2000 * 400, "{with} bytes");
}

#[test]
fn entries_of_metadata_columns_are_null_where_nothing_is_known() {
    let plan = plan(&table(&[Manifest { version: 1, ..Manifest::data("m", 0, vec![Entry::data("f")]) }]), "");
    let entries = plan.files()[0].entries();
    assert!(entries.first_row_ids().unwrap().is_none());
    assert!(entries.split_offsets().unwrap().is_none() && entries.equality_ids().unwrap().is_none());
    assert!(!plan.read().output.has(MetadataColumn::RowId));
}
