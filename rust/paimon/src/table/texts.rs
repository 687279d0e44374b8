//! Returns metadata as JSON text for display.

use std::collections::BTreeMap;

use frazil_core::error::{Error, ErrorKind, Result};
use serde_json::value::RawValue;

use super::numbered::{LIMIT_BYTES, Numbered, names};
use super::{SnapshotChoice, Table, root};

impl Table {
    /// Returns the content of a snapshot file; the latest for None, and `null` if there are no snapshots.
    ///
    /// # Errors
    /// `NoSuchSnapshot`; `CorruptMetadata` naming a file that is not JSON.
    pub fn snapshot_text(&self, id: Option<i64>) -> Result<String> {
        let id = match id {
            Some(id) => self.snapshot(id)?.id,
            None => match self.latest_snapshot()? {
                Some(snapshot) => snapshot.id,
                None => return Ok("null".into()),
            },
        };
        self.text("snapshot", &format!("snapshot-{id}")).map(|text| text.get().to_string())
    }

    /// Returns a JSON object with the contents of tag files by name.
    ///
    /// # Errors
    /// `CorruptMetadata` naming a file that is not JSON.
    pub fn tag_texts(&self) -> Result<String> {
        self.texts("tag", "tag-")
    }

    /// Returns a JSON object with the contents of consumer files by name.
    ///
    /// # Errors
    /// `CorruptMetadata` naming a file that is not JSON.
    pub fn consumer_texts(&self) -> Result<String> {
        self.texts("consumer", "consumer-")
    }

    /// Returns the branches other than the main one, sorted: the folders `branch/branch-<name>` that have a schema.
    ///
    /// # Errors
    /// The errors of the storage.
    pub fn branches(&self) -> Result<Vec<String>> {
        let folders = self.files().folders(&format!("{}/branch", self.location()))?;
        let mut found = Vec::new();
        for name in folders.iter().filter_map(|folder| folder.strip_prefix("branch-")) {
            let folder = format!("{}/schema", root(self.location(), name));
            let schemas = Numbered { files: self.files(), folder, prefix: "schema-" };
            if !name.is_empty() && !schemas.numbers()?.is_empty() {
                found.push(name.to_string());
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Returns the modification time of the oldest schema file of a branch, in milliseconds since the epoch by the
    /// clock of the store.
    ///
    /// # Errors
    /// `NoSuchSnapshot` for a branch that the table does not have; the errors of the storage.
    pub fn branch_created_ms(&self, branch: &str) -> Result<i64> {
        let folder = format!("{}/schema", root(self.location(), branch));
        let written = self.files().list(&folder)?.iter().map(|file| file.modified_ms).min();
        written.ok_or_else(|| super::no_schema(self.location(), branch))
    }

    /// Returns the table or branch that a reference selects, and the state to read. A name that is not a tag is looked
    /// up as a branch.
    ///
    /// # Errors
    /// `NoSuchSnapshot` if neither a tag nor a branch of that name exists; `InvalidArgument` if both exist.
    pub fn of_ref(&self, choice: SnapshotChoice, branch: Option<&str>) -> Result<(Self, SnapshotChoice)> {
        let table = match branch {
            Some(branch) if branch != self.branch() => self.with_branch(branch)?,
            _ => self.clone(),
        };
        let SnapshotChoice::Ref(name) = &choice else { return Ok((table, choice)) };
        let is_tag = table.find_tag(name)?.is_some();
        let is_branch = branch.is_none() && (name == super::MAIN_BRANCH || self.branches()?.contains(name));
        match (is_tag, is_branch) {
            (true, true) => {
                return Err(Error::invalid(format!("`{name}` is ambiguous: it is both a tag and a branch"))
                    .with("table", self.location())
                    .hint("set the option `branch` or the option `scan.tag-name`"));
            }
            (true, false) => return Ok((table, choice)),
            (false, true) => return Ok((self.with_branch(name)?, SnapshotChoice::Latest)),
            (false, false) => {}
        }
        let known: Vec<String> = table.tags()?.into_iter().map(|(name, _)| name).chain(self.branches()?).collect();
        Err(Error::new(ErrorKind::NoSuchSnapshot, format!("there is no tag or branch `{name}`"))
            .with("table", self.location())
            .hint(format!(
                "existing tags and branches: {}",
                if known.is_empty() { "none".into() } else { known.join(", ") }
            )))
    }

    fn texts(&self, folder: &str, prefix: &str) -> Result<String> {
        let mut texts = BTreeMap::new();
        for name in names(self.files(), &self.folder(folder), prefix)? {
            let text = self.text(folder, &format!("{prefix}{name}"))?;
            texts.insert(name, text);
        }
        serde_json::to_string(&texts).map_err(|e| Error::internal("the texts cannot be serialized").caused_by(e))
    }

    fn text(&self, folder: &str, name: &str) -> Result<Box<RawValue>> {
        let location = format!("{}/{name}", self.folder(folder));
        let content = self.files().read(&location, LIMIT_BYTES)?;
        serde_json::from_slice(&content)
            .map_err(|e| Error::new(ErrorKind::CorruptMetadata, "malformed JSON").with("file", location).caused_by(e))
    }
}
