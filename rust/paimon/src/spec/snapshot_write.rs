//! Writes snapshots (spec: "Snapshot") as Java does: members without a value are omitted.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::snapshot::Snapshot;

impl Snapshot {
    /// Returns the content of the snapshot file, without the members of tags.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &self.version)?;
        some(&mut map, "uuid", self.uuid.as_ref())?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("schemaId", &self.schema_id)?;
        map.serialize_entry("baseManifestList", &self.base_manifest_list)?;
        some(&mut map, "baseManifestListSize", self.base_manifest_list_size_bytes)?;
        map.serialize_entry("deltaManifestList", &self.delta_manifest_list)?;
        some(&mut map, "deltaManifestListSize", self.delta_manifest_list_size_bytes)?;
        some(&mut map, "changelogManifestList", self.changelog_manifest_list.as_ref())?;
        some(&mut map, "changelogManifestListSize", self.changelog_manifest_list_size_bytes)?;
        some(&mut map, "indexManifest", self.index_manifest.as_ref())?;
        map.serialize_entry("commitUser", &self.commit_user)?;
        map.serialize_entry("commitIdentifier", &self.commit_identifier)?;
        map.serialize_entry("commitKind", self.commit_kind.name())?;
        map.serialize_entry("timeMillis", &self.time_ms)?;
        some(&mut map, "totalRecordCount", self.total_record_count)?;
        some(&mut map, "deltaRecordCount", self.delta_record_count)?;
        some(&mut map, "changelogRecordCount", self.changelog_record_count)?;
        some(&mut map, "watermark", self.watermark)?;
        some(&mut map, "statistics", self.statistics.as_ref())?;
        some(&mut map, "properties", Some(&self.properties).filter(|properties| !properties.is_empty()))?;
        some(&mut map, "nextRowId", self.next_row_id)?;
        some(&mut map, "operation", self.operation.as_ref())?;
        some(&mut map, "writerVersion", self.writer_version.as_ref())?;
        map.end()
    }
}

/// Writes a member, or omits it if it has no value.
fn some<M: SerializeMap>(map: &mut M, key: &'static str, value: Option<impl Serialize>) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(key, &value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::testing::golden_files;
    use super::*;

    /// Returns the names of members. Paimon 0.8 wrote `null` for some members without a value.
    fn keys(json: &[u8]) -> BTreeSet<String> {
        let value: Value = serde_json::from_slice(json).unwrap();
        let members = value.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
        members.map(|(key, _)| key.clone()).collect()
    }

    #[test]
    fn golden_snapshots_are_written_with_the_members_that_java_writes() {
        let mut count = 0;
        for (path, bytes) in golden_files(|name| name.starts_with("snapshot-") || name.starts_with("changelog-")) {
            if path.parent().is_none_or(|folder| !folder.ends_with("snapshot") && !folder.ends_with("changelog")) {
                continue;
            }
            let snapshot = Snapshot::parse(&bytes).unwrap();
            let written = snapshot.to_json();
            assert_eq!(Snapshot::parse(written.as_bytes()).unwrap(), snapshot, "{}", path.display());
            let mut expected = keys(&bytes);
            // Releases before 1.0 wrote offsets of a log system that was removed from Paimon.
            expected.remove("logOffsets");
            assert_eq!(keys(written.as_bytes()), expected, "{}", path.display());
            count += 1;
        }
        assert!(count > 100, "{count} snapshots");
    }

    #[test]
    fn all_snapshot_fields_are_written() {
        let text = br#"{"version": 3, "uuid": "u", "id": 2, "schemaId": 1, "baseManifestList": "a",
            "baseManifestListSize": 3, "deltaManifestList": "b", "deltaManifestListSize": 4, "changelogManifestList": "c",
            "changelogManifestListSize": 5, "indexManifest": "i", "commitUser": "user", "commitIdentifier": 6,
            "commitKind": "COMPACT", "timeMillis": 7, "totalRecordCount": 8, "deltaRecordCount": -9,
            "changelogRecordCount": 10, "watermark": 11, "statistics": "s", "properties": {"k": "v"}, "nextRowId": 12,
            "operation": "MERGE", "writerVersion": "2.0"}"#;
        let written = Snapshot::parse(text).unwrap().to_json();
        let value = |json: &[u8]| serde_json::from_slice::<Value>(json).unwrap();
        assert_eq!(value(written.as_bytes()), value(text));
    }
}
