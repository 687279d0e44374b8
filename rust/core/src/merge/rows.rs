//! Builds table rows from new values and existing rows.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::sql::expression::bind::Bound;
use crate::sql::expression::rows::Rows;
use crate::sql::expression::widened;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};

/// Returns the values of a column, in its type.
///
/// # Errors
/// `InvalidArgument` for a NULL in a required column, and the errors of [`Bound::evaluate`].
pub(super) fn column(value: &Bound, rows: &Rows<'_>, field: &Field) -> Result<ArrayRef> {
    let values = value.evaluate(rows).and_then(|values| widened(&values, field.data_type()));
    let values = values.map_err(|error| error.with("column", field.name()))?;
    if !field.is_nullable() && values.logical_null_count() > 0 {
        let message = format!("a new value of the required column `{}` is NULL", field.name());
        return Err(Error::invalid(message).with("column", field.name()));
    }
    Ok(values)
}

/// Returns rows with the new values set; `kept` returns the unchanged column at a position.
pub(super) fn updated(
    set: &[Option<Bound>],
    rows: &Rows<'_>,
    target: &SchemaRef,
    kept: impl Fn(usize) -> Result<ArrayRef>,
) -> Result<RecordBatch> {
    let columns = set.iter().zip(target.fields()).enumerate().map(|(index, (value, field))| match value {
        Some(value) => column(value, rows, field),
        None => kept(index),
    });
    batch(target.clone(), columns.collect::<Result<_>>()?, rows.len())
}

/// Returns new rows with the columns that are set.
pub(super) fn inserted(set: &[Option<Bound>], rows: &Rows<'_>, target: &Schema) -> Result<RecordBatch> {
    let set = || set.iter().zip(target.fields()).filter_map(|(value, field)| Some((value.as_ref()?, field)));
    let columns = set().map(|(value, field)| column(value, rows, field)).collect::<Result<_>>()?;
    let fields: Vec<_> = set().map(|(_, field)| field.clone()).collect();
    batch(Arc::new(Schema::new(fields)), columns, rows.len())
}

fn batch(schema: SchemaRef, columns: Vec<ArrayRef>, len: usize) -> Result<RecordBatch> {
    Ok(RecordBatch::try_new_with_options(schema, columns, &RecordBatchOptions::new().with_row_count(Some(len)))?)
}
