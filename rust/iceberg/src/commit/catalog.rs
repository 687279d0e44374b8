//! Tables of a catalog: a row of it names the newest metadata file.
//!
//! ```text
//! metadata/<NNNNN>-<uuid>[.gz].metadata.json     the states; N counts from 0
//! ```
//!
//! The file is written first and under a name that nobody else gives, then the row is swapped. After a failed swap the
//! row is asked again, and where another writer is on top already, the log of that one's metadata. A file of ours is
//! deleted only when it is certain that no row ever names it.

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

/// How often a row is asked again after a failed swap, and how long to wait in between.
const STATUS_CHECKS: u32 = 3;
const STATUS_WAIT: Duration = Duration::from_millis(20);

/// What a catalog keeps of one table.
pub trait CatalogRow: fmt::Debug + Send + Sync {
    /// The metadata file that it names; None when the catalog has no such table.
    ///
    /// # Errors
    /// What the catalog says when it cannot answer.
    fn location(&self) -> Result<Option<String>>;

    /// Lets it name `new` if it names `expected` (None: there is no such table), in one step of the catalog; false when
    /// it does not, and nothing changed.
    ///
    /// # Errors
    /// `Catalog` and others of [`is_definite`] say that nothing changed; after any other error it may have.
    fn replace(&self, expected: Option<&str>, new: &str) -> Result<bool>;
}

/// A table that a catalog keeps.
#[derive(Debug)]
pub struct CatalogPointer {
    files: Files,
    row: Box<dyn CatalogRow>,
}

/// A metadata file that is written, and the state that it follows.
struct Written<'a> {
    /// What the row named.
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
    /// The table of `row`, whether there is one or not; its files are among `files`.
    pub fn new(files: Files, row: Box<dyn CatalogRow>) -> Self {
        Self { files, row }
    }

    fn read(&self, location: &str) -> Result<TableMetadata> {
        read_metadata(&self.files, &self.files.openable(location)?)
    }

    /// Writes the file of the proposed state; None when another writer was first.
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
        // No row names it, so that what a failed write left can go.
        self.files.put_if_absent(&location, content.into()).inspect_err(|_| self.delete(&location))?;
        Ok(Some(Written { expected, location, proposal }))
    }

    /// What became of a row that another one had changed: a request that was sent twice finds its own first effect.
    fn lost(&self, written: &Written<'_>) -> Swap<State> {
        match self.named().and_then(|named| named.map_or(Ok(Some(false)), |newer| self.follows(&newer, written))) {
            Ok(Some(true)) => return written.published(),
            Ok(Some(false)) => self.delete(&written.location),
            // Rather an orphan than a table without its newest state.
            Ok(None) => {}
            // Its snapshot may be there, and the files of that may not be deleted.
            Err(error) => return Swap::Unknown(error),
        }
        Swap::Lost
    }

    /// What became of a row whose swap failed.
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

    /// What the row names, asked as often as is reasonable.
    fn named(&self) -> Result<Option<String>> {
        for _ in 1..STATUS_CHECKS {
            if let Ok(named) = self.row.location() {
                return Ok(named);
            }
            std::thread::sleep(STATUS_WAIT);
        }
        self.row.location()
    }

    /// Whether the state in `newer` is the one that was written or was made on top of it; None where that does not show.
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
            // The id was given with this very attempt.
            return Ok(Some(newer.table_uuid.is_some() && newer.table_uuid == written.proposal.next.table_uuid));
        }
        if written.expected.as_deref().is_some_and(logged) {
            // The log goes back to where we began, and we are not in it.
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

/// The number of the state after the one in `location`; 0 where that has none.
fn next_number(location: &str) -> u64 {
    let name = location.rsplit('/').next().unwrap_or_default();
    let number = name.split_once('-').and_then(|(digits, _)| digits.parse::<u64>().ok());
    number.and_then(|number| number.checked_add(1)).unwrap_or(0)
}

/// Whether a catalog says by such an error that it did nothing.
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
