//! Tests merging with handwritten records and against a model.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Decimal128Array, Float64Array, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow_schema::{DataType as ArrowType, Field, Schema, SchemaRef};
use frazil_core::context::{Budget, Context};
use frazil_core::error::{ErrorKind, Result};
use rstest::rstest;

use super::{MergeSpec, Merger, Source, Step};
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot};

pub(super) const ADD: i8 = 0;
pub(super) const DELETE: i8 = 3;

/// Creates a table with the key `k INT` and nullable INT columns.
pub(super) fn table(columns: &[&str], options: &[(&str, &str)]) -> (TableSchema, Options) {
    let mut fields = vec![field(0, "k", DataType::required(TypeRoot::Int))];
    fields.extend((1..).zip(columns).map(|(id, name)| field(id, name, DataType::nullable(TypeRoot::Int))));
    let options: BTreeMap<_, _> = options.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let schema = schema_of(fields, &["k"], options.clone());
    (schema, Options::new(options))
}

fn schema_of(fields: Vec<DataField>, keys: &[&str], options: BTreeMap<String, String>) -> TableSchema {
    TableSchema {
        version: 3,
        id: 0,
        highest_field_id: 100,
        fields,
        partition_keys: Vec::new(),
        primary_keys: keys.iter().map(ToString::to_string).collect(),
        options,
        comment: None,
        time_ms: 0,
    }
}

fn field(id: i32, name: &str, data_type: DataType) -> DataField {
    DataField { id, name: name.to_string(), data_type, description: None, default_value: None }
}

pub(super) fn arrow(fields: &[DataField]) -> SchemaRef {
    let mut all: Vec<Field> = fields.iter().map(DataField::arrow).collect();
    all.push(Field::new("_SEQUENCE_NUMBER", ArrowType::Int64, false));
    all.push(Field::new("_VALUE_KIND", ArrowType::Int8, false));
    Arc::new(Schema::new(all))
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pub(super) key: i32,
    pub(super) values: Vec<Option<i32>>,
    pub(super) number: i64,
    pub(super) kind: i8,
}

pub(super) fn record(key: i32, number: i64, kind: i8, values: &[Option<i32>]) -> Record {
    Record { key, values: values.to_vec(), number, kind }
}

pub(super) fn batch(schema: &SchemaRef, records: &[Record]) -> RecordBatch {
    let mut columns: Vec<ArrayRef> = vec![Arc::new(Int32Array::from_iter_values(records.iter().map(|r| r.key)))];
    for column in 0..schema.fields().len() - 3 {
        columns.push(Arc::new(records.iter().map(|r| r.values[column]).collect::<Int32Array>()));
    }
    columns.push(Arc::new(Int64Array::from_iter_values(records.iter().map(|r| r.number))));
    columns.push(Arc::new(Int8Array::from_iter_values(records.iter().map(|r| r.kind))));
    RecordBatch::try_new(Arc::clone(schema), columns).unwrap()
}

pub(super) fn records(batch: &RecordBatch) -> Vec<Record> {
    let width = batch.num_columns();
    let number = batch.column(width - 2).as_primitive::<Int64Type>();
    let kind = batch.column(width - 1).as_primitive::<Int8Type>();
    let int = |column: usize, row: usize| {
        let array = batch.column(column).as_primitive::<Int32Type>();
        array.is_valid(row).then(|| array.value(row))
    };
    let of = |row: usize| Record {
        key: int(0, row).unwrap(),
        values: (1..width - 2).map(|column| int(column, row)).collect(),
        number: number.value(row),
        kind: kind.value(row),
    };
    (0..batch.num_rows()).map(of).collect()
}

pub(super) fn run(merger: &mut Merger, runs: Vec<Vec<RecordBatch>>) -> Result<Vec<RecordBatch>> {
    run_at(merger, &vec![0; runs.len()], runs)
}

/// Merges runs of one file each, with these levels.
pub(super) fn run_at(merger: &mut Merger, levels: &[i32], runs: Vec<Vec<RecordBatch>>) -> Result<Vec<RecordBatch>> {
    let source = |run: usize| {
        let age = u32::try_from(run).unwrap();
        Source { level: levels[run], age, file: age }
    };
    let mut runs: Vec<_> = runs.into_iter().map(Vec::into_iter).collect();
    let mut output = Vec::new();
    loop {
        match merger.step()? {
            Step::Need(run) => merger.push(run, runs[run].next().map(|batch| (source(run), batch)))?,
            Step::Batch(batch) => output.push(batch),
            Step::Done => return Ok(output),
        }
    }
}

pub(super) fn merge(columns: &[&str], options: &[(&str, &str)], runs: &[Vec<Record>]) -> Result<Vec<Record>> {
    let (table, options) = table(columns, options);
    let spec = MergeSpec::try_new(&table, &options)?;
    let schema = arrow(&table.fields);
    let mut merger = Merger::try_new(&spec, Arc::clone(&schema), runs.len(), &Context::default())?;
    let batches = runs.iter().map(|records| vec![batch(&schema, records)]).collect();
    Ok(run(&mut merger, batches)?.iter().flat_map(records).collect())
}

#[rstest]
#[case::deduplicate(&[])]
#[case::ignore_delete(&[("ignore-delete", "true")])]
#[case::sequence_field(&[("sequence.field", "a")])]
#[case::first_row(&[("merge-engine", "first-row"), ("ignore-delete", "true")])]
#[case::partial_update(&[("merge-engine", "partial-update"), ("ignore-delete", "true")])]
#[case::aggregation(&[("merge-engine", "aggregation"), ("fields.a.aggregate-function", "sum")])]
fn run_order_decides_without_sequence_numbers(#[case] options: &[(&str, &str)]) {
    let (table, options) = table(&["a", "b"], options);
    let spec = MergeSpec::try_new(&table, &options).unwrap();
    let schema = arrow(&table.fields);
    let unnumbered = [0, 1, 2, 4];
    let of_run = |run: i32| -> Vec<RecordBatch> {
        // Keys that occur twice, also across batches, and a stretch of a single run.
        let keys = (0..40).map(|row| row * (run + 1) / 2).chain(1000 * (run + 1)..1000 * (run + 1) + 30);
        let record = |(number, key): (i64, i32)| {
            let kind = if number % 7 == 3 { DELETE } else { ADD };
            record(key, i64::from(run) * 1000 + number, kind, &[(key % 3 > 0).then_some(key % 5), Some(run)])
        };
        let records: Vec<Record> = (0..).zip(keys).map(record).collect();
        records.chunks(9).map(|records| batch(&schema, records)).collect()
    };
    let merged = |schema: &SchemaRef, runs: Vec<Vec<RecordBatch>>| {
        let mut merger = Merger::try_new(&spec, Arc::clone(schema), runs.len(), &Context::default()).unwrap();
        let batches = run(&mut merger, runs).unwrap();
        arrow_select::concat::concat_batches(schema, &batches).unwrap()
    };
    let runs: Vec<_> = (0..3).map(of_run).collect();
    let expected = merged(&schema, runs.clone()).project(&unnumbered).unwrap();
    let project = |batch: RecordBatch| batch.project(&unnumbered).unwrap();
    let runs = runs.into_iter().map(|run| run.into_iter().map(project).collect()).collect();
    assert_eq!(merged(&expected.schema(), runs), expected);
}

/// Merges the records of one key, each in a separate run.
fn merge_key(columns: &[&str], options: &[(&str, &str)], history: &str) -> Result<Vec<Record>> {
    let runs: Vec<_> = (0..).zip(history.split(' ')).map(|(number, text)| vec![parse(number, text)]).collect();
    merge(columns, options, &runs)
}

/// Parses `+U(1,_)`: a row kind, then values, with `_` for NULL.
fn parse(number: i64, text: &str) -> Record {
    let (kind, values) = text.strip_suffix(')').unwrap().split_once('(').unwrap();
    let kind = ["+I", "-U", "+U", "-D"].iter().position(|name| *name == kind).unwrap();
    let values: Vec<_> = values.split(',').map(|value| value.parse().ok()).collect();
    record(1, number, i8::try_from(kind).unwrap(), &values)
}

const UPDATE: (&str, &str) = ("merge-engine", "partial-update");
const GROUPS: [(&str, &str); 3] = [UPDATE, ("fields.g1.sequence-group", "a"), ("fields.g2.sequence-group", "b")];

#[rstest]
#[case::last_wins(&[], "+I(1) +U(2)", "+U(2)")]
#[case::a_delete_stays(&[], "+I(1) -D(1)", "-D(1)")]
#[case::deletes_are_ignored(&[("ignore-delete", "true")], "+I(1) -D(2)", "+I(1)")]
#[case::old_name(&[("deduplicate.ignore-delete", "true")], "+I(1) -U(_)", "+I(1)")]
#[case::by_sequence(&[("sequence.field", "v")], "+I(5) +U(2)", "+I(5)")]
#[case::ties_take_the_later(&[("sequence.field", "v")], "+I(5) +U(5)", "+U(5)")]
#[case::null_is_least(&[("sequence.field", "v")], "+I(-5) +U(_)", "+I(-5)")]
#[case::descending(&[("sequence.field", "v"), ("sequence.field.sort-order", "descending")],
    "+I(5) +U(2)", "+U(2)")]
#[case::null_is_least_descending(&[("sequence.field", "v"), ("sequence.field.sort-order", "descending")],
    "+I(5) +U(_)", "+I(5)")]
#[case::first(&[("merge-engine", "first-row")], "+I(1) +U(2)", "+I(1)")]
#[case::first_added(&[("merge-engine", "first-row"), ("ignore-delete", "true")],
    "-D(1) +I(2)", "+I(2)")]
#[case::one_delete_alone(&[("merge-engine", "first-row")], "-D(1)", "-D(1)")]
#[case::one_delete_alone(&[UPDATE], "-D(1)", "-D(1)")]
#[case::last_non_null(&[UPDATE], "+I(1) +U(_)", "+I(1)")]
#[case::removed(&[UPDATE, ("partial-update.remove-record-on-delete", "true")],
    "+I(1) -D(_)", "-D(_)")]
#[case::removed_and_back(&[UPDATE, ("partial-update.remove-record-on-delete", "true")],
    "+I(1) -D(_) +I(_)", "+I(_)")]
#[case::only_delete_removes(&[UPDATE, ("partial-update.remove-record-on-delete", "true")],
    "+I(1) -U(1)", "+I(1)")]
#[case::ignored(&[UPDATE, ("partial-update.ignore-delete", "true")],
    "+I(1) -D(_) +I(_)", "+I(1)")]
#[case::default_function(&[("merge-engine", "aggregation")], "+I(1) +I(_)", "+I(1)")]
#[case::last_value(&[("merge-engine", "aggregation"), ("fields.v.aggregate-function", "last_value")],
    "+I(1) +I(_)", "+I(_)")]
#[case::sum(&[("merge-engine", "aggregation"), ("fields.default-aggregate-function", "sum")],
    "+I(1) +I(5) -D(2)", "+I(4)")]
#[case::sequence_after_a_retract(&[("merge-engine", "aggregation"), ("sequence.field", "v")],
    "+I(1) -D(2)", "+I(_)")]
#[case::aggregate_removed(&[("merge-engine", "aggregation"), ("aggregation.remove-record-on-delete", "true"),
    ("fields.v.aggregate-function", "sum")], "+I(1) -D(9) +I(7)", "+I(16)")]
#[case::an_ignored_retract_comes_first(&[UPDATE, ("ignore-delete", "true")], "-D(5) +I(_)", "+I(5)")]
#[case::only_ignored_retracts(&[UPDATE, ("ignore-delete", "true")], "-D(5) -D(6)", "-D(5)")]
#[case::removed_then_merged(&[UPDATE, ("partial-update.remove-record-on-delete", "true")],
    "+I(1) -D(5) +I(_)", "+I(5)")]
#[case::removed_then_retracted(&[UPDATE, ("partial-update.remove-record-on-delete", "true")],
    "+I(1) -D(5) -U(7)", "+I(5)")]
fn the_records_of_a_key_become_one(#[case] options: &[(&str, &str)], #[case] history: &str, #[case] expected: &str) {
    let merged = merge_key(&["v"], options, history).unwrap();
    assert_eq!(merged.len(), 1, "{merged:?}");
    let expected = parse(0, expected);
    assert_eq!((merged[0].kind, &merged[0].values), (expected.kind, &expected.values));
}

#[rstest]
#[case::newer_takes_nulls(&[], "+I(1,1,1,1) +I(2,_,_,9)", "+I(2,_,1,1)")]
#[case::older_is_skipped(&[], "+I(2,1,_,_) +I(1,9,0,_)", "+I(2,1,0,_)")]
#[case::ties_take_the_later(&[], "+I(2,1,_,_) +I(2,9,_,_)", "+I(2,9,_,_)")]
#[case::retracted(&[], "+I(1,1,1,1) -D(2,7,_,_)", "+I(2,_,1,1)")]
#[case::late_retract(&[], "+I(3,1,1,1) -D(2,7,_,_)", "+I(3,1,1,1)")]
#[case::never_added(&[], "-D(1,1,_,_) -D(2,7,_,_)", "-D(2,_,_,_)")]
#[case::removed(&[("partial-update.remove-record-on-sequence-group", "g2")],
    "+I(1,1,1,1) -D(_,_,5,_)", "-D(_,_,5,_)")]
#[case::its_sequence_stays(&[("partial-update.remove-record-on-sequence-group", "g2")],
    "+I(1,1,1,1) -D(_,_,5,_) +I(1,4,_,_) +I(_,_,4,9)", "+I(1,4,5,_)")]
#[case::late_delete_removes_nothing(&[("partial-update.remove-record-on-sequence-group", "g2")],
    "+I(1,1,6,1) -D(0,_,5,_)", "+I(1,1,6,1)")]
#[case::sum(&[("fields.a.aggregate-function", "sum")],
    "+I(2,1,_,_) +I(1,10,_,_) +I(_,99,_,_) -D(1,3,_,_)", "+I(2,8,_,_)")]
#[case::the_earliest(&[("fields.a.aggregate-function", "first_value")],
    "+I(2,1,_,_) +I(1,10,_,_)", "+I(2,10,_,_)")]
fn sequence_groups_have_an_order_of_their_own(
    #[case] options: &[(&str, &str)],
    #[case] history: &str,
    #[case] expected: &str,
) {
    let options = [&GROUPS[..], options].concat();
    let merged = merge_key(&["g1", "a", "g2", "b"], &options, history).unwrap();
    let expected = parse(0, expected);
    assert_eq!((merged[0].kind, &merged[0].values), (expected.kind, &expected.values));
}

#[test]
fn a_group_may_have_several_sequence_fields() {
    let options = [UPDATE, ("fields.s1,s2.sequence-group", "a")];
    let history = "+I(1,5,1) +I(1,_,2) +I(1,6,3) +I(_,_,4) +I(_,9,5)";
    let merged = merge_key(&["s1", "s2", "a"], &options, history).unwrap();
    assert_eq!(merged[0].values, [Some(1), Some(6), Some(3)]);
}

#[rstest]
#[case(&[UPDATE], "remove-record-on-delete")]
#[case(&[("merge-engine", "first-row")], "ignore-delete")]
fn deletes_that_no_option_allows_are_refused(#[case] options: &[(&str, &str)], #[case] hint: &str) {
    let error = merge_key(&["v"], options, "+I(1) -D(_)").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains(hint), "{error}");
}

#[test]
fn all_ignored_is_nothing() {
    for engine in ["deduplicate", "first-row"] {
        let options = [("merge-engine", engine), ("ignore-delete", "true")];
        assert!(merge_key(&["v"], &options, "-D(_) -U(_)").unwrap().is_empty());
    }
}

#[test]
fn equal_sequence_numbers_prefer_the_later_file_and_additions() {
    let one = |kind, value| vec![record(1, 7, kind, &[Some(value)])];
    let merged = |runs: &[Vec<Record>]| merge(&["v"], &[], runs).unwrap()[0].values[0];
    assert_eq!(merged(&[one(ADD, 1), one(ADD, 2)]), Some(2));
    assert_eq!(merged(&[one(ADD, 1), one(DELETE, 2)]), Some(1));
}

#[rstest]
#[case::deduplicate(&[], 2)]
#[case::sequence_field(&[("sequence.field", "w")], 2)]
#[case::first_row(&[("merge-engine", "first-row")], 1)]
#[case::partial_update(&[UPDATE], 2)]
#[case::aggregation(&[("merge-engine", "aggregation"), ("fields.v.aggregate-function", "first_value")], 1)]
fn equal_sequence_numbers_are_in_the_order_of_files_wherever_their_runs_are(
    #[case] options: &[(&str, &str)],
    #[case] expected: i32,
) {
    let (table, options) = table(&["v", "w"], options);
    let spec = MergeSpec::try_new(&table, &options).unwrap();
    let schema = arrow(&table.fields);
    let of = |key, value| batch(&schema, &[record(key, 7, ADD, &[Some(value), Some(0)])]);
    // The second run begins with a file that is newer than all other files.
    for runs in
        [vec![vec![(1, of(5, 2))], vec![(2, of(1, 9)), (0, of(5, 1))]], vec![vec![(0, of(5, 1))], vec![(1, of(5, 2))]]]
    {
        let mut merger = Merger::try_new(&spec, Arc::clone(&schema), runs.len(), &Context::default()).unwrap();
        let mut runs: Vec<_> = runs.into_iter().map(Vec::into_iter).collect();
        let mut merged = Vec::new();
        loop {
            match merger.step().unwrap() {
                Step::Need(run) => {
                    let next = runs[run].next().map(|(age, batch)| (Source { level: 0, age, file: age }, batch));
                    merger.push(run, next).unwrap();
                }
                Step::Batch(batch) => merged.extend(records(&batch)),
                Step::Done => break,
            }
        }
        assert_eq!(merged.last().unwrap().values[0], Some(expected));
    }
}

#[rstest]
#[case(&[("merge-engine", "shuffle")], ErrorKind::Unsupported)]
#[case(&[("merge-engine", "first-row"), ("sequence.field", "v")], ErrorKind::InvalidArgument)]
#[case(&[("sequence.field", "nope")], ErrorKind::InvalidArgument)]
#[case(&[("sequence.field", "v"), ("sequence.field.sort-order", "random")], ErrorKind::InvalidArgument)]
#[case(&[UPDATE, ("fields.v.sequence-group", "nope")], ErrorKind::InvalidArgument)]
#[case(&[UPDATE, ("fields.v.aggregate-function", "sum")], ErrorKind::InvalidArgument)]
#[case(&[UPDATE, ("fields.v.sequence-group", "w"), ("partial-update.remove-record-on-delete", "true")], ErrorKind::InvalidArgument)]
#[case(&[UPDATE, ("ignore-delete", "true"), ("partial-update.remove-record-on-delete", "true")], ErrorKind::InvalidArgument)]
#[case(&[UPDATE, ("partial-update.remove-record-on-sequence-group", "v")], ErrorKind::InvalidArgument)]
#[case(&[("merge-engine", "aggregation"), ("fields.v.aggregate-function", "nope")], ErrorKind::Unsupported)]
fn options_that_cannot_be_meant_are_refused(#[case] options: &[(&str, &str)], #[case] kind: ErrorKind) {
    assert_eq!(merge(&["v", "w"], options, &[]).unwrap_err().kind(), kind);
}

#[test]
fn columns_required_for_merging_are_read() {
    let needs = |options: &[(&str, &str)], wanted: &[&str]| {
        let (table, options) = table(&["g1", "a", "g2", "b", "c"], options);
        let wanted: Vec<_> = wanted.iter().map(|name| table.field(name).unwrap().clone()).collect();
        MergeSpec::try_new(&table, &options).unwrap().required_fields(&wanted)
    };
    assert_eq!(needs(&[], &["c"]), ["k", "c"]);
    assert_eq!(needs(&[("sequence.field", "g2")], &["a"]), ["k", "a", "g2"]);
    assert_eq!(needs(&GROUPS, &["b"]), ["k", "g2", "b"]);
    assert_eq!(needs(&GROUPS, &["c"]), ["k", "c"]);
    let removing = [&GROUPS[..], &[("partial-update.remove-record-on-sequence-group", "g1")]].concat();
    assert_eq!(needs(&removing, &["c"]), ["k", "g1", "c"]);
    assert_eq!(needs(&[UPDATE, ("fields.g1,g2.sequence-group", "a,b")], &["g2"]), ["k", "g1", "g2"]);
}

#[test]
fn groups_that_are_not_read_do_not_matter() {
    let (table, options) = table(&["g1", "a", "g2", "b"], &GROUPS);
    let spec = MergeSpec::try_new(&table, &options).unwrap();
    let read: Vec<_> = ["k", "g2", "b"].iter().map(|name| table.field(name).unwrap().clone()).collect();
    let schema = arrow(&read);
    let mut merger = Merger::try_new(&spec, Arc::clone(&schema), 2, &Context::default()).unwrap();
    let of = |number, values: &[Option<i32>]| vec![batch(&schema, &[record(1, number, ADD, values)])];
    let merged = run(&mut merger, vec![of(0, &[Some(3), Some(1)]), of(1, &[Some(2), Some(2)])]).unwrap();
    assert_eq!(records(&merged[0])[0].values, [Some(3), Some(1)]);
}

/// Merges keys of one column, whose value is the position in their run, and returns the values.
fn merged_keys(keys: &[ArrayRef]) -> Vec<i32> {
    let key_type = match keys[0].data_type() {
        ArrowType::Float64 => TypeRoot::Double,
        ArrowType::Utf8 => TypeRoot::VarChar(100),
        ArrowType::Decimal128(..) => TypeRoot::Decimal(38, 2),
        ArrowType::Int64 => TypeRoot::BigInt,
        other => panic!("{other}"),
    };
    let fields = vec![field(0, "k", DataType::required(key_type)), field(1, "v", DataType::nullable(TypeRoot::Int))];
    let table = schema_of(fields, &["k"], BTreeMap::new());
    let spec = MergeSpec::try_new(&table, &Options::default()).unwrap();
    let schema = arrow(&table.fields);
    let of = |(run, keys): (i32, &ArrayRef)| {
        let count = i32::try_from(keys.len()).unwrap();
        let values = Int32Array::from_iter_values((0..count).map(|row| run * 100 + row));
        let numbers = Int64Array::from(vec![i64::from(run); keys.len()]);
        let kinds = Int8Array::from(vec![ADD; keys.len()]);
        let columns: Vec<ArrayRef> = vec![Arc::clone(keys), Arc::new(values), Arc::new(numbers), Arc::new(kinds)];
        let whole = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
        vec![whole.slice(0, keys.len() / 2), whole.slice(keys.len() / 2, keys.len() - keys.len() / 2)]
    };
    let mut merger = Merger::try_new(&spec, Arc::clone(&schema), keys.len(), &Context::default()).unwrap();
    let merged = run(&mut merger, (0..).zip(keys).map(of).collect()).unwrap();
    merged.iter().flat_map(|batch| batch.column(1).as_primitive::<Int32Type>().values().to_vec()).collect()
}

#[test]
fn keys_sort_as_their_type_does() {
    let floats = |values: &[f64]| -> ArrayRef { Arc::new(Float64Array::from(values.to_vec())) };
    // Keys in Java's order, with NaN anywhere. Nothing is lost, and every NaN is the same key.
    let merged = merged_keys(&[floats(&[f64::NAN, -1.0, -0.0, 5.0]), floats(&[0.0, -f64::NAN, 5.0])]);
    assert_eq!(merged, [1, 2, 100, 102, 101]);
    let texts = |values: &[&str]| -> ArrayRef { Arc::new(StringArray::from(values.to_vec())) };
    let long = "a prefix longer than a word";
    let merged = merged_keys(&[
        texts(&["", "a", "a\0", long, "a prefix longer than a word, and more", "\u{e9}"]),
        texts(&["a\0", "a prefix longer than a wore", "z", "\u{e9}", "\u{10000}"]),
    ]);
    assert_eq!(merged, [0, 1, 100, 3, 4, 101, 102, 103, 104]);
    let decimals = |values: &[i128]| -> ArrayRef {
        Arc::new(Decimal128Array::from(values.to_vec()).with_precision_and_scale(38, 2).unwrap())
    };
    let merged =
        merged_keys(&[decimals(&[-(10_i128.pow(30)), 0, 10_i128.pow(25)]), decimals(&[-1, 0, 10_i128.pow(30)])]);
    assert_eq!(merged, [0, 100, 101, 2, 102]);
    let numbers = |values: &[i64]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
    assert_eq!(merged_keys(&[numbers(&[i64::MIN, 0, i64::MAX]), numbers(&[-1, i64::MAX])]), [0, 100, 1, 101]);
}

#[test]
fn sequence_fields_of_floating_point_tie_as_in_java() {
    // From a golden table: NaN ties with everything, so the later write wins.
    let fields =
        vec![field(0, "k", DataType::required(TypeRoot::Int)), field(1, "ts", DataType::nullable(TypeRoot::Double))];
    let table = schema_of(fields, &["k"], BTreeMap::new());
    let options = Options::new([("sequence.field".to_string(), "ts".to_string())].into());
    let spec = MergeSpec::try_new(&table, &options).unwrap();
    let schema = arrow(&table.fields);
    let merged = |history: &[Option<f64>]| {
        let of = |(number, value): (i64, &Option<f64>)| {
            let columns: Vec<ArrayRef> = vec![
                Arc::new(Int32Array::from(vec![1])),
                Arc::new(Float64Array::from(vec![*value])),
                Arc::new(Int64Array::from(vec![number])),
                Arc::new(Int8Array::from(vec![ADD])),
            ];
            vec![RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()]
        };
        let mut merger = Merger::try_new(&spec, Arc::clone(&schema), history.len(), &Context::default()).unwrap();
        let merged = run(&mut merger, (0..).zip(history).map(of).collect()).unwrap();
        merged[0].column(2).as_primitive::<Int64Type>().value(0)
    };
    let (nan, low) = (Some(f64::NAN), Some(f64::NEG_INFINITY));
    assert_eq!(merged(&[nan, low]), 1);
    assert_eq!(merged(&[nan, None, low]), 2);
    assert_eq!(merged(&[Some(1.0), Some(1.0), nan]), 2);
    assert_eq!(merged(&[None, Some(-0.0), None]), 1);
    assert_eq!(merged(&[Some(0.0), Some(-0.0)]), 1);
}

#[test]
fn damaged_runs_are_refused() {
    let (table, options) = table(&["v"], &[]);
    let spec = MergeSpec::try_new(&table, &options).unwrap();
    let schema = arrow(&table.fields);
    let merge = |parts: &[&[Record]]| {
        let mut merger = Merger::try_new(&spec, Arc::clone(&schema), 1, &Context::default()).unwrap();
        run(&mut merger, vec![parts.iter().map(|part| batch(&schema, part)).collect()]).unwrap_err().kind()
    };
    let of = |key, kind| record(key, 0, kind, &[None]);
    assert_eq!(merge(&[&[of(2, ADD), of(1, ADD)]]), ErrorKind::CorruptData);
    assert_eq!(merge(&[&[of(2, ADD)], &[of(1, ADD)]]), ErrorKind::CorruptData);
    assert_eq!(merge(&[&[of(2, 4)]]), ErrorKind::CorruptData);
    assert_eq!(merge(&[&[of(2, -1)]]), ErrorKind::CorruptData);
}

#[test]
fn a_merge_can_be_cancelled_and_keeps_its_budget() {
    let (table, options) = table(&["v"], &[]);
    let spec = MergeSpec::try_new(&table, &options).unwrap();
    let schema = arrow(&table.fields);
    let rows: Vec<_> = (0..1000).map(|key| record(key, 0, ADD, &[None])).collect();
    let context = Context::new(Budget::new(1000));
    let mut merger = Merger::try_new(&spec, Arc::clone(&schema), 1, &context).unwrap();
    assert_eq!(merger.step().unwrap(), Step::Need(0));
    assert_eq!(
        merger.push(0, Some((Source::default(), batch(&schema, &rows)))).unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
    context.cancel();
    assert_eq!(merger.step().unwrap_err().kind(), ErrorKind::Cancelled);

    let context = Context::new(Budget::new(2 << 20));
    let mut merger = Merger::try_new(&spec, Arc::clone(&schema), 2, &context).unwrap();
    let part = |from: i32| batch(&schema, &(0..500).map(|row| record(from + row, 0, ADD, &[None])).collect::<Vec<_>>());
    let parts = |offset: i32| (0..200).map(|at| part(at * 500 + offset)).collect::<Vec<_>>();
    let rows: usize = run(&mut merger, vec![parts(0), parts(250)]).unwrap().iter().map(RecordBatch::num_rows).sum();
    assert_eq!(rows, 100_250);
    assert_eq!(context.budget.used_bytes(), 0);
}

#[test]
fn disjoint_runs_are_emitted_without_copying() {
    let (table, options) = table(&["v"], &[UPDATE]);
    let spec = MergeSpec::try_new(&table, &options).unwrap();
    let schema = arrow(&table.fields);
    let part = |from: i32| {
        batch(&schema, &(from..from + 20_000).map(|key| record(key, 0, ADD, &[Some(1)])).collect::<Vec<_>>())
    };
    let (first, second) = (part(0), part(20_000));
    let mut merger = Merger::try_new(&spec, Arc::clone(&schema), 2, &Context::default()).unwrap();
    let merged = run(&mut merger, vec![vec![first.clone()], vec![second.clone()]]).unwrap();
    assert_eq!(merged.iter().map(RecordBatch::num_rows).sum::<usize>(), 40_000);
    let last = merged.last().unwrap().column(0).as_primitive::<Int32Type>().values();
    assert!(second.column(0).as_primitive::<Int32Type>().values().inner().data_ptr() == last.inner().data_ptr());
}

#[test]
fn a_key_may_continue_in_the_next_batch() {
    let (table, options) = table(&["v"], &[]);
    let spec = MergeSpec::try_new(&table, &options).unwrap();
    let schema = arrow(&table.fields);
    let part = |from: i32| {
        batch(
            &schema,
            &(from..from + 101).map(|key| record(key, i64::from(from), ADD, &[Some(from)])).collect::<Vec<_>>(),
        )
    };
    let mut merger = Merger::try_new(&spec, Arc::clone(&schema), 1, &Context::default()).unwrap();
    let merged: Vec<_> = run(&mut merger, vec![vec![part(0), part(100)]]).unwrap().iter().flat_map(records).collect();
    assert_eq!(merged.iter().map(|record| record.key).collect::<Vec<_>>(), (0..201).collect::<Vec<_>>());
    assert_eq!(merged[100].values, [Some(100)]);
}

#[test]
fn keys_of_several_columns_compare_one_after_the_other() {
    let fields = vec![
        field(0, "v", DataType::nullable(TypeRoot::Int)),
        field(1, "a", DataType::required(TypeRoot::VarChar(9))),
        field(2, "b", DataType::required(TypeRoot::Int)),
    ];
    let table = schema_of(fields, &["b", "a"], BTreeMap::new());
    let spec = MergeSpec::try_new(&table, &Options::default()).unwrap();
    let schema = arrow(&table.fields);
    let part = |number: i64, keys: &[(i32, &str)]| {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(vec![Some(i32::try_from(number).unwrap()); keys.len()])),
            Arc::new(StringArray::from_iter_values(keys.iter().map(|key| key.1))),
            Arc::new(Int32Array::from_iter_values(keys.iter().map(|key| key.0))),
            Arc::new(Int64Array::from(vec![number; keys.len()])),
            Arc::new(Int8Array::from(vec![ADD; keys.len()])),
        ];
        vec![RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()]
    };
    let mut merger = Merger::try_new(&spec, Arc::clone(&schema), 2, &Context::default()).unwrap();
    let runs =
        vec![part(0, &[(-1, "z"), (1, ""), (1, "a much longer key text"), (2, "a")]), part(1, &[(1, ""), (1, "b")])];
    let merged = run(&mut merger, runs).unwrap();
    assert_eq!(merged[0].column(0).as_primitive::<Int32Type>().values(), &[0, 1, 0, 1, 0]);
}
