//! Catalogs are Python; this lets commits call them.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::files::Files;
use frazil_iceberg::commit::catalog::{CatalogPointer, CatalogRow};
use frazil_iceberg::commit::hadoop::HadoopPointer;
use frazil_iceberg::commit::pointer::Pointer;
use frazil_iceberg::maintenance::purge::files_of;
use pyo3::prelude::*;

use crate::arrow;
use crate::interrupt::interruptible;
use crate::table::Table;

/// Where the newest state of a table is found, whether there is one or not: by the `row` of its catalog, or in its folder
/// without one.
pub(crate) fn pointer_at(files: &Files, location: &str, row: Option<Py<PyAny>>) -> Box<dyn Pointer> {
    match row {
        Some(row) => Box::new(CatalogPointer::new(files.clone(), Box::new(PythonRow(row)))),
        None => Box::new(HadoopPointer::new(files.clone(), location)),
    }
}

/// A `frazil.iceberg.row.CatalogRow`. Python is attached only while it is called.
#[derive(Debug)]
struct PythonRow(Py<PyAny>);

impl CatalogRow for PythonRow {
    fn location(&self) -> Result<Option<String>> {
        Python::attach(|py| {
            let answer = self.0.bind(py).call_method0("location").and_then(|answer| answer.extract());
            answer.map_err(|raised| of_python(py, raised))
        })
    }

    fn replace(&self, expected: Option<&str>, new: &str) -> Result<bool> {
        Python::attach(|py| {
            let answer = self.0.bind(py).call_method1("replace", (expected, new)).and_then(|answer| answer.extract());
            answer.map_err(|raised| of_python(py, raised))
        })
    }
}

/// An error of the kind that was raised. The exception itself is kept, and raised again if this error reaches Python.
pub(crate) fn of_python(py: Python<'_>, raised: PyErr) -> Error {
    let kind = raised.value(py).getattr("kind").and_then(|kind| kind.extract::<String>());
    let kind = kind.ok().and_then(|kind| ErrorKind::named(&kind)).unwrap_or(ErrorKind::Internal);
    Error::new(kind, "the catalog failed").caused_by(raised)
}

/// Every file of a table as a `pyarrow.RecordBatch` of `kind`, `location` and `size_bytes`.
#[pyfunction]
pub(crate) fn owned_files<'py>(py: Python<'py>, table: &Table, workers: usize) -> PyResult<Bound<'py, PyAny>> {
    let batch = interruptible(py, |context| {
        let files = files_of(&table.0, workers, context)?;
        let kinds: ArrayRef = Arc::new(files.iter().map(|file| Some(file.kind.name())).collect::<StringArray>());
        let locations: ArrayRef = Arc::new(files.iter().map(|file| Some(&*file.location)).collect::<StringArray>());
        let sizes: ArrayRef = Arc::new(files.iter().map(|file| Some(file.size_bytes)).collect::<UInt64Array>());
        Ok(RecordBatch::try_from_iter([("kind", kinds), ("location", locations), ("size_bytes", sizes)])?)
    })?;
    arrow::record_batch(py, batch)
}
