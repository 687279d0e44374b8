//! Aggregate functions of fields (documentation: "Aggregation") over Arrow values.
//!
//! | functions | state per key | types |
//! |---|---|---|
//! | first_value, first_non_null_value, primary-key | the position of the value | all |
//! | last_value, last_non_null_value | the position of the value | all |
//! | max, min | the position of the value | numbers, strings, bytes, dates, times, timestamps |
//! | sum, product, count | a number | numbers; count: INT and BIGINT |
//! | bool_and, bool_or; listagg | a Boolean; a string | BOOLEAN; STRING |
//! | collect, nested_update, nested_partial_update | the positions of the elements | ARRAY; ARRAY of ROW |
//! | merge_map, merge_map_with_keytime | the positions of the entries | MAP; MAP to ROW |
//! | rbm32, rbm64, hll_sketch, theta_sketch | bytes | VARBINARY |

mod bitmap;
mod bitmap64;
mod boolean;
mod collect;
#[cfg(test)]
mod list_tests;
mod listagg;
mod lists;
mod merge_map;
mod nested;
mod nested_partial;
mod number;
mod picks;
mod select;
mod sketch;
mod subject;
mod table;
#[cfg(test)]
mod tests;
mod union;
#[cfg(test)]
mod union_tests;

use std::fmt::Debug;

use arrow_array::ArrayRef;
use frazil_core::error::{Error, Result};

use self::subject::Subject;
use crate::spec::options::Options;
use crate::spec::types::DataField;

/// An aggregator that folds the values of one field in the records of each key. The accumulator starts as NULL.
pub trait FieldAggregator: Debug + Send {
    /// Starts a key with the accumulator NULL.
    fn begin(&mut self);

    /// Adds the value of a later record.
    fn add(&mut self, values: &ArrayRef, row: usize) -> Result<()>;

    /// Adds the value of a record that is earlier than those added before (sequence groups): Java's `aggReversed`.
    fn add_reversed(&mut self, values: &ArrayRef, row: usize) -> Result<()>;

    /// Retracts a value.
    ///
    /// # Errors
    /// `Unsupported` naming the function if it cannot retract.
    fn retract(&mut self, values: &ArrayRef, row: usize) -> Result<()>;

    /// Ends a key and appends the accumulator to the result.
    fn append(&mut self) -> Result<()>;

    /// Sets the accumulator to a value, regardless of earlier values. Used for records that replace the entire row.
    fn replace(&mut self, values: &ArrayRef, row: usize) -> Result<()>;

    /// Returns the values of all keys ended since the last call, in the type of the field.
    fn finish(&mut self) -> Result<ArrayRef>;
}

/// Creates the aggregator of a field from the name of its function (`fields.<field>.aggregate-function`) and the other
/// options of the field: `fields.<field>.ignore-retract`, `.distinct`, `.list-agg-delimiter` and so on.
///
/// # Errors
/// `Unsupported` for an unknown function; `InvalidArgument` for a function that does not support the type of the field
/// and for invalid options.
pub fn aggregator(function: &str, field: &DataField, options: &Options) -> Result<Box<dyn FieldAggregator>> {
    let subject = Subject::new(function, field, options)?;
    Ok(match function {
        "first_value" => Box::new(select::Select::new(subject, select::Rule::First)),
        "first_non_null_value" | "first_not_null_value" => {
            Box::new(select::Select::new(subject, select::Rule::FirstNonNull))
        }
        "last_value" => Box::new(select::Select::new(subject, select::Rule::Last)),
        "last_non_null_value" => Box::new(select::Select::new(subject, select::Rule::LastNonNull)),
        "primary-key" => Box::new(select::Select::new(subject, select::Rule::Key)),
        "max" => Box::new(select::Select::extreme(subject, &field.data_type, select::Rule::Max)?),
        "min" => Box::new(select::Select::extreme(subject, &field.data_type, select::Rule::Min)?),
        "sum" => number::arithmetic(subject, &field.data_type, number::Operation::Sum)?,
        "product" => number::arithmetic(subject, &field.data_type, number::Operation::Product)?,
        "count" => number::count(subject, &field.data_type)?,
        "bool_and" => Box::new(boolean::Truth::try_new(subject, &field.data_type, true)?),
        "bool_or" => Box::new(boolean::Truth::try_new(subject, &field.data_type, false)?),
        "listagg" => Box::new(listagg::ListAgg::try_new(subject, field, options)?),
        "collect" => Box::new(collect::Collect::try_new(subject, field, options)?),
        "merge_map" => Box::new(merge_map::MergeMap::try_new(subject, field)?),
        "merge_map_with_keytime" => Box::new(merge_map::MergeMap::with_time(subject, field)?),
        "nested_update" => Box::new(nested::NestedUpdate::try_new(subject, field, options)?),
        "nested_partial_update" => Box::new(nested_partial::NestedPartialUpdate::try_new(subject, field, options)?),
        "rbm32" => union::aggregator(subject, &field.data_type, bitmap::Bitmaps)?,
        "rbm64" => union::aggregator(subject, &field.data_type, bitmap64::LongBitmaps)?,
        "hll_sketch" => union::aggregator(subject, &field.data_type, sketch::HllSketches)?,
        "theta_sketch" => union::aggregator(subject, &field.data_type, sketch::ThetaSketches)?,
        _ => {
            let message = format!("the aggregate function `{function}` of field `{}` is not supported", field.name);
            return Err(Error::unsupported(message));
        }
    })
}
