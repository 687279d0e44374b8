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

/// The state of a table: what one `metadata.json` of format version 1, 2 or 3 says.
///
/// What [`TableMetadata::parse`](Self::parse) returns is consistent: the current schema, the default spec, the current
/// snapshot and the snapshots of all references are there, ids are unique, `main` is the current snapshot. Versions
/// differ no more: what v1 leaves out is filled in.
#[derive(Clone)]
pub struct TableMetadata {
    /// 1, 2 or 3.
    pub format_version: u8,
    /// The id of the table; v1 may have none.
    pub table_uuid: Option<String>,
    /// The folder that writers put files under.
    pub location: String,
    /// The highest sequence number given out; 0 in v1.
    pub last_sequence_number: i64,
    /// When this state was written, milliseconds since the epoch.
    pub last_updated_ms: i64,
    /// The highest column id given out, at least that of every schema.
    pub last_column_id: i32,
    /// The schemas.
    pub schemas: Vec<Arc<Schema>>,
    /// The one for reading and writing now.
    pub current_schema_id: i32,
    /// The partition specs.
    pub partition_specs: Vec<Arc<PartitionSpec>>,
    /// The one for writing now.
    pub default_spec_id: i32,
    /// The highest partition field id given out, at least that of every spec; 999 for none.
    pub last_partition_id: i32,
    /// Settings of readers and writers. May hold secrets that someone put there: never print the values.
    pub properties: BTreeMap<String, String>,
    /// The current snapshot; None for an empty table.
    pub current_snapshot_id: Option<i64>,
    /// The snapshots that are not expired.
    pub snapshots: Vec<Arc<Snapshot>>,
    /// Which snapshot was current from when on.
    pub snapshot_log: Vec<SnapshotLogEntry>,
    /// Where earlier states are.
    pub metadata_log: Vec<MetadataLogEntry>,
    /// The sort orders.
    pub sort_orders: Vec<SortOrder>,
    /// The one for writing now.
    pub default_sort_order_id: i32,
    /// Branches and tags; with `main` whenever there is a current snapshot.
    pub refs: BTreeMap<String, SnapshotRef>,
    /// Table statistics. Advisory: entries that cannot be understood are left out.
    pub statistics: Vec<StatisticsFile>,
    /// Partition statistics. Advisory: entries that cannot be understood are left out.
    pub partition_statistics: Vec<PartitionStatisticsFile>,
    /// v3: the row id that the next snapshot begins with.
    pub next_row_id: Option<i64>,
    /// v3: `encryption-keys` as it was written.
    pub encryption_keys: Option<Box<RawValue>>,
    /// Top-level members that this version does not know, as they were written.
    pub unknown: Vec<(String, Box<RawValue>)>,
}

/// An entry of the snapshot log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SnapshotLogEntry {
    /// Since when, milliseconds since the epoch.
    pub timestamp_ms: i64,
    /// The snapshot, which may be expired.
    #[serde(deserialize_with = "snapshot_id")]
    pub snapshot_id: i64,
}

/// An entry of the metadata log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MetadataLogEntry {
    /// When the file was written, milliseconds since the epoch.
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
    /// Base64 of what decrypts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_metadata: Option<String>,
    /// What is in it.
    #[serde(rename = "blob-metadata")]
    pub blobs: Vec<StatisticsBlob>,
}

/// A blob of a statistics file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StatisticsBlob {
    /// Such as `apache-datasketches-theta-v1`; the list of types is open.
    #[serde(rename = "type")]
    pub blob_type: String,
    /// The snapshot that it was computed from.
    #[serde(deserialize_with = "snapshot_id")]
    pub snapshot_id: i64,
    /// The sequence number of that snapshot.
    pub sequence_number: i64,
    /// The columns that it was computed from.
    pub fields: Vec<i32>,
    /// Such as `ndv`.
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
    /// The schema for reading and writing now.
    pub fn current_schema(&self) -> Result<&Arc<Schema>> {
        self.schema(self.current_schema_id)
    }

    /// A schema by id.
    ///
    /// # Errors
    /// `CorruptMetadata`, for ids come from metadata.
    pub fn schema(&self, id: i32) -> Result<&Arc<Schema>> {
        self.schemas.iter().find(|schema| schema.schema_id == id).ok_or_else(|| missing("schema", id))
    }

    /// The schema that a snapshot was written with; the current one where the snapshot does not say.
    pub fn schema_of(&self, snapshot: &Snapshot) -> Result<&Arc<Schema>> {
        snapshot.schema_id.map_or_else(|| self.current_schema(), |id| self.schema(id))
    }

    /// The partition spec for writing now.
    pub fn default_spec(&self) -> Result<&Arc<PartitionSpec>> {
        self.spec(self.default_spec_id)
    }

    /// A partition spec by id.
    ///
    /// # Errors
    /// `CorruptMetadata`, for ids come from metadata.
    pub fn spec(&self, id: i32) -> Result<&Arc<PartitionSpec>> {
        self.partition_specs.iter().find(|spec| spec.spec_id == id).ok_or_else(|| missing("partition spec", id))
    }

    /// The type of the partition tuples of a spec. Columns that the current schema lost have the type that the newest
    /// other schema gives them, so that tuples keep their identity; those in no schema have the type `unknown`.
    pub fn partition_type(&self, spec: &PartitionSpec) -> StructType {
        spec.partition_type(|id| self.column_type(id))
    }

    /// The folder of new metadata files.
    pub(crate) fn metadata_folder(&self) -> String {
        let own = self.properties.get(properties::METADATA_PATH.key).map(|path| path.trim_end_matches('/').to_string());
        own.unwrap_or_else(|| format!("{}/metadata", self.location.trim_end_matches('/')))
    }

    fn column_type(&self, id: i32) -> Option<&Type> {
        let current = self.schemas.iter().filter(|schema| schema.schema_id == self.current_schema_id);
        let others = self.schemas.iter().rev();
        current.chain(others).find_map(|schema| schema.field(id)).map(|field| &field.field_type)
    }

    /// The current snapshot; None for an empty table.
    pub fn current_snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.find_snapshot(self.current_snapshot_id?)
    }

    /// A snapshot by id.
    ///
    /// # Errors
    /// `NoSuchSnapshot`.
    pub fn snapshot(&self, id: i64) -> Result<&Arc<Snapshot>> {
        self.find_snapshot(id).ok_or_else(|| no_snapshot(format!("no snapshot {id}; it may have expired")))
    }

    /// The snapshot that a branch or a tag names. `main` of an empty table is no snapshot.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, with the names that there are.
    pub fn snapshot_by_ref(&self, name: &str) -> Result<&Arc<Snapshot>> {
        if let Some(reference) = self.refs.get(name) {
            return self.snapshot(reference.snapshot_id);
        }
        let names: Vec<_> = self.refs.keys().take(20).map(|name| format!("`{}`", shown(name))).collect();
        let error = no_snapshot(format!("no branch or tag `{}`", shown(name)));
        Err(if names.is_empty() { error } else { error.hint(format!("there are {}", names.join(", "))) })
    }

    /// The snapshot that was current at a time: the last one that the log has at or before it.
    ///
    /// # Errors
    /// `NoSuchSnapshot` when the log begins later, or the snapshot has expired.
    pub fn snapshot_as_of(&self, timestamp_ms: i64) -> Result<&Arc<Snapshot>> {
        let entry = self.snapshot_log.iter().rev().find(|entry| entry.timestamp_ms <= timestamp_ms);
        match (entry, self.snapshot_log.first()) {
            (Some(entry), _) => self.snapshot(entry.snapshot_id),
            (None, Some(first)) => Err(no_snapshot(format!(
                "no snapshot at or before {timestamp_ms} ms: the history begins at {} ms",
                first.timestamp_ms
            ))),
            (None, None) => Err(no_snapshot(format!("no snapshot at or before {timestamp_ms} ms: no history"))),
        }
    }

    /// A snapshot, its parent, and so on, up to the first or to one whose parent has expired. Ends even if damaged
    /// metadata has them in a circle.
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

    /// The name mapping that the table's properties hold.
    ///
    /// # Errors
    /// `CorruptMetadata` when the property is no mapping.
    pub fn name_mapping(&self) -> Result<Option<NameMapping>> {
        let key = properties::NAME_MAPPING.key;
        let text = self.properties.get(key);
        text.map(|text| NameMapping::from_json(text).map_err(|e| e.with("property", key))).transpose()
    }

    /// The id that `main` has if the table has a snapshot.
    pub(crate) fn main_snapshot_id(&self) -> Option<i64> {
        self.refs.get(MAIN_BRANCH).map(|main| main.snapshot_id)
    }

    fn find_snapshot(&self, id: i64) -> Option<&Arc<Snapshot>> {
        // The newest come last and are asked for most.
        self.snapshots.iter().rev().find(|snapshot| snapshot.snapshot_id == id)
    }

    /// Return the number that a property has in this table, or its default.
    ///
    /// # Errors
    /// `InvalidArgument` if the table has something else than a number.
    pub(crate) fn number(&self, property: &Property) -> Result<u64> {
        property.parse(self.properties.get(property.key).map_or(property.default, String::as_str))
    }

    /// Return whether a property is set in this table. As in Java, every value but `true` means false.
    pub(crate) fn flag(&self, property: &Property) -> bool {
        let text = self.properties.get(property.key).map_or(property.default, String::as_str);
        text.eq_ignore_ascii_case("true")
    }

    /// Refuses to delete files that others may use.
    ///
    /// # Errors
    /// `CommitValidation` if `gc.enabled` is false.
    pub(crate) fn check_owns_files(&self) -> Result<()> {
        if self.flag(&properties::GC_ENABLED) {
            return Ok(());
        }
        let message = "the table has gc.enabled=false: others may use its files";
        Err(Error::new(ErrorKind::CommitValidation, message).with("table", &self.location))
    }
}

impl fmt::Debug for TableMetadata {
    /// Without properties, which may hold secrets.
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
