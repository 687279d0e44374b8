//! The index files of a snapshot: a list that is complete, so that each commit with index files writes it again (Java's
//! `IndexManifestFileHandler`).

use std::collections::{BTreeMap, HashMap, HashSet};

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::overwrite::Replaced;
use crate::spec::index_manifest::{DELETION_VECTORS, HASH, IndexEntry};
use crate::spec::manifest::ADD;
use crate::spec::snapshot::Snapshot;
use crate::table::Table;
use crate::write::change::Home;

/// The index files that a snapshot adds and removes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct IndexChanges {
    pub(super) removed: Vec<IndexEntry>,
    pub(super) added: Vec<IndexEntry>,
    /// The buckets with new rows, and the snapshots that their writers read; None before the first snapshot.
    pub(super) planned: BTreeMap<Home, Option<i64>>,
}

/// The indexes of the keys of a partition, by bucket.
type KeyIndexes = BTreeMap<i32, IndexEntry>;

impl IndexChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }

    /// Returns the list after these changes, or None if it is unchanged. An overwrite also removes the index files of the
    /// partitions that it replaces. `has_one_vector_file` is whether a bucket has one file of deletion vectors.
    ///
    /// # Errors
    /// `CommitConflict` if a removed file is not in the list, or a bucket would have two indexes of keys or two files of
    /// deletion vectors.
    pub(super) fn applied(
        &self,
        before: &[IndexEntry],
        replaced: Option<&Replaced>,
        has_one_vector_file: bool,
    ) -> Result<Option<Vec<IndexEntry>>> {
        let mut after = before.to_vec();
        if let Some(replaced) = replaced.filter(|_| !before.is_empty()) {
            let partitions = before.iter().map(|entry| Some(&entry.partition)).collect();
            let is_replaced = replaced.of(&partitions)?;
            let mut kept = is_replaced.values().iter().map(|is_replaced| !is_replaced);
            after.retain(|_| kept.next().unwrap_or(true));
        }
        for removed in &self.removed {
            let place = after.iter().position(|entry| is_same(entry, removed));
            let place = place.ok_or_else(|| conflict("another writer replaced an index file of the same bucket"))?;
            after.remove(place);
        }
        after.extend(self.added.iter().map(|entry| IndexEntry { kind: ADD, ..entry.clone() }));
        let mut buckets = BTreeMap::new();
        let is_added = |entry: &IndexEntry| self.added.iter().any(|added| is_in_bucket_of(added, entry));
        let is_single = |entry: &&IndexEntry| entry.index_type == HASH || has_one_vector_file && is_added(entry);
        for entry in after.iter().filter(is_single) {
            let bucket = (&entry.index_type, &entry.partition, entry.bucket);
            if let Some(other) = buckets.insert(bucket, &entry.file_name) {
                return Err(conflict("another writer added an index file for the same bucket")
                    .with("bucket", entry.bucket)
                    .with("index file", other));
            }
        }
        Ok((after != before).then_some(after))
    }

    /// Returns the changes of indexes of keys after `newest`, whose keys may have been added since the buckets of new rows
    /// were determined. `write` writes an index that has the keys of both.
    ///
    /// # Errors
    /// `CommitConflict` if another writer assigned one of the keys to another bucket, or replaced the rows of a bucket.
    /// Otherwise a key would have two buckets, and its rows would not be merged.
    pub(super) fn reconciled(
        &self,
        table: &Table,
        newest: Option<&Snapshot>,
        context: &Context,
        mut write: impl FnMut(&Home, Vec<i32>) -> Result<IndexEntry>,
    ) -> Result<Self> {
        let mut changes = self.clone();
        let newest_id = newest.map(|snapshot| snapshot.id);
        let mut partitions: BTreeMap<(Option<i64>, &[u8]), Vec<&Home>> = BTreeMap::new();
        for (home, planned) in self.planned.iter().filter(|(_, planned)| **planned != newest_id) {
            partitions.entry((*planned, &home.partition)).or_default().push(home);
        }
        for ((planned, partition), homes) in partitions {
            let planned = match planned.map(|id| table.snapshot(id)).transpose() {
                Err(error) if error.kind() == ErrorKind::NoSuchSnapshot => {
                    return Err(conflict("the snapshot that the buckets of new rows were determined from has expired")
                        .caused_by(error));
                }
                found => found?,
            };
            let name = |snapshot: Option<&Snapshot>| snapshot.and_then(|snapshot| snapshot.index_manifest.clone());
            if name(planned.as_ref()) == name(newest) {
                continue;
            }
            let keys = PartitionIndexes {
                table,
                before: key_indexes(table, planned.as_ref(), partition, context)?,
                after: key_indexes(table, newest, partition, context)?,
            };
            keys.reconcile(&mut changes, &homes, &mut write)?;
        }
        Ok(changes)
    }
}

fn is_in_bucket_of(a: &IndexEntry, b: &IndexEntry) -> bool {
    (&a.index_type, &a.partition, a.bucket) == (&b.index_type, &b.partition, b.bucket)
}

/// The indexes of a partition when the buckets of new rows were determined, and those of the newest snapshot.
struct PartitionIndexes<'a> {
    table: &'a Table,
    before: KeyIndexes,
    after: KeyIndexes,
}

impl PartitionIndexes<'_> {
    fn reconcile(
        &self,
        changes: &mut IndexChanges,
        homes: &[&Home],
        write: &mut dyn FnMut(&Home, Vec<i32>) -> Result<IndexEntry>,
    ) -> Result<()> {
        // The buckets of the keys that others may have added.
        let mut others: HashMap<i32, i32> = HashMap::new();
        for (bucket, index) in &self.after {
            if self.before.get(bucket).is_none_or(|known| !is_same(known, index)) {
                others.extend(self.table.key_hashes(index)?.into_iter().map(|hash| (hash, *bucket)));
            }
        }
        for home in homes {
            let bucket = home.bucket;
            let (before, after) = (self.before.get(&bucket), self.after.get(&bucket));
            let is_of_home = |entry: &&mut IndexEntry| entry.bucket == bucket && *entry.partition == *home.partition;
            let added = changes.added.iter_mut().find(is_of_home);
            let known = before.map_or(Ok(Vec::new()), |index| self.table.key_hashes(index))?;
            let is_changed = match (before, after) {
                (Some(before), Some(after)) => !is_same(before, after),
                (before, after) => before.is_some() != after.is_some(),
            };
            if is_changed && known.iter().any(|hash| others.get(hash) != Some(&bucket)) {
                return Err(conflict("another writer replaced the rows of a bucket").with("bucket", bucket));
            }
            let Some(added) = added else { continue };
            let known: HashSet<i32> = known.into_iter().collect();
            let mut hashes = self.table.key_hashes(added)?;
            let is_elsewhere = |hash: &&i32| others.get(*hash).is_some_and(|other| *other != bucket);
            if let Some(hash) = hashes.iter().filter(|hash| !known.contains(*hash)).find(is_elsewhere) {
                return Err(conflict("another writer assigned a key to another bucket")
                    .with("bucket", bucket)
                    .with("key hash", hash));
            }
            if let (true, Some(after)) = (is_changed, after) {
                let own: HashSet<i32> = hashes.iter().copied().collect();
                hashes.extend(self.table.key_hashes(after)?.into_iter().filter(|hash| !own.contains(hash)));
                *added = write(home, hashes)?;
                changes.removed.retain(|entry| entry.bucket != bucket || *entry.partition != *home.partition);
                changes.removed.push(after.clone());
            }
        }
        Ok(())
    }
}

fn key_indexes(table: &Table, snapshot: Option<&Snapshot>, partition: &[u8], context: &Context) -> Result<KeyIndexes> {
    let all = snapshot.map_or(Ok(Vec::new()), |snapshot| table.index_entries(snapshot, context))?;
    let keys = all.into_iter().filter(|entry| entry.index_type == HASH && entry.partition == partition);
    Ok(keys.map(|entry| (entry.bucket, entry)).collect())
}

/// Returns whether there are deletion vectors, which belong to data files.
pub(super) fn has_vectors(entries: &[IndexEntry]) -> bool {
    entries.iter().any(|entry| entry.index_type == DELETION_VECTORS)
}

fn is_same(one: &IndexEntry, other: &IndexEntry) -> bool {
    let key = |entry: &IndexEntry| (entry.bucket, entry.index_type.clone(), entry.file_name.clone());
    one.partition == other.partition && key(one) == key(other)
}

fn conflict(message: &str) -> Error {
    Error::new(ErrorKind::CommitConflict, message).hint("write the rows again")
}
