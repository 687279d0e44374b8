//! The storage interface. It is synchronous and batch-oriented: a call accepts many ranges and returns many buffers.
//! Concurrency is internal to the implementation.
//!
//! Locations are strings from metadata that [`files`] has relocated and checked. A `Storage` never interprets metadata
//! and never accesses a path that was not passed to it.

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

/// An object in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectMeta {
    /// The full location, in the scheme that was listed.
    pub location: String,
    /// The length in bytes.
    pub size_bytes: u64,
    /// The last modification time: milliseconds since the epoch, by the store's clock.
    pub modified_ms: i64,
}

/// What is directly in a folder, in no particular order; nothing if the folder does not exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entries {
    /// The files.
    pub files: Vec<ObjectMeta>,
    /// The names of the folders.
    pub folders: Vec<String>,
}

/// A version that distinguishes the file at a location from earlier ones. Equal versions of a location have equal
/// contents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Version {
    /// The storage through which the file is accessed: 0 for local files, otherwise a number that is unique to the
    /// storage. Other storages may have access to other files.
    pub store: u64,
    /// The length, if it is known without a request.
    pub size_bytes: u64,
    /// The number of the file in its file system (inode); 0 if unknown.
    pub number: u64,
    /// The last modification time: nanoseconds since the epoch, by the store's clock.
    pub modified_ns: u128,
}

/// A file store. Implementations are shared between threads.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Returns the length of a file.
    ///
    /// # Errors
    /// `MissingFile` if the file does not exist or is a directory.
    fn size(&self, location: &str) -> Result<u64>;

    /// Reads a whole file, if it is not longer than `limit_bytes`.
    ///
    /// # Errors
    /// `MissingFile`; `LimitExceeded`, before any allocation, if the file is longer.
    fn read(&self, location: &str, limit_bytes: u64) -> Result<Bytes>;

    /// Reads ranges of one file, in the requested order. A range that exceeds the end is an error, never a short
    /// buffer.
    ///
    /// # Errors
    /// `MissingFile`; `CorruptData` if a range is not inside the file.
    fn read_ranges(&self, location: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;

    /// Reads whole files concurrently; returns one result for each, in the requested order.
    fn read_all(&self, locations: &[&str], limit_bytes: u64) -> Vec<Result<Bytes>> {
        locations.iter().map(|location| self.read(location, limit_bytes)).collect()
    }

    /// Returns the version of a file that tables write once and never change; None if its contents must not be cached.
    /// Object stores are not queried, because the paths of such files are never reused.
    fn version(&self, location: &str) -> Option<Version> {
        let _ = location;
        None
    }

    /// Returns the files directly in a folder (without recursion), in no particular order; empty if the folder does not
    /// exist.
    fn list(&self, folder: &str) -> Result<Vec<ObjectMeta>> {
        self.list_named(folder, &|_| true)
    }

    /// Returns the files of [`Storage::list`] whose names satisfy `wanted`. A store that needs one request per file
    /// sends requests only for the wanted files.
    fn list_named(&self, folder: &str, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ObjectMeta>>;

    /// Returns the names of the folders directly in a folder, in no particular order; empty if the folder does not
    /// exist. In a store without folders, the names are the parts of the keys up to the next `/`.
    fn folders(&self, folder: &str) -> Result<Vec<String>>;

    /// Returns the files and folders directly in a folder. A store that lists files and folders by the same request sends it once.
    fn entries(&self, folder: &str) -> Result<Entries> {
        Ok(Entries { files: self.list(folder)?, folders: self.folders(folder)? })
    }

    /// Returns a folder with its links resolved; None if there are no links, or if the folder does not exist.
    fn real_folder(&self, folder: &str) -> Option<String> {
        let _ = folder;
        None
    }

    /// Writes a file, replacing an existing one.
    fn put(&self, location: &str, content: Bytes) -> Result<()>;

    /// Writes a file if it does not exist, atomically: of two concurrent callers, exactly one succeeds.
    ///
    /// # Errors
    /// `AlreadyExists`; `Unsupported` if the store cannot guarantee that the write is atomic.
    fn put_if_absent(&self, location: &str, content: Bytes) -> Result<()>;

    /// Begins a file that is written in parts; None if files can only be written as a whole.
    fn upload(&self, location: &str) -> Result<Option<Box<dyn Upload>>> {
        let _ = location;
        Ok(None)
    }

    /// Deletes a file; a missing file is not an error.
    fn delete(&self, location: &str) -> Result<()>;

    /// Waits for a limited time for the caller's turn among the writers of this machine that use the same folder. None
    /// if the store does not support turns. Correctness does not depend on turns: they only avoid work that is
    /// discarded when another writer commits first.
    fn turn(&self, folder: &str) -> Option<Turn> {
        let _ = folder;
        None
    }
}

/// An upload of a file. Until the upload is finished, the file is not visible, and an existing file of the same name is
/// kept.
pub trait Upload: fmt::Debug + Send {
    /// Sends the next part, which has [`PART_BYTES`] except for the last one. Returns before the store has received it.
    ///
    /// # Errors
    /// Errors of this part or of an earlier one.
    fn part(&mut self, content: Bytes) -> Result<()>;

    /// Completes the file after the store has received all parts.
    fn finish(&mut self) -> Result<()>;

    /// Discards the parts. If an upload is dropped without this call, invisible parts may remain in the store.
    fn abort(&mut self) -> Result<()>;
}

/// The length of parts: stores require at least 5 MiB per part, and at most 10,000 parts.
pub const PART_BYTES: usize = 8 << 20;

/// A turn among writers; dropping it starts the turn of the next writer.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "held open")] std::fs::File);

/// Returns the error of [`Storage::read`] for a file that exceeds its limit.
pub fn too_long(location: &str, size_bytes: u64, limit_bytes: u64) -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        format!("the file has {size_bytes} bytes, more than the limit of {limit_bytes}"),
    )
    .with("path", location::redacted(location))
}

/// Checks the ranges of [`Storage::read_ranges`] against the length of the file.
///
/// # Errors
/// `CorruptData` if a range ends before it starts or after the end of the file.
pub fn check_ranges(location: &str, ranges: &[Range<u64>], size_bytes: u64) -> Result<()> {
    match ranges.iter().find(|range| range.start > range.end || range.end > size_bytes) {
        None => Ok(()),
        Some(range) => {
            let message =
                format!("bytes {}..{} are out of range for a file of {size_bytes} bytes", range.start, range.end);
            Err(Error::corrupt(message).with("path", location::redacted(location)))
        }
    }
}

/// Returns a checked slice of `content`, sharing its memory.
///
/// # Errors
/// `CorruptData` if the range is out of bounds.
pub fn slice(content: &Bytes, range: &Range<u64>) -> Result<Bytes> {
    let bounds = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
    match bounds.filter(|&(start, end)| start <= end && end <= content.len()) {
        Some((start, end)) => Ok(content.slice(start..end)),
        None => Err(Error::corrupt(format!(
            "bytes {}..{} are out of range for {} bytes",
            range.start,
            range.end,
            content.len()
        ))),
    }
}
