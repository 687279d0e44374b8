//! The system tables `tags`, `branches` and `consumers`.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray, TimestampMicrosecondArray, TimestampMillisecondArray};
use frazil_core::context::Context;
use frazil_core::error::Result;

use super::{InspectColumn, InspectState, NULLABLE, REQUIRED, ViewKind, display};

pub(super) const TAGS: [InspectColumn; 7] = [
    ("tag_name", ViewKind::Text, REQUIRED),
    ("snapshot_id", ViewKind::Long, REQUIRED),
    ("schema_id", ViewKind::Long, REQUIRED),
    ("commit_time", ViewKind::Time, REQUIRED),
    ("record_count", ViewKind::Long, NULLABLE),
    ("create_time", ViewKind::PreciseTime, NULLABLE),
    ("time_retained", ViewKind::Text, NULLABLE),
];

pub(super) const BRANCHES: [InspectColumn; 2] =
    [("branch_name", ViewKind::Text, REQUIRED), ("create_time", ViewKind::Time, REQUIRED)];

pub(super) const CONSUMERS: [InspectColumn; 2] =
    [("consumer_id", ViewKind::Text, REQUIRED), ("next_snapshot_id", ViewKind::Long, REQUIRED)];

pub(super) fn tags(state: &InspectState, _: &Context) -> Result<Vec<ArrayRef>> {
    let tags = state.table.tags()?;
    let snapshots = || tags.iter().map(|(_, snapshot)| snapshot);
    let create_times = snapshots().map(|snapshot| snapshot.tag_create_time_us);
    let retained = snapshots().map(|snapshot| snapshot.tag_time_retained_ms.map(display::duration));
    Ok(vec![
        Arc::new(StringArray::from_iter_values(tags.iter().map(|(name, _)| name))),
        Arc::new(snapshots().map(|snapshot| Some(snapshot.id)).collect::<Int64Array>()),
        Arc::new(snapshots().map(|snapshot| Some(snapshot.schema_id)).collect::<Int64Array>()),
        Arc::new(snapshots().map(|snapshot| Some(snapshot.time_ms)).collect::<TimestampMillisecondArray>()),
        Arc::new(snapshots().map(|snapshot| snapshot.total_record_count).collect::<Int64Array>()),
        Arc::new(create_times.collect::<TimestampMicrosecondArray>()),
        Arc::new(retained.collect::<StringArray>()),
    ])
}

/// Computes the rows of `branches`. The time of a branch is the creation time of its first schema file, because not all
/// stores record times of folders.
pub(super) fn branches(state: &InspectState, context: &Context) -> Result<Vec<ArrayRef>> {
    let names = state.table.branches()?;
    let mut times_ms = Vec::new();
    for name in &names {
        context.check()?;
        times_ms.push(state.table.branch_created_ms(name)?);
    }
    Ok(vec![
        Arc::new(StringArray::from_iter_values(&names)),
        Arc::new(times_ms.into_iter().map(Some).collect::<TimestampMillisecondArray>()),
    ])
}

pub(super) fn consumers(state: &InspectState, _: &Context) -> Result<Vec<ArrayRef>> {
    let consumers = state.table.consumers()?;
    Ok(vec![
        Arc::new(StringArray::from_iter_values(consumers.iter().map(|(name, _)| name))),
        Arc::new(consumers.iter().map(|(_, consumer)| Some(consumer.next_snapshot)).collect::<Int64Array>()),
    ])
}
