//! Finds the files that snapshots, tags and changelogs reference, and deletes those that nothing references any more.

use std::collections::{BTreeMap, BTreeSet};

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use crate::spec::manifest::{self, ADD, ManifestEntries, WantedFields};
use crate::spec::manifest_list::{self, ManifestFileMeta};
use crate::spec::options::Options;
use crate::spec::partition_path::{Naming, bucket_path};
use crate::spec::snapshot::Snapshot;
use crate::table::{MAIN_BRANCH, MANIFEST_LIMIT_BYTES as LIMIT_BYTES, Table, partition_folder, present};

/// The number of times that references are read if metadata expires while it is read.
pub(crate) const MAX_ATTEMPTS: u32 = 5;

/// The types of files, in the order in which they are deleted: files precede those that reference them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// A data file or its file index.
    Data,
    /// A changelog file.
    Changelog,
    /// The index of the keys or the deletion vectors of a bucket.
    Index,
    /// The statistics of a snapshot.
    Statistics,
    /// A list of index files.
    IndexManifest,
    /// A manifest.
    Manifest,
    /// A manifest list.
    ManifestList,
}

/// A file of a table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnedFile {
    /// The type.
    pub kind: FileKind,
    /// The location.
    pub location: String,
    /// The length in bytes; 0 if no metadata records it.
    pub size_bytes: u64,
}

impl FileKind {
    /// Returns the public name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Changelog => "changelog",
            Self::Index => "index",
            Self::Statistics => "statistics",
            Self::IndexManifest => "index-manifest",
            Self::Manifest => "manifest",
            Self::ManifestList => "manifest-list",
        }
    }
}

/// Files by name, which is unique in a table.
pub(crate) type References = BTreeMap<String, OwnedFile>;

/// The receiver of the files that are found.
pub(crate) trait Sink {
    /// Receives a file by its name; `file` returns the rest.
    fn file(&mut self, name: &str, file: &dyn Fn() -> Result<OwnedFile>) -> Result<()>;

    /// Returns whether metadata that is already deleted is skipped. Otherwise, it is an error.
    fn skips_missing(&self) -> bool;
}

impl Sink for References {
    fn file(&mut self, name: &str, file: &dyn Fn() -> Result<OwnedFile>) -> Result<()> {
        if !self.contains_key(name) {
            self.insert(name.to_string(), file()?);
        }
        Ok(())
    }

    fn skips_missing(&self) -> bool {
        true
    }
}

/// Removes the files that are found from those to delete. All of them must be found, so missing metadata is an error: a
/// snapshot may expire while it is read.
pub(crate) struct Kept<'a>(pub(crate) &'a mut References);

impl Sink for Kept<'_> {
    fn file(&mut self, name: &str, _file: &dyn Fn() -> Result<OwnedFile>) -> Result<()> {
        self.0.remove(name);
        Ok(())
    }

    fn skips_missing(&self) -> bool {
        false
    }
}

/// Passes on the files that are found, and skips missing metadata.
struct Remaining<'a, S>(&'a mut S);

impl<S: Sink> Sink for Remaining<'_, S> {
    fn file(&mut self, name: &str, file: &dyn Fn() -> Result<OwnedFile>) -> Result<()> {
        self.0.file(name, file)
    }

    fn skips_missing(&self) -> bool {
        true
    }
}

impl Table {
    /// Finds the files that a snapshot or a tag references: those that are live in it, its changelog and its metadata.
    pub(crate) fn find_files(&self, of: &Snapshot, found: &mut impl Sink, context: &Context) -> Result<()> {
        self.find_live(of, found, context)?;
        self.find_changelog(of, found, context)?;
        self.find_metadata(of, found, context).map(drop)
    }

    /// Finds the data files that are live in a snapshot.
    pub(crate) fn find_live(&self, of: &Snapshot, found: &mut impl Sink, context: &Context) -> Result<()> {
        self.find_data(&self.live_files(of, None, WantedFields::FILES, context)?, FileKind::Data, found)
    }

    /// Finds the manifest lists and the manifests of a snapshot, its index files and its statistics. Returns the manifests
    /// of both lists.
    pub(crate) fn find_metadata(
        &self,
        of: &Snapshot,
        found: &mut impl Sink,
        context: &Context,
    ) -> Result<[Vec<ManifestFileMeta>; 2]> {
        let base = self.find_list(&of.base_manifest_list, of.base_manifest_list_size_bytes, found, context)?;
        let delta = self.find_list(&of.delta_manifest_list, of.delta_manifest_list_size_bytes, found, context)?;
        if let Some(name) = &of.index_manifest {
            let entries = unless_missing(self.index_entries(of, context), found.skips_missing())?;
            for entry in entries.unwrap_or_default() {
                let size_bytes = u64::try_from(entry.file_size).unwrap_or(0);
                let location = || self.index_location(&entry);
                let file = || Ok(OwnedFile { kind: FileKind::Index, location: location()?, size_bytes });
                found.file(&entry.file_name, &file)?;
            }
            let location = || self.manifest_location(name);
            found
                .file(name, &|| Ok(OwnedFile { kind: FileKind::IndexManifest, location: location(), size_bytes: 0 }))?;
        }
        if let Some(name) = &of.statistics {
            let location = || format!("{}/statistics/{name}", self.location());
            found.file(name, &|| Ok(OwnedFile { kind: FileKind::Statistics, location: location(), size_bytes: 0 }))?;
        }
        Ok([base, delta])
    }

    /// Finds the changelog files of a snapshot, and their manifests, as far as they exist. Java deletes those of tags when
    /// the snapshot expires. No two snapshots share changelog files.
    pub(crate) fn find_changelog(&self, of: &Snapshot, found: &mut impl Sink, context: &Context) -> Result<()> {
        let Some(list) = &of.changelog_manifest_list else { return Ok(()) };
        let found = &mut Remaining(found);
        let manifests = self.find_list(list, of.changelog_manifest_list_size_bytes, found, context)?;
        for entries in self.entries_of(&manifests, true, context)? {
            self.find_data(&entries, FileKind::Changelog, found)?;
        }
        Ok(())
    }

    /// Finds the data files that a snapshot added (`kind` = `ADD`) or removed, whether or not they are live. `delta` are
    /// the manifests of its changes.
    pub(crate) fn find_changed(
        &self,
        delta: &[ManifestFileMeta],
        kind: i32,
        found: &mut impl Sink,
        context: &Context,
    ) -> Result<()> {
        let manifests = delta.iter().filter(|meta| kind == ADD || meta.num_deleted_files > 0);
        for entries in self.entries_of(manifests, found.skips_missing(), context)? {
            let is_of_kind = entries.kinds().values().iter().map(|of_entry| Some(*of_entry == kind)).collect();
            self.find_data(&entries.filter(&is_of_kind)?, FileKind::Data, found)?;
        }
        Ok(())
    }

    /// Finds everything that the snapshots, tags and changelogs of the branch reference.
    ///
    /// # Errors
    /// The errors of reading metadata. Metadata that expires while it is read is read again.
    pub(crate) fn find_all(&self, found: &mut impl Sink, context: &Context) -> Result<()> {
        let mut attempt = 1;
        loop {
            match self.find_all_once(found, context) {
                Err(error) if has_expired(&error) && attempt < MAX_ATTEMPTS => attempt += 1,
                done => return done,
            }
        }
    }

    fn find_all_once(&self, found: &mut impl Sink, context: &Context) -> Result<()> {
        for (_, tag) in self.tags()? {
            context.check()?;
            self.find_files(&tag, found, context)?;
        }
        self.find_decoupled(found, context)?;
        let mut before: BTreeSet<String> = BTreeSet::new();
        for id in self.snapshot_ids()? {
            context.check()?;
            let snapshot = self.snapshot(id)?;
            let [base, delta] = self.find_metadata(&snapshot, found, context)?;
            let name = |meta: ManifestFileMeta| meta.file_name;
            let mut manifests: BTreeSet<String> = base.into_iter().map(name).collect();
            // If a snapshot begins with the manifests of the previous one, its files are those of the previous one, or
            // were added since. Otherwise, manifests were merged, or the previous one belongs to another branch.
            if manifests == before {
                self.find_changed(&delta, ADD, found, context)?;
            } else {
                self.find_live(&snapshot, found, context)?;
            }
            self.find_changelog(&snapshot, found, context)?;
            manifests.extend(delta.into_iter().map(name));
            before = manifests;
        }
        Ok(())
    }

    /// Finds everything that changelogs without snapshots may need: their files may be those that the snapshot added.
    pub(crate) fn find_decoupled(&self, found: &mut impl Sink, context: &Context) -> Result<()> {
        self.changelog_ids()?.into_iter().try_for_each(|id| {
            context.check()?;
            self.find_changelog_without_snapshot(&self.changelog(id)?, found, context)
        })
    }

    /// Finds everything that a changelog without a snapshot may need.
    pub(crate) fn find_changelog_without_snapshot(
        &self,
        of: &Snapshot,
        found: &mut impl Sink,
        context: &Context,
    ) -> Result<()> {
        // Java deletes manifest lists that only the snapshot needed.
        let found = &mut Remaining(found);
        self.find_changelog(of, found, context)?;
        for list in [&of.base_manifest_list, &of.delta_manifest_list] {
            let manifests = self.find_list(list, None, found, context)?;
            for entries in self.entries_of(&manifests, true, context)? {
                self.find_data(&entries, FileKind::Data, found)?;
            }
        }
        Ok(())
    }

    /// Returns the branches other than this one, and the main branch.
    pub(crate) fn other_branches(&self) -> Result<Vec<Self>> {
        let mut branches = self.branches()?;
        branches.push(MAIN_BRANCH.to_string());
        branches.retain(|branch| branch != self.branch());
        branches.iter().map(|branch| self.with_branch(branch)).collect()
    }

    /// Deletes the files of `gone` that no snapshot, tag or changelog of any branch references.
    ///
    /// # Errors
    /// The errors of reading the metadata of another snapshot; then nothing is deleted.
    pub(crate) fn delete_unreferenced(&self, mut gone: References, context: &Context) -> Result<()> {
        if gone.is_empty() {
            return Ok(());
        }
        self.find_all(&mut Kept(&mut gone), context)?;
        for branch in self.other_branches()? {
            branch.find_all(&mut Kept(&mut gone), context)?;
        }
        in_order(gone).iter().try_for_each(|file| self.files().delete(&file.location))
    }

    /// Finds a manifest list and its manifests, and returns the manifests.
    fn find_list(
        &self,
        name: &str,
        size_bytes: Option<i64>,
        found: &mut impl Sink,
        context: &Context,
    ) -> Result<Vec<ManifestFileMeta>> {
        let location = self.manifest_location(name);
        let size_bytes = size_bytes.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
        let file = || Ok(OwnedFile { kind: FileKind::ManifestList, location: location.clone(), size_bytes });
        found.file(name, &file)?;
        let manifests = self.list(name, found.skips_missing(), context)?;
        for meta in &manifests {
            let (location, size_bytes) = (|| self.manifest_location(&meta.file_name), meta.file_size.unsigned_abs());
            let file = || Ok(OwnedFile { kind: FileKind::Manifest, location: location(), size_bytes });
            found.file(&meta.file_name, &file)?;
        }
        Ok(manifests)
    }

    /// Returns the manifests of a list.
    pub(crate) fn list(&self, name: &str, skips_missing: bool, context: &Context) -> Result<Vec<ManifestFileMeta>> {
        let location = self.manifest_location(name);
        let content = unless_missing(self.files().read(&location, LIMIT_BYTES), skips_missing)?;
        let Some(content) = content else { return Ok(Vec::new()) };
        manifest_list::read(content, context).map_err(|error| error.with("file", &location))
    }

    /// Returns the entries of manifests.
    fn entries_of<'a>(
        &self,
        manifests: impl IntoIterator<Item = &'a ManifestFileMeta>,
        skips_missing: bool,
        context: &Context,
    ) -> Result<Vec<ManifestEntries>> {
        let mut parts = Vec::new();
        for meta in manifests {
            let location = self.manifest_location(&meta.file_name);
            if let Some(content) = unless_missing(self.files().read(&location, LIMIT_BYTES), skips_missing)? {
                let read = manifest::read(content, WantedFields::FILES, context);
                parts.push(read.map_err(|error| error.with("file", &location))?);
            }
        }
        Ok(parts)
    }

    fn find_data(&self, entries: &ManifestEntries, kind: FileKind, found: &mut impl Sink) -> Result<()> {
        let options = Options::new(self.schema().options.clone());
        let naming = Naming::from_options(&options)?;
        for row in 0..entries.len() {
            let file = entries.file(row)?;
            let folder = || -> Result<String> {
                let external = file.external_path.as_deref().and_then(|path| path.rsplit_once('/'));
                if let Some((folder, _)) = external {
                    return Ok(folder.to_string());
                }
                let (partition, bucket) = (entries.partitions().value(row), entries.buckets().value(row));
                let partition = partition_folder(self.schema(), partition, &naming)?;
                Ok(format!("{}/{}", self.location(), bucket_path(&options, &partition, bucket)?))
            };
            let size_bytes = u64::try_from(file.file_size_bytes).unwrap_or(0);
            for name in std::iter::once(&file.file_name).chain(&file.extra_files) {
                let size_bytes = if *name == file.file_name { size_bytes } else { 0 };
                found.file(name, &|| Ok(OwnedFile { kind, location: format!("{}/{name}", folder()?), size_bytes }))?;
            }
        }
        Ok(())
    }
}

/// Returns whether an error is that of a snapshot or its metadata which no longer exist.
pub(crate) fn has_expired(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::MissingFile | ErrorKind::NoSuchSnapshot)
}

/// Returns None for a missing file that is skipped.
fn unless_missing<T>(found: Result<T>, skips_missing: bool) -> Result<Option<T>> {
    if skips_missing { present(found) } else { found.map(Some) }
}

/// Returns files in the order in which they are deleted.
pub(crate) fn in_order(files: References) -> Vec<OwnedFile> {
    let mut files: Vec<OwnedFile> = files.into_values().collect();
    files.sort_unstable();
    files
}
