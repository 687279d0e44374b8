//! The changes of one snapshot. A commit creates one snapshot for written files and another for compacted files.

use std::collections::{BTreeMap, BTreeSet};

use frazil_core::error::Result;

use super::indexes::{IndexChanges, has_vectors};
use super::request::Request;
use crate::spec::index_manifest::DELETION_VECTORS;
use crate::spec::manifest::{ADD, DELETE, ManifestEntries};
use crate::spec::snapshot::CommitKind;
use crate::write::change::{BucketChange, Home, Increment};

/// The files that a snapshot adds and removes.
#[derive(Debug, Clone)]
pub(super) struct Changes {
    pub(super) kind: CommitKind,
    pub(super) added: ManifestEntries,
    pub(super) removed: ManifestEntries,
    /// New changelog files.
    pub(super) changelog: ManifestEntries,
    /// New and removed index files.
    pub(super) indexes: IndexChanges,
    /// Hashes of the files that compactions depend on, by bucket: see [`BucketChange::upper_files`].
    pub(super) upper_files: BTreeMap<Home, u64>,
}

impl Changes {
    /// Returns the written changes.
    ///
    /// # Errors
    /// `InvalidArgument` for contradictory changes.
    pub(super) fn written(changes: &[BucketChange], request: &Request) -> Result<Self> {
        let mut written = Self::of_increments(changes.iter().map(|change| &change.append), CommitKind::Append)?;
        let indexes = &written.indexes;
        let deletes_rows = has_vectors(&indexes.added) || has_vectors(&indexes.removed);
        let replaces = request.overwrite.is_some() || !written.removed.is_empty() || deletes_rows;
        let kind = if replaces { CommitKind::Overwrite } else { CommitKind::Append };
        // Streaming readers would read the changelog of an overwrite instead of its changes, so it is omitted.
        let changelog = if request.overwrite.is_some() { ManifestEntries::concat(&[])? } else { written.changelog };
        written.indexes.planned = planned(changes);
        Ok(Self { kind, changelog, ..written })
    }

    /// Returns the compacted changes.
    ///
    /// # Errors
    /// Only internal errors.
    pub(super) fn compacted<'a>(changes: impl Iterator<Item = &'a BucketChange> + Clone) -> Result<Self> {
        let known = changes.clone().filter_map(|change| Some((change.home.clone(), change.upper_files?)));
        let upper_files = known.collect();
        let compacted = Self::of_increments(changes.map(|change| &change.compact), CommitKind::Compact)?;
        Ok(Self { upper_files, ..compacted })
    }

    fn of_increments<'a>(increments: impl Iterator<Item = &'a Increment>, kind: CommitKind) -> Result<Self> {
        let (mut added, mut removed, mut changelog) = (Vec::new(), Vec::new(), Vec::new());
        let mut indexes = IndexChanges::default();
        for increment in increments {
            indexes.removed.extend_from_slice(&increment.index_removed);
            indexes.added.extend_from_slice(&increment.index_added);
            added.push(increment.added.with_kind(ADD)?);
            removed.push(increment.removed.with_kind(DELETE)?);
            changelog.push(increment.changelog.with_kind(ADD)?);
        }
        Ok(Self {
            kind,
            added: ManifestEntries::concat(&added)?,
            removed: ManifestEntries::concat(&removed)?,
            changelog: ManifestEntries::concat(&changelog)?,
            indexes,
            upper_files: BTreeMap::new(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changelog.is_empty() && self.indexes.is_empty()
    }

    /// Returns the entries of the snapshot, with deletions first.
    pub(super) fn entries(&self) -> Result<ManifestEntries> {
        ManifestEntries::concat(&[self.removed.clone(), self.added.clone()])
    }

    /// Returns the partitions of the files.
    pub(super) fn partitions(&self) -> BTreeSet<Vec<u8>> {
        let partitions = self.removed.partitions().iter().chain(self.added.partitions().iter());
        let vectors = self.indexes.added.iter().chain(&self.indexes.removed);
        let vectors = vectors.filter(|entry| entry.index_type == DELETION_VECTORS);
        let mut found: BTreeSet<Vec<u8>> = vectors.map(|entry| entry.partition.clone()).collect();
        for partition in partitions.flatten() {
            if !found.contains(partition) {
                found.insert(partition.to_vec());
            }
        }
        found
    }
}

/// Returns the snapshots that the writers of new rows read, by bucket.
fn planned(changes: &[BucketChange]) -> BTreeMap<Home, Option<i64>> {
    let written = changes.iter().filter(|change| !change.append.is_empty());
    written.map(|change| (change.home.clone(), change.base_snapshot)).collect()
}
