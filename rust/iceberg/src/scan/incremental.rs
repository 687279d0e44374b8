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
        Some(id) => Some(snapshot(metadata, id)?),
        None => metadata.current_snapshot().cloned(),
    };
    let Some(last) = last else {
        return match range.from_snapshot_id_exclusive {
            Some(id) => Err(missing(id)),
            None => Ok(Vec::new()),
        };
    };
    let mut appends = Vec::new();
    let mut seen = HashSet::new();
    let mut next = Some(last.snapshot_id);
    while next != range.from_snapshot_id_exclusive {
        let current = next.filter(|id| seen.insert(*id)).and_then(|id| metadata.snapshot(id));
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

fn snapshot(metadata: &TableMetadata, id: i64) -> Result<Arc<Snapshot>> {
    metadata.snapshot(id).cloned().ok_or_else(|| missing(id))
}

fn missing(id: i64) -> Error {
    Error::new(ErrorKind::NoSuchSnapshot, format!("no snapshot {id}"))
}
