//! Selects ranges of snapshots on one line of history.

use std::collections::HashSet;
use std::sync::Arc;

use frazil_core::error::{Error, ErrorKind, Result};

use crate::spec::snapshot::Snapshot;
use crate::spec::table_metadata::TableMetadata;

/// A range of snapshots, with an exclusive start and an inclusive end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SnapshotRange {
    /// The snapshot after which the range begins; None to begin at the table's first snapshot.
    pub from_snapshot_id_exclusive: Option<i64>,
    /// The last snapshot of the range; None for the current one.
    pub to_snapshot_id_inclusive: Option<i64>,
}

/// Returns the append snapshots of a range, latest first. Snapshots of other operations are skipped, as in the
/// reference implementation.
///
/// # Errors
/// See [`snapshots_of`].
pub fn appended(metadata: &TableMetadata, range: SnapshotRange) -> Result<Vec<Arc<Snapshot>>> {
    let mut snapshots = snapshots_of(metadata, range)?;
    snapshots.retain(|snapshot| snapshot.operation() == Some("append"));
    Ok(snapshots)
}

/// Returns the snapshots of a range, latest first.
///
/// # Errors
/// `NoSuchSnapshot` for an id that the table does not have; `InvalidArgument` if the start of the range is not an
/// ancestor of its end.
pub fn snapshots_of(metadata: &TableMetadata, range: SnapshotRange) -> Result<Vec<Arc<Snapshot>>> {
    let last = match range.to_snapshot_id_inclusive {
        Some(id) => metadata.snapshot(id)?,
        None => match metadata.current_snapshot() {
            Some(current) => current,
            None => return Ok(Vec::new()),
        },
    };
    let mut snapshots = Vec::new();
    let mut seen = HashSet::new();
    let mut next = Some(last.snapshot_id);
    while next != range.from_snapshot_id_exclusive {
        let current = next.filter(|id| seen.insert(*id)).and_then(|id| metadata.snapshot(id).ok());
        let Some(current) = current else {
            return match range.from_snapshot_id_exclusive {
                None => Ok(snapshots),
                Some(from) => Err(Error::new(
                    ErrorKind::InvalidArgument,
                    format!("snapshot {from} is not an ancestor of snapshot {}", last.snapshot_id),
                )),
            };
        };
        snapshots.push(current.clone());
        next = current.parent_snapshot_id;
    }
    Ok(snapshots)
}
