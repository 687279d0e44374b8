//! Commits to tables of a catalog, in which a row references the latest metadata file.
//!
//! ```text
//! metadata/<NNNNN>-<uuid>[.gz].metadata.json     the states; N counts from 0
//! ```
//!
//! The metadata file is written first, under a unique name; then the row is swapped. After a failed swap, the row is
//! read again. If another writer has already committed on top of the new state, the metadata log of the other writer's
//! commit is read too. A metadata file is deleted only when it is certain that no row will ever reference it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::ids;
use frazil_core::storage::publish::Swap;
use frazil_core::storage::{Files, Turn};

use super::pointer::{Pointer, Proposal};
use crate::spec::metadata_write::MetadataCodec;
use crate::spec::table_metadata::TableMetadata;
use crate::table::{State, read_metadata};

/// The number of times that a row is read after a failed swap; [`STATUS_WAIT`] is the wait between two reads.
const STATUS_CHECKS: u32 = 3;
const STATUS_WAIT: Duration = Duration::from_millis(20);

/// A catalog's record of one table.
pub trait CatalogRow: fmt::Debug + Send + Sync {
    /// Returns the metadata file that the row references; None if the catalog has no such table.
    ///
    /// # Errors
    /// The catalog's error if it cannot answer.
    fn location(&self) -> Result<Option<String>>;

    /// Sets the row to `new` in one atomic step if it references `expected` (None: the table does not exist). Otherwise
    /// changes nothing and returns false.
    ///
    /// # Errors
    /// `Catalog` and the other kinds for which [`is_definite`] is true mean that nothing changed; after any other error
    /// the row may have changed.
    fn replace(&self, expected: Option<&str>, new: &str) -> Result<bool>;
}

/// A table in a catalog.
#[derive(Debug)]
pub struct CatalogPointer {
    files: Files,
    row: Box<dyn CatalogRow>,
}

/// A written metadata file, and the metadata file that it replaces.
struct Written<'a> {
    /// The metadata file that the row referenced.
    expected: Option<String>,
    location: String,
    proposal: &'a Proposal<'a>,
}

impl Written<'_> {
    fn published(&self) -> Swap<State> {
        Swap::Done(self.proposal.published(self.location.clone()))
    }
}

impl CatalogPointer {
    /// Creates the pointer to the table of `row`, which may not exist yet; its files are among `files`.
    pub fn new(files: Files, row: Box<dyn CatalogRow>) -> Self {
        Self { files, row }
    }

    fn read(&self, location: &str) -> Result<TableMetadata> {
        read_metadata(&self.files, &self.files.openable(location)?)
    }

    /// Writes the metadata file of the proposed state. Returns None if another writer was first.
    fn write<'a>(&self, proposal: &'a Proposal<'a>) -> Result<Option<Written<'a>>> {
        let Proposal { base, next, .. } = *proposal;
        let expected = self.row.location()?;
        let is_base = |location: &String| {
            base.is_some_and(|base| {
                self.files.same_file_key(location) == self.files.same_file_key(&base.metadata_location)
            })
        };
        if expected.is_some() != base.is_some() || !expected.iter().all(is_base) {
            return Ok(None);
        }
        let codec = MetadataCodec::of(next)?;
        let number = expected.as_deref().map_or(0, next_number);
        let location = format!("{}/{number:05}-{}{}", next.metadata_folder(), ids::uuid()?, codec.suffix());
        let content = next.to_bytes(codec)?;
        // No row references the file, so the remains of a failed write can be deleted.
        self.files.put_if_absent(&location, content.into()).inspect_err(|_| self.delete(&location))?;
        Ok(Some(Written { expected, location, proposal }))
    }

    /// Returns the outcome after the row was found changed. The change may be this writer's own, because a request can
    /// be sent twice.
    fn lost(&self, written: &Written<'_>) -> Swap<State> {
        match self.named().and_then(|named| named.map_or(Ok(Some(false)), |newer| self.follows(&newer, written))) {
            Ok(Some(true)) => return written.published(),
            Ok(Some(false)) => self.delete(&written.location),
            // The outcome is uncertain, so the metadata file is kept: an orphan file is better than a table without its
            // latest state.
            Ok(None) => {}
            // Our snapshot may have been committed, so its files must not be deleted.
            Err(error) => return Swap::Unknown(error),
        }
        Swap::Lost
    }

    /// Returns the outcome of a failed swap.
    fn settle(&self, written: &Written<'_>, error: Error) -> Swap<State> {
        let Ok(named) = self.named() else { return Swap::Unknown(error) };
        let Some(newer) = named.filter(|named| Some(named) != written.expected.as_ref()) else {
            if is_definite(error.kind()) {
                self.delete(&written.location);
                return Swap::Refused(error);
            }
            return Swap::Unknown(error);
        };
        match self.follows(&newer, written) {
            Ok(Some(true)) => written.published(),
            Ok(Some(false)) => {
                self.delete(&written.location);
                Swap::Lost
            }
            Ok(None) | Err(_) => Swap::Unknown(error),
        }
    }

    /// Returns the metadata file that the row references. Failed reads are repeated, up to [`STATUS_CHECKS`] reads in
    /// total.
    fn named(&self) -> Result<Option<String>> {
        for _ in 1..STATUS_CHECKS {
            if let Ok(named) = self.row.location() {
                return Ok(named);
            }
            std::thread::sleep(STATUS_WAIT);
        }
        self.row.location()
    }

    /// Returns whether the state in `newer` is the written one or is based on it; None if that cannot be determined.
    fn follows(&self, newer: &str, written: &Written<'_>) -> Result<Option<bool>> {
        if newer == written.location {
            return Ok(Some(true));
        }
        let newer = self.read(newer)?;
        let logged = |file: &str| newer.metadata_log.iter().any(|entry| entry.metadata_file == file);
        if logged(&written.location) {
            return Ok(Some(true));
        }
        if written.proposal.base.is_none() {
            // This attempt generated the UUID, so no other writer can have used it.
            return Ok(Some(newer.table_uuid.is_some() && newer.table_uuid == written.proposal.next.table_uuid));
        }
        if written.expected.as_deref().is_some_and(logged) {
            // The log reaches back to our base, and our state is not in it.
            return Ok(Some(false));
        }
        let added = written.proposal.added_snapshots();
        Ok(newer.snapshots.iter().any(|snapshot| added.contains(&snapshot.snapshot_id)).then_some(true))
    }
}

impl Pointer for CatalogPointer {
    fn load(&self) -> Result<Option<State>> {
        let Some(metadata_location) = self.row.location()? else { return Ok(None) };
        let metadata = Arc::new(self.read(&metadata_location)?);
        Ok(Some(State { metadata, metadata_location }))
    }

    fn swap(&self, proposal: &Proposal<'_>) -> Swap<State> {
        let written = match self.write(proposal) {
            Ok(Some(written)) => written,
            Ok(None) => return Swap::Lost,
            Err(error) => return Swap::Refused(error),
        };
        match self.row.replace(written.expected.as_deref(), &written.location) {
            Ok(true) => written.published(),
            Ok(false) => self.lost(&written),
            Err(error) => self.settle(&written, error),
        }
    }

    fn turn(&self, base: Option<&State>) -> Option<Turn> {
        self.files.turn(&base?.metadata.metadata_folder())
    }

    fn delete(&self, metadata_file: &str) {
        let _ = self.files.delete(metadata_file);
    }
}

/// Returns the version number that follows that of `location`; 0 if `location` has none.
fn next_number(location: &str) -> u64 {
    let name = location.rsplit('/').next().unwrap_or_default();
    let number = name.split_once('-').and_then(|(digits, _)| digits.parse::<u64>().ok());
    number.and_then(|number| number.checked_add(1)).unwrap_or(0)
}

/// Returns whether this kind of error from a catalog means that nothing changed.
pub fn is_definite(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Catalog
            | ErrorKind::Unauthorized
            | ErrorKind::Forbidden
            | ErrorKind::Unsupported
            | ErrorKind::InvalidArgument
            | ErrorKind::NoSuchTable
            | ErrorKind::NoSuchNamespace
            | ErrorKind::AlreadyExists
    )
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
