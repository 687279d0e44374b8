//! Rows in the sort order of a table (spec: "Sorting").

use arrow_array::{BinaryArray, RecordBatch};
use arrow_row::{RowConverter, SortField};
use arrow_schema::SortOptions;
use frazil_core::error::{Error, Result};
use frazil_core::sort::{Sorted, Sorter};

use super::partition::Partitioner;
use super::source::Source;
use crate::read::arrow::arrow_primitive;
use crate::spec::schema::Schema;
use crate::spec::sort::SortOrder;

/// Sorts rows by partition and, within each, by a sort order.
///
/// Floating point numbers are ordered as the spec has it: -NaN, -Infinity, ..., -0, 0, ..., Infinity, NaN.
#[derive(Debug)]
pub(super) struct RowSorter {
    fields: Vec<Source>,
    converter: RowConverter,
    state: State,
}

#[derive(Debug)]
enum State {
    Taking(Sorter),
    Giving(Sorted),
}

impl RowSorter {
    /// For rows of `schema`; an empty order puts rows of a partition together and keeps theirs.
    ///
    /// # Errors
    /// As [`Source::new`]; `InvalidArgument` for a transform that does not apply.
    pub(super) fn new(
        schema: &Schema,
        partitioner: &Partitioner,
        order: &SortOrder,
        limit_bytes: usize,
    ) -> Result<Self> {
        let fields = order.fields.iter().map(|field| Source::new(schema, &field.source_ids, &field.transform));
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let mut keys: Vec<SortField> = partitioner.key_types().map(SortField::new).collect();
        for (source, field) in fields.iter().zip(&order.fields) {
            let options = SortOptions { descending: field.descending, nulls_first: field.nulls_first };
            keys.push(SortField::new_with_options(arrow_primitive(&source.result_type()?), options));
        }
        let state = State::Taking(Sorter::new(limit_bytes));
        Ok(Self { fields, converter: RowConverter::new(keys)?, state })
    }

    /// Takes rows.
    ///
    /// # Errors
    /// `InvalidArgument` for values that a transform cannot take; `Storage` when rows cannot be spilled.
    pub(super) fn push(&mut self, rows: RecordBatch, partitioner: &Partitioner) -> Result<()> {
        let mut columns = partitioner.keys(&rows)?;
        for source in &self.fields {
            columns.push(source.values(&rows)?);
        }
        let keys: BinaryArray = self.converter.convert_columns(&columns)?.try_into_binary()?;
        match &mut self.state {
            State::Taking(sorter) => sorter.push(rows, keys),
            State::Giving(_) => Err(Error::internal("rows behind the last")),
        }
    }

    /// The next rows in order, at most so many, once all are there; None behind the last.
    ///
    /// # Errors
    /// `Storage` when what was spilled cannot be read.
    pub(super) fn next_batch(&mut self, most_rows: usize) -> Result<Option<RecordBatch>> {
        if let State::Taking(sorter) = &mut self.state {
            let sorted = std::mem::replace(sorter, Sorter::new(0)).finish()?;
            self.state = State::Giving(sorted);
        }
        match &mut self.state {
            State::Giving(sorted) => sorted.next_batch(most_rows),
            State::Taking(_) => Ok(None),
        }
    }
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
