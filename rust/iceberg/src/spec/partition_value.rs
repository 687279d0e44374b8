//! Partition values as manifests record them (spec: "Manifest Entry Fields", `partition`).
//!
//! An Avro schema is of the time of its manifest: logical types may be absent, columns that were promoted since are
//! narrower, and a `void` field of such a column has its old type.

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};
use frazil_core::error::{Error, Result};

/// Converts recorded values to the Arrow type of their partition field.
///
/// # Errors
/// `Corrupt` for values that the type does not have.
pub(crate) fn typed(array: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    if array.data_type() == target {
        return Ok(array.clone());
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let steps: &[DataType] = match (array.data_type(), target) {
        // A date or timestamp without its logical type is a plain number.
        (DataType::Int32, DataType::Timestamp(..))
        | (DataType::Timestamp(TimeUnit::Microsecond, Some(_)), DataType::Timestamp(_, None)) => &[DataType::Int64],
        (DataType::Date32, DataType::Int64) => &[DataType::Int32],
        (_, DataType::Null) => return Ok(new_null_array(target, array.len())),
        _ => &[],
    };
    let mut array = array.clone();
    for step in steps.iter().chain([target]) {
        array = cast_with_options(&array, step, &options).map_err(|e| {
            Error::corrupt(format!("a partition value of type {} cannot be read as {target}", array.data_type()))
                .caused_by(e)
        })?;
    }
    Ok(array)
}
