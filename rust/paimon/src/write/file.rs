//! Determines how data files are written, and computes their manifest entries.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use bytes::Bytes;
use frazil_core::clock::now_ms;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::extremes::extremes;

use crate::binary_row::NO_FIELDS;
use crate::context::file_format::FileFormat;
use crate::file_index::{IndexBuilder, IndexOptions};
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::entries_builder::NewFile;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::DataType;

use super::format::{codec_of, format_of};
use super::stats::{StatsCollector, StatsSettings, row};
use super::upsert::Records;

/// The value of `_FILE_SOURCE` for files of an append.
const APPEND: i32 = 0;
const COMPACT: i32 = 1;

/// The suffix of index file names, after the name of their data file.
const INDEX_SUFFIX: &str = ".index";

const DEFAULT_TARGET_BYTES: u64 = 256 << 20;
const DEFAULT_KEYED_TARGET_BYTES: u64 = 128 << 20;
const DEFAULT_BLOCK_BYTES: u64 = 128 << 20;
const DEFAULT_STRIPE_BYTES: u64 = 64 << 20;
const DEFAULT_LEVEL: i64 = 1;

/// The encoding of the data files of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSpec {
    /// The file format.
    pub format: FileFormat,
    /// The codec, by the name that its writer uses.
    pub codec: &'static str,
    /// The compression level; None for codecs without levels and for default levels.
    pub level: Option<i64>,
    /// The length from which a file is closed.
    pub target_bytes: u64,
    /// The size of a row group or stripe in bytes of rows.
    pub block_bytes: u64,
}

impl FileSpec {
    /// Returns the encoding that the options of a table define, with Java's defaults. Files of primary-key tables are
    /// shorter, and each level may have its own format; `level` is None for append tables.
    ///
    /// # Errors
    /// `InvalidArgument` for an option that does not parse; `Unsupported` naming a format or codec that cannot be
    /// written.
    pub fn from_options(options: &Options, level: Option<i32>) -> Result<Self> {
        let target_bytes = if level.is_some() { DEFAULT_KEYED_TARGET_BYTES } else { DEFAULT_TARGET_BYTES };
        let format = format_of(options, level)?;
        let (codec, has_level) = codec_of(format, options, level)?;
        let codec_level = options.integer("file.compression.zstd-level")?.unwrap_or(DEFAULT_LEVEL);
        let (own, default) = match format {
            FileFormat::Orc => ("orc.stripe.size", DEFAULT_STRIPE_BYTES),
            FileFormat::Parquet | FileFormat::Avro => ("parquet.block.size", DEFAULT_BLOCK_BYTES),
        };
        let block_bytes = match options.size_bytes("file.block-size")? {
            Some(size) => Some(size),
            None => options.size_bytes(own)?,
        };
        Ok(Self {
            format,
            codec,
            level: has_level.then_some(codec_level),
            target_bytes: options.size_bytes("target-file-size")?.unwrap_or(target_bytes).max(1),
            block_bytes: block_bytes.unwrap_or(default).max(1),
        })
    }
}

/// The settings that the entries of a write share.
#[derive(Debug)]
pub struct EntrySettings {
    schema_id: i64,
    /// The offset of the local clock from UTC. Java records local times.
    utc_offset_ms: i64,
    values: Arc<StatsSettings>,
    keys: Arc<StatsSettings>,
    key_types: Vec<DataType>,
    indexes: Option<IndexOptions>,
}

impl EntrySettings {
    /// Returns the settings that the schema and the options of a table define.
    ///
    /// # Errors
    /// As for [`StatsSettings::try_new`] and [`IndexOptions::try_new`].
    pub fn try_new(schema: &TableSchema, options: &Options, utc_offset_ms: i64) -> Result<Self> {
        let keys = schema.trimmed_primary_keys().into_iter().filter_map(|key| schema.field(key));
        Ok(Self {
            schema_id: schema.id,
            utc_offset_ms,
            values: Arc::new(StatsSettings::try_new(schema, options)?),
            keys: Arc::new(StatsSettings::of_keys(schema)),
            key_types: keys.map(|field| field.data_type.clone()).collect(),
            indexes: IndexOptions::try_new(options, &schema.fields)?,
        })
    }
}

/// The builder of the manifest entry of one file.
#[derive(Debug)]
pub struct FileBuilder {
    settings: Arc<EntrySettings>,
    level: i32,
    source: i32,
    row_count: i64,
    delete_count: i64,
    /// The minimum and maximum sequence numbers.
    sequences: Option<(i64, i64)>,
    /// The first and the last keys.
    keys: Option<(Vec<u8>, Vec<u8>)>,
    key_stats: StatsCollector,
    value_stats: StatsCollector,
    index: Option<IndexBuilder>,
}

/// An index in a separate file next to the data file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFile {
    /// The name of the file.
    pub name: String,
    /// The content of the file.
    pub content: Bytes,
}

impl FileBuilder {
    /// Starts a file.
    pub fn new(settings: Arc<EntrySettings>) -> Self {
        Self {
            level: 0,
            source: APPEND,
            row_count: 0,
            delete_count: 0,
            sequences: None,
            keys: None,
            key_stats: StatsCollector::new(settings.keys.clone()),
            value_stats: StatsCollector::new(settings.values.clone()),
            index: settings.indexes.as_ref().map(IndexOptions::builder),
            settings,
        }
    }

    /// Returns this file at another level than 0.
    #[must_use]
    pub fn at_level(self, level: i32) -> Self {
        Self { level, ..self }
    }

    /// Starts a file of a compaction on this level.
    pub fn compacted(settings: Arc<EntrySettings>, level: i32) -> Self {
        Self { source: COMPACT, ..Self::new(settings).at_level(level) }
    }

    /// Adds rows of an append table. The first one has the sequence number `first`.
    ///
    /// # Errors
    /// `LimitExceeded` if the number of rows overflows.
    pub fn add(&mut self, rows: &RecordBatch, first: i64) -> Result<()> {
        self.count(rows.num_rows())?;
        if let Some(more) = rows.num_rows().checked_sub(1) {
            self.extend(first, first.saturating_add(i64::try_from(more).unwrap_or(i64::MAX)));
        }
        self.add_values(rows)
    }

    fn add_values(&mut self, rows: &RecordBatch) -> Result<()> {
        if let Some(index) = &mut self.index {
            index.add(rows)?;
        }
        self.value_stats.add(rows.columns())
    }

    /// Adds records of a primary-key table with their key columns. Records ascend by key.
    ///
    /// # Errors
    /// `LimitExceeded` if the number of rows overflows.
    pub(crate) fn add_records(&mut self, records: &Records, keys: &[ArrayRef]) -> Result<()> {
        self.count(records.values.num_rows())?;
        let deletes = i64::try_from(records.retracts()).unwrap_or(i64::MAX);
        self.delete_count = self.delete_count.saturating_add(deletes);
        let Some((least, greatest)) = extremes(&records.sequences) else { return Ok(()) };
        self.extend(least, greatest);
        let key_at = |at: usize| {
            let key: Vec<_> = keys.iter().map(|values| values.slice(at, 1)).collect();
            row(&key, &self.settings.key_types)
        };
        let last = key_at(records.values.num_rows().saturating_sub(1))?;
        self.keys = Some(match self.keys.take() {
            None => (key_at(0)?, last),
            Some((first, _)) => (first, last),
        });
        self.key_stats.add(keys)?;
        self.add_values(&records.values)
    }

    fn count(&mut self, rows: usize) -> Result<()> {
        let sum = i64::try_from(rows).ok().and_then(|rows| self.row_count.checked_add(rows));
        let too_many = || Error::new(ErrorKind::LimitExceeded, "a file has too many rows");
        self.row_count = sum.ok_or_else(too_many)?;
        Ok(())
    }

    fn extend(&mut self, least: i64, greatest: i64) {
        let (known_least, known_greatest) = self.sequences.unwrap_or((least, greatest));
        self.sequences = Some((known_least.min(least), known_greatest.max(greatest)));
    }

    /// Returns the completed file, and its index file if the index is too long for the manifest.
    ///
    /// # Errors
    /// As for [`StatsCollector::finish`] and [`IndexBuilder::finish`].
    pub fn finish(self, name: &str, size_bytes: i64) -> Result<(NewFile, Option<IndexFile>)> {
        let index = self.index.map(IndexBuilder::finish).transpose()?;
        let most_bytes = self.settings.indexes.as_ref().map_or(0, IndexOptions::in_manifest_bytes);
        let (embedded, beside): (Option<Bytes>, Option<Bytes>) = match index {
            Some(index) if u64::try_from(index.len()).unwrap_or(u64::MAX) > most_bytes => (None, Some(index)),
            index => (index, None),
        };
        let beside = beside.map(|content| IndexFile { name: format!("{name}{INDEX_SUFFIX}"), content });
        let (min_sequence_number, max_sequence_number) = self.sequences.unwrap_or((0, -1));
        let (value_stats, value_stats_cols) = self.value_stats.finish()?;
        let (key_stats, _) = self.key_stats.finish()?;
        let (min_key, max_key) = self.keys.unwrap_or((NO_FIELDS.to_vec(), NO_FIELDS.to_vec()));
        let meta = DataFileMeta {
            file_name: name.to_string(),
            file_size_bytes: size_bytes,
            row_count: self.row_count,
            min_key,
            max_key,
            min_sequence_number,
            max_sequence_number,
            schema_id: self.settings.schema_id,
            level: self.level,
            extra_files: beside.iter().map(|file| file.name.clone()).collect(),
            creation_time_ms: Some(now_ms().saturating_add(self.settings.utc_offset_ms)),
            delete_row_count: Some(self.delete_count),
            embedded_file_index: embedded.map(|index| index.to_vec()),
            file_source: Some(self.source),
            value_stats_cols,
            external_path: None,
            first_row_id: None,
            write_cols: None,
        };
        Ok((NewFile { meta, key_stats, value_stats }, beside))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Int32Array;
    use serde_json::json;

    use super::*;

    fn spec(options: &[(&str, &str)]) -> Result<FileSpec> {
        let options = options.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string()));
        FileSpec::from_options(&Options::new(options.collect()), None)
    }

    #[test]
    fn options_say_how_files_are_encoded() {
        let default = spec(&[]).unwrap();
        assert_eq!((default.format, default.codec, default.level), (FileFormat::Parquet, "zstd", Some(1)));
        assert_eq!((default.target_bytes, default.block_bytes), (256 << 20, 128 << 20));
        let given = spec(&[
            ("file.compression", "GZIP"),
            ("target-file-size", "1 mb"),
            ("parquet.block.size", "2mb"),
            ("file.compression.zstd-level", "3"),
        ]);
        let expected = FileSpec {
            format: FileFormat::Parquet,
            codec: "gzip",
            level: None,
            target_bytes: 1 << 20,
            block_bytes: 2 << 20,
        };
        assert_eq!(given.unwrap(), expected);
        assert_eq!(spec(&[("file.block-size", "1 kb"), ("parquet.block.size", "2mb")]).unwrap().block_bytes, 1 << 10);
        assert_eq!(spec(&[("file.compression.zstd-level", "9")]).unwrap().level, Some(9));
        let orc = spec(&[("file.format", "ORC"), ("file.compression.zstd-level", "5")]).unwrap();
        assert_eq!((orc.format, orc.codec, orc.level, orc.block_bytes), (FileFormat::Orc, "zstd", Some(5), 64 << 20));
        assert_eq!(spec(&[("file.compression", "lzo")]).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(spec(&[("target-file-size", "much")]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn sequence_numbers_continue_and_times_are_local() {
        let schema = json!({
            "version": 3, "id": 2, "highestFieldId": 0, "partitionKeys": [], "primaryKeys": [], "timeMillis": 1,
            "fields": [{"id": 0, "name": "k", "type": "INT"}], "options": {},
        });
        let schema = TableSchema::parse(schema.to_string().as_bytes()).unwrap();
        let settings = Arc::new(EntrySettings::try_new(&schema, &Options::default(), 3_600_000).unwrap());
        let rows = |count: i32| {
            let column: ArrayRef = Arc::new((0..count).collect::<Int32Array>());
            RecordBatch::try_from_iter([("k", column)]).unwrap()
        };
        let mut file = FileBuilder::new(settings);
        file.add(&rows(3), 10).unwrap();
        file.add(&rows(0), 13).unwrap();
        file.add(&rows(4), 13).unwrap();
        let before = now_ms();
        let (NewFile { meta, value_stats, key_stats }, index) = file.finish("f", 99).unwrap();
        assert_eq!(index, None);
        assert_eq!((meta.min_sequence_number, meta.max_sequence_number, meta.row_count), (10, 16, 7));
        assert_eq!((meta.schema_id, meta.file_size_bytes, meta.value_stats_cols), (2, 99, None));
        assert!(meta.creation_time_ms.unwrap() - before - 3_600_000 < 60_000);
        assert!(meta.creation_time_ms.unwrap() - before >= 3_600_000);
        assert_eq!(value_stats.null_counts, Some(vec![Some(0)]));
        assert_eq!((key_stats.min, key_stats.null_counts), (NO_FIELDS.to_vec(), Some(Vec::new())));
    }
}
