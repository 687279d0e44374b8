//! An Iceberg table as it lies in files: found, loaded, and ready to be scanned.

use std::sync::Arc;

use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::files::Files;

use crate::locate::locate;
use crate::properties::METADATA_PATH;
use crate::spec::schema::Schema;
use crate::spec::snapshot::{RefKind, Snapshot};
use crate::spec::table_metadata::TableMetadata;

/// A metadata file is not read when it is longer than this.
pub(crate) const METADATA_LIMIT_BYTES: u64 = 1 << 30;

/// A state of a table and the file that holds it.
#[derive(Debug, Clone)]
pub struct State {
    /// The metadata.
    pub metadata: Arc<TableMetadata>,
    /// The location of its file.
    pub metadata_location: String,
}

impl State {
    /// A state by the name that a table in `folder` records for its metadata file, wherever that was read from.
    pub(crate) fn recorded(metadata: Arc<TableMetadata>, folder: &str, location: &str) -> Self {
        let name = location.rsplit('/').next().unwrap_or_default();
        Self { metadata, metadata_location: format!("{}/metadata/{name}", folder.trim_end_matches('/')) }
    }
}

/// A table at one state of its metadata. Immutable.
#[derive(Debug, Clone)]
pub struct Table {
    metadata: Arc<TableMetadata>,
    metadata_location: String,
    /// What the catalog calls the metadata file, where one does.
    recorded: Option<String>,
    files: Files,
}

/// Which state of a table is read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SnapshotChoice {
    /// The current snapshot of `main`, with the current schema.
    #[default]
    Current,
    /// A snapshot by id, with its own schema.
    Id(i64),
    /// A branch, with the current schema of the table, or a tag, with the schema of its snapshot.
    Ref(String),
    /// What was current at this time (milliseconds since the epoch, inclusive), with the schema of that snapshot.
    AsOf(i64),
}

impl Table {
    /// Opens the table in a folder, or by one of its metadata files. What the metadata records as the table's location is
    /// read from where the table lies now.
    ///
    /// # Errors
    /// `NoSuchTable`; `CorruptMetadata`, `Unsupported` naming the metadata file.
    pub fn open(files: &Files, location: &str) -> Result<Self> {
        let location = files.relocation().resolve(location)?;
        let metadata_location = locate(files.storage().as_ref(), &location)?;
        let metadata = read_metadata(files, &metadata_location)?;
        let files = match table_folder(&location, &metadata_location, &metadata) {
            Some(folder) => files.with_relocation(&metadata.location, folder)?,
            None => files.clone(),
        };
        Ok(Self { metadata: Arc::new(metadata), metadata_location, recorded: None, files })
    }

    /// The table at a state that was committed; `files` are those that it was committed with.
    ///
    /// # Errors
    /// `PathNotAllowed`.
    pub fn at(state: State, files: Files) -> Result<Self> {
        let metadata_location = files.resolve(&state.metadata_location)?;
        Ok(Self { metadata: state.metadata, metadata_location, recorded: Some(state.metadata_location), files })
    }

    /// The same table; `location` is what its catalog calls the metadata file.
    #[must_use]
    pub fn recorded_at(mut self, location: String) -> Self {
        self.recorded = Some(location);
        self
    }

    /// The state that this is, by the name that its catalog or the table itself records for its metadata file.
    pub fn state(&self) -> State {
        if let Some(recorded) = &self.recorded {
            return State { metadata: self.metadata.clone(), metadata_location: recorded.clone() };
        }
        State::recorded(self.metadata.clone(), &self.metadata.location, &self.metadata_location)
    }

    /// The metadata.
    pub fn metadata(&self) -> &Arc<TableMetadata> {
        &self.metadata
    }

    /// The metadata file.
    pub fn metadata_location(&self) -> &str {
        &self.metadata_location
    }

    /// Where the files of the table lie, and which may be read.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The snapshot that is chosen and the schema that it is read by; no snapshot for a table without one.
    ///
    /// # Errors
    /// `NoSuchSnapshot` naming what was asked for.
    pub fn choose(&self, choice: &SnapshotChoice) -> Result<(Option<Arc<Snapshot>>, Arc<Schema>)> {
        let metadata = &self.metadata;
        let named = |e: Error| e.with("table", &self.metadata_location);
        let snapshot = match choice {
            SnapshotChoice::Current => {
                return Ok((metadata.current_snapshot().cloned(), metadata.current_schema()?.clone()));
            }
            SnapshotChoice::Id(id) => metadata.snapshot(*id),
            SnapshotChoice::AsOf(timestamp_ms) => metadata.snapshot_as_of(*timestamp_ms),
            SnapshotChoice::Ref(name) => metadata.snapshot_by_ref(name),
        };
        let snapshot = snapshot.map_err(named)?.clone();
        let schema = match choice {
            SnapshotChoice::Ref(name) if metadata.refs.get(name).is_some_and(|r| r.kind == RefKind::Branch) => {
                metadata.current_schema()?
            }
            _ => metadata.schema_of(&snapshot)?,
        };
        Ok((Some(snapshot), schema.clone()))
    }

    /// The table at its newest metadata.
    ///
    /// # Errors
    /// `CorruptMetadata` when another table lies there now.
    pub fn refresh(&self, files: &Files, location: &str) -> Result<Self> {
        let newest = Self::open(files, location)?;
        let (ours, theirs) = (&self.metadata.table_uuid, &newest.metadata.table_uuid);
        if let (Some(ours), Some(theirs)) = (ours, theirs)
            && !ours.eq_ignore_ascii_case(theirs)
        {
            return Err(Error::new(ErrorKind::CorruptMetadata, format!("table {ours} was replaced by table {theirs}"))
                .with("file", &newest.metadata_location)
                .hint("load the table anew if that was meant"));
        }
        Ok(newest)
    }
}

/// Reads a metadata file from where it lies.
///
/// # Errors
/// As [`TableMetadata::parse`], naming the file; those of the storage.
pub(crate) fn read_metadata(files: &Files, location: &str) -> Result<TableMetadata> {
    let bytes = files.storage().read(location, METADATA_LIMIT_BYTES)?;
    TableMetadata::parse(&bytes).map_err(|e| e.corrupt_as(ErrorKind::CorruptMetadata).with("file", location))
}

/// Where the table lies now: the folder that was opened, or the one around the folder `metadata` of its metadata file. A
/// table that writes its metadata elsewhere says nothing of its place by it.
fn table_folder<'a>(location: &'a str, metadata_location: &'a str, metadata: &TableMetadata) -> Option<&'a str> {
    if location != metadata_location {
        return Some(location);
    }
    if metadata.properties.contains_key(METADATA_PATH.key) {
        return None;
    }
    let (folder, _) = metadata_location.rsplit_once('/')?;
    folder.strip_suffix("/metadata")
}
