//! The system table `snapshots`: the snapshots that have not expired.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray, TimestampMillisecondArray};
use frazil_core::context::Context;
use frazil_core::error::Result;

use super::{InspectColumn, InspectState, NULLABLE, REQUIRED, ViewKind};
use crate::spec::snapshot::Snapshot;

pub(super) const COLUMNS: [InspectColumn; 14] = [
    ("snapshot_id", ViewKind::Long, REQUIRED),
    ("schema_id", ViewKind::Long, REQUIRED),
    ("commit_user", ViewKind::Text, REQUIRED),
    ("commit_identifier", ViewKind::Long, REQUIRED),
    ("commit_kind", ViewKind::Text, REQUIRED),
    ("commit_time", ViewKind::Time, REQUIRED),
    ("base_manifest_list", ViewKind::Text, REQUIRED),
    ("delta_manifest_list", ViewKind::Text, REQUIRED),
    ("changelog_manifest_list", ViewKind::Text, NULLABLE),
    ("total_record_count", ViewKind::Long, NULLABLE),
    ("delta_record_count", ViewKind::Long, NULLABLE),
    ("changelog_record_count", ViewKind::Long, NULLABLE),
    ("watermark", ViewKind::Long, NULLABLE),
    ("next_row_id", ViewKind::Long, NULLABLE),
];

pub(super) fn rows(state: &InspectState, _: &Context) -> Result<Vec<ArrayRef>> {
    let snapshots = state.table.snapshots()?;
    let snapshots = snapshots.as_slice();
    Ok(vec![
        long(snapshots, |snapshot| Some(snapshot.id)),
        long(snapshots, |snapshot| Some(snapshot.schema_id)),
        text(snapshots, |snapshot| Some(&snapshot.commit_user)),
        long(snapshots, |snapshot| Some(snapshot.commit_identifier)),
        text(snapshots, |snapshot| Some(snapshot.commit_kind.name())),
        Arc::new(snapshots.iter().map(|snapshot| Some(snapshot.time_ms)).collect::<TimestampMillisecondArray>()),
        text(snapshots, |snapshot| Some(&snapshot.base_manifest_list)),
        text(snapshots, |snapshot| Some(&snapshot.delta_manifest_list)),
        text(snapshots, |snapshot| snapshot.changelog_manifest_list.as_deref()),
        long(snapshots, |snapshot| snapshot.total_record_count),
        long(snapshots, |snapshot| snapshot.delta_record_count),
        long(snapshots, |snapshot| snapshot.changelog_record_count),
        long(snapshots, |snapshot| snapshot.watermark),
        long(snapshots, |snapshot| snapshot.next_row_id),
    ])
}

fn long(snapshots: &[Snapshot], of: fn(&Snapshot) -> Option<i64>) -> ArrayRef {
    Arc::new(snapshots.iter().map(of).collect::<Int64Array>())
}

fn text(snapshots: &[Snapshot], of: fn(&Snapshot) -> Option<&str>) -> ArrayRef {
    Arc::new(snapshots.iter().map(of).collect::<StringArray>())
}
