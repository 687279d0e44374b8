//! Delete files of a task.

use frazil_iceberg::scan::delete_index::DeleteFile as CoreDeleteFile;
use pyo3::prelude::*;

/// A delete file, or a deletion vector in a Puffin file.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct DeleteFile(pub(crate) CoreDeleteFile);

#[pymethods]
impl DeleteFile {
    #[getter]
    fn file_path(&self) -> &str {
        &self.0.path
    }

    #[getter]
    fn file_format(&self) -> &'static str {
        self.0.format.name()
    }

    /// 1 for position deletes, 2 for equality deletes.
    #[getter]
    fn content(&self) -> i32 {
        self.0.content.code()
    }

    #[getter]
    fn record_count(&self) -> i64 {
        self.0.record_count
    }

    #[getter]
    fn file_size_in_bytes(&self) -> i64 {
        self.0.size_bytes
    }

    #[getter]
    fn sequence_number(&self) -> i64 {
        self.0.sequence_number
    }

    #[getter]
    fn spec_id(&self) -> i32 {
        self.0.spec_id
    }

    #[getter]
    fn equality_ids(&self) -> Vec<i32> {
        self.0.equality_ids.clone()
    }

    #[getter]
    fn referenced_data_file(&self) -> Option<&str> {
        self.0.referenced_data_file.as_deref()
    }

    #[getter]
    fn content_offset(&self) -> Option<i64> {
        self.0.content_range.map(|(offset, _)| offset)
    }

    #[getter]
    fn content_size_in_bytes(&self) -> Option<i64> {
        self.0.content_range.map(|(_, size)| size)
    }
}
