//! Splits of Paimon scans.

use frazil_paimon::spec::data_file_meta::{DataFileMeta, DeletionFile};
use frazil_paimon::task::SplitTask;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::reader::SplitReader;
use crate::arrow;
use crate::files::Files;
use crate::interrupt::{detached, limited};

/// Files of one bucket that are read together.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonSplit(SplitTask);

impl PaimonSplit {
    pub(crate) fn new(task: SplitTask) -> Self {
        Self(task)
    }
}

#[pymethods]
impl PaimonSplit {
    /// Reads the splits of a wire form; files are read through the storage of `files`.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, content: &[u8], files: &Files) -> PyResult<Vec<Self>> {
        let tasks = detached(py, || SplitTask::from_bytes(content, files.0.storage().clone()))?;
        Ok(tasks.into_iter().map(Self).collect())
    }

    /// The wire form of this split.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || SplitTask::to_bytes(std::slice::from_ref(&self.0)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[getter]
    fn snapshot_id(&self) -> i64 {
        self.0.split.snapshot_id
    }

    /// The partition: name and value as SQL text, NULL as None.
    #[getter]
    fn partition(&self, py: Python<'_>) -> PyResult<Vec<(String, Option<String>)>> {
        detached(py, || self.0.partition())
    }

    #[getter]
    fn bucket(&self) -> i32 {
        self.0.split.bucket
    }

    #[getter]
    fn total_buckets(&self) -> i32 {
        self.0.split.total_buckets
    }

    #[getter]
    fn raw_convertible(&self) -> bool {
        self.0.split.raw_convertible
    }

    /// The data files.
    fn data_files(&self) -> Vec<PaimonDataFile> {
        let path = |meta: &DataFileMeta| self.0.split.file_path(&self.0.read.context.table_location, meta);
        self.0.split.files.iter().map(|meta| PaimonDataFile { path: path(meta), meta: meta.clone() }).collect()
    }

    /// Where the deletion vectors of the data files are, in their order.
    fn deletion_files(&self) -> Vec<Option<PaimonDeletionFile>> {
        let of = |at| self.0.split.deletion_files.get(at).cloned().flatten().map(PaimonDeletionFile);
        (0..self.0.split.files.len()).map(of).collect()
    }

    /// The schema of the rows, as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, self.0.read.output.schema())
    }

    /// Starts to read the split.
    fn reader(&self, py: Python<'_>) -> PyResult<SplitReader> {
        let context = limited(py)?;
        detached(py, || self.0.reader(&context)).map(SplitReader::new)
    }

    /// Where the files of the split lie.
    #[getter]
    fn files(&self) -> Files {
        Files(self.0.read.context.files.clone())
    }
}

/// A data file of a split.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonDataFile {
    path: String,
    meta: DataFileMeta,
}

#[pymethods]
impl PaimonDataFile {
    #[getter]
    fn file_path(&self) -> &str {
        &self.path
    }

    #[getter]
    fn file_name(&self) -> &str {
        &self.meta.file_name
    }

    /// The format in capitals, by the name of the file.
    #[getter]
    fn file_format(&self) -> String {
        self.meta.file_name.rsplit_once('.').map_or_else(String::new, |(_, format)| format.to_ascii_uppercase())
    }

    #[getter]
    fn file_size_in_bytes(&self) -> i64 {
        self.meta.file_size_bytes
    }

    #[getter]
    fn row_count(&self) -> i64 {
        self.meta.row_count
    }

    #[getter]
    fn level(&self) -> i32 {
        self.meta.level
    }

    #[getter]
    fn schema_id(&self) -> i64 {
        self.meta.schema_id
    }

    #[getter]
    fn min_sequence_number(&self) -> i64 {
        self.meta.min_sequence_number
    }

    #[getter]
    fn max_sequence_number(&self) -> i64 {
        self.meta.max_sequence_number
    }

    #[getter]
    fn delete_row_count(&self) -> Option<i64> {
        self.meta.delete_row_count
    }

    #[getter]
    fn first_row_id(&self) -> Option<i64> {
        self.meta.first_row_id
    }

    #[getter]
    fn extra_files(&self) -> Vec<String> {
        self.meta.extra_files.clone()
    }
}

/// Where the deletion vector of a data file is.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonDeletionFile(DeletionFile);

#[pymethods]
impl PaimonDeletionFile {
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    #[getter]
    fn offset(&self) -> i64 {
        self.0.offset
    }

    #[getter]
    fn length(&self) -> i64 {
        self.0.length
    }

    #[getter]
    fn cardinality(&self) -> Option<i64> {
        self.0.cardinality
    }
}
