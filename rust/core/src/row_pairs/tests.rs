use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Int32Array, Int64Array};
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;

use super::*;

/// id, value, change type, ordinal, commit.
type Change = (Option<i64>, Option<i64>, &'static str, i32, i64);

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("v", DataType::Int64, true),
        Field::new("_change_type", DataType::Utf8, false),
        Field::new("_change_ordinal", DataType::Int32, false),
        Field::new("_commit_snapshot_id", DataType::Int64, false),
    ]))
}

fn batch(rows: &[Change]) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>()),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.2))),
        Arc::new(rows.iter().map(|row| Some(row.3)).collect::<Int32Array>()),
        Arc::new(rows.iter().map(|row| Some(row.4)).collect::<Int64Array>()),
    ];
    RecordBatch::try_new(schema(), columns).unwrap()
}

fn spec() -> PairSpec {
    PairSpec { values: 2, identifiers: Vec::new(), null_is_unknown: false, across_commits: false }
}

fn updates() -> PairSpec {
    PairSpec { identifiers: vec![0], ..spec() }
}

fn paired(rows: &[Change], spec: PairSpec, limit_bytes: usize, batch_rows: usize) -> Result<Vec<Change>> {
    let mut pairs = RowPairs::try_new(schema(), spec, limit_bytes)?;
    for rows in rows.chunks(batch_rows) {
        pairs.push(batch(rows))?;
    }
    let mut paired = pairs.finish()?;
    let mut left = Vec::new();
    while let Some(batch) = paired.next_batch()? {
        let types = batch.column(2).as_string::<i32>();
        for row in 0..batch.num_rows() {
            let name = match types.value(row) {
                "INSERT" => "INSERT",
                "DELETE" => "DELETE",
                "UPDATE_BEFORE" => "UPDATE_BEFORE",
                "UPDATE_AFTER" => "UPDATE_AFTER",
                other => panic!("{other}"),
            };
            let long = |at: usize| {
                let column = batch.column(at).as_primitive::<Int64Type>();
                column.is_valid(row).then(|| column.value(row))
            };
            let ordinal = batch.column(3).as_primitive::<Int32Type>().value(row);
            left.push((long(0), long(1), name, ordinal, long(4).unwrap()));
        }
    }
    Ok(left)
}

fn all(rows: &[Change], spec: PairSpec) -> Vec<Change> {
    paired(rows, spec, 1 << 20, 3).unwrap()
}

#[test]
fn copied_rows_cancel_within_a_commit() {
    let rows = [
        (Some(1), Some(1), "DELETE", 0, 7),
        (Some(2), None, "INSERT", 0, 7),
        (Some(1), Some(1), "INSERT", 0, 7),
        (Some(1), Some(1), "INSERT", 1, 8),
        (Some(2), None, "DELETE", 0, 7),
        (Some(2), None, "DELETE", 0, 7),
    ];
    assert_eq!(all(&rows, spec()), [(Some(2), None, "DELETE", 0, 7), (Some(1), Some(1), "INSERT", 1, 8)]);
}

#[test]
fn rows_cancel_across_commits_and_keep_their_own() {
    let rows = [
        (Some(1), Some(1), "INSERT", 0, 7),
        (Some(1), Some(1), "INSERT", 1, 8),
        (Some(1), Some(1), "DELETE", 2, 9),
        (Some(2), Some(2), "DELETE", 0, 7),
        (Some(2), Some(2), "INSERT", 2, 9),
    ];
    let net = PairSpec { across_commits: true, ..spec() };
    assert_eq!(all(&rows, net), [(Some(1), Some(1), "INSERT", 0, 7)]);
}

#[test]
fn an_update_is_a_delete_and_an_insert_of_one_identifier_in_one_commit() {
    let rows = [
        (Some(1), Some(9), "INSERT", 0, 7),
        (Some(1), Some(8), "DELETE", 0, 7),
        (Some(2), Some(1), "DELETE", 0, 7),
        (Some(2), Some(2), "INSERT", 1, 8),
    ];
    let expected = [
        (Some(1), Some(8), "UPDATE_BEFORE", 0, 7),
        (Some(1), Some(9), "UPDATE_AFTER", 0, 7),
        (Some(2), Some(1), "DELETE", 0, 7),
        (Some(2), Some(2), "INSERT", 1, 8),
    ];
    assert_eq!(all(&rows, updates()), expected);
}

#[test]
fn unknown_identifiers_are_not_paired() {
    let rows = [(None, Some(1), "DELETE", 0, 7), (None, Some(2), "INSERT", 0, 7)];
    let unknown = PairSpec { null_is_unknown: true, ..updates() };
    assert_eq!(all(&rows, unknown), rows);
    let known = all(&rows, updates());
    assert_eq!(known.iter().map(|row| row.2).collect::<Vec<_>>(), ["UPDATE_BEFORE", "UPDATE_AFTER"]);
}

#[test]
fn identifiers_that_identify_several_rows_are_refused() {
    let rows =
        [(Some(1), Some(1), "DELETE", 0, 7), (Some(1), Some(2), "INSERT", 0, 7), (Some(1), Some(3), "INSERT", 0, 7)];
    let error = paired(&rows, updates(), 1 << 20, 8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("deleted 1 and inserted 2 rows with the same `id`"), "{error}");
}

/// Returns the changes after equal rows cancel one to one, per commit or over all commits.
fn model(rows: &[Change], net: bool) -> Vec<Change> {
    let mut left: BTreeMap<(i32, Option<i64>, Option<i64>), Vec<Change>> = BTreeMap::new();
    let mut ordered = rows.to_vec();
    ordered.sort_by_key(|row| (row.3, row.2));
    for row in ordered {
        let stack = left.entry((if net { 0 } else { row.3 }, row.0, row.1)).or_default();
        match stack.last() {
            Some(last) if last.2 != row.2 => drop(stack.pop()),
            _ => stack.push(row),
        }
    }
    let mut rows: Vec<Change> = left.into_values().flatten().collect();
    rows.sort_unstable();
    rows
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = (proptest::option::of(0..3_i64), proptest::option::of(0..3_i64), any::<bool>(), 0..3_i32);
    proptest::collection::vec(change, 0..60).prop_map(|rows| {
        let kind = |inserted| if inserted { "INSERT" } else { "DELETE" };
        rows.into_iter()
            .map(|(id, v, inserted, ordinal)| (id, v, kind(inserted), ordinal, i64::from(ordinal)))
            .collect()
    })
}

proptest! {
    #[test]
    fn pairs_cancel_as_in_the_model(rows in changes(), net: bool, limit_bytes in 1..4096_usize, batch_rows in 1..9_usize) {
        let mut left = paired(&rows, PairSpec { across_commits: net, ..spec() }, limit_bytes, batch_rows).unwrap();
        left.sort_unstable();
        prop_assert_eq!(left, model(&rows, net));
    }
}
