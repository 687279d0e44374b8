//! Defines the changes of a writer to one bucket, and their serialized form.

use std::collections::BTreeMap;
use std::sync::Arc;

use frazil_core::envelope::{self, EnvelopeKind};
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::hex;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh64::xxh64;

use crate::spec::index_manifest::IndexEntry;
use crate::spec::manifest::ManifestEntries;

const KIND: EnvelopeKind = EnvelopeKind { name: "commit message", key: "frazil.paimon.change", version: "3" };

/// A bucket of a partition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Home {
    /// The partition as a row with its arity.
    pub partition: Arc<[u8]>,
    /// The bucket; -2 for rows of a postpone table that are not yet assigned to a bucket.
    pub bucket: i32,
}

/// Files that were added and removed in a bucket. The kinds of the entries are ignored.
#[derive(Debug, Clone)]
pub struct Increment {
    /// The removed files, as recorded in manifests.
    pub removed: ManifestEntries,
    /// The added files.
    pub added: ManifestEntries,
    /// The added changelog files.
    pub changelog: ManifestEntries,
    /// The removed index files.
    pub index_removed: Vec<IndexEntry>,
    /// The added index files.
    pub index_added: Vec<IndexEntry>,
}

/// The changes of a writer to one bucket.
#[derive(Debug, Clone)]
pub struct BucketChange {
    /// The bucket.
    pub home: Home,
    /// The number of buckets of the partition; 0 or less if it is not fixed.
    pub total_buckets: i32,
    /// The snapshot that the writer read; None if it read none.
    pub base_snapshot: Option<i64>,
    /// A hash of the files above level 0 that the compaction knew, if its result depends on them: see [`upper_files`].
    pub upper_files: Option<u64>,
    /// The changes by writing.
    pub append: Increment,
    /// The changes by compaction.
    pub compact: Increment,
}

/// Returns a hash of the files of a bucket that are above level 0.
pub(crate) fn upper_files(bucket: &ManifestEntries) -> u64 {
    let files = bucket.file_names().iter().flatten().zip(bucket.levels().values());
    let mut files: Vec<_> = files.filter(|(_, level)| **level > 0).map(|(name, level)| (level, name)).collect();
    files.sort_unstable();
    let files: Vec<String> = files.into_iter().map(|(level, name)| format!("{level}/{name}")).collect();
    xxh64(files.join("/").as_bytes(), 0)
}

/// The values that the entries of a message share.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    partition: String,
    bucket: i32,
    total_buckets: i32,
    base_snapshot: Option<i64>,
    upper_files: Option<u64>,
    /// The numbers of entries in each list: removed, added and changelog of `append`, then of `compact`.
    entries: [usize; 6],
    /// The index files: removed and added of `append`, then of `compact`.
    indexes: [Vec<IndexEntry>; 4],
}

impl Home {
    /// Groups entries by bucket, and returns the row numbers of the entries of each bucket.
    pub(crate) fn rows(entries: &ManifestEntries) -> BTreeMap<Self, Vec<u32>> {
        let mut homes: BTreeMap<Self, Vec<u32>> = BTreeMap::new();
        for ((row, partition), bucket) in (0_u32..).zip(entries.partitions()).zip(entries.buckets().values()) {
            let home = Self { partition: partition.unwrap_or_default().into(), bucket: *bucket };
            homes.entry(home).or_default().push(row);
        }
        homes
    }
}

impl Increment {
    /// Creates an increment without files.
    ///
    /// # Errors
    /// Only internal errors.
    pub fn empty() -> Result<Self> {
        let none = ManifestEntries::concat(&[])?;
        Ok(Self {
            removed: none.clone(),
            added: none.clone(),
            changelog: none,
            index_removed: Vec::new(),
            index_added: Vec::new(),
        })
    }

    /// Returns whether no files were added or removed.
    pub fn is_empty(&self) -> bool {
        self.lists().iter().all(|entries| entries.is_empty()) && self.index_lists().iter().all(|list| list.is_empty())
    }

    pub(crate) fn lists(&self) -> [&ManifestEntries; 3] {
        [&self.removed, &self.added, &self.changelog]
    }

    pub(crate) fn index_lists(&self) -> [&Vec<IndexEntry>; 2] {
        [&self.index_removed, &self.index_added]
    }
}

impl BucketChange {
    /// Returns the message that [`BucketChange::open`] reads in another process.
    ///
    /// # Errors
    /// `LimitExceeded` and `CorruptData` for more than 2 GiB.
    pub fn seal(&self) -> Result<Vec<u8>> {
        let lists = self.lists();
        let header = Header {
            partition: hex::encode(&self.home.partition),
            bucket: self.home.bucket,
            total_buckets: self.total_buckets,
            base_snapshot: self.base_snapshot,
            upper_files: self.upper_files,
            entries: lists.map(ManifestEntries::len),
            indexes: self.index_lists().map(Clone::clone),
        };
        let header = serde_json::to_string(&header)
            .map_err(|error| Error::internal("a commit message cannot be serialized").caused_by(error))?;
        let all = ManifestEntries::concat(&lists.map(ManifestEntries::clone))?;
        envelope::seal(KIND, header, all.batch().clone())
    }

    /// Reads a message that [`BucketChange::seal`] returned.
    ///
    /// # Errors
    /// `Unsupported` for a message of another version; `CorruptData` for anything else.
    pub fn open(message: &[u8]) -> Result<Self> {
        let damaged = || Error::corrupt("the header of a commit message is corrupt");
        let (header, batch) = envelope::open(KIND, message)?;
        let header: Header = serde_json::from_str(&header).map_err(|error| damaged().caused_by(error))?;
        let partition = hex::decode(&header.partition).ok_or_else(damaged)?;
        let all = ManifestEntries::from_batch(&batch)?;
        let mut end = 0_usize;
        let mut next = header.entries.into_iter().map(|count| {
            let start = end;
            end = end.checked_add(count).filter(|end| *end <= all.len()).ok_or_else(damaged)?;
            all.slice(start..end)
        });
        let mut increment = || -> Result<Increment> {
            let mut list = || next.next().unwrap_or_else(|| Err(damaged()));
            Ok(Increment { removed: list()?, added: list()?, changelog: list()?, ..Increment::empty()? })
        };
        let (mut append, mut compact) = (increment()?, increment()?);
        [append.index_removed, append.index_added, compact.index_removed, compact.index_added] = header.indexes;
        if end != all.len() {
            return Err(damaged());
        }
        let home = Home { partition: partition.into(), bucket: header.bucket };
        let Header { total_buckets, base_snapshot, upper_files, .. } = header;
        let change = Self { home, total_buckets, base_snapshot, upper_files, append, compact };
        change.check().map_err(|error| damaged().caused_by(error))?;
        Ok(change)
    }

    /// Rejects entries of other buckets.
    pub(crate) fn check(&self) -> Result<()> {
        for entries in self.lists() {
            let is_here = entries.buckets().values().iter().all(|bucket| *bucket == self.home.bucket)
                && entries.partitions().iter().all(|partition| partition == Some(&self.home.partition));
            if !is_here {
                let message = format!("a change of bucket {} has files of another bucket", self.home.bucket);
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
        }
        let is_here = |entry: &IndexEntry| entry.bucket == self.home.bucket && *entry.partition == *self.home.partition;
        if self.index_lists().into_iter().flatten().all(is_here) {
            return Ok(());
        }
        let message = format!("a change of bucket {} has index files of another bucket", self.home.bucket);
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    fn lists(&self) -> [&ManifestEntries; 6] {
        let (append, compact) = (&self.append, &self.compact);
        [&append.removed, &append.added, &append.changelog, &compact.removed, &compact.added, &compact.changelog]
    }

    fn index_lists(&self) -> [&Vec<IndexEntry>; 4] {
        let ([removed, added], [compact_removed, compact_added]) =
            (self.append.index_lists(), self.compact.index_lists());
        [removed, added, compact_removed, compact_added]
    }
}
