//! Statistics of Paimon tables.

use std::sync::{Mutex, PoisonError};

use frazil_paimon::maintenance::analyze::Analysis;
use frazil_paimon::table::Table;
use pyo3::prelude::*;

use super::table::PaimonTable;
use crate::arrow::ArrowBatch;
use crate::interrupt::{detached, interruptible};

/// The statistics of a table, to which its rows are added.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonAnalysis {
    table: Table,
    found: Mutex<Analysis>,
}

#[pymethods]
impl PaimonAnalysis {
    /// Creates the statistics of columns; None for all columns that are not nested.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn new(py: Python<'_>, table: &PaimonTable, columns: Option<Vec<String>>) -> PyResult<Self> {
        let table = table.0.clone();
        let found = detached(py, || Analysis::try_new(table.schema(), columns.as_deref()))?;
        Ok(Self { table, found: Mutex::new(found) })
    }

    /// Returns the names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).columns()
    }

    /// Adds rows with these columns.
    fn add(&self, py: Python<'_>, rows: ArrowBatch) -> PyResult<()> {
        let ArrowBatch(rows) = rows;
        detached(py, || self.found.lock().unwrap_or_else(PoisonError::into_inner).add(&rows))
    }

    /// Returns the id of the schema that the statistics belong to, and the content of their file. `rows` is the number of
    /// rows of the table in the snapshot.
    fn finish(&self, py: Python<'_>, snapshot_id: i64, rows: i64) -> PyResult<(i64, String)> {
        interruptible(py, |context| {
            let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.finish(&self.table, snapshot_id, rows, context)
        })
    }
}
