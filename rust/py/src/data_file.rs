//! Reads data files that pyarrow cannot read: Avro, and ORC files that its reader rejects.

use std::sync::{Arc, Mutex};

use arrow_array::{Array, RecordBatch};
use arrow_schema::{Field, SchemaRef};
use bytes::Bytes;
use frazil_core::avro::{AvroFile, Projection};
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::orc::OrcFile;
use frazil_paimon::read::int96;
use pyo3::prelude::*;

use crate::arrow;
use crate::files::Files;
use crate::interrupt::{detached, limited};

/// The maximum size of a data file that is read completely into memory.
const FILE_LIMIT_BYTES: u64 = 8 << 30;

/// An iterator over the remaining batches.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// A reader of a data file without pyarrow.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct BatchReader {
    file: Source,
    path: String,
    batches: Mutex<Option<Batches>>,
}

/// The file that is read.
enum Source {
    Avro(AvroFile),
    Orc(OrcFile),
}

#[pymethods]
impl BatchReader {
    /// Opens the file at a recorded location; the format is `AVRO` or `ORC`.
    #[new]
    #[pyo3(signature = (files, path, file_format))]
    fn new(py: Python<'_>, files: &Files, path: String, file_format: &str) -> PyResult<Self> {
        let file = detached(py, || {
            let content = files.0.read(&path, FILE_LIMIT_BYTES)?;
            Source::open(content, file_format).map_err(|e| corrupt(e, &path))
        })?;
        Ok(Self { file, path, batches: Mutex::default() })
    }

    /// Returns the schema of the file, with field ids, as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = detached(py, || self.file.schema().map_err(|e| corrupt(e, &self.path)))?;
        arrow::schema(py, schema)
    }

    /// Begins to read these top-level columns in batches of about `batch_rows`.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn begin(&self, py: Python<'_>, columns: Vec<usize>, batch_rows: usize) -> PyResult<()> {
        let context = limited(py)?;
        detached(py, || {
            let batches = self.file.batches(&columns, batch_rows, &context).map_err(|e| corrupt(e, &self.path))?;
            *self.batches.lock().map_err(|_| poisoned())? = Some(batches);
            Ok(())
        })
    }

    /// Returns the next batch as a `pyarrow.RecordBatch`; None at the end.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let batch = detached(py, || {
            let mut batches = self.batches.lock().map_err(|_| poisoned())?;
            let batches = batches.as_mut().ok_or_else(|| Error::internal("the read has not begun"))?;
            batches.next().transpose().map_err(|e| corrupt(e, &self.path))
        })?;
        batch.map(|batch| arrow::record_batch(py, batch)).transpose()
    }
}

/// Returns the exact INT96 timestamps of a leaf column of a Parquet file in these row groups; `column` is its name.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
pub(crate) fn int96_timestamps(
    py: Python<'_>,
    files: &Files,
    path: &str,
    column: &str,
    leaf: usize,
    row_groups: Vec<usize>,
) -> PyResult<Py<PyAny>> {
    let values = detached(py, || {
        let content = files.0.read(path, FILE_LIMIT_BYTES)?;
        int96::read(content, leaf, &row_groups).map_err(|e| e.with("column", column).with("file", path))
    })?;
    let field = Field::new("", values.data_type().clone(), true);
    arrow::array(py, Arc::new(values), Arc::new(field))
}

impl Source {
    fn open(content: Bytes, file_format: &str) -> Result<Self> {
        match file_format {
            "AVRO" => AvroFile::open(content).map(Self::Avro),
            "ORC" => OrcFile::open(content).map(Self::Orc),
            other => Err(Error::unsupported(format!("data files of format {other} are not supported"))),
        }
    }

    fn schema(&self) -> Result<SchemaRef> {
        match self {
            Self::Avro(file) => file.arrow_schema().map(Into::into),
            Self::Orc(file) => Ok(file.schema().clone()),
        }
    }

    fn batches(&self, columns: &[usize], batch_rows: usize, context: &Context) -> Result<Batches> {
        Ok(match self {
            Self::Avro(file) => {
                // The formats differ in their treatment of decimals that exceed their precision and of invalid UTF-8.
                let projection = Projection::wide_columns(file.schema(), columns)?;
                Box::new(file.batches(&projection, batch_rows, context)?)
            }
            Self::Orc(file) => Box::new(file.batches(columns, batch_rows)?),
        })
    }
}

fn corrupt(error: Error, path: &str) -> Error {
    error.corrupt_as(ErrorKind::CorruptDataFile).with("file", path)
}

fn poisoned() -> Error {
    Error::internal("an earlier read of this file panicked")
}
