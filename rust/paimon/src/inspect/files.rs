//! The system tables `files` and `file_key_ranges`: the data files of a snapshot. A part is a manifest with its live
//! entries.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, StringArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::{DataType, SchemaRef};
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::virtual_table::{Part, PartBatches, VirtualTable};
use serde::{Deserialize, Serialize};

use super::file_stats::{self, DecodedStats};
use super::live::{self, Live};
use super::manifests::path;
use super::{InspectColumn, InspectState, NULLABLE, REQUIRED, ViewKind, display, project, schema};
use crate::context::ReadContext;
use crate::scan::partitions::Partitions;
use crate::spec::file_name::is_file_name;
use crate::spec::json::shown;
use crate::spec::manifest::{ManifestEntries, WantedFields};

pub(super) const FILES: [InspectColumn; 20] = [
    ("partition", ViewKind::Text, NULLABLE),
    ("bucket", ViewKind::Int, REQUIRED),
    ("file_path", ViewKind::Text, REQUIRED),
    ("file_format", ViewKind::Text, REQUIRED),
    ("schema_id", ViewKind::Long, REQUIRED),
    ("level", ViewKind::Int, REQUIRED),
    ("record_count", ViewKind::Long, REQUIRED),
    ("file_size_in_bytes", ViewKind::Long, REQUIRED),
    ("min_key", ViewKind::Text, NULLABLE),
    ("max_key", ViewKind::Text, NULLABLE),
    ("null_value_counts", ViewKind::Text, REQUIRED),
    ("min_value_stats", ViewKind::Text, REQUIRED),
    ("max_value_stats", ViewKind::Text, REQUIRED),
    ("min_sequence_number", ViewKind::Long, NULLABLE),
    ("max_sequence_number", ViewKind::Long, NULLABLE),
    ("creation_time", ViewKind::Time, NULLABLE),
    ("deleteRowCount", ViewKind::Long, NULLABLE),
    ("file_source", ViewKind::Text, NULLABLE),
    ("first_row_id", ViewKind::Long, NULLABLE),
    ("write_cols", ViewKind::Texts, NULLABLE),
];

pub(super) const FILE_KEY_RANGES: [InspectColumn; 11] = [
    ("partition", ViewKind::Text, NULLABLE),
    ("bucket", ViewKind::Int, REQUIRED),
    ("file_path", ViewKind::Text, REQUIRED),
    ("file_format", ViewKind::Text, REQUIRED),
    ("schema_id", ViewKind::Long, REQUIRED),
    ("level", ViewKind::Int, REQUIRED),
    ("record_count", ViewKind::Long, REQUIRED),
    ("file_size_in_bytes", ViewKind::Long, REQUIRED),
    ("min_key", ViewKind::Text, NULLABLE),
    ("max_key", ViewKind::Text, NULLABLE),
    ("first_row_id", ViewKind::Long, NULLABLE),
];

/// The extensions of compressed text files, which follow the extension of the format.
const COMPRESSIONS: [&str; 6] = ["bz2", "deflate", "gz", "lz4", "snappy", "zst"];

/// The data files of a snapshot.
#[derive(Debug)]
pub(super) struct DataFiles {
    state: InspectState,
    columns: &'static [InspectColumn],
    schema: SchemaRef,
}

/// A manifest, and the ranges of its live entries.
#[derive(Debug, Serialize, Deserialize)]
struct FilesPart {
    manifest: String,
    entries: Vec<Range<usize>>,
}

impl DataFiles {
    pub(super) fn new(state: InspectState, columns: &'static [InspectColumn]) -> Self {
        Self { state, columns, schema: schema(columns) }
    }

    fn batch_columns(&self, part: &FilesPart, columns: &[usize], context: &Context) -> Result<Vec<ArrayRef>> {
        let wanted: Vec<&str> = columns.iter().filter_map(|&column| Some(self.columns.get(column)?.0)).collect();
        let value_stats = wanted.iter().any(|column| file_stats::is_of(column));
        let entries = live::read(&self.state, &part.manifest, WantedFields { key_stats: false, value_stats }, context)?;
        let entries = entries.filter(&BooleanArray::from(lasting(&part.entries, entries.len())?))?;
        let read = live::read_context(&self.state, &entries)?;
        let stats = value_stats.then(|| file_stats::stats(&read, &entries)).transpose()?;
        let files = ListedFiles { state: &self.state, read: &read, entries: &entries, stats };
        wanted.iter().map(|column| files.column(column)).collect()
    }
}

impl VirtualTable for DataFiles {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn parts(&self, context: &Context) -> Result<Vec<Part>> {
        let Live { manifests, lasting, .. } = live::files(&self.state, context)?.with_bucket();
        let mut parts = Vec::new();
        for (manifest, range) in manifests {
            let lasting = lasting.slice(range.start, range.len());
            let entries: Vec<Range<usize>> = lasting.set_slices().map(|(start, end)| start..end).collect();
            if !entries.is_empty() {
                let part = serde_json::to_vec(&FilesPart { manifest, entries });
                parts.push(part.map_err(|error| Error::internal("a part cannot be serialized").caused_by(error))?);
            }
        }
        Ok(parts)
    }

    fn read(&self, part: &[u8], columns: &[usize], context: &Context) -> Result<PartBatches> {
        let other = || Error::invalid("the part belongs to another system table");
        let part: FilesPart = serde_json::from_slice(part).map_err(|error| other().caused_by(error))?;
        if !is_file_name(&part.manifest) {
            return Err(other().with("manifest", shown(&part.manifest)));
        }
        let arrays = self.batch_columns(&part, columns, context);
        let arrays = arrays.map_err(|error| error.with("file", path(&self.state, &part.manifest)))?;
        let schema: SchemaRef = Arc::new(self.schema.project(columns)?);
        let all: Vec<usize> = (0..arrays.len()).collect();
        let rows = part.entries.iter().map(ExactSizeIterator::len).sum();
        Ok(Box::new(std::iter::once(project(&schema, &arrays, &all, rows))))
    }
}

/// Returns the live entries of a manifest as bits.
fn lasting(ranges: &[Range<usize>], entries: usize) -> Result<BooleanBuffer> {
    let mut bits = BooleanBufferBuilder::new(entries);
    for range in ranges {
        if range.start < bits.len() || range.end < range.start || range.end > entries {
            return Err(Error::new(ErrorKind::CorruptManifest, "the manifest has changed since it was listed"));
        }
        bits.append_n(range.start - bits.len(), false);
        bits.append_n(range.len(), true);
    }
    bits.append_n(entries - bits.len(), false);
    Ok(bits.finish())
}

/// The files of a manifest.
struct ListedFiles<'a> {
    state: &'a InspectState,
    read: &'a ReadContext,
    entries: &'a ManifestEntries,
    stats: Option<DecodedStats>,
}

impl ListedFiles<'_> {
    fn column(&self, name: &str) -> Result<ArrayRef> {
        let entries = self.entries;
        Ok(match name {
            "partition" => self.partitions()?,
            "bucket" => Arc::new(entries.buckets().clone()),
            "file_path" => self.paths()?,
            "file_format" => self.formats(),
            "schema_id" => Arc::new(entries.schema_ids().clone()),
            "level" => Arc::new(entries.levels().clone()),
            "record_count" => Arc::new(entries.row_counts().clone()),
            "file_size_in_bytes" => Arc::new(entries.file_sizes().clone()),
            "min_key" => Arc::new(file_stats::keys(self.read, entries, entries.min_keys())?),
            "max_key" => Arc::new(file_stats::keys(self.read, entries, entries.max_keys())?),
            "min_sequence_number" => Arc::new(entries.min_sequence_numbers().clone()),
            "max_sequence_number" => Arc::new(entries.max_sequence_numbers().clone()),
            "creation_time" => Arc::new(entries.creation_times_ms().reinterpret_cast::<TimestampMillisecondType>()),
            "deleteRowCount" => Arc::new(entries.delete_row_counts().clone()),
            "file_source" => self.sources()?,
            "first_row_id" => Arc::new(entries.first_row_ids().clone()),
            "write_cols" => self.written_columns()?,
            _ => {
                let stats = self.stats.as_ref().and_then(|stats| stats.column(name));
                stats.ok_or_else(|| Error::internal(format!("unknown column `{name}` of files")))?
            }
        })
    }

    fn partitions(&self) -> Result<ArrayRef> {
        let partitions = Partitions::try_new(self.entries.partitions(), self.read)?;
        let texts = display::partitions(partitions.rows(), self.state)?;
        let of_entry = arrow_array::UInt32Array::from(partitions.of_entry().to_vec());
        Ok(arrow_select::take::take(&texts, &of_entry, None)?)
    }

    fn paths(&self) -> Result<ArrayRef> {
        let partitions = Partitions::try_new(self.entries.partitions(), self.read)?;
        let folders = (0..partitions.rows().len()).map(|partition| partitions.folder(self.read, partition));
        let folders = folders.collect::<Result<Vec<String>>>()?;
        let (names, external) = (self.entries.file_names(), self.entries.external_paths());
        let mut paths = StringBuilder::new();
        for (row, bucket) in self.entries.buckets().values().iter().enumerate() {
            if external.is_valid(row) {
                paths.append_value(external.value(row));
                continue;
            }
            let folder = folders.get(partitions.of(row)).map(String::as_str).unwrap_or_default();
            let folder = self.read.bucket_path(folder, *bucket)?;
            paths.append_value(format!("{}/{folder}/{}", self.read.table_location, names.value(row)));
        }
        Ok(Arc::new(paths.finish()))
    }

    fn formats(&self) -> ArrayRef {
        let format = |name: Option<&str>| {
            let mut parts = name.unwrap_or_default().rsplit('.');
            let last = parts.next().unwrap_or_default();
            let before = parts.next().filter(|_| COMPRESSIONS.contains(&last));
            before.unwrap_or(last).to_string()
        };
        Arc::new(StringArray::from_iter_values(self.entries.file_names().iter().map(format)))
    }

    fn sources(&self) -> Result<ArrayRef> {
        let source = |source: Option<i32>| match source {
            None => Ok(None),
            Some(0) => Ok(Some("APPEND")),
            Some(1) => Ok(Some("COMPACT")),
            Some(other) => Err(Error::new(ErrorKind::CorruptManifest, format!("invalid _FILE_SOURCE {other}"))),
        };
        Ok(Arc::new(self.entries.file_sources().iter().map(source).collect::<Result<StringArray>>()?))
    }

    fn written_columns(&self) -> Result<ArrayRef> {
        let DataType::List(item) = ViewKind::Texts.arrow() else {
            return Err(Error::internal("the type of column names is not a list"));
        };
        let lists = self.entries.write_cols();
        let (offsets, values) = (lists.offsets().clone(), lists.values().clone());
        Ok(Arc::new(ListArray::try_new(item, offsets, values, lists.nulls().cloned())?))
    }
}
