//! Holds the catalog lock during publication (documentation: "Concurrency Control", "Snapshot conflict"). Java's
//! writers check whether a snapshot exists and then rename a file, so on object stores all writers need a common lock.

use std::fmt;

use frazil_core::error::Result;
use frazil_core::storage::publish::Swap;

/// A lock that all writers of a table hold while they publish a snapshot.
pub trait SnapshotLock: fmt::Debug + Send + Sync {
    /// Calls `publish` once while the lock is held, and returns its result. Failure to release the lock afterwards
    /// is not an error, because the lock expires.
    ///
    /// # Errors
    /// The errors of acquiring the lock. In that case `publish` was not called.
    fn run(&self, publish: &mut dyn FnMut() -> Swap) -> Result<Swap>;
}

/// No lock, for storage with an atomic operation that creates a file only if it does not exist.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLock;

impl SnapshotLock for NoLock {
    fn run(&self, publish: &mut dyn FnMut() -> Swap) -> Result<Swap> {
        Ok(publish())
    }
}
