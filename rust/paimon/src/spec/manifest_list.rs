//! Manifest lists (spec: "Manifest List"): the manifests of a snapshot, in the order in which their entries count.

use arrow_array::{BinaryArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use bytes::Bytes;
use frazil_core::avro::Column;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::manifest::VERSION;
use super::meta_file::{self, check_version, count, leaf, longs, typed, value};
use super::stats::{self, SimpleStats};

/// One manifest of a snapshot. What it says of its entries is for skipping; None where its release did not say.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestFileMeta {
    /// The name within the folder `manifest`.
    pub file_name: String,
    /// Its length in bytes, never negative.
    pub file_size: i64,
    /// How many ADD entries it has, never negative.
    pub num_added_files: i64,
    /// How many DELETE entries it has, never negative.
    pub num_deleted_files: i64,
    /// Bounds of the partitions of its entries, field by field.
    pub partition_stats: SimpleStats,
    /// The schema of the table when it was written.
    pub schema_id: i64,
    /// The smallest bucket of its entries.
    pub min_bucket: Option<i32>,
    /// The greatest bucket.
    pub max_bucket: Option<i32>,
    /// The lowest level.
    pub min_level: Option<i32>,
    /// The highest level.
    pub max_level: Option<i32>,
    /// The smallest row id (row tracking).
    pub min_row_id: Option<i64>,
    /// The greatest row id, included.
    pub max_row_id: Option<i64>,
}

/// Decodes a manifest list in Avro, ORC or Parquet.
///
/// # Errors
/// `CorruptManifest` for what the spec does not allow: NULL in required fields, negative lengths and counts, a manifest
/// listed twice; `Unsupported` for versions other than 2; `LimitExceeded` and `Cancelled` by `context`.
pub fn read(bytes: Bytes, context: &Context) -> Result<Vec<ManifestFileMeta>> {
    decode(bytes, context).map_err(|error| error.corrupt_as(ErrorKind::CorruptManifest))
}

const STATS: [&str; 3] = ["_MIN_VALUES", "_MAX_VALUES", "_NULL_COUNTS"];

fn decode(bytes: Bytes, context: &Context) -> Result<Vec<ManifestFileMeta>> {
    let batch = meta_file::read(bytes, &projection(), context)?;
    check_version(&batch, VERSION)?;
    let manifests = (0..batch.num_rows()).map(|row| manifest(&batch, row)).collect::<Result<Vec<_>>>()?;
    let mut names: Vec<&str> = manifests.iter().map(|manifest| manifest.file_name.as_str()).collect();
    names.sort_unstable();
    if let Some([twice, _]) = names.array_windows().find(|[a, b]| a == b) {
        return Err(Error::corrupt("the manifest list names a manifest twice").with("manifest", twice));
    }
    Ok(manifests)
}

fn projection() -> Vec<Column> {
    let required = |name, data_type| leaf(name, data_type).required();
    vec![
        required("_VERSION", DataType::Int32),
        required("_FILE_NAME", DataType::Utf8),
        required("_FILE_SIZE", DataType::Int64),
        required("_NUM_ADDED_FILES", DataType::Int64),
        required("_NUM_DELETED_FILES", DataType::Int64),
        stats::column("_PARTITION_STATS", STATS),
        required("_SCHEMA_ID", DataType::Int64),
        leaf("_MIN_BUCKET", DataType::Int32),
        leaf("_MAX_BUCKET", DataType::Int32),
        leaf("_MIN_LEVEL", DataType::Int32),
        leaf("_MAX_LEVEL", DataType::Int32),
        leaf("_MIN_ROW_ID", DataType::Int64),
        leaf("_MAX_ROW_ID", DataType::Int64),
    ]
}

fn manifest(batch: &RecordBatch, row: usize) -> Result<ManifestFileMeta> {
    let int = |name| value::<Int32Array>(batch, name, row);
    let long = |name| value::<Int64Array>(batch, name, row);
    let bytes = |name| value::<BinaryArray>(batch, name, row).map(|bytes| bytes.unwrap_or_default().to_vec());
    let [min, max, null_counts] = STATS;
    Ok(ManifestFileMeta {
        file_name: value::<StringArray>(batch, "_FILE_NAME", row)?.unwrap_or_default().to_string(),
        file_size: count(batch, "_FILE_SIZE", row)?,
        num_added_files: count(batch, "_NUM_ADDED_FILES", row)?,
        num_deleted_files: count(batch, "_NUM_DELETED_FILES", row)?,
        partition_stats: SimpleStats {
            min: bytes(min)?,
            max: bytes(max)?,
            null_counts: longs(typed(batch, null_counts)?, row),
        },
        schema_id: long("_SCHEMA_ID")?.unwrap_or_default(),
        min_bucket: int("_MIN_BUCKET")?,
        max_bucket: int("_MAX_BUCKET")?,
        min_level: int("_MIN_LEVEL")?,
        max_level: int("_MAX_LEVEL")?,
        min_row_id: long("_MIN_ROW_ID")?,
        max_row_id: long("_MAX_ROW_ID")?,
    })
}
