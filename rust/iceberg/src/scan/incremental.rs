//! Incremental append scans: the snapshots of a range that only added files.

use std::collections::HashSet;
use std::sync::Arc;

use frazil_core::error::{Error, ErrorKind, Result};

use super::table_scan::AppendRange;
use crate::spec::snapshot::Snapshot;
use crate::spec::table_metadata::TableMetadata;

/// The append snapshots of a range, the newest first. Snapshots of other operations are passed over, as the reference
/// implementation does.
///
/// # Errors
/// `NoSuchSnapshot` for an id that the table does not have; `InvalidArgument` when the range does not begin at an
/// ancestor of its end.
pub fn appended(metadata: &TableMetadata, range: AppendRange) -> Result<Vec<Arc<Snapshot>>> {
    let last = match range.to_snapshot_id_inclusive {
        Some(id) => metadata.snapshot(id)?,
        None => match metadata.current_snapshot() {
            Some(current) => current,
            None => return Ok(Vec::new()),
        },
    };
    let mut appends = Vec::new();
    let mut seen = HashSet::new();
    let mut next = Some(last.snapshot_id);
    while next != range.from_snapshot_id_exclusive {
        let current = next.filter(|id| seen.insert(*id)).and_then(|id| metadata.snapshot(id).ok());
        let Some(current) = current else {
            return match range.from_snapshot_id_exclusive {
                None => Ok(appends),
                Some(from) => Err(Error::new(
                    ErrorKind::InvalidArgument,
                    format!("snapshot {from} is no ancestor of snapshot {}", last.snapshot_id),
                )),
            };
        };
        if current.operation() == Some("append") {
            appends.push(current.clone());
        }
        next = current.parent_snapshot_id;
    }
    Ok(appends)
}
