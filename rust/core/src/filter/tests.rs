use std::sync::Arc;

use arrow_array::types::{Decimal128Type, Int32Type, Int64Type};
use arrow_array::{
    BinaryArray, BooleanArray, DictionaryArray, Float32Array, Int8Array, Int64Array, LargeStringArray, ListArray,
    PrimitiveArray, StringArray, StringViewArray, TimestampMicrosecondArray,
};
use arrow_schema::{Field, Schema};
use proptest::prelude::*;

use super::*;

/// Returns a column of each layout, with and without a kernel.
fn columns(values: &[Option<i64>]) -> Vec<ArrayRef> {
    let text = |value: &Option<i64>| value.map(|value| "é".repeat((value.unsigned_abs() % 40) as usize));
    let texts: Vec<Option<String>> = values.iter().map(text).collect();
    let lists = values.iter().map(|value| value.map(|value| vec![Some(value), None]));
    vec![
        Arc::new(values.iter().copied().collect::<Int64Array>()),
        Arc::new(values.iter().map(|value| value.unwrap_or(7)).map(Some).collect::<Int64Array>()),
        Arc::new(values.iter().copied().collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
        Arc::new(values.iter().map(|value| value.map(|value| value as f32)).collect::<Float32Array>()),
        Arc::new(
            values.iter().map(|value| value.and_then(|value| i8::try_from(value % 100).ok())).collect::<Int8Array>(),
        ),
        Arc::new(values.iter().map(|value| value.map(|value| value % 3 == 0)).collect::<BooleanArray>()),
        Arc::new(values.iter().map(|value| value.map(i128::from)).collect::<PrimitiveArray<Decimal128Type>>()),
        Arc::new(texts.iter().map(Option::as_deref).collect::<StringArray>()),
        Arc::new(texts.iter().map(Option::as_deref).collect::<LargeStringArray>()),
        Arc::new(texts.iter().map(|text| text.as_deref().map(str::as_bytes)).collect::<BinaryArray>()),
        Arc::new(texts.iter().map(Option::as_deref).collect::<StringViewArray>()),
        Arc::new(texts.iter().map(Option::as_deref).collect::<DictionaryArray<Int32Type>>()),
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)),
    ]
}

fn check(values: &[Option<i64>], keep: &BooleanBuffer, offset: usize) {
    let (filter, spare) = (Filter::new(keep), Spare::default());
    for column in columns(values) {
        let column = column.slice(offset, keep.len());
        let expected = arrow_select::filter::filter(&column, &BooleanArray::new(keep.clone(), None)).unwrap();
        let kept = filter.array(&column, &spare).unwrap();
        assert_eq!(&kept, &expected, "{}", column.data_type());
        kept.to_data().validate_full().unwrap();
        assert_eq!(kept.null_count(), expected.null_count());
    }
}

#[test]
fn masks_of_any_density_and_length_match_arrow() {
    let values: Vec<Option<i64>> = (0..400).map(|i| (i % 11 != 0).then_some(i * 7919)).collect();
    for length in [0, 1, 63, 64, 65, 127, 128, 200, 390] {
        for every in [1, 2, 3, 10, 64, 65, 1000] {
            let some = BooleanBuffer::collect_bool(length, |row| row % every != 0);
            check(&values, &some, 3);
            check(&values, &!&some, 5);
        }
        check(&values, &BooleanBuffer::new_set(length), 1);
        check(&values, &BooleanBuffer::new_unset(length), 0);
    }
}

#[test]
fn portable_kernels_give_the_same() {
    for every in [2, 7, 50] {
        let mask = Mask::new(&BooleanBuffer::collect_bool(1000, |row| row % every != 1));
        let values: Vec<u64> = (0..1000).collect();
        let narrow: Vec<u32> = (0..1000).collect();
        let (mut best, mut portable) = (Vec::new(), Vec::new());
        fixed::u64s(&values, &mask, &mut best);
        fixed::portable(&values, &mask, &mut portable);
        assert_eq!(best, portable);
        let (mut best, mut portable) = (Vec::new(), Vec::new());
        fixed::u32s(&narrow, &mask, &mut best);
        fixed::portable(&narrow, &mask, &mut portable);
        assert_eq!(best, portable);
    }
}

#[test]
fn batches_keep_their_schema_and_other_lengths_are_refused() {
    let spare = Spare::default();
    let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(Int64Array::from(vec![1, 2, 3]))]).unwrap();
    let kept = Filter::new(&vec![true, false, true].into()).batch(&batch, &spare).unwrap();
    assert_eq!(kept, RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from(vec![1, 3]))]).unwrap());
    assert!(Filter::new(&BooleanBuffer::new_set(4)).batch(&batch, &spare).is_err());
    let options = RecordBatchOptions::new().with_row_count(Some(2));
    let bare = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options).unwrap();
    assert_eq!(Filter::new(&vec![true, false].into()).batch(&bare, &spare).unwrap().num_rows(), 1);
}

proptest! {
    #[test]
    fn scattered_and_long_runs_match_arrow(
        runs in prop::collection::vec((any::<bool>(), 1_usize..150, 1_u32..12), 0..12),
        seed in any::<u32>(),
        offset in 0_usize..3,
    ) {
        let mut state = seed;
        let mut keep = Vec::new();
        for (kept, length, every) in runs {
            for _ in 0..length {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                keep.push(kept ^ (state >> 16).is_multiple_of(every));
            }
        }
        let values: Vec<Option<i64>> = (0..).take(keep.len() + 3).map(|i| (i % 5 != 2).then_some(i * 31)).collect();
        check(&values, &keep.into(), offset);
    }
}
