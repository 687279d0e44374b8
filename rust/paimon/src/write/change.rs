//! What a writer did to one bucket, and its form between processes.

use std::collections::BTreeMap;
use std::sync::Arc;

use frazil_core::envelope::{self, Kind};
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::hex;
use serde::{Deserialize, Serialize};

use crate::spec::index_manifest::IndexEntry;
use crate::spec::manifest::ManifestEntries;

const KIND: Kind = Kind { name: "commit message", key: "frazil.paimon.change", version: "1" };

/// A bucket of a partition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Home {
    /// The partition as a row with its arity.
    pub partition: Arc<[u8]>,
    /// The bucket; -2 before rows of a postpone table have one.
    pub bucket: i32,
}

/// Files that came and went in a bucket. The kinds of entries are not looked at.
#[derive(Debug, Clone)]
pub struct Increment {
    /// Files that are no longer part of the table, as the manifests have them.
    pub removed: ManifestEntries,
    /// New files.
    pub added: ManifestEntries,
    /// New changelog files.
    pub changelog: ManifestEntries,
    /// Index files that are no longer part of the table.
    pub index_removed: Vec<IndexEntry>,
    /// New index files.
    pub index_added: Vec<IndexEntry>,
}

/// What a writer did to one bucket.
#[derive(Debug, Clone)]
pub struct BucketChange {
    /// The bucket.
    pub home: Home,
    /// How many buckets the partition has; not above 0 where their number is not fixed.
    pub total_buckets: i32,
    /// The snapshot that the writer read; None where it read none.
    pub base_snapshot: Option<i64>,
    /// What was written.
    pub append: Increment,
    /// What was compacted.
    pub compact: Increment,
}

/// What the entries of a message share.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    partition: String,
    bucket: i32,
    total_buckets: i32,
    base_snapshot: Option<i64>,
    /// How many entries each list has: removed, added and changelog of `append`, then of `compact`.
    entries: [usize; 6],
}

impl Home {
    /// Return the rows of entries by bucket.
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
    /// Return an increment without files.
    ///
    /// # Errors
    /// None that a caller could cause.
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

    /// Whether no file came or went.
    pub fn is_empty(&self) -> bool {
        self.lists().iter().all(|entries| entries.is_empty()) && !self.has_index()
    }

    pub(crate) fn lists(&self) -> [&ManifestEntries; 3] {
        [&self.removed, &self.added, &self.changelog]
    }

    fn has_index(&self) -> bool {
        !(self.index_removed.is_empty() && self.index_added.is_empty())
    }
}

impl BucketChange {
    /// Return the message that [`BucketChange::open`] reads in another process.
    ///
    /// # Errors
    /// `Unsupported` for index files; `LimitExceeded` and `CorruptData` for more than 2 GiB.
    pub fn seal(&self) -> Result<Vec<u8>> {
        if self.append.has_index() || self.compact.has_index() {
            return Err(Error::unsupported("commit messages with index files"));
        }
        let lists = self.lists();
        let header = Header {
            partition: hex::encode(&self.home.partition),
            bucket: self.home.bucket,
            total_buckets: self.total_buckets,
            base_snapshot: self.base_snapshot,
            entries: lists.map(ManifestEntries::len),
        };
        let header = serde_json::to_string(&header)
            .map_err(|error| Error::internal("a commit message is not JSON").caused_by(error))?;
        let all = ManifestEntries::concat(&lists.map(ManifestEntries::clone))?;
        envelope::seal(KIND, header, all.batch().clone())
    }

    /// Read a message of [`BucketChange::seal`].
    ///
    /// # Errors
    /// `Unsupported` for a message of another version; `CorruptData` for anything else.
    pub fn open(message: &[u8]) -> Result<Self> {
        let damaged = || Error::corrupt("the header of a commit message is damaged");
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
        let (append, compact) = (increment()?, increment()?);
        if end != all.len() {
            return Err(damaged());
        }
        let home = Home { partition: partition.into(), bucket: header.bucket };
        let change =
            Self { home, total_buckets: header.total_buckets, base_snapshot: header.base_snapshot, append, compact };
        change.check().map_err(|error| damaged().caused_by(error))?;
        Ok(change)
    }

    /// Refuses entries of other buckets.
    pub(crate) fn check(&self) -> Result<()> {
        for entries in self.lists() {
            let is_here = entries.buckets().values().iter().all(|bucket| *bucket == self.home.bucket)
                && entries.partitions().iter().all(|partition| partition == Some(&self.home.partition));
            if !is_here {
                let message = format!("a change of bucket {} has files of another bucket", self.home.bucket);
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
        }
        Ok(())
    }

    fn lists(&self) -> [&ManifestEntries; 6] {
        let (append, compact) = (&self.append, &self.compact);
        [&append.removed, &append.added, &append.changelog, &compact.removed, &compact.added, &compact.changelog]
    }
}
