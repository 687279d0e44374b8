//! The system table `statistics`: the statistics that ANALYZE recorded for a snapshot (spec: "Statistics").
//!
//! ```text
//! { "snapshotId": 3, "schemaId": 0, "mergedRecordCount": 9, "mergedRecordSize": 1000,
//!   "colStats": { "s": { "colId": 2, "distinctCount": 3, "min": "s0", "max": "s2", "nullCount": 0, .. }, .. } }
//! ```

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray};
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{InspectColumn, InspectState, NULLABLE, REQUIRED, ViewKind, display};

/// The maximum length of a statistics file that is read.
const LIMIT_BYTES: u64 = 256 << 20;

pub(super) const COLUMNS: [InspectColumn; 5] = [
    ("snapshot_id", ViewKind::Long, REQUIRED),
    ("schema_id", ViewKind::Long, REQUIRED),
    ("mergedRecordCount", ViewKind::Long, NULLABLE),
    ("mergedRecordSize", ViewKind::Long, NULLABLE),
    ("colstat", ViewKind::Text, NULLABLE),
];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statistics {
    snapshot_id: i64,
    schema_id: i64,
    merged_record_count: Option<i64>,
    merged_record_size: Option<i64>,
    col_stats: Option<Box<RawValue>>,
}

/// Computes one row, or none for a snapshot without statistics.
pub(super) fn rows(state: &InspectState, _: &Context) -> Result<Vec<ArrayRef>> {
    let name = state.snapshot.as_ref().and_then(|snapshot| snapshot.statistics.as_ref());
    let statistics = name.map(|name| {
        let path = format!("{}/statistics/{name}", state.table.location());
        let bytes = state.table.files().read(&path, LIMIT_BYTES)?;
        serde_json::from_slice::<Statistics>(&bytes).map_err(|error| {
            Error::new(ErrorKind::CorruptMetadata, "malformed statistics").with("file", path).caused_by(error)
        })
    });
    let row = statistics.transpose()?;
    let long =
        |of: fn(&Statistics) -> Option<i64>| -> ArrayRef { Arc::new(row.iter().map(of).collect::<Int64Array>()) };
    let column_statistics = row.iter().map(|row| row.col_stats.as_ref().map(|raw| display::pretty_json(raw.get())));
    Ok(vec![
        long(|row| Some(row.snapshot_id)),
        long(|row| Some(row.schema_id)),
        long(|row| row.merged_record_count),
        long(|row| row.merged_record_size),
        Arc::new(column_statistics.collect::<StringArray>()),
    ])
}
