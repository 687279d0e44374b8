//! Filters rows of batches that were not read by a scan, by a predicate on the columns of a schema.

use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use frazil_core::error::Result;
use frazil_core::sql::expression::Expression;
use frazil_core::sql::predicate::bind::bind;
use frazil_core::sql::predicate::eval::evaluate;

use super::rows::FieldColumns;
use crate::spec::schema::TableSchema;
use crate::spec::types::DataField;

/// Returns the rows for which `filter` is true. The columns of the batch match those of the schema by name and type.
/// Columns that the filter does not reference may be missing.
///
/// # Errors
/// `InvalidArgument` naming a column or literal that does not match; `Internal` if the batch lacks a column that the
/// filter references.
pub fn filter_batch(
    schema: &TableSchema,
    filter: &Expression,
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
