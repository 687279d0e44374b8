//! Finds the latest state of a table and replaces it with the next one.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use frazil_core::error::Result;
use frazil_core::storage::Turn;
use frazil_core::storage::publish::Swap;

use super::update::TableUpdate;
use crate::spec::table_metadata::TableMetadata;
use crate::table::State;

/// A state that is proposed as the latest one.
#[derive(Debug, Clone, Copy)]
pub struct Proposal<'a> {
    /// The state that it is based on; None for a new table.
    pub base: Option<&'a State>,
    /// The proposed metadata.
    pub next: &'a Arc<TableMetadata>,
    /// The updates that turn `base` into `next`, in order; without a `base`, the updates that create the table.
    pub updates: &'a [TableUpdate],
}

impl Proposal<'_> {
    /// Returns the proposed state as published in the metadata file `metadata_location`.
    pub fn published(&self, metadata_location: String) -> State {
        State { metadata: self.next.clone(), metadata_location }
    }

    /// Returns the ids of the snapshots that the proposal adds.
    pub fn added_snapshots(&self) -> HashSet<i64> {
        let ids = |metadata: &TableMetadata| -> HashSet<i64> {
            metadata.snapshots.iter().map(|snapshot| snapshot.snapshot_id).collect()
        };
        &ids(self.next) - &self.base.map(|base| ids(&base.metadata)).unwrap_or_default()
    }
}

/// The single place that records which state of a table is the latest.
pub trait Pointer: fmt::Debug + Send + Sync {
    /// Rejects a table that cannot be changed through this pointer.
    ///
    /// # Errors
    /// `Unsupported`, with a hint on how to change the table.
    fn check(&self, known: &State) -> Result<()> {
        let _ = known;
        Ok(())
    }

    /// Returns the latest state; None if the table does not exist.
    fn load(&self) -> Result<Option<State>>;

    /// Returns the existing table at the location where a new one is to be created. Returns None if the table does not
    /// exist, or if the swap itself checks that.
    ///
    /// # Errors
    /// See [`Pointer::load`].
    fn existing(&self) -> Result<Option<State>> {
        self.load()
    }

    /// Makes `proposal.next` the latest state if `proposal.base` is still the latest. Of several writers with the same
    /// base, exactly one gets [`Swap::Done`], with the published state. A server may have completed the state, or
    /// applied the updates to a newer one. Returns [`Swap::Refused`] for an error before anything can have changed.
    /// After a later error the outcome is looked up; [`Swap::Unknown`] means that the look-up did not settle the
    /// outcome.
    fn swap(&self, proposal: &Proposal<'_>) -> Swap<State>;

    /// Waits for a turn among the writers of this machine, which avoids attempts that would lose. Returns None if this
    /// pointer does not use turns.
    fn turn(&self, base: Option<&State>) -> Option<Turn> {
        let _ = base;
        None
    }

    /// Deletes the file of an earlier state. It is not needed any more, so a failed deletion is ignored.
    fn delete(&self, metadata_file: &str);
}
