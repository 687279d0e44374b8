//! The system table `manifests`: the manifests of a snapshot, with the bounds of their partitions.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int64Array, StringArray};
use frazil_core::context::Context;
use frazil_core::error::Result;

use super::{InspectColumn, InspectState, NULLABLE, REQUIRED, ViewKind, display};
use crate::spec::manifest_list::{self, ManifestFileMeta};
use crate::spec::snapshot::Snapshot;

/// The maximum length of a manifest or manifest list that is read.
pub(super) const LIMIT_BYTES: u64 = 2 << 30;

pub(super) const COLUMNS: [InspectColumn; 9] = [
    ("file_name", ViewKind::Text, REQUIRED),
    ("file_size", ViewKind::Long, REQUIRED),
    ("num_added_files", ViewKind::Long, REQUIRED),
    ("num_deleted_files", ViewKind::Long, REQUIRED),
    ("schema_id", ViewKind::Long, REQUIRED),
    ("min_partition_stats", ViewKind::Text, NULLABLE),
    ("max_partition_stats", ViewKind::Text, NULLABLE),
    ("min_row_id", ViewKind::Long, NULLABLE),
    ("max_row_id", ViewKind::Long, NULLABLE),
];

pub(super) fn rows(state: &InspectState, context: &Context) -> Result<Vec<ArrayRef>> {
    let lists = |snapshot: &Snapshot| {
        let (base, delta) = (snapshot.base_manifest_list.clone(), snapshot.delta_manifest_list.clone());
        [Some(base), Some(delta), snapshot.changelog_manifest_list.clone()]
    };
    let lists: Vec<String> = state.snapshot.iter().flat_map(lists).flatten().collect();
    let manifests = listed(state, &lists, context)?;
    let bounds = |of: fn(&ManifestFileMeta) -> &[u8]| {
        display::partitions(&manifests.iter().map(|manifest| Some(of(manifest))).collect::<BinaryArray>(), state)
    };
    let long = |of: fn(&ManifestFileMeta) -> Option<i64>| -> ArrayRef {
        Arc::new(manifests.iter().map(of).collect::<Int64Array>())
    };
    Ok(vec![
        Arc::new(StringArray::from_iter_values(manifests.iter().map(|manifest| &manifest.file_name))),
        long(|manifest| Some(manifest.file_size)),
        long(|manifest| Some(manifest.num_added_files)),
        long(|manifest| Some(manifest.num_deleted_files)),
        long(|manifest| Some(manifest.schema_id)),
        Arc::new(bounds(|manifest| &manifest.partition_stats.min)?),
        Arc::new(bounds(|manifest| &manifest.partition_stats.max)?),
        long(|manifest| manifest.min_row_id),
        long(|manifest| manifest.max_row_id),
    ])
}

/// Returns the manifests of manifest lists, in the order in which their entries apply.
pub(super) fn listed(state: &InspectState, lists: &[String], context: &Context) -> Result<Vec<ManifestFileMeta>> {
    let mut manifests = Vec::new();
    for list in lists {
        context.check()?;
        let path = path(state, list);
        let bytes = state.table.files().read(&path, LIMIT_BYTES);
        let read = bytes.and_then(|bytes| manifest_list::read(bytes, context));
        manifests.extend(read.map_err(|error| error.with("file", path))?);
    }
    Ok(manifests)
}

/// Returns the location of a manifest, manifest list or index manifest.
pub(super) fn path(state: &InspectState, name: &str) -> String {
    format!("{}/manifest/{name}", state.table.location())
}
