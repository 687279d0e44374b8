//! What becomes of the records of one key: the contract of merge engines.

use std::fmt::Debug;

use arrow_array::ArrayRef;
use frazil_core::error::Result;

use super::held::{Batches, Pick};
use super::pending::{MergedKeys, Pending};

/// A rule that makes one row of the records of a key.
///
/// Rows that are one of the records are decided at once, as a [`Pick`]. Engines that take the columns of a row from
/// several records put the key among the [`MergedKeys`] and decide column by column, when the batch is complete.
pub(super) trait Engine: Debug + Send {
    /// Whether values of records are looked at, and not only passed on.
    fn computes(&self) -> bool {
        true
    }

    /// Whether the row of a key is the last of its records as they come, whatever they are.
    fn takes_last(&self) -> bool {
        false
    }

    /// Decides about a key with two records or more, which come in the order of their runs.
    fn merge(&mut self, batches: &Batches, records: &mut Vec<Pick>, pending: &mut Pending) -> Result<()>;

    /// Looks at all merged keys before their columns are asked for.
    fn prepare(&mut self, _batches: &Batches, _keys: &MergedKeys) -> Result<()> {
        Ok(())
    }

    /// The values that a column has in the merged keys.
    fn column(&mut self, column: usize, batches: &Batches, keys: &MergedKeys) -> Result<Decided>;
}

/// Where the values of a column come from, one for each merged key.
#[derive(Debug, Default)]
pub(super) struct Decided {
    /// Rows of the held batches; behind the last of those, rows of `computed`.
    pub(super) picks: Vec<Pick>,
    /// Values that no record has.
    pub(super) computed: Option<ArrayRef>,
}

impl Decided {
    pub(super) fn picks(picks: Vec<Pick>) -> Self {
        Self { picks, computed: None }
    }

    /// All values, in order.
    pub(super) fn computed(values: ArrayRef, batches: &Batches) -> Self {
        let batch = u32::try_from(batches.0.len()).unwrap_or(u32::MAX);
        let rows = u32::try_from(values.len()).unwrap_or(u32::MAX);
        Self { picks: (0..rows).map(|row| Pick { batch, row }).collect(), computed: Some(values) }
    }
}
