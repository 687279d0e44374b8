//! Deleted rows on their way to a commit.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, Field};
use frazil_core::error::{Error, Result};
use frazil_iceberg::write::row_delta::{DataFiles, Granularity, PositionFile, RowDelta as CoreRowDelta};
use pyo3::prelude::*;

use crate::arrow::{self, ArrowArray};
use crate::files::Files;
use crate::interrupt::{detached, interruptible};
use crate::message::CommitMessages;
use crate::reader::TaskReader;
use crate::scan::Plan;
use crate::table::Table;
use crate::tasks::Tasks;

/// Which rows of the data files of a plan are deleted.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct RowDelta(Mutex<CoreRowDelta>);

/// Position deletes to be written as one file.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PositionDeletes(PositionFile);

/// The data files that may lose rows.
#[derive(FromPyObject)]
enum Planned<'py> {
    Plan(PyRef<'py, Plan>),
    Tasks(PyRef<'py, Tasks>),
}

impl RowDelta {
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut CoreRowDelta) -> Result<R>) -> Result<R> {
        work(&mut *self.0.lock().map_err(|_| Error::internal("a deletion failed before"))?)
    }
}

#[pymethods]
impl RowDelta {
    /// Deletes rows of the data files of a plan, or of tasks that another process planned.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts references by value")]
    fn new(planned: Planned<'_>) -> Self {
        Self(Mutex::new(CoreRowDelta::new(match &planned {
            Planned::Plan(plan) => DataFiles::Plan(plan.core().clone()),
            Planned::Tasks(tasks) => DataFiles::Tasks(tasks.core().clone()),
        })))
    }

    /// Takes the deletions of the message at `index`, whose tasks are at these places of the plan.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn take(&self, py: Python<'_>, messages: &CommitMessages, index: usize, places: Vec<usize>) -> PyResult<()> {
        detached(py, || {
            let message = messages.get(index)?;
            let unknown = || Error::corrupt("a commit message is about a task that was not given");
            message.deletions.iter().try_for_each(|deletion| {
                let place = *places.get(deletion.task).ok_or_else(unknown)?;
                self.with(|delta| delta.take(place, deletion))
            })
        })
    }

    /// Deletes rows at `positions` (int64) of the data file at `index` of the plan; `reader` knows what was deleted before.
    fn delete_rows(&self, py: Python<'_>, index: usize, positions: ArrowArray, reader: &TaskReader) -> PyResult<()> {
        let ArrowArray(positions, _) = positions;
        detached(py, || {
            let positions = positions.as_primitive_opt::<Int64Type>().ok_or_else(not_positions)?;
            let before = reader.deleted_positions()?;
            self.with(|delta| delta.delete_rows(index, positions, &before))
        })
    }

    /// Removes the data file at `index` of the plan.
    fn remove_file(&self, py: Python<'_>, index: usize) -> PyResult<()> {
        detached(py, || self.with(|delta| delta.remove_file(index)))
    }

    /// Lets those data files go that have no row left.
    fn remove_emptied(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || {
            self.with(|delta| {
                delta.remove_emptied();
                Ok(())
            })
        })
    }

    /// Note that rows of the data file at `index` of the plan were read: concurrent deletes of them conflict.
    fn read_file(&self, py: Python<'_>, index: usize) -> PyResult<()> {
        detached(py, || self.with(|delta| delta.read_file(index)))
    }

    /// Remove the delete files that apply only to removed data files; the plan is of all data files. Earlier commits
    /// removed the data files at `removed_before`.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts sets by value")]
    fn remove_dangling(&self, py: Python<'_>, removed_before: HashSet<usize>) -> PyResult<()> {
        detached(py, || self.with(|delta| delta.remove_dangling(&removed_before)))
    }

    /// The data files that lose rows and stay, by their places in the plan.
    fn staying(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        detached(py, || self.with(|delta| Ok(delta.staying())))
    }

    /// How many rows are deleted.
    fn deleted_rows(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || self.with(|delta| Ok(delta.deleted_rows())))
    }

    /// Whether no file loses a row.
    fn is_empty(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || self.with(|delta| Ok(delta.is_empty())))
    }

    /// Which rows at `positions` (int64) of a data file are deleted, as a `pyarrow.BooleanArray`.
    fn is_deleted(&self, py: Python<'_>, index: usize, positions: ArrowArray) -> PyResult<Py<PyAny>> {
        let ArrowArray(positions, _) = positions;
        let deleted = detached(py, || {
            let positions = positions.as_primitive_opt::<Int64Type>().ok_or_else(not_positions)?;
            self.with(|delta| Ok(delta.is_deleted(index, positions)))
        })?;
        arrow::array(py, Arc::new(deleted), Arc::new(Field::new("", DataType::Boolean, true)))
    }

    /// Writes a deletion vector for each data file that stays; gives the file that holds them, None where there are none.
    fn write_vectors(&self, py: Python<'_>, table: &Table, files: &Files) -> PyResult<Option<String>> {
        interruptible(py, |_| {
            let vectors = self.with(|delta| delta.vectors(table.0.metadata()))?;
            let Some((location, content)) = vectors else { return Ok(None) };
            // What a failed write left can go: the name is nobody else's.
            files.0.put_if_absent(&location, content).inspect_err(|_| drop(files.0.delete(&location)))?;
            Ok(Some(location))
        })
    }

    /// The position delete files to be written, one for each data file or, where not `by_file`, for each partition.
    fn position_deletes(&self, py: Python<'_>, table: &Table, by_file: bool) -> PyResult<Vec<PositionDeletes>> {
        let granularity = if by_file { Granularity::File } else { Granularity::Partition };
        let found = detached(py, || self.with(|delta| delta.position_files(table.0.metadata(), granularity)))?;
        Ok(found.into_iter().map(PositionDeletes).collect())
    }

    /// Takes a position delete file that was written.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn add_position_deletes(
        &self,
        py: Python<'_>,
        table: &Table,
        deletes: &PositionDeletes,
        size_bytes: i64,
        column_sizes: Vec<i64>,
    ) -> PyResult<()> {
        detached(py, || {
            self.with(|delta| delta.add_position_file(&deletes.0, size_bytes, &column_sizes, table.0.metadata()))
        })
    }
}

#[pymethods]
impl PositionDeletes {
    /// Where the file goes.
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// `file_path` and `pos`, sorted, as a `pyarrow.RecordBatch`.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::record_batch(py, self.0.rows.clone())
    }
}

fn not_positions() -> Error {
    Error::internal("row positions are longs")
}
