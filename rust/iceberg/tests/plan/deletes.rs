//! Tests of which deletes apply to which data files (spec: "Scan Planning").

use std::sync::Arc;

use arrow_array::Int64Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use frazil_core::bitmap::Positions;
use frazil_core::error::ErrorKind;
use frazil_iceberg::write::row_delta::{DataFiles, RowDelta};
use rstest::rstest;

use crate::support::*;

const FIELD: (i32, &str, &str) = (1000, "a", "int");

/// Returns a data manifest of one file with `a` = 1, the sequence number `sequence` and the spec `spec_id`.
fn data(sequence: i64, spec_id: i32) -> Manifest {
    Manifest::data("m-data", sequence, vec![Entry::data("f").partition("a", 1)])
        .spec(spec_id, FIELD.0, FIELD.1, FIELD.2)
}

/// Returns a delete manifest of one file with `a` = `value` in the spec `spec_id`.
fn delete(entry: Entry, sequence: i64, spec_id: i32, value: i32) -> Manifest {
    let name = format!("m-{}", entry.path.rsplit('/').next().unwrap());
    if spec_id == UNPARTITIONED {
        return Manifest { spec_id, ..Manifest::deletes(&name, sequence, vec![entry]) };
    }
    let entry = if spec_id == VOID {
        entry.partition("a", apache_avro::types::Value::Null)
    } else {
        entry.partition("a", value)
    };
    Manifest::deletes(&name, sequence, vec![entry]).spec(spec_id, FIELD.0, FIELD.1, FIELD.2)
}

fn for_file(name: &str, of: &str) -> Entry {
    Entry { referenced: Some(at(of)), ..Entry::positions(name) }
}

#[rstest]
#[case::equality_of_the_same_sequence(3, Entry::equality("e"), 3, BY_A, 1, false)]
#[case::equality_that_is_newer(3, Entry::equality("e"), 4, BY_A, 1, true)]
#[case::equality_that_is_older(3, Entry::equality("e"), 2, BY_A, 1, false)]
#[case::equality_of_another_partition(3, Entry::equality("e"), 4, BY_A, 2, false)]
#[case::equality_of_an_equal_tuple_in_another_spec(2, Entry::equality("e"), 5, BY_A_AGAIN, 1, false)]
#[case::equality_of_a_spec_of_void_fields(2, Entry::equality("e"), 5, VOID, 0, true)]
#[case::equality_of_a_spec_without_fields(2, Entry::equality("e"), 5, UNPARTITIONED, 0, true)]
#[case::global_equality_of_the_same_sequence(5, Entry::equality("e"), 5, UNPARTITIONED, 0, false)]
#[case::positions_of_the_same_sequence(3, Entry::positions("p"), 3, BY_A, 1, true)]
#[case::positions_that_are_older(3, Entry::positions("p"), 2, BY_A, 1, false)]
#[case::positions_of_another_partition(3, Entry::positions("p"), 4, BY_A, 2, false)]
#[case::positions_of_an_equal_tuple_in_another_spec(2, Entry::positions("p"), 5, BY_A_AGAIN, 1, false)]
#[case::positions_of_a_spec_without_fields_are_not_global(2, Entry::positions("p"), 5, UNPARTITIONED, 0, false)]
#[case::positions_that_name_the_file(3, for_file("p", "f"), 3, BY_A, 1, true)]
#[case::positions_that_name_another_file(3, for_file("p", "g"), 3, BY_A, 1, false)]
#[case::positions_that_name_the_file_and_are_older(3, for_file("p", "f"), 2, BY_A, 1, false)]
#[case::vector_of_the_same_sequence(3, Entry::vector("v", "f"), 3, BY_A, 1, true)]
#[case::vector_of_a_file_that_was_rewritten_to_another_path(2, Entry::vector("v", "g"), 3, BY_A, 1, false)]
#[case::vector_that_is_older(3, Entry::vector("v", "f"), 2, BY_A, 1, false)]
fn deletes_apply_in_scope(
    #[case] data_sequence: i64,
    #[case] entry: Entry,
    #[case] sequence: i64,
    #[case] spec_id: i32,
    #[case] value: i32,
    #[case] applies: bool,
) {
    let table = table(&[data(data_sequence, BY_A), delete(entry, sequence, spec_id, value)]);
    assert_eq!(deletes_of(&plan(&table, ""), "f").len(), usize::from(applies));
}

#[test]
fn equal_bounds_of_the_path_name_the_only_data_file() {
    let path = 2_147_483_546;
    let only = |of: &str| Entry::positions("p").bounds(path, at(of).as_bytes(), at(of).as_bytes());
    let several = Entry::positions("p").bounds(path, at("e").as_bytes(), at("g").as_bytes());
    for (entry, applies) in [(only("f"), true), (only("g"), false), (several, true)] {
        let table = table(&[data(1, BY_A), delete(entry, 1, BY_A, 1)]);
        assert_eq!(!deletes_of(&plan(&table, ""), "f").is_empty(), applies);
    }
}

#[test]
fn a_vector_replaces_position_deletes_but_not_equality_deletes() {
    let table = table(&[
        data(2, BY_A),
        delete(Entry::positions("p"), 5, BY_A, 1),
        delete(for_file("q", "f"), 5, BY_A, 1),
        delete(Entry::vector("v", "f"), 4, BY_A, 1),
        delete(Entry::equality("e"), 3, BY_A, 1),
    ]);
    assert_eq!(deletes_of(&plan(&table, ""), "f"), ["e", "v"]);
}

#[test]
fn a_vector_that_is_older_than_its_file_hides_no_position_deletes() {
    let table =
        table(&[data(3, BY_A), delete(Entry::vector("v", "f"), 2, BY_A, 1), delete(Entry::positions("p"), 3, BY_A, 1)]);
    assert_eq!(deletes_of(&plan(&table, ""), "f"), ["p"]);
}

#[test]
fn two_vectors_for_one_file_are_corrupt() {
    let vectors = vec![Entry::vector("v", "f"), Entry::vector("w", "f")];
    let error = try_plan(&table(&[Manifest::deletes("m", 2, vectors)]), &options("")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptManifest);
    assert!(error.to_string().contains("two deletion vectors"), "{error}");
}

#[test]
fn vectors_that_are_deleted_do_not_count() {
    let old = Entry { status: 2, ..Entry::vector("v", "f") };
    let vectors = Manifest::deletes("m", 2, vec![old.sequence(1), Entry::vector("w", "f")]);
    let manifests = [data(1, BY_A), Manifest { spec_id: BY_A, ..vectors }];
    assert_eq!(deletes_of(&plan(&table(&manifests), ""), "f"), ["w"]);
}

#[test]
fn a_vector_of_another_spec_than_its_data_file_is_corrupt() {
    let vector = Manifest::deletes("m", 2, vec![Entry::vector("v", "f")]);
    let error = try_plan(&table(&[data(1, BY_A), vector]), &options("")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptManifest);
}

#[test]
fn delete_entries_without_required_fields_are_corrupt() {
    let unnamed = Entry { referenced: None, ..Entry::vector("v", "f") };
    let nowhere = Entry { content_range: None, ..Entry::vector("v", "f") };
    let by_nothing = Entry { equality_ids: None, ..Entry::equality("e") };
    let by_no_column = Entry { equality_ids: Some(vec![]), ..Entry::equality("e") };
    for entry in [unnamed, nowhere, by_nothing, by_no_column] {
        let error = try_plan(&table(&[Manifest::deletes("m", 2, vec![entry.clone()])]), &options("")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptManifest, "{entry:?}");
    }
}

#[test]
fn sequence_numbers_on_added_entries_are_honoured() {
    // A compaction of files with sequence number 2, committed as 9, concurrent with an equality delete of 8.
    let compacted = Entry::data("f").partition("a", 1);
    let equality = delete(Entry::equality("e"), 8, BY_A, 1);
    for (entry, applies) in [(compacted.clone().sequence(2), 1), (compacted, 0)] {
        let data = Manifest { entries: vec![entry], ..data(9, BY_A) };
        assert_eq!(deletes_of(&plan(&table(&[data, equality.clone()]), ""), "f").len(), applies);
    }
}

#[test]
fn the_highest_sequence_number_overflows_nothing() {
    let manifests = [data(i64::MAX, BY_A), delete(Entry::equality("e"), 3, BY_A, 1)];
    assert_eq!(deletes_of(&plan(&table(&manifests), ""), "f").len(), 0);
}

/// Readers of a vector reject positions after the last row; readers of position delete files do not.
#[test]
fn deletion_vectors_reject_positions_past_the_last_row() {
    let table = table(&[data(1, BY_A)]);
    let plan = Arc::new(plan(&table, ""));
    let before = |rows: &[i64]| {
        let mut positions = Positions::new();
        positions.insert_all(rows).unwrap();
        vec![Arc::new(positions)]
    };
    let delta = |rows: Vec<i64>, before: &[Arc<Positions>]| {
        let mut delta = RowDelta::new(DataFiles::Plan(plan.clone()));
        delta.delete_rows(0, &Int64Array::from(rows), before)?;
        Ok::<_, frazil_core::error::Error>(delta)
    };
    let mut ten_rows = delta(vec![0, 9], &before(&[3, 10, 11])).unwrap();
    ten_rows.remove_emptied();
    assert_eq!(ten_rows.staying(), [0]);
    ten_rows.vectors(table.metadata()).unwrap().unwrap();
    let vectors = &ten_rows.added()[0].data_files;
    assert_eq!(vectors.column_by_name("record_count").unwrap().as_primitive::<Int64Type>().values(), &[3]);
    let mut emptied = delta((0..9).collect(), &before(&[9, 10])).unwrap();
    emptied.remove_emptied();
    assert!(emptied.staying().is_empty());
    let error = delta(vec![10], &[]).unwrap_err();
    assert!(error.kind() == ErrorKind::CorruptData && error.to_string().contains("file with 10 rows"), "{error}");
}
