//! Locks of a catalog (documentation: "Concurrency Control", "Snapshot conflict"): Java's writers look whether a snapshot
//! exists and then rename a file, so that on object stores they need a lock that all writers take.

use std::fmt;

use frazil_core::error::Result;
use frazil_core::storage::publish::Swap;

/// A lock that all writers of a table take while they publish a snapshot.
pub trait SnapshotLock: fmt::Debug + Send + Sync {
    /// Call `publish` once while the lock is held, and return what it returns. A lock that cannot be released afterwards
    /// is not an error: it expires.
    ///
    /// # Errors
    /// Those of acquiring the lock; `publish` was not called then.
    fn run(&self, publish: &mut dyn FnMut() -> Swap) -> Result<Swap>;
}

/// No lock: the storage creates a file only where none is.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLock;

impl SnapshotLock for NoLock {
    fn run(&self, publish: &mut dyn FnMut() -> Swap) -> Result<Swap> {
        Ok(publish())
    }
}
