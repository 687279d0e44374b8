//! UPDATE: rows with some columns replaced.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use frazil_core::error::{Error, Result};
use frazil_core::expression::Expression;
use frazil_core::expression::bind::{Bound, Scope};
use frazil_core::expression::rows::{Relation, Rows};

use super::rows::updated;

/// Replaces columns of rows.
#[derive(Debug)]
pub struct Updater {
    target: SchemaRef,
    set: Vec<Option<Bound>>,
}

impl Updater {
    /// Values by column, for rows of this schema, which expressions may call `alias`. `now_micros` is the current
    /// time of the statement, in microseconds since the epoch.
    ///
    /// # Errors
    /// `InvalidArgument` for a column that is not there, is set twice, or does not take the values of its expression.
    pub fn new(set: &[(String, Expression)], target: SchemaRef, alias: &str, now_micros: i64) -> Result<Self> {
        let scope = Scope::new(vec![(alias, Some(&target))], now_micros);
        Ok(Self { set: scope.assign(set, &target, alias)?, target })
    }

    /// The rows with their new values.
    ///
    /// # Errors
    /// `InvalidArgument` where a row has no new value: an overflow, a division by zero, NULL in a required column.
    pub fn update(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = Rows::new(batch.num_rows(), vec![Some(Relation::whole(batch))]);
        updated(&self.set, &rows, &self.target, |index| {
            batch.columns().get(index).cloned().ok_or_else(|| Error::internal("a batch of too few columns"))
        })
    }
}
