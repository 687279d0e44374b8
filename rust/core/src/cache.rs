//! What was decoded from files that never change, kept for the next read of them: one cache for the process, by bytes.
//!
//! An entry is found only by who can name the file: its key is the place after relocation and confinement, the store by
//! which it is reached, and what tells this file from another that lay there before (see [`FileId`]). Nobody waits for
//! what is missing: it is decoded again. The least recently used entries go first.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::storage::files::FileId;

/// How many bytes are kept unless it is said otherwise: 256 MiB.
pub const DEFAULT_LIMIT_BYTES: u64 = 256 << 20;

/// What a cache did and what it holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Times that something was asked for and there.
    pub hits: u64,
    /// Times that something was asked for and not there.
    pub misses: u64,
    /// Entries that went because of the limit; those that [`Cache::clear`] dropped do not count.
    pub evictions: u64,
    /// Entries now.
    pub entries: u64,
    /// Bytes that they hold.
    pub bytes: u64,
}

/// Values of any type, by file and kind. Shared by all threads.
#[derive(Debug)]
pub struct Cache {
    /// The process that the cache belongs to; 0 before it is first used.
    process: AtomicU32,
    /// The cache of a process that was forked from this one: a lock that another thread held stays locked there.
    forked: OnceLock<Box<Cache>>,
    limit_bytes: AtomicU64,
    /// As in the state, to be read without the lock.
    bytes: AtomicU64,
    state: Mutex<Option<State>>,
}

#[derive(Debug, Default)]
struct State {
    kept: Lru<Key, Arc<dyn Any + Send + Sync>>,
    hits: u64,
    misses: u64,
    evictions: u64,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    kind: &'static str,
    file: FileId,
}

/// Values by key, each of some bytes. The least recently used go first.
#[derive(Debug)]
pub struct Lru<K: ?Sized, V> {
    entries: HashMap<Arc<K>, Entry<V>>,
    by_use: BTreeMap<u64, Arc<K>>,
    clock: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Entry<V> {
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
    /// The value of a key, which is used now.
    pub fn find(&mut self, key: &K) -> Option<&V> {
        let entry = self.entries.get_mut(key)?;
        let key = self.by_use.remove(&entry.used_at)?;
        self.clock += 1;
        entry.used_at = self.clock;
        self.by_use.insert(self.clock, key);
        Some(&entry.value)
    }

    /// Puts a value of so many bytes in place of what the key had, and drops others until no more than `limit` bytes are
    /// held; gives how many went for that. What is larger alone is not kept.
    pub fn keep(&mut self, key: Arc<K>, value: V, bytes: u64, limit: u64) -> u64 {
        if bytes > limit {
            return 0;
        }
        self.remove(&key);
        let gone = self.shrink(limit - bytes);
        self.clock += 1;
        self.bytes += bytes;
        self.by_use.insert(self.clock, key.clone());
        self.entries.insert(key, Entry { value, bytes, used_at: self.clock });
        gone
    }

    /// Drops values until no more than `bytes` are held; gives how many.
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

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The bytes that are held.
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
    /// An empty cache of this limit.
    pub const fn new(limit_bytes: u64) -> Self {
        Self {
            process: AtomicU32::new(0),
            forked: OnceLock::new(),
            limit_bytes: AtomicU64::new(limit_bytes),
            bytes: AtomicU64::new(0),
            state: Mutex::new(None),
        }
    }

    /// The cache of this process. A forked process begins with an empty one of the same limit.
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

    /// What was kept of a file.
    pub fn find<T: Send + Sync + 'static>(&self, kind: &'static str, file: &FileId) -> Option<Arc<T>> {
        let mut guard = self.lock();
        let state = guard.get_or_insert_default();
        let key = Key { kind, file: file.clone() };
        let value = state.kept.find(&key).and_then(|value| value.clone().downcast::<T>().ok());
        if value.is_some() {
            state.hits += 1;
        } else {
            state.misses += 1;
        }
        value
    }

    /// Keeps `value`, which holds `bytes`, in place of what was kept of the file; others go where there is no room. What
    /// is larger than the limit alone is not kept.
    pub fn keep<T: Send + Sync + 'static>(&self, kind: &'static str, file: FileId, value: Arc<T>, bytes: u64) {
        let mut guard = self.lock();
        let state = guard.get_or_insert_default();
        state.evictions += state.kept.keep(Arc::new(Key { kind, file }), value, bytes, self.limit_bytes());
        self.bytes.store(state.kept.bytes(), Ordering::Relaxed);
    }

    /// Drops entries until no more than `bytes` are held.
    pub fn shrink(&self, bytes: u64) {
        if self.bytes.load(Ordering::Relaxed) <= bytes {
            return;
        }
        let mut guard = self.lock();
        let state = guard.get_or_insert_default();
        state.evictions += state.kept.shrink(bytes);
        self.bytes.store(state.kept.bytes(), Ordering::Relaxed);
    }

    /// How many bytes are held at most.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes.load(Ordering::Relaxed)
    }

    /// Sets the limit, 0 for no cache; what is above it goes.
    pub fn set_limit_bytes(&self, limit_bytes: u64) {
        self.limit_bytes.store(limit_bytes, Ordering::Relaxed);
        self.shrink(limit_bytes);
    }

    /// Drops everything. The counts of hits, misses and evictions go on.
    pub fn clear(&self) {
        let mut guard = self.lock();
        guard.get_or_insert_default().kept = Lru::default();
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// What it did and what it holds.
    pub fn stats(&self) -> Stats {
        let guard = self.lock();
        let Some(State { kept, hits, misses, evictions }) = &*guard else { return Stats::default() };
        Stats { hits: *hits, misses: *misses, evictions: *evictions, entries: kept.len() as u64, bytes: kept.bytes() }
    }

    /// A panic in another thread leaves the state whole: each change is complete before the next call that may panic.
    fn lock(&self) -> MutexGuard<'_, Option<State>> {
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
    fn the_least_recently_used_goes_first() {
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
    fn bytes_are_counted_whatever_happens() {
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
