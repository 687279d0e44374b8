//! Data files that pyarrow does not read: Avro, and ORC files that its reader refuses.

use std::sync::Mutex;

use arrow_array::RecordBatch;
use frazil_core::avro::{AvroFile, Projection};
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::orc::OrcFile;
use frazil_iceberg::read::orc::open_orc;
use pyo3::prelude::*;

use crate::arrow;
use crate::files::Files;
use crate::interrupt::{detached, limited};

/// A data file is not read whole when it is longer than this.
const FILE_LIMIT_BYTES: u64 = 8 << 30;

/// Batches that are still to come.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Reads an Avro data file.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct AvroReader {
    file: AvroFile,
    path: String,
    batches: Mutex<Option<Batches>>,
}

/// Reads an ORC file without pyarrow.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct OrcReader {
    file: OrcFile,
    path: String,
    batches: Mutex<Option<Batches>>,
}

#[pymethods]
impl AvroReader {
    /// Opens the file at a recorded location.
    #[new]
    fn new(py: Python<'_>, files: &Files, path: String) -> PyResult<Self> {
        let file =
            detached(py, || AvroFile::open(files.0.read(&path, FILE_LIMIT_BYTES)?).map_err(|e| corrupt(e, &path)))?;
        Ok(Self { file, path, batches: Mutex::default() })
    }

    /// The schema of the file, with field ids, as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = detached(py, || self.file.arrow_schema().map_err(|e| corrupt(e, &self.path)))?;
        arrow::schema(py, schema.into())
    }

    /// Begins to read these top-level columns in batches of about `batch_rows`.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn begin(&self, py: Python<'_>, columns: Vec<usize>, batch_rows: usize) -> PyResult<()> {
        let context = limited(py)?;
        detached(py, || {
            let projection = Projection::natural_columns(self.file.schema(), &columns);
            let batches = projection.and_then(|p| self.file.batches(&p, batch_rows, &context));
            begin(&self.batches, batches.map(|b| Box::new(b) as Batches).map_err(|e| corrupt(e, &self.path))?)
        })
    }

    /// The next batch, as a `pyarrow.RecordBatch`; None at the end.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let batch = detached(py, || next(&self.batches, &self.path))?;
        batch.map(|batch| arrow::record_batch(py, batch)).transpose()
    }
}

#[pymethods]
impl OrcReader {
    /// Opens the file at a recorded location.
    #[new]
    fn new(py: Python<'_>, files: &Files, path: String) -> PyResult<Self> {
        let file = detached(py, || open_orc(files.0.read(&path, FILE_LIMIT_BYTES)?).map_err(|e| corrupt(e, &path)))?;
        Ok(Self { file, path, batches: Mutex::default() })
    }

    /// The schema of the file, with field ids, as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, self.file.schema().clone())
    }

    /// Begins to read these top-level columns in batches of about `batch_rows`.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn begin(&self, py: Python<'_>, columns: Vec<usize>, batch_rows: usize) -> PyResult<()> {
        detached(py, || {
            let batches = self.file.batches(&columns, batch_rows);
            begin(&self.batches, batches.map(|b| Box::new(b) as Batches).map_err(|e| corrupt(e, &self.path))?)
        })
    }

    /// The next batch, as a `pyarrow.RecordBatch`; None at the end.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let batch = detached(py, || next(&self.batches, &self.path))?;
        batch.map(|batch| arrow::record_batch(py, batch)).transpose()
    }
}

fn begin(slot: &Mutex<Option<Batches>>, batches: Batches) -> Result<()> {
    *slot.lock().map_err(|_| poisoned())? = Some(batches);
    Ok(())
}

fn next(slot: &Mutex<Option<Batches>>, path: &str) -> Result<Option<RecordBatch>> {
    let mut batches = slot.lock().map_err(|_| poisoned())?;
    let batches = batches.as_mut().ok_or_else(|| Error::internal("the read was not begun"))?;
    batches.next().transpose().map_err(|e| corrupt(e, path))
}

fn corrupt(error: Error, path: &str) -> Error {
    error.corrupt_as(ErrorKind::CorruptDataFile).with("file", path)
}

fn poisoned() -> Error {
    Error::internal("an earlier read of this file panicked")
}
