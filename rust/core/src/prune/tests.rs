use std::cell::Cell;
use std::collections::HashMap;

use arrow_array::{BooleanArray, FixedSizeBinaryArray, Float64Array, Int32Array, NullArray, StringArray};
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::scalar::ScalarType;
use crate::sql::expression::Expression;
use crate::sql::predicate::bind::bind;
use crate::sql::predicate::eval::{RowColumns, evaluate};
use crate::sql::predicate::testing::{Names, Row, TYPES, columns, predicates, rows};

struct Stats {
    length: usize,
    columns: HashMap<i32, Bounds>,
}

impl ColumnStats for Stats {
    fn len(&self) -> usize {
        self.length
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        Ok(self.columns.get(&column.id).cloned())
    }
}

/// Returns `may` and `all` for one item with a column `x`.
fn verdict(filter: &str, data_type: ScalarType, bounds: &Bounds) -> (bool, bool) {
    let predicate = bind(&Expression::filter(filter).unwrap(), &Names(vec![("x", data_type)]), true).unwrap();
    let stats = Stats { length: 1, columns: [(0, bounds.clone())].into() };
    let verdicts = prune(&predicate, &stats).unwrap();
    (verdicts.may.value(0), verdicts.all.value(0))
}

const NO: (bool, bool) = (false, false);
const MAY: (bool, bool) = (true, false);
const ALL: (bool, bool) = (true, true);

/// Returns the bounds of ten rows with values from `lower` to `upper`.
fn bounds(nulls: Option<i64>, nans: Option<i64>, lower: ArrayRef, upper: ArrayRef) -> Bounds {
    Bounds {
        row_count: Some(Int64Array::from(vec![10])),
        null_count: Some(Int64Array::from(vec![nulls])),
        nan_count: Some(Int64Array::from(vec![nans])),
        lower: Some(lower),
        upper: Some(upper),
        exact: true,
    }
}

fn ints(nulls: Option<i64>, lower: Option<i32>, upper: Option<i32>) -> Bounds {
    bounds(nulls, None, Arc::new(Int32Array::from(vec![lower])), Arc::new(Int32Array::from(vec![upper])))
}

fn floats(nulls: Option<i64>, nans: Option<i64>, lower: Option<f64>, upper: Option<f64>) -> Bounds {
    bounds(nulls, nans, Arc::new(Float64Array::from(vec![lower])), Arc::new(Float64Array::from(vec![upper])))
}

fn texts(lower: &str, upper: &str, exact: bool) -> Bounds {
    let array = |text: &str| Arc::new(StringArray::from(vec![text.to_string()]));
    Bounds { exact, ..bounds(Some(0), None, array(lower), array(upper)) }
}

#[rstest]
#[case("x < 1", NO)]
#[case("x < 2", MAY)]
#[case("x < 6", ALL)]
#[case("x <= 0", NO)]
#[case("x <= 1", MAY)]
#[case("x <= 5", ALL)]
#[case("x > 5", NO)]
#[case("x > 4", MAY)]
#[case("x > 0", ALL)]
#[case("x >= 6", NO)]
#[case("x >= 5", MAY)]
#[case("x >= 1", ALL)]
#[case("x = 0", NO)]
#[case("x = 3", MAY)]
#[case("x <> 3", MAY)]
#[case("x <> 6", ALL)]
#[case("x in (0, 6)", NO)]
#[case("x in (0, 5, 6)", MAY)]
#[case("x not in (0, 6)", ALL)]
#[case("x not in (0, 5)", MAY)]
#[case("x is null", NO)]
#[case("x is not null", ALL)]
#[case("x < 1 or x > 5", NO)]
#[case("x >= 1 and x <= 5", ALL)]
#[case("x < 1 or x >= 1", ALL)]
fn ranges_decide_without_nulls(#[case] filter: &str, #[case] expected: (bool, bool)) {
    assert_eq!(verdict(filter, ScalarType::Int32, &ints(Some(0), Some(1), Some(5))), expected);
    // If there are or may be NULLs, no test of values holds for all rows; the rows that may match are unchanged.
    let nullable = if filter.contains("null") { MAY } else { (expected.0, false) };
    for nulls in [Some(1), None, Some(-1), Some(11)] {
        assert_eq!(verdict(filter, ScalarType::Int32, &ints(nulls, Some(1), Some(5))), nullable, "{nulls:?}");
    }
}

#[rstest]
#[case("x = 3", ALL)]
#[case("x <> 3", NO)]
#[case("x in (2, 3)", ALL)]
#[case("x not in (2, 3)", NO)]
#[case("x not in (2, 4)", ALL)]
fn bounds_that_meet_are_the_value_if_exact(#[case] filter: &str, #[case] expected: (bool, bool)) {
    let known = ints(Some(0), Some(3), Some(3));
    assert_eq!(verdict(filter, ScalarType::Int32, &known), expected);
    let inexact = verdict(filter, ScalarType::Int32, &Bounds { exact: false, ..known });
    assert_eq!(inexact, if filter == "x not in (2, 4)" { ALL } else { MAY });
}

#[rstest]
#[case("x < 0", MAY)]
#[case("x = 0", MAY)]
#[case("x is null", MAY)]
#[case("x in (0, 1)", MAY)]
fn contradictory_statistics_prune_nothing(#[case] filter: &str, #[case] expected: (bool, bool)) {
    assert_eq!(verdict(filter, ScalarType::Int32, &ints(None, Some(5), Some(1))), expected);
    assert_eq!(verdict(filter, ScalarType::Int32, &ints(Some(-1), None, None)), expected);
    assert_eq!(verdict(filter, ScalarType::Int32, &ints(Some(11), None, None)), expected);
    assert_eq!(verdict(filter, ScalarType::Int32, &Bounds::default()), expected);
    let nan = floats(None, None, Some(f64::NAN), Some(f64::NAN));
    assert_eq!(verdict(filter, ScalarType::Float64, &nan), expected);
    let counts = floats(Some(6), Some(6), None, None);
    assert_eq!(verdict(filter, ScalarType::Float64, &counts), expected);
}

#[rstest]
#[case("x < 1", NO, NO)]
#[case("x < 6", ALL, MAY)]
#[case("x <= 0", NO, NO)]
#[case("x > 5", NO, MAY)]
#[case("x > 0", ALL, ALL)]
#[case("x >= 6", NO, MAY)]
#[case("x >= 1", ALL, ALL)]
#[case("x = 6", NO, NO)]
#[case("x <> 6", ALL, ALL)]
#[case("x = nan", NO, MAY)]
#[case("x <> nan", ALL, MAY)]
#[case("x < nan", ALL, MAY)]
#[case("x <= nan", ALL, ALL)]
#[case("x > nan", NO, NO)]
#[case("x >= nan", NO, MAY)]
#[case("x in (6, nan)", NO, MAY)]
#[case("x not in (6, nan)", ALL, MAY)]
#[case("x not in (6, 7)", ALL, ALL)]
#[case("x is nan", NO, MAY)]
#[case("x is not nan", ALL, MAY)]
fn nan_is_greater_than_the_upper_bound(
    #[case] filter: &str,
    #[case] without: (bool, bool),
    #[case] with: (bool, bool),
) {
    assert_eq!(verdict(filter, ScalarType::Float64, &floats(Some(0), Some(0), Some(1.0), Some(5.0))), without);
    for nans in [Some(1), None, Some(-1)] {
        assert_eq!(verdict(filter, ScalarType::Float64, &floats(Some(0), nans, Some(1.0), Some(5.0))), with);
    }
}

#[rstest]
#[case("x < 1", NO)]
#[case("x > 1", ALL)]
#[case("x >= nan", ALL)]
#[case("x > nan", NO)]
#[case("x = 1", NO)]
#[case("x <> 1", ALL)]
#[case("x is nan", ALL)]
#[case("x is not nan", NO)]
#[case("x is null", NO)]
fn only_nans_are_one_value(#[case] filter: &str, #[case] expected: (bool, bool)) {
    assert_eq!(verdict(filter, ScalarType::Float64, &floats(Some(0), Some(10), None, None)), expected);
}

#[rstest]
#[case("x < 1", NO)]
#[case("x <> 1", NO)]
#[case("x not in (1, 2)", NO)]
#[case("x is null", ALL)]
#[case("x is not null", NO)]
#[case("x is nan", NO)]
#[case("x is not nan", ALL)]
fn only_nulls_match_no_value(#[case] filter: &str, #[case] expected: (bool, bool)) {
    assert_eq!(verdict(filter, ScalarType::Float64, &floats(Some(10), None, None, None)), expected);
}

#[test]
fn no_rows_match_nothing() {
    let empty = Bounds { row_count: Some(Int64Array::from(vec![0])), ..ints(Some(0), None, None) };
    for filter in ["x < 1", "x is null", "x is not null", "x <> 1"] {
        assert_eq!(verdict(filter, ScalarType::Int32, &empty), NO);
    }
    let unknown = Bounds { row_count: Some(Int64Array::from(vec![-1])), ..ints(Some(0), None, None) };
    assert_eq!(verdict("x < 1", ScalarType::Int32, &unknown), MAY);
}

#[test]
fn zeros_are_equal_in_bounds() {
    for (lower, upper) in [(0.0, -0.0), (-0.0, 0.0), (0.0, 0.0), (-0.0, -0.0)] {
        let zero = floats(Some(0), Some(0), Some(lower), Some(upper));
        for zero_literal in ["0.0", "-0.0"] {
            assert_eq!(verdict(&format!("x = {zero_literal}"), ScalarType::Float64, &zero), ALL);
            assert_eq!(verdict(&format!("x < {zero_literal}"), ScalarType::Float64, &zero), NO);
        }
    }
}

#[rstest]
#[case("x like 'b%'", "a", "c", MAY)]
#[case("x like 'b%'", "a", "az", NO)]
#[case("x like 'b%'", "c", "d", NO)]
#[case("x like 'abc%'", "ab", "ab", NO)]
#[case("x like 'abc%'", "ab", "b", MAY)]
#[case("x like 'ab%'", "aba", "abz", ALL)]
#[case("x not like 'ab%'", "aba", "abz", NO)]
#[case("x not like 'ab%'", "b", "c", ALL)]
#[case("x like 'b%c'", "c", "d", NO)]
#[case("x like 'b%c'", "b", "d", MAY)]
#[case("x not like 'b%c'", "c", "d", ALL)]
#[case("x like '%c'", "a", "b", MAY)]
#[case("x like '%c'", "abc", "abc", ALL)]
#[case("x like '%d'", "abc", "abc", NO)]
#[case("x not like '%d'", "abc", "abc", ALL)]
fn patterns_are_judged_by_their_prefix(
    #[case] filter: &str,
    #[case] lower: &str,
    #[case] upper: &str,
    #[case] expected: (bool, bool),
) {
    assert_eq!(verdict(filter, ScalarType::String, &texts(lower, upper, true)), expected);
}

#[test]
fn cut_text_still_bounds() {
    let cut = texts("abc", "abd", false);
    assert_eq!(verdict("x > 'abd'", ScalarType::String, &cut), NO);
    assert_eq!(verdict("x >= 'abc'", ScalarType::String, &cut), ALL);
    assert_eq!(verdict("x = 'abcd'", ScalarType::String, &cut), MAY);
}

#[test]
fn uuids_are_judged_only_where_both_orders_agree() {
    let array = |value: u128| -> ArrayRef {
        Arc::new(FixedSizeBinaryArray::try_from_iter([value.to_be_bytes()].into_iter()).unwrap())
    };
    let between = |lower, upper| bounds(Some(0), None, array(lower), array(upper));
    let high = 0x8000_0000_0000_0000_0000_0000_0000_0000;
    let equals = |value: u128| format!("x = X'{value:032x}'");
    let judge = |filter: &str, bounds: &Bounds| verdict(filter, ScalarType::Uuid, bounds);
    assert_eq!(judge(&equals(1 << 100), &between(1, 1 << 90)), NO);
    assert_eq!(judge(&equals(high), &between(1, 1 << 90)), NO);
    // Bounds with different first bits are in order either for unsigned bytes only or for signed halves only.
    assert_eq!(judge(&equals(high + 9), &between(1, high + 5)), NO);
    assert_eq!(judge(&equals(high + 3), &between(1, high + 5)), MAY);
    assert_eq!(judge(&equals(high + 9), &between(high + 5, 1)), MAY);
    // The first halves are equal, and the second ones may have been compared as signed numbers.
    assert_eq!(judge(&equals(5), &between(1, 3)), MAY);
    assert_eq!(judge(&equals(1 << 64), &between(1, 3)), NO);
    assert_eq!(judge(&equals(3), &between(3, 3)), ALL);
    assert_eq!(judge(&equals(4), &between(3, 3)), NO);
}

#[test]
fn constants_are_known_wholly() {
    let values: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(f64::NAN)]));
    let stats = Stats { length: 3, columns: [(0, Bounds::constant(&values))].into() };
    let check = |filter: &str, expected: [bool; 3]| {
        let names = Names(vec![("x", ScalarType::Float64)]);
        let predicate = bind(&Expression::filter(filter).unwrap(), &names, true).unwrap();
        let verdicts = prune(&predicate, &stats).unwrap();
        assert_eq!(verdicts.may.iter().collect::<Vec<_>>(), expected, "{filter}");
        assert_eq!(verdicts.all, verdicts.may, "{filter}");
    };
    check("x = 1", [true, false, false]);
    check("x > 1", [false, false, true]);
    check("x <> 1", [false, false, true]);
    check("x is null", [false, true, false]);
    check("x is nan", [false, false, true]);
    check("x is not nan", [true, true, false]);
}

#[test]
fn booleans_and_null_columns_are_judged() {
    let array = |value: bool| -> ArrayRef { Arc::new(BooleanArray::from(vec![value])) };
    let only_false = bounds(Some(0), None, array(false), array(false));
    assert_eq!(verdict("x", ScalarType::Boolean, &only_false), NO);
    assert_eq!(verdict("not x", ScalarType::Boolean, &only_false), ALL);
    assert_eq!(verdict("x in (true, false)", ScalarType::Boolean, &only_false), ALL);
    let nulls = || -> ArrayRef { Arc::new(NullArray::new(1)) };
    assert_eq!(verdict("x = 1", ScalarType::Int32, &bounds(Some(0), None, nulls(), nulls())), MAY);
    assert_eq!(verdict("x is null", ScalarType::Null, &bounds(Some(10), None, nulls(), nulls())), ALL);
}

#[test]
fn statistics_that_are_not_as_promised_are_errors() {
    let predicate = bind(&Expression::filter("i = 1").unwrap(), &Names(TYPES.to_vec()), true).unwrap();
    let judge = |length, bounds| prune(&predicate, &Stats { length, columns: [(0, bounds)].into() });
    assert!(judge(1, ints(Some(0), Some(1), Some(1))).is_ok());
    assert!(judge(2, ints(Some(0), Some(1), Some(1))).is_err());
    assert!(judge(1, floats(Some(0), Some(0), Some(1.0), Some(1.0))).is_err());
}

/// A change to correct statistics: none, a widening that keeps them correct, or a loss.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    Keep,
    Drop,
    Widen,
    Spoil,
}

fn changes() -> impl Strategy<Value = [Change; 5]> {
    let change = prop::sample::select(vec![
        Change::Keep,
        Change::Keep,
        Change::Keep,
        Change::Drop,
        Change::Widen,
        Change::Spoil,
    ]);
    [change.clone(), change.clone(), change.clone(), change.clone(), change]
}

/// Returns a correct count of a column, changed.
fn count(true_count: usize, change: Change) -> Option<i64> {
    let count = i64::try_from(true_count).unwrap();
    match change {
        Change::Keep => Some(count),
        Change::Drop | Change::Widen => None,
        Change::Spoil => Some(-1 - count),
    }
}

fn described<V: Clone>(
    files: &[Vec<Row>],
    value: impl Fn(&Row) -> Option<V>,
    order: impl Fn(&V, &V) -> std::cmp::Ordering,
    is_nan: impl Fn(&V) -> bool,
    changes: [Change; 5],
    widen: &(impl Fn(&V) -> V, impl Fn(&V) -> V),
) -> (Bounds, Vec<Option<V>>, Vec<Option<V>>) {
    let mut sides = (Vec::new(), Vec::new());
    let mut counts = (Vec::new(), Vec::new(), Vec::new());
    let widened = Cell::new(false);
    let change = |found: Option<&V>, change: Change, other: Option<&V>, widen: &dyn Fn(&V) -> V| match change {
        Change::Keep => found.cloned(),
        Change::Drop => None,
        Change::Widen => {
            widened.set(true);
            found.map(widen)
        }
        // Bounds in the wrong order, if they differ.
        Change::Spoil => other.cloned(),
    };
    for file in files {
        let present: Vec<V> = file.iter().filter_map(&value).collect();
        let plain: Vec<&V> = present.iter().filter(|value| !is_nan(value)).collect();
        let least = plain.iter().copied().min_by(|a, b| order(a, b));
        let most = plain.iter().copied().max_by(|a, b| order(a, b));
        counts.0.push(count(file.len(), changes[0]));
        counts.1.push(count(file.len() - present.len(), changes[1]));
        counts.2.push(count(present.len() - plain.len(), changes[2]));
        // Only both bounds together can be recognised as being in the wrong order.
        let spoilt = changes[3] == Change::Spoil;
        let (low, high) = if spoilt { (Change::Spoil, Change::Spoil) } else { (changes[3], changes[4]) };
        let high = if high == Change::Spoil && !spoilt { Change::Keep } else { high };
        sides.0.push(change(least, low, most, &widen.0));
        sides.1.push(change(most, high, least, &widen.1));
    }
    let bounds = Bounds {
        row_count: Some(Int64Array::from(counts.0)),
        null_count: Some(Int64Array::from(counts.1)),
        nan_count: Some(Int64Array::from(counts.2)),
        lower: None,
        upper: None,
        exact: !widened.get(),
    };
    (bounds, sides.0, sides.1)
}

fn stats(files: &[Vec<Row>], changed: [[Change; 5]; 3]) -> Stats {
    let (first, lower, upper) =
        described(files, |row| row.0, i32::cmp, |_| false, changed[0], &(|v: &i32| v - 1, |v: &i32| v + 1));
    let array = |values: Vec<Option<i32>>| Some(Arc::new(Int32Array::from(values)) as ArrayRef);
    let i = Bounds { lower: array(lower), upper: array(upper), ..first };
    let total = |a: &f64, b: &f64| a.partial_cmp(b).unwrap();
    let (first, lower, upper) =
        described(files, |row| row.1, total, |v| v.is_nan(), changed[1], &(|v: &f64| v - 0.5, |v: &f64| v + 0.5));
    let array = |values: Vec<Option<f64>>| Some(Arc::new(Float64Array::from(values)) as ArrayRef);
    let f = Bounds { lower: array(lower), upper: array(upper), ..first };
    // A truncated lower bound, and an upper one whose last letter was incremented.
    let cut = |text: &String| text.chars().take(1).collect::<String>();
    let raised = |text: &String| text.chars().next().map_or(String::new(), |c| if c == 'a' { "b" } else { "c" }.into());
    let (first, lower, upper) =
        described(files, |row| row.2.clone(), String::cmp, |_| false, changed[2], &(cut, raised));
    let array = |values: Vec<Option<String>>| Some(Arc::new(StringArray::from(values)) as ArrayRef);
    let s = Bounds { lower: array(lower), upper: array(upper), ..first };
    Stats { length: files.len(), columns: [(0, i), (1, f), (2, s)].into() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_row_is_pruned_that_matches(
        predicate in predicates(),
        files in prop::collection::vec(rows().prop_map(|mut rows| { rows.truncate(5); rows }), 1..8),
        changed in [changes(), changes(), changes()],
    ) {
        let bound = bind(&predicate, &Names(TYPES.to_vec()), true).unwrap();
        let verdicts = prune(&bound, &stats(&files, changed)).unwrap();
        for (index, file) in files.iter().enumerate() {
            let rows = columns(file);
            prop_assert!(rows.column(0).is_some());
            let found = evaluate(&bound, &rows, file.len()).unwrap().count_set_bits();
            let (may, all) = (verdicts.may.value(index), verdicts.all.value(index));
            prop_assert!(may || found == 0, "{bound} is pruned and matches {found} of {file:?}");
            prop_assert!(!all || found == file.len(), "{bound} is said to match all of {file:?} and matches {found}");
            prop_assert!(may || !all);
        }
    }
}
