//! The delete files of a task.

use frazil_iceberg::scan::delete_index::DeleteFile as CoreDeleteFile;
use pyo3::prelude::*;

/// A delete file, or a deletion vector in a Puffin file.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct DeleteFile(pub(crate) CoreDeleteFile);

#[pymethods]
impl DeleteFile {
    /// The location of the file.
    #[getter]
    fn file_path(&self) -> &str {
        &self.0.path
    }

    /// The file format: `PARQUET`, `ORC`, `AVRO` or `PUFFIN`.
    #[getter]
    fn file_format(&self) -> &'static str {
        self.0.format.name()
    }

    /// Returns 1 for position deletes, 2 for equality deletes.
    #[getter]
    fn content(&self) -> i32 {
        self.0.content.code()
    }

    /// The number of records.
    #[getter]
    fn record_count(&self) -> i64 {
        self.0.record_count
    }

    /// The size of the file in bytes.
    #[getter]
    fn file_size_in_bytes(&self) -> i64 {
        self.0.size_bytes
    }

    /// The data sequence number.
    #[getter]
    fn sequence_number(&self) -> i64 {
        self.0.sequence_number
    }

    /// The id of the partition spec.
    #[getter]
    fn spec_id(&self) -> i32 {
        self.0.spec_id
    }

    /// The field ids of the key of equality deletes; empty for other deletes.
    #[getter]
    fn equality_ids(&self) -> Vec<i32> {
        self.0.equality_ids.clone()
    }

    /// The data file that all deletes reference; None if they reference several.
    #[getter]
    fn referenced_data_file(&self) -> Option<&str> {
        self.0.referenced_data_file.as_deref()
    }

    /// The offset of the deletion vector in its file; None for a whole file.
    #[getter]
    fn content_offset(&self) -> Option<i64> {
        self.0.content_range.map(|(offset, _)| offset)
    }

    /// The size in bytes of the deletion vector in its file; None for a whole file.
    #[getter]
    fn content_size_in_bytes(&self) -> Option<i64> {
        self.0.content_range.map(|(_, size)| size)
    }
}
