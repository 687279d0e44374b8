use std::sync::Arc;

use arrow_array::{BinaryArray, Float64Array, Int32Array, StringArray};
use proptest::prelude::*;

use super::*;
use crate::spec::types::TypeRoot;

fn rows(columns: &[ArrayRef], types: &[DataType]) -> BinaryArray {
    binary_row::with_arity(&binary_row::encode(columns, types).unwrap(), types.len()).unwrap()
}

fn ranges(min: ArrayRef, max: ArrayRef, root: TypeRoot) -> Result<KeyRanges> {
    let types = [DataType::required(root)];
    KeyRanges::try_new(&rows(&[min], &types), &rows(&[max], &types), &types)
}

fn ints(ranges_of: &[(i32, i32)]) -> KeyRanges {
    let column =
        |pick: fn(&(i32, i32)) -> i32| Arc::new(ranges_of.iter().map(pick).collect::<Int32Array>()) as ArrayRef;
    ranges(column(|r| r.0), column(|r| r.1), TypeRoot::Int).unwrap()
}

fn all(ranges: &KeyRanges) -> Vec<Vec<Vec<usize>>> {
    let files: Vec<usize> = (0..ranges.len()).collect();
    ranges.sections(&files).into_iter().map(|section| section.runs).collect()
}

#[test]
fn files_that_share_keys_are_one_section() {
    assert_eq!(
        all(&ints(&[(20, 23), (0, 5), (3, 8), (10, 15), (8, 9)])),
        [vec![vec![1, 4], vec![2]], vec![vec![3]], vec![vec![0]]]
    );
    assert_eq!(all(&ints(&[(1, 2), (1, 2), (1, 2)])), [[[0], [1], [2]]]);
    // Negative numbers sort first, unlike their bytes.
    assert_eq!(all(&ints(&[(-5, -1), (0, 5), (-300, -6)])), [[[2]], [[0]], [[1]]]);
    assert!(ints(&[]).sections(&[]).is_empty());
}

#[test]
fn a_part_of_the_files_has_its_own_sections() {
    let ranges = ints(&[(0, 9), (0, 2), (5, 6)]);
    assert_eq!(ranges.sections(&[1, 2]).len(), 2);
    assert_eq!(ranges.sections(&[0, 1, 2]).len(), 1);
}

#[test]
fn nan_and_signed_zeros_are_keys_of_their_own() {
    let column = |values: &[f64]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
    let negative_nan = f64::from_bits(f64::NAN.to_bits() | 1 << 63);
    let min = column(&[f64::NEG_INFINITY, 0.0, f64::NAN, negative_nan]);
    let max = column(&[-0.0, f64::INFINITY, f64::NAN, f64::NAN]);
    assert_eq!(
        all(&ranges(min, max, TypeRoot::Double).unwrap()),
        [vec![vec![0]], vec![vec![1]], vec![vec![2], vec![3]]]
    );
}

#[test]
fn text_is_ordered_by_bytes() {
    let column = |values: &[&str]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
    let min = column(&["\u{e9}", "", "a long text, not inline"]);
    let max = column(&["\u{1d518}", "a", "z"]);
    assert_eq!(all(&ranges(min, max, TypeRoot::VarChar(9)).unwrap()), [[[1]], [[2]], [[0]]]);
}

#[test]
fn a_range_that_ends_before_it_begins_is_corrupt() {
    let column = |value: i32| Arc::new(Int32Array::from(vec![value])) as ArrayRef;
    let error = ranges(column(2), column(1), TypeRoot::Int).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptManifest);
    let null = Arc::new(Int32Array::from(vec![None])) as ArrayRef;
    assert_eq!(ranges(null, column(1), TypeRoot::Int).unwrap_err().kind(), ErrorKind::CorruptManifest);
}

proptest! {
    #[test]
    fn overlapping_files_share_a_key_with_a_marked_one(
        starts in prop::collection::vec((0..60_i32, 0..12_i32, any::<bool>()), 0..40),
    ) {
        let spans: Vec<(i32, i32)> = starts.iter().map(|(min, length, _)| (*min, min + length)).collect();
        let marked = |file: usize| starts[file].2;
        let shares = |a: usize, b: usize| spans[a].0 <= spans[b].1 && spans[b].0 <= spans[a].1;
        let files: Vec<usize> = (0..spans.len()).collect();
        let expected: Vec<usize> =
            files.iter().copied().filter(|a| files.iter().any(|b| marked(*b) && shares(*a, *b))).collect();
        prop_assert_eq!(ints(&spans).overlapping(&files, |file| marked(*file)), expected);
    }

    #[test]
    fn sections_share_no_key_and_runs_ascend(starts in prop::collection::vec((0..60_i32, 0..12_i32), 0..40)) {
        let files: Vec<(i32, i32)> = starts.into_iter().map(|(min, length)| (min, min + length)).collect();
        let sections = all(&ints(&files));
        let mut seen: Vec<usize> = sections.iter().flatten().flatten().copied().collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..files.len()).collect::<Vec<_>>());
        for run in sections.iter().flatten() {
            prop_assert!(run.windows(2).all(|pair| files[pair[0]].1 < files[pair[1]].0));
        }
        let bounds = sections.iter().map(|runs| {
            let files: Vec<_> = runs.iter().flatten().map(|file| files[*file]).collect();
            (files.iter().map(|f| f.0).min().unwrap(), files.iter().map(|f| f.1).max().unwrap())
        });
        let bounds: Vec<_> = bounds.collect();
        prop_assert!(bounds.windows(2).all(|pair| pair[0].1 < pair[1].0));
        // The number of runs is minimal: some key is in that many files.
        for runs in &sections {
            let deepest = (0..80).map(|key| runs.iter().flatten().filter(|f| files[**f].0 <= key && key <= files[**f].1).count());
            prop_assert_eq!(deepest.max().unwrap(), runs.len());
        }
    }
}
