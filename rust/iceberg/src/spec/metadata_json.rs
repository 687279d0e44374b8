//! Reads `metadata.json` (spec: "Table Metadata", appendix C "Table Metadata and Snapshots"), plain or compressed with
//! gzip.
//!
//! The file is never held as a tree: the top level is split into members that stay text, and each member is read
//! directly into its final form. Parsing a 250 MB file needs about 250 MB of additional memory.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::hash::Hash;
use std::io::Read;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use frazil_core::error::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;

use super::json::{At, Object, parse};
use super::partition::{PARTITION_ID_BASE, PartitionSpec};
use super::schema::Schema;
use super::snapshot::{MAIN_BRANCH, Snapshot, SnapshotId, SnapshotRef};
use super::sort::SortOrder;
use super::table_metadata::TableMetadata;
use crate::features::VIEWS;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

/// The decompressed size up to which a metadata file is never rejected as a decompression bomb.
const SMALL_BYTES: usize = 64 << 20;
/// The maximum compression ratio of larger files. Real metadata has a ratio of 5 to 30.
const MAX_RATIO: usize = 200;
/// The maximum decompressed size of a metadata file.
const MAX_INFLATED_BYTES: usize = 512 << 20;

const NEWEST_VERSION: u8 = 3;

/// The top-level members that [`TableMetadata`] has a field for.
const KNOWN: [&str; 25] = [
    "format-version",
    "table-uuid",
    "location",
    "last-sequence-number",
    "last-updated-ms",
    "last-column-id",
    "schema",
    "schemas",
    "current-schema-id",
    "partition-spec",
    "partition-specs",
    "default-spec-id",
    "last-partition-id",
    "properties",
    "current-snapshot-id",
    "snapshots",
    "snapshot-log",
    "metadata-log",
    "sort-orders",
    "default-sort-order-id",
    "refs",
    "statistics",
    "partition-statistics",
    "next-row-id",
    "encryption-keys",
];

impl TableMetadata {
    /// Reads the bytes of a metadata file, with or without gzip.
    ///
    /// # Errors
    /// `CorruptMetadata` for violations of the spec and inconsistencies; `Unsupported` for format versions that this
    /// version of frazil does not support; `LimitExceeded` for types that are nested too deeply and files that
    /// decompress to far more than metadata does. Messages contain the location (`schemas[0].fields[3].type`), never
    /// the values of properties.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        in_members(bytes, |object, at| {
            let metadata = read(object, at)?;
            metadata.check(at)?;
            Ok(metadata)
        })
    }

    /// Reads only the table's UUID from a metadata file, which is faster than reading all of it.
    ///
    /// # Errors
    /// See [`TableMetadata::parse`].
    pub fn parse_uuid(bytes: &[u8]) -> Result<Option<String>> {
        in_members(bytes, |object, at| since(2, format_version(object, at)?, object, "table-uuid", at))
    }

    /// Checks that the members are consistent.
    fn check(&self, at: &At<'_>) -> Result<()> {
        unique(self.schemas.iter().map(|schema| schema.schema_id), &at.key("schemas"))?;
        unique(self.partition_specs.iter().map(|spec| spec.spec_id), &at.key("partition-specs"))?;
        unique(self.sort_orders.iter().map(|order| order.order_id), &at.key("sort-orders"))?;
        let snapshots = unique(self.snapshots.iter().map(|snapshot| snapshot.snapshot_id), &at.key("snapshots"))?;
        let names_none =
            |key, what: &str, id: &dyn Display| Err(at.key(key).corrupt(format!("no {what} has the id {id}")));
        if self.current_schema().is_err() {
            return names_none("current-schema-id", "schema", &self.current_schema_id);
        }
        if self.default_spec().is_err() {
            return names_none("default-spec-id", "partition spec", &self.default_spec_id);
        }
        let order_id = self.default_sort_order_id;
        if order_id != 0 && !self.sort_orders.iter().any(|order| order.order_id == order_id) {
            return names_none("default-sort-order-id", "sort order", &order_id);
        }
        if let Some(id) = self.current_snapshot_id.filter(|id| !snapshots.contains(id)) {
            return names_none("current-snapshot-id", "snapshot", &id);
        }
        let refs_at = at.key("refs");
        for (name, reference) in &self.refs {
            if !snapshots.contains(&reference.snapshot_id) {
                let message = format!("no snapshot has the id {}", reference.snapshot_id);
                return Err(refs_at.key(name).corrupt(message));
            }
        }
        if self.main_snapshot_id() != self.current_snapshot_id {
            return Err(refs_at.key(MAIN_BRANCH).corrupt("differs from `current-snapshot-id`"));
        }
        let highest = self.snapshots.iter().map(|snapshot| snapshot.sequence_number).max().unwrap_or(0);
        if highest > self.last_sequence_number {
            let message =
                format!("{} is less than the sequence number {highest} of a snapshot", self.last_sequence_number);
            return Err(at.key("last-sequence-number").corrupt(message));
        }
        Ok(())
    }
}

/// Applies a function to the members of a metadata file.
fn in_members<R>(bytes: &[u8], look: impl FnOnce(&Object<'_>, &At<'_>) -> Result<R>) -> Result<R> {
    let bytes = inflated(bytes)?;
    let bytes = bytes.strip_prefix(UTF8_BOM).unwrap_or(&bytes);
    let at = At::root("table metadata");
    let text = std::str::from_utf8(bytes)
        .map_err(|error| at.corrupt(format!("invalid UTF-8 at byte {}", error.valid_up_to())))?;
    look(&Object::parse(text, &at)?, &at)
}

fn read(object: &Object<'_>, at: &At<'_>) -> Result<TableMetadata> {
    let format_version = format_version(object, at)?;
    let (schemas, current_schema_id) = schemas(object, at, format_version)?;
    let (partition_specs, default_spec_id) = partition_specs(object, at, format_version)?;
    let (sort_orders, default_sort_order_id) = sort_orders(object, at, format_version)?;
    let field_ids = partition_specs.iter().flat_map(|spec| &spec.fields).map(|field| field.field_id);
    let least_partition_id = field_ids.max().unwrap_or(PARTITION_ID_BASE);
    let least_column_id = schemas.iter().map(|schema| schema.max_field_id()).max().unwrap_or(0);
    // Early writers used -1 for no snapshot.
    let current_snapshot_id =
        object.optional("current-snapshot-id", at)?.map(|SnapshotId(id)| id).filter(|&id| id != -1);
    Ok(TableMetadata {
        format_version,
        table_uuid: since(2, format_version, object, "table-uuid", at)?,
        location: object.required("location", at)?,
        last_sequence_number: since(2, format_version, object, "last-sequence-number", at)?.unwrap_or(0),
        last_updated_ms: object.required("last-updated-ms", at)?,
        last_column_id: object.required::<i32>("last-column-id", at)?.max(least_column_id),
        last_partition_id: since(2, format_version, object, "last-partition-id", at)?
            .map_or(least_partition_id, |id: i32| id.max(least_partition_id)),
        schemas,
        current_schema_id,
        partition_specs,
        default_spec_id,
        properties: object.optional("properties", at)?.unwrap_or_default(),
        current_snapshot_id,
        snapshots: object.list("snapshots", at, |raw, at| Snapshot::read(raw, at).map(Arc::new))?.unwrap_or_default(),
        snapshot_log: object.optional("snapshot-log", at)?.unwrap_or_default(),
        metadata_log: object.optional("metadata-log", at)?.unwrap_or_default(),
        sort_orders,
        default_sort_order_id,
        refs: refs(object, at, current_snapshot_id)?,
        statistics: advisory(object, "statistics", at),
        partition_statistics: advisory(object, "partition-statistics", at),
        next_row_id: object.optional("next-row-id", at)?,
        encryption_keys: object.raw("encryption-keys", at)?.map(ToOwned::to_owned),
        unknown: object
            .members()
            .filter(|(key, _)| !KNOWN.contains(key))
            .map(|(key, raw)| (key.to_string(), raw.to_owned()))
            .collect(),
    })
}

fn format_version(object: &Object<'_>, at: &At<'_>) -> Result<u8> {
    if object.raw("view-uuid", at)?.is_some() {
        VIEWS.check_read()?;
    }
    let version: i64 = object.required("format-version", at)?;
    match u8::try_from(version) {
        Ok(known @ 1..=NEWEST_VERSION) => Ok(known),
        _ => Err(Error::unsupported(format!("Iceberg format version {version} is not supported"))
            .hint(format!("this version of frazil reads versions 1 to {NEWEST_VERSION}"))),
    }
}

/// Returns a member that is required from format version `first_version` on and optional in earlier versions.
fn since<T: DeserializeOwned>(
    first_version: u8,
    version: u8,
    object: &Object<'_>,
    key: &str,
    at: &At<'_>,
) -> Result<Option<T>> {
    if version >= first_version { object.required(key, at).map(Some) } else { object.optional(key, at) }
}

/// Returns the schemas and the id of the current one. v1 has one `schema` and may also have the list of v2, which is
/// used if it has a current schema id.
fn schemas(object: &Object<'_>, at: &At<'_>, version: u8) -> Result<(Vec<Arc<Schema>>, i32)> {
    let listed = object.list("schemas", at, |raw, at| Schema::read(raw, at).map(Arc::new))?;
    let current: Option<i32> = since(2, version, object, "current-schema-id", at)?;
    match (listed, current) {
        (Some(listed), Some(current)) => Ok((listed, current)),
        (None, _) if version > 1 => Err(at.corrupt("`schemas` is missing")),
        (listed, _) => {
            let only = Schema::read(object.required_raw("schema", at)?, &at.key("schema"))?;
            let current = only.schema_id;
            let mut schemas = listed.unwrap_or_default();
            schemas.retain(|schema| schema.schema_id != current);
            schemas.push(Arc::new(only));
            Ok((schemas, current))
        }
    }
}

/// Returns the partition specs and the id of the default one. v1 has the fields of one spec and may also have the list
/// of v2.
fn partition_specs(object: &Object<'_>, at: &At<'_>, version: u8) -> Result<(Vec<Arc<PartitionSpec>>, i32)> {
    let listed = object.list("partition-specs", at, |raw, at| PartitionSpec::read(raw, at).map(Arc::new))?;
    let default: Option<i32> = since(2, version, object, "default-spec-id", at)?;
    match listed {
        Some(listed) => {
            let newest = listed.iter().map(|spec| spec.spec_id).max().unwrap_or(0);
            Ok((listed, default.unwrap_or(newest)))
        }
        None if version > 1 => Err(at.corrupt("`partition-specs` is missing")),
        None => {
            let raw = object.required_raw("partition-spec", at)?;
            let fields = PartitionSpec::read_fields(raw, &at.key("partition-spec"))?;
            let spec_id = default.unwrap_or(0);
            Ok((vec![Arc::new(PartitionSpec { spec_id, fields })], spec_id))
        }
    }
}

fn sort_orders(object: &Object<'_>, at: &At<'_>, version: u8) -> Result<(Vec<SortOrder>, i32)> {
    let listed = object.list("sort-orders", at, SortOrder::read)?;
    let default = since(2, version, object, "default-sort-order-id", at)?.unwrap_or(0);
    match listed {
        Some(listed) => Ok((listed, default)),
        None if version > 1 => Err(at.corrupt("`sort-orders` is missing")),
        None => Ok((vec![SortOrder::default()], default)),
    }
}

/// Returns the references; `main` defaults to the current snapshot.
fn refs(object: &Object<'_>, at: &At<'_>, current: Option<i64>) -> Result<BTreeMap<String, SnapshotRef>> {
    let mut refs = BTreeMap::new();
    if let Some(raw) = object.raw("refs", at)? {
        let at = at.key("refs");
        for (name, raw) in Object::parse(raw.get(), &at)?.members() {
            if refs.insert(name.to_string(), SnapshotRef::read(raw, &at.key(name))?).is_some() {
                return Err(at.key(name).corrupt("duplicate reference"));
            }
        }
    }
    if let Some(snapshot_id) = current {
        refs.entry(MAIN_BRANCH.to_string()).or_insert_with(|| SnapshotRef::branch(snapshot_id));
    }
    Ok(refs)
}

/// Returns the elements of an optional list. Elements that cannot be parsed are omitted, because readers do not depend
/// on them.
fn advisory<T: DeserializeOwned>(object: &Object<'_>, key: &str, at: &At<'_>) -> Vec<T> {
    let elements = object.list(key, at, |raw, at| Ok(parse(raw.get(), at).ok()));
    elements.ok().flatten().unwrap_or_default().into_iter().flatten().collect()
}

/// Returns the ids after checking that they are unique.
fn unique<T: Eq + Hash + Copy + Display>(ids: impl Iterator<Item = T>, at: &At<'_>) -> Result<HashSet<T>> {
    let mut seen = HashSet::with_capacity(ids.size_hint().0);
    for id in ids {
        if !seen.insert(id) {
            return Err(at.corrupt(format!("duplicate id {id}")));
        }
    }
    Ok(seen)
}

/// Returns the bytes unchanged, or decompressed if they begin like gzip, regardless of the file name.
fn inflated(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    if !bytes.starts_with(GZIP_MAGIC) {
        return Ok(Cow::Borrowed(bytes));
    }
    let limit = bytes.len().saturating_mul(MAX_RATIO).clamp(SMALL_BYTES, MAX_INFLATED_BYTES);
    // The last four bytes are the decompressed length. It is used only to preallocate the buffer, because it may be
    // wrong.
    let declared = bytes.last_chunk::<4>().map_or(0, |size| u32::from_le_bytes(*size));
    let mut inflated = Vec::with_capacity(usize::try_from(declared).unwrap_or(0).saturating_add(1).min(limit));
    let mut reader = MultiGzDecoder::new(bytes).take(u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1));
    reader.read_to_end(&mut inflated).map_err(|error| {
        Error::new(ErrorKind::CorruptMetadata, "table metadata: incomplete or invalid gzip file").caused_by(error)
    })?;
    if inflated.len() > limit {
        let message = format!("table metadata of {} bytes decompresses to more than {limit} bytes", bytes.len());
        return Err(Error::new(ErrorKind::LimitExceeded, message));
    }
    Ok(Cow::Owned(inflated))
}

#[cfg(test)]
#[path = "metadata_json_tests.rs"]
mod tests;
