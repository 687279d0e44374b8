//! Rows of batches that came from elsewhere, by a filter on the columns of a schema.

use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use frazil_core::error::Result;
use frazil_core::predicate::Predicate;
use frazil_core::predicate::bind::bind;
use frazil_core::predicate::eval::evaluate;

use super::rows::FieldColumns;
use crate::spec::schema::TableSchema;
use crate::spec::types::DataField;

/// The rows for which `filter` is true. Columns of the batch are those of the schema by their names, of its types; those
/// that the filter does not name may be missing.
///
/// # Errors
/// `InvalidArgument` naming the column or literal that does not fit; `Internal` when the batch lacks a column.
pub fn filter_batch(
    schema: &TableSchema,
    filter: &Predicate,
    batch: &RecordBatch,
    case_sensitive: bool,
) -> Result<RecordBatch> {
    let filter = bind(filter, schema, case_sensitive)?;
    let known = batch.schema_ref().fields().iter().zip(batch.columns());
    let known = known.filter_map(|(field, column)| Some((schema.field(field.name())?.clone(), column.clone())));
    let (fields, columns): (Vec<DataField>, Vec<_>) = known.unzip();
    let rows = evaluate(&filter, &FieldColumns::new(&fields, &columns), batch.num_rows())?;
    Ok(filter_record_batch(batch, &BooleanArray::new(rows, None))?)
}
