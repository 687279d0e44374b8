//! Lets commits call catalogs, which are implemented in Python.

use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::files::Files;
use frazil_iceberg::commit::catalog::{CatalogPointer, CatalogRow};
use frazil_iceberg::commit::hadoop::HadoopPointer;
use frazil_iceberg::commit::pointer::Pointer;
use frazil_iceberg::commit::rest::{RestPointer, RestTable};
use pyo3::prelude::*;

/// Returns the catalog pointer of a table, which may not exist yet: the `row` of its catalog, or the table's folder
/// without one.
pub(crate) fn pointer_at(files: &Files, location: &str, row: Option<Py<PyAny>>) -> Box<dyn Pointer> {
    match row {
        Some(row) if Python::attach(|py| row.bind(py).hasattr("commit")).unwrap_or(false) => {
            Box::new(RestPointer::new(Box::new(PythonServer(row))))
        }
        Some(row) => Box::new(CatalogPointer::new(files.clone(), Box::new(PythonRow(row)))),
        None => Box::new(HadoopPointer::new(files.clone(), location)),
    }
}

/// A `frazil.iceberg.row.CatalogRow`. Python is attached only during calls.
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

/// A `frazil.iceberg.row.ServerRow`.
#[derive(Debug)]
struct PythonServer(Py<PyAny>);

impl RestTable for PythonServer {
    fn load(&self) -> Result<Option<(String, Vec<u8>)>> {
        Python::attach(|py| {
            let answer = self.0.bind(py).call_method0("load").and_then(|answer| answer.extract());
            answer.map_err(|raised| of_python(py, raised))
        })
    }

    fn commit(&self, request: &str) -> Result<Option<(String, Vec<u8>)>> {
        Python::attach(|py| {
            let answer = self.0.bind(py).call_method1("commit", (request,)).and_then(|answer| answer.extract());
            answer.map_err(|raised| of_python(py, raised))
        })
    }
}

/// Returns an error of the same kind as a Python exception. The exception itself is kept, and raised again if this
/// error reaches Python.
pub(crate) fn of_python(py: Python<'_>, raised: PyErr) -> Error {
    let kind = raised.value(py).getattr("kind").and_then(|kind| kind.extract::<String>());
    let kind = kind.ok().and_then(|kind| ErrorKind::named(&kind)).unwrap_or(ErrorKind::Internal);
    Error::new(kind, "the catalog request failed").caused_by(raised)
}
