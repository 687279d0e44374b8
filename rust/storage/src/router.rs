//! A storage for all locations that a table references: each location is routed to the store of its scheme and bucket.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use frazil_core::error::Result;
use frazil_core::storage::local::turn_of_remote;
use frazil_core::storage::{Entries, LocalStorage, Location, ObjectMeta, Storage, Turn, Upload, Version};

use crate::config;
use crate::credentials::CredentialSource;
use crate::object::ObjectStorage;

/// A store, and the process that created it; connections cannot be used after a fork.
type StoreKey = (u32, String);

/// The locations in one store, with their positions among all requested ones.
type Batch<'a> = (ObjectStorage, Vec<(usize, &'a str)>);

/// A router to local files and object stores, each created on first use. Its debug form omits the properties.
pub struct Router {
    /// The number of the router in this process, greater than 0. Two routers are never considered equal, because their
    /// permissions may differ, and permissions from the environment can change.
    number: u64,
    properties: BTreeMap<String, String>,
    credentials: Option<Arc<dyn CredentialSource>>,
    stores: Mutex<HashMap<StoreKey, ObjectStorage>>,
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").finish_non_exhaustive()
    }
}

impl Router {
    /// Creates a router to local files and to the stores that `properties` and those of `credentials` configure.
    pub fn new(properties: BTreeMap<String, String>, credentials: Option<Arc<dyn CredentialSource>>) -> Self {
        static ROUTERS: AtomicU64 = AtomicU64::new(0);
        let number = ROUTERS.fetch_add(1, Ordering::Relaxed) + 1;
        Self { number, properties, credentials, stores: Mutex::default() }
    }

    /// Returns the store of a non-local location.
    pub(crate) fn store_of(&self, location: &Location) -> Result<ObjectStorage> {
        let root = format!("{}://{}/", location.scheme().name(), location.authority());
        let key = (std::process::id(), root);
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = stores.get(&key) {
            return Ok(store.clone());
        }
        let store = match &self.credentials {
            None => config::build(location, &self.properties, None)?,
            Some(source) => {
                let mut properties = self.properties.clone();
                properties.extend(source.current()?.properties);
                config::build(location, &properties, Some(source))?
            }
        };
        let made = ObjectStorage::new(store, &key.1)?;
        stores.insert(key, made.clone());
        Ok(made)
    }

    fn route<T>(&self, location: &str, work: impl FnOnce(&dyn Storage) -> Result<T>) -> Result<T> {
        let parsed = Location::parse_absolute(location)?;
        if parsed.is_local() { work(&LocalStorage) } else { work(&self.store_of(&parsed)?) }
    }
}

impl Storage for Router {
    fn size(&self, location: &str) -> Result<u64> {
        self.route(location, |storage| storage.size(location))
    }

    fn read(&self, location: &str, limit_bytes: u64) -> Result<Bytes> {
        self.route(location, |storage| storage.read(location, limit_bytes))
    }

    fn read_ranges(&self, location: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.route(location, |storage| storage.read_ranges(location, ranges))
    }

    fn version(&self, location: &str) -> Option<Version> {
        if Location::parse_absolute(location).ok()?.is_local() {
            return LocalStorage.version(location);
        }
        Some(Version { store: self.number, ..Version::default() })
    }

    /// Reads one batch per store. Locations that are not in a store, or whose store cannot be used, are read
    /// separately.
    fn read_all(&self, locations: &[&str], limit_bytes: u64) -> Vec<Result<Bytes>> {
        let mut results: Vec<Option<Result<Bytes>>> = locations.iter().map(|_| None).collect();
        let mut batches: BTreeMap<String, Batch<'_>> = BTreeMap::new();
        for (at, &location) in locations.iter().enumerate() {
            let remote = Location::parse(location).ok().filter(|parsed| !parsed.is_local());
            if let Some(store) = remote.and_then(|parsed| self.store_of(&parsed).ok()) {
                batches.entry(format!("{store:?}")).or_insert_with(|| (store, Vec::new())).1.push((at, location));
            }
        }
        for (store, batch) in batches.into_values() {
            let wanted: Vec<&str> = batch.iter().map(|(_, location)| *location).collect();
            for ((at, _), content) in batch.iter().zip(store.read_all(&wanted, limit_bytes)) {
                if let Some(slot) = results.get_mut(*at) {
                    *slot = Some(content);
                }
            }
        }
        let alone = |(result, location): (Option<Result<Bytes>>, &&str)| match result {
            Some(result) => result,
            None => self.read(location, limit_bytes),
        };
        results.into_iter().zip(locations).map(alone).collect()
    }

    fn list_named(&self, folder: &str, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ObjectMeta>> {
        self.route(folder, |storage| storage.list_named(folder, wanted))
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>> {
        self.route(folder, |storage| storage.folders(folder))
    }

    fn entries(&self, folder: &str) -> Result<Entries> {
        self.route(folder, |storage| storage.entries(folder))
    }

    fn real_folder(&self, folder: &str) -> Option<String> {
        self.route(folder, |storage| Ok(storage.real_folder(folder))).ok()?
    }

    fn put(&self, location: &str, content: Bytes) -> Result<()> {
        self.route(location, |storage| storage.put(location, content))
    }

    fn put_if_absent(&self, location: &str, content: Bytes) -> Result<()> {
        self.route(location, |storage| storage.put_if_absent(location, content))
    }

    fn upload(&self, location: &str) -> Result<Option<Box<dyn Upload>>> {
        self.route(location, |storage| storage.upload(location))
    }

    fn delete(&self, location: &str) -> Result<()> {
        self.route(location, |storage| storage.delete(location))
    }

    fn turn(&self, folder: &str) -> Option<Turn> {
        let parsed = Location::parse_absolute(folder).ok()?;
        if parsed.is_local() { LocalStorage.turn(folder) } else { turn_of_remote(&parsed.canonical()) }
    }
}
