//! A byte-limited cache of decoded deletes, shared by the data files to which the same deletes apply.
//!
//! A delete file is never overwritten, so decoded deletes stay valid. The cache lives as long as the table handle or
//! the group of tasks that it belongs to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use frazil_core::cache::Lru;
use frazil_core::context::Lease;

use crate::deletes::equality::EqualityKeys;
use crate::deletes::position::PositionDeletes;

/// Decoded deletes and their memory lease.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The deletes.
    pub deletes: Deletes,
    /// The lease on the memory that they hold.
    pub lease: Arc<Lease>,
}

/// The decoded deletes of one or more delete files.
#[derive(Debug, Clone)]
pub enum Deletes {
    /// Deleted positions, keyed by data file (see `Files::same_file_key`).
    Positions(Arc<PositionDeletes>),
    /// Deleted keys.
    Equality(Arc<EqualityKeys>),
}

/// A cache of deletes, keyed by the files from which they were decoded. The least recently used entry is evicted first.
#[derive(Debug)]
pub struct DeleteCache {
    limit_bytes: usize,
    kept: Mutex<Lru<str, Loaded>>,
}

impl DeleteCache {
    /// Creates a cache that holds about `limit_bytes`; a single entry that is larger is not cached.
    pub fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, kept: Mutex::default() }
    }

    /// Returns the cached entry for `key`.
    pub fn find(&self, key: &str) -> Option<Loaded> {
        self.lock().find(key).cloned()
    }

    /// Caches `loaded` under `key`, and evicts other entries if there is no room.
    pub fn keep(&self, key: String, loaded: Loaded) {
        let bytes = loaded.lease.bytes();
        self.lock().keep(key.into(), loaded, bytes, self.limit_bytes as u64);
    }

    /// Removes all entries.
    pub fn clear(&self) {
        *self.lock() = Lru::default();
    }

    /// Locks the cache, even after a panic in another thread: no call that may panic leaves the map inconsistent.
    fn lock(&self) -> MutexGuard<'_, Lru<str, Loaded>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for DeleteCache {
    /// Creates a cache with a limit of 256 MiB.
    fn default() -> Self {
        Self::new(256 << 20)
    }
}

#[cfg(test)]
mod tests {
    use frazil_core::context::Budget;

    use super::*;

    fn of_bytes(bytes: u64) -> Loaded {
        let lease = Budget::default().lease(bytes).unwrap();
        Loaded { deletes: Deletes::Positions(Arc::default()), lease: Arc::new(lease) }
    }

    #[test]
    fn least_recently_used_entry_is_evicted_first() {
        let cache = DeleteCache::new(10);
        cache.keep("a".into(), of_bytes(4));
        cache.keep("b".into(), of_bytes(4));
        assert!(cache.find("a").is_some());
        cache.keep("c".into(), of_bytes(4));
        assert!(cache.find("b").is_none());
        assert!(cache.find("a").is_some() && cache.find("c").is_some());
    }

    #[test]
    fn replacing_an_entry_does_not_leak_its_bytes() {
        let cache = DeleteCache::new(10);
        (0..10).for_each(|_| cache.keep("a".into(), of_bytes(6)));
        assert_eq!(cache.lock().bytes(), 6);
        cache.keep("large".into(), of_bytes(11));
        assert!(cache.find("large").is_none() && cache.find("a").is_some());
    }
}
