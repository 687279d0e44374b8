//! Writes `metadata.json` (spec: appendix C, "Table Metadata and Snapshots"), plain or compressed with gzip.
//!
//! Members are in Java's order. v1 repeats the current schema and the fields of the default spec under the names that
//! its readers expect. Members that this version does not know are written back unchanged.

use crate::properties::METADATA_CODEC;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use frazil_core::error::{Error, Result};
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};

use super::table_metadata::TableMetadata;

/// The compression codec of a metadata file (`write.metadata.compression-codec`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MetadataCodec {
    /// No compression: `.metadata.json`.
    #[default]
    None,
    /// `.gz.metadata.json`
    Gzip,
}

impl MetadataCodec {
    /// Parses the value of the table property.
    ///
    /// # Errors
    /// `Unsupported` for names that the spec does not define.
    pub fn parse(name: &str) -> Result<Self> {
        match name.to_ascii_lowercase().as_str() {
            "none" => Ok(Self::None),
            "gzip" => Ok(Self::Gzip),
            _ => Err(Error::unsupported(format!("metadata compression `{name}` is not supported"))
                .hint("set write.metadata.compression-codec to none or gzip")),
        }
    }

    /// Returns the codec that a table's properties specify.
    ///
    /// # Errors
    /// See [`MetadataCodec::parse`].
    pub fn of(metadata: &TableMetadata) -> Result<Self> {
        let codec = metadata.properties.get(METADATA_CODEC.key);
        codec.map_or(Ok(Self::None), |codec| Self::parse(codec))
    }

    /// Returns the suffix of such files.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::None => ".metadata.json",
            Self::Gzip => ".gz.metadata.json",
        }
    }
}

impl TableMetadata {
    /// Returns the bytes of a metadata file.
    pub fn to_bytes(&self, codec: MetadataCodec) -> Result<Vec<u8>> {
        let unwritable = |e: serde_json::Error| Error::internal("metadata cannot be serialised").caused_by(e);
        match codec {
            MetadataCodec::None => serde_json::to_vec(self).map_err(unwritable),
            MetadataCodec::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                serde_json::to_writer(&mut encoder, self).map_err(unwritable)?;
                let written = encoder.flush().and_then(|()| encoder.finish());
                written.map_err(|e| Error::internal("metadata cannot be compressed").caused_by(e))
            }
        }
    }
}

impl Serialize for TableMetadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let version = self.format_version;
        map.serialize_entry("format-version", &version)?;
        if let Some(uuid) = &self.table_uuid {
            map.serialize_entry("table-uuid", uuid)?;
        }
        map.serialize_entry("location", &self.location)?;
        if version > 1 {
            map.serialize_entry("last-sequence-number", &self.last_sequence_number)?;
        }
        map.serialize_entry("last-updated-ms", &self.last_updated_ms)?;
        map.serialize_entry("last-column-id", &self.last_column_id)?;
        if version == 1 {
            map.serialize_entry("schema", self.current_schema().map_err(S::Error::custom)?.as_ref())?;
        }
        map.serialize_entry("current-schema-id", &self.current_schema_id)?;
        map.serialize_entry("schemas", &Each(&self.schemas))?;
        if version == 1 {
            map.serialize_entry("partition-spec", &self.default_spec().map_err(S::Error::custom)?.fields)?;
        }
        map.serialize_entry("default-spec-id", &self.default_spec_id)?;
        map.serialize_entry("partition-specs", &Each(&self.partition_specs))?;
        map.serialize_entry("last-partition-id", &self.last_partition_id)?;
        map.serialize_entry("default-sort-order-id", &self.default_sort_order_id)?;
        map.serialize_entry("sort-orders", &self.sort_orders)?;
        map.serialize_entry("properties", &self.properties)?;
        match self.current_snapshot_id {
            // Old readers recognise an empty table only by the value -1 (spec: "Table Metadata Fields").
            None if version < 3 => map.serialize_entry("current-snapshot-id", &-1)?,
            current => map.serialize_entry("current-snapshot-id", &current)?,
        }
        if let Some(next) = self.next_row_id.filter(|_| version > 2) {
            map.serialize_entry("next-row-id", &next)?;
        }
        if let Some(keys) = &self.encryption_keys {
            map.serialize_entry("encryption-keys", keys)?;
        }
        map.serialize_entry("refs", &self.refs)?;
        map.serialize_entry("snapshots", &Each(&self.snapshots))?;
        map.serialize_entry("statistics", &self.statistics)?;
        map.serialize_entry("partition-statistics", &self.partition_statistics)?;
        map.serialize_entry("snapshot-log", &self.snapshot_log)?;
        map.serialize_entry("metadata-log", &self.metadata_log)?;
        for (key, value) in &self.unknown {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// A serialisable list of shared values.
pub(super) struct Each<'a, T>(pub(super) &'a [std::sync::Arc<T>]);

impl<T: Serialize> Serialize for Each<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(AsRef::as_ref))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parse(table: &Value) -> TableMetadata {
        TableMetadata::parse(table.to_string().as_bytes()).unwrap()
    }

    fn written(metadata: &TableMetadata) -> Value {
        serde_json::from_slice(&metadata.to_bytes(MetadataCodec::None).unwrap()).unwrap()
    }

    fn v3() -> Value {
        json!({
            "format-version": 3, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "s3://b/t",
            "last-sequence-number": 2, "last-updated-ms": 5, "last-column-id": 2, "current-schema-id": 0,
            "schemas": [{"type": "struct", "schema-id": 0, "identifier-field-ids": [1], "fields": [
                {"id": 1, "name": "x", "required": true, "type": "long", "doc": "d"},
                {"id": 2, "name": "y", "required": false, "type": "int", "initial-default": 3, "write-default": 4}]}],
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": [
                {"name": "b", "transform": "bucket[4]", "source-id": 1, "field-id": 1000}]}],
            "last-partition-id": 1000, "default-sort-order-id": 1,
            "sort-orders": [{"order-id": 1, "fields": [
                {"transform": "identity", "source-id": 1, "direction": "desc", "null-order": "nulls-last"}]}],
            "properties": {"owner": "me"}, "current-snapshot-id": 20, "next-row-id": 12,
            "encryption-keys": [{"key-id": "k", "encrypted-key-metadata": "AA=="}],
            "refs": {"main": {"snapshot-id": 20, "type": "branch"}},
            "snapshots": [{"sequence-number": 2, "snapshot-id": 20, "timestamp-ms": 4, "manifest-list": "m",
                "summary": {"operation": "append"}, "schema-id": 0, "first-row-id": 0, "added-rows": 12}],
            "statistics": [{"snapshot-id": 20, "statistics-path": "s.stats", "file-size-in-bytes": 10,
                "file-footer-size-in-bytes": 5, "blob-metadata": []}],
            "partition-statistics": [{"snapshot-id": 20, "statistics-path": "p", "file-size-in-bytes": 10}],
            "snapshot-log": [{"timestamp-ms": 4, "snapshot-id": 20}],
            "metadata-log": [{"timestamp-ms": 1, "metadata-file": "v1.metadata.json"}],
            "x-future": {"a": [1.50]}
        })
    }

    #[test]
    fn v3_metadata_round_trips() {
        assert_eq!(written(&parse(&v3())), v3());
    }

    #[test]
    fn v1_repeats_schema_and_spec_and_omits_newer_fields() {
        let metadata = parse(&json!({
            "format-version": 1, "location": "/t", "last-updated-ms": 5, "last-column-id": 1,
            "schema": {"type": "struct", "schema-id": 0,
                       "fields": [{"id": 1, "name": "c", "required": false, "type": "string"}]},
            "partition-spec": [{"name": "c", "transform": "identity", "source-id": 1}],
        }));
        let v1 = written(&metadata);
        assert_eq!(v1["schema"], v1["schemas"][0]);
        assert_eq!(v1["partition-spec"], v1["partition-specs"][0]["fields"]);
        assert_eq!(v1["partition-spec"][0]["field-id"], 1000);
        assert_eq!(v1["current-snapshot-id"], -1);
        assert_eq!((v1.get("last-sequence-number"), v1.get("next-row-id"), v1.get("table-uuid")), (None, None, None));
        assert_eq!(written(&parse(&v1)), v1);
    }

    #[test]
    fn gzip_holds_the_same() {
        let metadata = parse(&v3());
        let bytes = metadata.to_bytes(MetadataCodec::parse("GZIP").unwrap()).unwrap();
        assert_eq!(written(&TableMetadata::parse(&bytes).unwrap()), v3());
        assert!(MetadataCodec::parse("zstd").is_err());
    }

    /// The files that Java's engines wrote for the golden tables keep the same members with the same values.
    #[test]
    fn the_files_of_other_writers_keep_every_member() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/iceberg");
        let mut seen = 0;
        for table in std::fs::read_dir(folder).unwrap() {
            for file in std::fs::read_dir(table.unwrap().path().join("metadata")).into_iter().flatten() {
                let path = file.unwrap().path();
                if !path.to_string_lossy().ends_with(".metadata.json") {
                    continue;
                }
                let Ok(original) = serde_json::from_slice::<Value>(&std::fs::read(&path).unwrap()) else { continue };
                let Ok(metadata) = TableMetadata::parse(original.to_string().as_bytes()) else { continue };
                let written = written(&metadata);
                for (key, value) in original.as_object().unwrap() {
                    assert!(&written[key] == value, "{key} of {}", path.display());
                }
                seen += 1;
            }
        }
        assert!(seen > 10, "{seen}");
    }
}
