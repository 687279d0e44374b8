//! How data files of append tables are written, and what their manifest entries say.

use arrow_array::RecordBatch;
use frazil_core::clock::now_ms;
use frazil_core::error::{Error, ErrorKind, Result};

use crate::binary_row::NO_FIELDS;
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::entries_builder::NewFile;
use crate::spec::json::shown;
use crate::spec::options::Options;
use crate::spec::stats::SimpleStats;
use crate::write::stats::StatsCollector;

/// `_FILE_SOURCE` of files that an append wrote.
const APPEND: i32 = 0;

const DEFAULT_TARGET_BYTES: u64 = 256 << 20;
const DEFAULT_BLOCK_BYTES: u64 = 128 << 20;
const DEFAULT_LEVEL: i64 = 1;

/// Codecs of Parquet files by the names that the option `file.compression` has for them, and by those of pyarrow.
const CODECS: &[(&str, &str)] = &[
    ("zstd", "zstd"),
    ("snappy", "snappy"),
    ("gzip", "gzip"),
    ("brotli", "brotli"),
    ("lz4", "lz4"),
    ("lz4_raw", "lz4"),
    ("none", "none"),
    ("uncompressed", "none"),
];

/// How the data files of a write are encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSpec {
    /// The file format: `parquet`.
    pub format: &'static str,
    /// The codec, as pyarrow names it.
    pub codec: &'static str,
    /// The level of the codec; None for codecs without levels and for their defaults.
    pub level: Option<i64>,
    /// A file that reaches this length is ended.
    pub target_bytes: u64,
    /// Bytes of rows in a row group.
    pub block_bytes: u64,
}

impl FileSpec {
    /// Return how the options of a table say it, with the defaults of Java for append tables.
    ///
    /// # Errors
    /// `InvalidArgument` for an option that does not parse; `Unsupported` naming a codec that is not written.
    pub fn from_options(options: &Options) -> Result<Self> {
        let name = options.text("file.compression").unwrap_or("zstd").trim().to_ascii_lowercase();
        let Some((_, codec)) = CODECS.iter().find(|(known, _)| *known == name) else {
            let known: Vec<_> = CODECS.iter().map(|(known, _)| *known).collect();
            return Err(Error::unsupported(format!("writing files with the codec `{}`", shown(&name)))
                .with("option", "file.compression")
                .hint(format!("the codecs are {}", known.join(", "))));
        };
        let level = options.integer("file.compression.zstd-level")?.unwrap_or(DEFAULT_LEVEL);
        let block_bytes = match options.size_bytes("file.block-size")? {
            Some(size) => Some(size),
            None => options.size_bytes("parquet.block.size")?,
        };
        Ok(Self {
            format: "parquet",
            codec,
            level: (*codec == "zstd").then_some(level),
            target_bytes: options.size_bytes("target-file-size")?.unwrap_or(DEFAULT_TARGET_BYTES).max(1),
            block_bytes: block_bytes.unwrap_or(DEFAULT_BLOCK_BYTES).max(1),
        })
    }
}

/// Collects what the manifest entry of one file of an append table says.
#[derive(Debug)]
pub struct FileBuilder {
    schema_id: i64,
    first_sequence: i64,
    row_count: i64,
    stats: StatsCollector,
}

impl FileBuilder {
    /// Begin a file whose first row has this sequence number.
    pub fn new(schema_id: i64, first_sequence: i64, stats: StatsCollector) -> Self {
        Self { schema_id, first_sequence, row_count: 0, stats }
    }

    /// Take rows of the file.
    ///
    /// # Errors
    /// `LimitExceeded` where they are too many to be counted.
    pub fn add(&mut self, rows: &RecordBatch) -> Result<()> {
        let sum = i64::try_from(rows.num_rows()).ok().and_then(|rows| self.row_count.checked_add(rows));
        let sum = sum.filter(|sum| self.first_sequence.checked_add(*sum).is_some());
        let too_many = || Error::new(ErrorKind::LimitExceeded, "a file has too many rows to be counted");
        self.row_count = sum.ok_or_else(too_many)?;
        self.stats.add(rows)
    }

    /// The sequence number after that of the last row.
    pub fn next_sequence(&self) -> i64 {
        self.first_sequence.saturating_add(self.row_count)
    }

    /// Return the file, which is complete. The clock of the writer is ahead of UTC by `utc_offset_ms`: Java records
    /// local times.
    ///
    /// # Errors
    /// As [`StatsCollector::finish`].
    pub fn finish(self, name: &str, size_bytes: i64, utc_offset_ms: i64) -> Result<NewFile> {
        let max_sequence_number = self.next_sequence().saturating_sub(1);
        let (value_stats, value_stats_cols) = self.stats.finish()?;
        let no_keys = SimpleStats { min: NO_FIELDS.to_vec(), max: NO_FIELDS.to_vec(), null_counts: Some(Vec::new()) };
        let meta = DataFileMeta {
            file_name: name.to_string(),
            file_size_bytes: size_bytes,
            row_count: self.row_count,
            min_key: NO_FIELDS.to_vec(),
            max_key: NO_FIELDS.to_vec(),
            min_sequence_number: self.first_sequence,
            max_sequence_number,
            schema_id: self.schema_id,
            level: 0,
            extra_files: Vec::new(),
            creation_time_ms: Some(now_ms().saturating_add(utc_offset_ms)),
            delete_row_count: Some(0),
            embedded_file_index: None,
            file_source: Some(APPEND),
            value_stats_cols,
            external_path: None,
            first_row_id: None,
            write_cols: None,
        };
        Ok(NewFile { meta, key_stats: no_keys, value_stats })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array};
    use serde_json::json;

    use super::*;
    use crate::spec::schema::TableSchema;
    use crate::write::stats::StatsSettings;

    fn spec(options: &[(&str, &str)]) -> Result<FileSpec> {
        let options = options.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string()));
        FileSpec::from_options(&Options::new(options.collect()))
    }

    #[test]
    fn options_say_how_files_are_encoded() {
        let default = spec(&[]).unwrap();
        assert_eq!((default.format, default.codec, default.level), ("parquet", "zstd", Some(1)));
        assert_eq!((default.target_bytes, default.block_bytes), (256 << 20, 128 << 20));
        let given = spec(&[
            ("file.compression", "GZIP"),
            ("target-file-size", "1 mb"),
            ("parquet.block.size", "2mb"),
            ("file.compression.zstd-level", "3"),
        ]);
        let expected =
            FileSpec { format: "parquet", codec: "gzip", level: None, target_bytes: 1 << 20, block_bytes: 2 << 20 };
        assert_eq!(given.unwrap(), expected);
        assert_eq!(spec(&[("file.block-size", "1 kb"), ("parquet.block.size", "2mb")]).unwrap().block_bytes, 1 << 10);
        assert_eq!(spec(&[("file.compression.zstd-level", "9")]).unwrap().level, Some(9));
        assert_eq!(spec(&[("file.compression", "lzo")]).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(spec(&[("target-file-size", "much")]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn sequence_numbers_go_on_and_times_are_local() {
        let schema = json!({
            "version": 3, "id": 2, "highestFieldId": 0, "partitionKeys": [], "primaryKeys": [], "timeMillis": 1,
            "fields": [{"id": 0, "name": "k", "type": "INT"}], "options": {},
        });
        let schema = TableSchema::parse(schema.to_string().as_bytes()).unwrap();
        let settings = Arc::new(StatsSettings::try_new(&schema, &Options::default()).unwrap());
        let rows = |count: i32| {
            let column: ArrayRef = Arc::new((0..count).collect::<Int32Array>());
            RecordBatch::try_from_iter([("k", column)]).unwrap()
        };
        let mut file = FileBuilder::new(2, 10, StatsCollector::new(settings.clone()));
        file.add(&rows(3)).unwrap();
        file.add(&rows(4)).unwrap();
        assert_eq!(file.next_sequence(), 17);
        let before = now_ms();
        let NewFile { meta, value_stats, .. } = file.finish("f", 99, 3_600_000).unwrap();
        assert_eq!((meta.min_sequence_number, meta.max_sequence_number, meta.row_count), (10, 16, 7));
        assert_eq!((meta.schema_id, meta.file_size_bytes, meta.value_stats_cols), (2, 99, None));
        assert!(meta.creation_time_ms.unwrap() - before - 3_600_000 < 60_000);
        assert!(meta.creation_time_ms.unwrap() - before >= 3_600_000);
        assert_eq!(value_stats.null_counts, Some(vec![Some(0)]));
        assert!(FileBuilder::new(0, i64::MAX, StatsCollector::new(settings)).add(&rows(1)).is_err());
    }
}
