//! An Iceberg table as it lies in files: found, loaded, and ready to be scanned.

use std::sync::Arc;

use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::files::Files;

use crate::locate::locate;
use crate::spec::schema::Schema;
use crate::spec::snapshot::{RefType, Snapshot};
use crate::spec::table_metadata::TableMetadata;

/// A metadata file is not read when it is longer than this.
const METADATA_LIMIT_BYTES: u64 = 1 << 30;

/// A table at one state of its metadata. Immutable.
#[derive(Debug, Clone)]
pub struct Table {
    metadata: Arc<TableMetadata>,
    metadata_location: String,
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
    /// Opens the table in a folder, or by one of its metadata files. `folder` is where the files lie now: what the
    /// metadata records as the table's location is read from there.
    ///
    /// # Errors
    /// `NoSuchTable`; `CorruptMetadata`, `Unsupported` naming the metadata file.
    pub fn open(files: &Files, location: &str) -> Result<Self> {
        let metadata_location = locate(files.storage().as_ref(), location)?;
        let bytes = files.storage().read(&metadata_location, METADATA_LIMIT_BYTES)?;
        let metadata = TableMetadata::parse(&bytes)
            .map_err(|e| e.corrupt_as(ErrorKind::CorruptMetadata).with("file", &metadata_location))?;
        let folder = table_folder(&metadata_location);
        let files = match folder {
            Some(folder) => files.with_relocation(&metadata.location, folder)?,
            None => files.clone(),
        };
        Ok(Self { metadata: Arc::new(metadata), metadata_location, files })
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
        let found = match choice {
            SnapshotChoice::Current => {
                return Ok((metadata.current_snapshot().cloned(), metadata.current_schema()?.clone()));
            }
            SnapshotChoice::Id(id) => metadata.snapshot(*id).cloned(),
            SnapshotChoice::AsOf(timestamp_ms) => metadata.snapshot_as_of(*timestamp_ms).cloned(),
            SnapshotChoice::Ref(name) => {
                let reference = metadata.refs.get(name);
                let snapshot = metadata.snapshot_by_ref(name).cloned();
                if let (Some(reference), Some(snapshot)) = (reference, &snapshot)
                    && reference.ref_type == RefType::Branch
                {
                    return Ok((Some(snapshot.clone()), metadata.current_schema()?.clone()));
                }
                snapshot
            }
        };
        let snapshot = found.ok_or_else(|| self.no_such_snapshot(choice))?;
        let schema = match snapshot.schema_id {
            Some(id) => metadata.schema(id).cloned(),
            None => None,
        };
        let schema = match schema {
            Some(schema) => schema,
            None => metadata.current_schema()?.clone(),
        };
        Ok((Some(snapshot), schema))
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

    fn no_such_snapshot(&self, choice: &SnapshotChoice) -> Error {
        let (what, hint) = match choice {
            SnapshotChoice::Current => ("no current snapshot".into(), String::new()),
            SnapshotChoice::Id(id) => {
                let ids = self.metadata.snapshots.iter().rev().take(5).map(|s| s.snapshot_id.to_string());
                (format!("no snapshot {id}"), format!("the newest are {}", ids.collect::<Vec<_>>().join(", ")))
            }
            SnapshotChoice::Ref(name) => {
                let names: Vec<&str> = self.metadata.refs.keys().map(String::as_str).collect();
                (format!("no branch or tag {name:?}"), format!("there are {}", names.join(", ")))
            }
            SnapshotChoice::AsOf(ms) => {
                let first = self.metadata.snapshot_log.first().map(|entry| entry.timestamp_ms);
                let hint = first.map(|ms| format!("the history begins at {ms}")).unwrap_or_default();
                (format!("no snapshot was current at {ms} ms"), hint)
            }
        };
        let error = Error::new(ErrorKind::NoSuchSnapshot, what).with("table", &self.metadata_location);
        if hint.is_empty() { error } else { error.hint(hint) }
    }
}

/// The folder of the table: metadata files lie in its subfolder `metadata`.
fn table_folder(metadata_location: &str) -> Option<&str> {
    let (folder, _) = metadata_location.rsplit_once('/')?;
    folder.strip_suffix("/metadata").or(Some(folder))
}
