//! Manifests (spec: "Manifests", "Manifest Entry Fields", "Sequence Number Inheritance", "First Row ID Inheritance").
//!
//! Entries are decoded to columns and stay columns: [`ManifestEntries`] is a typed view over a record batch with one row
//! for each live entry. Only what planning needs is decoded; statistics only for the columns of the filter.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::BooleanBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray,
};
use arrow_schema::{DataType, Schema as ArrowSchema};
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;
use frazil_core::avro::{AvroFile, Column, Key, Kind, Projection};
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::manifest_list::{ManifestContent, ManifestFile};

/// Entry status 1: the file was added by the manifest's snapshot.
const ADDED: i32 = 1;
/// Entry status 2: the file was deleted by the manifest's snapshot; it is not live.
const DELETED: i32 = 2;

/// The id of `file_path` in position delete files; its bounds say whether a delete file is for one data file alone.
pub const DELETE_FILE_PATH_ID: i32 = 2_147_483_546;

/// What a `data_file` is (field 134).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileContent {
    /// Rows of the table.
    Data,
    /// Positions of deleted rows, as a file or as a deletion vector.
    PositionDeletes,
    /// Key values of deleted rows.
    EqualityDeletes,
}

impl FileContent {
    /// The content of this code.
    pub fn from_code(code: i32) -> Option<Self> {
        match code {
            0 => Some(Self::Data),
            1 => Some(Self::PositionDeletes),
            2 => Some(Self::EqualityDeletes),
            _ => None,
        }
    }

    /// The code in manifests.
    pub fn code(self) -> i32 {
        match self {
            Self::Data => 0,
            Self::PositionDeletes => 1,
            Self::EqualityDeletes => 2,
        }
    }
}

/// The columns of [`ManifestEntries`], in order.
mod column {
    pub(super) const STATUS: usize = 0;
    pub(super) const SNAPSHOT_ID: usize = 1;
    pub(super) const SEQUENCE_NUMBER: usize = 2;
    pub(super) const FILE: usize = 3;
}

/// The columns of the struct `data_file`, in the order of [`projection`].
mod file {
    pub(super) const CONTENT: usize = 0;
    pub(super) const PATH: usize = 1;
    pub(super) const FORMAT: usize = 2;
    pub(super) const PARTITION: usize = 3;
    pub(super) const RECORD_COUNT: usize = 4;
    pub(super) const SIZE: usize = 5;
    pub(super) const SPLIT_OFFSETS: usize = 6;
    pub(super) const EQUALITY_IDS: usize = 7;
    pub(super) const FIRST_ROW_ID: usize = 8;
    pub(super) const REFERENCED: usize = 9;
    pub(super) const CONTENT_OFFSET: usize = 10;
    pub(super) const CONTENT_SIZE: usize = 11;
    pub(super) const VALUE_COUNTS: usize = 12;
    pub(super) const NULL_COUNTS: usize = 13;
    pub(super) const NAN_COUNTS: usize = 14;
    pub(super) const LOWER_BOUNDS: usize = 15;
    pub(super) const UPPER_BOUNDS: usize = 16;
}

/// The live entries of one manifest as columns: inheritance is resolved, deleted entries are gone.
#[derive(Debug, Clone)]
pub struct ManifestEntries {
    batch: RecordBatch,
    sequence_numbers: Int64Array,
    first_row_ids: Int64Array,
}

/// Counts and bounds of one column, one row for each entry; NULL where the entry does not say.
#[derive(Debug, Clone)]
pub struct EntryStatistics {
    /// 109: values, NULL and NaN included, but not where a struct around the column is NULL.
    pub value_counts: Int64Array,
    /// 110: NULL values among them.
    pub null_counts: Int64Array,
    /// 137: NaN values.
    pub nan_counts: Int64Array,
    /// 125: lower bounds, as bytes.
    pub lower_bounds: BinaryArray,
    /// 128: upper bounds, as bytes.
    pub upper_bounds: BinaryArray,
}

/// Decodes the live entries of a manifest, with statistics of `statistics_ids` only.
///
/// # Errors
/// `CorruptManifest` for what the spec does not allow: unknown status or content, EXISTING entries without sequence
/// numbers, negative counts, content that is not the manifest's.
pub fn read(
    bytes: Bytes,
    manifest: &ManifestFile,
    statistics_ids: &[i32],
    context: &Context,
) -> Result<ManifestEntries> {
    decode(bytes, manifest, statistics_ids, context).map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))
}

/// The partition spec id that a manifest says of itself: for v1 snapshots that name manifests without a list.
pub fn partition_spec_id(bytes: &Bytes) -> Result<i32> {
    let file = AvroFile::open(bytes.clone()).map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))?;
    let text = file.metadata("partition-spec-id").and_then(|text| std::str::from_utf8(text).ok());
    Ok(text.and_then(|text| text.parse().ok()).unwrap_or(0))
}

fn decode(bytes: Bytes, manifest: &ManifestFile, statistics_ids: &[i32], context: &Context) -> Result<ManifestEntries> {
    let file = AvroFile::open(bytes)?;
    let written_by_v1 = file.metadata("format-version").is_none_or(|version| version == b"1");
    let batch = file.read(&projection(statistics_ids), context)?;
    check_codes(&batch, manifest.content)?;
    let sequence_numbers = inherited_sequence_numbers(&batch, manifest, written_by_v1)?;
    let first_row_ids = inherited_first_row_ids(&batch, manifest.first_row_id)?;
    let status = int32(batch.column(column::STATUS))?;
    let entries = ManifestEntries { batch: batch.clone(), sequence_numbers, first_row_ids };
    if status.values().iter().all(|&status| status != DELETED) {
        return Ok(entries);
    }
    let mut live = BooleanBuilder::with_capacity(batch.num_rows());
    status.values().iter().for_each(|&status| live.append_value(status != DELETED));
    entries.filter(&live.finish())
}

fn projection(statistics_ids: &[i32]) -> Projection {
    let column = |id, name: &str, required, kind| Column { required, ..Column::new(Key::Id(id), name, kind) };
    let leaf = |id, name: &str, data_type, required| column(id, name, required, Kind::Leaf(data_type));
    let lookup = |id, name: &str, value| column(id, name, false, Kind::Lookup { keys: statistics_ids.to_vec(), value });
    let list = |id, name: &str, item| column(id, name, false, Kind::List(Box::new(Kind::Leaf(item))));
    let data_file = vec![
        leaf(134, "content", DataType::Int32, false),
        leaf(100, "file_path", DataType::Utf8, true),
        leaf(101, "file_format", DataType::Utf8, true),
        column(102, "partition", false, Kind::Natural),
        leaf(103, "record_count", DataType::Int64, true),
        leaf(104, "file_size_in_bytes", DataType::Int64, true),
        list(132, "split_offsets", DataType::Int64),
        list(135, "equality_ids", DataType::Int32),
        leaf(142, "first_row_id", DataType::Int64, false),
        leaf(143, "referenced_data_file", DataType::Utf8, false),
        leaf(144, "content_offset", DataType::Int64, false),
        leaf(145, "content_size_in_bytes", DataType::Int64, false),
        lookup(109, "value_counts", DataType::Int64),
        lookup(110, "null_value_counts", DataType::Int64),
        lookup(137, "nan_value_counts", DataType::Int64),
        lookup(125, "lower_bounds", DataType::Binary),
        lookup(128, "upper_bounds", DataType::Binary),
    ];
    Projection {
        fields: vec![
            leaf(0, "status", DataType::Int32, true),
            leaf(1, "snapshot_id", DataType::Int64, false),
            leaf(3, "sequence_number", DataType::Int64, false),
            column(2, "data_file", true, Kind::Struct(data_file)),
        ],
    }
}

/// Refuses codes that the spec does not know, and numbers that cannot be counts.
fn check_codes(batch: &RecordBatch, content: ManifestContent) -> Result<()> {
    let status = int32(batch.column(column::STATUS))?;
    if let Some(unknown) = status.values().iter().find(|status| !(0..=DELETED).contains(status)) {
        return Err(Error::corrupt(format!("manifest entry of status {unknown}")));
    }
    let data_file = struct_of(batch.column(column::FILE))?;
    let contents = int32(part(data_file, file::CONTENT)?)?;
    let allowed = match content {
        ManifestContent::Data => 0..=0,
        ManifestContent::Deletes => 1..=2,
    };
    if let Some(other) = contents.iter().map(Option::unwrap_or_default).find(|code| !allowed.contains(code)) {
        return Err(Error::corrupt(format!("a file of content {other} in a manifest of {content:?}")));
    }
    for (index, name) in [(file::RECORD_COUNT, "record_count"), (file::SIZE, "file_size_in_bytes")] {
        let counts = int64(part(data_file, index)?)?;
        if let Some(negative) = counts.values().iter().find(|&&count| count < 0) {
            return Err(Error::corrupt(format!("{name} is {negative}")));
        }
    }
    Ok(())
}

/// Added entries without a sequence number take the manifest's; entries of v1 have 0.
fn inherited_sequence_numbers(batch: &RecordBatch, manifest: &ManifestFile, written_by_v1: bool) -> Result<Int64Array> {
    let status = int32(batch.column(column::STATUS))?;
    let own = int64(batch.column(column::SEQUENCE_NUMBER))?;
    let resolve = |(status, own): (&i32, Option<i64>)| match own {
        Some(own) => Ok(own),
        None if *status == ADDED => Ok(manifest.sequence_number),
        None if written_by_v1 || *status == DELETED => Ok(0),
        None => Err(Error::corrupt("an entry that is not ADDED has no sequence number")),
    };
    status.values().iter().zip(own).map(resolve).collect::<Result<Vec<_>>>().map(Into::into)
}

/// Files without a first row id follow each other from the manifest's; entries that have one do not count.
fn inherited_first_row_ids(batch: &RecordBatch, manifest_first_row_id: Option<i64>) -> Result<Int64Array> {
    let data_file = struct_of(batch.column(column::FILE))?;
    let own = int64(part(data_file, file::FIRST_ROW_ID)?)?;
    let Some(mut next) = manifest_first_row_id else {
        return Ok(Int64Array::new_null(batch.num_rows()));
    };
    let status = int32(batch.column(column::STATUS))?;
    let counts = int64(part(data_file, file::RECORD_COUNT)?)?;
    let mut resolved = Vec::with_capacity(batch.num_rows());
    for ((own, &status), &count) in own.iter().zip(status.values()).zip(counts.values()) {
        if own.is_some() || status == DELETED {
            resolved.push(own);
        } else {
            resolved.push(Some(next));
            next = next.checked_add(count).ok_or_else(|| Error::corrupt("row ids overflow"))?;
        }
    }
    Ok(resolved.into())
}

impl ManifestEntries {
    /// How many entries.
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries at which `keep` is true.
    pub fn filter(&self, keep: &BooleanArray) -> Result<Self> {
        let numbers = |array: &Int64Array| -> Result<Int64Array> {
            Ok(arrow_select::filter::filter(array, keep)?.as_primitive::<Int64Type>().clone())
        };
        Ok(Self {
            batch: filter_record_batch(&self.batch, keep)?,
            sequence_numbers: numbers(&self.sequence_numbers)?,
            first_row_ids: numbers(&self.first_row_ids)?,
        })
    }

    /// Some of the entries, without a copy.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let (offset, length) = (range.start, range.len());
        Self {
            batch: self.batch.slice(offset, length),
            sequence_numbers: self.sequence_numbers.slice(offset, length),
            first_row_ids: self.first_row_ids.slice(offset, length),
        }
    }

    /// The same entries without their statistics.
    pub fn without_statistics(&self) -> Result<Self> {
        let data_file = struct_of(self.batch.column(column::FILE))?;
        let (fields, arrays, nulls) = data_file.clone().into_parts();
        let kept = file::VALUE_COUNTS;
        let fields = fields.iter().take(kept).cloned().collect::<Vec<_>>();
        let arrays = arrays.into_iter().take(kept).collect::<Vec<_>>();
        let data_file: ArrayRef = Arc::new(StructArray::try_new(fields.into(), arrays, nulls)?);
        let schema = self.batch.schema();
        let mut columns = self.batch.columns().to_vec();
        let mut fields = schema.fields().to_vec();
        if let (Some(column), Some(field)) = (columns.get_mut(column::FILE), fields.get_mut(column::FILE)) {
            *field = Arc::new(field.as_ref().clone().with_data_type(data_file.data_type().clone()));
            *column = data_file;
        }
        let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns)?;
        Ok(Self { batch, ..self.clone() })
    }

    /// The memory that the columns hold.
    pub fn size_bytes(&self) -> usize {
        self.batch.get_array_memory_size()
    }

    /// 3: data sequence numbers, never NULL.
    pub fn sequence_numbers(&self) -> &Int64Array {
        &self.sequence_numbers
    }

    /// 142: first row ids; NULL where the table had no lineage.
    pub fn first_row_ids(&self) -> &Int64Array {
        &self.first_row_ids
    }

    /// 1: the snapshots that added the entries, where recorded.
    pub fn snapshot_ids(&self) -> Result<&Int64Array> {
        int64(self.batch.column(column::SNAPSHOT_ID))
    }

    /// 0: status codes.
    pub fn status(&self) -> Result<&Int32Array> {
        int32(self.batch.column(column::STATUS))
    }

    /// 134: content codes; NULL means data.
    pub fn contents(&self) -> Result<&Int32Array> {
        int32(self.part(file::CONTENT)?)
    }

    /// 100: paths as recorded.
    pub fn paths(&self) -> Result<&StringArray> {
        self.part(file::PATH)?.as_string_opt().ok_or_else(|| mistyped("file_path"))
    }

    /// 101: format names as recorded, upper or lower case.
    pub fn formats(&self) -> Result<&StringArray> {
        self.part(file::FORMAT)?.as_string_opt().ok_or_else(|| mistyped("file_format"))
    }

    /// Where the format is this one.
    pub fn is_format(&self, name: &str) -> Result<BooleanArray> {
        Ok(self.formats()?.iter().map(|format| Some(format.is_some_and(|f| f.eq_ignore_ascii_case(name)))).collect())
    }

    /// 102: partition tuples with the partition field ids in the metadata of the Arrow fields; None where the writer
    /// recorded none.
    pub fn partitions(&self) -> Result<Option<&StructArray>> {
        Ok(self.part(file::PARTITION)?.as_struct_opt())
    }

    /// 103: how many rows, never negative.
    pub fn record_counts(&self) -> Result<&Int64Array> {
        int64(self.part(file::RECORD_COUNT)?)
    }

    /// 104: lengths in bytes, never negative.
    pub fn file_sizes(&self) -> Result<&Int64Array> {
        int64(self.part(file::SIZE)?)
    }

    /// 132: where the file can be split.
    pub fn split_offsets(&self) -> Result<&ListArray> {
        self.part(file::SPLIT_OFFSETS)?.as_list_opt().ok_or_else(|| mistyped("split_offsets"))
    }

    /// 135: the columns that identify deleted rows.
    pub fn equality_ids(&self) -> Result<&ListArray> {
        self.part(file::EQUALITY_IDS)?.as_list_opt().ok_or_else(|| mistyped("equality_ids"))
    }

    /// The columns of [`ManifestEntries::equality_ids`] of all entries, ascending.
    pub fn distinct_equality_ids(&self) -> Result<Vec<i32>> {
        let values = self.equality_ids()?.values();
        let values = values.as_primitive_opt::<Int32Type>().ok_or_else(|| mistyped("equality_ids"))?;
        let mut ids: Vec<i32> = values.iter().flatten().collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// 143: the data file that all deletes of a file are for.
    pub fn referenced_data_files(&self) -> Result<&StringArray> {
        self.part(file::REFERENCED)?.as_string_opt().ok_or_else(|| mistyped("referenced_data_file"))
    }

    /// 144: where a deletion vector begins.
    pub fn content_offsets(&self) -> Result<&Int64Array> {
        int64(self.part(file::CONTENT_OFFSET)?)
    }

    /// 145: how long a deletion vector is.
    pub fn content_sizes(&self) -> Result<&Int64Array> {
        int64(self.part(file::CONTENT_SIZE)?)
    }

    /// The statistics of a column, if they were asked for when reading.
    pub fn statistics(&self, field_id: i32) -> Result<Option<EntryStatistics>> {
        let name = field_id.to_string();
        let lookup = |index| -> Result<Option<&ArrayRef>> { Ok(struct_of(self.part(index)?)?.column_by_name(&name)) };
        let (Some(values), Some(nulls), Some(nans), Some(lower), Some(upper)) = (
            lookup(file::VALUE_COUNTS)?,
            lookup(file::NULL_COUNTS)?,
            lookup(file::NAN_COUNTS)?,
            lookup(file::LOWER_BOUNDS)?,
            lookup(file::UPPER_BOUNDS)?,
        ) else {
            return Ok(None);
        };
        let binary = |array: &ArrayRef| array.as_binary_opt::<i32>().cloned().ok_or_else(|| mistyped("bounds"));
        Ok(Some(EntryStatistics {
            value_counts: int64(values)?.clone(),
            null_counts: int64(nulls)?.clone(),
            nan_counts: int64(nans)?.clone(),
            lower_bounds: binary(lower)?,
            upper_bounds: binary(upper)?,
        }))
    }

    fn part(&self, index: usize) -> Result<&ArrayRef> {
        part(struct_of(self.batch.column(column::FILE))?, index)
    }
}

fn part(data_file: &StructArray, index: usize) -> Result<&ArrayRef> {
    data_file.columns().get(index).ok_or_else(|| Error::internal("a column of data_file was not projected"))
}

fn struct_of(array: &ArrayRef) -> Result<&StructArray> {
    array.as_struct_opt().ok_or_else(|| mistyped("data_file"))
}

fn int32(array: &ArrayRef) -> Result<&Int32Array> {
    array.as_primitive_opt::<Int32Type>().ok_or_else(|| mistyped("int"))
}

fn int64(array: &ArrayRef) -> Result<&Int64Array> {
    array.as_primitive_opt::<Int64Type>().ok_or_else(|| mistyped("long"))
}

fn mistyped(column: &str) -> Error {
    Error::internal("a manifest column has another type than was projected").with("column", column)
}
