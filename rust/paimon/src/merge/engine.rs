//! The contract of merge engines, which merge the records of one key.

use std::fmt::Debug;

use arrow_array::ArrayRef;
use frazil_core::error::Result;

use super::held::{Batches, Pick};
use super::pending::{MergedKeys, Pending};

/// A rule that merges the records of a key into one row.
///
/// A row that is one of the records is decided immediately, as a [`Pick`]. An engine that combines columns of several
/// records adds the key to the [`MergedKeys`] and decides column by column, when the batch is complete.
pub(super) trait Engine: Debug + Send {
    /// Returns whether the engine evaluates values of records: false if rows are only copied.
    fn computes(&self) -> bool {
        true
    }

    /// Returns whether the row of a key is always the last of its records in the order of arrival.
    fn takes_last(&self) -> bool {
        false
    }

    /// Merges the records of a key that has two or more. The records are in the order of their runs.
    fn merge(&mut self, batches: &Batches, records: &mut Vec<Pick>, pending: &mut Pending) -> Result<()>;

    /// Processes all merged keys before their columns are requested.
    fn prepare(&mut self, _batches: &Batches, _keys: &MergedKeys) -> Result<()> {
        Ok(())
    }

    /// Returns the values of a column in the merged keys.
    fn column(&mut self, column: usize, batches: &Batches, keys: &MergedKeys) -> Result<Decided>;
}

/// The origin of the values of a column, one for each merged key.
#[derive(Debug, Default)]
pub(super) struct Decided {
    /// Rows of the held batches. The batch number after the last one denotes rows of `computed`.
    pub(super) picks: Vec<Pick>,
    /// Values that are not in any record.
    pub(super) computed: Option<ArrayRef>,
}

impl Decided {
    pub(super) fn picks(picks: Vec<Pick>) -> Self {
        Self { picks, computed: None }
    }

    /// Creates a result whose values are all computed, in order.
    pub(super) fn computed(values: ArrayRef, batches: &Batches) -> Self {
        let batch = u32::try_from(batches.0.len()).unwrap_or(u32::MAX);
        let rows = u32::try_from(values.len()).unwrap_or(u32::MAX);
        Self { picks: (0..rows).map(|row| Pick { batch, row }).collect(), computed: Some(values) }
    }
}
