//! Index manifests (spec: "Table Index"): all indexes of a snapshot, deletion vectors among them. One is complete in
//! itself; nothing precedes it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, Schema};
use bytes::Bytes;
use frazil_core::avro::{Column, Kind};
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::manifest::{ADD, DELETE};
use super::meta_file::{self, check_version, column, count, leaf, list, typed, value};

/// The only version that there is.
const VERSION: i32 = 1;

/// The type of deletion vectors.
pub const DELETION_VECTORS: &str = "DELETION_VECTORS";

/// The type of the hashes that say which bucket has a key (dynamic buckets).
pub const HASH: &str = "HASH";

/// One index file.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexEntry {
    /// [`ADD`], or [`DELETE`] in files that only list changes.
    pub kind: i32,
    /// The partition as a row with its arity.
    pub partition: Vec<u8>,
    /// The bucket.
    pub bucket: i32,
    /// What it is: [`HASH`], [`DELETION_VECTORS`] or the name of a global index.
    pub index_type: String,
    /// The name within the folder `index`, or wherever the table keeps its indexes.
    pub file_name: String,
    /// Its length in bytes, never negative.
    pub file_size: i64,
    /// How many vectors, hashes or rows it has, never negative.
    pub row_count: i64,
    /// Where the vectors of data files stand in it; empty for other indexes.
    pub deletion_ranges: Vec<DeletionRange>,
    /// Where it lies, when that is not where indexes lie.
    pub external_path: Option<String>,
    /// What a global index is of.
    pub global_index: Option<GlobalIndex>,
}

/// Where the deletion vector of a data file stands in an index file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletionRange {
    /// The name of the data file.
    pub data_file: String,
    /// Where the vector begins, never negative.
    pub offset: i32,
    /// How long it is by the count of its version, never negative.
    pub length: i32,
    /// How many rows are deleted, never negative; None in old releases.
    pub cardinality: Option<i64>,
}

/// What a global index is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalIndex {
    /// The first row id.
    pub row_range_start: i64,
    /// The last row id, included.
    pub row_range_end: i64,
    /// The field that is indexed.
    pub field_id: i32,
    /// Further fields.
    pub extra_field_ids: Option<Vec<i32>>,
    /// What the index says of itself.
    pub index_meta: Option<Vec<u8>>,
    /// What it was built of.
    pub source_meta: Option<Vec<u8>>,
}

/// Decodes an index manifest in Avro, ORC or Parquet.
///
/// # Errors
/// `CorruptManifest` for what the spec does not allow: NULL in required fields, unknown kinds, negative offsets, lengths
/// and counts; `Unsupported` for versions other than 1; `LimitExceeded` and `Cancelled` by `context`.
pub fn read(bytes: Bytes, context: &Context) -> Result<Vec<IndexEntry>> {
    decode(bytes, context).map_err(|error| error.corrupt_as(ErrorKind::CorruptManifest))
}

fn decode(bytes: Bytes, context: &Context) -> Result<Vec<IndexEntry>> {
    let batch = meta_file::read(bytes, &projection(), context)?;
    check_version(&batch, VERSION)?;
    (0..batch.num_rows()).map(|row| entry(&batch, row)).collect()
}

fn projection() -> Vec<Column> {
    let required = |name, data_type| leaf(name, data_type).required();
    let range = vec![
        required("f0", DataType::Utf8),
        required("f1", DataType::Int32),
        required("f2", DataType::Int32),
        leaf("_CARDINALITY", DataType::Int64),
    ];
    let global_index = vec![
        required("_ROW_RANGE_START", DataType::Int64),
        required("_ROW_RANGE_END", DataType::Int64),
        required("_INDEX_FIELD_ID", DataType::Int32),
        column("_EXTRA_FIELD_IDS", list(DataType::Int32)),
        leaf("_INDEX_META", DataType::Binary),
        leaf("_SOURCE_META", DataType::Binary),
    ];
    vec![
        required("_VERSION", DataType::Int32),
        required("_KIND", DataType::Int32),
        required("_PARTITION", DataType::Binary),
        required("_BUCKET", DataType::Int32),
        required("_INDEX_TYPE", DataType::Utf8),
        required("_FILE_NAME", DataType::Utf8),
        required("_FILE_SIZE", DataType::Int64),
        required("_ROW_COUNT", DataType::Int64),
        column("_DELETIONS_VECTORS_RANGES", Kind::List(Box::new(Kind::Struct(range)))),
        leaf("_EXTERNAL_PATH", DataType::Utf8),
        column("_GLOBAL_INDEX", Kind::Struct(global_index)),
    ]
}

fn entry(batch: &RecordBatch, row: usize) -> Result<IndexEntry> {
    let text = |name| value::<StringArray>(batch, name, row).map(|text| text.map(ToString::to_string));
    let int = |name| value::<Int32Array>(batch, name, row).map(Option::unwrap_or_default);
    let kind = int("_KIND")?;
    if kind != ADD && kind != DELETE {
        return Err(Error::corrupt(format!("_KIND is {kind}")));
    }
    let ranges: &ListArray = typed(batch, "_DELETIONS_VECTORS_RANGES")?;
    let ranges = ranges.is_valid(row).then(|| ranges.value(row));
    Ok(IndexEntry {
        kind,
        partition: value::<BinaryArray>(batch, "_PARTITION", row)?.unwrap_or_default().to_vec(),
        bucket: int("_BUCKET")?,
        index_type: text("_INDEX_TYPE")?.unwrap_or_default(),
        file_name: text("_FILE_NAME")?.unwrap_or_default(),
        file_size: count(batch, "_FILE_SIZE", row)?,
        row_count: count(batch, "_ROW_COUNT", row)?,
        deletion_ranges: ranges.as_ref().map(deletion_ranges).transpose()?.unwrap_or_default(),
        external_path: text("_EXTERNAL_PATH")?,
        global_index: global_index(batch, row)?,
    })
}

fn deletion_ranges(ranges: &ArrayRef) -> Result<Vec<DeletionRange>> {
    let ranges: &StructArray = ranges.as_struct_opt().ok_or_else(|| Error::internal("ranges that are no structs"))?;
    if ranges.null_count() > 0 {
        return Err(Error::corrupt("the range of a deletion vector is NULL"));
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(ranges.fields().clone())), ranges.columns().to_vec())?;
    let range = |row| {
        let place = |name| match value::<Int32Array>(&batch, name, row)? {
            Some(place @ 0..) => Ok(place),
            other => Err(Error::corrupt(format!("{name} of a deletion vector is {other:?}"))),
        };
        let cardinality = value::<Int64Array>(&batch, "_CARDINALITY", row)?;
        if cardinality.is_some_and(|rows| rows < 0) {
            return Err(Error::corrupt(format!("_CARDINALITY is {cardinality:?}")));
        }
        let data_file = value::<StringArray>(&batch, "f0", row)?.unwrap_or_default().to_string();
        Ok(DeletionRange { data_file, offset: place("f1")?, length: place("f2")?, cardinality })
    };
    (0..batch.num_rows()).map(range).collect()
}

fn global_index(batch: &RecordBatch, row: usize) -> Result<Option<GlobalIndex>> {
    // NULL only where all of the struct is.
    let Some(field_id) = value::<Int32Array>(batch, "_INDEX_FIELD_ID", row)? else { return Ok(None) };
    let long = |name| value::<Int64Array>(batch, name, row).map(Option::unwrap_or_default);
    let bytes = |name| value::<BinaryArray>(batch, name, row).map(|bytes| bytes.map(<[u8]>::to_vec));
    let extra = value::<ListArray>(batch, "_EXTRA_FIELD_IDS", row)?;
    let extra = extra.as_ref().and_then(|list| list.as_primitive_opt::<Int32Type>());
    if extra.is_some_and(|ids| ids.null_count() > 0) {
        return Err(Error::corrupt("a field id of a global index is NULL"));
    }
    Ok(Some(GlobalIndex {
        row_range_start: long("_ROW_RANGE_START")?,
        row_range_end: long("_ROW_RANGE_END")?,
        field_id,
        extra_field_ids: extra.map(|ids| ids.values().to_vec()),
        index_meta: bytes("_INDEX_META")?,
        source_meta: bytes("_SOURCE_META")?,
    }))
}
