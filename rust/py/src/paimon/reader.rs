//! Reads a split: Python opens the requested files and pushes their batches, and the reader returns rows.

use std::sync::{Mutex, MutexGuard, PoisonError};

use frazil_paimon::read::split_reader::{ReadStep, SplitReader as CoreReader};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::arrow::{self, ArrowBatch, ArrowSchema};
use crate::interrupt::detached;

/// A reader of one split.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct SplitReader(Mutex<CoreReader>);

impl SplitReader {
    pub(crate) fn new(reader: CoreReader) -> Self {
        Self(Mutex::new(reader))
    }

    /// Locks the reader. A panic during a lock was converted to an error, which ended the read of this split.
    fn lock(&self) -> MutexGuard<'_, CoreReader> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl SplitReader {
    /// Returns the schema of the rows as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.lock().schema().clone();
        arrow::schema(py, schema)
    }

    /// Advances the read: `("open", file)` and `("read", file)` request a file, a `pyarrow.RecordBatch` contains rows,
    /// and None is the end.
    fn step<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match detached(py, || self.lock().step())? {
            ReadStep::Open(file) => ("open", file).into_bound_py_any(py),
            ReadStep::Read(file) => ("read", file).into_bound_py_any(py),
            ReadStep::Batch(rows) => arrow::record_batch(py, rows),
            ReadStep::Done => Ok(py.None().into_bound(py)),
        }
    }

    /// Returns the location and format of a file, and whether it has nanosecond timestamps.
    fn file(&self, py: Python<'_>, index: usize) -> PyResult<(String, &'static str, bool)> {
        detached(py, || {
            let reader = self.lock();
            let file = reader.file(index)?;
            Ok((file.path.clone(), file.format()?.name(), file.has_nanoseconds()))
        })
    }

    /// Sets the schema of an opened file; returns the leaf columns to read and the top-level columns that contain them.
    fn open(&self, py: Python<'_>, index: usize, schema: ArrowSchema) -> PyResult<(Vec<usize>, Vec<usize>)> {
        let ArrowSchema(schema) = schema;
        detached(py, || self.lock().open(index, &schema))
    }

    /// Adds rows of a file that begin at row `position`; `batch` is None if no column is to be read.
    fn push(
        &self,
        py: Python<'_>,
        index: usize,
        position: u64,
        batch: Option<ArrowBatch>,
        rows: usize,
    ) -> PyResult<()> {
        let batch = batch.map(|ArrowBatch(batch)| batch);
        detached(py, || self.lock().push(index, position, batch.as_ref(), rows))
    }

    /// Completes a file.
    fn end(&self, py: Python<'_>, index: usize) -> PyResult<()> {
        detached(py, || self.lock().end(index))
    }
}
