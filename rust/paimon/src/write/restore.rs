//! Reads the state of buckets that a writer continues.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::change::Home;
use crate::spec::index_manifest::{HASH, IndexEntry};
use crate::spec::manifest::WantedFields;
use crate::spec::partition_path::POSTPONED;
use crate::spec::snapshot::Snapshot;
use crate::table::Table;

/// The reader of the state of buckets in the latest snapshot, which is read on demand.
#[derive(Debug)]
pub struct Restorer {
    table: Table,
    context: Context,
    snapshot: Option<Snapshot>,
    /// The partitions that have been read; None for all.
    read: Option<HashSet<Arc<[u8]>>>,
    /// The numbers of buckets of partitions.
    total_buckets: HashMap<Arc<[u8]>, i32>,
    max_sequences: HashMap<Home, i64>,
    /// The indexes of the keys of dynamic buckets; None until they are needed.
    key_indexes: Option<Vec<IndexEntry>>,
}

impl Restorer {
    /// Creates a reader for the latest snapshot.
    ///
    /// # Errors
    /// As for [`Table::latest_snapshot`].
    pub fn try_new(table: &Table, context: &Context) -> Result<Self> {
        Ok(Self {
            table: table.clone(),
            context: context.clone(),
            snapshot: table.latest_snapshot()?,
            read: Some(HashSet::new()),
            total_buckets: HashMap::new(),
            max_sequences: HashMap::new(),
            key_indexes: None,
        })
    }

    /// Returns the snapshot, or None before the first one.
    pub fn snapshot(&self) -> Option<i64> {
        self.snapshot.as_ref().map(|snapshot| snapshot.id)
    }

    /// Reads the state of these buckets.
    ///
    /// # Errors
    /// `CorruptManifest` for manifests that do not decode.
    pub fn read<'a>(&mut self, homes: impl Iterator<Item = &'a Home>) -> Result<()> {
        let Some(snapshot) = &self.snapshot else { return Ok(()) };
        let Some(read) = &mut self.read else { return Ok(()) };
        let new: HashSet<_> =
            homes.map(|home| &home.partition).filter(|partition| !read.contains(*partition)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let wanted = read.is_empty().then(|| new.iter().map(|partition| partition.to_vec()).collect::<BTreeSet<_>>());
        let files = self.table.live_files(snapshot, wanted.as_ref(), WantedFields::FILES, &self.context)?;
        // Manifests are read at most twice: for the first partitions only those, and then for all partitions.
        match wanted {
            Some(_) => read.extend(new.into_iter().cloned()),
            None => self.read = None,
        }
        let mut last: Option<Arc<[u8]>> = None;
        let buckets = files.buckets().values().iter().zip(files.total_buckets().iter());
        let rows = files.partitions().iter().zip(buckets).zip(files.max_sequence_numbers().values());
        for ((partition, (bucket, total)), sequence) in rows {
            if *bucket == POSTPONED {
                continue;
            }
            let partition = partition.unwrap_or_default();
            let partition = last.filter(|last| **last == *partition).unwrap_or_else(|| partition.into());
            last = Some(partition.clone());
            if let Some(total) = total {
                self.total_buckets.insert(partition.clone(), total);
            }
            let known = self.max_sequences.entry(Home { partition, bucket: *bucket }).or_insert(*sequence);
            *known = (*known).max(*sequence);
        }
        Ok(())
    }

    /// Returns the number of buckets of a partition that has been read, or None if it has no files.
    pub(super) fn total_buckets(&self, partition: &[u8]) -> Option<i32> {
        self.total_buckets.get(partition).copied()
    }

    /// Returns the sequence number for the next row of a bucket.
    ///
    /// # Errors
    /// `InvalidArgument` if the number of buckets of the partition differs from `total_buckets`, or `CommitConflict` if
    /// another writer changed it; `LimitExceeded` if sequence numbers are exhausted.
    pub fn next_sequence(&self, home: &Home, total_buckets: i32) -> Result<i64> {
        if let Some(found) = self.total_buckets.get(&home.partition).filter(|found| **found != total_buckets) {
            if self.snapshot.as_ref().is_some_and(|snapshot| snapshot.schema_id > self.table.schema().id) {
                let message = "another writer changed the number of buckets of the table while rows were written";
                return Err(Error::new(ErrorKind::CommitConflict, message).hint("write the rows again"));
            }
            let message = format!(
                "the table has the option `bucket` = {total_buckets}, but a partition of the rows has {found} buckets"
            );
            return Err(Error::invalid(message).hint("call rescale() to write the rows of the partition again"));
        }
        let next = self.max_sequences.get(home).map_or(Some(0), |greatest| greatest.checked_add(1));
        next.ok_or_else(|| Error::new(ErrorKind::LimitExceeded, "the sequence numbers of a bucket are exhausted"))
    }

    /// Returns the indexes of the keys of a partition, one for each bucket, and their hashes.
    ///
    /// # Errors
    /// `CorruptManifest` for an index manifest that does not decode.
    pub(crate) fn key_indexes(&mut self, partition: &[u8]) -> Result<Vec<IndexEntry>> {
        if self.key_indexes.is_none() {
            let snapshot = self.snapshot.as_ref();
            let all = snapshot.map_or(Ok(Vec::new()), |snapshot| self.table.index_entries(snapshot, &self.context))?;
            self.key_indexes = Some(all.into_iter().filter(|entry| entry.index_type == HASH).collect());
        }
        let known = self.key_indexes.iter().flatten();
        Ok(known.filter(|entry| entry.partition == partition).cloned().collect())
    }

    /// Returns the hashes of the keys in an index.
    ///
    /// # Errors
    /// As for [`Table::key_hashes`].
    pub(crate) fn key_hashes(&self, index: &IndexEntry) -> Result<Vec<i32>> {
        self.table.key_hashes(index)
    }
}
