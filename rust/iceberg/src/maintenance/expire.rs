//! Finds the files that only expired snapshots reference.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::parallel;
use frazil_core::storage::Files;

use super::reach::{FileKind, Owned, OwnedFile, entries, manifests_of, owned_file};
use crate::spec::manifest_list::ManifestFile;
use crate::spec::snapshot::Snapshot;
use crate::spec::table_metadata::TableMetadata;
use crate::table::Table;

/// Returns the files that are referenced by snapshots of `before` but not by `after`, a later state of the same table.
/// Each file is listed once. Files can be deleted in the returned order: a file comes after the files that it
/// references.
///
/// A missing file of an expired snapshot is skipped, along with the files that it references: an earlier run may have
/// deleted it.
///
/// # Errors
/// Storage errors for an unreadable file of `after`, because the files it references would be considered unused.
/// `PathNotAllowed` for a file in a location that the table may not read, and therefore may not delete.
pub fn unreachable(before: &Table, after: &Table, workers: usize, context: &Context) -> Result<Vec<OwnedFile>> {
    let files = before.files();
    let kept: HashSet<i64> = after.metadata().snapshots.iter().map(|snapshot| snapshot.snapshot_id).collect();
    let expired: Vec<Arc<Snapshot>> =
        before.metadata().snapshots.iter().filter(|one| !kept.contains(&one.snapshot_id)).cloned().collect();
    if expired.is_empty() {
        return Ok(Vec::new());
    }
    let live = listed(files, &after.metadata().snapshots, workers, context, Err)?;
    let dead = listed(files, &expired, workers, context, pass_missing)?;
    let mut unused = Owned::new(files);
    for (key, list) in dead.lists {
        if !live.lists.contains_key(&key) {
            unused.add(list)?;
        }
    }
    let dead_manifests: Vec<ManifestFile> =
        dead.manifests.into_iter().filter(|(key, _)| !live.manifests.contains_key(key)).map(|(_, one)| one).collect();
    for manifest in &dead_manifests {
        let size_bytes = manifest.manifest_length.unsigned_abs();
        unused.add(owned_file(FileKind::Manifest, &manifest.manifest_path, size_bytes))?;
    }
    let mut candidates: HashMap<String, OwnedFile> = HashMap::new();
    let read = |manifest: &ManifestFile| entries(files, manifest, context).or_else(pass_missing);
    for file in parallel::map(&dead_manifests, workers, read)?.into_iter().flatten() {
        candidates.entry(files.same_file_key(&file.location)).or_insert(file);
    }
    if !candidates.is_empty() {
        let live_manifests: Vec<ManifestFile> = live.manifests.into_values().collect();
        let used = |manifest: &ManifestFile| {
            let keys = entries(files, manifest, context)?.into_iter().map(|file| files.same_file_key(&file.location));
            Ok(keys.filter(|key| candidates.contains_key(key)).collect::<Vec<_>>())
        };
        for key in parallel::map(&live_manifests, workers, used)?.into_iter().flatten() {
            candidates.remove(&key);
        }
    }
    candidates.into_values().try_for_each(|file| unused.add(file))?;
    let live_statistics: HashSet<String> =
        statistics(after.metadata()).map(|(path, _)| files.same_file_key(path)).collect();
    for (path, size_bytes) in statistics(before.metadata()) {
        if !live_statistics.contains(&files.same_file_key(path)) {
            unused.add(owned_file(FileKind::Statistics, path, size_bytes))?;
        }
    }
    unused.found.sort_by(|a, b| (a.kind, &a.location).cmp(&(b.kind, &b.location)));
    Ok(unused.found)
}

/// The known manifest lists and manifests, keyed so that two locations of the same file are equal.
struct Listed {
    lists: HashMap<String, OwnedFile>,
    manifests: HashMap<String, ManifestFile>,
}

fn listed(
    files: &Files,
    snapshots: &[Arc<Snapshot>],
    workers: usize,
    context: &Context,
    recover: impl Fn(Error) -> Result<(Option<OwnedFile>, Vec<ManifestFile>)> + Sync,
) -> Result<Listed> {
    let read = |snapshot: &Arc<Snapshot>| {
        context.check()?;
        manifests_of(files, snapshot, context)
            .or_else(&recover)
            .map_err(|error| error.with("snapshot", snapshot.snapshot_id))
    };
    let mut found = Listed { lists: HashMap::new(), manifests: HashMap::new() };
    for (list, manifests) in parallel::map(snapshots, workers, read)? {
        found.lists.extend(list.map(|list| (files.same_file_key(&list.location), list)));
        let keyed = manifests.into_iter().map(|one| (files.same_file_key(&one.manifest_path), one));
        found.manifests.extend(keyed);
    }
    Ok(found)
}

/// Replaces the error for a missing file with the default value, and returns any other error.
fn pass_missing<T: Default>(error: Error) -> Result<T> {
    if error.kind() == ErrorKind::MissingFile { Ok(T::default()) } else { Err(error) }
}

fn statistics(metadata: &TableMetadata) -> impl Iterator<Item = (&str, u64)> {
    let of_table = metadata.statistics.iter().map(|file| (&*file.path, file.file_size_bytes));
    of_table.chain(metadata.partition_statistics.iter().map(|file| (&*file.path, file.file_size_bytes)))
}
