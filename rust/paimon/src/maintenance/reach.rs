//! Finds the files that snapshots, tags and changelogs reference, and deletes those that nothing references any more.

use std::collections::BTreeMap;

use frazil_core::context::Context;
use frazil_core::error::Result;

use crate::spec::manifest::{self, ADD, ManifestEntries, WantedFields};
use crate::spec::manifest_list::{self, ManifestFileMeta};
use crate::spec::options::Options;
use crate::spec::partition_path::{Naming, bucket_path};
use crate::spec::snapshot::Snapshot;
use crate::table::{MAIN_BRANCH, MANIFEST_LIMIT_BYTES as LIMIT_BYTES, Table, partition_folder, present};

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
}

impl Sink for References {
    fn file(&mut self, name: &str, file: &dyn Fn() -> Result<OwnedFile>) -> Result<()> {
        if !self.contains_key(name) {
            self.insert(name.to_string(), file()?);
        }
        Ok(())
    }
}

/// Removes the files that are found from others.
pub(crate) struct Kept<'a>(pub(crate) &'a mut References);

impl Sink for Kept<'_> {
    fn file(&mut self, name: &str, _file: &dyn Fn() -> Result<OwnedFile>) -> Result<()> {
        self.0.remove(name);
        Ok(())
    }
}

impl Table {
    /// Finds the files that a snapshot or a tag references: those that are live in it, its changelog and its metadata.
    pub(crate) fn find_files(&self, of: &Snapshot, found: &mut impl Sink, context: &Context) -> Result<()> {
        self.find_live(of, found, context)?;
        self.find_changelog(of, found, context)?;
        self.find_metadata(of, found, context)
    }

    /// Finds the data files that are live in a snapshot.
    pub(crate) fn find_live(&self, of: &Snapshot, found: &mut impl Sink, context: &Context) -> Result<()> {
        self.find_data(&self.live_files(of, None, WantedFields::FILES, context)?, FileKind::Data, found)
    }

    /// Finds the manifest lists and the manifests of a snapshot, its index files and its statistics.
    pub(crate) fn find_metadata(&self, of: &Snapshot, found: &mut impl Sink, context: &Context) -> Result<()> {
        self.find_list(&of.base_manifest_list, of.base_manifest_list_size_bytes, found, context)?;
        self.find_list(&of.delta_manifest_list, of.delta_manifest_list_size_bytes, found, context)?;
        if let Some(name) = &of.index_manifest {
            for entry in self.index_entries(of, context)? {
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
        Ok(())
    }

    /// Finds the changelog files of a snapshot, and their manifests.
    pub(crate) fn find_changelog(&self, of: &Snapshot, found: &mut impl Sink, context: &Context) -> Result<()> {
        let Some(list) = &of.changelog_manifest_list else { return Ok(()) };
        let manifests = self.find_list(list, of.changelog_manifest_list_size_bytes, found, context)?;
        for entries in self.entries_of(&manifests, context)? {
            self.find_data(&entries, FileKind::Changelog, found)?;
        }
        Ok(())
    }

    /// Finds the data files that a snapshot added (`kind` = `ADD`) or removed, whether or not they are live.
    pub(crate) fn find_changed(
        &self,
        of: &Snapshot,
        kind: i32,
        found: &mut impl Sink,
        context: &Context,
    ) -> Result<()> {
        let mut manifests = self.find_list(&of.delta_manifest_list, None, &mut References::new(), context)?;
        manifests.retain(|meta| kind == ADD || meta.num_deleted_files > 0);
        for entries in self.entries_of(&manifests, context)? {
            let is_of_kind = entries.kinds().values().iter().map(|of_entry| Some(*of_entry == kind)).collect();
            self.find_data(&entries.filter(&is_of_kind)?, FileKind::Data, found)?;
        }
        Ok(())
    }

    /// Finds everything that the snapshots, tags and changelogs of the branch reference.
    pub(crate) fn find_all(&self, found: &mut impl Sink, context: &Context) -> Result<()> {
        for (_, tag) in self.tags()? {
            context.check()?;
            self.find_files(&tag, found, context)?;
        }
        self.find_decoupled(found, context)?;
        // A file that is live in a later snapshot is live in the first one, or was added since.
        let mut is_first = true;
        for snapshot in self.snapshots()? {
            context.check()?;
            if std::mem::take(&mut is_first) {
                self.find_live(&snapshot, found, context)?;
            } else {
                self.find_changed(&snapshot, ADD, found, context)?;
            }
            self.find_changelog(&snapshot, found, context)?;
            self.find_metadata(&snapshot, found, context)?;
        }
        Ok(())
    }

    /// Finds everything that changelogs without snapshots may need: their files may be those that the snapshot added.
    pub(crate) fn find_decoupled(&self, found: &mut impl Sink, context: &Context) -> Result<()> {
        for id in self.changelog_ids()? {
            context.check()?;
            let of = self.changelog(id)?;
            self.find_changelog(&of, found, context)?;
            for list in [&of.base_manifest_list, &of.delta_manifest_list] {
                let manifests = self.find_list(list, None, found, context)?;
                for entries in self.entries_of(&manifests, context)? {
                    self.find_data(&entries, FileKind::Data, found)?;
                }
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

    /// Finds a manifest list and its manifests, and returns the manifests; none if the list is already deleted.
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
        let Some(content) = present(self.files().read(&location, LIMIT_BYTES))? else { return Ok(Vec::new()) };
        let manifests = manifest_list::read(content, context).map_err(|error| error.with("file", &location))?;
        for meta in &manifests {
            let (location, size_bytes) = (|| self.manifest_location(&meta.file_name), meta.file_size.unsigned_abs());
            let file = || Ok(OwnedFile { kind: FileKind::Manifest, location: location(), size_bytes });
            found.file(&meta.file_name, &file)?;
        }
        Ok(manifests)
    }

    /// Returns the entries of manifests. Manifests that are already deleted are omitted.
    fn entries_of(&self, manifests: &[ManifestFileMeta], context: &Context) -> Result<Vec<ManifestEntries>> {
        let mut parts = Vec::with_capacity(manifests.len());
        for meta in manifests {
            let location = self.manifest_location(&meta.file_name);
            if let Some(content) = present(self.files().read(&location, LIMIT_BYTES))? {
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

/// Returns files in the order in which they are deleted.
pub(crate) fn in_order(files: References) -> Vec<OwnedFile> {
    let mut files: Vec<OwnedFile> = files.into_values().collect();
    files.sort_unstable();
    files
}
