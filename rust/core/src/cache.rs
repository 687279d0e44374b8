//! A cache of decoded data from files that never change, for later reads: one cache per process, limited by bytes.
//!
//! An entry can be found only by a caller that has access to the file. Its key consists of the location after
//! relocation and confinement, the store, and the properties that distinguish the file from an earlier one at that
//! location (see [`FileId`]). If an entry is missing, each thread decodes the file itself instead of waiting for
//! another one. The least recently used entries are evicted first.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::storage::files::FileId;

/// The default limit: 256 MiB.
pub const DEFAULT_LIMIT_BYTES: u64 = 256 << 20;

/// The statistics and the size of a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of look-ups that found an entry.
    pub hits: u64,
    /// The number of look-ups that found no entry.
    pub misses: u64,
    /// The number of entries that were evicted because of the limit; entries that [`Cache::clear`] removed are not
    /// counted.
    pub evictions: u64,
    /// The current number of entries.
    pub entries: u64,
    /// The size of the entries in bytes.
    pub bytes: u64,
}

/// A cache of values of any type, by file and kind. Shared by all threads.
#[derive(Debug)]
pub struct Cache {
    /// The process that owns the cache; 0 before it is first used.
    process: AtomicU32,
    /// The cache of a process that was forked from this one. The child cannot use the parent's cache, because a lock
    /// that another thread held during the fork is never released in the child.
    forked: OnceLock<Box<Cache>>,
    limit_bytes: AtomicU64,
    /// A copy of the size in `state`, which can be read without locking.
    bytes: AtomicU64,
    state: Mutex<Option<CacheState>>,
}

#[derive(Debug, Default)]
struct CacheState {
    kept: Lru<CacheKey, Arc<dyn Any + Send + Sync>>,
    hits: u64,
    misses: u64,
    evictions: u64,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CacheKey {
    kind: &'static str,
    file: FileId,
}

/// A map of values with a size in bytes each. The least recently used value is evicted first.
#[derive(Debug)]
pub struct Lru<K: ?Sized, V> {
    entries: HashMap<Arc<K>, CacheEntry<V>>,
    by_use: BTreeMap<u64, Arc<K>>,
    clock: u64,
    bytes: u64,
}

#[derive(Debug)]
struct CacheEntry<V> {
    value: V,
    bytes: u64,
    used_at: u64,
}

impl<K: ?Sized, V> Default for Lru<K, V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), by_use: BTreeMap::new(), clock: 0, bytes: 0 }
    }
}

impl<K: Eq + Hash + ?Sized, V> Lru<K, V> {
    /// Returns the value of a key, and marks it as used.
    pub fn find(&mut self, key: &K) -> Option<&V> {
        let entry = self.entries.get_mut(key)?;
        let key = self.by_use.remove(&entry.used_at)?;
        self.clock += 1;
        entry.used_at = self.clock;
        self.by_use.insert(self.clock, key);
        Some(&entry.value)
    }

    /// Stores a value of `bytes` bytes, replacing the key's previous value, and evicts other values until at most
    /// `limit` bytes are used. Returns the number of evicted values. A value that is larger than the limit is not
    /// stored.
    pub fn keep(&mut self, key: Arc<K>, value: V, bytes: u64, limit: u64) -> u64 {
        if bytes > limit {
            return 0;
        }
        self.remove(&key);
        let gone = self.shrink(limit - bytes);
        self.clock += 1;
        self.bytes += bytes;
        self.by_use.insert(self.clock, key.clone());
        self.entries.insert(key, CacheEntry { value, bytes, used_at: self.clock });
        gone
    }

    /// Evicts values until at most `bytes` are used, and returns their number.
    pub fn shrink(&mut self, bytes: u64) -> u64 {
        let mut gone = 0;
        while self.bytes > bytes
            && let Some((_, key)) = self.by_use.first_key_value()
        {
            let key = key.clone();
            self.remove(&key);
            gone += 1;
        }
        gone
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the size of the values in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn remove(&mut self, key: &K) {
        if let Some(entry) = self.entries.remove(key) {
            self.by_use.remove(&entry.used_at);
            self.bytes -= entry.bytes;
        }
    }
}

impl Cache {
    /// Creates an empty cache with this limit.
    pub const fn new(limit_bytes: u64) -> Self {
        Self {
            process: AtomicU32::new(0),
            forked: OnceLock::new(),
            limit_bytes: AtomicU64::new(limit_bytes),
            bytes: AtomicU64::new(0),
            state: Mutex::new(None),
        }
    }

    /// Returns the cache of this process. A forked process begins with an empty cache of the same limit.
    pub fn of_process() -> &'static Self {
        static ROOT: Cache = Cache::new(DEFAULT_LIMIT_BYTES);
        let process = std::process::id();
        let mut cache = &ROOT;
        loop {
            match cache.process.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return cache,
                Err(owner) if owner == process => return cache,
                Err(_) => cache = cache.forked.get_or_init(|| Box::new(Self::new(cache.limit_bytes()))),
            }
        }
    }

    /// Returns the cached value of a file.
    pub fn find<T: Send + Sync + 'static>(&self, kind: &'static str, file: &FileId) -> Option<Arc<T>> {
        let mut guard = self.lock();
        let state = guard.get_or_insert_default();
        let key = CacheKey { kind, file: file.clone() };
        let value = state.kept.find(&key).and_then(|value| value.clone().downcast::<T>().ok());
        if value.is_some() {
            state.hits += 1;
        } else {
            state.misses += 1;
        }
        value
    }

    /// Stores `value`, of `bytes` bytes, replacing the file's previous value. Other entries are evicted if there is no
    /// room. A value that is larger than the limit is not stored.
    pub fn keep<T: Send + Sync + 'static>(&self, kind: &'static str, file: FileId, value: Arc<T>, bytes: u64) {
        let mut guard = self.lock();
        let state = guard.get_or_insert_default();
        state.evictions += state.kept.keep(Arc::new(CacheKey { kind, file }), value, bytes, self.limit_bytes());
        self.bytes.store(state.kept.bytes(), Ordering::Relaxed);
    }

    /// Evicts entries until at most `bytes` are used.
    pub fn shrink(&self, bytes: u64) {
        if self.bytes.load(Ordering::Relaxed) <= bytes {
            return;
        }
        let mut guard = self.lock();
        let state = guard.get_or_insert_default();
        state.evictions += state.kept.shrink(bytes);
        self.bytes.store(state.kept.bytes(), Ordering::Relaxed);
    }

    /// Returns the limit in bytes.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes.load(Ordering::Relaxed)
    }

    /// Sets the limit, 0 for no cache, and evicts entries that exceed it.
    pub fn set_limit_bytes(&self, limit_bytes: u64) {
        self.limit_bytes.store(limit_bytes, Ordering::Relaxed);
        self.shrink(limit_bytes);
    }

    /// Removes all entries. The counts of hits, misses and evictions are kept.
    pub fn clear(&self) {
        let mut guard = self.lock();
        guard.get_or_insert_default().kept = Lru::default();
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// Returns the statistics and the size.
    pub fn stats(&self) -> Stats {
        let guard = self.lock();
        let Some(CacheState { kept, hits, misses, evictions }) = &*guard else { return Stats::default() };
        Stats { hits: *hits, misses: *misses, evictions: *evictions, entries: kept.len() as u64, bytes: kept.bytes() }
    }

    /// Locks the state, even after a panic in another thread: no call that may panic leaves the state inconsistent.
    fn lock(&self) -> MutexGuard<'_, Option<CacheState>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Version;

    fn file(location: &str) -> FileId {
        FileId { location: location.into(), version: Version::default() }
    }

    fn keep(cache: &Cache, location: &str, bytes: u64) {
        cache.keep("number", file(location), Arc::new(bytes), bytes);
    }

    fn has(cache: &Cache, location: &str) -> bool {
        cache.find::<u64>("number", &file(location)).is_some()
    }

    #[test]
    fn least_recently_used_entry_is_evicted_first() {
        let cache = Cache::new(10);
        keep(&cache, "a", 4);
        keep(&cache, "b", 4);
        assert!(has(&cache, "a"));
        keep(&cache, "c", 4);
        assert!(!has(&cache, "b"));
        assert!(has(&cache, "a") && has(&cache, "c"));
        assert_eq!(cache.stats(), Stats { hits: 3, misses: 1, evictions: 1, entries: 2, bytes: 8 });
    }

    #[test]
    fn byte_counts_stay_accurate() {
        let cache = Cache::new(10);
        (0..10).for_each(|_| keep(&cache, "a", 6));
        assert_eq!((cache.stats().entries, cache.stats().bytes), (1, 6));
        keep(&cache, "large", 11);
        assert!(!has(&cache, "large") && has(&cache, "a"));
        keep(&cache, "b", 4);
        cache.shrink(5);
        assert_eq!((cache.stats().bytes, has(&cache, "b")), (4, true));
        cache.set_limit_bytes(3);
        assert_eq!((cache.stats().entries, cache.stats().bytes), (0, 0));
        cache.set_limit_bytes(10);
        keep(&cache, "a", 10);
        cache.clear();
        assert_eq!((cache.stats().entries, cache.stats().bytes, cache.stats().evictions), (0, 0, 2));
    }

    #[test]
    fn another_store_another_version_and_another_kind_are_other_entries() {
        let cache = Cache::new(10);
        keep(&cache, "a", 1);
        let other = |version| FileId { version, ..file("a") };
        for version in [
            Version { store: 1, ..Version::default() },
            Version { size_bytes: 1, ..Version::default() },
            Version { number: 1, ..Version::default() },
            Version { modified_ns: 1, ..Version::default() },
        ] {
            assert!(cache.find::<u64>("number", &other(version)).is_none());
        }
        assert!(cache.find::<u64>("text", &file("a")).is_none());
        assert!(cache.find::<String>("number", &file("a")).is_none());
        assert!(has(&cache, "a"));
    }

    #[test]
    fn threads_share_it() {
        let cache = Cache::new(100);
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let cache = &cache;
                scope.spawn(move || {
                    for i in 0..1000 {
                        let name = ((i * (thread + 1)) % 40).to_string();
                        if !has(cache, &name) {
                            keep(cache, &name, i % 9);
                        }
                    }
                });
            }
        });
        let stats = cache.stats();
        assert_eq!(stats.hits + stats.misses, 4000);
        assert!(stats.bytes <= 100);
        cache.shrink(0);
        let empty = cache.stats();
        assert_eq!(empty.bytes, 0);
    }
}
