//! Canonical forms of floating-point numbers, in which equal numbers have the same bits.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{ArrayRef, make_array};
use arrow_schema::DataType;

use crate::array_data::with_parts;
use crate::error::Result;

/// Returns floats with all NaN values replaced by a single one, following the identity rules of the formats: -0.0 is
/// not 0.0. Other arrays are returned unchanged.
pub fn one_nan(array: &ArrayRef) -> ArrayRef {
    mapped(array, |v| if v.is_nan() { f32::NAN } else { v }, |v| if v.is_nan() { f64::NAN } else { v })
}

/// Returns the values with a single NaN and a single zero, including floats in nested types. Equal values then have the
/// same bits, and Arrow's total order matches that of comparisons.
///
/// # Errors
/// `CorruptData` for nested values with inconsistent parts.
pub fn canonical(array: &ArrayRef) -> Result<ArrayRef> {
    if !array.data_type().is_nested() {
        return Ok(mapped(
            array,
            |v| if v.is_nan() { f32::NAN } else { v + 0.0 },
            |v| if v.is_nan() { f64::NAN } else { v + 0.0 },
        ));
    }
    if !has_floats(array.data_type()) {
        return Ok(array.clone());
    }
    let data = array.to_data();
    let children = data.child_data().iter().map(|child| Ok(canonical(&make_array(child.clone()))?.to_data()));
    let children = children.collect::<Result<Vec<_>>>()?;
    let nulls = data.nulls().cloned();
    with_parts(data, nulls, children)
}

fn mapped(array: &ArrayRef, single: impl Fn(f32) -> f32, double: impl Fn(f64) -> f64) -> ArrayRef {
    if let Some(floats) = array.as_primitive_opt::<Float32Type>() {
        Arc::new(floats.unary::<_, Float32Type>(single))
    } else if let Some(doubles) = array.as_primitive_opt::<Float64Type>() {
        Arc::new(doubles.unary::<_, Float64Type>(double))
    } else {
        array.clone()
    }
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
