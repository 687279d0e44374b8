//! Where the newest state of a table is found, and how the next one takes its place.

use std::fmt;
use std::sync::Arc;

use frazil_core::error::Result;
use frazil_core::storage::Turn;
use frazil_core::storage::publish::Swap;

use crate::spec::table_metadata::TableMetadata;
use crate::table::State;

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

    /// Makes `next` the newest state if `base` still is: of several writers with one base exactly one gets
    /// [`Swap::Done`]. What fails before anything can have happened is [`Swap::Refused`]; what may have happened is
    /// looked up, and [`Swap::Unknown`] where that does not tell.
    fn swap(&self, base: Option<&State>, next: &TableMetadata) -> Swap;

    /// The metadata that the last swap made, if it is not exactly what was given: a server completes it.
    fn completed(&self, metadata_file: &str) -> Option<Arc<TableMetadata>> {
        let _ = metadata_file;
        None
    }

    /// Waits for a turn among the writers of this machine, where that can spare them attempts that lose.
    fn turn(&self, base: Option<&State>) -> Option<Turn> {
        let _ = base;
        None
    }

    /// Deletes the file of an earlier state. It is not needed any more: what cannot be deleted stays.
    fn delete(&self, metadata_file: &str);
}
