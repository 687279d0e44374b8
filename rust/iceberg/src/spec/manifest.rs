//! Reads manifests (spec: "Manifests", "Manifest Entry Fields", "Sequence Number Inheritance", "First Row ID
//! Inheritance").
//!
//! Entries are decoded to columns and stay columns: [`ManifestEntries`] is a typed view of a record batch with one row
//! per live entry. Only the fields that planning needs are decoded, and statistics only for the columns of the filter.

mod decode;

use std::collections::BTreeSet;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int32Array, Int64Array, ListArray, StringArray, StructArray,
};
use arrow_select::filter::FilterBuilder;
use frazil_core::error::{Error, Result};

pub(crate) use decode::{inherited_file_sequence_numbers, inherited_first_row_ids, inherited_sequence_numbers, is_v1};
pub use decode::{partition_spec_id, read};

/// Entry status 1: the file was added by the manifest's snapshot.
pub(crate) const ADDED: i32 = 1;
/// Entry status 2: the file was deleted by the manifest's snapshot; it is not live.
pub(crate) const DELETED: i32 = 2;

/// The field id of `file_path` in position delete files; its bounds show whether a delete file applies to a single data
/// file.
pub const DELETE_FILE_PATH_ID: i32 = 2_147_483_546;

/// The content of a `data_file` (field 134).
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
    /// Returns the content for this code.
    pub fn from_code(code: i32) -> Option<Self> {
        match code {
            0 => Some(Self::Data),
            1 => Some(Self::PositionDeletes),
            2 => Some(Self::EqualityDeletes),
            _ => None,
        }
    }

    /// Returns the code in manifests.
    pub fn code(self) -> i32 {
        match self {
            Self::Data => 0,
            Self::PositionDeletes => 1,
            Self::EqualityDeletes => 2,
        }
    }
}

/// The column numbers of [`ManifestEntries`], in the order of [`projection`].
mod column {
    pub(super) const STATUS: usize = 0;
    pub(super) const SNAPSHOT_ID: usize = 1;
    pub(super) const SEQUENCE_NUMBER: usize = 2;
    /// The fields of the struct `data_file` come next.
    pub(super) const CONTENT: usize = 3;
    pub(super) const PATH: usize = 4;
    pub(super) const FORMAT: usize = 5;
    pub(super) const PARTITION: usize = 6;
    pub(super) const RECORD_COUNT: usize = 7;
    pub(super) const SIZE: usize = 8;
    pub(super) const SPLIT_OFFSETS: usize = 9;
    pub(super) const EQUALITY_IDS: usize = 10;
    pub(super) const FIRST_ROW_ID: usize = 11;
    pub(super) const REFERENCED: usize = 12;
    pub(super) const CONTENT_OFFSET: usize = 13;
    pub(super) const CONTENT_SIZE: usize = 14;
    pub(super) const VALUE_COUNTS: usize = 15;
    pub(super) const NULL_COUNTS: usize = 16;
    pub(super) const NAN_COUNTS: usize = 17;
    pub(super) const LOWER_BOUNDS: usize = 18;
    pub(super) const UPPER_BOUNDS: usize = 19;
    pub(super) const COUNT: usize = 20;
}

/// The live entries of one manifest as columns: inheritance is resolved and deleted entries are removed.
#[derive(Debug, Clone)]
pub struct ManifestEntries {
    len: usize,
    /// The columns by their numbers in [`column`]; None if a column was not requested, is not kept, or is NULL in every
    /// entry.
    columns: [Option<ArrayRef>; column::COUNT],
}

/// The counts and bounds of one column, with one row per entry. A value is NULL if its entry does not record it; an
/// array is None if no entry records it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EntryStatistics {
    /// 109: the number of values, including NULL and NaN, but excluding rows in which a parent struct is NULL.
    pub value_counts: Option<Int64Array>,
    /// 110: the number of NULL values among them.
    pub null_counts: Option<Int64Array>,
    /// 137: the number of NaN values.
    pub nan_counts: Option<Int64Array>,
    /// 125: lower bounds, as bytes.
    pub lower_bounds: Option<BinaryArray>,
    /// 128: upper bounds, as bytes.
    pub upper_bounds: Option<BinaryArray>,
}

impl ManifestEntries {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the entries for which `keep` is true.
    pub fn filter(&self, keep: &BooleanArray) -> Result<Self> {
        let keep = FilterBuilder::new(keep).optimize().build();
        let mut kept = Self { len: keep.count(), columns: Default::default() };
        for (to, from) in kept.columns.iter_mut().zip(&self.columns) {
            *to = from.as_ref().map(|column| keep.filter(column)).transpose()?;
        }
        Ok(kept)
    }

    /// Returns a range of the entries, without copying.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let slice = |column: &Option<ArrayRef>| column.as_ref().map(|column| column.slice(range.start, range.len()));
        Self { len: range.len(), columns: self.columns.each_ref().map(slice) }
    }

    /// Returns the same entries without the columns that only planning needs: statistics, and the snapshots that added
    /// the entries.
    #[must_use]
    pub fn planned(&self) -> Self {
        let mut planned = self.clone();
        let origin = [column::STATUS, column::SNAPSHOT_ID, column::CONTENT];
        for number in origin.into_iter().chain(column::VALUE_COUNTS..column::COUNT) {
            planned.put(number, None);
        }
        planned
    }

    /// Returns the memory size of the columns in bytes.
    pub fn size_bytes(&self) -> usize {
        self.columns.iter().flatten().map(Array::get_array_memory_size).sum()
    }

    /// Returns field 3: data sequence numbers, never NULL.
    pub fn sequence_numbers(&self) -> Result<&Int64Array> {
        int64(self.column(column::SEQUENCE_NUMBER)?)
    }

    /// Returns field 142: first row ids; None if the table had no lineage.
    pub fn first_row_ids(&self) -> Result<Option<&Int64Array>> {
        self.known(column::FIRST_ROW_ID).map(int64).transpose()
    }

    /// Returns field 1: the snapshots that added the entries; None if not recorded.
    pub fn snapshot_ids(&self) -> Result<Option<&Int64Array>> {
        self.known(column::SNAPSHOT_ID).map(int64).transpose()
    }

    /// Returns field 0: status codes.
    pub fn status(&self) -> Result<&Int32Array> {
        int32(self.column(column::STATUS)?)
    }

    /// Returns field 134: content codes; None and NULL mean data.
    pub fn contents(&self) -> Result<Option<&Int32Array>> {
        self.known(column::CONTENT).map(int32).transpose()
    }

    /// Returns field 100: paths as recorded.
    pub fn paths(&self) -> Result<&StringArray> {
        self.column(column::PATH)?.as_string_opt().ok_or_else(|| mistyped("file_path"))
    }

    /// Returns field 101: format names as recorded, in upper or lower case.
    pub fn formats(&self) -> Result<&StringArray> {
        self.column(column::FORMAT)?.as_string_opt().ok_or_else(|| mistyped("file_format"))
    }

    /// Returns which files have this format.
    pub fn is_format(&self, name: &str) -> Result<BooleanArray> {
        Ok(self.formats()?.iter().map(|format| Some(format.is_some_and(|f| f.eq_ignore_ascii_case(name)))).collect())
    }

    /// Returns field 102: partition tuples, with the partition field ids in the metadata of the Arrow fields; None if
    /// the writer recorded none.
    pub fn partitions(&self) -> Result<Option<&StructArray>> {
        Ok(self.known(column::PARTITION).and_then(|column| column.as_struct_opt()))
    }

    /// Returns field 103: row counts, never negative.
    pub fn record_counts(&self) -> Result<&Int64Array> {
        int64(self.column(column::RECORD_COUNT)?)
    }

    /// Returns field 104: lengths in bytes, never negative.
    pub fn file_sizes(&self) -> Result<&Int64Array> {
        int64(self.column(column::SIZE)?)
    }

    /// Returns field 132: the offsets at which the files can be split; None if not recorded.
    pub fn split_offsets(&self) -> Result<Option<&ListArray>> {
        self.known(column::SPLIT_OFFSETS).map(|lists| list(lists, "split_offsets")).transpose()
    }

    /// Returns field 135: the columns that identify deleted rows; None if there are no equality deletes.
    pub fn equality_ids(&self) -> Result<Option<&ListArray>> {
        self.known(column::EQUALITY_IDS).map(|lists| list(lists, "equality_ids")).transpose()
    }

    /// Returns the distinct field ids in the [`ManifestEntries::equality_ids`] of all entries.
    pub fn distinct_equality_ids(&self) -> Result<BTreeSet<i32>> {
        let Some(lists) = self.equality_ids()? else { return Ok(BTreeSet::new()) };
        let values = lists.values().as_primitive_opt::<Int32Type>().ok_or_else(|| mistyped("equality_ids"))?;
        Ok(values.iter().flatten().collect())
    }

    /// Returns field 143: the data file to which all deletes of a file apply; None if not recorded.
    pub fn referenced_data_files(&self) -> Result<Option<&StringArray>> {
        let Some(paths) = self.known(column::REFERENCED) else { return Ok(None) };
        paths.as_string_opt().map(Some).ok_or_else(|| mistyped("referenced_data_file"))
    }

    /// Returns field 144: the offsets of deletion vectors; None if not recorded.
    pub fn content_offsets(&self) -> Result<Option<&Int64Array>> {
        self.known(column::CONTENT_OFFSET).map(int64).transpose()
    }

    /// Returns field 145: the lengths of deletion vectors; None if not recorded.
    pub fn content_sizes(&self) -> Result<Option<&Int64Array>> {
        self.known(column::CONTENT_SIZE).map(int64).transpose()
    }

    /// Returns the statistics of a column, if they were requested when reading.
    pub fn statistics(&self, field_id: i32) -> Result<Option<EntryStatistics>> {
        let name = field_id.to_string();
        let counts = |number| self.lookup(number, &name)?.map(int64).transpose().map(Option::<&_>::cloned);
        let binary = |array: &ArrayRef| array.as_binary_opt::<i32>().cloned().ok_or_else(|| mistyped("bounds"));
        let bounds = |number| self.lookup(number, &name)?.map(binary).transpose();
        let statistics = EntryStatistics {
            value_counts: counts(column::VALUE_COUNTS)?,
            null_counts: counts(column::NULL_COUNTS)?,
            nan_counts: counts(column::NAN_COUNTS)?,
            lower_bounds: bounds(column::LOWER_BOUNDS)?,
            upper_bounds: bounds(column::UPPER_BOUNDS)?,
        };
        Ok(Some(statistics).filter(|statistics| *statistics != EntryStatistics::default()))
    }

    /// Returns the values of one key of a statistics map; None if no entry has it.
    fn lookup(&self, number: usize, name: &str) -> Result<Option<&ArrayRef>> {
        let Some(maps) = self.known(number) else { return Ok(None) };
        let maps = maps.as_struct_opt().ok_or_else(|| mistyped("statistics"))?;
        Ok(maps.column_by_name(name).filter(|values| values.null_count() < values.len()))
    }

    fn put(&mut self, number: usize, values: Option<ArrayRef>) {
        if let Some(slot) = self.columns.get_mut(number) {
            *slot = values;
        }
    }

    fn known(&self, number: usize) -> Option<&ArrayRef> {
        self.columns.get(number)?.as_ref()
    }

    fn column(&self, number: usize) -> Result<&ArrayRef> {
        self.known(number).ok_or_else(|| Error::internal("a manifest column was not kept").with("column", number))
    }
}

fn list<'a>(array: &'a ArrayRef, name: &str) -> Result<&'a ListArray> {
    array.as_list_opt().ok_or_else(|| mistyped(name))
}

fn int32(array: &ArrayRef) -> Result<&Int32Array> {
    array.as_primitive_opt::<Int32Type>().ok_or_else(|| mistyped("int"))
}

fn int64(array: &ArrayRef) -> Result<&Int64Array> {
    array.as_primitive_opt::<Int64Type>().ok_or_else(|| mistyped("long"))
}

fn mistyped(column: &str) -> Error {
    Error::internal("a manifest column does not have the projected type").with("column", column)
}
