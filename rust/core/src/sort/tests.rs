use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, StringArray};
use proptest::prelude::*;

use super::*;

fn batch(numbers: &[(u8, i64)]) -> (RecordBatch, BinaryArray) {
    let texts: ArrayRef =
        Arc::new(numbers.iter().map(|(_, n)| (n % 3 != 0).then(|| n.to_string())).collect::<StringArray>());
    let numbers_: ArrayRef = Arc::new(numbers.iter().map(|(_, n)| *n).collect::<Int64Array>());
    let keys = numbers.iter().map(|(key, _)| Some(vec![7; usize::from(*key)])).collect::<BinaryArray>();
    (RecordBatch::try_from_iter_with_nullable([("n", numbers_, false), ("s", texts, true)]).unwrap(), keys)
}

fn sorted(limit_bytes: usize, batches: &[Vec<(u8, i64)>]) -> (usize, Vec<(i64, Option<String>)>) {
    let mut sorter = Sorter::new(limit_bytes);
    for numbers in batches {
        let (rows, keys) = batch(numbers);
        sorter.push(rows, keys).unwrap();
    }
    let runs = sorter.runs.len();
    let mut sorted = sorter.finish().unwrap();
    let mut out = Vec::new();
    while let Some(batch) = sorted.next_batch(100).unwrap() {
        let texts = batch.column(1).as_string::<i32>().clone();
        let numbers = batch.column(0).as_primitive::<Int64Type>();
        out.extend(numbers.values().iter().copied().zip(texts.iter().map(|text| text.map(str::to_string))));
    }
    (runs, out)
}

proptest! {
    /// Rows are returned in the stable order of their keys, whether sorted in memory or through runs.
    #[test]
    fn rows_are_sorted_by_key(
        batches in prop::collection::vec(prop::collection::vec((0_u8..12, any::<i64>()), 0..40), 0..80),
        limit in prop::sample::select(vec![1_usize, 500, 3_000, usize::MAX]),
    ) {
        let mut expected: Vec<(u8, i64)> = batches.concat();
        expected.sort_by_key(|(key, _)| *key);
        let (runs, found) = sorted(limit, &batches);
        let expected: Vec<_> = expected.into_iter().map(|(_, n)| (n, (n % 3 != 0).then(|| n.to_string()))).collect();
        prop_assert_eq!(found, expected);
        prop_assert!(limit == usize::MAX || limit > 1 || runs > 0 || batches.iter().all(Vec::is_empty));
    }
}

#[test]
fn runs_beyond_the_limit_are_merged_first() {
    let batches: Vec<_> = (0..200_i64).map(|n| vec![(u8::try_from(n % 7).unwrap(), n), (3, -n)]).collect();
    let (runs, found) = sorted(1, &batches);
    assert!(runs < MAX_RUNS, "{runs}");
    assert_eq!(found.len(), 400);
    assert_eq!(found, sorted(usize::MAX, &batches).1);
}

#[test]
fn keys_and_rows_must_be_as_many() {
    let (rows, keys) = batch(&[(1, 1), (2, 2)]);
    assert!(Sorter::new(1).push(rows, keys.slice(0, 1)).is_err());
}
