//! Commits the compactions of buckets in one snapshot.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::UInt32Array;
use frazil_core::context::Context;
use frazil_core::error::{ErrorKind, Result};

use super::changes::Changes;
use super::clean::abort_compaction;
use super::lock::SnapshotLock;
use super::request::{Committed, Request};
use super::{conflict, snapshot};
use crate::spec::manifest::{ManifestEntries, WantedFields};
use crate::spec::options::Options;
use crate::spec::partition_path::POSTPONED;
use crate::table::Table;
use crate::write::change::{BucketChange, Home};
use crate::write::index_files::has_one_vector_file;

/// Commits the compacted files of all buckets that no other writer has changed. The new files of the other buckets are
/// deleted, and their positions are returned.
///
/// # Errors
/// As for [`super::commit`]. Nothing is deleted if the outcome is unknown; after other errors all compacted files are
/// deleted.
pub(super) fn commit(
    table: &Table,
    request: &Request,
    changes: &[BucketChange],
    lock: &dyn SnapshotLock,
    context: &Context,
) -> Result<Committed> {
    let numbered = || changes.iter().enumerate().filter(|(_, change)| !change.compact.is_empty());
    let mut lost: BTreeSet<usize> = BTreeSet::new();
    let outcome = loop {
        let remaining: Vec<_> = numbered().filter(|(at, _)| !lost.contains(at)).collect();
        if remaining.is_empty() {
            break Ok(Committed::default());
        }
        let compacted = Changes::compacted(remaining.iter().map(|(_, change)| *change))?;
        match snapshot(table, request, &compacted, lock, context) {
            Err(error) if error.kind() == ErrorKind::CommitConflict => match moved(table, &remaining, context) {
                Ok(moved) if moved.is_empty() => break Err(error),
                Ok(moved) => lost.extend(moved),
                Err(error) => break Err(error),
            },
            Err(error) => break Err(error),
            Ok(done) => break Ok(Committed { compacted: done.counts, ..done }),
        }
    };
    let is_deleted = |at: &usize| match &outcome {
        Ok(_) => lost.contains(at),
        Err(error) => error.kind() != ErrorKind::CommitStateUnknown || lost.contains(at),
    };
    for (_, change) in numbered().filter(|(at, _)| is_deleted(at)) {
        abort_compaction(table, change);
    }
    outcome.map(|done| Committed { lost: lost.into_iter().collect(), ..done })
}

/// Changes with their positions.
type PlacedChanges<'a> = Vec<(usize, &'a BucketChange)>;

/// Returns the positions of changes that do not apply to the latest snapshot.
fn moved(table: &Table, changes: &[(usize, &BucketChange)], context: &Context) -> Result<Vec<usize>> {
    let partitions: BTreeSet<Vec<u8>> = changes.iter().map(|(_, change)| change.home.partition.to_vec()).collect();
    let (live, indexes) = match table.latest_snapshot()? {
        Some(latest) => (
            table.live_files(&latest, Some(&partitions), WantedFields::FILES, context)?,
            table.index_entries(&latest, context)?,
        ),
        None => (ManifestEntries::concat(&[])?, Vec::new()),
    };
    let mut rows = Home::rows(&live);
    // The compactions of a bucket are committed together, and so are all changes of a partition whose rows are assigned
    // to buckets: otherwise rows would be lost, or be in the table twice.
    let is_assigned = |home: &&Home| home.bucket == POSTPONED;
    let assigned: BTreeSet<_> =
        changes.iter().map(|(_, change)| &change.home).filter(is_assigned).map(|home| &home.partition).collect();
    let mut units: BTreeMap<(&[u8], Option<i32>), PlacedChanges<'_>> = BTreeMap::new();
    for (at, change) in changes {
        let Home { partition, bucket } = &change.home;
        let bucket = Some(*bucket).filter(|_| !assigned.contains(partition));
        units.entry((partition, bucket)).or_default().push((*at, change));
    }
    let has_one_vector_file = has_one_vector_file(table.schema(), &Options::new(table.schema().options.clone()))?;
    let mut moved = Vec::new();
    for changes in units.into_values() {
        let homes: BTreeSet<&Home> = changes.iter().map(|(_, change)| &change.home).collect();
        let files: Vec<u32> = homes.into_iter().filter_map(|home| rows.remove(home)).flatten().collect();
        let files = live.take(&UInt32Array::from(files))?;
        let compacted = Changes::compacted(changes.iter().map(|(_, change)| *change))?;
        let applies = conflict::check(table.schema(), &files, &compacted)
            .and_then(|()| compacted.indexes.applied(&indexes, None, has_one_vector_file))
            .and_then(|after| conflict::check_vectors(&files, &compacted, after.as_deref().unwrap_or(&indexes)));
        match applies {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::CommitConflict => moved.extend(changes.iter().map(|(at, _)| *at)),
            Err(error) => return Err(error),
        }
    }
    Ok(moved)
}
