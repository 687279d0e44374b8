//! Decoded deletes, kept by bytes for the next data file that needs them.
//!
//! Delete files never change under their path, so what was decoded stays right; the cache lives as long as the table
//! handle or the group of tasks that it belongs to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::deletes::equality::EqualityKeys;
use crate::deletes::position::PositionDeletes;

/// The decoded deletes of one or several delete files.
#[derive(Debug, Clone)]
pub enum Deletes {
    /// Deleted positions by the key of the data file (see `Files::same_file_key`).
    Positions(Arc<PositionDeletes>),
    /// Deleted keys.
    Equality(Arc<EqualityKeys>),
}

/// Deletes by what they were decoded from, the least recently used dropped first.
#[derive(Debug)]
pub struct DeleteCache {
    limit_bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<String, Entry>,
    used_bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    deletes: Deletes,
    size_bytes: usize,
    used_at: u64,
}

impl DeleteCache {
    /// A cache that holds about `limit_bytes`; what is larger alone is not kept.
    pub fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, state: Mutex::default() }
    }

    /// What was kept under `key`.
    pub fn find(&self, key: &str) -> Option<Deletes> {
        let mut state = self.lock();
        state.clock += 1;
        let now = state.clock;
        let entry = state.entries.get_mut(key)?;
        entry.used_at = now;
        Some(entry.deletes.clone())
    }

    /// Keeps `deletes` under `key`, dropping others where there is no room.
    pub fn keep(&self, key: String, deletes: Deletes, size_bytes: usize) {
        if size_bytes > self.limit_bytes {
            return;
        }
        let mut state = self.lock();
        state.clock += 1;
        let entry = Entry { deletes, size_bytes, used_at: state.clock };
        state.used_bytes += size_bytes;
        if let Some(old) = state.entries.insert(key, entry) {
            state.used_bytes -= old.size_bytes;
        }
        while state.used_bytes > self.limit_bytes {
            let oldest = state.entries.iter().min_by_key(|(_, entry)| entry.used_at).map(|(key, _)| key.clone());
            let Some(dropped) = oldest.and_then(|key| state.entries.remove(&key)) else { break };
            state.used_bytes -= dropped.size_bytes;
        }
    }

    /// A panic in another thread leaves the map whole: each change is complete before the next call that may panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for DeleteCache {
    /// 256 MiB.
    fn default() -> Self {
        Self::new(256 << 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> Deletes {
        Deletes::Positions(Arc::default())
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let cache = DeleteCache::new(10);
        cache.keep("a".into(), none(), 4);
        cache.keep("b".into(), none(), 4);
        assert!(cache.find("a").is_some());
        cache.keep("c".into(), none(), 4);
        assert!(cache.find("b").is_none());
        assert!(cache.find("a").is_some() && cache.find("c").is_some());
    }

    #[test]
    fn replacing_an_entry_does_not_leak_its_bytes() {
        let cache = DeleteCache::new(10);
        (0..10).for_each(|_| cache.keep("a".into(), none(), 6));
        assert_eq!(cache.lock().used_bytes, 6);
        cache.keep("large".into(), none(), 11);
        assert!(cache.find("large").is_none() && cache.find("a").is_some());
    }
}
