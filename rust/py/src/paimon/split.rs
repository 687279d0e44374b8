//! Splits of Paimon scans.

use frazil_paimon::spec::data_file_meta::{DataFileMeta, DeletionFile};
use frazil_paimon::task::SplitTask;
use frazil_paimon::write::change::Home;
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

    /// Returns the bucket of the files.
    pub(super) fn home(&self) -> Home {
        Home { partition: self.0.split.partition.as_slice().into(), bucket: self.0.split.bucket }
    }
}

#[pymethods]
impl PaimonSplit {
    /// Deserialises splits; files are read through the storage of `files`.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, content: &[u8], files: &Files) -> PyResult<Vec<Self>> {
        let tasks = detached(py, || SplitTask::from_bytes(content, files.0.storage().clone()))?;
        Ok(tasks.into_iter().map(Self).collect())
    }

    /// Returns the wire form of this split.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || SplitTask::to_bytes(std::slice::from_ref(&self.0)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The id of the snapshot.
    #[getter]
    fn snapshot_id(&self) -> i64 {
        self.0.split.snapshot_id
    }

    /// Returns the partition: names, and values as SQL text, with None for NULL.
    #[getter]
    fn partition(&self, py: Python<'_>) -> PyResult<Vec<(String, Option<String>)>> {
        detached(py, || self.0.partition())
    }

    /// Returns the partition as an overwrite accepts it: names, and values as text, with None for NULL.
    #[getter]
    fn partition_values(&self, py: Python<'_>) -> PyResult<Vec<(String, Option<String>)>> {
        detached(py, || self.0.read.context.partition_values(&self.0.split.partition))
    }

    /// The bucket.
    #[getter]
    fn bucket(&self) -> i32 {
        self.0.split.bucket
    }

    /// The number of buckets of the partition.
    #[getter]
    fn total_buckets(&self) -> i32 {
        self.0.split.total_buckets
    }

    /// Whether the files can be read without merging.
    #[getter]
    fn raw_convertible(&self) -> bool {
        self.0.split.raw_convertible
    }

    /// Returns the data files.
    fn data_files(&self) -> Vec<PaimonDataFile> {
        let path = |meta: &DataFileMeta| self.0.split.file_path(&self.0.read.context.table_location, meta);
        self.0.split.files.iter().map(|meta| PaimonDataFile { path: path(meta), meta: meta.clone() }).collect()
    }

    /// Returns the locations of the deletion vectors of the data files, in order.
    fn deletion_files(&self) -> Vec<Option<PaimonDeletionFile>> {
        let of = |at| self.0.split.deletion_files.get(at).cloned().flatten().map(PaimonDeletionFile);
        (0..self.0.split.files.len()).map(of).collect()
    }

    /// Returns the schema of the rows as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, self.0.read.output.schema())
    }

    /// Begins to read the split.
    fn reader(&self, py: Python<'_>) -> PyResult<SplitReader> {
        let context = limited(py)?;
        detached(py, || self.0.reader(&context)).map(SplitReader::new)
    }

    /// Returns the files through which the split is read.
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
    /// The location of the file.
    #[getter]
    fn file_path(&self) -> &str {
        &self.path
    }

    /// The name of the file.
    #[getter]
    fn file_name(&self) -> &str {
        &self.meta.file_name
    }

    /// Returns the format in upper case, derived from the file name.
    #[getter]
    fn file_format(&self) -> String {
        self.meta.file_name.rsplit_once('.').map_or_else(String::new, |(_, format)| format.to_ascii_uppercase())
    }

    /// The size of the file in bytes.
    #[getter]
    fn file_size_in_bytes(&self) -> i64 {
        self.meta.file_size_bytes
    }

    /// The number of rows.
    #[getter]
    fn row_count(&self) -> i64 {
        self.meta.row_count
    }

    /// The level in the LSM tree.
    #[getter]
    fn level(&self) -> i32 {
        self.meta.level
    }

    /// The id of the schema that the file was written with.
    #[getter]
    fn schema_id(&self) -> i64 {
        self.meta.schema_id
    }

    /// The smallest sequence number.
    #[getter]
    fn min_sequence_number(&self) -> i64 {
        self.meta.min_sequence_number
    }

    /// The greatest sequence number.
    #[getter]
    fn max_sequence_number(&self) -> i64 {
        self.meta.max_sequence_number
    }

    /// The number of records that delete; None if it is unknown.
    #[getter]
    fn delete_row_count(&self) -> Option<i64> {
        self.meta.delete_row_count
    }

    /// The row id of the first row; None if the file has no row ids.
    #[getter]
    fn first_row_id(&self) -> Option<i64> {
        self.meta.first_row_id
    }

    /// The names of the additional files, such as file indexes.
    #[getter]
    fn extra_files(&self) -> Vec<String> {
        self.meta.extra_files.clone()
    }
}

/// The location of a data file's deletion vector.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonDeletionFile(DeletionFile);

#[pymethods]
impl PaimonDeletionFile {
    /// The location of the file.
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// The offset of the deletion vector in the file.
    #[getter]
    fn offset(&self) -> i64 {
        self.0.offset
    }

    /// The length of the deletion vector in bytes.
    #[getter]
    fn length(&self) -> i64 {
        self.0.length
    }

    /// The number of deleted rows; None if it is unknown.
    #[getter]
    fn cardinality(&self) -> Option<i64> {
        self.0.cardinality
    }
}
