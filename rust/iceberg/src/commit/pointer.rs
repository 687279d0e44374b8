//! Where the newest state of a table is found, and how the next one takes its place.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use frazil_core::error::Result;
use frazil_core::storage::Turn;
use frazil_core::storage::publish::Swap;

use super::update::TableUpdate;
use crate::spec::table_metadata::TableMetadata;
use crate::table::State;

/// A state that is proposed as the newest one.
#[derive(Debug, Clone, Copy)]
pub struct Proposal<'a> {
    /// The state that it was made from; None for a new table.
    pub base: Option<&'a State>,
    /// The proposed metadata.
    pub next: &'a Arc<TableMetadata>,
    /// The updates that turn `base` into `next`, in order; those that create the table if there is no `base`.
    pub updates: &'a [TableUpdate],
}

impl Proposal<'_> {
    /// The proposed state, published in the metadata file `metadata_location`.
    pub fn published(&self, metadata_location: String) -> State {
        State { metadata: self.next.clone(), metadata_location }
    }

    /// The ids of the snapshots that the proposal adds.
    pub fn added_snapshots(&self) -> HashSet<i64> {
        let ids = |metadata: &TableMetadata| -> HashSet<i64> {
            metadata.snapshots.iter().map(|snapshot| snapshot.snapshot_id).collect()
        };
        &ids(self.next) - &self.base.map(|base| ids(&base.metadata)).unwrap_or_default()
    }
}

/// The one place that says which state of a table is the newest.
pub trait Pointer: fmt::Debug + Send + Sync {
    /// Refuses a table that is not changed by way of this pointer.
    ///
    /// # Errors
    /// `Unsupported` naming how to change it.
    fn check(&self, known: &State) -> Result<()> {
        let _ = known;
        Ok(())
    }

    /// The newest state; None when there is no such table.
    fn load(&self) -> Result<Option<State>>;

    /// Returns the table that exists where a new one is created; None if there is none, or if the swap checks it.
    ///
    /// # Errors
    /// As [`Pointer::load`].
    fn existing(&self) -> Result<Option<State>> {
        self.load()
    }

    /// Makes `proposal.next` the newest state if `proposal.base` still is: of several writers with one base exactly one
    /// gets [`Swap::Done`], with the state that was published. A server may have completed it, or made the updates on a
    /// newer state. An error before anything can have happened is [`Swap::Refused`]. Otherwise the outcome is looked up,
    /// and is [`Swap::Unknown`] if that does not settle it.
    fn swap(&self, proposal: &Proposal<'_>) -> Swap<State>;

    /// Waits for a turn among the writers of this machine, where that can spare them attempts that lose.
    fn turn(&self, base: Option<&State>) -> Option<Turn> {
        let _ = base;
        None
    }

    /// Deletes the file of an earlier state. It is not needed any more: what cannot be deleted stays.
    fn delete(&self, metadata_file: &str);
}
