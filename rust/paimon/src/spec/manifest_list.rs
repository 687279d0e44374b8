//! Reads manifest lists (spec: "Manifest List"): the manifests of a snapshot, in the order in which their entries
//! apply.

use arrow_array::{Array, BinaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_schema::DataType;
use bytes::Bytes;
use frazil_core::avro::Column;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::file_name::check_file_names;
use super::manifest::VERSION;
use super::meta_file::{self, check_version, leaf, longs, typed};
use super::stats::{self, SimpleStats};

/// One manifest of a snapshot. The summary of its entries is used for pruning; None if the release did not record it.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestFileMeta {
    /// The name in the folder `manifest`.
    pub file_name: String,
    /// The length in bytes, never negative.
    pub file_size: i64,
    /// The number of ADD entries, never negative.
    pub num_added_files: i64,
    /// The number of DELETE entries, never negative.
    pub num_deleted_files: i64,
    /// The bounds of the partitions of the entries, field by field.
    pub partition_stats: SimpleStats,
    /// The schema of the table when the manifest was written.
    pub schema_id: i64,
    /// The minimum bucket of the entries.
    pub min_bucket: Option<i32>,
    /// The maximum bucket.
    pub max_bucket: Option<i32>,
    /// The minimum level.
    pub min_level: Option<i32>,
    /// The maximum level.
    pub max_level: Option<i32>,
    /// The minimum row id (row tracking).
    pub min_row_id: Option<i64>,
    /// The maximum row id, inclusive.
    pub max_row_id: Option<i64>,
}

/// Decodes a manifest list in Avro, ORC or Parquet.
///
/// # Errors
/// `CorruptManifest` for violations of the spec: NULL in required fields, negative lengths and counts, names that are
/// paths, or a manifest listed twice; `Unsupported` for versions other than 2; `LimitExceeded` and `Cancelled` by
/// `context`.
pub fn read(bytes: Bytes, context: &Context) -> Result<Vec<ManifestFileMeta>> {
    decode(bytes, context).map_err(|error| error.corrupt_as(ErrorKind::CorruptManifest))
}

const STATS: [&str; 3] = ["_MIN_VALUES", "_MAX_VALUES", "_NULL_COUNTS"];

fn decode(bytes: Bytes, context: &Context) -> Result<Vec<ManifestFileMeta>> {
    let batch = meta_file::read(bytes, &projection(), context)?;
    check_version(&batch, VERSION)?;
    check_file_names(typed(&batch, "_FILE_NAME")?, "_FILE_NAME")?;
    let columns = ManifestListColumns::of(&batch)?;
    let manifests = (0..batch.num_rows()).map(|row| columns.manifest(row)).collect::<Result<Vec<_>>>()?;
    let mut names: Vec<&str> = manifests.iter().map(|manifest| manifest.file_name.as_str()).collect();
    names.sort_unstable();
    if let Some([twice, _]) = names.array_windows().find(|[a, b]| a == b) {
        return Err(Error::corrupt("the manifest list contains a manifest twice").with("manifest", twice));
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

/// The columns of a manifest list.
struct ManifestListColumns<'a> {
    file_names: &'a StringArray,
    /// The columns `_FILE_SIZE`, `_NUM_ADDED_FILES` and `_NUM_DELETED_FILES`.
    counts: [(&'static str, &'a Int64Array); 3],
    bounds: [&'a BinaryArray; 2],
    null_counts: &'a ListArray,
    schema_ids: &'a Int64Array,
    /// The columns of buckets and levels.
    ints: [&'a Int32Array; 4],
    row_ids: [&'a Int64Array; 2],
}

impl<'a> ManifestListColumns<'a> {
    fn of(batch: &'a RecordBatch) -> Result<Self> {
        let [min, max, null_counts] = STATS;
        let count = |name: &'static str| typed(batch, name).map(|counts| (name, counts));
        let int = |name| typed::<Int32Array>(batch, name);
        Ok(Self {
            file_names: typed(batch, "_FILE_NAME")?,
            counts: [count("_FILE_SIZE")?, count("_NUM_ADDED_FILES")?, count("_NUM_DELETED_FILES")?],
            bounds: [typed(batch, min)?, typed(batch, max)?],
            null_counts: typed(batch, null_counts)?,
            schema_ids: typed(batch, "_SCHEMA_ID")?,
            ints: [int("_MIN_BUCKET")?, int("_MAX_BUCKET")?, int("_MIN_LEVEL")?, int("_MAX_LEVEL")?],
            row_ids: [typed(batch, "_MIN_ROW_ID")?, typed(batch, "_MAX_ROW_ID")?],
        })
    }

    fn manifest(&self, row: usize) -> Result<ManifestFileMeta> {
        let count = |(name, counts): (&str, &Int64Array)| match counts.is_valid(row).then(|| counts.value(row)) {
            Some(count @ 0..) => Ok(count),
            other => Err(Error::corrupt(format!("invalid {name} {other:?}"))),
        };
        let [file_size, num_added_files, num_deleted_files] = self.counts.map(count);
        let int = |ints: &Int32Array| ints.is_valid(row).then(|| ints.value(row));
        let [min_bucket, max_bucket, min_level, max_level] = self.ints.map(int);
        let [min_row_id, max_row_id] = self.row_ids.map(|ids| ids.is_valid(row).then(|| ids.value(row)));
        let [min, max] = self.bounds.map(|bounds| bounds.value(row).to_vec());
        Ok(ManifestFileMeta {
            file_name: self.file_names.value(row).to_string(),
            file_size: file_size?,
            num_added_files: num_added_files?,
            num_deleted_files: num_deleted_files?,
            partition_stats: SimpleStats { min, max, null_counts: longs(self.null_counts, row) },
            schema_id: self.schema_ids.value(row),
            min_bucket,
            max_bucket,
            min_level,
            max_level,
            min_row_id,
            max_row_id,
        })
    }
}

#[cfg(test)]
mod tests {
    use frazil_core::error::Error;
    use serde_json::{Value as Json, json};

    use super::super::testing::{NO_FIELDS, avro, optional, required, stats, with};
    use super::*;

    fn fields(with_ranges: bool) -> Json {
        let mut fields = vec![
            required("_VERSION", "int"),
            required("_FILE_NAME", "string"),
            required("_FILE_SIZE", "long"),
            required("_NUM_ADDED_FILES", "long"),
            required("_NUM_DELETED_FILES", "long"),
            stats("_PARTITION_STATS"),
            required("_SCHEMA_ID", "long"),
        ];
        if with_ranges {
            let ints = ["_MIN_BUCKET", "_MAX_BUCKET", "_MIN_LEVEL", "_MAX_LEVEL"];
            fields.extend(ints.map(|name| optional(name, "int")));
            fields.extend(["_MIN_ROW_ID", "_MAX_ROW_ID", "_TOTAL_BUCKETS"].map(|name| optional(name, "long")));
        }
        json!(fields)
    }

    fn listed(name: &str) -> Json {
        json!({
            "_VERSION": 2, "_FILE_NAME": name, "_FILE_SIZE": 1, "_NUM_ADDED_FILES": 2, "_NUM_DELETED_FILES": 3,
            "_PARTITION_STATS": {"_MIN_VALUES": NO_FIELDS, "_MAX_VALUES": [9], "_NULL_COUNTS": [null, 7]},
            "_SCHEMA_ID": 4, "_MIN_BUCKET": 5, "_MAX_BUCKET": 6, "_MIN_LEVEL": null, "_MAX_LEVEL": 0, "_MIN_ROW_ID": 8,
            "_MAX_ROW_ID": 9, "_TOTAL_BUCKETS": 1,
        })
    }

    fn expected() -> ManifestFileMeta {
        ManifestFileMeta {
            file_name: "m".into(),
            file_size: 1,
            num_added_files: 2,
            num_deleted_files: 3,
            partition_stats: SimpleStats {
                min: NO_FIELDS.to_vec(),
                max: vec![9],
                null_counts: Some(vec![None, Some(7)]),
            },
            schema_id: 4,
            min_bucket: Some(5),
            max_bucket: Some(6),
            min_level: None,
            max_level: Some(0),
            min_row_id: Some(8),
            max_row_id: Some(9),
        }
    }

    fn list(fields: &Json, records: &[Json]) -> Result<Vec<ManifestFileMeta>> {
        read(avro(fields, records), &Context::default())
    }

    #[test]
    fn manifests_are_read_in_order_with_the_fields_of_their_release() {
        let read = list(&fields(true), &[listed("m"), listed("a")]).unwrap();
        assert_eq!(read[0], expected());
        assert_eq!(read[1].file_name, "a");
        let (min_bucket, max_bucket, max_level, min_row_id, max_row_id) = (None, None, None, None, None);
        let old = ManifestFileMeta { min_bucket, max_bucket, max_level, min_row_id, max_row_id, ..expected() };
        let mut record = listed("m");
        record
            .as_object_mut()
            .unwrap()
            .retain(|name, _| !name.contains("_BUCKET") && !name.contains("_LEVEL") && !name.contains("_ROW_ID"));
        assert_eq!(list(&fields(false), &[record]).unwrap(), [old]);
        assert!(list(&fields(true), &[]).unwrap().is_empty());
    }

    #[test]
    fn orc_is_read_like_avro() {
        let orc = Bytes::from_static(include_bytes!("../../testdata/manifest-list.orc"));
        let read = read(orc, &Context::default()).unwrap();
        assert_eq!(read.len(), 1);
        assert!(read[0].file_name.starts_with("manifest-") && read[0].file_size > 0 && read[0].num_added_files > 0);
        assert_eq!(read[0].partition_stats.min[..13], [&[0, 0, 0, 1], &[0; 8][..], b"a"].concat());
    }

    #[test]
    fn invalid_index_manifest_entries_are_rejected() {
        let kind = |records: &[Json]| list(&fields(true), records).map_err(|error: Error| error.kind()).unwrap_err();
        for name in ["_FILE_SIZE", "_NUM_ADDED_FILES", "_NUM_DELETED_FILES"] {
            assert_eq!(kind(&[with(listed("m"), &format!("/{name}"), -1)]), ErrorKind::CorruptManifest);
        }
        assert_eq!(kind(&[listed("m"), listed("m")]), ErrorKind::CorruptManifest);
        assert_eq!(kind(&[listed("m"), listed("../../m")]), ErrorKind::CorruptManifest);
        assert_eq!(kind(&[with(listed("m"), "/_VERSION", 1)]), ErrorKind::Unsupported);
    }
}
