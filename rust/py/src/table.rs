//! Iceberg tables.

use std::borrow::Cow;
use std::sync::Arc;

use frazil_iceberg::commit::attempts::newest;
use frazil_iceberg::commit::pointer::Pointer;
use frazil_iceberg::spec::metadata_write::MetadataCodec;
use frazil_iceberg::spec::table_metadata::TableMetadata;
use frazil_iceberg::table::{State, Table as IcebergTable};
use frazil_iceberg::write::rows::lineage_names;
use pyo3::prelude::*;

use crate::catalog::pointer_at;
use crate::files::Files;
use crate::interrupt::{detached, interruptible};

/// A table at one state of its metadata.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Table(pub(crate) IcebergTable);

impl Table {
    /// Where the newest state is found: by the `row` of the catalog, or in the folder of a table without one.
    pub(crate) fn pointer(&self, row: Option<Py<PyAny>>) -> Box<dyn Pointer> {
        pointer_at(self.0.files(), &self.0.metadata().location, row)
    }
}

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

    /// The table at a state that no file holds: the one of [`Self::to_json`].
    #[staticmethod]
    fn restore(py: Python<'_>, files: &Files, metadata_location: String, json: &[u8]) -> PyResult<Self> {
        detached(py, || {
            let metadata = Arc::new(TableMetadata::parse(json)?);
            IcebergTable::at(State { metadata, metadata_location }, files.0.clone()).map(Self)
        })
    }

    /// The metadata of this state.
    fn to_json(&self, py: Python<'_>) -> PyResult<Cow<'static, [u8]>> {
        detached(py, || self.0.metadata().to_bytes(MetadataCodec::None).map(Cow::Owned))
    }

    /// The table at its newest metadata.
    fn refresh(&self, py: Python<'_>, files: &Files, location: &str) -> PyResult<Self> {
        interruptible(py, |_| self.0.refresh(&files.0, location)).map(Self)
    }

    /// The table at its newest metadata, by the `row` of its catalog where it has one: where a change begins.
    #[pyo3(signature = (row = None))]
    fn newest(&self, py: Python<'_>, row: Option<Py<PyAny>>) -> PyResult<Self> {
        let (pointer, known) = (self.pointer(row), self.0.state());
        interruptible(py, |_| IcebergTable::at(newest(pointer.as_ref(), &known)?, self.0.files().clone())).map(Self)
    }

    /// Refuses a table that is kept by a catalog where no `row` of it is given.
    #[pyo3(signature = (row = None))]
    fn check_writable(&self, py: Python<'_>, row: Option<Py<PyAny>>) -> PyResult<()> {
        let (pointer, known) = (self.pointer(row), self.0.state());
        detached(py, || pointer.check(&known))
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

    /// The names in data files of `_row_id` and `_last_updated_sequence_number`, which rows keep when they move; none before
    /// format version 3.
    fn lineage_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || lineage_names(self.0.metadata()))
    }

    /// One field of the table's metadata as JSON text, by its name in the spec; `null` when there is none.
    fn metadata_json(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        detached(py, || self.0.metadata().part_json(name))
    }
}
