//! Branches: `branch/branch-<name>/{schema, snapshot, tag}`. A branch exists if it has a schema, which is therefore
//! written last and deleted last.

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::{check_new_name, exists};
use crate::maintenance::reach::References;
use crate::spec::options::Options;
use crate::table::{LIMIT_BYTES, MAIN_BRANCH, Table, root};

/// The folders of a branch, in the order in which they are written.
const FOLDERS: [&str; 5] = ["tag", "changelog", "consumer", "snapshot", "schema"];

impl Table {
    /// Creates a branch at a tag of the branch of this table.
    pub(super) fn create_branch(&self, name: &str, tag: Option<&str>) -> Result<()> {
        self.check_new_branch(name)?;
        let tagged = tag.map(|tag| self.tag(tag)).transpose()?;
        let last = tagged.as_ref().map_or(self.schema().id, |snapshot| snapshot.schema_id);
        let (source, target) = (root(self.location(), self.branch()), root(self.location(), name));
        if let (Some(tag), Some(snapshot)) = (tag, &tagged) {
            let content = self.files().read(&self.tag_location(tag), LIMIT_BYTES)?;
            self.files().put(&format!("{target}/tag/tag-{tag}"), content)?;
            self.files().put(&format!("{target}/snapshot/snapshot-{}", snapshot.id), snapshot.to_json().into())?;
        }
        for id in self.schema_ids()?.into_iter().filter(|id| *id <= last) {
            let content = self.files().read(&format!("{source}/schema/schema-{id}"), LIMIT_BYTES)?;
            self.files().put(&format!("{target}/schema/schema-{id}"), content)?;
        }
        Ok(())
    }

    pub(super) fn delete_branch(&self, name: &str, context: &Context) -> Result<()> {
        let branch = self.existing_branch(name)?;
        let mut gone = References::new();
        let tags = branch.tags()?.into_iter().map(|(_, snapshot)| snapshot);
        for snapshot in branch.snapshots()?.into_iter().chain(tags) {
            branch.find_files(&snapshot, &mut gone, context)?;
        }
        self.delete_metadata(name)?;
        self.delete_unreferenced(gone, context)
    }

    pub(super) fn rename_branch(&self, name: &str, new_name: &str) -> Result<()> {
        self.existing_branch(name)?;
        self.check_new_branch(new_name)?;
        let (from, to) = (root(self.location(), name), root(self.location(), new_name));
        for folder in FOLDERS {
            for file in self.sorted_names(&format!("{from}/{folder}"))? {
                let content = self.files().read(&format!("{from}/{folder}/{file}"), LIMIT_BYTES)?;
                self.files().put(&format!("{to}/{folder}/{file}"), content)?;
            }
        }
        self.delete_metadata(name)
    }

    /// Replaces the states of the branch of this table, usually the main branch, since the first snapshot of another
    /// branch by the states of that branch. Files that only the replaced states need are deleted.
    ///
    /// The branch keeps its states, so that an interrupted call can be repeated.
    pub(super) fn fast_forward(&self, name: &str, context: &Context) -> Result<()> {
        if name == self.branch() {
            return Err(Error::invalid(format!("the branch `{name}` cannot be fast-forwarded to itself")));
        }
        let branch = self.known_branch(name)?;
        let snapshots = branch.snapshots()?;
        let (Some(first), Some(last)) = (snapshots.first(), snapshots.last()) else {
            let message = format!("the branch `{name}` has no snapshot");
            return Err(Error::new(ErrorKind::NoSuchSnapshot, message).with("table", self.location()));
        };
        let mut gone = References::new();
        let mut replaced = self.snapshots()?;
        replaced.retain(|snapshot| snapshot.id >= first.id);
        let mut tags = self.tags()?;
        tags.retain(|(_, tagged)| tagged.id >= first.id);
        for snapshot in replaced.iter().chain(tags.iter().map(|(_, tagged)| tagged)) {
            self.find_files(snapshot, &mut gone, context)?;
        }
        let (from, to) = (root(self.location(), name), root(self.location(), self.branch()));
        self.files().delete(&format!("{}/LATEST", self.snapshot_folder()))?;
        for snapshot in replaced.iter().rev() {
            self.files().delete(&self.snapshot_location(snapshot.id))?;
        }
        for (tag, _) in &tags {
            self.files().delete(&self.tag_location(tag))?;
        }
        let known = branch.schema_ids()?;
        for id in self.schema_ids()?.iter().rev().filter(|id| **id >= first.schema_id && !known.contains(*id)) {
            self.files().delete(&format!("{to}/schema/schema-{id}"))?;
        }
        for folder in ["schema", "snapshot", "tag"] {
            for file in self.sorted_names(&format!("{from}/{folder}"))?.iter().filter(|name| is_numbered(folder, name))
            {
                let content = self.files().read(&format!("{from}/{folder}/{file}"), LIMIT_BYTES)?;
                self.files().put(&format!("{to}/{folder}/{file}"), content)?;
            }
        }
        self.files().put(&format!("{}/LATEST", self.snapshot_folder()), last.id.to_string().into())?;
        self.delete_unreferenced(gone, context)
    }

    fn check_new_branch(&self, name: &str) -> Result<()> {
        check_new_name("branch", name)?;
        if name == MAIN_BRANCH || self.branches()?.iter().any(|known| known == name) {
            return Err(exists("branch", name, "choose another name").with("table", self.location()));
        }
        Ok(())
    }

    /// Returns a branch that can be deleted.
    fn existing_branch(&self, name: &str) -> Result<Self> {
        let refused =
            |why: &str| Err(Error::invalid(format!("the branch `{name}` {why}")).with("table", self.location()));
        if name == MAIN_BRANCH {
            return refused("cannot be renamed or deleted, because every table has it");
        }
        let main = self.with_branch(MAIN_BRANCH)?;
        let options = Options::new(main.schema().options.clone());
        if options.fallback_branch() == Some(name) {
            return refused("is that of the option `scan.fallback-branch`");
        }
        self.known_branch(name)
    }

    fn known_branch(&self, name: &str) -> Result<Self> {
        if !self.branches()?.iter().any(|known| known == name) {
            let message = format!("there is no branch `{name}`");
            return Err(Error::new(ErrorKind::NoSuchSnapshot, message).with("table", self.location()));
        }
        self.with_branch(name)
    }

    /// Deletes the metadata of a branch; its schemas last.
    fn delete_metadata(&self, name: &str) -> Result<()> {
        let root = root(self.location(), name);
        for folder in FOLDERS {
            for file in self.sorted_names(&format!("{root}/{folder}"))? {
                self.files().delete(&format!("{root}/{folder}/{file}"))?;
            }
        }
        Ok(())
    }

    fn sorted_names(&self, folder: &str) -> Result<Vec<String>> {
        let listed = self.files().list(folder)?;
        let name = |location: &str| location.rsplit_once('/').map(|(_, name)| name.to_string());
        let mut names: Vec<String> = listed.iter().filter_map(|file| name(&file.location)).collect();
        names.sort_unstable();
        Ok(names)
    }
}

/// Returns whether a file in a folder of a branch is part of its states, unlike hints.
fn is_numbered(folder: &str, name: &str) -> bool {
    name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('-'))
}
