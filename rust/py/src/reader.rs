//! Reads a task: Python opens files and pushes their batches, Rust does the rest.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use frazil_core::bitmap::Positions;
use frazil_core::error::{Error, Result};
use frazil_iceberg::read::project::Projector;
use frazil_iceberg::scan::delete_index::DeleteFile as CoreDeleteFile;
use frazil_iceberg::scan::delete_load::DeleteFileReader;
use frazil_iceberg::scan::reader::TaskReader as CoreTaskReader;
use frazil_iceberg::scan::row_groups::{LeafStatistics, RowGroup};
use frazil_iceberg::scan::task::FileScanTask as CoreTask;
use pyo3::prelude::*;

use crate::arrow::{self, ArrowBatch, ArrowSchema};
use crate::delete_file::DeleteFile;
use crate::interrupt::detached;

/// Leaf columns in depth-first order, and the top-level columns that contain them.
type Wanted = (Vec<usize>, Vec<usize>);

/// The statistics of a leaf in a row group: leaf, physical type, minimum, maximum, NULL count.
type Statistics = (usize, String, Option<Vec<u8>>, Option<Vec<u8>>, Option<i64>);

/// A reader of one task.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct TaskReader(Mutex<CoreTaskReader>);

/// A reader of one delete file of a task.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct DeleteReader {
    reader: Mutex<Option<DeleteFileReader>>,
    wanted: Wanted,
}

impl TaskReader {
    pub(crate) fn new(task: CoreTask, others: &[CoreDeleteFile]) -> Result<Self> {
        CoreTaskReader::beside(task, others).map(|reader| Self(Mutex::new(reader)))
    }

    /// Returns the positions of deleted rows.
    pub(crate) fn deleted_positions(&self) -> Result<Vec<Arc<Positions>>> {
        Ok(lock(&self.0).deleted_positions()?.to_vec())
    }
}

#[pymethods]
impl TaskReader {
    /// Returns the schema of the rows as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = lock(&self.0).schema().clone();
        arrow::schema(py, schema)
    }

    /// Returns whether no row can match.
    #[getter]
    fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Returns the delete files that must be pushed first.
    fn pending_deletes(&self) -> Vec<DeleteFile> {
        lock(&self.0).pending_deletes().iter().cloned().map(DeleteFile).collect()
    }

    /// Opens a delete file with this schema.
    fn open_deletes(&self, py: Python<'_>, file: &DeleteFile, schema: ArrowSchema) -> PyResult<DeleteReader> {
        let ArrowSchema(schema) = schema;
        detached(py, || {
            let reader = lock(&self.0).open_deletes(&file.0, &schema)?;
            Ok(DeleteReader { wanted: wanted(reader.projector()), reader: Mutex::new(Some(reader)) })
        })
    }

    /// Adds rows of a delete file.
    fn push_deletes(&self, py: Python<'_>, deletes: &DeleteReader, batch: ArrowBatch) -> PyResult<()> {
        let ArrowBatch(batch) = batch;
        detached(py, || {
            let mut deletes = lock(&deletes.reader);
            let reader = deletes.as_mut().ok_or_else(|| Error::internal("the delete file is already finished"))?;
            lock(&self.0).push_deletes(reader, &batch)
        })
    }

    /// Completes a delete file.
    fn finish_deletes(&self, py: Python<'_>, deletes: &DeleteReader) -> PyResult<()> {
        detached(py, || {
            let reader = lock(&deletes.reader).take();
            let reader = reader.ok_or_else(|| Error::internal("the delete file is already finished"))?;
            lock(&self.0).finish_deletes(reader)
        })
    }

    /// Opens the data file with this schema; returns the leaf columns to read and the top-level columns that contain
    /// them.
    fn open(&self, py: Python<'_>, schema: ArrowSchema) -> PyResult<Wanted> {
        let ArrowSchema(schema) = schema;
        detached(py, || lock(&self.0).open(&schema).map(wanted))
    }

    /// Returns the leaf columns whose statistics [`TaskReader::select_row_groups`] needs.
    fn statistics_leaves(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        detached(py, || lock(&self.0).statistics_leaves())
    }

    /// Returns which row groups may hold matching rows; each is given by its row count, the offset of its first page,
    /// and its statistics.
    fn select_row_groups(&self, py: Python<'_>, groups: Vec<(i64, i64, Vec<Statistics>)>) -> PyResult<Vec<bool>> {
        let groups: Vec<RowGroup> = groups.into_iter().map(row_group).collect();
        detached(py, || Ok(lock(&self.0).select_row_groups(&groups)?.iter().collect()))
    }

    /// Rejects a file whose number of rows differs from that in its manifest.
    fn check_rows(&self, py: Python<'_>, rows: i64) -> PyResult<()> {
        detached(py, || lock(&self.0).check_rows(rows))
    }

    /// Converts `row_count` rows of the file, beginning at row `first_position`, to rows of the scan; None if no rows
    /// are left. `batch` is None if no column is to be read.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        batch: Option<ArrowBatch>,
        first_position: u64,
        row_count: usize,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let batch = match batch {
            Some(ArrowBatch(batch)) => batch,
            None => arrow::rows_without_columns(row_count),
        };
        let rows = detached(py, || lock(&self.0).apply(&batch, first_position))?;
        rows.map(|rows| arrow::record_batch(py, rows)).transpose()
    }
}

#[pymethods]
impl DeleteReader {
    /// Returns the leaf columns to read and the top-level columns that contain them.
    #[getter]
    fn wanted(&self) -> Wanted {
        self.wanted.clone()
    }
}

fn wanted(projector: &Projector) -> Wanted {
    (projector.leaves().to_vec(), projector.top_level().to_vec())
}

fn row_group((row_count, offset, columns): (i64, i64, Vec<Statistics>)) -> RowGroup {
    let columns = columns.into_iter().map(|(leaf, physical_type, min, max, null_count)| LeafStatistics {
        leaf,
        physical_type,
        min,
        max,
        null_count,
    });
    RowGroup { row_count, offset, columns: columns.collect() }
}

/// Locks the reader. A panic during a lock was converted to an error, which ended the read of this task.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
