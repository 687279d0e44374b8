//! Compares values with the semantics of [`scalar`](crate::scalar): NaN equals NaN and is the greatest value, -0.0
//! equals 0.0.

use arrow_array::{Array, BooleanArray, Datum};
use arrow_ord::cmp;
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};

use crate::error::Result;
use crate::sql::predicate::CompareOp;

/// Returns `left op right` for [canonical](crate::floats::canonical) values of one type; NULL if either is NULL. Nested
/// values support only equality.
pub(super) fn compare(op: CompareOp, left: &dyn Datum, right: &dyn Datum) -> Result<BooleanArray> {
    let (array, _) = left.get();
    if array.data_type().is_nested() {
        let (other, _) = right.get();
        let rows = equal(array, other)?;
        let nulls = arrow_buffer::NullBuffer::union(array.logical_nulls().as_ref(), other.logical_nulls().as_ref());
        let values = rows.into_iter().map(|same| same == (op == CompareOp::Eq)).collect();
        return Ok(BooleanArray::new(values, nulls));
    }
    Ok(match op {
        CompareOp::Lt => cmp::lt(left, right)?,
        CompareOp::LtEq => cmp::lt_eq(left, right)?,
        CompareOp::Gt => cmp::gt(left, right)?,
        CompareOp::GtEq => cmp::gt_eq(left, right)?,
        CompareOp::Eq => cmp::eq(left, right)?,
        CompareOp::NotEq => cmp::neq(left, right)?,
    })
}

/// Returns `left IS DISTINCT FROM right` for canonical values of one type; never NULL.
pub(super) fn distinct(left: &dyn Datum, right: &dyn Datum) -> Result<BooleanArray> {
    let ((array, is_one), (other, _)) = (left.get(), right.get());
    match array.data_type() {
        DataType::Null => Ok(BooleanArray::from(vec![false; if is_one { other.len() } else { array.len() }])),
        nested if nested.is_nested() => {
            Ok(BooleanArray::from(equal(array, other)?.into_iter().map(|same| !same).collect::<Vec<_>>()))
        }
        _ => Ok(cmp::distinct(left, right)?),
    }
}

/// Returns whether the values of each row are the same; NULL is the same as NULL.
fn equal(left: &dyn Array, right: &dyn Array) -> Result<Vec<bool>> {
    let comparator = make_comparator(left, right, SortOptions::default())?;
    Ok((0..left.len()).map(|row| comparator(row, row).is_eq()).collect())
}
