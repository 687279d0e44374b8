//! Iceberg tables.

use frazil_iceberg::table::Table as IcebergTable;
use pyo3::prelude::*;

use crate::files::Files;
use crate::interrupt::{detached, interruptible};

/// A table at one state of its metadata.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Table(pub(crate) IcebergTable);

#[pymethods]
impl Table {
    /// Opens the table in a folder, or by one of its metadata files; `recorded` is what a catalog calls that file.
    #[staticmethod]
    #[pyo3(signature = (files, location, recorded = None))]
    fn open(py: Python<'_>, files: &Files, location: &str, recorded: Option<String>) -> PyResult<Self> {
        let opened = interruptible(py, |_| IcebergTable::open(&files.0, location))?;
        Ok(Self(match recorded {
            Some(recorded) => opened.recorded_at(recorded),
            None => opened,
        }))
    }

    /// The table at its newest metadata.
    fn refresh(&self, py: Python<'_>, files: &Files, location: &str) -> PyResult<Self> {
        interruptible(py, |_| self.0.refresh(&files.0, location)).map(Self)
    }

    /// Where the files of the table lie, and which may be read.
    #[getter]
    fn files(&self) -> Files {
        Files(self.0.files().clone())
    }

    /// Where the metadata file lies.
    #[getter]
    fn metadata_location(&self) -> &str {
        self.0.metadata_location()
    }

    /// What the catalog, or the table itself, calls the metadata file.
    #[getter]
    fn recorded_location(&self) -> String {
        self.0.state().metadata_location
    }

    /// The format version.
    #[getter]
    fn format_version(&self) -> u8 {
        self.0.metadata().format_version
    }

    /// One field of the table's metadata as JSON text, by its name in the spec; `null` when there is none.
    fn metadata_json(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        detached(py, || self.0.metadata().part_json(name))
    }
}
