//! Parses snapshots (spec: "Snapshot"): `snapshot/snapshot-<id>`, JSON. The same format is used in
//! `changelog/changelog-<id>`, and with two additional members in `tag/tag-<name>`.
//!
//! ```text
//! { "version": 3, "uuid": "..", "id": 2, "schemaId": 0, "baseManifestList": "manifest-list-..", "baseManifestListSize": 1113,
//!   "deltaManifestList": "..", "deltaManifestListSize": .., "changelogManifestList": .., "indexManifest": ..,
//!   "commitUser": "..", "commitIdentifier": 2, "commitKind": "APPEND", "timeMillis": .., "totalRecordCount": 10,
//!   "deltaRecordCount": 5, "changelogRecordCount": .., "watermark": .., "statistics": .., "properties": {..},
//!   "nextRowId": 0, "tagCreateTime": [2026, 11, 21, 5, 29, 18, 905799695], "tagTimeRetained": 0.001 }
//! ```
//!
//! Versions 1 and 2 lack members that were added later. Unknown members have no effect and are ignored.

use std::collections::BTreeMap;

use frazil_core::error::{Error, ErrorKind, Result};
use jiff::SignedDuration;
use jiff::civil::DateTime;
use serde_json::Value;

use super::file_name::is_file_name;
use super::json::{self, Object, shown};

/// The latest supported version of snapshot files.
const NEWEST_VERSION: i64 = 3;

/// The kind of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommitKind {
    /// The commit adds files.
    Append,
    /// The commit rewrites the same rows to other files.
    Compact,
    /// The commit removes files, and may add others to replace them.
    Overwrite,
    /// The commit adds only statistics.
    Analyze,
}

impl CommitKind {
    /// Returns the name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Append => "APPEND",
            Self::Compact => "COMPACT",
            Self::Overwrite => "OVERWRITE",
            Self::Analyze => "ANALYZE",
        }
    }

    fn parse(name: &str) -> Result<Self> {
        let kinds = [Self::Append, Self::Compact, Self::Overwrite, Self::Analyze];
        let found = kinds.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| Error::unsupported(format!("the commit kind `{}` is not supported", shown(name))))
    }
}

/// The state of a table's data after one commit. File names are relative to the folders `manifest` and `statistics` of
/// the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The version of the file: 1 to 3.
    pub version: i32,
    /// The id of the snapshot. The ids of a table have no gaps.
    pub id: i64,
    /// A random unique identifier, if the writer recorded one.
    pub uuid: Option<String>,
    /// The latest schema at the time of the commit.
    pub schema_id: i64,
    /// The manifest list of the files before this commit.
    pub base_manifest_list: String,
    /// The length of the base manifest list.
    pub base_manifest_list_size_bytes: Option<i64>,
    /// The manifest list of the files that this commit added and deleted.
    pub delta_manifest_list: String,
    /// The length of the delta manifest list.
    pub delta_manifest_list_size_bytes: Option<i64>,
    /// The manifest list of the changelog files of this commit.
    pub changelog_manifest_list: Option<String>,
    /// The length of the changelog manifest list.
    pub changelog_manifest_list_size_bytes: Option<i64>,
    /// The index manifest of the whole table: deletion vectors, hashes, global indexes.
    pub index_manifest: Option<String>,
    /// The user of the commit.
    pub commit_user: String,
    /// The identifier that the committer assigned; batch writers use the greatest integer.
    pub commit_identifier: i64,
    /// The kind of the commit.
    pub commit_kind: CommitKind,
    /// The commit time in milliseconds since the epoch, by the clock of the committer.
    pub time_ms: i64,
    /// The number of rows in all files, including rows that are merged away or delete. It differs from the row count of
    /// the table.
    pub total_record_count: Option<i64>,
    /// The difference between [`Snapshot::total_record_count`] before and after this commit.
    pub delta_record_count: Option<i64>,
    /// The number of rows in the changelog files of this commit.
    pub changelog_record_count: Option<i64>,
    /// The watermark of the input.
    pub watermark: Option<i64>,
    /// The statistics file.
    pub statistics: Option<String>,
    /// Additional properties from the committer.
    pub properties: BTreeMap<String, String>,
    /// The row id of the next row (row tracking).
    pub next_row_id: Option<i64>,
    /// The operation of the user, in newer files.
    pub operation: Option<String>,
    /// The version of the writer, in newer files.
    pub writer_version: Option<String>,
    /// The creation time of a tag, in microseconds by the wall clock of its creator.
    pub tag_create_time_us: Option<i64>,
    /// The retention time of a tag, in milliseconds.
    pub tag_time_retained_ms: Option<i64>,
}

impl Snapshot {
    /// Parses a snapshot, changelog or tag file.
    ///
    /// # Errors
    /// `CorruptMetadata`; `Unsupported` naming a newer version or commit kind.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes).map_err(|e| e.corrupt_as(ErrorKind::CorruptMetadata))
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let value = json::parse(bytes, "snapshot")?;
        let object = Object::of(&value, "snapshot")?;
        let text = |key: &str| object.text(key).map(|found| found.map(str::to_string));
        Ok(Self {
            version: version(&object)?,
            id: object.required_count("id")?,
            uuid: text("uuid")?,
            schema_id: object.required_count("schemaId")?,
            base_manifest_list: file_name(&object, "baseManifestList")?,
            base_manifest_list_size_bytes: object.long("baseManifestListSize")?,
            delta_manifest_list: file_name(&object, "deltaManifestList")?,
            delta_manifest_list_size_bytes: object.long("deltaManifestListSize")?,
            changelog_manifest_list: optional_file_name(&object, "changelogManifestList")?,
            changelog_manifest_list_size_bytes: object.long("changelogManifestListSize")?,
            index_manifest: optional_file_name(&object, "indexManifest")?,
            commit_user: text("commitUser")?.unwrap_or_default(),
            commit_identifier: object.long("commitIdentifier")?.unwrap_or(i64::MAX),
            commit_kind: CommitKind::parse(object.required_text("commitKind")?)?,
            time_ms: object.required_long("timeMillis")?,
            total_record_count: object.long("totalRecordCount")?,
            delta_record_count: object.long("deltaRecordCount")?,
            changelog_record_count: object.long("changelogRecordCount")?,
            // Streaming writers without a watermark write the minimum integer.
            watermark: object.long("watermark")?.filter(|&watermark| watermark != i64::MIN),
            statistics: optional_file_name(&object, "statistics")?,
            properties: object.text_map("properties")?.unwrap_or_default(),
            next_row_id: object.long("nextRowId")?,
            operation: text("operation")?,
            writer_version: text("writerVersion")?,
            tag_create_time_us: object.value("tagCreateTime").map(create_time_us).transpose()?,
            tag_time_retained_ms: object.value("tagTimeRetained").map(time_retained_ms).transpose()?,
        })
    }
}

/// Returns the version. The first releases did not write one.
fn version(object: &Object<'_>) -> Result<i32> {
    match object.long("version")?.unwrap_or(1) {
        version if version > NEWEST_VERSION => {
            Err(Error::unsupported(format!("snapshot version {version} is not supported"))
                .hint(format!("the latest supported version is {NEWEST_VERSION}")))
        }
        version => {
            let version = i32::try_from(version).ok().filter(|version| *version >= 1);
            version.ok_or_else(|| object.wrong("version", "a version"))
        }
    }
}

fn file_name(object: &Object<'_>, key: &str) -> Result<String> {
    optional_file_name(object, key)?.ok_or_else(|| object.wrong(key, "a file name"))
}

/// Returns a file name, which must not contain a folder: Paimon looks for the file in a fixed folder.
fn optional_file_name(object: &Object<'_>, key: &str) -> Result<Option<String>> {
    let Some(name) = object.text(key)? else { return Ok(None) };
    if !is_file_name(name) {
        return Err(object.wrong(key, "a file name"));
    }
    Ok(Some(name.to_string()))
}

/// Parses year, month, day, hour, minute, and second and nanosecond if they are not zero; or an ISO 8601 string.
fn create_time_us(value: &Value) -> Result<i64> {
    let wrong = || Error::corrupt("`tagCreateTime` must be a date and time");
    let at = match value {
        Value::String(text) => text.parse::<DateTime>().map_err(|_| wrong())?,
        Value::Array(parts) => from_parts(parts).ok_or_else(wrong)?,
        _ => return Err(wrong()),
    };
    let since = at.duration_since(DateTime::constant(1970, 1, 1, 0, 0, 0, 0));
    let us = since.as_nanos().div_euclid(1000);
    i64::try_from(us).map_err(|_| wrong())
}

fn from_parts(parts: &[Value]) -> Option<DateTime> {
    if !(3..=7).contains(&parts.len()) {
        return None;
    }
    let part = |i: usize| parts.get(i).map_or(Some(0), Value::as_i64);
    let small = |i: usize| part(i).and_then(|part| i8::try_from(part).ok());
    let year = part(0).and_then(|year| i16::try_from(year).ok())?;
    let nanos = part(6).and_then(|nanos| i32::try_from(nanos).ok())?;
    DateTime::new(year, small(1)?, small(2)?, small(3)?, small(4)?, small(5)?, nanos).ok()
}

/// Parses seconds with a fraction, or an ISO 8601 string.
fn time_retained_ms(value: &Value) -> Result<i64> {
    let retained = match value {
        Value::String(text) => text.parse::<SignedDuration>().ok(),
        Value::Number(seconds) => seconds.as_f64().and_then(|seconds| SignedDuration::try_from_secs_f64(seconds).ok()),
        _ => None,
    };
    let ms = retained.and_then(|retained| i64::try_from(retained.as_millis()).ok());
    ms.ok_or_else(|| Error::corrupt("`tagTimeRetained` must be a number of seconds"))
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
