//! Reads manifest entries in order to check them, or to write them to another manifest without inherited values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StructArray, new_null_array};
use arrow_schema::DataType;
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;
use frazil_core::avro::AvroFile;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::manifest::{
    ADDED, DELETED, inherited_file_sequence_numbers, inherited_first_row_ids, inherited_sequence_numbers, is_v1,
};
use super::manifest_list::ManifestFile;
use super::manifest_rows::{read_entries, read_entries_to_copy, rows_schema};
use super::manifest_type::manifest_entry;
use super::types::StructType;

/// Entry status 0: the file existed before.
const EXISTING: i32 = 0;

/// Rows of manifest entries ([`manifest_rows`](super::manifest_rows)), with typed access to the fields that are used.
#[derive(Debug, Clone)]
pub(crate) struct Entries(RecordBatch);

impl Entries {
    /// Returns entries for new files, added by `snapshot_id`, with this data sequence number or an inherited one.
    pub(crate) fn added(
        data_files: &StructArray,
        partition: &StructType,
        snapshot_id: i64,
        sequence_number: Option<i64>,
    ) -> Result<Self> {
        let len = data_files.len();
        let schema = rows_schema(&manifest_entry(3, partition.clone()));
        let expected = schema.field_with_name("data_file")?.data_type();
        if expected != data_files.data_type() {
            return Err(
                Error::internal("new files do not have the fields of entries").with("found", data_files.data_type())
            );
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from_value(ADDED, len)),
            Arc::new(Int64Array::from_value(snapshot_id, len)),
            Arc::new(std::iter::repeat_n(sequence_number, len).collect::<Int64Array>()),
            new_null_array(&DataType::Int64, len),
            Arc::new(data_files.clone()),
        ];
        Ok(Self(RecordBatch::try_new(Arc::new(schema), columns)?))
    }

    /// Reads the entries of a manifest without changes.
    ///
    /// # Errors
    /// `CorruptManifest`.
    pub(crate) fn read(bytes: Bytes, partition: &StructType, context: &Context) -> Result<Self> {
        Self(read_entries(bytes, partition, context)?).known()
    }

    /// Reads entries like [`Entries::read`] in order to copy them to another manifest: fields that are only copied are
    /// not decoded.
    ///
    /// # Errors
    /// `CorruptManifest`.
    pub(crate) fn read_to_copy(bytes: Bytes, partition: &StructType, context: &Context) -> Result<Self> {
        Self::copied(&open(bytes)?, partition, context)
    }

    fn copied(manifest: &AvroFile, partition: &StructType, context: &Context) -> Result<Self> {
        Self(read_entries_to_copy(manifest, partition, context)?).known()
    }

    /// Returns the entries unchanged after checking that all statuses are valid.
    fn known(self) -> Result<Self> {
        let unknown = self.status()?.iter().find(|status| !matches!(status, Some(EXISTING..=DELETED)));
        match unknown {
            Some(status) => Err(corrupt(&format!("a manifest entry has the invalid status {status:?}"))),
            None => Ok(self),
        }
    }

    /// Reads the live entries of a manifest for another manifest, with inherited values resolved, and their original
    /// statuses.
    ///
    /// # Errors
    /// `CorruptManifest`.
    pub(crate) fn read_live(
        bytes: Bytes,
        manifest: &ManifestFile,
        partition: &StructType,
        context: &Context,
    ) -> Result<Self> {
        let file = open(bytes)?;
        let written_by_v1 = is_v1(&file);
        let all = Self::copied(&file, partition, context)?;
        let live = all.status()?.iter().map(|status| Some(status != Some(DELETED))).collect::<BooleanArray>();
        let entries = if live.false_count() == 0 { all } else { Self(filter_record_batch(&all.0, &live)?) };
        entries.resolved(manifest, written_by_v1).map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))
    }

    fn resolved(self, manifest: &ManifestFile, written_by_v1: bool) -> Result<Self> {
        let status = self.status()?;
        let snapshots = self.long("snapshot_id")?.iter().map(|own| own.or(manifest.added_snapshot_id));
        let snapshots: Int64Array = snapshots.collect();
        let sequence_numbers =
            inherited_sequence_numbers(status, self.long("sequence_number")?, manifest, written_by_v1)?;
        let own = self.long("file_sequence_number")?;
        let file_sequence_numbers = inherited_file_sequence_numbers(status, own, &sequence_numbers, manifest);
        let row_ids = inherited_first_row_ids(
            status,
            Some(self.file_long("first_row_id")?),
            self.file_long("record_count")?,
            manifest.first_row_id,
        )?;
        let mut entries = self
            .with("snapshot_id", Arc::new(snapshots))?
            .with("sequence_number", Arc::new(sequence_numbers))?
            .with("file_sequence_number", Arc::new(file_sequence_numbers))?;
        if let Some(row_ids) = row_ids {
            let files = entries.data_files()?;
            let place = files.fields().iter().position(|field| field.name() == "first_row_id");
            let mut columns = files.columns().to_vec();
            if let Some(column) = place.and_then(|place| columns.get_mut(place)) {
                *column = Arc::new(row_ids);
            }
            let files =
                StructArray::try_new_with_length(files.fields().clone(), columns, files.nulls().cloned(), files.len())?;
            entries = entries.with("data_file", Arc::new(files))?;
        }
        Ok(entries)
    }

    /// Converts live entries to entries of a later snapshot: those in `removed` become DELETED by `snapshot_id`, and
    /// all other entries become EXISTING.
    pub(crate) fn moved(self, removed: Option<&BooleanArray>, snapshot_id: i64) -> Result<Self> {
        let gone = |row: usize| removed.is_some_and(|removed| removed.value(row));
        let rows = 0..self.len();
        let status: Int32Array = rows.clone().map(|row| Some(if gone(row) { DELETED } else { EXISTING })).collect();
        let snapshots = self.long("snapshot_id")?;
        let snapshots: Int64Array = rows
            .map(
                |row| if gone(row) { Some(snapshot_id) } else { snapshots.is_valid(row).then(|| snapshots.value(row)) },
            )
            .collect();
        self.with("status", Arc::new(status))?.with("snapshot_id", Arc::new(snapshots))
    }

    /// Returns the entries for which `keep` is true.
    pub(crate) fn filter(&self, keep: &BooleanArray) -> Result<Self> {
        Ok(Self(filter_record_batch(&self.0, keep)?))
    }

    /// Returns the entries with this status that `snapshot_id` itself created. Entries without a snapshot id inherit
    /// that of the snapshot.
    pub(crate) fn own(&self, status: i32, snapshot_id: i64) -> Result<Self> {
        let rows = self.status()?.iter().zip(self.long("snapshot_id")?);
        let own = rows.map(|(own, id)| Some(own == Some(status) && id.is_none_or(|id| id == snapshot_id)));
        self.filter(&own.collect())
    }

    pub(crate) fn rows(&self) -> &RecordBatch {
        &self.0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.num_rows()
    }

    pub(crate) fn status(&self) -> Result<&Int32Array> {
        let status = self.0.column_by_name("status").and_then(|column| column.as_primitive_opt::<Int32Type>());
        status.ok_or_else(|| missing("status"))
    }

    pub(crate) fn long(&self, name: &'static str) -> Result<&Int64Array> {
        let column = self.0.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
        column.ok_or_else(|| missing(name))
    }

    pub(crate) fn data_files(&self) -> Result<&StructArray> {
        self.0.column_by_name("data_file").and_then(|column| column.as_struct_opt()).ok_or_else(|| missing("data_file"))
    }

    pub(crate) fn file_long(&self, name: &'static str) -> Result<&Int64Array> {
        file_long(self.data_files()?, name)
    }

    /// Returns the paths of the files.
    pub(crate) fn paths(&self) -> Result<&arrow_array::StringArray> {
        file_text(self.data_files()?, "file_path")
    }

    fn with(self, name: &str, column: ArrayRef) -> Result<Self> {
        let place = self.0.schema_ref().index_of(name)?;
        let mut columns = self.0.columns().to_vec();
        if let Some(own) = columns.get_mut(place) {
            *own = column;
        }
        Ok(Self(RecordBatch::try_new(self.0.schema(), columns)?))
    }
}

/// Returns a `long` column of `data_file`.
pub(crate) fn file_long<'a>(files: &'a StructArray, name: &'static str) -> Result<&'a Int64Array> {
    let column = files.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
    column.ok_or_else(|| missing(name))
}

/// Returns an `int` column of `data_file`.
pub(crate) fn file_int<'a>(files: &'a StructArray, name: &'static str) -> Result<&'a Int32Array> {
    let column = files.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int32Type>());
    column.ok_or_else(|| missing(name))
}

/// Returns the partition tuples of `data_file`.
pub(crate) fn file_partitions(files: &StructArray) -> Result<&StructArray> {
    let tuples = files.column_by_name("partition").and_then(|column| column.as_struct_opt());
    tuples.ok_or_else(|| missing("partition"))
}

/// Returns a string column of `data_file`.
pub(crate) fn file_text<'a>(files: &'a StructArray, name: &'static str) -> Result<&'a arrow_array::StringArray> {
    files.column_by_name(name).and_then(|column| column.as_string_opt::<i32>()).ok_or_else(|| missing(name))
}

fn open(bytes: Bytes) -> Result<AvroFile> {
    AvroFile::open(bytes).map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))
}

fn missing(name: &'static str) -> Error {
    Error::internal("manifest entries do not have the expected columns").with("column", name)
}

fn corrupt(message: &str) -> Error {
    Error::new(ErrorKind::CorruptManifest, message)
}
