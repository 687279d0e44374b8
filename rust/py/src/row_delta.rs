//! Collects deleted rows for a commit.

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

/// The deleted rows of the data files of a plan.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct RowDelta(Mutex<CoreRowDelta>);

/// Position deletes to be written to one file.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PositionDeletes(PositionFile);

/// The data files from which rows may be deleted.
#[derive(FromPyObject)]
enum Planned<'py> {
    Plan(PyRef<'py, Plan>),
    Tasks(PyRef<'py, Tasks>),
}

impl RowDelta {
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut CoreRowDelta) -> Result<R>) -> Result<R> {
        work(&mut *self.0.lock().map_err(|_| Error::internal("an earlier deletion failed"))?)
    }
}

#[pymethods]
impl RowDelta {
    /// Creates an empty set of deletions for the data files of a plan, or of tasks that another process planned.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts references by value")]
    fn new(planned: Planned<'_>) -> Self {
        Self(Mutex::new(CoreRowDelta::new(match &planned {
            Planned::Plan(plan) => DataFiles::Plan(plan.core().clone()),
            Planned::Tasks(tasks) => DataFiles::Tasks(tasks.core().clone()),
        })))
    }

    /// Adds the deletions of the message at `index`, whose tasks are at these positions of the plan.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn take(&self, py: Python<'_>, messages: &CommitMessages, index: usize, places: Vec<usize>) -> PyResult<()> {
        detached(py, || {
            let message = messages.get(index)?;
            let unknown = || Error::corrupt("a commit message refers to an unknown task");
            message.deletions.iter().try_for_each(|deletion| {
                let place = *places.get(deletion.task).ok_or_else(unknown)?;
                self.with(|delta| delta.take(place, deletion))
            })
        })
    }

    /// Deletes rows at `positions` (int64) of the data file at `index` of the plan; `reader` has the rows that were
    /// deleted before.
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

    /// Removes the data files that have no rows left.
    fn remove_emptied(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || {
            self.with(|delta| {
                delta.remove_emptied();
                Ok(())
            })
        })
    }

    /// Records that rows of the data file at `index` of the plan were read: concurrent deletes of them conflict.
    fn read_file(&self, py: Python<'_>, index: usize) -> PyResult<()> {
        detached(py, || self.with(|delta| delta.read_file(index)))
    }

    /// Removes the delete files that apply only to removed data files; the plan must include all data files. Earlier
    /// commits removed the data files at `removed_before`.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts sets by value")]
    fn remove_dangling(&self, py: Python<'_>, removed_before: HashSet<usize>) -> PyResult<()> {
        detached(py, || self.with(|delta| delta.remove_dangling(&removed_before)))
    }

    /// Returns the data files that have deleted rows and stay, by their positions in the plan.
    fn staying(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        detached(py, || self.with(|delta| Ok(delta.staying())))
    }

    /// Returns the number of deleted rows.
    fn deleted_rows(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || self.with(|delta| Ok(delta.deleted_rows())))
    }

    /// Returns whether no file has deleted rows.
    fn is_empty(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || self.with(|delta| Ok(delta.is_empty())))
    }

    /// Returns which rows at `positions` (int64) of a data file are deleted, as a `pyarrow.BooleanArray`.
    fn is_deleted(&self, py: Python<'_>, index: usize, positions: ArrowArray) -> PyResult<Py<PyAny>> {
        let ArrowArray(positions, _) = positions;
        let deleted = detached(py, || {
            let positions = positions.as_primitive_opt::<Int64Type>().ok_or_else(not_positions)?;
            self.with(|delta| Ok(delta.is_deleted(index, positions)))
        })?;
        arrow::array(py, Arc::new(deleted), Arc::new(Field::new("", DataType::Boolean, true)))
    }

    /// Writes a deletion vector for each data file that stays; returns the file that contains them, or None if there
    /// are none.
    fn write_vectors(&self, py: Python<'_>, table: &Table, files: &Files) -> PyResult<Option<String>> {
        interruptible(py, |_| {
            let vectors = self.with(|delta| delta.vectors(table.0.metadata()))?;
            let Some((location, content)) = vectors else { return Ok(None) };
            // The remains of a failed write can be deleted, because no other writer uses this name.
            files.0.put_if_absent(&location, content).inspect_err(|_| drop(files.0.delete(&location)))?;
            Ok(Some(location))
        })
    }

    /// Returns the position delete files to be written, one for each data file or, if `by_file` is false, for each
    /// partition.
    fn position_deletes(&self, py: Python<'_>, table: &Table, by_file: bool) -> PyResult<Vec<PositionDeletes>> {
        let granularity = if by_file { Granularity::File } else { Granularity::Partition };
        let found = detached(py, || self.with(|delta| delta.position_files(table.0.metadata(), granularity)))?;
        Ok(found.into_iter().map(PositionDeletes).collect())
    }

    /// Adds a position delete file that was written.
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
    /// Returns the location of the file.
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// Returns `file_path` and `pos`, sorted, as a `pyarrow.RecordBatch`.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::record_batch(py, self.0.rows.clone())
    }
}

fn not_positions() -> Error {
    Error::internal("row positions are not longs")
}
