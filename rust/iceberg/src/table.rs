//! An Iceberg table: finds and loads it, and prepares it for scans.

use std::sync::Arc;

use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::files::Files;

use crate::locate::locate;
use crate::properties::METADATA_PATH;
use crate::spec::schema::Schema;
use crate::spec::snapshot::{RefKind, Snapshot};
use crate::spec::table_metadata::TableMetadata;

/// The maximum length of a metadata file that is read.
pub(crate) const METADATA_LIMIT_BYTES: u64 = 1 << 30;

/// A state of a table and its metadata file.
#[derive(Debug, Clone)]
pub struct State {
    /// The metadata.
    pub metadata: Arc<TableMetadata>,
    /// The location of its file.
    pub metadata_location: String,
}

impl State {
    /// Returns a state of a table in `folder`. Its metadata location is the one that the table records, even if the
    /// file was read from another location.
    pub(crate) fn recorded(metadata: Arc<TableMetadata>, folder: &str, location: &str) -> Self {
        let name = location.rsplit('/').next().unwrap_or_default();
        Self { metadata, metadata_location: format!("{}/metadata/{name}", folder.trim_end_matches('/')) }
    }
}

/// A table in one state of its metadata. Immutable.
#[derive(Debug, Clone)]
pub struct Table {
    metadata: Arc<TableMetadata>,
    metadata_location: String,
    /// The location of the metadata file in the catalog, if there is one.
    recorded: Option<String>,
    files: Files,
}

/// The state of a table to read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SnapshotChoice {
    /// The current snapshot of `main`, with the current schema.
    #[default]
    Current,
    /// A snapshot by id, with its own schema.
    Id(i64),
    /// A branch, with the current schema of the table, or a tag, with the schema of its snapshot.
    Ref(String),
    /// The snapshot that was current at this time (milliseconds since the epoch, inclusive), with its schema.
    AsOf(i64),
}

impl Table {
    /// Opens the table in a folder, or by one of its metadata files. Locations below the table's recorded location are
    /// read from its current location.
    ///
    /// # Errors
    /// `NoSuchTable`; `CorruptMetadata` and `Unsupported` with the metadata file.
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

    /// Returns the table in a committed state; `files` are the files through which the state was committed.
    ///
    /// # Errors
    /// `PathNotAllowed`.
    pub fn at(state: State, files: Files) -> Result<Self> {
        let metadata_location = files.resolve(&state.metadata_location)?;
        Ok(Self { metadata: state.metadata, metadata_location, recorded: Some(state.metadata_location), files })
    }

    /// Returns the same table with `location` as the metadata file in its catalog.
    #[must_use]
    pub fn recorded_at(mut self, location: String) -> Self {
        self.recorded = Some(location);
        self
    }

    /// Returns the state, with the location that its catalog or the table itself records for its metadata file.
    pub fn state(&self) -> State {
        if let Some(recorded) = &self.recorded {
            return State { metadata: self.metadata.clone(), metadata_location: recorded.clone() };
        }
        State::recorded(self.metadata.clone(), &self.metadata.location, &self.metadata_location)
    }

    /// Returns the metadata.
    pub fn metadata(&self) -> &Arc<TableMetadata> {
        &self.metadata
    }

    /// Returns the location of the metadata file.
    pub fn metadata_location(&self) -> &str {
        &self.metadata_location
    }

    /// Returns the files of the table: where they are located, and which locations may be read.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Returns the chosen snapshot and the schema for reading it; no snapshot for a table without one.
    ///
    /// # Errors
    /// `NoSuchSnapshot` with the requested snapshot.
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

    /// Returns the table with its latest metadata, read from `location`, a folder or a metadata file.
    ///
    /// # Errors
    /// `CorruptMetadata` if the location now holds a different table.
    pub fn refresh(&self, files: &Files, location: &str) -> Result<Self> {
        let newest = Self::open(files, location)?;
        let (ours, theirs) = (&self.metadata.table_uuid, &newest.metadata.table_uuid);
        if let (Some(ours), Some(theirs)) = (ours, theirs)
            && !ours.eq_ignore_ascii_case(theirs)
        {
            return Err(Error::new(ErrorKind::CorruptMetadata, format!("table {ours} was replaced by table {theirs}"))
                .with("file", &newest.metadata_location)
                .hint("if that is intended, load the table again"));
        }
        Ok(newest)
    }
}

/// Reads a metadata file from its current location.
///
/// # Errors
/// See [`TableMetadata::parse`], with the file; storage errors.
pub(crate) fn read_metadata(files: &Files, location: &str) -> Result<TableMetadata> {
    let bytes = files.storage().read(location, METADATA_LIMIT_BYTES)?;
    TableMetadata::parse(&bytes).map_err(|e| e.corrupt_as(ErrorKind::CorruptMetadata).with("file", location))
}

/// Returns the current folder of the table: the folder that was opened, or the parent of the folder `metadata` that
/// contains its metadata file. None if the table writes its metadata elsewhere, so that the file does not determine the
/// folder.
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
