//! Comparisons by the calculus of [`scalar`](crate::scalar): NaN equals NaN and is greatest, -0.0 equals 0.0.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Datum, make_array};
use arrow_ord::cmp;
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};
use std::sync::Arc;

use crate::error::Result;
use crate::predicate::CompareOp;

/// The values with one NaN and one zero, those of floats in nested types too: what equals then is the same bits, and Arrow's
/// total order is that of the calculus.
///
/// # Errors
/// `CorruptData` for nested values whose parts do not fit together.
pub fn canonical(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Float32 => Arc::new(
            array
                .as_primitive::<Float32Type>()
                .unary::<_, Float32Type>(|v| if v.is_nan() { f32::NAN } else { v + 0.0 }),
        ),
        DataType::Float64 => Arc::new(
            array
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(|v| if v.is_nan() { f64::NAN } else { v + 0.0 }),
        ),
        other if has_floats(other) => {
            let data = array.to_data();
            let children = data.child_data().iter().map(|child| Ok(canonical(&make_array(child.clone()))?.to_data()));
            let children = children.collect::<Result<Vec<_>>>()?;
            make_array(data.into_builder().child_data(children).build()?)
        }
        _ => array.clone(),
    })
}

fn has_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Float32 | DataType::Float64 => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_floats(field.data_type()),
        _ => false,
    }
}

/// `left op right` for canonical values of one type; NULL where one is NULL. Nested values are only equal or not.
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

/// `left IS DISTINCT FROM right` for canonical values of one type; never NULL.
pub(super) fn distinct(left: &dyn Datum, right: &dyn Datum) -> Result<BooleanArray> {
    let (array, _) = left.get();
    match array.data_type() {
        DataType::Null => Ok(BooleanArray::from(vec![false; array.len()])),
        nested if nested.is_nested() => {
            Ok(BooleanArray::from(equal(array, right.get().0)?.into_iter().map(|same| !same).collect::<Vec<_>>()))
        }
        _ => Ok(cmp::distinct(left, right)?),
    }
}

/// Whether the values of each row are the same, NULL being one.
fn equal(left: &dyn Array, right: &dyn Array) -> Result<Vec<bool>> {
    let comparator = make_comparator(left, right, SortOptions::default())?;
    Ok((0..left.len()).map(|row| comparator(row, row).is_eq()).collect())
}
