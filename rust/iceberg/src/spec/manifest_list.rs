//! Reads manifest lists (spec: "Manifest Lists"): one record per manifest of a snapshot.
//!
//! Fields are found by id, because writers have used different names (`added_data_files_count` was
//! `added_files_count`).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::DataType;
use bytes::Bytes;
use frazil_core::avro::{AvroFile, Column, Key, Kind, Projection};
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

/// The maximum length of manifests and manifest lists that are read.
pub(crate) const MANIFEST_LIMIT_BYTES: u64 = 2 << 30;

/// The content of the files of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ManifestContent {
    /// Data files.
    Data,
    /// Position deletes, deletion vectors and equality deletes.
    Deletes,
}

/// One manifest of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestFile {
    /// 500: the location, as recorded.
    pub manifest_path: Arc<str>,
    /// 501: the length in bytes, as recorded.
    pub manifest_length: i64,
    /// 502: the spec of all its entries.
    pub partition_spec_id: i32,
    /// 517: the content of its files; missing in v1, where all files are data files.
    pub content: ManifestContent,
    /// 515: the sequence number that added entries inherit; 0 in v1.
    pub sequence_number: i64,
    /// 516: the lowest data sequence number of its live files; 0 in v1.
    pub min_sequence_number: i64,
    /// 503: the snapshot that added it.
    pub added_snapshot_id: Option<i64>,
    /// 504, 505: the number of added and existing files; advisory, None if not recorded.
    pub live_files_count: Option<i64>,
    /// 506: the number of deleted files; advisory, None if not recorded.
    pub deleted_files_count: Option<i64>,
    /// 512, 513: the number of rows in the live files; advisory, None if not recorded.
    pub live_rows_count: Option<i64>,
    /// 507: one summary for each field of the partition spec; None if not recorded.
    pub partitions: Option<Vec<FieldSummary>>,
    /// 520: the first row id for files that do not record one. None if the manifest predates row lineage in the table;
    /// its files then have no row ids.
    pub first_row_id: Option<i64>,
}

/// The summary of one partition field over all files of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldSummary {
    /// 509: whether any value is NULL.
    pub contains_null: bool,
    /// 518: whether any value is NaN.
    pub contains_nan: Option<bool>,
    /// 510: a lower bound of all values except NULL and NaN (single-value serialization).
    pub lower_bound: Option<Bytes>,
    /// 511: an upper bound of all values except NULL and NaN (single-value serialization).
    pub upper_bound: Option<Bytes>,
}

impl ManifestFile {
    /// Returns a manifest that a v1 snapshot references inline, without a manifest list: only its path is known.
    pub fn inline(path: &str) -> Self {
        Self {
            manifest_path: path.into(),
            manifest_length: 0,
            partition_spec_id: -1,
            content: ManifestContent::Data,
            sequence_number: 0,
            min_sequence_number: 0,
            added_snapshot_id: None,
            live_files_count: None,
            deleted_files_count: None,
            live_rows_count: None,
            partitions: None,
            first_row_id: None,
        }
    }
}

/// Decodes a manifest list.
///
/// # Errors
/// `CorruptManifest` for any violation of the spec, including a manifest that is listed twice.
pub fn read(bytes: Bytes, context: &Context) -> Result<Vec<ManifestFile>> {
    decode(bytes, context).map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))
}

/// Returns the manifests in rows of a list that was decoded with all its fields
/// ([`read_list`](super::manifest_rows::read_list)).
///
/// # Errors
/// See [`read`].
pub fn of_rows(rows: &RecordBatch) -> Result<Vec<ManifestFile>> {
    manifests(rows).map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))
}

fn decode(bytes: Bytes, context: &Context) -> Result<Vec<ManifestFile>> {
    manifests(&AvroFile::open(bytes)?.read(&projection(), context)?)
}

fn manifests(rows: &RecordBatch) -> Result<Vec<ManifestFile>> {
    let columns = Columns(rows);
    let manifests = (0..rows.num_rows()).map(|row| columns.manifest(row)).collect::<Result<Vec<_>>>()?;
    let mut paths: Vec<&str> = manifests.iter().map(|m| &*m.manifest_path).collect();
    paths.sort_unstable();
    if let Some([twice, _]) = paths.array_windows().find(|[a, b]| a == b) {
        return Err(Error::corrupt("the manifest list references a manifest twice").with("manifest", twice));
    }
    Ok(manifests)
}

fn projection() -> Projection {
    let leaf = |id, name: &str, data_type, required| Column {
        required,
        ..Column::new(Key::Id(id), name, Kind::Leaf(data_type))
    };
    let summary = vec![
        leaf(509, "contains_null", DataType::Boolean, true),
        leaf(518, "contains_nan", DataType::Boolean, false),
        leaf(510, "lower_bound", DataType::Binary, false),
        leaf(511, "upper_bound", DataType::Binary, false),
    ];
    Projection {
        fields: vec![
            leaf(500, "manifest_path", DataType::Utf8, true),
            leaf(501, "manifest_length", DataType::Int64, true),
            leaf(502, "partition_spec_id", DataType::Int32, true),
            leaf(517, "content", DataType::Int32, false),
            leaf(515, "sequence_number", DataType::Int64, false),
            leaf(516, "min_sequence_number", DataType::Int64, false),
            leaf(503, "added_snapshot_id", DataType::Int64, false),
            leaf(504, "added_files_count", DataType::Int64, false),
            leaf(505, "existing_files_count", DataType::Int64, false),
            leaf(506, "deleted_files_count", DataType::Int64, false),
            leaf(512, "added_rows_count", DataType::Int64, false),
            leaf(513, "existing_rows_count", DataType::Int64, false),
            Column::new(Key::Id(507), "partitions", Kind::List(Box::new(Kind::Struct(summary)))),
            leaf(520, "first_row_id", DataType::Int64, false),
        ],
    }
}

/// The columns of a decoded manifest list.
struct Columns<'a>(&'a RecordBatch);

impl Columns<'_> {
    fn column(&self, name: &str) -> Result<&dyn Array> {
        let column = self.0.column_by_name(name).map(AsRef::as_ref);
        column.ok_or_else(|| Error::internal("a column was not projected").with("column", name))
    }

    /// Returns an integer column as `long`: rows with all fields store file counts as `int`.
    fn long(&self, name: &str, row: usize) -> Result<Option<i64>> {
        let column = self.column(name)?;
        let long = column.as_primitive_opt::<Int64Type>().map(|longs| longs.value(row));
        let int = || column.as_primitive_opt::<Int32Type>().map(|ints| i64::from(ints.value(row)));
        let number = long.or_else(int).ok_or_else(|| Error::internal("not an integer").with("column", name))?;
        Ok(column.is_valid(row).then_some(number))
    }

    fn int(&self, name: &str, row: usize) -> Result<Option<i32>> {
        let column = self.column(name)?.as_primitive_opt::<Int32Type>();
        let column = column.ok_or_else(|| Error::internal("not an int").with("column", name))?;
        Ok(column.is_valid(row).then(|| column.value(row)))
    }

    fn manifest(&self, row: usize) -> Result<ManifestFile> {
        for name in ["manifest_path", "manifest_length", "partition_spec_id"] {
            if self.column(name)?.is_null(row) {
                return Err(Error::corrupt(format!("the manifest list does not record the {name} of a manifest")));
            }
        }
        let path = self.column("manifest_path")?.as_string_opt::<i32>();
        let path = path.ok_or_else(|| Error::internal("not a string").with("column", "manifest_path"))?.value(row);
        let content = match self.int("content", row)?.unwrap_or(0) {
            0 => ManifestContent::Data,
            1 => ManifestContent::Deletes,
            other => return Err(Error::corrupt(format!("invalid manifest content {other}")).with("manifest", path)),
        };
        let sum = |a: &str, b: &str| -> Result<Option<i64>> {
            Ok(self.long(a, row)?.zip(self.long(b, row)?).and_then(|(a, b)| a.checked_add(b)).filter(|&n| n >= 0))
        };
        Ok(ManifestFile {
            manifest_path: path.into(),
            manifest_length: self.long("manifest_length", row)?.unwrap_or(0),
            partition_spec_id: self.int("partition_spec_id", row)?.unwrap_or(0),
            content,
            sequence_number: self.long("sequence_number", row)?.unwrap_or(0),
            min_sequence_number: self.long("min_sequence_number", row)?.unwrap_or(0),
            added_snapshot_id: self.long("added_snapshot_id", row)?,
            live_files_count: sum("added_files_count", "existing_files_count")?,
            deleted_files_count: self.long("deleted_files_count", row)?,
            live_rows_count: sum("added_rows_count", "existing_rows_count")?,
            partitions: self.summaries(row)?,
            first_row_id: self.long("first_row_id", row)?,
        })
    }

    fn summaries(&self, row: usize) -> Result<Option<Vec<FieldSummary>>> {
        let Some(list) = self.column("partitions")?.as_list_opt::<i32>().filter(|list| list.is_valid(row)) else {
            return Ok(None);
        };
        let values = list.value(row);
        let values =
            values.as_struct_opt().ok_or_else(|| Error::internal("not a struct").with("column", "partitions"))?;
        (0..values.len()).map(|i| summary(values, i)).collect::<Result<_>>().map(Some)
    }
}

fn summary(values: &StructArray, i: usize) -> Result<FieldSummary> {
    let missing = |name| Error::internal("a column was not projected").with("column", name);
    let flag = |name| -> Result<Option<bool>> {
        let column = values.column_by_name(name).and_then(|c| c.as_boolean_opt()).ok_or_else(|| missing(name))?;
        Ok(column.is_valid(i).then(|| column.value(i)))
    };
    let bytes = |name| -> Result<Option<Bytes>> {
        let column = values.column_by_name(name).and_then(|c| c.as_binary_opt::<i32>()).ok_or_else(|| missing(name))?;
        Ok(column.is_valid(i).then(|| Bytes::copy_from_slice(column.value(i))))
    };
    Ok(FieldSummary {
        contains_null: flag("contains_null")?.unwrap_or(true),
        contains_nan: flag("contains_nan")?,
        lower_bound: bytes("lower_bound")?,
        upper_bound: bytes("upper_bound")?,
    })
}
