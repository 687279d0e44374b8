//! What is asked of a commit, and what it did.

use std::collections::BTreeMap;

use frazil_core::error::{Error, Result};

use super::changes::Changes;

/// The identifier of batch commits. Their users are unique, so that it need not be.
pub const BATCH_IDENTIFIER: i64 = i64::MAX;

/// What a commit replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overwrite {
    /// All rows.
    Table,
    /// The rows of partitions that have these values, as text, in the partition columns that are named; None is NULL.
    Partitions(Vec<BTreeMap<String, Option<String>>>),
    /// The rows of the partitions that have new files.
    Dynamic,
}

/// How to commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Who commits. A streaming writer has one user for all of its commits.
    pub user: String,
    /// The number of a streaming commit, which grows; [`BATCH_IDENTIFIER`] for others.
    pub identifier: i64,
    /// The watermark of the input; the snapshot has it, or the one before it if that is greater.
    pub watermark: Option<i64>,
    /// Properties of the snapshot.
    pub properties: BTreeMap<String, String>,
    /// What is replaced; None for nothing.
    pub overwrite: Option<Overwrite>,
    /// Whether appends are checked against the files of the newest snapshot.
    pub checks_append: bool,
}

impl Request {
    /// Return the request of a batch writer that adds files.
    pub fn append(user: &str) -> Self {
        Self {
            user: user.to_string(),
            identifier: BATCH_IDENTIFIER,
            watermark: None,
            properties: BTreeMap::new(),
            overwrite: None,
            checks_append: false,
        }
    }

    /// Whether this is not one of a sequence of commits.
    pub fn is_batch(&self) -> bool {
        self.identifier == BATCH_IDENTIFIER
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.user.is_empty() {
            return Err(Error::invalid("a commit needs a user"));
        }
        Ok(())
    }
}

/// A commit that is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Committed {
    /// The snapshots, ascending; none where there was nothing to commit.
    pub snapshots: Vec<i64>,
    /// How many attempts it took; 0 where nothing was committed, or was committed before.
    pub attempts: u32,
    /// The files that were written and replaced.
    pub counts: Counts,
    /// The files of the compaction.
    pub compacted: Counts,
}

/// Files, rows and bytes of a commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data files that were added.
    pub added_files: u64,
    /// Their rows, those that only delete included.
    pub added_rows: i64,
    /// Their lengths.
    pub added_bytes: i64,
    /// Data files that were removed.
    pub removed_files: u64,
    /// Their rows.
    pub removed_rows: i64,
    /// Their lengths.
    pub removed_bytes: i64,
    /// Changelog files that were added.
    pub changelog_files: u64,
    /// Their rows.
    pub changelog_rows: i64,
}

impl Counts {
    /// Count the files of changes.
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
