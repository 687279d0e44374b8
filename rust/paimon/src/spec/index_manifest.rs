//! Reads index manifests (spec: "Table Index"): all indexes of a snapshot, including deletion vectors. An index
//! manifest is complete; it does not depend on earlier ones.

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
use serde::{Deserialize, Serialize};

use super::file_name::check_file_names;
use super::json::shown;
use super::manifest::{ADD, DELETE};
use super::meta_file::{self, check_version, column, count, leaf, list, typed, value};

/// The only supported version.
pub(super) const VERSION: i32 = 1;

/// The type name of deletion vectors.
pub const DELETION_VECTORS: &str = "DELETION_VECTORS";

/// The type name of key hashes, which map keys to buckets (dynamic buckets).
pub const HASH: &str = "HASH";

/// One index file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// The kind: [`ADD`], or [`DELETE`] in files that list only changes.
    pub kind: i32,
    /// The partition as a row with its arity.
    pub partition: Vec<u8>,
    /// The bucket.
    pub bucket: i32,
    /// The type: [`HASH`], [`DELETION_VECTORS`] or the name of a global index.
    pub index_type: String,
    /// The name in the folder `index`, or in the configured index folder of the table.
    pub file_name: String,
    /// The length in bytes, never negative.
    pub file_size: i64,
    /// The number of vectors, hashes or rows, never negative.
    pub row_count: i64,
    /// The locations of the vectors of data files in the index file; empty for other indexes.
    pub deletion_ranges: Vec<DeletionRange>,
    /// The location, if it is not in the index folder.
    pub external_path: Option<String>,
    /// The rows and fields of a global index.
    pub global_index: Option<GlobalIndex>,
}

/// The location of the deletion vector of a data file in an index file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletionRange {
    /// The name of the data file.
    pub data_file: String,
    /// The offset of the vector in the index file, never negative.
    pub offset: i32,
    /// The recorded length, never negative. The bytes that it includes depend on the version of the vector.
    pub length: i32,
    /// The number of deleted rows, never negative; None in old releases.
    pub cardinality: Option<i64>,
}

/// The rows and fields of a global index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobalIndex {
    /// The first row id.
    pub row_range_start: i64,
    /// The last row id, inclusive.
    pub row_range_end: i64,
    /// The indexed field.
    pub field_id: i32,
    /// Further indexed fields.
    pub extra_field_ids: Option<Vec<i32>>,
    /// The metadata of the index itself.
    pub index_meta: Option<Vec<u8>>,
    /// The metadata of the source that the index was built from.
    pub source_meta: Option<Vec<u8>>,
}

/// Decodes an index manifest in Avro, ORC or Parquet.
///
/// # Errors
/// `CorruptManifest` for violations of the spec: NULL in required fields, unknown kinds, negative offsets, lengths and
/// counts, names that are paths, or a wrong number of deletion vectors; `Unsupported` for versions other than 1;
/// `LimitExceeded` and `Cancelled` by `context`.
pub fn read(bytes: Bytes, context: &Context) -> Result<Vec<IndexEntry>> {
    decode(bytes, context).map_err(|error| error.corrupt_as(ErrorKind::CorruptManifest))
}

fn decode(bytes: Bytes, context: &Context) -> Result<Vec<IndexEntry>> {
    let batch = meta_file::read(bytes, &projection(), context)?;
    check_version(&batch, VERSION)?;
    check_file_names(typed(&batch, "_FILE_NAME")?, "_FILE_NAME")?;
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
    let entry = IndexEntry {
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
    };
    check_ranges(&entry)?;
    Ok(entry)
}

/// Checks that the recorded number of deletion vectors matches the ranges, and that each range is within the file. A
/// lost vector would restore deleted rows.
fn check_ranges(entry: &IndexEntry) -> Result<()> {
    let contradiction = |what: String| Err(Error::corrupt(what).with("index file", &entry.file_name));
    let ranges = entry.deletion_ranges.len();
    if entry.index_type != DELETION_VECTORS {
        return match ranges {
            0 => Ok(()),
            _ => contradiction(format!("an index of type {} has deletion vectors", shown(&entry.index_type))),
        };
    }
    if i64::try_from(ranges) != Ok(entry.row_count) {
        return contradiction(format!("an index of {} deletion vectors has {ranges} ranges", entry.row_count));
    }
    let end = |range: &DeletionRange| i64::from(range.offset) + i64::from(range.length);
    match entry.deletion_ranges.iter().map(end).max() {
        Some(end) if end > entry.file_size => {
            contradiction(format!("a deletion vector ends at byte {end} in a file of {} bytes", entry.file_size))
        }
        _ => Ok(()),
    }
}

fn deletion_ranges(ranges: &ArrayRef) -> Result<Vec<DeletionRange>> {
    let ranges: &StructArray =
        ranges.as_struct_opt().ok_or_else(|| Error::internal("the ranges of deletion vectors are not structs"))?;
    if ranges.null_count() > 0 {
        return Err(Error::corrupt("the range of a deletion vector is NULL"));
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(ranges.fields().clone())), ranges.columns().to_vec())?;
    let range = |row| {
        let place = |name| match value::<Int32Array>(&batch, name, row)? {
            Some(place @ 0..) => Ok(place),
            other => Err(Error::corrupt(format!("invalid {name} {other:?} of a deletion vector"))),
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
    // The field id is required, so it is NULL only if the entire struct is NULL.
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

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::super::testing::{NO_FIELDS, avro, optional, record, required, with};
    use super::*;

    fn fields(with_cardinality: bool) -> Json {
        let mut range = vec![required("f0", "string"), required("f1", "int"), required("f2", "int")];
        if with_cardinality {
            range.push(optional("_CARDINALITY", "long"));
        }
        let range = record("record__DELETIONS_VECTORS_RANGES", &json!(range));
        let global = json!([
            required("_ROW_RANGE_START", "long"),
            required("_ROW_RANGE_END", "long"),
            required("_INDEX_FIELD_ID", "int"),
            optional("_EXTRA_FIELD_IDS", json!({"type": "array", "items": "int"})),
            optional("_INDEX_META", "bytes"),
        ]);
        json!([
            required("_VERSION", "int"),
            required("_KIND", "int"),
            required("_PARTITION", "bytes"),
            required("_BUCKET", "int"),
            required("_INDEX_TYPE", "string"),
            required("_FILE_NAME", "string"),
            required("_FILE_SIZE", "long"),
            required("_ROW_COUNT", "long"),
            optional("_DELETIONS_VECTORS_RANGES", json!({"type": "array", "items": ["null", range]})),
            optional("_GLOBAL_INDEX", record("record__GLOBAL_INDEX", &global)),
        ])
    }

    fn index() -> Json {
        json!({
            "_VERSION": 1, "_KIND": 0, "_PARTITION": NO_FIELDS, "_BUCKET": 3, "_INDEX_TYPE": DELETION_VECTORS,
            "_FILE_NAME": "index-1", "_FILE_SIZE": 63, "_ROW_COUNT": 2, "_GLOBAL_INDEX": null,
            "_DELETIONS_VECTORS_RANGES": [
                {"f0": "a.parquet", "f1": 1, "f2": 22, "_CARDINALITY": 5},
                {"f0": "b.parquet", "f1": 31, "f2": 24, "_CARDINALITY": null},
            ],
        })
    }

    fn range(data_file: &str, offset: i32, length: i32, cardinality: Option<i64>) -> DeletionRange {
        DeletionRange { data_file: data_file.into(), offset, length, cardinality }
    }

    fn entries(fields: &Json, records: &[Json]) -> Result<Vec<IndexEntry>> {
        read(avro(fields, records), &Context::default())
    }

    #[test]
    fn ranges_are_read_with_and_without_cardinality() {
        let entry = entries(&fields(true), &[index()]).unwrap().remove(0);
        let ranges = vec![range("a.parquet", 1, 22, Some(5)), range("b.parquet", 31, 24, None)];
        let expected = IndexEntry {
            kind: ADD,
            partition: NO_FIELDS.to_vec(),
            bucket: 3,
            index_type: DELETION_VECTORS.into(),
            file_name: "index-1".into(),
            file_size: 63,
            row_count: 2,
            deletion_ranges: ranges,
            external_path: None,
            global_index: None,
        };
        assert_eq!(entry, expected);
        let mut old = index();
        for range in old["_DELETIONS_VECTORS_RANGES"].as_array_mut().unwrap() {
            range.as_object_mut().unwrap().remove("_CARDINALITY");
        }
        let entry = entries(&fields(false), &[old]).unwrap().remove(0);
        let ranges = vec![range("a.parquet", 1, 22, None), range("b.parquet", 31, 24, None)];
        assert_eq!(entry, IndexEntry { deletion_ranges: ranges, ..expected });
    }

    #[test]
    fn other_indexes_have_no_ranges() {
        let hash = with(with(index(), "/_DELETIONS_VECTORS_RANGES", Json::Null), "/_INDEX_TYPE", HASH);
        let global = json!({
            "_ROW_RANGE_START": 0, "_ROW_RANGE_END": 9, "_INDEX_FIELD_ID": 2, "_EXTRA_FIELD_IDS": [3], "_INDEX_META": null,
        });
        let global = with(hash.clone(), "/_GLOBAL_INDEX", global);
        let entries = entries(&fields(true), &[hash, index(), global]).unwrap();
        assert_eq!((entries[0].index_type.as_str(), entries[0].deletion_ranges.len()), (HASH, 0));
        assert_eq!((entries[1].deletion_ranges.len(), &entries[1].global_index), (2, &None));
        let expected = GlobalIndex {
            row_range_start: 0,
            row_range_end: 9,
            field_id: 2,
            extra_field_ids: Some(vec![3]),
            index_meta: None,
            source_meta: None,
        };
        assert_eq!(entries[2].global_index, Some(expected));
    }

    #[test]
    fn invalid_index_manifest_entries_are_rejected() {
        let first = "/_DELETIONS_VECTORS_RANGES/0";
        for (path, value) in [
            ("/_KIND", json!(2)),
            ("/_FILE_SIZE", json!(-1)),
            ("/_ROW_COUNT", json!(-1)),
            ("/_FILE_NAME", json!("../index-1")),
            ("/_ROW_COUNT", json!(3)),
            ("/_FILE_SIZE", json!(54)),
            ("/_INDEX_TYPE", json!("DELETION_VECTOSS")),
            ("/_DELETIONS_VECTORS_RANGES", Json::Null),
            (&format!("{first}/f1"), json!(-1)),
            (&format!("{first}/f2"), json!(-1)),
            (&format!("{first}/_CARDINALITY"), json!(-1)),
            (first, Json::Null),
        ] {
            let error = entries(&fields(true), &[with(index(), path, value)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptManifest, "{path}");
        }
        let error = entries(&fields(true), &[with(index(), "/_VERSION", 2)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}
