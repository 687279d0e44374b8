//! Tasks of a scan.

use frazil_iceberg::scan::task::FileScanTask as CoreTask;
use frazil_iceberg::scan::wire;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow;
use crate::delete_file::DeleteFile;
use crate::errors::OrRaise;
use crate::files::Files;
use crate::interrupt::{detached, limited};
use crate::reader::TaskReader;

/// One data file with its deletes.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct FileScanTask(CoreTask);

impl FileScanTask {
    pub(crate) fn new(task: CoreTask) -> Self {
        Self(task)
    }
}

#[pymethods]
impl FileScanTask {
    /// Deserialises tasks; files are read through the storage of `files`.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, content: &[u8], files: &Files) -> PyResult<Vec<Self>> {
        let budget = limited(py)?.budget;
        let tasks = detached(py, || wire::read(content, files.0.storage().clone(), budget))?;
        Ok(tasks.into_iter().map(Self).collect())
    }

    /// Returns the wire form of this task.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || wire::write(std::slice::from_ref(&self.0)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The location of the file.
    #[getter]
    fn file_path(&self) -> &str {
        &self.0.file.path
    }

    /// The file format: `PARQUET`, `ORC`, `AVRO` or `PUFFIN`.
    #[getter]
    fn file_format(&self) -> &'static str {
        self.0.file.format.name()
    }

    /// The number of records.
    #[getter]
    fn record_count(&self) -> i64 {
        self.0.file.record_count
    }

    /// The size of the file in bytes.
    #[getter]
    fn file_size_in_bytes(&self) -> i64 {
        self.0.file.size_bytes
    }

    /// The id of the partition spec.
    #[getter]
    fn spec_id(&self) -> i32 {
        self.0.file.spec_id
    }

    /// The data sequence number.
    #[getter]
    fn sequence_number(&self) -> i64 {
        self.0.file.sequence_number
    }

    /// The row id of the first row; None if the file has no row ids.
    #[getter]
    fn first_row_id(&self) -> Option<i64> {
        self.0.file.first_row_id
    }

    /// Returns the partition tuple: names, and values as SQL text, with None for NULL.
    #[getter]
    fn partition(&self, py: Python<'_>) -> PyResult<Vec<(String, Option<String>)>> {
        let partition = self.0.partition().or_raise(py)?;
        let fields = partition.spec.fields.iter().zip(&self.0.file.partition);
        Ok(fields.map(|(field, (_, value))| (field.name.clone(), value.as_ref().map(ToString::to_string))).collect())
    }

    /// The delete files that apply to the data file.
    #[getter]
    fn delete_files(&self) -> Vec<DeleteFile> {
        self.0.deletes.iter().cloned().map(DeleteFile).collect()
    }

    /// Returns the residual filter for this file as SQL.
    #[getter]
    fn residual(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.0.residual().or_raise(py)?.to_string())
    }

    /// Returns the schema of the rows as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, self.0.read.output_schema())
    }

    /// Begins to read the task. With `beside`, another task of the same file, both accept the same batches.
    #[pyo3(signature = (beside = None))]
    fn reader(&self, py: Python<'_>, beside: Option<&Self>) -> PyResult<TaskReader> {
        let task = self.0.clone();
        let others = beside.map_or_else(Vec::new, |other| other.0.deletes.clone());
        detached(py, || TaskReader::new(task, &others))
    }

    /// Returns the files through which the task is read.
    #[getter]
    fn files(&self) -> Files {
        Files(self.0.read.files.clone())
    }
}
