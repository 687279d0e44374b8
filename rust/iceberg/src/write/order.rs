//! Sorts rows in the sort order of a table (spec: "Sorting").

use arrow_array::RecordBatch;
use arrow_row::SortField;
use arrow_schema::SortOptions;
use frazil_core::error::Result;
use frazil_core::sort;

use super::partition::Partitioner;
use super::source::RowSource;
use crate::spec::arrow::arrow_primitive;
use crate::spec::schema::Schema;
use crate::spec::sort::SortOrder;

/// A sorter of rows by partition and, within each partition, by a sort order.
///
/// Floating-point numbers are ordered as the spec requires: -NaN, -Infinity, ..., -0, 0, ..., Infinity, NaN.
#[derive(Debug)]
pub(super) struct RowSorter {
    fields: Vec<RowSource>,
    sorter: sort::RowSorter,
}

impl RowSorter {
    /// Creates a sorter for rows of `schema`. An empty order only groups rows by partition and keeps their order within
    /// it.
    ///
    /// # Errors
    /// See [`RowSource::new`]; `InvalidArgument` for a transform that does not apply.
    pub(super) fn new(
        schema: &Schema,
        partitioner: &Partitioner,
        order: &SortOrder,
        limit_bytes: usize,
    ) -> Result<Self> {
        let fields = order.fields.iter().map(|field| RowSource::new(schema, &field.source_ids, &field.transform));
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let mut keys: Vec<SortField> = partitioner.key_types().map(SortField::new).collect();
        for (source, field) in fields.iter().zip(&order.fields) {
            let options = SortOptions { descending: field.descending, nulls_first: field.nulls_first };
            keys.push(SortField::new_with_options(arrow_primitive(&source.result_type()?), options));
        }
        Ok(Self { fields, sorter: sort::RowSorter::new(keys, limit_bytes)? })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// `InvalidArgument` for values that a transform does not accept; `Storage` if rows cannot be spilled.
    pub(super) fn push(&mut self, rows: RecordBatch, partitioner: &Partitioner) -> Result<()> {
        let mut columns = partitioner.keys(&rows)?;
        for source in &self.fields {
            columns.push(source.values(&rows)?);
        }
        self.sorter.push(rows, &columns)
    }

    /// Returns the next rows in order, at most `most_rows`, after all rows were added; None after the last row.
    ///
    /// # Errors
    /// `Storage` if spilled rows cannot be read.
    pub(super) fn next_batch(&mut self, most_rows: usize) -> Result<Option<RecordBatch>> {
        self.sorter.next_batch(most_rows)
    }
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
