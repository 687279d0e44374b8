//! Executes one task: converts batches of a data file to rows of the scan.
//!
//! The caller opens files (Parquet and ORC through pyarrow) and pushes the columns that [`TaskReader`] requests.
//! Deletes, projection, filter and metadata columns are applied here. Row positions are physical: the caller passes the
//! row of the file at which a batch begins.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow_array::{cast::AsArray, types::Int64Type};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use frazil_core::bitmap::Positions;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::filter::Filter;
use frazil_core::prune::prune;
use frazil_core::sql::predicate::BoundPredicate;
use frazil_core::sql::predicate::eval::evaluate_within;

use super::delete_index::DeleteFile;
use super::delete_load::{DeleteFileReader, DeleteLoader, TaskDeletes};
use super::leaves::{LeafColumns, holds, optional};
use super::output::MetadataColumn;
use super::row_groups::{RowGroup, RowGroupStats};
use super::task::FileScanTask;
use crate::read::default::repeated;
use crate::read::project::{FileColumns, Projector};
use crate::spec::types::{NestedField, StructType, Value};

/// The source of an output column.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FileSource {
    /// A column of the target, by position.
    Target(usize),
    /// A metadata column that is computed here.
    Metadata(MetadataColumn),
    /// A lineage column: read from the file if it has one (by position in the target), otherwise computed here.
    Lineage(MetadataColumn, usize),
}

/// A reader of one task.
#[derive(Debug)]
pub struct TaskReader {
    task: FileScanTask,
    deletes: TaskDeletes,
    loader: DeleteLoader,
    residual: BoundPredicate,
    /// The columns to read from the file: output columns, then columns that only the filter or the deletes need.
    target: StructType,
    sources: Vec<FileSource>,
    schema: SchemaRef,
    projector: Option<Projector>,
}

impl TaskReader {
    /// Starts a task: reads its deletion vector and lists the delete files to be pushed.
    pub fn try_new(task: FileScanTask) -> Result<Self> {
        Self::beside(task, &[])
    }

    /// Starts a task for a file that another reader reads with the deletes `others`. The columns that those deletes
    /// need are read as well, so that both readers accept the same batches.
    pub fn beside(task: FileScanTask, others: &[DeleteFile]) -> Result<Self> {
        let deletes = TaskDeletes::try_new(&task)?;
        let residual = task.residual()?;
        let mut equality_ids: Vec<i32> = deletes.equality_ids().collect();
        equality_ids.extend(others.iter().flat_map(|file| &file.equality_ids));
        equality_ids.sort_unstable();
        let (target, sources) = target(&task, &equality_ids, &residual)?;
        let schema = task.read.output_schema();
        let loader = DeleteLoader::new(task.read.clone());
        Ok(Self { task, deletes, loader, residual, target, sources, schema, projector: None })
    }

    /// Returns the task.
    pub fn task(&self) -> &FileScanTask {
        &self.task
    }

    /// Returns the schema of the rows that [`TaskReader::apply`] returns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns whether no row can match, in which case the file need not be opened.
    pub fn is_empty(&self) -> bool {
        self.residual == BoundPredicate::False || self.task.file.record_count == 0
    }

    /// Returns the delete files that must be opened and pushed before the data file is read.
    pub fn pending_deletes(&self) -> &[DeleteFile] {
        self.deletes.pending()
    }

    /// Returns the positions of deleted rows, once the deletes are loaded. Equality deletes may delete further rows.
    pub fn deleted_positions(&self) -> Result<&[Arc<Positions>]> {
        Ok(&self.deletes.rows()?.positions)
    }

    /// Opens a delete file with this schema.
    pub fn open_deletes(&self, file: &DeleteFile, schema: &ArrowSchema) -> Result<DeleteFileReader> {
        self.loader.open(file, schema)
    }

    /// Adds rows of a delete file.
    pub fn push_deletes(&mut self, reader: &mut DeleteFileReader, batch: &RecordBatch) -> Result<()> {
        self.loader.push(reader, batch)
    }

    /// Completes a delete file.
    pub fn finish_deletes(&mut self, reader: DeleteFileReader) -> Result<()> {
        self.loader.finish(reader, &self.task, &mut self.deletes)
    }

    /// Sets the schema of the data file, and returns the projector with the columns to read.
    pub fn open(&mut self, schema: &ArrowSchema) -> Result<&Projector> {
        let constants = self.task.constants()?;
        let columns = FileColumns {
            schema,
            name_mapping: self.task.read.name_mapping.as_ref(),
            constants: &constants,
            format: self.task.file.format,
        };
        let projector = Projector::try_new(&self.target, &columns).map_err(|e| self.corrupt(e))?;
        Ok(self.projector.insert(projector))
    }

    /// Returns the leaf columns whose statistics [`TaskReader::select_row_groups`] needs.
    pub fn statistics_leaves(&self) -> Result<Vec<usize>> {
        let projector = self.projector()?;
        let columns = self.residual.columns();
        let mut leaves: Vec<usize> = columns.iter().filter_map(|column| projector.file_leaf_of(column.id)).collect();
        leaves.sort_unstable();
        leaves.dedup();
        Ok(leaves)
    }

    /// Returns the row groups that may hold matching rows and begin in the range of the task.
    ///
    /// # Errors
    /// `CorruptDataFile` if the number of rows in the row groups differs from that in the manifest.
    pub fn select_row_groups(&self, groups: &[RowGroup]) -> Result<BooleanBuffer> {
        self.check_rows(groups.iter().map(|group| group.row_count).sum())?;
        let projector = self.projector()?;
        let types = self.task.read.types();
        let stats = RowGroupStats::new(groups, projector, &types);
        let may = prune(&self.residual, &stats)?.may;
        let Some((start, end)) = self.task.range else { return Ok(may) };
        let inside = BooleanBuffer::collect_bool(groups.len(), |i| {
            groups.get(i).is_some_and(|group| (start..end).contains(&group.offset))
        });
        Ok(&may & &inside)
    }

    /// Converts rows of the file, beginning at row `first_position`, to rows of the scan; None if no rows are left. If
    /// no column is to be read, the batch has no columns, only a row count.
    pub fn apply(&self, batch: &RecordBatch, first_position: u64) -> Result<Option<RecordBatch>> {
        self.rows(batch, first_position).map_err(|e| self.corrupt(e))
    }

    /// Rejects a file whose number of rows differs from that in its manifest; for files without row groups.
    pub fn check_rows(&self, rows: i64) -> Result<()> {
        if rows == self.task.file.record_count {
            return Ok(());
        }
        let message = format!("the file has {rows} rows, but its manifest records {}", self.task.file.record_count);
        Err(self.corrupt(Error::corrupt(message)))
    }

    fn rows(&self, batch: &RecordBatch, first_position: u64) -> Result<Option<RecordBatch>> {
        let rows = batch.num_rows();
        let columns = self.projector()?.project(batch, rows)?;
        let leaves = LeafColumns::new(&self.target, &columns);
        let alive = self.alive(&leaves, first_position, rows)?;
        let wants_deleted = self.task.read.output.has(MetadataColumn::Deleted);
        let mut keep = match (&alive, wants_deleted) {
            (Some(alive), false) => Some(alive.clone()),
            _ => None,
        };
        if self.residual != BoundPredicate::True {
            let alive = keep.unwrap_or_else(|| BooleanBuffer::new_set(rows));
            keep = Some(evaluate_within(&self.residual, &leaves, &alive)?);
        }
        let kept = keep.as_ref().map_or(rows, BooleanBuffer::count_set_bits);
        if kept == 0 {
            return Ok(None);
        }
        let output = self.output(&columns, alive.as_ref(), first_position, rows)?;
        match keep.filter(|_| kept < rows) {
            None => Ok(Some(output)),
            Some(keep) => Filter::new(&keep).batch(&output, &self.task.read.spare).map(Some),
        }
    }

    /// Returns a mask of the rows that are not deleted; None if no row is deleted.
    fn alive(&self, leaves: &LeafColumns<'_>, first: u64, rows: usize) -> Result<Option<BooleanBuffer>> {
        let columns = |ids: &[i32]| ids.iter().map(|&id| leaves.leaf(id)).collect();
        self.deletes.rows()?.kept(first, rows, self.task.file.sequence_number, columns)
    }

    fn output(
        &self,
        columns: &[ArrayRef],
        alive: Option<&BooleanBuffer>,
        first: u64,
        rows: usize,
    ) -> Result<RecordBatch> {
        let column = |source: &FileSource| -> Result<ArrayRef> {
            let target = |position: usize| {
                columns.get(position).cloned().ok_or_else(|| Error::internal("a column was not projected"))
            };
            match *source {
                FileSource::Target(position) => target(position),
                FileSource::Lineage(column, position) => self.lineage(column, &target(position)?, first),
                FileSource::Metadata(column) => self.metadata(column, alive, first, rows),
            }
        };
        let columns = self.sources.iter().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }

    fn metadata(
        &self,
        column: MetadataColumn,
        alive: Option<&BooleanBuffer>,
        first: u64,
        rows: usize,
    ) -> Result<ArrayRef> {
        let file = &self.task.file;
        Ok(match column {
            MetadataColumn::File => Arc::new(StringArray::from_iter_values(std::iter::repeat_n(&*file.path, rows))),
            MetadataColumn::Pos => Arc::new(Int64Array::from_iter_values(positions(first, rows)?)),
            MetadataColumn::SpecId => Arc::new(Int32Array::from_value(file.spec_id, rows)),
            MetadataColumn::Deleted => {
                let alive = alive.cloned().unwrap_or_else(|| BooleanBuffer::new_set(rows));
                Arc::new(BooleanArray::new(!&alive, None))
            }
            MetadataColumn::Partition => {
                let fields = self.task.read.output.fields.fields.iter();
                let mut field = fields.filter(|field| field.id == column.field_id());
                let field = field.next().ok_or_else(|| Error::internal("the column _partition was not selected"))?;
                let values = file.partition.iter().map(|(id, value)| (*id, value.clone().map(Value::Scalar)));
                repeated(&field.field_type, Some(&Value::Struct(values.collect())), rows)?
            }
            MetadataColumn::RowId | MetadataColumn::LastUpdatedSequenceNumber => {
                return Err(Error::internal("a lineage column must be read from the file"));
            }
        })
    }

    /// Returns a row lineage column: the stored values, and for rows without one, the row id derived from the position
    /// or the sequence number of the file.
    fn lineage(&self, column: MetadataColumn, stored: &ArrayRef, first: u64) -> Result<ArrayRef> {
        let rows = stored.len();
        let Some(first_row_id) = self.task.file.first_row_id else { return Ok(Arc::new(Int64Array::new_null(rows))) };
        let stored = stored
            .as_primitive_opt::<Int64Type>()
            .ok_or_else(|| Error::corrupt("a row lineage column is not of type long"))?;
        let sequence = self.task.file.sequence_number;
        if column == MetadataColumn::LastUpdatedSequenceNumber {
            return Ok(Arc::new(Int64Array::from_iter_values(stored.iter().map(|v| v.unwrap_or(sequence)))));
        }
        let ids = positions(first, rows)?.map(|position| first_row_id.saturating_add(position));
        Ok(Arc::new(Int64Array::from_iter_values(stored.iter().zip(ids).map(|(v, id)| v.unwrap_or(id)))))
    }

    fn projector(&self) -> Result<&Projector> {
        self.projector.as_ref().ok_or_else(|| Error::internal("the data file was not opened"))
    }

    fn corrupt(&self, error: Error) -> Error {
        error.corrupt_as(ErrorKind::CorruptDataFile).with("file", &self.task.file.path)
    }
}

fn positions(first: u64, rows: usize) -> Result<std::ops::Range<i64>> {
    let first = i64::try_from(first).map_err(|_| Error::corrupt("row positions exceed 2^63"))?;
    let rows = i64::try_from(rows).map_err(|_| Error::corrupt("row positions exceed 2^63"))?;
    first.checked_add(rows).map(|end| first..end).ok_or_else(|| Error::corrupt("row positions exceed 2^63"))
}

fn target(
    task: &FileScanTask,
    equality_ids: &[i32],
    residual: &BoundPredicate,
) -> Result<(StructType, Vec<FileSource>)> {
    let mut fields: Vec<NestedField> = Vec::new();
    let mut sources = Vec::new();
    for field in &task.read.output.fields.fields {
        let metadata = MetadataColumn::ALL.into_iter().find(|column| column.field_id() == field.id);
        sources.push(match metadata {
            None => FileSource::Target(fields.len()),
            Some(column @ (MetadataColumn::RowId | MetadataColumn::LastUpdatedSequenceNumber)) => {
                FileSource::Lineage(column, fields.len())
            }
            Some(column) => FileSource::Metadata(column),
        });
        if !matches!(sources.last(), Some(FileSource::Metadata(_))) {
            fields.push(field.clone());
        }
    }
    let mut ids: Vec<i32> = residual.columns().iter().map(|column| column.id).collect();
    ids.extend(equality_ids);
    for id in ids {
        if !fields.iter().any(|field| holds(field, id)) {
            fields.push(optional(task.read.leaf_field(id)?));
        }
    }
    Ok((StructType { fields }, sources))
}
