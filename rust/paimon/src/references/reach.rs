//! Finds the files that snapshots, tags and changelogs reference, and deletes those that nothing references any more.

use std::collections::BTreeMap;

use frazil_core::context::Context;
use frazil_core::error::Result;

use crate::spec::manifest::{self, ManifestEntries, WantedFields};
use crate::spec::manifest_list;
use crate::spec::options::Options;
use crate::spec::partition_path::{Naming, bucket_path};
use crate::spec::snapshot::Snapshot;
use crate::table::{MAIN_BRANCH, MANIFEST_LIMIT_BYTES as LIMIT_BYTES, Table, partition_folder, present};

/// Files by name, with their locations. Names of files are unique in a table.
pub(super) type References = BTreeMap<String, String>;

impl Table {
    /// Adds the files that a snapshot or a tag references: those that are live in it, and its metadata.
    pub(super) fn add_references(&self, of: &Snapshot, found: &mut References, context: &Context) -> Result<()> {
        self.add_data_files(&self.live_files(of, None, WantedFields::FILES, context)?, found)?;
        self.add_changelog(of, found, context)?;
        for list in [&of.base_manifest_list, &of.delta_manifest_list] {
            self.add_manifest_list(list, found, context)?;
        }
        if let Some(name) = &of.index_manifest {
            for entry in self.index_entries(of, context)? {
                let location = self.index_location(&entry)?;
                found.insert(entry.file_name, location);
            }
            found.insert(name.clone(), self.manifest_location(name));
        }
        if let Some(name) = &of.statistics {
            found.insert(name.clone(), format!("{}/statistics/{name}", self.location()));
        }
        Ok(())
    }

    /// Deletes the files of `gone` that no snapshot, tag or changelog of any branch references.
    ///
    /// # Errors
    /// The errors of reading the metadata of another snapshot; then nothing is deleted.
    pub(super) fn delete_unreferenced(&self, mut gone: References, context: &Context) -> Result<()> {
        if gone.is_empty() {
            return Ok(());
        }
        let mut branches = self.branches()?;
        branches.push(MAIN_BRANCH.to_string());
        for branch in branches {
            let branch = self.with_branch(&branch)?;
            let tags = branch.tags()?.into_iter().map(|(_, snapshot)| snapshot);
            for snapshot in branch.snapshots()?.into_iter().chain(tags) {
                context.check()?;
                let mut kept = References::new();
                branch.add_references(&snapshot, &mut kept, context)?;
                gone.retain(|name, _| !kept.contains_key(name));
            }
            for id in branch.changelog_ids()? {
                context.check()?;
                let kept = branch.all_of_changelog(&branch.changelog(id)?, context)?;
                gone.retain(|name, _| !kept.contains_key(name));
            }
        }
        // Manifests are read to find data files, so that they are deleted last.
        let folder = format!("{}/manifest/", self.location());
        let (metadata, data): (Vec<_>, Vec<_>) = gone.values().partition(|location| location.starts_with(&folder));
        data.into_iter().chain(metadata).try_for_each(|location| self.files().delete(location))
    }

    /// Returns everything that a decoupled changelog may need. Its files may be those of the changes in its snapshot.
    fn all_of_changelog(&self, of: &Snapshot, context: &Context) -> Result<References> {
        let mut found = References::new();
        self.add_changelog(of, &mut found, context)?;
        for list in [&of.base_manifest_list, &of.delta_manifest_list] {
            for entries in self.add_manifest_list(list, &mut found, context)? {
                self.add_data_files(&entries, &mut found)?;
            }
        }
        Ok(found)
    }

    fn add_changelog(&self, of: &Snapshot, found: &mut References, context: &Context) -> Result<()> {
        let Some(list) = &of.changelog_manifest_list else { return Ok(()) };
        for entries in self.add_manifest_list(list, found, context)? {
            self.add_data_files(&entries, found)?;
        }
        Ok(())
    }

    /// Adds a manifest list and its manifests; returns their entries. Files that are already deleted are omitted.
    fn add_manifest_list(&self, name: &str, found: &mut References, context: &Context) -> Result<Vec<ManifestEntries>> {
        let location = self.manifest_location(name);
        let content = present(self.files().read(&location, LIMIT_BYTES))?;
        found.insert(name.to_string(), location.clone());
        let Some(content) = content else { return Ok(Vec::new()) };
        let manifests = manifest_list::read(content, context).map_err(|error| error.with("file", &location))?;
        let mut parts = Vec::with_capacity(manifests.len());
        for manifest in manifests {
            let location = self.manifest_location(&manifest.file_name);
            if let Some(content) = present(self.files().read(&location, LIMIT_BYTES))? {
                let read = manifest::read(content, WantedFields::FILES, context);
                parts.push(read.map_err(|error| error.with("file", &location))?);
            }
            found.insert(manifest.file_name, location);
        }
        Ok(parts)
    }

    fn add_data_files(&self, entries: &ManifestEntries, found: &mut References) -> Result<()> {
        let options = Options::new(self.schema().options.clone());
        let naming = Naming::from_options(&options)?;
        for row in 0..entries.len() {
            let file = entries.file(row)?;
            let (partition, bucket) = (entries.partitions().value(row), entries.buckets().value(row));
            let external = file.external_path.as_deref().and_then(|path| path.rsplit_once('/'));
            let folder = if let Some((folder, _)) = external {
                folder.to_string()
            } else {
                let partition = partition_folder(self.schema(), partition, &naming)?;
                format!("{}/{}", self.location(), bucket_path(&options, &partition, bucket)?)
            };
            for name in std::iter::once(&file.file_name).chain(&file.extra_files) {
                found.insert(name.clone(), format!("{folder}/{name}"));
            }
        }
        Ok(())
    }
}
