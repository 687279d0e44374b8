//! Table metadata (spec: "Table Metadata", "Table Metadata Fields").

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use frazil_core::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::json::shown;
use super::name_mapping::NameMapping;
use super::partition::PartitionSpec;
use super::schema::Schema;
use super::snapshot::{MAIN_BRANCH, Snapshot, SnapshotRef, snapshot_id};
use super::sort::SortOrder;
use super::types::{StructType, Type};
use crate::properties::{self, Property};

/// The state of a table: the contents of one `metadata.json` of format version 1, 2 or 3.
///
/// The result of [`TableMetadata::parse`](Self::parse) is consistent: the current schema, the default spec, the current
/// snapshot and the snapshots of all references exist, ids are unique, and `main` is the current snapshot. Format
/// versions no longer differ: fields that v1 lacks are filled in.
#[derive(Clone)]
pub struct TableMetadata {
    /// The format version: 1, 2 or 3.
    pub format_version: u8,
    /// The id of the table; may be missing in v1.
    pub table_uuid: Option<String>,
    /// The folder in which writers create files.
    pub location: String,
    /// The highest assigned sequence number; 0 in v1.
    pub last_sequence_number: i64,
    /// The time when this state was written, in milliseconds since the epoch.
    pub last_updated_ms: i64,
    /// The highest assigned column id, at least that of every schema.
    pub last_column_id: i32,
    /// The schemas.
    pub schemas: Vec<Arc<Schema>>,
    /// The id of the schema for reading and writing.
    pub current_schema_id: i32,
    /// The partition specs.
    pub partition_specs: Vec<Arc<PartitionSpec>>,
    /// The id of the spec for new files.
    pub default_spec_id: i32,
    /// The highest assigned partition field id, at least that of every spec; 999 if there are none.
    pub last_partition_id: i32,
    /// The settings of readers and writers. They may contain secrets: never print the values.
    pub properties: BTreeMap<String, String>,
    /// The current snapshot; None for an empty table.
    pub current_snapshot_id: Option<i64>,
    /// The snapshots that have not expired.
    pub snapshots: Vec<Arc<Snapshot>>,
    /// The log of current snapshots.
    pub snapshot_log: Vec<SnapshotLogEntry>,
    /// The log of earlier metadata files.
    pub metadata_log: Vec<MetadataLogEntry>,
    /// The sort orders.
    pub sort_orders: Vec<SortOrder>,
    /// The id of the sort order for new files.
    pub default_sort_order_id: i32,
    /// Branches and tags; includes `main` whenever there is a current snapshot.
    pub refs: BTreeMap<String, SnapshotRef>,
    /// Table statistics. Advisory: entries that cannot be parsed are omitted.
    pub statistics: Vec<StatisticsFile>,
    /// Partition statistics. Advisory: entries that cannot be parsed are omitted.
    pub partition_statistics: Vec<PartitionStatisticsFile>,
    /// v3: the first row id of the next snapshot.
    pub next_row_id: Option<i64>,
    /// v3: `encryption-keys`, unchanged.
    pub encryption_keys: Option<Box<RawValue>>,
    /// Top-level members that this version does not know, unchanged.
    pub unknown: Vec<(String, Box<RawValue>)>,
}

/// An entry of the snapshot log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SnapshotLogEntry {
    /// The time at which the snapshot became current, in milliseconds since the epoch.
    pub timestamp_ms: i64,
    /// The snapshot, which may have expired.
    #[serde(deserialize_with = "snapshot_id")]
    pub snapshot_id: i64,
}

/// An entry of the metadata log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MetadataLogEntry {
    /// The time when the file was written, in milliseconds since the epoch.
    pub timestamp_ms: i64,
    /// Its location.
    pub metadata_file: String,
}

/// A Puffin file with statistics of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StatisticsFile {
    /// The snapshot.
    #[serde(deserialize_with = "snapshot_id")]
    pub snapshot_id: i64,
    /// Its location.
    #[serde(rename = "statistics-path")]
    pub path: String,
    /// Its length.
    #[serde(rename = "file-size-in-bytes")]
    pub file_size_bytes: u64,
    /// The length of its footer.
    #[serde(rename = "file-footer-size-in-bytes")]
    pub footer_size_bytes: u64,
    /// The decryption metadata in Base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_metadata: Option<String>,
    /// The blobs in the file.
    #[serde(rename = "blob-metadata")]
    pub blobs: Vec<StatisticsBlob>,
}

/// A blob of a statistics file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StatisticsBlob {
    /// The type of the blob, such as `apache-datasketches-theta-v1`; the list of types is open.
    #[serde(rename = "type")]
    pub blob_type: String,
    /// The snapshot from which it was computed.
    #[serde(deserialize_with = "snapshot_id")]
    pub snapshot_id: i64,
    /// The sequence number of that snapshot.
    pub sequence_number: i64,
    /// The columns from which it was computed.
    pub fields: Vec<i32>,
    /// The properties of the blob, such as `ndv`.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
}

/// A file with statistics of the partitions of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PartitionStatisticsFile {
    /// The snapshot.
    #[serde(deserialize_with = "snapshot_id")]
    pub snapshot_id: i64,
    /// Its location.
    #[serde(rename = "statistics-path")]
    pub path: String,
    /// Its length.
    #[serde(rename = "file-size-in-bytes")]
    pub file_size_bytes: u64,
}

impl TableMetadata {
    /// Returns the schema for reading and writing.
    pub fn current_schema(&self) -> Result<&Arc<Schema>> {
        self.schema(self.current_schema_id)
    }

    /// Returns a schema by id.
    ///
    /// # Errors
    /// `CorruptMetadata`, because ids are read from metadata.
    pub fn schema(&self, id: i32) -> Result<&Arc<Schema>> {
        self.schemas.iter().find(|schema| schema.schema_id == id).ok_or_else(|| missing("schema", id))
    }

    /// Returns the schema with which a snapshot was written, or the current one if the snapshot does not record it.
    pub fn schema_of(&self, snapshot: &Snapshot) -> Result<&Arc<Schema>> {
        snapshot.schema_id.map_or_else(|| self.current_schema(), |id| self.schema(id))
    }

    /// Returns the partition spec for new files.
    pub fn default_spec(&self) -> Result<&Arc<PartitionSpec>> {
        self.spec(self.default_spec_id)
    }

    /// Returns a partition spec by id.
    ///
    /// # Errors
    /// `CorruptMetadata`, because ids are read from metadata.
    pub fn spec(&self, id: i32) -> Result<&Arc<PartitionSpec>> {
        self.partition_specs.iter().find(|spec| spec.spec_id == id).ok_or_else(|| missing("partition spec", id))
    }

    /// Returns the type of the partition tuples of a spec. A source column that the current schema no longer has gets
    /// its type from the latest schema that has it, so that tuples stay comparable. A column in no schema has the type
    /// `unknown`.
    pub fn partition_type(&self, spec: &PartitionSpec) -> StructType {
        spec.partition_type(|id| self.column_type(id))
    }

    /// Returns the folder of new metadata files.
    pub(crate) fn metadata_folder(&self) -> String {
        let own = self.properties.get(properties::METADATA_PATH.key).map(|path| path.trim_end_matches('/').to_string());
        own.unwrap_or_else(|| format!("{}/metadata", self.location.trim_end_matches('/')))
    }

    fn column_type(&self, id: i32) -> Option<&Type> {
        let current = self.schemas.iter().filter(|schema| schema.schema_id == self.current_schema_id);
        let others = self.schemas.iter().rev();
        current.chain(others).find_map(|schema| schema.field(id)).map(|field| &field.field_type)
    }

    /// Returns the current snapshot; None for an empty table.
    pub fn current_snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.find_snapshot(self.current_snapshot_id?)
    }

    /// Returns a snapshot by id.
    ///
    /// # Errors
    /// `NoSuchSnapshot`.
    pub fn snapshot(&self, id: i64) -> Result<&Arc<Snapshot>> {
        self.find_snapshot(id).ok_or_else(|| no_snapshot(format!("no snapshot {id}; it may have expired")))
    }

    /// Returns the snapshot that a branch or a tag references. `main` of an empty table has no snapshot.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, with the existing names.
    pub fn snapshot_by_ref(&self, name: &str) -> Result<&Arc<Snapshot>> {
        if let Some(reference) = self.refs.get(name) {
            return self.snapshot(reference.snapshot_id);
        }
        let names: Vec<_> = self.refs.keys().take(20).map(|name| format!("`{}`", shown(name))).collect();
        let error = no_snapshot(format!("no branch or tag `{}`", shown(name)));
        Err(if names.is_empty() {
            error
        } else {
            error.hint(format!("the branches and tags are {}", names.join(", ")))
        })
    }

    /// Returns the snapshot that was current at `timestamp_ms`: that of the last entry of the snapshot log at or before
    /// this time.
    ///
    /// # Errors
    /// `NoSuchSnapshot` if the log begins later, or if the snapshot has expired.
    pub fn snapshot_as_of(&self, timestamp_ms: i64) -> Result<&Arc<Snapshot>> {
        let entry = self.snapshot_log.iter().rev().find(|entry| entry.timestamp_ms <= timestamp_ms);
        match (entry, self.snapshot_log.first()) {
            (Some(entry), _) => self.snapshot(entry.snapshot_id),
            (None, Some(first)) => Err(no_snapshot(format!(
                "no snapshot at or before {timestamp_ms} ms: the history begins at {} ms",
                first.timestamp_ms
            ))),
            (None, None) => {
                Err(no_snapshot(format!("no snapshot at or before {timestamp_ms} ms: the history is empty")))
            }
        }
    }

    /// Returns a snapshot, its parent, and so on, up to the first one or to one whose parent has expired. Stops even if
    /// damaged metadata contains a cycle.
    pub fn ancestors(&self, snapshot_id: i64) -> impl Iterator<Item = &Arc<Snapshot>> {
        let mut unseen: HashMap<i64, _> =
            self.snapshots.iter().map(|snapshot| (snapshot.snapshot_id, snapshot)).collect();
        let mut next = Some(snapshot_id);
        std::iter::from_fn(move || {
            let snapshot = unseen.remove(&next?)?;
            next = snapshot.parent_snapshot_id;
            Some(snapshot)
        })
    }

    /// Returns the name mapping in the table's properties.
    ///
    /// # Errors
    /// `CorruptMetadata` if the property is not a name mapping.
    pub fn name_mapping(&self) -> Result<Option<NameMapping>> {
        let key = properties::NAME_MAPPING.key;
        let text = self.properties.get(key);
        text.map(|text| NameMapping::from_json(text).map_err(|e| e.with("property", key))).transpose()
    }

    /// Returns the snapshot that `main` references; None if the table has no `main` reference.
    pub(crate) fn main_snapshot_id(&self) -> Option<i64> {
        self.refs.get(MAIN_BRANCH).map(|main| main.snapshot_id)
    }

    pub(super) fn find_snapshot(&self, id: i64) -> Option<&Arc<Snapshot>> {
        // The latest snapshots are at the end and are requested most often.
        self.snapshots.iter().rev().find(|snapshot| snapshot.snapshot_id == id)
    }

    /// Returns the value of a numeric property in this table, or its default.
    ///
    /// # Errors
    /// `InvalidArgument` if the value is not a number.
    pub(crate) fn number(&self, property: &Property) -> Result<u64> {
        property.parse(self.properties.get(property.key).map_or(property.default, String::as_str))
    }

    /// Returns whether a property is set in this table. As in Java, every value except `true` is false.
    pub(crate) fn flag(&self, property: &Property) -> bool {
        let text = self.properties.get(property.key).map_or(property.default, String::as_str);
        text.eq_ignore_ascii_case("true")
    }

    /// Rejects deleting the table's files if `gc.enabled` is false, because other tables may use them.
    ///
    /// # Errors
    /// `CommitValidation` if `gc.enabled` is false.
    pub(crate) fn check_owns_files(&self) -> Result<()> {
        if self.flag(&properties::GC_ENABLED) {
            return Ok(());
        }
        let message = "the table has gc.enabled=false: other tables may use its files";
        Err(Error::new(ErrorKind::CommitValidation, message).with("table", &self.location))
    }
}

impl fmt::Debug for TableMetadata {
    /// Formats the metadata without properties, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableMetadata")
            .field("format_version", &self.format_version)
            .field("table_uuid", &self.table_uuid)
            .field("location", &self.location)
            .field("current_schema_id", &self.current_schema_id)
            .field("current_snapshot_id", &self.current_snapshot_id)
            .field("snapshots", &self.snapshots.len())
            .finish_non_exhaustive()
    }
}

fn missing(what: &str, id: i32) -> Error {
    Error::new(ErrorKind::CorruptMetadata, format!("no {what} has the id {id}"))
}

fn no_snapshot(message: String) -> Error {
    Error::new(ErrorKind::NoSuchSnapshot, message)
}
