//! Aggregate functions of fields (documentation: "Aggregation"), over Arrow values.

use std::fmt::Debug;

use arrow_array::ArrayRef;
use frazil_core::error::Result;

/// Folds the values that the records of a key have for one field, key after key. The accumulator starts as NULL.
pub trait FieldAggregator: Debug + Send {
    /// Starts a key: the accumulator is NULL.
    fn begin(&mut self);

    /// Takes the value of a later record.
    fn add(&mut self, values: &ArrayRef, row: usize) -> Result<()>;

    /// Takes the value of a record that is earlier than what was taken (sequence groups).
    fn add_reversed(&mut self, values: &ArrayRef, row: usize) -> Result<()>;

    /// Takes a value back.
    ///
    /// # Errors
    /// `Unsupported` naming the function when it cannot.
    fn retract(&mut self, values: &ArrayRef, row: usize) -> Result<()>;

    /// Ends a key: the accumulator becomes the next value of the result.
    fn append(&mut self) -> Result<()>;

    /// Ends a key of one record: its value becomes the next value of the result as it stands.
    fn append_value(&mut self, values: &ArrayRef, row: usize) -> Result<()>;

    /// The values of all keys ended since the last call, of the type of the field.
    fn finish(&mut self) -> Result<ArrayRef>;
}
