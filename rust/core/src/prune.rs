//! Evaluates predicates on statistics, to find which items (files, row groups, manifests) may hold a matching row, and
//! which hold only matching rows.
//!
//! The rows of an item are in three classes, and each test handles each class separately:
//!
//! ```text
//! class     known from                     a test of it
//! values    lower and upper bound          may match some, matches all: by the range
//! NaNs      NaN count                      one answer for all of them
//! NULLs     NULL count                     one answer for all of them
//!
//! may match = some class may be there and may match
//! all match = every class matches wholly or is known not to be there
//! ```
//!
//! NaN is greater than every value, so an upper bound does not exclude `>` if NaN may occur. A bound that is unknown,
//! inconsistent or NaN excludes nothing. (Iceberg spec, "Scan Planning" and "Manifests": bounds apply to values that
//! are neither NULL nor NaN.)

mod bits;
mod range;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use crate::error::{Error, Result};
use crate::scalar::Scalar;
use crate::sql::predicate::{BoundColumn, BoundPredicate, CompareOp, Test};

use range::{ValueTest, judge};

/// The statistics of one column over several items. Every array has one value per item; a NULL value or a missing array
/// means that it is unknown.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// The number of rows, including NULLs and NaNs. Must be omitted for values inside lists, where the number of
    /// elements is unknown.
    pub row_count: Option<Int64Array>,
    /// The number of NULL rows.
    pub null_count: Option<Int64Array>,
    /// The number of NaN rows; not defined for types without NaN.
    pub nan_count: Option<Int64Array>,
    /// A lower bound of all values except NULL and NaN, with the type of [`ScalarType::arrow`].
    pub lower: Option<ArrayRef>,
    /// An upper bound of all values except NULL and NaN, with the type of [`ScalarType::arrow`].
    pub upper: Option<ArrayRef>,
    /// Whether the bounds are actual values, rather than possibly truncated strings or binary values.
    pub exact: bool,
}

/// The statistics of columns over the same items.
pub trait ColumnStats {
    /// Returns the number of items.
    fn len(&self) -> usize;

    /// Returns whether there are no items.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the statistics of a column; None if they are unknown. Called once per test, so decoded arrays should be
    /// cached. A column that is missing from all items must be described by the values that reads return for it (NULLs
    /// or a default).
    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>>;
}

/// The result for each item. Every item in `all` is also in `may`.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdicts {
    /// The items in which some row may match.
    pub may: BooleanBuffer,
    /// The items in which every row matches. Items that are known to be empty may be missing.
    pub all: BooleanBuffer,
}

impl Bounds {
    /// Returns statistics of items in which a column has a single value, as in partition tuples. NULL means that every
    /// row is NULL.
    pub fn constant(values: &ArrayRef) -> Self {
        let length = values.len();
        let count = |bits: BooleanBuffer| Int64Array::from_iter_values(bits.iter().map(i64::from));
        let nulls = values.logical_nulls().map_or_else(|| BooleanBuffer::new_unset(length), |nulls| !nulls.inner());
        let nans: BooleanBuffer = if let Some(floats) = values.as_primitive_opt::<Float32Type>() {
            floats.values().iter().map(|value| value.is_nan()).collect()
        } else if let Some(floats) = values.as_primitive_opt::<Float64Type>() {
            floats.values().iter().map(|value| value.is_nan()).collect()
        } else {
            BooleanBuffer::new_unset(length)
        };
        Self {
            row_count: Some(Int64Array::from_value(1, length)),
            nan_count: Some(count(&nans & &!&nulls)),
            null_count: Some(count(nulls)),
            lower: Some(Arc::clone(values)),
            upper: Some(Arc::clone(values)),
            exact: true,
        }
    }

    fn check(&self, length: usize, column: &BoundColumn) -> Result<()> {
        let counts = [&self.row_count, &self.null_count, &self.nan_count];
        let counts = counts.into_iter().flatten().map(Array::len);
        let bounds = [&self.lower, &self.upper].into_iter().flatten().map(Array::len);
        match counts.chain(bounds).find(|found| *found != length) {
            Some(found) => Err(Error::internal(format!("got statistics of {found} items, expected {length}"))
                .with("column", &column.name)),
            None => Ok(()),
        }
    }
}

/// Evaluates a predicate on the statistics of every item.
///
/// Returns `Internal` if statistics do not have the declared length or type.
pub fn prune(predicate: &BoundPredicate, stats: &dyn ColumnStats) -> Result<Verdicts> {
    let length = stats.len();
    match predicate {
        BoundPredicate::True => Ok(Verdicts::same(BooleanBuffer::new_set(length))),
        BoundPredicate::False => Ok(Verdicts::same(BooleanBuffer::new_unset(length))),
        BoundPredicate::And(parts) => {
            let mut sum = Verdicts::same(BooleanBuffer::new_set(length));
            for part in parts {
                let next = prune(part, stats)?;
                sum = Verdicts { may: &sum.may & &next.may, all: &sum.all & &next.all };
                if sum.may.count_set_bits() == 0 {
                    break;
                }
            }
            Ok(sum)
        }
        BoundPredicate::Or(parts) => {
            let mut sum = Verdicts::same(BooleanBuffer::new_unset(length));
            for part in parts {
                let next = prune(part, stats)?;
                sum = Verdicts { may: &sum.may | &next.may, all: &sum.all | &next.all };
                if sum.all.count_set_bits() == length {
                    break;
                }
            }
            Ok(sum)
        }
        BoundPredicate::Leaf(column, test) => match stats.bounds(column)? {
            Some(bounds) => {
                bounds.check(length, column)?;
                leaf(column, test, &bounds, length)
            }
            None => Ok(Verdicts::unknown(length)),
        },
        BoundPredicate::Condition(_) => Ok(Verdicts::unknown(length)),
    }
}

impl Verdicts {
    /// Returns the verdicts of statistics that decide nothing.
    fn unknown(length: usize) -> Self {
        Self { may: BooleanBuffer::new_set(length), all: BooleanBuffer::new_unset(length) }
    }

    fn same(bits: BooleanBuffer) -> Self {
        Self { may: bits.clone(), all: bits }
    }

    /// Returns the verdicts for the negated test, for items in which every row has a value.
    fn negated(self) -> Self {
        Self { may: !&self.all, all: !&self.may }
    }
}

/// The classes of rows that may exist.
struct Classes {
    values: BooleanBuffer,
    nans: BooleanBuffer,
    nulls: BooleanBuffer,
}

fn leaf(column: &BoundColumn, test: &Test, bounds: &Bounds, length: usize) -> Result<Verdicts> {
    let everything = || Verdicts::same(BooleanBuffer::new_set(length));
    let nothing = || Verdicts::same(BooleanBuffer::new_unset(length));
    let values = match (ValueTest::new(test), test) {
        (Some((positive, negated)), _) => {
            let verdicts = judge(column, &positive, bounds, length)?;
            if negated { verdicts.negated() } else { verdicts }
        }
        (None, Test::NotNull | Test::NotNan) => everything(),
        (None, _) => nothing(),
    };
    let nans_match = column.data_type.is_float() && matches_nan(test);
    let nulls_match = matches!(test, Test::IsNull | Test::NotNan);

    let classes = classes(bounds, column.data_type.is_float(), length);
    let mut may = &values.may & &classes.values;
    let mut all = &values.all | &!&classes.values;
    for (present, matching) in [(&classes.nans, nans_match), (&classes.nulls, nulls_match)] {
        if matching {
            may = &may | present;
        } else {
            all = &all & &!present;
        }
    }
    all = &all & &may;
    Ok(Verdicts { may, all })
}

/// Converts counts to classes. An invalid count (negative, or more than the rows) is treated as unknown.
fn classes(bounds: &Bounds, float: bool, length: usize) -> Classes {
    let counts = (complete(bounds.row_count.as_ref()), complete(bounds.null_count.as_ref()));
    if let (false, (Some(rows), Some(nulls))) = (float, counts) {
        return complete_classes(rows, nulls);
    }
    let mut values = BooleanBufferBuilder::new(length);
    let mut nans = BooleanBufferBuilder::new(length);
    let mut nulls = BooleanBufferBuilder::new(length);
    let counts = each(bounds.row_count.as_ref()).zip(each(bounds.null_count.as_ref()));
    for ((rows, null_count), nan_count) in counts.zip(each(bounds.nan_count.as_ref())).take(length) {
        let rows = rows.filter(|rows| *rows >= 0);
        let possible = |count: &i64| *count >= 0 && rows.is_none_or(|rows| *count <= rows);
        let mut null_count = null_count.filter(possible);
        let mut nan_count = if float { nan_count.filter(possible) } else { Some(0) };
        let sum = null_count.zip(nan_count).map(|(nulls, nans)| nulls.saturating_add(nans));
        if sum.zip(rows).is_some_and(|(sum, rows)| sum > rows) {
            (null_count, nan_count) = (None, if float { None } else { Some(0) });
        }
        // If one class, or two classes together, account for all rows of an item, the item has no rows of the remaining
        // classes.
        let is_all = |count: Option<i64>| count.is_some() && count == rows;
        let some_rows = rows != Some(0);
        values.append(some_rows && !is_all(null_count) && !is_all(nan_count) && !is_all(sum));
        nans.append(some_rows && nan_count != Some(0) && !is_all(null_count));
        nulls.append(some_rows && null_count != Some(0) && !is_all(nan_count));
    }
    Classes { values: values.finish(), nans: nans.finish(), nulls: nulls.finish() }
}

/// Returns the counts if none is missing.
fn complete(counts: Option<&Int64Array>) -> Option<&[i64]> {
    counts.filter(|counts| counts.null_count() == 0).map(|counts| &**counts.values())
}

/// Returns the same as [`classes`] for columns that have no NaN and no missing counts.
fn complete_classes(rows: &[i64], nulls: &[i64]) -> Classes {
    // A negative count of rows or NULLs is treated as unknown, and so are more NULLs than rows.
    let (values, nulls) =
        bits::of_pairs(rows, nulls, |rows, nulls| (rows != 0 && (rows < 0 || nulls != rows), rows != 0 && nulls != 0));
    Classes { values, nans: BooleanBuffer::new_unset(rows.len()), nulls }
}

/// Returns the counts of an array followed by None, or only None without an array.
fn each(counts: Option<&Int64Array>) -> impl Iterator<Item = Option<i64>> {
    counts.into_iter().flat_map(Int64Array::iter).chain(std::iter::repeat(None))
}

/// Returns whether NaN passes a test of floats.
fn matches_nan(test: &Test) -> bool {
    let has_nan = |scalars: &[Scalar]| scalars.iter().any(Scalar::is_nan);
    match test {
        Test::Compare(CompareOp::Eq | CompareOp::LtEq, scalar) => scalar.is_nan(),
        Test::Compare(CompareOp::NotEq | CompareOp::Gt, scalar) => !scalar.is_nan(),
        Test::NotNull | Test::IsNan | Test::Compare(CompareOp::GtEq, _) => true,
        Test::In(scalars) => has_nan(scalars),
        Test::NotIn(scalars) => !has_nan(scalars),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
