//! The request for a commit, and its result.

use std::collections::BTreeMap;

use frazil_core::error::{Error, Result};

use super::changes::Changes;

/// The identifier of batch commits. It need not be unique, because each batch commit has a unique user.
pub const BATCH_IDENTIFIER: i64 = i64::MAX;

/// The rows that a commit replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overwrite {
    /// All rows.
    Table,
    /// The rows of partitions with these values, as strings, in the named partition columns; None is NULL.
    Partitions(Vec<BTreeMap<String, Option<String>>>),
    /// The rows of the partitions that have new files.
    Dynamic,
}

/// The request for a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The user of the commit. A streaming writer uses one user for all of its commits.
    pub user: String,
    /// The increasing number of a streaming commit; [`BATCH_IDENTIFIER`] for batch commits.
    pub identifier: i64,
    /// The watermark of the input. The snapshot has the greater of this watermark and that of the previous snapshot.
    pub watermark: Option<i64>,
    /// The properties of the snapshot.
    pub properties: BTreeMap<String, String>,
    /// The rows that are replaced; None for an append.
    pub overwrite: Option<Overwrite>,
    /// Whether appends are checked against the files of the latest snapshot.
    pub checks_append: bool,
    /// The statistics that the snapshot records: the id of their schema and the name of their file. None for those of
    /// the previous snapshot.
    pub statistics: Option<(i64, String)>,
}

impl Request {
    /// Returns the request of a batch writer that adds files.
    pub fn append(user: &str) -> Self {
        Self {
            user: user.to_string(),
            identifier: BATCH_IDENTIFIER,
            watermark: None,
            properties: BTreeMap::new(),
            overwrite: None,
            checks_append: false,
            statistics: None,
        }
    }

    /// Returns whether this is a batch commit, not part of a sequence of commits.
    pub fn is_batch(&self) -> bool {
        self.identifier == BATCH_IDENTIFIER
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.user.is_empty() {
            return Err(Error::invalid("a commit needs a non-empty user"));
        }
        Ok(())
    }
}

/// The result of a commit.
#[derive(Debug, Default)]
pub struct Committed {
    /// The snapshots, ascending; empty if there was nothing to commit.
    pub snapshots: Vec<i64>,
    /// The number of attempts; 0 if nothing was committed, or the commit had already been made.
    pub attempts: u32,
    /// The files that the write added and replaced.
    pub counts: Counts,
    /// The files that the compaction added and replaced.
    pub compacted: Counts,
    /// The positions of the changes whose compaction was not committed, because another writer changed the bucket. Their
    /// compacted files were deleted.
    pub lost: Vec<usize>,
    /// The reason why the compaction failed as a whole after the written files were committed.
    pub failure: Option<Error>,
}

/// The numbers of files, rows and bytes of a commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of added data files.
    pub added_files: u64,
    /// The rows of the added files, including rows that only delete.
    pub added_rows: i64,
    /// The total length of the added files.
    pub added_bytes: i64,
    /// The number of removed data files.
    pub removed_files: u64,
    /// The rows of the removed files.
    pub removed_rows: i64,
    /// The total length of the removed files.
    pub removed_bytes: i64,
    /// The number of added changelog files.
    pub changelog_files: u64,
    /// The rows of the added changelog files.
    pub changelog_rows: i64,
}

impl Counts {
    /// Counts the files of changes.
    pub(super) fn of(changes: &Changes) -> Self {
        let Changes { added, removed, changelog, .. } = changes;
        let sum = |values: &[i64]| values.iter().fold(0_i64, |sum, value| sum.saturating_add(*value));
        Self {
            added_files: added.len() as u64,
            added_rows: sum(added.row_counts().values()),
            added_bytes: sum(added.file_sizes().values()),
            removed_files: removed.len() as u64,
            removed_rows: sum(removed.row_counts().values()),
            removed_bytes: sum(removed.file_sizes().values()),
            changelog_files: changelog.len() as u64,
            changelog_rows: sum(changelog.row_counts().values()),
        }
    }
}
