//! Writes manifests (spec: "Manifest"), and computes the summary of each for manifest lists.

use std::sync::{Arc, LazyLock};

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use bytes::Bytes;
use frazil_core::avro::{Codec, Writer};
use frazil_core::error::{Error, Result};

use super::manifest::{ADD, KEY_STATS, ManifestEntries, VALUE_STATS, VERSION};
use super::manifest_list::ManifestFileMeta;
use super::meta_file_write::{NAMES, STATS, Type, avro_schema, batch, record, writer};
use super::stats::SimpleStats;

static SCHEMA: LazyLock<String> = LazyLock::new(|| {
    let int = || Type::Required(r#""int""#);
    let long = || Type::Required(r#""long""#);
    let bytes = || Type::Required(r#""bytes""#);
    let optional_long = || Type::Optional(r#""long""#);
    avro_schema(&[
        ("_VERSION", int()),
        ("_KIND", int()),
        ("_PARTITION", bytes()),
        ("_BUCKET", int()),
        ("_TOTAL_BUCKETS", int()),
        (
            "_FILE",
            Type::Record(&[
                ("_FILE_NAME", Type::Required(r#""string""#)),
                ("_FILE_SIZE", long()),
                ("_ROW_COUNT", long()),
                ("_MIN_KEY", bytes()),
                ("_MAX_KEY", bytes()),
                ("_KEY_STATS", Type::Record(STATS)),
                ("_VALUE_STATS", Type::Record(STATS)),
                ("_MIN_SEQUENCE_NUMBER", long()),
                ("_MAX_SEQUENCE_NUMBER", long()),
                ("_SCHEMA_ID", long()),
                ("_LEVEL", int()),
                ("_EXTRA_FILES", Type::Required(NAMES)),
                ("_CREATION_TIME", Type::Optional(r#"{"type":"long","logicalType":"timestamp-millis"}"#)),
                ("_DELETE_ROW_COUNT", optional_long()),
                ("_EMBEDDED_FILE_INDEX", Type::Optional(r#""bytes""#)),
                ("_FILE_SOURCE", Type::Optional(r#""int""#)),
                ("_VALUE_STATS_COLS", Type::Optional(NAMES)),
                ("_EXTERNAL_PATH", Type::Optional(r#""string""#)),
                ("_FIRST_ROW_ID", optional_long()),
                ("_WRITE_COLS", Type::Optional(NAMES)),
            ]),
        ),
    ])
});

/// The columns of entries before `_FILE`.
const ENTRY: [&str; 4] = ["_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS"];

/// The columns of `_FILE` before the statistics.
const FILE_START: [&str; 5] = ["_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT", "_MIN_KEY", "_MAX_KEY"];

/// The columns of `_FILE` after the statistics.
const FILE_END: [&str; 13] = [
    "_MIN_SEQUENCE_NUMBER",
    "_MAX_SEQUENCE_NUMBER",
    "_SCHEMA_ID",
    "_LEVEL",
    "_EXTRA_FILES",
    "_CREATION_TIME",
    "_DELETE_ROW_COUNT",
    "_EMBEDDED_FILE_INDEX",
    "_FILE_SOURCE",
    "_VALUE_STATS_COLS",
    "_EXTERNAL_PATH",
    "_FIRST_ROW_ID",
    "_WRITE_COLS",
];

/// The writer of a manifest.
#[derive(Debug)]
pub struct ManifestWriter {
    writer: Writer,
    added: i64,
    deleted: i64,
    schema_id: Option<i64>,
    buckets: Option<(i32, i32)>,
    levels: Option<(i32, i32)>,
    row_ids: RowIds,
}

/// The row ids of all entries.
#[derive(Debug, Clone, Copy)]
enum RowIds {
    /// There are no entries yet.
    Empty,
    /// An entry without row ids was written.
    Unknown,
    /// The first and the last row id.
    Range(i64, i64),
}

impl ManifestWriter {
    /// Starts a manifest.
    ///
    /// # Errors
    /// `Unsupported` for a codec that can only be read.
    pub fn try_new(codec: Codec) -> Result<Self> {
        Ok(Self {
            writer: writer(&SCHEMA, codec)?,
            added: 0,
            deleted: 0,
            schema_id: None,
            buckets: None,
            levels: None,
            row_ids: RowIds::Empty,
        })
    }

    /// Adds entries, which must have been read with all statistics.
    ///
    /// # Errors
    /// `Internal` for entries without statistics.
    pub fn write(&mut self, entries: &ManifestEntries) -> Result<()> {
        self.count(entries);
        self.writer.write(&rows(entries.batch())?)
    }

    /// Returns the approximate length of the manifest so far.
    pub fn size_bytes(&self) -> usize {
        self.writer.size_bytes()
    }

    /// Returns the content of the manifest, and its entry for a manifest list, with this name and these bounds of the
    /// partitions.
    ///
    /// # Errors
    /// `Internal` if no entry was written: empty manifests do not exist.
    pub fn finish(self, file_name: String, partition_stats: SimpleStats) -> Result<(ManifestFileMeta, Bytes)> {
        let schema_id = self.schema_id.ok_or_else(|| Error::internal("a manifest has no entries"))?;
        let content = self.writer.finish()?;
        let (min_row_id, max_row_id) = match self.row_ids {
            RowIds::Range(min, max) => (Some(min), Some(max)),
            RowIds::Empty | RowIds::Unknown => (None, None),
        };
        let meta = ManifestFileMeta {
            file_name,
            file_size: i64::try_from(content.len()).unwrap_or(i64::MAX),
            num_added_files: self.added,
            num_deleted_files: self.deleted,
            partition_stats,
            schema_id,
            min_bucket: self.buckets.map(|(min, _)| min),
            max_bucket: self.buckets.map(|(_, max)| max),
            min_level: self.levels.map(|(min, _)| min),
            max_level: self.levels.map(|(_, max)| max),
            min_row_id,
            max_row_id,
        };
        Ok((meta, content))
    }

    fn count(&mut self, entries: &ManifestEntries) {
        let added = entries.kinds().values().iter().filter(|kind| **kind == ADD).count();
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.added = self.added.saturating_add(count(added));
        self.deleted = self.deleted.saturating_add(count(entries.len() - added));
        self.schema_id = self.schema_id.max(entries.schema_ids().values().iter().copied().max());
        self.buckets = joined(self.buckets, entries.buckets().values());
        self.levels = joined(self.levels, entries.levels().values());
        for (first, rows) in entries.first_row_ids().iter().zip(entries.row_counts().values()) {
            self.row_ids = self.row_ids.with(first, *rows);
        }
    }
}

impl RowIds {
    fn with(self, first: Option<i64>, rows: i64) -> Self {
        let Some(first) = first else { return Self::Unknown };
        let last = first.saturating_add(rows).saturating_sub(1);
        match self {
            Self::Unknown => Self::Unknown,
            Self::Empty => Self::Range(first, last),
            Self::Range(min, max) => Self::Range(min.min(first), max.max(last)),
        }
    }
}

/// Extends a range by numbers: returns the minimum and maximum of the numbers and of the previous range. None if both
/// are empty.
fn joined(before: Option<(i32, i32)>, numbers: &[i32]) -> Option<(i32, i32)> {
    numbers.iter().fold(before, |range, &number| match range {
        None => Some((number, number)),
        Some((min, max)) => Some((min.min(number), max.max(number))),
    })
}

/// Returns the columns of entries as the fields of the Avro schema.
fn rows(entries: &RecordBatch) -> Result<RecordBatch> {
    let column = |name: &&str| {
        let missing = || Error::internal("manifest entries lack a column").with("column", name);
        entries.column_by_name(name).cloned().ok_or_else(missing)
    };
    let columns = |names: &[&str]| names.iter().map(column).collect::<Result<Vec<_>>>();
    let mut file = columns(&FILE_START)?;
    file.push(record(columns(&KEY_STATS)?)?);
    file.push(record(columns(&VALUE_STATS)?)?);
    file.extend(columns(&FILE_END)?);
    let mut all: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![VERSION; entries.num_rows()]))];
    all.extend(columns(&ENTRY)?);
    all.push(record(file)?);
    batch(all)
}

#[cfg(test)]
#[path = "manifest_write_tests.rs"]
mod tests;
