//! In-memory storage, for tests and small tables.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::clock::now_ms;
use crate::error::{Error, ErrorKind, Result};

use super::location::{Location, redacted};
use super::{ObjectMeta, Storage, check_ranges, slice, too_long};

/// A map from canonical locations of any scheme to file contents.
#[derive(Debug, Default)]
pub struct MemoryStorage {
    files: Mutex<BTreeMap<String, StoredFile>>,
}

#[derive(Debug)]
struct StoredFile {
    content: Bytes,
    modified_ms: i64,
}

impl MemoryStorage {
    /// Returns the locations of all files, sorted.
    pub fn locations(&self) -> Vec<String> {
        self.files().keys().cloned().collect()
    }

    /// Locks the map. Poisoning is ignored, because a panic never leaves the map partially changed.
    fn files(&self) -> MutexGuard<'_, BTreeMap<String, StoredFile>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn content(&self, location: &str) -> Result<Bytes> {
        let key = Location::parse(location)?.canonical();
        let found = self.files().get(&key).map(|stored| stored.content.clone());
        found.ok_or_else(|| {
            Error::new(ErrorKind::MissingFile, "the file does not exist").with("path", redacted(location))
        })
    }
}

impl Storage for MemoryStorage {
    fn size(&self, location: &str) -> Result<u64> {
        self.content(location).map(|content| content.len() as u64)
    }

    fn read(&self, location: &str, limit_bytes: u64) -> Result<Bytes> {
        let content = self.content(location)?;
        let size = content.len() as u64;
        if size > limit_bytes { Err(too_long(location, size, limit_bytes)) } else { Ok(content) }
    }

    fn read_ranges(&self, location: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let content = self.content(location)?;
        check_ranges(location, ranges, content.len() as u64)?;
        ranges.iter().map(|range| slice(&content, range)).collect()
    }

    fn list_named(&self, folder: &str, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ObjectMeta>> {
        let prefix = format!("{}/", Location::parse(folder)?.canonical().trim_end_matches('/'));
        let files = self.files();
        let below = files.range(prefix.clone()..).take_while(|(location, _)| location.starts_with(&prefix));
        let is_wanted =
            |location: &str| location.get(prefix.len()..).is_some_and(|name| !name.contains('/') && wanted(name));
        let direct = below.filter(|(location, _)| is_wanted(location));
        Ok(direct
            .map(|(location, stored)| ObjectMeta {
                location: location.clone(),
                size_bytes: stored.content.len() as u64,
                modified_ms: stored.modified_ms,
            })
            .collect())
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>> {
        let prefix = format!("{}/", Location::parse(folder)?.canonical().trim_end_matches('/'));
        let files = self.files();
        let below = files.range(prefix.clone()..).take_while(|(location, _)| location.starts_with(&prefix));
        let names = below.filter_map(|(location, _)| Some(location.get(prefix.len()..)?.split_once('/')?.0));
        Ok(names.map(str::to_string).collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn put(&self, location: &str, content: Bytes) -> Result<()> {
        let key = Location::parse(location)?.canonical();
        self.files().insert(key, StoredFile { content, modified_ms: now_ms() });
        Ok(())
    }

    fn put_if_absent(&self, location: &str, content: Bytes) -> Result<()> {
        use std::collections::btree_map::Entry;
        match self.files().entry(Location::parse(location)?.canonical()) {
            Entry::Vacant(free) => {
                free.insert(StoredFile { content, modified_ms: now_ms() });
                Ok(())
            }
            Entry::Occupied(_) => {
                Err(Error::new(ErrorKind::AlreadyExists, "the file already exists").with("path", redacted(location)))
            }
        }
    }

    fn delete(&self, location: &str) -> Result<()> {
        let key = Location::parse(location)?.canonical();
        self.files().remove(&key);
        Ok(())
    }
}
