//! Computes the rows of a newer state that an older state does not have (`incremental-between-scan-mode` = `diff`).

use std::collections::HashMap;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_row::{RowConverter, SortField};
use arrow_select::filter::filter_record_batch;
use frazil_core::context::{Context, Lease};
use frazil_core::error::{Error, Result};

use super::file_reader::Target;
use super::unordered::with_ordered_entries;

/// The difference of two states. Rows are compared by all table columns that are read, and maps by their entries in any
/// order. Duplicate rows are counted: each row of the older state cancels at most one equal row of the newer state.
#[derive(Debug)]
pub struct Difference {
    converter: RowConverter,
    columns: usize,
    before: HashMap<Box<[u8]>, u64>,
    leases: Vec<Lease>,
    turned: bool,
}

impl Difference {
    /// Creates a comparison of rows with the columns of the target.
    ///
    /// # Errors
    /// `Unsupported` for columns whose values cannot be compared.
    pub fn try_new(target: &Target) -> Result<Self> {
        let fields = target.fields.iter().map(|field| SortField::new(field.data_type.arrow())).collect();
        let converter = RowConverter::new(fields)
            .map_err(|e| Error::unsupported("rows of these types cannot be compared for a `diff`").caused_by(e))?;
        Ok(Self { converter, columns: target.fields.len(), before: HashMap::new(), leases: Vec::new(), turned: false })
    }

    /// Starts the newer state: subsequent rows belong to it.
    pub fn turn(&mut self) {
        self.turned = true;
    }

    /// Adds rows, and returns those that are new, or None if there are none.
    ///
    /// # Errors
    /// `LimitExceeded` if the rows of the older state do not fit the memory budget.
    pub fn take(&mut self, batch: &RecordBatch, context: &Context) -> Result<Option<RecordBatch>> {
        let columns = batch.columns().iter().take(self.columns).map(with_ordered_entries);
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let rows = self.converter.convert_columns(&columns)?;
        if !self.turned {
            self.leases.push(context.budget.lease(u64::try_from(rows.size()).unwrap_or(u64::MAX))?);
            for row in &rows {
                *self.before.entry(row.data().into()).or_default() += 1;
            }
            return Ok(None);
        }
        let is_new = |row: arrow_row::Row<'_>| match self.before.get_mut(row.data()) {
            Some(count @ 1..) => {
                *count -= 1;
                false
            }
            _ => true,
        };
        let new: BooleanArray = rows.iter().map(is_new).map(Some).collect();
        if new.true_count() == 0 { Ok(None) } else { Ok(Some(filter_record_batch(batch, &new)?)) }
    }
}
