//! Snapshots, and the branches and tags that reference them (spec: "Snapshots", "Snapshot References"; JSON: appendix
//! C).

use std::borrow::Cow;
use std::fmt;

use frazil_core::error::Result;
use serde::de::{Error as _, Unexpected};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::json::{self, At, Object, Text, shown};

/// The branch that every table has.
pub const MAIN_BRANCH: &str = "main";

/// The state of a table at some point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The id, unique in the table.
    pub snapshot_id: i64,
    /// The snapshot on which it is based. It may have expired; in a damaged table it may even be the snapshot itself.
    pub parent_snapshot_id: Option<i64>,
    /// The position in the order of commits; 0 in v1.
    pub sequence_number: i64,
    /// The creation time in milliseconds since the epoch.
    pub timestamp_ms: i64,
    /// The location of its manifest list; None only if [`Snapshot::manifests`] is set instead.
    pub manifest_list: Option<Box<str>>,
    /// v1: the locations of its manifests, if there is no manifest list.
    pub manifests: Option<Vec<String>>,
    /// The operation and its counts.
    pub summary: Summary,
    /// The schema that was current when it was created.
    pub schema_id: Option<i32>,
    /// v3: the first row id of its rows.
    pub first_row_id: Option<i64>,
    /// v3: the number of row ids that the snapshot assigned.
    pub added_rows: Option<i64>,
    /// v3: the key with which its manifest list is encrypted.
    pub key_id: Option<String>,
}

/// The entries of a snapshot's summary, in the order of the file.
///
/// A table may have a hundred thousand snapshots with thirty entries each, so a summary is stored as one string and the
/// end offsets of its parts: key, value, key, value ...
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Summary {
    text: Box<str>,
    ends: Box<[u32]>,
}

/// A branch or a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRef {
    /// The referenced snapshot.
    pub snapshot_id: i64,
    /// The type of the reference.
    pub kind: RefKind,
    /// For branches: the minimum number of snapshots that expiry keeps.
    pub min_snapshots_to_keep: Option<i32>,
    /// For branches: the age at which snapshots expire.
    pub max_snapshot_age_ms: Option<i64>,
    /// The age at which the reference expires; never for `main`.
    pub max_ref_age_ms: Option<i64>,
}

/// The type of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefKind {
    /// A branch, which moves with commits.
    Branch,
    /// A tag, which does not move.
    Tag,
}

impl Snapshot {
    pub(crate) fn read(raw: &RawValue, at: &At<'_>) -> Result<Self> {
        let object = Object::parse(raw.get(), at)?;
        let manifest_list: Option<Box<str>> = object.optional("manifest-list", at)?;
        let manifests = match manifest_list {
            Some(_) => None,
            None => Some(object.required("manifests", at).map_err(|_| at.corrupt("`manifest-list` is missing"))?),
        };
        Ok(Self {
            snapshot_id: object.required::<SnapshotId>("snapshot-id", at)?.0,
            parent_snapshot_id: object.optional("parent-snapshot-id", at)?.map(|SnapshotId(id)| id),
            sequence_number: object.optional("sequence-number", at)?.unwrap_or(0),
            timestamp_ms: object.required("timestamp-ms", at)?,
            manifest_list,
            manifests,
            summary: match object.raw("summary", at)? {
                Some(raw) => Summary::read(raw, &at.key("summary"))?,
                None => Summary::default(),
            },
            schema_id: object.optional("schema-id", at)?,
            first_row_id: object.optional("first-row-id", at)?,
            added_rows: object.optional("added-rows", at)?,
            key_id: object.optional("key-id", at)?,
        })
    }

    /// Returns the operation: `append`, `replace`, `overwrite`, `delete` or another name that a writer used; None in
    /// early v1.
    pub fn operation(&self) -> Option<&str> {
        self.summary.value("operation")
    }
}

impl Summary {
    fn read(raw: &RawValue, at: &At<'_>) -> Result<Self> {
        let mut parts = SummaryParts::default();
        for (key, raw) in Object::parse(raw.get(), at)?.members() {
            // The spec requires strings, but an unquoted number has the same meaning.
            let value = match raw.get() {
                "null" => continue,
                text if text.starts_with('"') => json::parse::<Text<'_>>(text, &at.key(key))?.0,
                text => Cow::Borrowed(text),
            };
            let taken = parts.push(key).and_then(|()| parts.push(&value));
            taken.ok_or_else(|| at.corrupt("longer than 4 GiB"))?;
        }
        Ok(parts.finish())
    }

    /// Returns a summary of these entries; None if they are longer than 4 GiB.
    pub fn new<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let mut parts = SummaryParts::default();
        for (key, value) in entries {
            parts.push(key)?;
            parts.push(value)?;
        }
        Some(parts.finish())
    }

    /// Returns the entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut rest: &str = &self.text;
        let mut start = 0;
        let (pairs, _) = self.ends.as_chunks::<2>();
        pairs.iter().map(move |&[key_end, value_end]| {
            let key = split_front(&mut rest, key_end - start);
            let value = split_front(&mut rest, value_end - key_end);
            start = value_end;
            (key, value)
        })
    }

    /// Returns the value of a key.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// Returns an integer value, such as a count.
    pub fn count(&self, key: &str) -> Option<i64> {
        self.value(key)?.parse().ok()
    }
}

/// A [`Summary`] under construction.
#[derive(Default)]
struct SummaryParts {
    text: String,
    ends: Vec<u32>,
}

impl SummaryParts {
    /// Adds a key or a value; None if the text would become longer than 4 GiB.
    fn push(&mut self, part: &str) -> Option<()> {
        self.text.push_str(part);
        self.ends.push(u32::try_from(self.text.len()).ok()?);
        Some(())
    }

    fn finish(self) -> Summary {
        Summary { text: self.text.into_boxed_str(), ends: self.ends.into_boxed_slice() }
    }
}

/// Removes and returns the first `length` bytes of `rest`.
fn split_front<'a>(rest: &mut &'a str, length: u32) -> &'a str {
    let at = usize::try_from(length).unwrap_or(usize::MAX);
    let (front, behind) = rest.split_at_checked(at).unwrap_or((rest, ""));
    *rest = behind;
    front
}

impl fmt::Debug for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn optional<M: SerializeMap>(map: &mut M, key: &str, value: Option<&impl Serialize>) -> Result<(), M::Error> {
            value.map_or(Ok(()), |value| map.serialize_entry(key, value))
        }
        let mut map = serializer.serialize_map(None)?;
        if self.sequence_number != 0 {
            map.serialize_entry("sequence-number", &self.sequence_number)?;
        }
        map.serialize_entry("snapshot-id", &self.snapshot_id)?;
        optional(&mut map, "parent-snapshot-id", self.parent_snapshot_id.as_ref())?;
        map.serialize_entry("timestamp-ms", &self.timestamp_ms)?;
        if !self.summary.ends.is_empty() {
            map.serialize_entry("summary", &self.summary)?;
        }
        optional(&mut map, "manifest-list", self.manifest_list.as_ref())?;
        optional(&mut map, "manifests", self.manifests.as_ref())?;
        optional(&mut map, "schema-id", self.schema_id.as_ref())?;
        optional(&mut map, "first-row-id", self.first_row_id.as_ref())?;
        optional(&mut map, "added-rows", self.added_rows.as_ref())?;
        optional(&mut map, "key-id", self.key_id.as_ref())?;
        map.end()
    }
}

impl SnapshotRef {
    pub(crate) fn read(raw: &RawValue, at: &At<'_>) -> Result<Self> {
        let object = Object::parse(raw.get(), at)?;
        let kind: String = object.required("type", at)?;
        Ok(Self {
            snapshot_id: object.required::<SnapshotId>("snapshot-id", at)?.0,
            kind: match kind.to_ascii_lowercase().as_str() {
                "branch" => RefKind::Branch,
                "tag" => RefKind::Tag,
                _ => {
                    return Err(at.corrupt(format!(
                        "the type of a reference must be `branch` or `tag`, found `{}`",
                        shown(&kind)
                    )));
                }
            },
            min_snapshots_to_keep: object.optional("min-snapshots-to-keep", at)?,
            max_snapshot_age_ms: object.optional("max-snapshot-age-ms", at)?,
            max_ref_age_ms: object.optional("max-ref-age-ms", at)?,
        })
    }

    /// Returns a branch without retention settings, for which the table's properties apply.
    pub fn branch(snapshot_id: i64) -> Self {
        let kind = RefKind::Branch;
        Self { snapshot_id, kind, min_snapshots_to_keep: None, max_snapshot_age_ms: None, max_ref_age_ms: None }
    }
}

impl SnapshotRef {
    /// Writes the members of the JSON object.
    pub(crate) fn serialize_members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("snapshot-id", &self.snapshot_id)?;
        map.serialize_entry("type", if self.kind == RefKind::Branch { "branch" } else { "tag" })?;
        if let Some(count) = self.min_snapshots_to_keep {
            map.serialize_entry("min-snapshots-to-keep", &count)?;
        }
        if let Some(age_ms) = self.max_snapshot_age_ms {
            map.serialize_entry("max-snapshot-age-ms", &age_ms)?;
        }
        if let Some(age_ms) = self.max_ref_age_ms {
            map.serialize_entry("max-ref-age-ms", &age_ms)?;
        }
        Ok(())
    }
}

impl Serialize for SnapshotRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.serialize_members(&mut map)?;
        map.end()
    }
}

/// A snapshot id. Some tables have ids above 2^63; their 64 bits are reinterpreted as a signed number, as in manifests.
pub(crate) struct SnapshotId(pub(crate) i64);

impl<'de> Deserialize<'de> for SnapshotId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = i128::deserialize(deserializer)?;
        let signed = i64::try_from(id).or_else(|_| u64::try_from(id).map(u64::cast_signed));
        signed.map(Self).map_err(|_| D::Error::invalid_value(Unexpected::Other("integer"), &"64 bits"))
    }
}

/// Deserialises a [`SnapshotId`] for derived readers.
pub(crate) fn snapshot_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    SnapshotId::deserialize(deserializer).map(|SnapshotId(id)| id)
}

#[cfg(test)]
mod tests {
    use frazil_core::error::ErrorKind;

    use super::*;

    fn read(json: &str) -> Result<Snapshot> {
        Snapshot::read(serde_json::from_str(json).unwrap(), &At::root("snapshot"))
    }

    #[test]
    fn snapshots_round_trip() {
        let json = r#"{"sequence-number":7,"snapshot-id":3055729675574597004,"parent-snapshot-id":-5,"timestamp-ms":1555100955770,"summary":{"operation":"append","a\"b":"","added-records":"12"},"manifest-list":"s3://b/m.avro","schema-id":1,"first-row-id":0,"added-rows":12,"key-id":"k"}"#;
        let snapshot = read(json).unwrap();
        assert_eq!(serde_json::to_string(&snapshot).unwrap(), json);
        assert_eq!(snapshot.operation(), Some("append"));
        assert_eq!(snapshot.summary.value("a\"b"), Some(""));
        assert_eq!(snapshot.summary.count("added-records"), Some(12));
        assert_eq!(snapshot.summary.value("none"), None);
    }

    #[test]
    fn ids_above_two_to_the_63_are_the_same_bits() {
        let json = r#"{"snapshot-id": 9876543210123456789, "parent-snapshot-id": 18446744073709551615, "timestamp-ms": 2, "manifest-list": "l"}"#;
        let snapshot = read(json).unwrap();
        assert_eq!((snapshot.snapshot_id, snapshot.parent_snapshot_id), (-8_570_200_863_586_094_827, Some(-1)));
    }

    #[test]
    fn v1_may_list_manifests_and_say_no_more() {
        let snapshot = read(r#"{"snapshot-id": 1, "timestamp-ms": 2, "manifests": ["a", "b"]}"#).unwrap();
        assert_eq!(snapshot.manifests.as_deref(), Some(&["a".to_string(), "b".to_string()][..]));
        assert_eq!((snapshot.sequence_number, snapshot.operation()), (0, None));
        let both = read(r#"{"snapshot-id": 1, "timestamp-ms": 2, "manifests": ["a"], "manifest-list": "l"}"#).unwrap();
        assert_eq!((both.manifests, both.manifest_list.as_deref()), (None, Some("l")));
    }

    #[test]
    fn invalid_snapshots_are_rejected() {
        for json in [
            r#"{"snapshot-id": 18446744073709551621, "timestamp-ms": 2, "manifest-list": "l"}"#,
            r#"{"snapshot-id": 1, "timestamp-ms": 2}"#,
            r#"{"snapshot-id": 1, "manifest-list": "l"}"#,
            r#"{"timestamp-ms": 1, "manifest-list": "l"}"#,
            r#"{"snapshot-id": 1, "timestamp-ms": 2, "manifest-list": 5}"#,
            r#"{"snapshot-id": 1, "timestamp-ms": 2, "manifest-list": "l", "summary": []}"#,
        ] {
            assert_eq!(read(json).unwrap_err().kind(), ErrorKind::CorruptMetadata, "{json}");
        }
    }

    #[test]
    fn a_bare_number_in_a_summary_is_its_text() {
        let json = r#"{"snapshot-id": 1, "timestamp-ms": 2, "manifest-list": "l", "summary": {"a": 5, "b": null}}"#;
        let entries: Vec<_> = read(json).unwrap().summary.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(entries, ["a=5"]);
    }

    #[test]
    fn references_round_trip_and_unknown_kinds_are_refused() {
        let read = |json: &str| SnapshotRef::read(serde_json::from_str(json).unwrap(), &At::root("ref"));
        let json =
            r#"{"snapshot-id":5,"type":"branch","min-snapshots-to-keep":1,"max-snapshot-age-ms":2,"max-ref-age-ms":3}"#;
        assert_eq!(serde_json::to_string(&read(json).unwrap()).unwrap(), json);
        let error = read(r#"{"snapshot-id": 5, "type": "frob"}"#).unwrap_err();
        assert_eq!(error.to_string(), "ref: the type of a reference must be `branch` or `tag`, found `frob`");
    }
}
