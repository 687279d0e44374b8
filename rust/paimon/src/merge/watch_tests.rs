//! Tests of [`Watch`] against a simple model, which merges key by key.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use frazil_core::context::Context;
use rstest::rstest;

use super::tests::{ADD, DELETE, Record, arrow, batch, merge, record, records, table};
use super::{MergeSpec, Merger, OldRecords, Source, Step, Trace, Watch};

/// A key of the result: its record, the value before, whether it has records of level 0, and where its record was looked
/// up.
type Seen = (Record, Option<Option<i32>>, bool, Option<(u32, i64)>);

/// Merges runs of one file each with their levels, oldest first, in batches of `rows` rows.
fn watched(options: &[(&str, &str)], watch: Watch, runs: &[(i32, Vec<Record>)], rows: usize) -> Vec<Seen> {
    let (table, options) = table(&["a"], options);
    let spec = MergeSpec::try_new(&table, &options).unwrap();
    let schema = arrow(&table.fields);
    let merger = Merger::try_new(&spec, schema.clone(), runs.len(), &Context::default()).unwrap();
    let mut merger = merger.watching(watch).unwrap();
    let mut fed: Vec<_> = runs.iter().map(|(_, records)| records.chunks(rows).zip((0_i64..).step_by(rows))).collect();
    let mut seen = Vec::new();
    loop {
        match merger.step().unwrap() {
            Step::Need(run) => {
                let next = fed[run].next().map(|(records, first)| {
                    let number = u32::try_from(run).unwrap();
                    let source = Source { level: runs[run].0, age: number, file: 10 + number };
                    (source, with_positions(&batch(&schema, records), first))
                });
                merger.push(run, next).unwrap();
            }
            Step::Batch(batch) => {
                let (rows, trace) = Trace::split_off(&batch).unwrap();
                for (at, record) in records(&rows).into_iter().enumerate() {
                    let before = trace.before.is_valid(at).then(|| {
                        let values = trace.before.column(1).as_primitive::<Int32Type>();
                        values.is_valid(at).then(|| values.value(at))
                    });
                    let place = trace.file.is_valid(at).then(|| (trace.file.value(at), trace.position.value(at)));
                    seen.push((record, before, trace.has_new.value(at), place));
                }
            }
            Step::Done => return seen,
        }
    }
}

fn with_positions(batch: &RecordBatch, first: i64) -> RecordBatch {
    let at = batch.num_columns() - 2;
    let positions: ArrayRef = Arc::new(Int64Array::from_iter_values((first..).take(batch.num_rows())));
    let mut fields: Vec<_> = batch.schema().fields().iter().cloned().collect();
    fields.insert(at, Arc::new(Field::new("position", DataType::Int64, false)));
    let mut columns = batch.columns().to_vec();
    columns.insert(at, positions);
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

/// Does the same key by key: `merge` merges records without a watch.
fn model(options: &[(&str, &str)], watch: Watch, runs: &[(i32, Vec<Record>)]) -> Vec<Seen> {
    let mut keys: BTreeMap<i32, Vec<(i32, u32, i64, Record)>> = BTreeMap::new();
    for (run, (level, records)) in (0_u32..).zip(runs) {
        for (position, record) in (0_i64..).zip(records) {
            keys.entry(record.key).or_default().push((*level, 10 + run, position, record.clone()));
        }
    }
    let mut seen = Vec::new();
    for found in keys.into_values() {
        if found.iter().all(|(level, ..)| *level > watch.output_level) {
            continue;
        }
        let high = found.iter().filter(|(level, ..)| *level > 0).min_by_key(|(level, ..)| *level).cloned();
        let place = high.as_ref().filter(|(level, ..)| *level > watch.output_level);
        let place = place.map(|(_, file, position, _)| (*file, *position));
        if watch.old == OldRecords::First && place.is_some() {
            continue;
        }
        let low: Vec<Record> = found.iter().filter(|(level, ..)| *level == 0).map(|found| found.3.clone()).collect();
        let has_new = !low.is_empty();
        let before = high.as_ref().filter(|high| high.3.kind != DELETE && has_new);
        let before = before.map(|high| high.3.values[0]);
        let merged: Vec<Vec<Record>> = high.iter().map(|high| high.3.clone()).chain(low).map(|one| vec![one]).collect();
        let [row] = merge(&["a"], options, &merged).unwrap().try_into().unwrap();
        seen.push((row, before, has_new, place));
    }
    seen
}

/// Returns the records of a file: keys from a range with gaps, each with the next sequence number.
fn file(seed: i32, keys: std::ops::Range<i32>, every: i32, number: i64) -> Vec<Record> {
    let keys = keys.filter(|key| (key * 7 + seed) % every == 0);
    let record = |(number, key): (i64, i32)| {
        let kind = if (key + seed) % 5 == 0 { DELETE } else { ADD };
        record(key, number, kind, &[(key % 3 > 0).then_some(key * 10 + seed)])
    };
    (number..).zip(keys).map(record).collect()
}

#[rstest]
#[case::deduplicate(&[], OldRecords::Lowest)]
#[case::sequence_field(&[("sequence.field", "a")], OldRecords::Lowest)]
#[case::first_row(&[("merge-engine", "first-row"), ("ignore-delete", "true")], OldRecords::First)]
#[case::aggregation(&[("merge-engine", "aggregation"), ("fields.a.aggregate-function", "sum")], OldRecords::Lowest)]
#[case::partial_update(&[("merge-engine", "partial-update"), ("partial-update.remove-record-on-delete", "true")], OldRecords::Lowest)]
fn lookups_are_as_the_model_says(
    #[case] options: &[(&str, &str)],
    #[case] old: OldRecords,
    #[values(1, 3, 1000)] rows: usize,
    #[values(1, 3, 5)] output_level: i32,
) {
    for seed in 0..6 {
        // A single record that retracts passes the engine `aggregation` here, unlike in the merge of the model.
        let only_adds = old == OldRecords::First || options.iter().any(|(_, value)| *value == "aggregation");
        let adds = |records: Vec<Record>| -> Vec<Record> {
            if only_adds { records.into_iter().map(|one| Record { kind: ADD, ..one }).collect() } else { records }
        };
        let runs = vec![
            (5, adds(file(seed, 0..300, 1 + seed % 3, 0))),
            (3, adds(file(seed + 1, 100..200, 3, 1000))),
            (0, adds(file(seed + 2, 90..120, 2, 2000))),
            (0, adds(file(seed + 3, 0..20, 1, 3000))),
            (0, adds(file(seed + 4, 280..400, 4, 4000))),
        ];
        let watch = Watch { output_level, new_below: 1, old, images: true, places: true };
        assert_eq!(watched(options, watch, &runs, rows), model(options, watch, &runs), "seed {seed}");
    }
}

#[test]
fn no_column_is_copied_without_images() {
    let runs = [(5, vec![record(1, 1, ADD, &[Some(1)])]), (0, vec![record(1, 2, ADD, &[Some(2)])])];
    let watch = Watch { output_level: 4, new_below: 1, old: OldRecords::Lowest, images: false, places: true };
    let (table, options) = table(&["a"], &[]);
    let spec = MergeSpec::try_new(&table, &options).unwrap();
    let schema = arrow(&table.fields);
    let mut merger = Merger::try_new(&spec, schema.clone(), 2, &Context::default()).unwrap().watching(watch).unwrap();
    let mut fed: Vec<_> = runs.iter().map(|(_, records)| Some(with_positions(&batch(&schema, records), 0))).collect();
    let batch = loop {
        match merger.step().unwrap() {
            Step::Need(run) => {
                let next = fed[run].take().map(|batch| (Source { level: runs[run].0, age: 0, file: 7 }, batch));
                merger.push(run, next).unwrap();
            }
            Step::Batch(batch) => break batch,
            Step::Done => panic!("no row"),
        }
    };
    let (_, trace) = Trace::split_off(&batch).unwrap();
    assert_eq!((trace.before.num_columns(), trace.before.is_valid(0)), (0, true));
    assert_eq!((trace.file.value(0), trace.position.value(0)), (7, 0));
    let numbers = trace.position.values().to_vec();
    assert_eq!(numbers, [0]);
    let kinds = batch.column(2).as_primitive::<Int64Type>();
    assert_eq!(kinds.values().to_vec(), [2]);
}
