//! Where the newest state of a table is found, and how the next one takes its place.

use std::fmt;
use std::sync::Arc;

use frazil_core::error::{Error, Result};

use crate::spec::table_metadata::TableMetadata;

/// A state of a table and the file that holds it.
#[derive(Debug, Clone)]
pub struct State {
    /// The metadata.
    pub metadata: Arc<TableMetadata>,
    /// The location of its file.
    pub metadata_location: String,
}

/// What became of a new state.
#[derive(Debug)]
pub enum Swap {
    /// It is the newest one, in this file.
    Done(String),
    /// Another writer was first; nothing changed.
    Lost,
    /// It was refused, and nothing changed.
    Refused(Error),
    /// Nobody can say.
    Unknown(Error),
}

/// The one place that says which state of a table is the newest.
pub trait Pointer: fmt::Debug + Send + Sync {
    /// The newest state; None when there is no such table.
    fn load(&self) -> Result<Option<State>>;

    /// Makes `next` the newest state if `base` still is: of several writers with one base exactly one gets
    /// [`Swap::Done`]. What fails before anything can have happened is [`Swap::Refused`]; what may have happened is
    /// looked up, and [`Swap::Unknown`] where that does not tell.
    fn swap(&self, base: Option<&State>, next: &TableMetadata) -> Swap;
}
