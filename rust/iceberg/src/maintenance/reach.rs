//! Collects the files that snapshots of a table reference, without duplicates.

use std::collections::HashSet;
use std::sync::Arc;

use frazil_core::context::Context;
use frazil_core::error::{ErrorKind, Result};
use frazil_core::parallel;
use frazil_core::storage::Files;

use crate::spec::manifest::{self, FileContent};
use crate::spec::manifest_list::{self, MANIFEST_LIMIT_BYTES, ManifestFile};
use crate::spec::snapshot::Snapshot;

/// The type of a file of a table. A type comes after the types that it references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    /// A data file.
    Data,
    /// A position delete file or a deletion vector.
    PositionDeletes,
    /// An equality delete file.
    EqualityDeletes,
    /// A manifest.
    Manifest,
    /// A manifest list.
    ManifestList,
    /// A statistics file of the table or of its partitions.
    Statistics,
    /// A `metadata.json`.
    Metadata,
}

impl FileKind {
    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::PositionDeletes => "position-deletes",
            Self::EqualityDeletes => "equality-deletes",
            Self::Manifest => "manifest",
            Self::ManifestList => "manifest-list",
            Self::Statistics => "statistics",
            Self::Metadata => "metadata",
        }
    }
}

/// A file of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedFile {
    /// The type of the file.
    pub kind: FileKind,
    /// The location as recorded.
    pub location: Arc<str>,
    /// The size of the file.
    pub size_bytes: u64,
}

/// The files found so far, without duplicates.
pub(super) struct Owned<'a> {
    pub(super) files: &'a Files,
    seen: HashSet<String>,
    pub(super) found: Vec<OwnedFile>,
}

impl<'a> Owned<'a> {
    pub(super) fn new(files: &'a Files) -> Self {
        Self { files, seen: HashSet::new(), found: Vec::new() }
    }

    pub(super) fn add(&mut self, file: OwnedFile) -> Result<()> {
        self.files.resolve(&file.location)?;
        if self.seen.insert(self.files.same_file_key(&file.location)) {
            self.found.push(file);
        }
        Ok(())
    }

    /// Adds a file whose length is not recorded. With `may_be_gone`, a missing file is skipped.
    pub(super) fn add_sized(&mut self, kind: FileKind, location: &str, may_be_gone: bool) -> Result<()> {
        match self.files.size(location) {
            Ok(size_bytes) => self.add(owned_file(kind, location, size_bytes)),
            Err(error) if may_be_gone && error.kind() == ErrorKind::MissingFile => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Adds the manifest lists and manifests of snapshots to the files found, and returns the manifests without
    /// duplicates.
    pub(super) fn manifests(
        &mut self,
        snapshots: &[Arc<Snapshot>],
        workers: usize,
        context: &Context,
    ) -> Result<Vec<ManifestFile>> {
        let read = |snapshot: &Arc<Snapshot>| {
            context.check()?;
            manifests_of(self.files, snapshot, context).map_err(|e| e.with("snapshot", snapshot.snapshot_id))
        };
        let listed = parallel::map(snapshots, workers, read)?;
        let mut manifests = Vec::new();
        let mut known: HashSet<Arc<str>> = HashSet::new();
        for (list, named) in listed {
            list.into_iter().try_for_each(|list| self.add(list))?;
            for manifest in named {
                if known.insert(manifest.manifest_path.clone()) {
                    let size_bytes = manifest.manifest_length.unsigned_abs();
                    self.add(owned_file(FileKind::Manifest, &manifest.manifest_path, size_bytes))?;
                    manifests.push(manifest);
                }
            }
        }
        Ok(manifests)
    }
}

/// Returns the manifest list of a snapshot, if it has one, and its manifests.
pub(super) fn manifests_of(
    files: &Files,
    snapshot: &Snapshot,
    context: &Context,
) -> Result<(Option<OwnedFile>, Vec<ManifestFile>)> {
    let Some(list) = &snapshot.manifest_list else {
        let inline = |path: &String| {
            let length = i64::try_from(files.size(path)?).unwrap_or(i64::MAX);
            Ok(ManifestFile { manifest_length: length, ..ManifestFile::inline(path) })
        };
        return Ok((None, snapshot.manifests.iter().flatten().map(inline).collect::<Result<_>>()?));
    };
    let bytes = files.read(list, MANIFEST_LIMIT_BYTES)?;
    let file = owned_file(FileKind::ManifestList, list, bytes.len() as u64);
    let manifests = manifest_list::read(bytes, context).map_err(|e| e.with("file", list))?;
    Ok((Some(file), manifests))
}

/// Returns the live files of a manifest.
pub(super) fn entries(files: &Files, manifest: &ManifestFile, context: &Context) -> Result<Vec<OwnedFile>> {
    context.check()?;
    let path = &*manifest.manifest_path;
    let entries = manifest::read(files.read(path, MANIFEST_LIMIT_BYTES)?, manifest, &[], context)
        .map_err(|e| e.with("file", path))?;
    let (paths, sizes, contents) = (entries.paths()?, entries.file_sizes()?, entries.contents()?);
    let kind = |row: usize| match contents.and_then(|contents| contents.values().get(row).copied()) {
        Some(code) if code == FileContent::EqualityDeletes.code() => FileKind::EqualityDeletes,
        Some(code) if code != FileContent::Data.code() => FileKind::PositionDeletes,
        _ => FileKind::Data,
    };
    let rows = paths.iter().zip(sizes.iter()).enumerate();
    Ok(rows
        .filter_map(|(row, (path, size))| Some(owned_file(kind(row), path?, size.unwrap_or(0).unsigned_abs())))
        .collect())
}

pub(super) fn owned_file(kind: FileKind, location: &str, size_bytes: u64) -> OwnedFile {
    OwnedFile { kind, location: location.into(), size_bytes }
}
