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

/// A table in one state of its metadata.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Table(pub(crate) IcebergTable);

impl Table {
    /// Returns the catalog pointer: the `row` of the catalog, or the folder of a table without one.
    pub(crate) fn pointer(&self, row: Option<Py<PyAny>>) -> Box<dyn Pointer> {
        pointer_at(self.0.files(), &self.0.metadata().location, row)
    }
}

#[pymethods]
impl Table {
    /// Opens the table in a folder, or by one of its metadata files; `recorded` is the location of that file in a
    /// catalog.
    #[staticmethod]
    #[pyo3(signature = (files, location, recorded = None))]
    fn open(py: Python<'_>, files: &Files, location: &str, recorded: Option<String>) -> PyResult<Self> {
        let opened = interruptible(py, |_| IcebergTable::open(&files.0, location))?;
        Ok(Self(match recorded {
            Some(recorded) => opened.recorded_at(recorded),
            None => opened,
        }))
    }

    /// Returns the table in a state without a metadata file: that of [`Self::to_json`].
    #[staticmethod]
    fn restore(py: Python<'_>, files: &Files, metadata_location: String, json: &[u8]) -> PyResult<Self> {
        detached(py, || {
            let metadata = Arc::new(TableMetadata::parse(json)?);
            IcebergTable::at(State { metadata, metadata_location }, files.0.clone()).map(Self)
        })
    }

    /// Returns the metadata of this state.
    fn to_json(&self, py: Python<'_>) -> PyResult<Cow<'static, [u8]>> {
        detached(py, || self.0.metadata().to_bytes(MetadataCodec::None).map(Cow::Owned))
    }

    /// Returns the table with its latest metadata.
    fn refresh(&self, py: Python<'_>, files: &Files, location: &str) -> PyResult<Self> {
        interruptible(py, |_| self.0.refresh(&files.0, location)).map(Self)
    }

    /// Returns the table with its latest metadata, as the base of a change. It is located by the `row` of its catalog,
    /// if the table has one.
    #[pyo3(signature = (row = None))]
    fn newest(&self, py: Python<'_>, row: Option<Py<PyAny>>) -> PyResult<Self> {
        let (pointer, known) = (self.pointer(row), self.0.state());
        interruptible(py, |_| IcebergTable::at(newest(pointer.as_ref(), &known)?, self.0.files().clone())).map(Self)
    }

    /// Rejects a table of a catalog if its `row` is not given.
    #[pyo3(signature = (row = None))]
    fn check_writable(&self, py: Python<'_>, row: Option<Py<PyAny>>) -> PyResult<()> {
        let (pointer, known) = (self.pointer(row), self.0.state());
        detached(py, || pointer.check(&known))
    }

    /// Returns the locations of the table's files and the rules for which may be read.
    #[getter]
    fn files(&self) -> Files {
        Files(self.0.files().clone())
    }

    /// Returns the location of the metadata file.
    #[getter]
    fn metadata_location(&self) -> &str {
        self.0.metadata_location()
    }

    /// Returns the location of the metadata file that the catalog or the table itself records.
    #[getter]
    fn recorded_location(&self) -> String {
        self.0.state().metadata_location
    }

    /// Returns the format version.
    #[getter]
    fn format_version(&self) -> u8 {
        self.0.metadata().format_version
    }

    /// Returns the names in data files of `_row_id` and `_last_updated_sequence_number`, which rows keep when they are
    /// moved; empty before format version 3.
    fn lineage_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || lineage_names(self.0.metadata()))
    }

    /// Returns one field of the table's metadata as JSON text, by its name in the spec; `null` if the table does not
    /// have it.
    fn metadata_json(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        detached(py, || self.0.metadata().part_json(name))
    }

    /// Returns one snapshot as JSON text; `null` if the table does not have it.
    fn snapshot_json(&self, py: Python<'_>, snapshot_id: i64) -> PyResult<String> {
        detached(py, || self.0.metadata().snapshot_json(snapshot_id))
    }
}
