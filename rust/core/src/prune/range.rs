//! Evaluates tests on the bounds of one item, ignoring NULLs and NaNs.

use std::cmp::Ordering;
use std::iter::repeat;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray};
use arrow_schema::DataType;

use super::{Bounds, Verdicts, bits};
use crate::error::{Error, Result};
use crate::scalar::{Scalar, ScalarType};
use crate::sql::predicate::keys::{self, Keyed, with_primitive};
use crate::sql::predicate::{BoundColumn, CompareOp, LikePattern, Test};

/// A test of values. Two opposite tests share one variant.
pub(super) enum ValueTest<'a> {
    Compare(CompareOp, &'a Scalar),
    In(&'a [Scalar]),
    StartsWith(&'a Scalar),
    Like(&'a LikePattern),
}

impl<'a> ValueTest<'a> {
    /// Returns the test of values, and whether `test` is its negation. None for tests that do not depend on values.
    pub(super) fn new(test: &'a Test) -> Option<(Self, bool)> {
        Some(match test {
            Test::IsNull | Test::NotNull | Test::IsNan | Test::NotNan => return None,
            Test::Compare(op, scalar) => (Self::Compare(*op, scalar), false),
            Test::In(scalars) => (Self::In(scalars), false),
            Test::NotIn(scalars) => (Self::In(scalars), true),
            Test::StartsWith(prefix) => (Self::StartsWith(prefix), false),
            Test::NotStartsWith(prefix) => (Self::StartsWith(prefix), true),
            Test::Like(pattern) => (Self::Like(pattern), false),
            Test::NotLike(pattern) => (Self::Like(pattern), true),
        })
    }
}

/// Whether some value may pass, and whether all of them must.
type Verdict = (bool, bool);

/// The result if nothing is known.
const UNKNOWN: Verdict = (true, false);

/// Evaluates the test on the values of each item.
pub(super) fn judge(column: &BoundColumn, test: &ValueTest<'_>, bounds: &Bounds, length: usize) -> Result<Verdicts> {
    let known = |array: &Option<ArrayRef>| array.clone().filter(|array| *array.data_type() != DataType::Null);
    let (lower, upper) = (known(&bounds.lower), known(&bounds.upper));
    let (lower, upper) = (lower.as_deref(), upper.as_deref());
    let exact = bounds.exact;
    with_primitive!(column.data_type,
        T => judge_numbers::<T>(lower, upper, exact, test, column, length),
        other => match other {
            ScalarType::Null => Ok(collect(repeat((None::<bool>, None)), length, |_, _| UNKNOWN)),
            ScalarType::Boolean => {
                let test = KeyTest::new(test, column, |scalar| match scalar {
                    Scalar::Boolean(value) => Some(*value),
                    _ => None,
                })?;
                let pairs = booleans(lower, column)?.zip(booleans(upper, column)?);
                Ok(collect(pairs, length, |lower, upper| test.judge(lower, upper, exact)))
            }
            ScalarType::Uuid => {
                let number = |bytes: &[u8]| bytes.try_into().ok().map(u128::from_be_bytes);
                let test = KeyTest::new(test, column, |scalar| keys::scalar_bytes(scalar).and_then(number))?;
                let pairs = bytes(lower, column)?.zip(bytes(upper, column)?);
                let pairs = pairs.map(|(lower, upper)| (lower.and_then(number), upper.and_then(number)));
                Ok(collect(pairs, length, |lower, upper| {
                    let (lower, upper) = in_either_order(lower, upper).unzip();
                    test.judge(lower, upper, exact)
                }))
            }
            _ => {
                let pairs = bytes(lower, column)?.zip(bytes(upper, column)?);
                judge_bytes(pairs, length, exact, test, column)
            }
        }
    )
}

fn judge_numbers<T: Keyed>(
    lower: Option<&dyn Array>,
    upper: Option<&dyn Array>,
    exact: bool,
    test: &ValueTest<'_>,
    column: &BoundColumn,
    length: usize,
) -> Result<Verdicts> {
    let test = KeyTest::new(test, column, T::literal)?;
    let judge = |lower: Option<T::Key>, upper: Option<T::Key>| {
        // Even without bounds, a float other than NaN is between the infinities.
        let (least, greatest) = T::extent().unzip();
        test.judge(lower.or(least), upper.or(greatest), exact)
    };
    if let (Some(lower), Some(upper)) = (complete::<T>(lower, column)?, complete::<T>(upper, column)?) {
        let key = |value| Some(value).filter(|value| !T::is_nan(*value)).map(T::key);
        let (may, all) = bits::of_pairs(lower, upper, |lower, upper| between(key(lower), key(upper), judge));
        return Ok(Verdicts { may, all });
    }
    let pairs = primitives::<T>(lower, column)?.zip(primitives::<T>(upper, column)?);
    Ok(collect(pairs, length, judge))
}

fn judge_bytes<'a>(
    pairs: impl Iterator<Item = (Option<&'a [u8]>, Option<&'a [u8]>)>,
    length: usize,
    exact: bool,
    test: &ValueTest<'_>,
    column: &BoundColumn,
) -> Result<Verdicts> {
    match test {
        ValueTest::StartsWith(prefix) => {
            let prefix = keys::scalar_bytes(prefix).ok_or_else(|| keys::foreign(prefix, column))?;
            Ok(collect(pairs, length, |lower, upper| starts_with(prefix, lower, upper)))
        }
        ValueTest::Like(pattern) => Ok(collect(pairs, length, |lower, upper| {
            if let Some(only) = lower.filter(|_| exact && lower == upper).and_then(|only| str::from_utf8(only).ok()) {
                let matches = pattern.matches(only);
                return (matches, matches);
            }
            (starts_with(pattern.prefix().as_bytes(), lower, upper).0, false)
        })),
        test => {
            // The keys borrow from the test, whose lifetime is shorter than that of the bounds.
            let test = KeyTest::new(test, column, keys::scalar_bytes)?;
            Ok(collect(pairs, length, |lower, upper| test.judge(lower, upper, exact)))
        }
    }
}

/// A test of keys.
enum KeyTest<K> {
    Compare(CompareOp, K),
    /// Membership in a sorted list.
    In(Vec<K>),
}

impl<K: Ord + Copy> KeyTest<K> {
    fn new<'a>(test: &ValueTest<'a>, column: &BoundColumn, key: impl Fn(&'a Scalar) -> Option<K>) -> Result<Self> {
        let key = |scalar: &'a Scalar| key(scalar).ok_or_else(|| keys::foreign(scalar, column));
        match test {
            ValueTest::Compare(op, scalar) => Ok(Self::Compare(*op, key(scalar)?)),
            ValueTest::In(scalars) => Ok(Self::In(scalars.iter().map(key).collect::<Result<_>>()?)),
            ValueTest::StartsWith(_) | ValueTest::Like(_) => {
                Err(Error::internal(format!("a string test cannot be applied to the type {}", column.data_type))
                    .with("column", &column.name))
            }
        }
    }

    /// Evaluates the test on values between `lower` and `upper`; if both are known, `lower <= upper`. Equal bounds mean
    /// that all values are equal, but only if the bounds are exact.
    #[inline]
    fn judge(&self, lower: Option<K>, upper: Option<K>, exact: bool) -> Verdict {
        match self {
            Self::Compare(op, k) => {
                let (lower, upper) = (lower.map(|bound| bound.cmp(k)), upper.map(|bound| bound.cmp(k)));
                let within = |test: fn(Ordering) -> bool, bound: Option<_>| bound.is_some_and(test);
                let equal = (
                    !within(Ordering::is_gt, lower) && !within(Ordering::is_lt, upper),
                    exact && within(Ordering::is_eq, lower) && within(Ordering::is_eq, upper),
                );
                match op {
                    CompareOp::Lt => (!within(Ordering::is_ge, lower), within(Ordering::is_lt, upper)),
                    CompareOp::LtEq => (!within(Ordering::is_gt, lower), within(Ordering::is_le, upper)),
                    CompareOp::Gt => (!within(Ordering::is_le, upper), within(Ordering::is_gt, lower)),
                    CompareOp::GtEq => (!within(Ordering::is_lt, upper), within(Ordering::is_ge, lower)),
                    CompareOp::Eq => equal,
                    CompareOp::NotEq => (!equal.1, !equal.0),
                }
            }
            Self::In(members) => {
                let first = lower.map_or(0, |lower| members.partition_point(|member| *member < lower));
                let nearest = members.get(first).copied();
                let may = nearest.is_some_and(|member| upper.is_none_or(|upper| member <= upper));
                (may, exact && nearest.is_some() && lower == upper && nearest == lower)
            }
        }
    }
}

/// Evaluates a prefix test. Strings with the prefix form a range, which begins at the prefix and ends before the first
/// greater string without the prefix.
fn starts_with(prefix: &[u8], lower: Option<&[u8]>, upper: Option<&[u8]>) -> Verdict {
    let above = |bound: &[u8]| bound.get(..prefix.len()).unwrap_or(bound) > prefix;
    let excluded = lower.is_some_and(above) || upper.is_some_and(|bound| bound < prefix);
    let has = |bound: Option<&[u8]>| bound.is_some_and(|bound| bound.starts_with(prefix));
    (!excluded, has(lower) && has(upper))
}

/// Returns UUID bounds that are valid in both orders of writers: unsigned bytes, as the specification requires, or two
/// signed halves, as in older writers. A lower bound without the first bit and an upper bound with it are possible only
/// in the specified order. If the first bits agree, both orders agree on the first half, and the second half is
/// ignored. Equal bounds are valid in either order.
fn in_either_order(lower: Option<u128>, upper: Option<u128>) -> Option<(u128, u128)> {
    let (lower, upper) = lower.zip(upper)?;
    let second_half = u128::from(u64::MAX);
    match (lower.leading_ones().min(1), upper.leading_ones().min(1)) {
        _ if lower == upper => Some((lower, upper)),
        (0, 1) => Some((lower, upper)),
        (0, 0) | (1, 1) => Some((lower & !second_half, upper | second_half)),
        _ => None,
    }
}

/// Evaluates the test on each pair.
fn collect<K: Ord + Copy>(
    pairs: impl Iterator<Item = (Option<K>, Option<K>)>,
    length: usize,
    judge: impl Fn(Option<K>, Option<K>) -> Verdict,
) -> Verdicts {
    let (may, all) = bits::collect_pairs(pairs.map(|(lower, upper)| between(lower, upper, &judge)), length);
    Verdicts { may, all }
}

/// Evaluates the test on one pair of bounds. Bounds in the wrong order are treated as unknown.
#[inline]
fn between<K: Ord + Copy>(
    lower: Option<K>,
    upper: Option<K>,
    judge: impl Fn(Option<K>, Option<K>) -> Verdict,
) -> Verdict {
    let inverted = lower.zip(upper).is_some_and(|(lower, upper)| lower > upper);
    if inverted { judge(None, None) } else { judge(lower, upper) }
}

/// Returns the values of an array of bounds; None if the array or any bound is missing.
fn complete<'a, T: Keyed>(array: Option<&'a dyn Array>, column: &BoundColumn) -> Result<Option<&'a [T::Native]>> {
    let array = array.map(|array| keys::primitive::<T>(array, column)).transpose()?;
    Ok(array.filter(|array| array.null_count() == 0).map(|array| &**array.values()))
}

/// Returns the keys of bounds, with None for NaN; without an array, no bounds.
fn primitives<'a, T: Keyed>(
    array: Option<&'a dyn Array>,
    column: &BoundColumn,
) -> Result<impl Iterator<Item = Option<T::Key>> + use<'a, T>> {
    let array = array.map(|array| keys::primitive::<T>(array, column)).transpose()?;
    let values = array.into_iter().flat_map(PrimitiveArray::iter);
    let keys = values.map(|value| value.filter(|value| !T::is_nan(*value)).map(T::key));
    Ok(keys.chain(repeat(None)))
}

fn booleans<'a>(
    array: Option<&'a dyn Array>,
    column: &BoundColumn,
) -> Result<impl Iterator<Item = Option<bool>> + use<'a>> {
    let typed = |array: &'a dyn Array| array.as_boolean_opt().ok_or_else(|| keys::unfit(array, column));
    let array: Option<&'a BooleanArray> = array.map(typed).transpose()?;
    Ok(array.into_iter().flat_map(BooleanArray::iter).chain(repeat(None)))
}

fn bytes<'a>(array: Option<&'a dyn Array>, column: &BoundColumn) -> Result<keys::BytesIterator<'a>> {
    array.map_or_else(|| Ok(Box::new(repeat(None)) as keys::BytesIterator<'a>), |array| keys::bytes(array, column))
}
