//! Computes changed rows: compares the rows of a file that remain with the deletes before and after a snapshot, and
//! prepares rows for pairing.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use frazil_core::changes::{self, ChangePairs, changed_rows};
use frazil_core::error::{Error, Result};
use frazil_core::row_pairs::{ChangeType, PairSpec, RowPairs};
use frazil_core::sql::predicate::BoundPredicate;
use frazil_core::sql::predicate::eval::evaluate;

use super::changes::{ChangeStage, ChangeTask, Pairing, is_own};
use super::context::ReadContext;
use super::leaves::LeafColumns;
use super::output::MetadataColumn;
use crate::spec::arrow::{arrow_fields, arrow_schema};
use crate::spec::types::{NestedField, StructType, Type};

/// Returns the schema of changes that are read with `read`.
pub fn change_schema(read: &ReadContext) -> SchemaRef {
    changes::change_schema(&arrow_fields(&with_row_id(read)))
}

/// Returns the columns of a read without `_deleted`.
fn with_row_id(read: &ReadContext) -> StructType {
    let fields = read.output.fields.fields.iter();
    StructType { fields: fields.filter(|field| field.id != MetadataColumn::Deleted.field_id()).cloned().collect() }
}

/// Returns the columns of the table that a read returns.
fn own_columns(read: &ReadContext) -> StructType {
    StructType { fields: read.output.fields.fields.iter().filter(|field| !is_own(field.id)).cloned().collect() }
}

impl ChangeTask {
    /// Returns the changes in a batch of file rows that was read twice, with the deletes before and after the snapshot.
    /// None if nothing changed. Both batches have the same rows; the last column marks the deleted rows.
    ///
    /// # Errors
    /// `Internal` for batches that do not match the task.
    pub fn rows(&self, before: Option<&RecordBatch>, after: Option<&RecordBatch>) -> Result<Option<RecordBatch>> {
        let (rows, keep, deleted) = match (before, after) {
            (None, None) => return Ok(None),
            (Some(rows), None) => {
                let keep = !&deleted(rows)?;
                let all = BooleanBuffer::new_set(rows.num_rows());
                (rows, keep, all)
            }
            (None, Some(rows)) => (rows, !&deleted(rows)?, BooleanBuffer::new_unset(rows.num_rows())),
            (Some(rows), Some(others)) if rows.num_rows() == others.num_rows() => {
                let after = deleted(others)?;
                (rows, &deleted(rows)? ^ &after, after)
            }
            _ => return Err(Error::internal("a file returned different rows with different deletes")),
        };
        let kept = keep.count_set_bits();
        if kept == 0 {
            return Ok(None);
        }
        let deleted = BooleanArray::new(deleted, None);
        let keep = BooleanArray::new(keep, None);
        let deleted = arrow_select::filter::filter(&deleted, &keep)?;
        let names = deleted
            .as_boolean()
            .values()
            .iter()
            .map(|deleted| if deleted { ChangeType::Delete.name() } else { ChangeType::Insert.name() });
        let rows = filter_record_batch(rows, &keep)?;
        let own = rows.num_columns().saturating_sub(1);
        let columns = rows.columns().get(..own).unwrap_or_default().to_vec();
        let read = self.before.as_ref().or(self.after.as_ref()).map(|task| change_schema(&task.read));
        let schema = read.ok_or_else(|| Error::internal("a change has no file"))?;
        changed_rows(schema, columns, StringArray::from_iter_values(names), (self.ordinal, self.snapshot_id)).map(Some)
    }
}

/// Returns the rows that are marked as deleted in the last column of a batch.
fn deleted(rows: &RecordBatch) -> Result<BooleanBuffer> {
    let column = rows.columns().last().and_then(|column| column.as_boolean_opt());
    Ok(column.ok_or_else(|| Error::internal("the last column does not mark deleted rows"))?.values().clone())
}

impl ChangeStage {
    /// Returns a pairing of the rows of this stage that holds about `limit_bytes` in memory. None if the rows of the
    /// stage are not paired.
    ///
    /// # Errors
    /// `Unsupported` for columns that cannot be compared.
    pub fn pairs(&self, limit_bytes: usize) -> Result<Option<ChangePairs>> {
        let Some(Pairing { columns, identifiers, across_commits }) = self.pairing.clone() else { return Ok(None) };
        let null_is_unknown = identifiers.contains(&columns);
        let spec = PairSpec { values: columns, identifiers, null_is_unknown, across_commits };
        let pairs = RowPairs::try_new(change_schema(&self.read), spec, limit_bytes)?;
        let wanted =
            Wanted { schema: change_schema(&self.result), read: self.read.clone(), result: self.result.clone() };
        Ok(Some(ChangePairs::new(pairs, Box::new(move |rows| wanted.of(rows)))))
    }
}

/// The output of pairing: the filter and the columns of the returned rows.
struct Wanted {
    read: Arc<ReadContext>,
    result: Arc<ReadContext>,
    schema: SchemaRef,
}

impl Wanted {
    fn of(&self, mut rows: RecordBatch) -> Result<Option<RecordBatch>> {
        let fields = with_row_id(&self.read);
        if self.read.filter != self.result.filter && self.result.filter != BoundPredicate::True {
            let leaves = LeafColumns::new(&fields, rows.columns());
            let keep = evaluate(&self.result.filter, &leaves, rows.num_rows())?;
            rows = filter_record_batch(&rows, &BooleanArray::new(keep, None))?;
        }
        if rows.num_rows() == 0 {
            return Ok(None);
        }
        let own = own_columns(&self.result);
        let mut columns =
            own.fields.iter().map(|field| chosen(&fields, rows.columns(), field)).collect::<Result<Vec<_>>>()?;
        columns.extend(rows.columns().iter().skip(fields.fields.len()).cloned());
        Ok(Some(RecordBatch::try_new(self.schema.clone(), columns)?))
    }
}

/// Returns the field `wanted` of a struct, or of the top-level columns, pruned to its selected nested fields.
fn chosen(fields: &StructType, columns: &[ArrayRef], wanted: &NestedField) -> Result<ArrayRef> {
    let found = fields.fields.iter().zip(columns).find(|(field, _)| field.id == wanted.id);
    let (field, column) = found.ok_or_else(|| Error::internal("a selected column was not read"))?;
    let (Type::Struct(own), Type::Struct(inner)) = (&field.field_type, &wanted.field_type) else {
        return Ok(column.clone());
    };
    let column = column.as_struct_opt().ok_or_else(|| Error::internal("a struct was read as another type"))?;
    let children = inner.fields.iter().map(|field| chosen(own, column.columns(), field)).collect::<Result<Vec<_>>>()?;
    let schema = arrow_schema(inner);
    Ok(Arc::new(StructArray::try_new_with_length(schema.fields, children, column.nulls().cloned(), column.len())?))
}
