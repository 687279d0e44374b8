//! Checks whether changes still apply to the table (Java's `ConflictDetection`).

use std::collections::{BTreeMap, HashMap};

use arrow_array::UInt32Array;
use frazil_core::error::{Error, ErrorKind, Result};

use super::changes::Changes;
use crate::merge::section::KeyRanges;
use crate::spec::manifest::ManifestEntries;
use crate::spec::schema::TableSchema;
use crate::spec::snapshot::CommitKind;
use crate::spec::types::DataType;

/// Checks changes against the live files of their partitions.
///
/// * The number of buckets of a partition stays the same, unless the partition is overwritten.
/// * Removed files are live; added files are not.
/// * On levels above 0, no two files of a bucket have overlapping keys.
///
/// # Errors
/// `CommitConflict` naming the file or the bucket.
pub(super) fn check(schema: &TableSchema, live: &ManifestEntries, changes: &Changes) -> Result<()> {
    if changes.kind != CommitKind::Overwrite {
        check_buckets(live, &changes.added)?;
    }
    let all = ManifestEntries::concat(&[live.clone(), changes.entries()?])?;
    let after = all
        .live()
        .map_err(|error| conflict("another writer changed files that the commit removes or adds").caused_by(error))?;
    if schema.primary_keys.is_empty() { Ok(()) } else { check_keys(schema, &after) }
}

fn check_buckets(live: &ManifestEntries, added: &ManifestEntries) -> Result<()> {
    let mut known: HashMap<&[u8], i32> = HashMap::new();
    for row in 0..live.len() {
        let total = live.total_buckets().value(row);
        if total > 0 {
            known.insert(live.partitions().value(row), total);
        }
    }
    for row in 0..added.len() {
        let total = added.total_buckets().value(row);
        let found = known.get(added.partitions().value(row)).filter(|found| total > 0 && **found != total);
        if let Some(found) = found {
            let message = format!("a partition has {found} buckets, but the commit adds files for {total} buckets");
            return Err(
                conflict(&message).hint("load the table again, or overwrite the partition to change its buckets")
            );
        }
    }
    Ok(())
}

fn check_keys(schema: &TableSchema, after: &ManifestEntries) -> Result<()> {
    let keys = schema.trimmed_primary_keys().into_iter().filter_map(|key| schema.field(key));
    let types: Vec<DataType> = keys.map(|field| field.data_type.clone()).collect();
    let mut levels: BTreeMap<(&[u8], i32, i32), Vec<u32>> = BTreeMap::new();
    let places = (0_u32..).zip(after.levels().values()).zip(after.buckets().values()).zip(after.partitions());
    for (((row, level), bucket), partition) in places {
        if *level > 0 {
            levels.entry((partition.unwrap_or_default(), *bucket, *level)).or_default().push(row);
        }
    }
    for ((_, bucket, level), rows) in levels {
        let files = after.take(&UInt32Array::from(rows))?;
        let ranges = KeyRanges::try_new(files.min_keys(), files.max_keys(), &types)?;
        let all: Vec<usize> = (0..files.len()).collect();
        if ranges.sections(&all).iter().any(|section| section.runs.len() > 1) {
            let message = "files of one level would have overlapping keys: another writer has compacted the bucket";
            return Err(conflict(message).with("bucket", bucket).with("level", level));
        }
    }
    Ok(())
}

fn conflict(message: &str) -> Error {
    Error::new(ErrorKind::CommitConflict, message)
}
