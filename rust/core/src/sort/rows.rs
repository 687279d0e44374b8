//! Sorts rows by some of their columns.

use arrow_array::{ArrayRef, BinaryArray, RecordBatch};
use arrow_row::{RowConverter, SortField};

use super::{Sorted, Sorter};
use crate::error::{Error, Result};

/// A sorter of rows by separate key columns, with bounded memory; rows with equal keys keep their order.
#[derive(Debug)]
pub struct RowSorter {
    converter: RowConverter,
    state: State,
}

#[derive(Debug)]
enum State {
    Taking(Sorter),
    Giving(Sorted),
}

impl RowSorter {
    /// Creates a sorter that holds about `limit_bytes` of rows and keys in memory.
    ///
    /// # Errors
    /// Arrow's errors for types without an order.
    pub fn new(keys: Vec<SortField>, limit_bytes: usize) -> Result<Self> {
        Ok(Self { converter: RowConverter::new(keys)?, state: State::Taking(Sorter::new(limit_bytes)) })
    }

    /// Adds rows with their key columns.
    ///
    /// # Errors
    /// `Storage` if rows cannot be spilled; `Internal` after the first call of [`RowSorter::next_batch`].
    pub fn push(&mut self, rows: RecordBatch, keys: &[ArrayRef]) -> Result<()> {
        let keys: BinaryArray = self.converter.convert_columns(keys)?.try_into_binary()?;
        match &mut self.state {
            State::Taking(sorter) => sorter.push(rows, keys),
            State::Giving(_) => Err(Error::internal("rows were added after the first sorted row was read")),
        }
    }

    /// Returns the next rows in order, at most `most_rows`; None after the last row. Call this after all rows were
    /// added.
    ///
    /// # Errors
    /// `Storage` if spilled rows cannot be read.
    pub fn next_batch(&mut self, most_rows: usize) -> Result<Option<RecordBatch>> {
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
