use std::collections::HashMap;

use arrow_array::{
    BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array,
    NullArray, Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow_schema::{Field, TimeUnit};
use proptest::prelude::*;

use super::*;

fn keys(deletes: &[(&[ArrayRef], i64)]) -> EqualityKeys {
    let types: Vec<DataType> = deletes[0].0.iter().map(|column| column.data_type().clone()).collect();
    let mut builder = EqualityKeysBuilder::new(&types).unwrap();
    for (columns, sequence_number) in deletes {
        builder.push(columns, *sequence_number).unwrap();
    }
    builder.finish()
}

fn deleted(keys: &EqualityKeys, columns: &[ArrayRef], data_sequence_number: i64) -> Vec<bool> {
    keys.deleted(columns, data_sequence_number).unwrap().iter().collect()
}

/// Returns one column of each type: a value, the same value again, NULL, and values that differ.
fn columns_of_every_type() -> Vec<ArrayRef> {
    let fixed = |width: i32| -> ArrayRef {
        let value = |byte: u8| vec![byte; usize::try_from(width).unwrap()];
        let values = [Some(value(1)), Some(value(1)), None, Some(value(2)), Some(value(0xff))];
        Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.into_iter(), width).unwrap())
    };
    let nan32 = f32::from_bits(0xffc0_1234);
    let nan64 = f64::from_bits(0xfff8_0000_0000_1234);
    vec![
        Arc::new(BooleanArray::from(vec![Some(true), Some(true), None, Some(false), Some(false)])),
        Arc::new(Int32Array::from(vec![Some(-1), Some(-1), None, Some(i32::MIN), Some(i32::MAX)])),
        Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(i64::MIN), None, Some(0), Some(i64::MAX)])),
        Arc::new(Float32Array::from(vec![Some(-0.0), Some(-0.0), None, Some(0.0), Some(f32::NAN)])),
        Arc::new(Float32Array::from(vec![Some(f32::NAN), Some(nan32), None, Some(0.0), Some(f32::INFINITY)])),
        Arc::new(Float64Array::from(vec![Some(0.0), Some(0.0), None, Some(-0.0), Some(f64::NAN)])),
        Arc::new(Float64Array::from(vec![Some(nan64), Some(f64::NAN), None, Some(0.0), Some(f64::NEG_INFINITY)])),
        Arc::new(Date32Array::from(vec![Some(-1), Some(-1), None, Some(0), Some(1)])),
        Arc::new(Time64MicrosecondArray::from(vec![Some(1), Some(1), None, Some(0), Some(2)])),
        Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), Some(-1), None, Some(0), Some(1)])),
        Arc::new(TimestampNanosecondArray::from(vec![Some(-1), Some(-1), None, Some(0), Some(1)]).with_timezone("UTC")),
        Arc::new(StringArray::from(vec![Some(""), Some(""), None, Some("\0"), Some("\u{e9}")])),
        Arc::new(BinaryArray::from_opt_vec(vec![Some(b"a"), Some(b"a"), None, Some(b""), Some(b"\xff")])),
        Arc::new(
            Decimal128Array::from(vec![Some(-1), Some(-1), None, Some(1), Some(10)])
                .with_precision_and_scale(38, 2)
                .unwrap(),
        ),
        fixed(16),
        fixed(1),
    ]
}

#[test]
fn values_of_every_type_are_the_same_or_not() {
    for column in columns_of_every_type() {
        let other: ArrayRef = Arc::new(Int32Array::from(vec![1, 1, 1, 1, 1]));
        for columns in [vec![column.clone()], vec![column.clone(), other.clone()], vec![other, column.clone()]] {
            let part = |start, len| columns.iter().map(|column| column.slice(start, len)).collect::<Vec<_>>();
            let of = |start| keys(&[(&part(start, 1), 2)]);
            let what = format!("{:?}", columns.iter().map(Array::data_type).collect::<Vec<_>>());
            assert_eq!(deleted(&of(0), &columns, 1), [true, true, false, false, false], "{what}");
            assert_eq!(deleted(&of(2), &columns, 1), [false, false, true, false, false], "NULL is NULL: {what}");
            assert_eq!(deleted(&of(1), &part(1, 4), 1), [true, false, false, false], "of a slice: {what}");
            let all = keys(&[(&columns, 2)]);
            assert_eq!(deleted(&all, &columns, 1), [true; 5], "{what}");
            assert_eq!(all.len(), if column.data_type() == &DataType::Boolean { 3 } else { 4 }, "{what}");
            assert!(all.size_bytes() > 0);
        }
    }
}

#[test]
fn a_key_deletes_older_rows_only() {
    let column = |values: &[Option<i64>]| -> Vec<ArrayRef> { vec![Arc::new(Int64Array::from(values.to_vec()))] };
    let keys = keys(&[
        (&column(&[Some(1), None]), 5),
        (&column(&[Some(2)]), 9),
        (&column(&[Some(1), Some(1)]), 3),
        (&column(&[None]), 4),
    ]);
    let rows = column(&[Some(1), Some(2), None, Some(3)]);
    assert_eq!(deleted(&keys, &rows, 4), [true, true, true, false], "the highest sequence number of a key counts");
    assert_eq!(deleted(&keys, &rows, 5), [false, true, false, false], "the same sequence number does not delete");
    assert_eq!(deleted(&keys, &rows, 9), [false; 4]);
    assert_eq!(keys.len(), 3);
}

#[test]
fn every_column_counts() {
    let columns = |a: &[Option<i32>], b: &[Option<&str>]| -> Vec<ArrayRef> {
        vec![Arc::new(Int32Array::from(a.to_vec())), Arc::new(StringArray::from(b.to_vec()))]
    };
    let keys = keys(&[(&columns(&[Some(1), None, Some(2)], &[Some("x"), Some("x"), None]), 2)]);
    let rows = columns(
        &[Some(1), None, Some(2), Some(1), None, Some(2), None],
        &[Some("x"), Some("x"), None, Some("y"), None, Some("x"), Some("")],
    );
    assert_eq!(deleted(&keys, &rows, 1), [true, true, true, false, false, false, false]);
}

#[test]
fn a_column_of_unknown_type_is_null() {
    let nulls: Vec<ArrayRef> = vec![Arc::new(NullArray::new(3))];
    assert_eq!(deleted(&keys(&[(&nulls, 2)]), &nulls, 1), [true; 3]);
}

#[test]
fn the_name_of_a_time_zone_does_not_matter() {
    let at = |zone: &str| -> Vec<ArrayRef> {
        vec![
            Arc::new(TimestampMicrosecondArray::from(vec![7]).with_timezone(zone)),
            Arc::new(Int32Array::from(vec![1])),
        ]
    };
    assert_eq!(deleted(&keys(&[(&at("UTC"), 2)]), &at("+00:00"), 1), [true]);
    assert_eq!(deleted(&keys(&[(&at("UTC")[..1], 2)]), &at("+00:00")[..1], 1), [true]);
    assert!(keys(&[(&at("UTC"), 2)]).deleted(&[Arc::new(TimestampMicrosecondArray::from(vec![7]))], 1).is_err());
}

#[test]
fn no_keys_and_no_rows() {
    let empty = EqualityKeysBuilder::new(&[DataType::Utf8]).unwrap().finish();
    let none: Vec<ArrayRef> = vec![Arc::new(StringArray::from(Vec::<&str>::new()))];
    assert!(empty.is_empty());
    assert_eq!(deleted(&empty, &[Arc::new(StringArray::from(vec!["a"]))], i64::MIN), [false]);
    assert!(deleted(&keys(&[(&none, 7)]), &none, 1).is_empty());
}

#[test]
fn keys_that_cannot_be_are_refused() {
    let kind = |types: &[DataType]| EqualityKeysBuilder::new(types).unwrap_err().kind();
    assert_eq!(kind(&[]), ErrorKind::CorruptDeletes);
    let list = DataType::List(Arc::new(Field::new("element", DataType::Int32, true)));
    assert_eq!(kind(&[list]), ErrorKind::Unsupported);

    let mut builder = EqualityKeysBuilder::new(&[DataType::Int64]).unwrap();
    let int: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let long: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    for columns in [vec![], vec![int.clone()], vec![long.clone(), long.clone()]] {
        assert_eq!(builder.push(&columns, 1).unwrap_err().kind(), ErrorKind::Internal);
    }
    builder.push(&[long], 1).unwrap();
    assert_eq!(builder.finish().deleted(&[int], 0).unwrap_err().kind(), ErrorKind::Internal);
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    let mut builder = EqualityKeysBuilder::new(&[micros]).unwrap();
    assert!(builder.push(&[Arc::new(TimestampNanosecondArray::from(vec![1]))], 1).is_err());
}

#[test]
fn keys_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<EqualityKeys>();
}

type Row = (Option<i8>, Option<u8>, Option<String>);

fn rows(max: usize) -> impl Strategy<Value = Vec<Row>> {
    let number = prop::option::of(-2..3_i8);
    let float = prop::option::of(0..5_u8);
    let text = prop::option::of("[ab]{0,2}");
    prop::collection::vec((number, float, text), 0..max)
}

/// Returns the columns of the given rows that are selected by the bits of `which`.
fn columns(rows: &[Row], which: u8) -> Vec<ArrayRef> {
    let floats = [0.0, -0.0, f64::NAN, f64::from_bits(0x7ff8_0000_0000_0001), 1.5];
    let all: [ArrayRef; 3] = [
        Arc::new(rows.iter().map(|row| row.0.map(i32::from)).collect::<Int32Array>()),
        Arc::new(rows.iter().map(|row| row.1.map(|i| floats[usize::from(i)])).collect::<Float64Array>()),
        Arc::new(rows.iter().map(|row| row.2.clone()).collect::<StringArray>()),
    ];
    (0..3).filter(|bit| which >> bit & 1 == 1).map(|bit| all[bit].clone()).collect()
}

/// Returns the key of a row, with all NaN values equal.
fn model_key(row: &Row, which: u8) -> Row {
    let float = row.1.map(|i| if i == 3 { 2 } else { i });
    (row.0.filter(|_| which & 1 != 0), float.filter(|_| which & 2 != 0), row.2.clone().filter(|_| which & 4 != 0))
}

/// Returns the same numbers as keys of one integer column, of one string column, and of two columns, which are encoded
/// as rows.
fn in_every_form(numbers: &[Option<i64>]) -> [Vec<ArrayRef>; 3] {
    let integers: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
    let text = numbers.iter().map(|number| number.map(|number| number.to_string()));
    let nothing: ArrayRef = Arc::new(Int32Array::from(vec![7; numbers.len()]));
    [vec![integers.clone()], vec![Arc::new(text.collect::<StringArray>())], vec![integers, nothing]]
}

fn numbers(max: usize) -> impl Strategy<Value = Vec<Option<i64>>> {
    let number = prop_oneof![-3..3_i64, -500..500_i64, any::<i64>(), (0..1000_i64).prop_map(|i| i << 48)];
    prop::collection::vec(prop::option::weighted(0.95, number), 0..max)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn keys_of_every_form_delete_the_same_rows(
        deletes in prop::collection::vec((numbers(700), 0..4_i64), 1..5),
        data in numbers(700),
        data_sequence_number in -1..4_i64,
    ) {
        let mut data = data;
        data.extend(deletes.iter().flat_map(|(numbers, _)| numbers.iter().step_by(3)));
        let masks = [0, 1, 2].map(|form| {
            let batches: Vec<_> = deletes.iter().map(|(numbers, at)| (in_every_form(numbers)[form].clone(), *at)).collect();
            let keys = keys(&batches.iter().map(|(columns, at)| (columns.as_slice(), *at)).collect::<Vec<_>>());
            (keys.len(), deleted(&keys, &in_every_form(&data)[form], data_sequence_number))
        });
        prop_assert_eq!(&masks[0], &masks[2]);
        prop_assert_eq!(&masks[1], &masks[2]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_rows_of_a_map_of_keys_are_deleted(
        deletes in prop::collection::vec((rows(30), 0..6_i64), 1..4),
        data in rows(60),
        data_sequence_number in 0..6_i64,
        which in 1..8_u8,
    ) {
        let mut model = HashMap::<Row, i64>::new();
        let types: Vec<DataType> = columns(&[], which).iter().map(|column| column.data_type().clone()).collect();
        let mut builder = EqualityKeysBuilder::new(&types).unwrap();
        for (rows, sequence_number) in &deletes {
            builder.push(&columns(rows, which), *sequence_number).unwrap();
            for row in rows {
                let own = model.entry(model_key(row, which)).or_insert(*sequence_number);
                *own = (*own).max(*sequence_number);
            }
        }
        let keys = builder.finish();
        prop_assert_eq!(keys.len(), model.len());
        let expected: Vec<bool> = data
            .iter()
            .map(|row| model.get(&model_key(row, which)).is_some_and(|at| *at > data_sequence_number))
            .collect();
        prop_assert_eq!(deleted(&keys, &columns(&data, which), data_sequence_number), expected);
    }
}
