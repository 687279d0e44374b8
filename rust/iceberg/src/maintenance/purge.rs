//! All files of a table, for when it is to be deleted as a whole.
//!
//! Of all snapshots, not only of those that a branch names: their manifest lists, manifests, data files and delete files;
//! beside them the metadata files that the log names and the statistics. What cannot be read is an error, because what
//! it names would be left or, worse, be taken for somebody else's.

use std::collections::HashSet;
use std::sync::Arc;

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::parallel;
use frazil_core::storage::Files;

use crate::properties;
use crate::spec::manifest::{self, FileContent};
use crate::spec::manifest_list::{self, MANIFEST_LIMIT_BYTES, ManifestFile};
use crate::spec::snapshot::Snapshot;
use crate::table::Table;

/// What a file of a table is; those that name others come after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    /// Rows.
    Data,
    /// Position deletes, deletion vectors or equality deletes.
    Deletes,
    /// A manifest.
    Manifest,
    /// A manifest list.
    ManifestList,
    /// Statistics of the table or of its partitions.
    Statistics,
    /// A `metadata.json`.
    Metadata,
}

impl FileKind {
    /// As users read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Deletes => "deletes",
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
    /// What it is.
    pub kind: FileKind,
    /// Its location as recorded.
    pub location: Arc<str>,
    /// Its length.
    pub size_bytes: u64,
}

/// Every file that a table owns, each once, in the order in which they can be deleted: what names others comes after
/// them, the current metadata file last.
///
/// # Errors
/// `CommitValidation` where `gc.enabled` is false; what the storage says of a file that cannot be read; `PathNotAllowed`
/// for a file that lies where the table may not read, and so not delete.
pub fn files_of(table: &Table, workers: usize, context: &Context) -> Result<Vec<OwnedFile>> {
    let metadata = table.metadata();
    if !metadata.flag(&properties::GC_ENABLED) {
        let message = "the table has gc.enabled=false: others may use its files";
        return Err(Error::new(ErrorKind::CommitValidation, message)
            .with("table", &metadata.location)
            .hint("drop it without deleting files, or set the property gc.enabled to true first"));
    }
    let mut owned = Owned { files: table.files(), seen: HashSet::new(), found: Vec::new() };
    let manifests = owned.manifests(&metadata.snapshots, workers, context)?;
    let decoded = parallel::map(&manifests, workers, |manifest| entries(table.files(), manifest, context))?;
    decoded.into_iter().flatten().try_for_each(|file| owned.add(file))?;
    for file in &metadata.statistics {
        owned.add(owned_file(FileKind::Statistics, &file.path, file.file_size_bytes))?;
    }
    for file in &metadata.partition_statistics {
        owned.add(owned_file(FileKind::Statistics, &file.path, file.file_size_bytes))?;
    }
    let current = table.state().metadata_location;
    for entry in metadata.metadata_log.iter().filter(|entry| entry.metadata_file != current) {
        owned.add_sized(FileKind::Metadata, &entry.metadata_file, true)?;
    }
    owned.add_sized(FileKind::Metadata, &current, false)?;
    owned.found.sort_by_key(|file| file.kind);
    Ok(owned.found)
}

/// Files that are found, each once.
struct Owned<'a> {
    files: &'a Files,
    seen: HashSet<String>,
    found: Vec<OwnedFile>,
}

impl Owned<'_> {
    fn add(&mut self, file: OwnedFile) -> Result<()> {
        self.files.resolve(&file.location)?;
        if self.seen.insert(self.files.same_file_key(&file.location)) {
            self.found.push(file);
        }
        Ok(())
    }

    /// Adds a file whose length nothing records; one that is gone already is no error if it `may_be_gone`.
    fn add_sized(&mut self, kind: FileKind, location: &str, may_be_gone: bool) -> Result<()> {
        match self.files.size(location) {
            Ok(size_bytes) => self.add(owned_file(kind, location, size_bytes)),
            Err(error) if may_be_gone && error.kind() == ErrorKind::MissingFile => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The manifests of snapshots, each once; adds them and their lists.
    fn manifests(
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

/// The manifest list of a snapshot, where it has one, and its manifests.
fn manifests_of(
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

/// The live files of a manifest.
fn entries(files: &Files, manifest: &ManifestFile, context: &Context) -> Result<Vec<OwnedFile>> {
    context.check()?;
    let path = &*manifest.manifest_path;
    let entries = manifest::read(files.read(path, MANIFEST_LIMIT_BYTES)?, manifest, &[], context)
        .map_err(|e| e.with("file", path))?;
    let (paths, sizes, contents) = (entries.paths()?, entries.file_sizes()?, entries.contents()?);
    let kind = |row: usize| match contents.and_then(|contents| contents.values().get(row).copied()) {
        Some(code) if code != FileContent::Data.code() => FileKind::Deletes,
        _ => FileKind::Data,
    };
    let rows = paths.iter().zip(sizes.iter()).enumerate();
    Ok(rows
        .filter_map(|(row, (path, size))| Some(owned_file(kind(row), path?, size.unwrap_or(0).unsigned_abs())))
        .collect())
}

fn owned_file(kind: FileKind, location: &str, size_bytes: u64) -> OwnedFile {
    OwnedFile { kind, location: location.into(), size_bytes }
}
