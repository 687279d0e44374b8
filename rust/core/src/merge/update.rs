//! UPDATE: replaces some columns of rows.

use crate::error::{Error, Result};
use crate::sql::expression::Expression;
use crate::sql::expression::bind::{Bound, Scope};
use crate::sql::expression::rows::{Relation, Rows};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::rows::updated;

/// An updater, which replaces columns of rows.
#[derive(Debug)]
pub struct Updater {
    target: SchemaRef,
    set: Vec<Option<Bound>>,
}

impl Updater {
    /// Creates an updater that sets columns of `target` rows to the values of expressions. The expressions may qualify
    /// columns with `alias`.
    ///
    /// # Errors
    /// `InvalidArgument` for a column that does not exist, is set twice, or does not accept the values of its
    /// expression.
    pub fn new(set: &[(String, Expression)], target: SchemaRef, alias: &str, now_micros: i64) -> Result<Self> {
        let scope = Scope::new(vec![(alias, Some(&target))], now_micros);
        Ok(Self { set: scope.assign(set, &target, alias)?, target })
    }

    /// Returns the rows with their new values.
    ///
    /// # Errors
    /// `InvalidArgument` if a row has no new value because of an overflow, a division by zero, or NULL in a required
    /// column.
    pub fn update(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = Rows::new(batch.num_rows(), vec![Some(Relation::whole(batch))]);
        updated(&self.set, &rows, &self.target, |index| {
            batch.columns().get(index).cloned().ok_or_else(|| Error::internal("a batch has too few columns"))
        })
    }
}
