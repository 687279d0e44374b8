//! Reads one data file of a split: converts columns of the file to rows of the table.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int8Array, Int64Array, RecordBatch, RecordBatchOptions, new_null_array,
};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{Field, Schema as ArrowSchema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use frazil_core::bitmap::Positions;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::files::Files;

use super::blob::BlobFile;
use super::evolution::is_blob;
use super::projection::{FileColumns, Projection, SystemColumn};
use crate::context::file_format::FileFormat;
use crate::dictionary;
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::types::{DataField, DataType, TypeRoot, arrow_fields};

/// The columns in which all files of a split are read: table fields, followed by system columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The fields of the table.
    pub fields: Vec<DataField>,
    /// The system columns, which follow the fields.
    pub system: Vec<SystemColumn>,
}

impl Target {
    /// Returns the columns of merged rows, which have no position.
    #[must_use]
    pub fn merged(&self) -> Self {
        let system = self.system.iter().copied().filter(|column| *column != SystemColumn::Position).collect();
        Self { fields: self.fields.clone(), system }
    }

    /// Returns the schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        let system =
            self.system.iter().map(|column| Arc::new(Field::new(column.name(), column.data_type().arrow(), true)));
        let fields = arrow_fields(&self.fields);
        Arc::new(ArrowSchema::new(fields.iter().cloned().chain(system).collect::<Vec<_>>()))
    }

    /// Returns the position of a system column.
    pub fn position(&self, column: SystemColumn) -> Option<usize> {
        self.system.iter().position(|other| *other == column).map(|at| self.fields.len() + at)
    }
}

/// The reader of one data file.
#[derive(Debug)]
pub struct FileReader {
    /// The recorded location of the file.
    pub path: String,
    meta: DataFileMeta,
    target: Arc<Target>,
    schema: SchemaRef,
    /// The columns of the file, by the schema that it was written with.
    file_fields: Vec<DataField>,
    constants: Arc<HashMap<i32, ArrayRef>>,
    deleted: Option<Positions>,
    selected: Option<BooleanBuffer>,
    /// The positions of the target fields that are read from the file; None for all.
    takes: Option<Vec<usize>>,
    /// The number of the first row, if rows are numbered by position.
    numbered_from: Option<i64>,
    projection: Option<Projection>,
    /// Whether the values of a BLOB column are returned as descriptors.
    describes_blobs: bool,
    /// Whether strings and bytes may stay dictionary-encoded.
    dictionaries: bool,
    blob: Option<BlobFile>,
    rows: i64,
}

impl FileReader {
    /// Creates a reader of the file at a recorded location. `file_fields` is the schema that it was written with;
    /// `constants` has partition values by field id.
    pub fn new(
        path: String,
        meta: DataFileMeta,
        target: Arc<Target>,
        file_fields: &[DataField],
        constants: Arc<HashMap<i32, ArrayRef>>,
    ) -> Self {
        let written = |field: &&DataField| meta.write_cols.as_ref().is_none_or(|names| names.contains(&field.name));
        let file_fields = file_fields.iter().filter(written).cloned().collect();
        let schema = target.schema();
        Self {
            path,
            meta,
            target,
            schema,
            file_fields,
            constants,
            deleted: None,
            selected: None,
            takes: None,
            numbered_from: None,
            projection: None,
            describes_blobs: false,
            dictionaries: false,
            blob: None,
            rows: 0,
        }
    }

    /// Returns this reader without the rows at the positions `deleted`; None deletes no rows.
    #[must_use]
    pub fn without(mut self, deleted: Option<Positions>) -> Self {
        self.deleted = deleted;
        self
    }

    /// Returns this reader restricted to the rows whose bit in `selected` is set. There is a bit for each row of the
    /// file.
    #[must_use]
    pub fn only(mut self, selected: Option<BooleanBuffer>) -> Self {
        self.selected = selected;
        self
    }

    /// Returns descriptors of the values of BLOB columns instead of the values.
    #[must_use]
    pub fn describing_blobs(mut self, describes: bool) -> Self {
        self.describes_blobs = describes;
        self
    }

    /// Restricts the reader to the target columns at these positions; the remaining columns are NULL in the batches.
    pub fn take_only(&mut self, columns: &[usize]) {
        let mut fields: Vec<usize> = columns.iter().copied().filter(|at| *at < self.target.fields.len()).collect();
        fields.sort_unstable();
        self.takes = Some(fields);
        self.schema = nullable(&self.schema);
    }

    /// Numbers the rows by position, starting with `first`, instead of reading sequence numbers. This is correct only
    /// if the order of the numbers is already known and their values are not returned.
    pub fn number_from(&mut self, first: i64) {
        self.numbered_from = Some(first);
    }

    /// Keeps strings and bytes dictionary-encoded if the file stores them with a dictionary.
    pub fn keep_dictionaries(&mut self) {
        self.dictionaries = true;
    }

    /// Returns the columns of the rows.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the metadata of the file from the manifest.
    pub fn meta(&self) -> &DataFileMeta {
        &self.meta
    }

    /// Returns the format, determined by the name of the file.
    ///
    /// # Errors
    /// `Unsupported` naming the file for an unsupported format.
    pub fn format(&self) -> Result<FileFormat> {
        FileFormat::from_file_name(&self.meta.file_name).map_err(|e| e.with("file", &self.path))
    }

    /// Accepts the schema of the opened file. Returns the leaf columns to read, and the top-level columns that contain
    /// them.
    ///
    /// # Errors
    /// `CorruptDataFile` if the file lacks a required column, or the column has another type.
    pub fn open(&mut self, schema: &ArrowSchema) -> Result<(Vec<usize>, Vec<usize>)> {
        let file = FileColumns {
            arrow: schema,
            fields: &self.file_fields,
            format: self.format()?,
            constants: &self.constants,
        };
        let wanted: Vec<DataField> = match &self.takes {
            None => self.target.fields.clone(),
            Some(takes) => takes.iter().filter_map(|at| self.target.fields.get(*at).cloned()).collect(),
        };
        if self.describes_blobs {
            self.check_described(&wanted, schema).map_err(|e| corrupt(e, &self.path))?;
        }
        let system: Vec<SystemColumn> =
            self.target.system.iter().copied().filter(|column| self.stores(*column)).collect();
        let projection = Projection::try_new(&wanted, &system, &file);
        let projection = projection.map_err(|e| corrupt(e, &self.path))?;
        let wanted = (projection.leaves().to_vec(), projection.top_level().to_vec());
        self.projection = Some(projection.keeping_dictionaries(self.dictionaries));
        Ok(wanted)
    }

    /// Converts rows of the file, starting at row `first`, to rows of the target without deleted rows.
    ///
    /// # Errors
    /// `CorruptDataFile` if a value does not fit its column.
    pub fn apply(&mut self, batch: Option<&RecordBatch>, first: u64, rows: usize) -> Result<RecordBatch> {
        self.rows = self.rows.saturating_add(i64::try_from(rows).unwrap_or(i64::MAX));
        let projected = self.project(batch, first, rows).map_err(|e| corrupt(e, &self.path))?;
        let kept = self.deleted.as_ref().map(|deleted| deleted.kept(first, rows));
        let selected = self.selected.as_ref().map(|selected| part(selected, first, rows)).transpose()?;
        match (kept, selected) {
            (None, None) => Ok(projected),
            (Some(mask), None) | (None, Some(mask)) => masked(&projected, mask),
            (Some(kept), Some(selected)) => masked(&projected, &kept & &selected),
        }
    }

    /// Returns whether the file has timestamps of more than six digits, at any level.
    pub fn has_nanoseconds(&self) -> bool {
        self.file_fields.iter().any(|field| has_nanoseconds(&field.data_type))
    }

    /// Returns whether the file holds a single BLOB column and is read by [`FileReader::blobs`].
    pub fn is_blob(&self) -> bool {
        is_blob(&self.meta)
    }

    /// Returns the next rows of a file of a BLOB column, or None at the end. The other columns of the target are NULL.
    ///
    /// # Errors
    /// `CorruptDataFile` naming the file if it does not decode, or its number of rows differs from the manifest.
    pub fn blobs(&mut self, files: &Files, context: &Context) -> Result<Option<RecordBatch>> {
        let rows = self.next_blobs(files, context).map_err(|e| corrupt(e, &self.path))?;
        if rows.is_none() {
            self.end()?;
        }
        Ok(rows)
    }

    fn next_blobs(&mut self, files: &Files, context: &Context) -> Result<Option<RecordBatch>> {
        let mut file = match self.blob.take() {
            Some(file) => file,
            None => BlobFile::open(files, &self.path, context)?,
        };
        let values = if self.describes_blobs {
            file.descriptors(&files.resolve(&self.path)?)?
        } else {
            file.values(files, context)?
        };
        self.blob = Some(file);
        values.map(|values| self.blob_rows(&(Arc::new(values) as ArrayRef))).transpose()
    }

    fn blob_rows(&mut self, values: &ArrayRef) -> Result<RecordBatch> {
        let (first, rows) = (u64::try_from(self.rows).unwrap_or(0), values.len());
        self.rows = self.rows.saturating_add(i64::try_from(rows).unwrap_or(i64::MAX));
        let is_here = |field: &DataField| {
            field.data_type.root == TypeRoot::Blob && self.file_fields.iter().any(|other| other.id == field.id)
        };
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for field in &self.target.fields {
            let absent = || new_null_array(&field.data_type.arrow(), rows);
            columns.push(if is_here(field) { values.clone() } else { absent() });
        }
        for column in &self.target.system {
            columns.push(self.system(*column, &new_null_array(&column.data_type().arrow(), rows), first, rows)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(nullable(&self.schema), columns, &options)?)
    }

    /// Finishes the file.
    ///
    /// # Errors
    /// `CorruptDataFile` if the file did not have as many rows as the manifest records.
    pub fn end(&self) -> Result<()> {
        if self.rows == self.meta.row_count {
            return Ok(());
        }
        let message = format!("the file has {} rows, but its manifest records {}", self.rows, self.meta.row_count);
        Err(corrupt(Error::corrupt(message), &self.path))
    }

    /// Rejects a BLOB column in an ordinary data file, because descriptors cannot reference its values.
    fn check_described(&self, wanted: &[DataField], schema: &ArrowSchema) -> Result<()> {
        let is_inside = |field: &&DataField| {
            let stored = self.file_fields.iter().find(|other| other.id == field.id);
            field.data_type.root == TypeRoot::Blob && stored.is_some_and(|f| schema.index_of(&f.name).is_ok())
        };
        match wanted.iter().find(is_inside) {
            None => Ok(()),
            Some(field) => Err(Error::unsupported(
                "the option `blob-as-descriptor` is not supported for values in an ordinary data file",
            )
            .with("column", &field.name)),
        }
    }

    fn project(&self, batch: Option<&RecordBatch>, first: u64, rows: usize) -> Result<RecordBatch> {
        let projection = self.projection.as_ref().ok_or_else(|| Error::internal("the file was not opened"))?;
        let mut columns = projection.project(batch, rows)?;
        if let Some(takes) = &self.takes {
            columns = self.spread(columns, takes, rows);
        }
        let mut stored = columns.split_off(self.target.fields.len().min(columns.len())).into_iter();
        for column in &self.target.system {
            let read = if self.stores(*column) { stored.next() } else { None };
            columns.push(match read {
                Some(read) => self.system(*column, &read, first, rows)?,
                None if *column == SystemColumn::Position => numbers(0, first, rows)?,
                None => numbers(self.numbered_from.unwrap_or_default(), first, rows)?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(dictionary::schema(&self.schema, &columns), columns, &options)?)
    }

    /// Returns the columns of the target: the columns in `read` at the positions `takes`, NULL for the other fields,
    /// then the system columns.
    fn spread(&self, read: Vec<ArrayRef>, takes: &[usize], rows: usize) -> Vec<ArrayRef> {
        let mut read = read.into_iter();
        let fields = self.target.fields.iter().enumerate();
        let mut columns: Vec<ArrayRef> = fields
            .map(|(at, field)| {
                let taken = takes.binary_search(&at).ok().and_then(|_| read.next());
                taken.unwrap_or_else(|| new_null_array(&field.data_type.arrow(), rows))
            })
            .collect();
        columns.extend(read);
        columns
    }

    /// Returns whether a system column may be stored in the file.
    fn stores(&self, column: SystemColumn) -> bool {
        match column {
            SystemColumn::Position => false,
            SystemColumn::SequenceNumber => self.numbered_from.is_none(),
            SystemColumn::ValueKind | SystemColumn::RowId => true,
        }
    }

    /// Returns a system column: the stored values if present, otherwise values from the manifest.
    fn system(&self, column: SystemColumn, stored: &ArrayRef, first: u64, rows: usize) -> Result<ArrayRef> {
        Ok(match column {
            SystemColumn::ValueKind if stored.null_count() == stored.len() => Arc::new(Int8Array::from_value(0, rows)),
            SystemColumn::ValueKind | SystemColumn::Position => stored.clone(),
            SystemColumn::SequenceNumber => {
                let newest = self.meta.max_sequence_number;
                filled(stored, |_| Some(newest))?
            }
            SystemColumn::RowId => {
                let start = self.meta.first_row_id.zip(i64::try_from(first).ok());
                let start = start.and_then(|(id, first)| id.checked_add(first));
                filled(stored, |row| start?.checked_add(i64::try_from(row).ok()?))?
            }
        })
    }
}

/// Returns the numbers of `rows` rows from row `first`, counted from the number of the first row of the file.
fn numbers(number: i64, first: u64, rows: usize) -> Result<ArrayRef> {
    let range = || {
        let start = number.checked_add(i64::try_from(first).ok()?)?;
        Some(start..start.checked_add(i64::try_from(rows).ok()?)?)
    };
    let numbers = range().map(Int64Array::from_iter_values);
    Ok(Arc::new(numbers.ok_or_else(|| Error::corrupt(format!("a file has too many rows: {first} or more")))?))
}

/// Returns the bits of `rows` rows, starting at row `first`.
fn part(bits: &BooleanBuffer, first: u64, rows: usize) -> Result<BooleanBuffer> {
    let first =
        usize::try_from(first).ok().filter(|first| first.checked_add(rows).is_some_and(|end| end <= bits.len()));
    first.map(|first| bits.slice(first, rows)).ok_or_else(|| Error::corrupt("the file has more rows than its index"))
}

fn nullable(schema: &ArrowSchema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()))
}

/// Replaces NULLs in numbers by the value for the row.
fn filled(stored: &ArrayRef, value: impl Fn(usize) -> Option<i64>) -> Result<ArrayRef> {
    if stored.null_count() == 0 {
        return Ok(stored.clone());
    }
    let stored = stored.as_primitive_opt::<Int64Type>();
    let stored = stored.ok_or_else(|| Error::corrupt("a system column is not a BIGINT"))?;
    let values = stored.iter().enumerate().map(|(row, stored)| stored.or_else(|| value(row)));
    Ok(Arc::new(values.collect::<Int64Array>()))
}

fn masked(batch: &RecordBatch, mask: BooleanBuffer) -> Result<RecordBatch> {
    if mask.count_set_bits() == mask.len() {
        return Ok(batch.clone());
    }
    Ok(filter_record_batch(batch, &BooleanArray::new(mask, None))?)
}

fn corrupt(error: Error, path: &str) -> Error {
    error.corrupt_as(ErrorKind::CorruptDataFile).with("file", path)
}

fn has_nanoseconds(data_type: &DataType) -> bool {
    match &data_type.root {
        TypeRoot::Timestamp(7..) | TypeRoot::LocalZonedTimestamp(7..) => true,
        TypeRoot::Row(fields) => fields.iter().any(|field| has_nanoseconds(&field.data_type)),
        TypeRoot::Array(element) | TypeRoot::Multiset(element) => has_nanoseconds(element),
        TypeRoot::Map(key, value) => has_nanoseconds(key) || has_nanoseconds(value),
        _ => false,
    }
}
