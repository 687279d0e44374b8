//! Reads manifests (spec: "Manifest"), which list added and deleted data files.
//!
//! Entries are decoded to columns and remain columns: [`ManifestEntries`] is a typed view of a record batch with one
//! row for each entry. Base manifests of a snapshot precede delta manifests; [`ManifestEntries::live`] then returns the
//! files of the snapshot.

mod decode;
mod fold;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    UInt32Array, new_empty_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, FieldRef};
use arrow_select::concat::concat;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::{TakeOptions, take_arrays};
use frazil_core::error::{Error, Result};

use super::data_file_meta::DataFileMeta;
use super::meta_file::{texts, typed};
use super::stats::Stats;

pub(crate) use decode::can_rewrite;
pub(super) use decode::{KEY_STATS, VALUE_STATS, schema};
pub use decode::{VERSION, WantedFields, read};
pub(crate) use fold::FileSet;

/// The kind of an entry whose file was added.
pub const ADD: i32 = 0;
/// The kind of an entry whose file was deleted.
pub const DELETE: i32 = 1;

/// Entries as columns; cheap to clone.
#[derive(Debug, Clone)]
pub struct ManifestEntries {
    batch: RecordBatch,
    typed: Arc<Typed>,
}

#[derive(Debug)]
struct Typed {
    columns: Columns,
    key_stats: StatsColumns,
    value_stats: StatsColumns,
}

#[derive(Debug)]
struct StatsColumns {
    min: BinaryArray,
    max: BinaryArray,
    null_counts: ListArray,
}

/// Declares columns: name, type, name in files.
macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $source:literal;)*) => {
        #[derive(Debug)]
        struct Columns {
            $($name: $type,)*
        }

        impl Columns {
            fn try_new(batch: &RecordBatch) -> Result<Self> {
                Ok(Self { $($name: typed::<$type>(batch, $source)?.clone(),)* })
            }
        }

        impl ManifestEntries {
            $(
                $(#[$doc])*
                pub fn $name(&self) -> &$type {
                    &self.typed.columns.$name
                }
            )*
        }
    };
}

columns! {
    /// The kinds: [`ADD`] or [`DELETE`].
    kinds: Int32Array = "_KIND";
    /// The partitions as rows with their arity.
    partitions: BinaryArray = "_PARTITION";
    /// The buckets; -2 for files of a postpone table that do not have one yet.
    buckets: Int32Array = "_BUCKET";
    /// The numbers of buckets of the partitions; 0 or less if they are not fixed.
    total_buckets: Int32Array = "_TOTAL_BUCKETS";
    /// The names in the folder of the bucket.
    file_names: StringArray = "_FILE_NAME";
    /// The lengths in bytes, never negative.
    file_sizes: Int64Array = "_FILE_SIZE";
    /// The numbers of rows, including rows that only delete; never negative.
    row_counts: Int64Array = "_ROW_COUNT";
    /// The minimum keys as rows with their arity; without fields in append tables.
    min_keys: BinaryArray = "_MIN_KEY";
    /// The maximum keys.
    max_keys: BinaryArray = "_MAX_KEY";
    /// The minimum sequence numbers.
    min_sequence_numbers: Int64Array = "_MIN_SEQUENCE_NUMBER";
    /// The maximum sequence numbers.
    max_sequence_numbers: Int64Array = "_MAX_SEQUENCE_NUMBER";
    /// The schemas that files were written with.
    schema_ids: Int64Array = "_SCHEMA_ID";
    /// The levels of the LSM tree, never negative.
    levels: Int32Array = "_LEVEL";
    /// The names of index files that belong to the data file, in the same folder. Lists of strings, never NULL.
    extra_files: ListArray = "_EXTRA_FILES";
    /// The creation times by the wall clock of the writer, in milliseconds. NULL if not recorded.
    creation_times_ms: Int64Array = "_CREATION_TIME";
    /// The numbers of rows that delete, never negative; NULL in files of old releases.
    delete_row_counts: Int64Array = "_DELETE_ROW_COUNT";
    /// The file indexes if they are small, else NULL.
    embedded_indexes: BinaryArray = "_EMBEDDED_FILE_INDEX";
    /// The sources of files. 0: written by an append, 1: by a compaction. NULL before release 0.9.
    file_sources: Int32Array = "_FILE_SOURCE";
    /// The columns with value statistics, as lists of strings; NULL for all columns, and if statistics were not read.
    value_stats_cols: ListArray = "_VALUE_STATS_COLS";
    /// The locations of files outside the folder of their bucket, else NULL.
    external_paths: StringArray = "_EXTERNAL_PATH";
    /// The row ids of the first rows; NULL without row tracking.
    first_row_ids: Int64Array = "_FIRST_ROW_ID";
    /// The columns of the files, as lists of strings; NULL for all columns of their schema.
    write_cols: ListArray = "_WRITE_COLS";
}

impl StatsColumns {
    fn try_new(batch: &RecordBatch, of: [&str; 3]) -> Result<Self> {
        let [min, max, null_counts] = of;
        Ok(Self {
            min: typed::<BinaryArray>(batch, min)?.clone(),
            max: typed::<BinaryArray>(batch, max)?.clone(),
            null_counts: typed::<ListArray>(batch, null_counts)?.clone(),
        })
    }

    fn stats(&self) -> Stats<'_> {
        Stats { min: &self.min, max: &self.max, null_counts: &self.null_counts }
    }
}

impl ManifestEntries {
    /// Creates entries from a batch with the schema of [`decode`].
    fn try_new(batch: RecordBatch) -> Result<Self> {
        let typed = Typed {
            columns: Columns::try_new(&batch)?,
            key_stats: StatsColumns::try_new(&batch, decode::KEY_STATS)?,
            value_stats: StatsColumns::try_new(&batch, decode::VALUE_STATS)?,
        };
        Ok(Self { batch, typed: Arc::new(typed) })
    }

    /// Creates entries from columns that were not decoded here: a batch with the schema of all entries.
    ///
    /// # Errors
    /// `CorruptData` for another schema, and for values that violate the spec, as for [`read`].
    pub(crate) fn from_batch(batch: &RecordBatch) -> Result<Self> {
        let schema = decode::schema();
        if batch.schema().fields() != schema.fields() {
            return Err(Error::corrupt("manifest entries do not have the expected columns"));
        }
        let batch = RecordBatch::try_new(Arc::clone(schema), batch.columns().to_vec())?;
        decode::check(&batch)?;
        Self::try_new(batch)
    }

    /// Returns the columns, with the schema of all entries.
    pub(crate) fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Returns the entries with their kinds replaced by `kind`.
    ///
    /// # Errors
    /// Only internal errors.
    pub fn with_kind(&self, kind: i32) -> Result<Self> {
        self.with_number("_KIND", kind)
    }

    /// Returns the entries with their levels replaced by `level`.
    ///
    /// # Errors
    /// `CorruptData` for a negative level.
    pub fn at_level(&self, level: i32) -> Result<Self> {
        self.with_number("_LEVEL", level)
    }

    fn with_number(&self, name: &str, number: i32) -> Result<Self> {
        let schema = self.batch.schema();
        let column = |(field, column): (&FieldRef, &ArrayRef)| -> ArrayRef {
            if field.name() == name { Arc::new(Int32Array::from(vec![number; self.len()])) } else { Arc::clone(column) }
        };
        let columns = schema.fields().iter().zip(self.batch.columns()).map(column).collect();
        Self::try_new(RecordBatch::try_new(schema, columns)?)
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the memory that the columns hold.
    pub fn size_bytes(&self) -> usize {
        self.batch.get_array_memory_size()
    }

    /// Returns the bounds and null counts of the key fields; NULL if they were not read.
    pub fn key_stats(&self) -> Stats<'_> {
        self.typed.key_stats.stats()
    }

    /// Returns the bounds and null counts of the columns; NULL if they were not read. See [`super::stats`] for the
    /// columns that they belong to.
    pub fn value_stats(&self) -> Stats<'_> {
        self.typed.value_stats.stats()
    }

    /// Returns the entries for which `keep` is true.
    ///
    /// # Errors
    /// `CorruptData` if `keep` has a different length.
    pub fn filter(&self, keep: &BooleanArray) -> Result<Self> {
        Self::try_new(filter_record_batch(&self.batch, keep)?)
    }

    /// Returns the entries at the positions `rows`, in the order of `rows`.
    ///
    /// # Errors
    /// `CorruptData` for rows that do not exist.
    pub fn take(&self, rows: &UInt32Array) -> Result<Self> {
        let columns = take_arrays(self.batch.columns(), rows, Some(TakeOptions { check_bounds: true }))?;
        Self::try_new(RecordBatch::try_new(self.batch.schema(), columns)?)
    }

    /// Returns some of the entries without copying.
    ///
    /// # Errors
    /// Only internal errors. A range beyond the end is truncated.
    pub fn slice(&self, rows: Range<usize>) -> Result<Self> {
        let offset = rows.start.min(self.len());
        Self::try_new(self.batch.slice(offset, rows.len().min(self.len() - offset)))
    }

    /// Returns the entries with NULL statistics. NULL statistics take little memory, because their columns share one
    /// buffer.
    ///
    /// # Errors
    /// Only internal errors.
    pub fn without_stats(self) -> Result<Self> {
        let length = self.len();
        let zeros = zeros(length);
        let slim = |(field, column): (&FieldRef, &ArrayRef)| -> Result<ArrayRef> {
            let is_stats = decode::is_stats(field.name());
            if !is_stats && column.null_count() < length {
                return Ok(Arc::clone(column));
            }
            nulls(field.data_type(), length, &zeros)
        };
        let schema = self.batch.schema();
        let columns = schema.fields().iter().zip(self.batch.columns()).map(slim).collect::<Result<_>>()?;
        Self::try_new(RecordBatch::try_new(schema, columns)?)
    }

    /// Concatenates all entries in order.
    ///
    /// # Errors
    /// `CorruptData` if one column would exceed 2 GiB.
    pub fn concat(parts: &[Self]) -> Result<Self> {
        if let [one] = parts {
            return Ok(one.clone());
        }
        if parts.is_empty() {
            return Self::try_new(RecordBatch::new_empty(Arc::clone(decode::schema())));
        }
        let length = parts.iter().map(Self::len).sum();
        let zeros = zeros(length);
        let column = |(at, field): (usize, &FieldRef)| -> Result<ArrayRef> {
            let columns = || parts.iter().map(|part| part.batch.column(at));
            if columns().all(|column| column.null_count() == column.len()) && field.is_nullable() {
                return nulls(field.data_type(), length, &zeros);
            }
            Ok(concat(&columns().map(AsRef::as_ref).collect::<Vec<&dyn Array>>())?)
        };
        let schema = decode::schema();
        let columns = schema.fields().iter().enumerate().map(column).collect::<Result<_>>()?;
        Self::try_new(RecordBatch::try_new(Arc::clone(schema), columns)?)
    }

    /// Returns the file of one entry.
    ///
    /// # Errors
    /// `InvalidArgument` for a row that does not exist.
    pub fn file(&self, row: usize) -> Result<DataFileMeta> {
        if row >= self.len() {
            return Err(Error::invalid(format!("entry {row} does not exist: there are {} entries", self.len())));
        }
        let long = |array: &Int64Array| array.is_valid(row).then(|| array.value(row));
        Ok(DataFileMeta {
            file_name: self.file_names().value(row).to_string(),
            file_size_bytes: self.file_sizes().value(row),
            row_count: self.row_counts().value(row),
            min_key: self.min_keys().value(row).to_vec(),
            max_key: self.max_keys().value(row).to_vec(),
            min_sequence_number: self.min_sequence_numbers().value(row),
            max_sequence_number: self.max_sequence_numbers().value(row),
            schema_id: self.schema_ids().value(row),
            level: self.levels().value(row),
            extra_files: texts(self.extra_files(), row)?.unwrap_or_default(),
            creation_time_ms: long(self.creation_times_ms()),
            delete_row_count: long(self.delete_row_counts()),
            embedded_file_index: bytes_at(self.embedded_indexes(), row).map(<[u8]>::to_vec),
            file_source: self.file_sources().is_valid(row).then(|| self.file_sources().value(row)),
            value_stats_cols: texts(self.value_stats_cols(), row)?,
            external_path: self.external_paths().is_valid(row).then(|| self.external_paths().value(row).to_string()),
            first_row_id: long(self.first_row_ids()),
            write_cols: texts(self.write_cols(), row)?,
        })
    }
}

fn bytes_at(array: &BinaryArray, row: usize) -> Option<&[u8]> {
    array.is_valid(row).then(|| array.value(row))
}

/// Returns the buffer that arrays of `length` NULLs share: eight bytes for each NULL and eight more.
fn zeros(length: usize) -> Buffer {
    Buffer::from_vec(vec![0_u64; length + 1])
}

/// Returns an array of NULLs over a buffer of [`zeros`].
fn nulls(data_type: &DataType, length: usize, zeros: &Buffer) -> Result<ArrayRef> {
    let valid = Some(NullBuffer::new_null(length));
    let offsets = || OffsetBuffer::new(ScalarBuffer::new(zeros.clone(), 0, length + 1));
    Ok(match data_type {
        DataType::Binary => Arc::new(BinaryArray::try_new(offsets(), Buffer::default(), valid)?),
        DataType::Utf8 => Arc::new(StringArray::try_new(offsets(), Buffer::default(), valid)?),
        DataType::Int64 => Arc::new(Int64Array::try_new(ScalarBuffer::new(zeros.clone(), 0, length), valid)?),
        DataType::Int32 => Arc::new(Int32Array::try_new(ScalarBuffer::new(zeros.clone(), 0, length), valid)?),
        DataType::List(item) => {
            Arc::new(ListArray::try_new(Arc::clone(item), offsets(), new_empty_array(item.data_type()), valid)?)
        }
        other => return Err(Error::internal(format!("no column of manifest entries has the type {other}"))),
    })
}
