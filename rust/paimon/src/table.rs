//! Opens a Paimon table in files (spec: "File Layouts"), and reads its states.
//!
//! ```text
//! <table>/schema/schema-0             snapshot/{snapshot-1, LATEST, EARLIEST}      tag/tag-<name>
//!         changelog/{changelog-1, ..}  consumer/consumer-<id>                       statistics/ index/
//!         manifest/                    bucket-0/ or p=1/bucket-0/
//!         branch/branch-<name>/{schema, snapshot, tag, changelog, consumer}
//! ```
//!
//! A branch has its own schemas, snapshots and tags. Manifests, indexes and data of all branches are in the folder of
//! the table.

mod choice;
mod indexes;
mod live;
mod numbered;
mod partition_bounds;
mod texts;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::files::Files;

use crate::spec::consumer::Consumer;
use crate::spec::json::shown;
use crate::spec::schema::TableSchema;
use crate::spec::snapshot::Snapshot;

pub use choice::SnapshotChoice;
pub(crate) use choice::parse_timestamp_ms;
pub(crate) use indexes::partition_folder;
pub(crate) use live::LIMIT_BYTES as MANIFEST_LIMIT_BYTES;
pub(crate) use numbered::{LIMIT_BYTES, present};
use numbered::{Numbered, check_number, names};
pub(crate) use partition_bounds::PartitionBounds;

/// The branch that every table has.
pub const MAIN_BRANCH: &str = "main";

/// A table, or a branch of it, at its latest schema. It is immutable and cheap to clone.
#[derive(Debug, Clone)]
pub struct Table(Arc<State>);

#[derive(Debug)]
struct State {
    files: Files,
    location: String,
    branch: String,
    schema: Arc<TableSchema>,
    /// The schemas read so far; schema files never change once they are written.
    schemas: Mutex<BTreeMap<i64, Arc<TableSchema>>>,
}

impl Table {
    /// Opens the table in a folder; `None` is the main branch.
    ///
    /// # Errors
    /// `NoSuchTable` if the table has no schema file; `NoSuchSnapshot` for a branch that the table does not have;
    /// `CorruptMetadata` or `Unsupported` naming the latest schema file, for example if the file is empty or truncated.
    pub fn open(files: &Files, location: &str, branch: Option<&str>) -> Result<Self> {
        let location = match location.trim_end_matches('/') {
            "" => location,
            trimmed => trimmed,
        };
        let branch = branch.unwrap_or(MAIN_BRANCH);
        check_name("branch", branch)?;
        let schemas = Numbered { files, folder: format!("{}/schema", root(location, branch)), prefix: "schema-" };
        let Some(&id) = schemas.numbers()?.last() else { return Err(no_schema(location, branch)) };
        Ok(Self::with_schema(files, location, branch, read_schema(&schemas, id)?))
    }

    /// Creates the table from its known latest schema.
    pub(crate) fn with_schema(files: &Files, location: &str, branch: &str, schema: Arc<TableSchema>) -> Self {
        Self(Arc::new(State {
            files: files.clone(),
            location: location.to_string(),
            branch: branch.to_string(),
            schemas: Mutex::new([(schema.id, schema.clone())].into()),
            schema,
        }))
    }

    /// Reloads the latest schema, and returns the table with that schema.
    ///
    /// # Errors
    /// As for [`Table::open`].
    pub fn refresh(&self) -> Result<Self> {
        self.with_branch(self.branch())
    }

    /// Reloads the latest schema for a change to the table.
    ///
    /// # Errors
    /// As for [`Table::open`]; `CommitConflict` if the table was replaced by another table.
    pub(crate) fn successor(&self) -> Result<Self> {
        let known = self.schema();
        let latest = self.refresh()?;
        let replaced = |message: &str| Error::new(ErrorKind::CommitConflict, message).hint("load the table again");
        if latest.schema().id < known.id {
            return Err(replaced("the table was replaced by a table with fewer schemas"));
        }
        let same = latest.schema_by_id(known.id).map_err(|error| match error.kind() {
            ErrorKind::MissingFile | ErrorKind::CorruptMetadata => {
                replaced("the schema that this writer knows is missing").caused_by(error)
            }
            _ => error,
        })?;
        if same == *known {
            Ok(latest)
        } else {
            Err(replaced("the table was replaced by another table of the same name"))
        }
    }

    /// Returns a branch of the table.
    ///
    /// # Errors
    /// As for [`Table::open`].
    pub fn with_branch(&self, branch: &str) -> Result<Self> {
        Self::open(self.files(), self.location(), Some(branch))
    }

    /// Returns access to the files of the table, restricted to those that may be read.
    pub fn files(&self) -> &Files {
        &self.0.files
    }

    /// Returns the folder of the table, without a trailing slash. Manifests, indexes and data of every branch are below
    /// it.
    pub fn location(&self) -> &str {
        &self.0.location
    }

    /// Returns the name of the branch.
    pub fn branch(&self) -> &str {
        &self.0.branch
    }

    /// Returns the latest schema of the branch.
    pub fn schema(&self) -> &Arc<TableSchema> {
        &self.0.schema
    }

    /// Returns a schema by its id, and caches it.
    ///
    /// # Errors
    /// `CorruptMetadata` if it does not exist, because ids come from snapshots and manifests; otherwise as for
    /// [`Table::open`].
    pub fn schema_by_id(&self, id: i64) -> Result<Arc<TableSchema>> {
        // A panic cannot leave the map inconsistent, so the map is used even if the lock is poisoned.
        let known = || self.0.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(schema) = known().get(&id) {
            return Ok(schema.clone());
        }
        let schema = read_schema(&self.schema_files(), id)?;
        Ok(known().entry(id).or_insert(schema).clone())
    }

    /// Returns the ids of all schemas, ascending.
    ///
    /// # Errors
    /// The errors of the storage.
    pub fn schema_ids(&self) -> Result<Vec<i64>> {
        self.schema_files().numbers()
    }

    /// Returns the schema for reading a snapshot. With time travel ([`SnapshotChoice::is_time_travel`]) it has the
    /// columns and keys of the snapshot's own schema and the options of the latest one; otherwise it is the latest
    /// schema.
    ///
    /// # Errors
    /// As for [`Table::schema_by_id`].
    pub fn read_schema(&self, choice_is_time_travel: bool, snapshot: Option<&Snapshot>) -> Result<Arc<TableSchema>> {
        let latest = self.schema();
        match snapshot {
            Some(snapshot) if choice_is_time_travel && snapshot.schema_id != latest.id => {
                let schema = self.schema_by_id(snapshot.schema_id)?;
                Ok(Arc::new(TableSchema { options: latest.options.clone(), ..TableSchema::clone(&schema) }))
            }
            _ => Ok(latest.clone()),
        }
    }

    /// Returns the latest snapshot, or None before the first commit.
    ///
    /// # Errors
    /// `CorruptMetadata` or `Unsupported` naming the file.
    pub fn latest_snapshot(&self) -> Result<Option<Snapshot>> {
        let files = self.snapshot_files();
        let latest = files.latest()?;
        latest.map(|(id, content)| parse_snapshot(&files, "snapshot", id, &content)).transpose()
    }

    /// Returns the id of the earliest snapshot that has not expired.
    ///
    /// # Errors
    /// The errors of the storage.
    pub fn earliest_snapshot_id(&self) -> Result<Option<i64>> {
        self.snapshot_files().earliest()
    }

    /// Returns a snapshot by its id.
    ///
    /// # Errors
    /// `NoSuchSnapshot` with the range of existing ids; `CorruptMetadata` or `Unsupported` naming the file.
    pub fn snapshot(&self, id: i64) -> Result<Snapshot> {
        read_snapshot(&self.snapshot_files(), "snapshot", id)
    }

    /// Returns the ids of the existing snapshots, ascending.
    ///
    /// # Errors
    /// The errors of the storage.
    pub fn snapshot_ids(&self) -> Result<Vec<i64>> {
        self.snapshot_files().numbers()
    }

    /// Returns all existing snapshots, ascending, which are read together. A snapshot that expires between listing and
    /// reading is omitted.
    ///
    /// # Errors
    /// `CorruptMetadata` or `Unsupported` naming the file.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>> {
        let files = self.snapshot_files();
        let mut ids = files.numbers()?;
        let earliest = files.earliest()?;
        ids.retain(|id| earliest.is_none_or(|earliest| *id >= earliest));
        let locations: Vec<String> = ids.iter().map(|id| files.location(*id)).collect();
        let wanted: Vec<&str> = locations.iter().map(String::as_str).collect();
        let contents = self.files().read_all(&wanted, LIMIT_BYTES);
        let mut found = Vec::with_capacity(ids.len());
        for (id, content) in ids.into_iter().zip(contents) {
            if let Some(content) = present(content)? {
                found.push(parse_snapshot(&files, "snapshot", id, &content)?);
            }
        }
        Ok(found)
    }

    /// Returns a changelog that was kept after its snapshot expired (`changelog/`).
    ///
    /// # Errors
    /// As for [`Table::snapshot`].
    pub fn changelog(&self, id: i64) -> Result<Snapshot> {
        read_snapshot(&self.changelog_files(), "changelog", id)
    }

    /// Returns the ids of the changelogs that were kept after their snapshots expired, ascending.
    ///
    /// # Errors
    /// The errors of the storage.
    pub fn changelog_ids(&self) -> Result<Vec<i64>> {
        self.changelog_files().numbers()
    }

    /// Returns all tags by name, with their snapshots.
    ///
    /// # Errors
    /// `CorruptMetadata` or `Unsupported` naming the file.
    pub fn tags(&self) -> Result<Vec<(String, Snapshot)>> {
        self.named("tag", "tag-", Snapshot::parse)
    }

    /// Returns the snapshot of a tag, which may otherwise have expired.
    ///
    /// # Errors
    /// `NoSuchSnapshot` with existing tags; `CorruptMetadata` or `Unsupported` naming the file.
    pub fn tag(&self, name: &str) -> Result<Snapshot> {
        check_name("tag", name)?;
        let Some(tag) = self.find_tag(name)? else {
            let known = names(self.files(), &self.folder("tag"), "tag-")?;
            let missing = Error::new(ErrorKind::NoSuchSnapshot, format!("there is no tag `{}`", shown(name)));
            return Err(missing.with("table", self.location()).hint(listed("tags", &known)));
        };
        Ok(tag)
    }

    /// Returns all consumers by name.
    ///
    /// # Errors
    /// `CorruptMetadata` naming the file.
    pub fn consumers(&self) -> Result<Vec<(String, Consumer)>> {
        self.named("consumer", "consumer-", Consumer::parse)
    }

    /// Returns a tag, or None if it does not exist.
    pub(crate) fn find_tag(&self, name: &str) -> Result<Option<Snapshot>> {
        let location = self.tag_location(name);
        let content = present(self.files().read(&location, LIMIT_BYTES))?;
        content.map(|content| Snapshot::parse(&content).map_err(|e| e.with("file", &location))).transpose()
    }

    /// Returns the location of the file of a tag.
    pub(crate) fn tag_location(&self, name: &str) -> String {
        format!("{}/tag-{name}", self.folder("tag"))
    }

    /// Returns the location of a schema of the branch.
    pub(crate) fn schema_location(&self, id: i64) -> String {
        self.schema_files().location(id)
    }

    /// Returns the location of a snapshot of the branch.
    pub(crate) fn snapshot_location(&self, id: i64) -> String {
        self.snapshot_files().location(id)
    }

    /// Returns the location of a changelog that was kept after its snapshot expired.
    pub(crate) fn changelog_location(&self, id: i64) -> String {
        self.changelog_files().location(id)
    }

    /// Returns the locations of the hints of the latest and the earliest changelog.
    pub(crate) fn changelog_hints(&self) -> [String; 2] {
        ["LATEST", "EARLIEST"].map(|name| format!("{}/{name}", self.folder("changelog")))
    }

    /// Returns the folder of the snapshots of the branch.
    pub(crate) fn snapshot_folder(&self) -> String {
        self.folder("snapshot")
    }

    /// Returns the location of a manifest, a manifest list or an index manifest.
    pub(crate) fn manifest_location(&self, name: &str) -> String {
        format!("{}/manifest/{name}", self.location())
    }

    pub(crate) fn folder(&self, name: &str) -> String {
        format!("{}/{name}", root(self.location(), self.branch()))
    }

    fn schema_files(&self) -> Numbered<'_> {
        Numbered { files: self.files(), folder: self.folder("schema"), prefix: "schema-" }
    }

    fn snapshot_files(&self) -> Numbered<'_> {
        Numbered { files: self.files(), folder: self.folder("snapshot"), prefix: "snapshot-" }
    }

    fn changelog_files(&self) -> Numbered<'_> {
        Numbered { files: self.files(), folder: self.folder("changelog"), prefix: "changelog-" }
    }

    /// Returns the files of a folder whose names begin with `prefix`, which are read together. A file that is deleted
    /// between listing and reading is omitted.
    fn named<T>(&self, folder: &str, prefix: &str, parse: fn(&[u8]) -> Result<T>) -> Result<Vec<(String, T)>> {
        let folder = self.folder(folder);
        let names = names(self.files(), &folder, prefix)?;
        let locations: Vec<String> = names.iter().map(|name| format!("{folder}/{prefix}{name}")).collect();
        let wanted: Vec<&str> = locations.iter().map(String::as_str).collect();
        let contents = self.files().read_all(&wanted, LIMIT_BYTES);
        let mut found = Vec::with_capacity(names.len());
        for ((name, location), content) in names.into_iter().zip(&locations).zip(contents) {
            if let Some(content) = present(content)? {
                found.push((name, parse(&content).map_err(|e| e.with("file", location))?));
            }
        }
        Ok(found)
    }
}

/// Returns the folder of the metadata of a branch.
pub(crate) fn root(location: &str, branch: &str) -> String {
    match branch {
        MAIN_BRANCH => location.to_string(),
        _ => format!("{location}/branch/branch-{branch}"),
    }
}

/// Checks that a name can be used as a file name.
pub(crate) fn check_name(what: &str, name: &str) -> Result<()> {
    if name.trim().is_empty() || name.contains(['/', '\\']) {
        return Err(Error::invalid(format!("`{}` is not a valid name of a {what}", shown(name))));
    }
    Ok(())
}

fn no_schema(location: &str, branch: &str) -> Error {
    if branch == MAIN_BRANCH {
        return Error::new(ErrorKind::NoSuchTable, "not a Paimon table: there is no file schema/schema-<N>")
            .with("table", location);
    }
    let message = format!("there is no branch `{}`", shown(branch));
    Error::new(ErrorKind::NoSuchSnapshot, message).with("table", location)
}

fn read_schema(files: &Numbered<'_>, id: i64) -> Result<Arc<TableSchema>> {
    let read = || {
        let missing = || Error::new(ErrorKind::CorruptMetadata, format!("there is no schema {id}"));
        let schema = TableSchema::parse(&files.read(id)?.ok_or_else(missing)?)?;
        check_number("schema", id, schema.id)?;
        Ok(Arc::new(schema))
    };
    read().map_err(|e: Error| e.with("file", files.location(id)))
}

fn parse_snapshot(files: &Numbered<'_>, what: &str, id: i64, content: &[u8]) -> Result<Snapshot> {
    let parse = || {
        let snapshot = Snapshot::parse(content)?;
        check_number(what, id, snapshot.id)?;
        Ok(snapshot)
    };
    parse().map_err(|e: Error| e.with("file", files.location(id)))
}

fn read_snapshot(files: &Numbered<'_>, what: &str, id: i64) -> Result<Snapshot> {
    if let Some(content) = files.read(id)? {
        return parse_snapshot(files, what, id, &content);
    }
    let numbers = files.numbers()?;
    let hint = match (numbers.first(), numbers.last()) {
        (Some(only), Some(last)) if only == last => format!("there is only {only}"),
        (Some(first), Some(last)) => format!("existing ids are {first} to {last}"),
        _ => "none exist".to_string(),
    };
    let missing = Error::new(ErrorKind::NoSuchSnapshot, format!("there is no {what} {id}"));
    Err(missing.with("folder", &files.folder).hint(hint))
}

/// Returns some of the existing names, for messages.
pub(crate) fn listed(what: &str, names: &[String]) -> String {
    const SHOWN: usize = 10;
    if names.is_empty() {
        return format!("there are no {what}");
    }
    let some: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{}`", shown(name))).collect();
    let more = if names.len() > SHOWN { ", .." } else { "" };
    format!("existing {what}: {}{more}", some.join(", "))
}

#[cfg(test)]
mod tests;
