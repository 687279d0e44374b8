//! The `snapshots`, `history`, `metadata_log_entries` and `refs` metadata tables, which need only the metadata file.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{Field, Schema};
use frazil_core::error::Result;

use crate::spec::snapshot::RefKind;
use crate::spec::table_metadata::TableMetadata;
use crate::table::Table;

pub(super) fn snapshots(metadata: &TableMetadata) -> Result<RecordBatch> {
    let snapshots = &metadata.snapshots;
    let names = MapFieldNames { entry: "entries".into(), key: "key".into(), value: "value".into() };
    let mut summary = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for snapshot in snapshots {
        for (key, value) in snapshot.summary.iter().filter(|(key, _)| *key != "operation") {
            summary.keys().append_value(key);
            summary.values().append_value(value);
        }
        // Early v1 snapshots have no summary.
        summary.append(snapshot.summary.iter().next().is_some())?;
    }
    batch(vec![
        ("committed_at", false, times(snapshots.iter().map(|snapshot| snapshot.timestamp_ms))),
        ("snapshot_id", false, Arc::new(Int64Array::from_iter_values(snapshots.iter().map(|s| s.snapshot_id)))),
        ("parent_id", true, Arc::new(snapshots.iter().map(|s| s.parent_snapshot_id).collect::<Int64Array>())),
        ("operation", true, Arc::new(snapshots.iter().map(|s| s.operation()).collect::<StringArray>())),
        (
            "manifest_list",
            true,
            Arc::new(snapshots.iter().map(|s| s.manifest_list.as_deref()).collect::<StringArray>()),
        ),
        ("summary", true, Arc::new(summary.finish())),
    ])
}

pub(super) fn history(metadata: &TableMetadata) -> Result<RecordBatch> {
    let log = &metadata.snapshot_log;
    let ancestors: HashSet<i64> = metadata
        .current_snapshot_id
        .map(|id| metadata.ancestors(id).map(|snapshot| snapshot.snapshot_id).collect())
        .unwrap_or_default();
    let parents = log.iter().map(|entry| metadata.snapshot(entry.snapshot_id).ok()?.parent_snapshot_id);
    batch(vec![
        ("made_current_at", false, times(log.iter().map(|entry| entry.timestamp_ms))),
        ("snapshot_id", false, Arc::new(Int64Array::from_iter_values(log.iter().map(|entry| entry.snapshot_id)))),
        ("parent_id", true, Arc::new(parents.collect::<Int64Array>())),
        (
            "is_current_ancestor",
            false,
            Arc::new(log.iter().map(|e| Some(ancestors.contains(&e.snapshot_id))).collect::<BooleanArray>()),
        ),
    ])
}

pub(super) fn metadata_log_entries(table: &Table) -> Result<RecordBatch> {
    let metadata = table.metadata();
    let own = table.state().metadata_location;
    let earlier = metadata.metadata_log.iter().map(|entry| (entry.timestamp_ms, entry.metadata_file.as_str()));
    let entries: Vec<(i64, &str)> = earlier.chain([(metadata.last_updated_ms, own.as_str())]).collect();
    // The latest snapshot at that time is shown even if it has expired since.
    let latest: Vec<Option<i64>> = entries
        .iter()
        .map(|(time, _)| metadata.snapshot_log.iter().rev().find(|entry| entry.timestamp_ms <= *time))
        .map(|entry| entry.map(|entry| entry.snapshot_id))
        .collect();
    let snapshots: Vec<_> = latest.iter().map(|id| metadata.snapshot((*id)?).ok()).collect();
    batch(vec![
        ("timestamp", false, times(entries.iter().map(|(time, _)| *time))),
        ("file", false, Arc::new(StringArray::from_iter_values(entries.iter().map(|(_, file)| *file)))),
        ("latest_snapshot_id", true, Arc::new(latest.iter().copied().collect::<Int64Array>())),
        (
            "latest_schema_id",
            true,
            Arc::new(snapshots.iter().map(|s| s.and_then(|s| s.schema_id)).collect::<Int32Array>()),
        ),
        (
            "latest_sequence_number",
            true,
            Arc::new(snapshots.iter().map(|s| s.map(|s| s.sequence_number)).collect::<Int64Array>()),
        ),
    ])
}

pub(super) fn refs(metadata: &TableMetadata) -> Result<RecordBatch> {
    let refs = &metadata.refs;
    let kind = |kind| if kind == RefKind::Branch { "BRANCH" } else { "TAG" };
    batch(vec![
        ("name", false, Arc::new(StringArray::from_iter_values(refs.keys()))),
        ("type", false, Arc::new(StringArray::from_iter_values(refs.values().map(|r| kind(r.kind))))),
        ("snapshot_id", false, Arc::new(Int64Array::from_iter_values(refs.values().map(|r| r.snapshot_id)))),
        ("max_reference_age_in_ms", true, Arc::new(refs.values().map(|r| r.max_ref_age_ms).collect::<Int64Array>())),
        (
            "min_snapshots_to_keep",
            true,
            Arc::new(refs.values().map(|r| r.min_snapshots_to_keep).collect::<Int32Array>()),
        ),
        (
            "max_snapshot_age_in_ms",
            true,
            Arc::new(refs.values().map(|r| r.max_snapshot_age_ms).collect::<Int64Array>()),
        ),
    ])
}

/// Returns the timestamps in UTC, in microseconds.
pub(super) fn times(millis: impl Iterator<Item = i64>) -> ArrayRef {
    let micros = millis.map(|ms| ms.saturating_mul(1_000));
    Arc::new(TimestampMicrosecondArray::from_iter_values(micros).with_timezone("UTC"))
}

fn batch(columns: Vec<(&str, bool, ArrayRef)>) -> Result<RecordBatch> {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, nullable, column)| Field::new(*name, column.data_type().clone(), *nullable))
        .collect();
    let columns = columns.into_iter().map(|(_, _, column)| column).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}
