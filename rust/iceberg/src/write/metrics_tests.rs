use std::sync::Arc;

use arrow_array::{
    BinaryArray, BooleanArray, Float64Array, Int32Array, Int64Array, ListArray, StringArray, StructArray,
};
use arrow_buffer::NullBuffer;
use proptest::prelude::*;

use super::*;
use crate::spec::arrow::arrow_schema;
use crate::spec::schema::Schema;

fn fields(fields: &str) -> StructType {
    Schema::from_json(&format!(r#"{{"type": "struct", "fields": [{fields}]}}"#)).unwrap().fields
}

fn column(field_type: &str) -> StructType {
    fields(&format!(r#"{{"id": 1, "name": "a", "required": false, "type": "{field_type}"}}"#))
}

fn collect(fields: &StructType, mode: MetricsMode, columns: Vec<Vec<ArrayRef>>) -> Metrics {
    let schema = Arc::new(arrow_schema(fields));
    let modes: HashMap<_, _> = (1..20).map(|id| (id, mode)).collect();
    let mut collector = MetricsCollector::new(fields.clone(), modes);
    for columns in columns {
        collector.add(&RecordBatch::try_new(schema.clone(), columns).unwrap()).unwrap();
    }
    collector.finish()
}

fn bounds_of(field_type: &str, mode: MetricsMode, batches: Vec<ArrayRef>) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let batches = batches.into_iter().map(|array| vec![array]).collect();
    let mut metrics = collect(&column(field_type), mode, batches);
    (metrics.lower_bounds.remove(&1), metrics.upper_bounds.remove(&1))
}

#[test]
fn counts_and_bounds_are_of_all_batches() {
    let batches: Vec<Vec<ArrayRef>> = vec![
        vec![Arc::new(Int32Array::from(vec![Some(5), None]))],
        vec![Arc::new(Int32Array::from(vec![Some(-7), Some(6), None]))],
    ];
    let metrics = collect(&column("int"), MetricsMode::Full, batches);
    assert_eq!((metrics.record_count, metrics.value_counts[&1], metrics.null_counts[&1]), (5, 5, 2));
    assert_eq!(metrics.lower_bounds[&1], (-7_i32).to_le_bytes());
    assert_eq!(metrics.upper_bounds[&1], 6_i32.to_le_bytes());
    assert!(metrics.nan_counts.is_empty());
}

#[test]
fn nan_is_counted_and_no_bound_and_zeros_take_in_both_signs() {
    let values: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.0), Some(f64::NAN), None, Some(-0.0)]));
    let metrics = collect(&column("double"), MetricsMode::Full, vec![vec![values]]);
    assert_eq!((metrics.nan_counts[&1], metrics.null_counts[&1]), (1, 1));
    assert_eq!(metrics.lower_bounds[&1], (-0.0_f64).to_le_bytes());
    assert_eq!(metrics.upper_bounds[&1], 0.0_f64.to_le_bytes());
    let nans: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, f64::NAN]));
    let metrics = collect(&column("double"), MetricsMode::Full, vec![vec![nans]]);
    assert_eq!((metrics.nan_counts[&1], metrics.lower_bounds.len(), metrics.upper_bounds.len()), (2, 0, 0));
}

#[test]
fn modes_say_less() {
    let values = || -> ArrayRef { Arc::new(StringArray::from(vec!["abcdef"])) };
    let counts = collect(&column("string"), MetricsMode::Counts, vec![vec![values()]]);
    assert_eq!((counts.value_counts[&1], counts.lower_bounds.len()), (1, 0));
    assert_eq!(collect(&column("string"), MetricsMode::None, vec![vec![values()]]).value_counts.len(), 0);
    let cut = bounds_of("string", MetricsMode::Truncate(3), vec![values()]);
    assert_eq!(cut, (Some(b"abc".to_vec()), Some(b"abd".to_vec())));
    let whole = bounds_of("string", MetricsMode::Full, vec![values()]);
    assert_eq!(whole, (Some(b"abcdef".to_vec()), Some(b"abcdef".to_vec())));
}

#[test]
fn only_bounds_of_text_and_binary_are_cut() {
    use arrow_array::{Decimal128Array, FixedSizeBinaryArray};
    let fixed = |values: Vec<Vec<u8>>| -> ArrayRef {
        Arc::new(FixedSizeBinaryArray::try_from_iter(values.into_iter()).unwrap())
    };
    let (low, high) = (vec![1_u8; 16], vec![255_u8; 16]);
    for data_type in ["uuid", "fixed[16]"] {
        let batches = vec![fixed(vec![high.clone()]), fixed(vec![low.clone()])];
        let bounds = bounds_of(data_type, MetricsMode::Truncate(4), batches);
        assert_eq!(bounds, (Some(low.clone()), Some(high.clone())), "{data_type}");
    }
    let decimals = Decimal128Array::from(vec![10_i128.pow(30)]).with_precision_and_scale(38, 2).unwrap();
    let (low, high) = bounds_of("decimal(38, 2)", MetricsMode::Truncate(1), vec![Arc::new(decimals)]);
    assert_eq!((low.as_ref().map(Vec::len), low), (Some(13), high));
    let binary: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"abcdef"]));
    let cut = bounds_of("binary", MetricsMode::Truncate(3), vec![binary]);
    assert_eq!(cut, (Some(b"abc".to_vec()), Some(b"abd".to_vec())));
}

#[test]
fn cut_upper_bounds_are_above_and_within_unicode() {
    for (text, length, upper) in [
        ("イロハニホヘト", 2, Some("イヮ")),
        ("イロハニホヘト", 3, Some("イロバ")),
        ("a\u{10ffff}c", 2, Some("b")),
        ("\u{d7ff}x", 1, Some("\u{e000}")),
        ("\u{ffff}x", 1, Some("\u{10000}")),
        ("\u{10ffff}\u{10ffff}x", 2, None),
        ("ab", 2, Some("ab")),
        ("\u{10ffff}", 1, Some("\u{10ffff}")),
    ] {
        assert_eq!(upper_text(text, length).as_deref(), upper, "{text:?} to {length}");
    }
    assert_eq!(upper_bytes(&[1, 1, 0xff, 2], 3), Some(vec![1, 2]));
    assert_eq!(upper_bytes(&[0xff, 0xff, 1], 2), None);
    assert_eq!(upper_bytes(&[0xff, 0xff], 2), Some(vec![0xff, 0xff]));
}

#[test]
fn other_types_are_ordered_as_the_specification_says() {
    let booleans: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None]));
    assert_eq!(bounds_of("boolean", MetricsMode::Full, vec![booleans]), (Some(vec![1]), Some(vec![1])));
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&[0x80_u8][..], &[0x7f]]));
    assert_eq!(bounds_of("binary", MetricsMode::Full, vec![bytes]), (Some(vec![0x7f]), Some(vec![0x80])));
    let longs: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, i64::MIN]));
    let (low, high) = bounds_of("long", MetricsMode::Truncate(1), vec![longs]);
    assert_eq!((low.unwrap(), high.unwrap()), (i64::MIN.to_le_bytes().to_vec(), i64::MAX.to_le_bytes().to_vec()));
    let none: ArrayRef = Arc::new(Int32Array::from(vec![None, None]));
    assert_eq!(bounds_of("int", MetricsMode::Full, vec![none]), (None, None));
}

#[test]
fn columns_in_structs_have_bounds_and_those_in_lists_only_counts() {
    let fields = fields(
        r#"{"id": 1, "name": "s", "required": false, "type": {"type": "struct", "fields": [
               {"id": 2, "name": "x", "required": false, "type": "int"}]}},
           {"id": 3, "name": "l", "required": false, "type":
               {"type": "list", "element-id": 4, "element-required": false, "element": "int"}}"#,
    );
    let schema = arrow_schema(&fields);
    let arrow_schema::DataType::Struct(inner) = schema.field(0).data_type() else { panic!() };
    let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(100), Some(2), None]));
    // Values under a NULL struct are not counted.
    let nulls = NullBuffer::from(vec![false, true, true]);
    let structs: ArrayRef = Arc::new(StructArray::new(inner.clone(), vec![values], Some(nulls)));
    let lists =
        ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None, Some(3)]), None, Some(vec![])]);
    let lists = arrow_cast::cast(&lists, schema.field(1).data_type()).unwrap();
    let metrics = collect(&fields, MetricsMode::Full, vec![vec![structs, lists]]);
    assert_eq!((metrics.value_counts[&2], metrics.null_counts[&2]), (3, 2));
    assert_eq!(metrics.upper_bounds[&2], 2_i32.to_le_bytes());
    assert_eq!((metrics.value_counts[&4], metrics.null_counts[&4]), (3, 1));
    assert!(!metrics.lower_bounds.contains_key(&4));
}

proptest! {
    #[test]
    fn every_value_is_within_its_bounds(values in prop::collection::vec(prop::option::of(".{0,6}"), 0..20), length in 1_u32..5) {
        let array: ArrayRef = Arc::new(StringArray::from(values.clone()));
        let (low, high) = bounds_of("string", MetricsMode::Truncate(length), vec![array]);
        for value in values.iter().flatten() {
            prop_assert!(low.as_deref().unwrap() <= value.as_bytes());
            prop_assert!(high.as_deref().is_none_or(|high| value.as_bytes() <= high));
        }
    }
}
