//! Deletes the files of uncommitted changes.

use std::collections::HashSet;

use frazil_core::error::Result;
use frazil_core::storage;

use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::options::Options;
use crate::spec::partition_path::{Naming, bucket_path};
use crate::table::Table;
use crate::table::partition_folder;
use crate::write::change::{BucketChange, Home, Increment};
use crate::write::path::DataFilePaths;

/// Deletes the data files, changelog files and index files that changes added, and returns their number. Call it only
/// for changes that are certainly not committed: not after `CommitStateUnknown`. Files that cannot be deleted remain as
/// orphan files.
pub fn abort(table: &Table, changes: &[BucketChange]) -> usize {
    delete(table, changes.iter().flat_map(|change| new_files(table, change)))
}

/// Deletes the files that the compaction of a bucket added.
pub(super) fn abort_compaction(table: &Table, change: &BucketChange) {
    delete(table, files_of(table, &change.home, &[&change.compact]).into_iter());
}

fn delete(table: &Table, paths: impl Iterator<Item = String>) -> usize {
    paths.filter(|path| table.files().delete(path).is_ok()).count()
}

/// Deletes the files of writers whose name begins with `operation`, except those that `kept` added, and returns their
/// number. Files that cannot be listed or deleted remain as orphan files.
///
/// # Errors
/// As for [`DataFilePaths::try_new`].
pub fn sweep(table: &Table, operation: &str, kept: &[BucketChange]) -> Result<usize> {
    let kept: Vec<String> = kept.iter().flat_map(|change| new_files(table, change)).collect();
    let kept: HashSet<&str> = kept.iter().map(String::as_str).collect();
    let options = Options::new(table.schema().options.clone());
    let paths = DataFilePaths::try_new(table.files(), table.location(), &options)?;
    Ok(paths
        .folders()
        .map(|folder| storage::sweep::sweep(table.files(), folder, operation, |path| kept.contains(path)))
        .sum())
}

/// Returns the locations of all files that a change added.
fn new_files(table: &Table, change: &BucketChange) -> Vec<String> {
    files_of(table, &change.home, &[&change.append, &change.compact])
}

/// Returns the locations of all files that changes of a bucket added.
fn files_of(table: &Table, home: &Home, increments: &[&Increment]) -> Vec<String> {
    let Ok(folder) = folder(table, home) else { return Vec::new() };
    let mut found = Vec::new();
    for increment in increments {
        // A file that only changed its level is not new.
        let old: HashSet<&str> = increment.removed.file_names().iter().flatten().collect();
        for entries in [&increment.added, &increment.changelog] {
            for file in (0..entries.len()).filter_map(|row| entries.file(row).ok()) {
                if !old.contains(file.file_name.as_str()) {
                    found.extend(locations(&folder, &file));
                }
            }
        }
        found.extend(increment.index_added.iter().filter_map(|entry| table.index_location(entry).ok()));
    }
    found
}

/// Returns the locations of a data file and of the files that belong to it, which are in the same folder.
fn locations(folder: &str, file: &DataFileMeta) -> Vec<String> {
    let external = file.external_path.as_deref();
    let folder = external.and_then(|path| path.rsplit_once('/')).map_or(folder, |(folder, _)| folder);
    let mut found = vec![external.map_or_else(|| format!("{folder}/{}", file.file_name), str::to_string)];
    found.extend(file.extra_files.iter().map(|name| format!("{folder}/{name}")));
    found
}

/// Returns the folder of a bucket.
fn folder(table: &Table, home: &Home) -> Result<String> {
    let options = Options::new(table.schema().options.clone());
    let partition = partition_folder(table.schema(), &home.partition, &Naming::from_options(&options)?)?;
    Ok(format!("{}/{}", table.location(), bucket_path(&options, &partition, home.bucket)?))
}
