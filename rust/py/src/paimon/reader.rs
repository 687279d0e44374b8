//! Reading a split: Python opens the files that are asked for and pushes their batches, rows come out.

use std::sync::{Mutex, MutexGuard, PoisonError};

use frazil_paimon::read::split_reader::{SplitReader as CoreReader, Step};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::arrow::{self, ArrowBatch, ArrowSchema};
use crate::interrupt::detached;

/// Reads one split.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct SplitReader(Mutex<CoreReader>);

impl SplitReader {
    pub(crate) fn new(reader: CoreReader) -> Self {
        Self(Mutex::new(reader))
    }

    /// A panic while the lock was held was turned into an error, which ended the read of this split.
    fn lock(&self) -> MutexGuard<'_, CoreReader> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl SplitReader {
    /// The schema of the rows, as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.lock().schema().clone();
        arrow::schema(py, schema)
    }

    /// Goes on: `("open", file)` and `("read", file)` ask for a file, a `pyarrow.RecordBatch` is rows, None is the end.
    fn step<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match detached(py, || self.lock().step())? {
            Step::Open(file) => ("open", file).into_bound_py_any(py),
            Step::Read(file) => ("read", file).into_bound_py_any(py),
            Step::Batch(rows) => arrow::record_batch(py, rows),
            Step::Done => Ok(py.None().into_bound(py)),
        }
    }

    /// Location and format of a file, and whether it has timestamps of nanoseconds.
    fn file(&self, py: Python<'_>, index: usize) -> PyResult<(String, &'static str, bool)> {
        detached(py, || {
            let reader = self.lock();
            let file = reader.file(index)?;
            Ok((file.path.clone(), file.format()?.name(), file.has_nanoseconds()))
        })
    }

    /// Takes the schema of an opened file; gives the leaf columns to read and the top-level columns that hold them.
    fn open(&self, py: Python<'_>, index: usize, schema: ArrowSchema) -> PyResult<(Vec<usize>, Vec<usize>)> {
        let ArrowSchema(schema) = schema;
        detached(py, || self.lock().open(index, &schema))
    }

    /// Takes rows of a file that begin at row `position`; `batch` is None when no column is to be read.
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

    /// Ends a file.
    fn end(&self, py: Python<'_>, index: usize) -> PyResult<()> {
        detached(py, || self.lock().end(index))
    }
}
