//! Checks whether changes still apply to the table (Java's `ConflictDetection`).

use std::collections::{BTreeMap, HashMap, HashSet};

use arrow_array::UInt32Array;
use frazil_core::error::{Error, ErrorKind, Result};

use super::changes::Changes;
use crate::merge::section::KeyRanges;
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::index_manifest::{DELETION_VECTORS, IndexEntry};
use crate::spec::manifest::ManifestEntries;
use crate::spec::schema::TableSchema;
use crate::spec::snapshot::CommitKind;
use crate::spec::types::DataType;
use crate::write::change::{Home, upper_files};

/// Checks changes against the live files of their partitions.
///
/// * The number of buckets of a partition stays the same, unless all of its files are removed.
/// * Removed files are live; added files are not.
/// * On levels above 0, no two files of a bucket have overlapping keys.
/// * A compaction knew the schemas of the files that it removes.
/// * A compaction that looked up records knew all files above level 0.
/// * A compaction does not change which of two records with the same key and sequence number is the row.
///
/// # Errors
/// `CommitConflict` naming the file or the bucket.
pub(super) fn check(schema: &TableSchema, live: &ManifestEntries, changes: &Changes) -> Result<()> {
    if changes.kind == CommitKind::Compact && changes.removed.schema_ids().values().iter().any(|id| *id > schema.id) {
        return Err(conflict(
            "another writer altered the table, and the compacted files have columns of its new schema",
        ));
    }
    check_buckets(live, changes)?;
    let all = ManifestEntries::concat(&[live.clone(), changes.entries()?])?;
    let after = all
        .live()
        .map_err(|error| conflict("another writer changed files that the commit removes or adds").caused_by(error))?;
    if schema.primary_keys.is_empty() {
        return Ok(());
    }
    if changes.kind == CommitKind::Compact {
        check_upper_files(live, changes)?;
        check_ages(live, &changes.removed, &key_types(schema))?;
    }
    check_keys(schema, &after)
}

/// Rejects a compaction that looked up records if another writer has changed files above level 0. Otherwise two files
/// could have records of the same key, neither of which is deleted.
fn check_upper_files(live: &ManifestEntries, changes: &Changes) -> Result<()> {
    if changes.upper_files.is_empty() {
        return Ok(());
    }
    let mut buckets = Home::rows(live);
    for (home, known) in &changes.upper_files {
        let files = live.take(&UInt32Array::from(buckets.remove(home).unwrap_or_default()))?;
        if upper_files(&files) != *known {
            let message = "another writer has compacted the bucket, so records were looked up in old files";
            return Err(conflict(message).with("bucket", home.bucket));
        }
    }
    Ok(())
}

/// Rejects a compaction of files next to which another writer has added an older file of level 0, with sequence numbers
/// that both have: two writers that began at the same state. Files of higher levels are older than all files of level
/// 0, so the compaction would make the record of the other writer the row.
fn check_ages(live: &ManifestEntries, removed: &ManifestEntries, key_types: &[DataType]) -> Result<()> {
    let removed_names: HashSet<&str> = removed.file_names().iter().flatten().collect();
    let mut buckets: BTreeMap<Home, Vec<DataFileMeta>> = BTreeMap::new();
    for (home, rows) in Home::rows(removed) {
        let files = rows.into_iter().map(|row| removed.file(usize::try_from(row).unwrap_or(usize::MAX)));
        let files = files.collect::<Result<Vec<_>>>()?;
        buckets.insert(home, files.into_iter().filter(|file| file.level == 0).collect());
    }
    for (home, rows) in Home::rows(live) {
        let Some(compacted) = buckets.get(&home).filter(|files| !files.is_empty()) else { continue };
        for row in rows {
            let kept = live.file(usize::try_from(row).unwrap_or(usize::MAX))?;
            if kept.level != 0 || removed_names.contains(kept.file_name.as_str()) {
                continue;
            }
            let shares_numbers = |file: &&DataFileMeta| {
                file.min_sequence_number <= kept.max_sequence_number
                    && kept.min_sequence_number <= file.max_sequence_number
            };
            for file in compacted.iter().filter(shares_numbers).filter(|file| kept.compare_age(file).is_lt()) {
                let keys = KeyRanges::of_files(&[kept.clone(), file.clone()], key_types)?;
                if keys.sort_run(&mut [0, 1]).is_some() {
                    let message = "another writer added records with the same sequence numbers as compacted records";
                    return Err(conflict(message).with("bucket", home.bucket).with("file", &kept.file_name));
                }
            }
        }
    }
    Ok(())
}

/// Rejects changes after which a deletion vector would be of no use: another writer deleted rows of a file that the
/// changes remove, or removed a file whose rows the changes delete, or both deleted rows of one file.
///
/// `indexes` are the index files after the changes.
///
/// # Errors
/// `CommitConflict` naming the file.
pub(super) fn check_vectors(live: &ManifestEntries, changes: &Changes, indexes: &[IndexEntry]) -> Result<()> {
    let vectors = || indexes.iter().filter(|entry| entry.index_type == DELETION_VECTORS);
    if vectors().next().is_none() {
        return Ok(());
    }
    let added = files_of(&changes.added);
    let mut removed = files_of(&changes.removed);
    removed.retain(|file| !added.contains(file));
    let marked: HashSet<FileId<'_>> = changes.indexes.added.iter().flat_map(files_of_vectors).collect();
    let live = if marked.is_empty() { HashSet::new() } else { files_of(live) };
    let mut known = HashSet::new();
    for file in vectors().flat_map(files_of_vectors) {
        let named = |message: &str| Err(conflict(message).with("file", file.2));
        if removed.contains(&file) {
            return named("another writer deleted rows of a file that the commit removes");
        }
        if !marked.contains(&file) {
            continue;
        }
        if !live.contains(&file) && !added.contains(&file) {
            return named("another writer removed a file in which the commit deletes rows");
        }
        if !known.insert(file) {
            return named("another writer deleted rows of the same file");
        }
    }
    Ok(())
}

/// A data file: its partition, bucket and name.
type FileId<'a> = (&'a [u8], i32, &'a str);

fn files_of(entries: &ManifestEntries) -> HashSet<FileId<'_>> {
    let files = entries.partitions().iter().zip(entries.buckets().values()).zip(entries.file_names());
    files.filter_map(|((partition, bucket), name)| Some((partition?, *bucket, name?))).collect()
}

/// Returns the data files that have a vector in an index file.
fn files_of_vectors(entry: &IndexEntry) -> impl Iterator<Item = FileId<'_>> {
    entry.deletion_ranges.iter().map(|range| (&*entry.partition, entry.bucket, range.data_file.as_str()))
}

fn check_buckets(live: &ManifestEntries, changes: &Changes) -> Result<()> {
    let Changes { added, removed, .. } = changes;
    let removed: HashSet<&str> = removed.file_names().iter().flatten().collect();
    let mut known: HashMap<&[u8], i32> = HashMap::new();
    for row in 0..live.len() {
        let total = live.total_buckets().value(row);
        if total > 0 && !removed.contains(live.file_names().value(row)) {
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
    let types = key_types(schema);
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

fn key_types(schema: &TableSchema) -> Vec<DataType> {
    let keys = schema.trimmed_primary_keys().into_iter().filter_map(|key| schema.field(key));
    keys.map(|field| field.data_type.clone()).collect()
}

fn conflict(message: &str) -> Error {
    Error::new(ErrorKind::CommitConflict, message)
}
