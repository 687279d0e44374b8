//! Splits rows into the partitions of a spec (spec: "Partitioning").

use arrow_array::{ArrayRef, RecordBatch, StructArray, UInt32Array, new_null_array};
use arrow_row::{OwnedRow, RowConverter, SortField};
use arrow_schema::{DataType, Fields};
use arrow_select::take::take;
use frazil_core::error::{Error, Result};
use frazil_core::floats::one_nan;
use frazil_core::groups::{Groups, take_rows};

use super::source::RowSource;
use crate::spec::arrow::arrow_fields;
use crate::spec::partition::PartitionSpec;
use crate::spec::schema::Schema;
use crate::spec::transform::Transform;
use crate::spec::types::StructType;

/// A partitioner, which splits batches by partition.
#[derive(Debug)]
pub struct Partitioner {
    /// The sources of partition values; None for `void`, which is NULL for any column.
    sources: Vec<Option<RowSource>>,
    /// The Arrow fields of partition tuples.
    fields: Fields,
    converter: RowConverter,
}

/// The rows of a batch in one partition.
#[derive(Debug)]
pub struct Part {
    /// The partition key, equal for rows of one partition: all NaN are equal, -0.0 and 0.0 differ, NULL equals NULL.
    pub key: OwnedRow,
    /// The partition tuple, as one row.
    pub tuple: StructArray,
    /// The row numbers, in order.
    pub rows: UInt32Array,
}

impl Part {
    /// Returns these rows of the batch.
    pub fn take(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        take_rows(batch, &self.rows)
    }
}

impl Partitioner {
    /// Creates a partitioner for rows of `schema`, in the order of its columns; `partition` is the type of the tuples
    /// of `spec`.
    ///
    /// # Errors
    /// `Unsupported` for unknown transforms; `InvalidArgument` for missing columns.
    pub fn new(schema: &Schema, spec: &PartitionSpec, partition: &StructType) -> Result<Self> {
        let sources = spec.fields.iter().map(|field| match &field.transform {
            Transform::Void => Ok(None),
            transform => RowSource::new(schema, &field.source_ids, transform)
                .map(Some)
                .map_err(|e| e.with("partition field", &field.name)),
        });
        let sources = sources.collect::<Result<Vec<_>>>()?;
        let fields = arrow_fields(partition);
        let keys = if fields.is_empty() {
            vec![SortField::new(DataType::Null)]
        } else {
            fields.iter().map(|field| SortField::new(field.data_type().clone())).collect()
        };
        Ok(Self { sources, fields, converter: RowConverter::new(keys)? })
    }

    /// Returns the types of [`Partitioner::keys`].
    pub(super) fn key_types(&self) -> impl Iterator<Item = DataType> {
        self.fields.iter().map(|field| field.data_type().clone())
    }

    /// Returns columns whose values are equal for rows of one partition.
    ///
    /// # Errors
    /// See [`Partitioner::split`].
    pub(super) fn keys(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        Ok(key_columns(&self.values(batch)?))
    }

    /// Returns the rows of a batch by partition, in order of first occurrence; rows keep their order.
    ///
    /// # Errors
    /// `InvalidArgument` for a value that a transform does not accept.
    pub fn split(&self, batch: &RecordBatch) -> Result<Vec<Part>> {
        if batch.num_rows() == 0 {
            return Ok(Vec::new());
        }
        let values = self.values(batch)?;
        let groups = match values.as_slice() {
            [] => Groups::one(batch.num_rows()),
            [numbers] => match Groups::of_numbers(numbers) {
                Some(groups) => groups,
                None => self.groups_of_keys(&values)?,
            },
            _ => self.groups_of_keys(&values)?,
        };
        // Tuples are computed from the first row of each group only. They are kept, and slices of all rows would keep
        // the rows in memory.
        let firsts = groups.firsts();
        let values = values.iter().map(|values| take(values, &firsts, None)).collect::<Result<Vec<_>, _>>()?;
        let tuples = StructArray::try_new_with_length(self.fields.clone(), values.clone(), None, firsts.len())?;
        let keys = if values.is_empty() { vec![new_null_array(&DataType::Null, 1)] } else { key_columns(&values) };
        let keys = self.converter.convert_columns(&keys)?;
        let rows = groups.members().into_iter().enumerate();
        let parts =
            rows.map(|(group, rows)| Part { key: keys.row(group).owned(), tuple: tuples.slice(group, 1), rows });
        Ok(parts.collect())
    }

    fn groups_of_keys(&self, values: &[ArrayRef]) -> Result<Groups> {
        Ok(Groups::of_keys(&self.converter.convert_columns(&key_columns(values))?))
    }

    fn values(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        self.sources
            .iter()
            .zip(&self.fields)
            .map(|(source, field)| match source {
                None => Ok(new_null_array(field.data_type(), batch.num_rows())),
                Some(source) => source.values(batch),
            })
            .collect()
    }
}

/// Returns partition field values that are equal exactly when the partitions are.
fn key_columns(values: &[ArrayRef]) -> Vec<ArrayRef> {
    values.iter().map(one_nan).collect()
}

/// Returns the internal error for a partition to which no rows were added.
#[cold]
pub(super) fn no_partition() -> Error {
    Error::internal("a partition has no rows")
}

#[cfg(test)]
#[path = "partition_tests.rs"]
mod tests;
