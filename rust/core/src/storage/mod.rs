//! The one storage contract. Synchronous and batch-first: many ranges in, many buffers out; concurrency stays inside.
//!
//! Locations are the text that metadata records, after [`location`] has resolved them (relocation, aliases,
//! confinement). A `Storage` never interprets metadata and never follows a path that it was not given.

pub mod confinement;
pub mod faulty;
pub mod files;
pub mod local;
pub mod location;
pub mod memory;
pub mod options;
pub mod publish;
pub mod relocation;
pub mod sweep;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};

pub use confinement::Confinement;
pub use files::Files;
pub use local::LocalStorage;
pub use location::Location;
pub use memory::MemoryStorage;
pub use relocation::Relocation;

/// One object of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Its full location, in the scheme that was listed.
    pub location: String,
    /// Its length.
    pub size_bytes: u64,
    /// When it was last written: milliseconds since the epoch, by the store's clock.
    pub modified_ms: i64,
}

/// What tells the file that lies at a location from others that lay there before. Equal versions of a location are of
/// equal content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Version {
    /// By whom the file is reached: 0 for local files, else a number of the storage, which others do not share, as they may
    /// reach other files or fewer.
    pub store: u64,
    /// The length, where it is known without asking.
    pub size_bytes: u64,
    /// The number of the file in its file system.
    pub number: u64,
    /// When it was last written: nanoseconds since the epoch, by the store's clock.
    pub modified_ns: u128,
}

/// A place that holds files. Implementations are shared between threads.
pub trait Storage: fmt::Debug + Send + Sync {
    /// The length of a file.
    ///
    /// # Errors
    /// `MissingFile` when there is none (a directory is none).
    fn size(&self, location: &str) -> Result<u64>;

    /// A whole file, if it is not longer than `limit_bytes`.
    ///
    /// # Errors
    /// `MissingFile`; `LimitExceeded` before anything is allocated when the file is longer.
    fn read(&self, location: &str, limit_bytes: u64) -> Result<Bytes>;

    /// Ranges of one file, in the order asked for. A range that runs over the end is an error, never a short buffer.
    ///
    /// # Errors
    /// `MissingFile`; `CorruptData` when a range is not inside the file.
    fn read_ranges(&self, location: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;

    /// Whole files, fetched concurrently; one result each, in the order asked for.
    fn read_all(&self, locations: &[&str], limit_bytes: u64) -> Vec<Result<Bytes>> {
        locations.iter().map(|location| self.read(location, limit_bytes)).collect()
    }

    /// The version of a file that tables write once and never change; None where what is read from it must not be kept.
    /// Object stores are not asked: paths of such files are not used again.
    fn version(&self, location: &str) -> Option<Version> {
        let _ = location;
        None
    }

    /// The files directly in a folder (no recursion), in no particular order; empty when there is no such folder.
    fn list(&self, folder: &str) -> Result<Vec<ObjectMeta>> {
        self.list_named(folder, &|_| true)
    }

    /// As [`Storage::list`], the files with names that are wanted: where a store asks for each file it asks for these.
    fn list_named(&self, folder: &str, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ObjectMeta>>;

    /// The names of the folders directly in a folder, in no particular order; empty when there is no such folder. Where
    /// a store has no folders, they are what names of files have before a further `/`.
    fn folders(&self, folder: &str) -> Result<Vec<String>>;

    /// A folder by the names that its links lead to; None where there are no links, or no such folder.
    fn real_folder(&self, folder: &str) -> Option<String> {
        let _ = folder;
        None
    }

    /// Writes a file, replacing what is there.
    fn put(&self, location: &str, content: Bytes) -> Result<()>;

    /// Writes a file where none is, atomically: of two callers exactly one succeeds.
    ///
    /// # Errors
    /// `AlreadyExists`; `Unsupported` where the store cannot promise it.
    fn put_if_absent(&self, location: &str, content: Bytes) -> Result<()>;

    /// Begins a file that comes in parts; None where a file can only be put as a whole.
    fn upload(&self, location: &str) -> Result<Option<Box<dyn Upload>>> {
        let _ = location;
        Ok(None)
    }

    /// Deletes a file; deleting what is not there is no error.
    fn delete(&self, location: &str) -> Result<()>;

    /// Waits, but not for long, until it is the caller's turn among the writers of this machine that ask for the same
    /// folder. Nothing depends on it: it only spares them work that all but one of them would do in vain. None where a
    /// store has no such thing.
    fn turn(&self, folder: &str) -> Option<Turn> {
        let _ = folder;
        None
    }
}

/// A file on its way into a store. Nobody sees it before its end, and what was there under its name stays until then.
pub trait Upload: fmt::Debug + Send {
    /// Sends the next part, of [`PART_BYTES`] but for the last one. Returns before the store has it.
    ///
    /// # Errors
    /// What is wrong with this part or with one before it.
    fn part(&mut self, content: Bytes) -> Result<()>;

    /// Makes the parts a file, once the store has all of them.
    fn finish(&mut self) -> Result<()>;

    /// Gives the parts up. An upload that is only dropped may leave them with the store, where nobody sees them.
    fn abort(&mut self) -> Result<()>;
}

/// The length of parts: stores take no shorter ones than 5 MiB, and no more than 10,000.
pub const PART_BYTES: usize = 8 << 20;

/// A turn among writers; dropping it lets the next one go.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "held open")] std::fs::File);

/// The error of [`Storage::read`] for a file longer than its limit.
pub fn too_long(location: &str, size_bytes: u64, limit_bytes: u64) -> Error {
    Error::new(ErrorKind::LimitExceeded, format!("the file has {size_bytes} bytes, {limit_bytes} are allowed"))
        .with("path", location::redacted(location))
}

/// Checks the ranges of [`Storage::read_ranges`] against the length of the file.
///
/// # Errors
/// `CorruptData` when a range ends before it starts or after the file.
pub fn check_ranges(location: &str, ranges: &[Range<u64>], size_bytes: u64) -> Result<()> {
    match ranges.iter().find(|range| range.start > range.end || range.end > size_bytes) {
        None => Ok(()),
        Some(range) => {
            let message = format!("bytes {}..{} are asked of a file of {size_bytes}", range.start, range.end);
            Err(Error::corrupt(message).with("path", location::redacted(location)))
        }
    }
}

/// A checked part of `content`, sharing its memory.
///
/// # Errors
/// `CorruptData` when the range is not inside.
pub fn slice(content: &Bytes, range: &Range<u64>) -> Result<Bytes> {
    let bounds = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
    match bounds.filter(|&(start, end)| start <= end && end <= content.len()) {
        Some((start, end)) => Ok(content.slice(start..end)),
        None => Err(Error::corrupt(format!("bytes {}..{} are asked of {}", range.start, range.end, content.len()))),
    }
}
