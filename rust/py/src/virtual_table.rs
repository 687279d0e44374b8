//! Virtual tables: metadata tables and system tables.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use frazil_core::error::Error;
use frazil_core::sql::expression::Expression;
use frazil_core::virtual_table::{self, Part, PartBatches, VirtualTable as CoreTable};
use frazil_iceberg::inspect;
use frazil_paimon::inspect as paimon_inspect;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow::{self, ArrowBatch, ArrowSchema};
use crate::files::Files;
use crate::interrupt::{detached, interruptible, limited};
use crate::paimon::PaimonTable;
use crate::paimon::choice as paimon_choice;
use crate::scan::choice;
use crate::table::Table;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<VirtualTable>()?;
    module.add_class::<VirtualScan>()?;
    module.add_class::<VirtualFile>()?;
    module.add_class::<VirtualPlan>()?;
    module.add_class::<VirtualBatches>()
}

/// A table of either format.
#[derive(FromPyObject)]
pub(crate) enum AnyTable<'py> {
    Iceberg(PyRef<'py, Table>),
    Paimon(PyRef<'py, PaimonTable>),
}

/// A table with computed rows.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct VirtualTable(Arc<dyn CoreTable>);

#[pymethods]
impl VirtualTable {
    /// Opens a metadata table or system table; `snapshot` is specified as in `Scan` and `PaimonScan`.
    #[staticmethod]
    #[pyo3(signature = (table, name, snapshot = None))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts enums by value")]
    fn open(
        py: Python<'_>,
        table: AnyTable<'_>,
        name: &str,
        snapshot: Option<(String, Bound<'_, PyAny>)>,
    ) -> PyResult<Self> {
        let opened = match &table {
            AnyTable::Iceberg(table) => {
                let (table, choice) = (&table.0, choice(py, snapshot)?);
                interruptible(py, |_| inspect::open(table, name, &choice))
            }
            AnyTable::Paimon(table) => {
                let (table, choice) = (&table.0, paimon_choice(snapshot)?);
                interruptible(py, |_| {
                    let (table, choice) = table.of_ref(choice.clone(), None)?;
                    paimon_inspect::open(&table, name, &choice)
                })
            }
        };
        opened.map(Self)
    }

    /// Creates a table of the rows of a `pyarrow.RecordBatch`.
    #[staticmethod]
    fn of_rows(rows: ArrowBatch) -> Self {
        Self(virtual_table::of_rows(rows.0))
    }

    /// Returns all columns as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, self.0.schema().clone())
    }

    /// Binds a filter and a selection of columns.
    #[pyo3(signature = (row_filter, selected_fields, case_sensitive))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn scan(
        &self,
        py: Python<'_>,
        row_filter: &str,
        selected_fields: Vec<String>,
        case_sensitive: bool,
    ) -> PyResult<VirtualScan> {
        detached(py, || {
            let filter = if row_filter.is_empty() { Expression::TRUE } else { Expression::filter(row_filter)? };
            virtual_table::VirtualScan::try_new(self.0.clone(), &filter, &selected_fields, case_sensitive)
        })
        .map(VirtualScan)
    }
}

/// A read of a virtual table.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct VirtualScan(virtual_table::VirtualScan);

#[pymethods]
impl VirtualScan {
    /// Returns the selected columns as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, self.0.schema().clone())
    }

    /// Returns the bound filter as SQL.
    #[getter]
    fn filter(&self) -> String {
        self.0.filter().to_string()
    }

    /// Returns None: a virtual table shows the state in which it was opened.
    #[getter]
    #[expect(clippy::unused_self, reason = "a property that all scans have")]
    fn snapshot_id(&self) -> Option<i64> {
        None
    }

    /// Plans the parts to read.
    #[pyo3(signature = (workers))]
    fn plan(&self, py: Python<'_>, workers: usize) -> PyResult<VirtualPlan> {
        let _ = workers;
        interruptible(py, |context| self.0.parts(context)).map(VirtualPlan)
    }

    /// Returns the storage, path and format of the data file with the rows of a part; None if `read` reads it.
    fn file(&self, py: Python<'_>, part: &[u8]) -> PyResult<Option<(Files, String, &'static str)>> {
        let file = detached(py, || self.0.file(part))?;
        Ok(file.map(|file| (Files(file.files), file.path, file.format)))
    }

    /// Begins to read the data file of a part, which has this schema.
    fn open(&self, py: Python<'_>, part: &[u8], schema: ArrowSchema) -> PyResult<VirtualFile> {
        let ArrowSchema(schema) = schema;
        Ok(VirtualFile(Mutex::new(detached(py, || self.0.open(part, &schema))?)))
    }

    /// Begins to read a part.
    fn read(&self, py: Python<'_>, part: &[u8]) -> PyResult<VirtualBatches> {
        let batches = interruptible(py, |context| self.0.read(part, context))?;
        Ok(VirtualBatches(Mutex::new(batches)))
    }
}

/// A reader of the data file of a part.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct VirtualFile(Mutex<virtual_table::ScanFile>);

#[pymethods]
impl VirtualFile {
    /// Returns the leaf columns of the file to read, and the top-level columns that contain them.
    #[getter]
    fn wanted(&self, py: Python<'_>) -> PyResult<(Vec<usize>, Vec<usize>)> {
        detached(py, || Ok(self.file()?.wanted()))
    }

    /// Returns the matching rows of a batch of the file; None if there are none. `batch` is None if no column is read.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        batch: Option<ArrowBatch>,
        row_count: usize,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let batch = match batch {
            Some(ArrowBatch(batch)) => batch,
            None => arrow::rows_without_columns(row_count),
        };
        let rows = detached(py, || self.file()?.rows(&batch, row_count))?;
        rows.map(|rows| arrow::record_batch(py, rows)).transpose()
    }
}

impl VirtualFile {
    fn file(&self) -> Result<MutexGuard<'_, virtual_table::ScanFile>, Error> {
        self.0.lock().map_err(|_| Error::internal("an earlier call of this read failed"))
    }
}

/// The parts of a virtual table.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct VirtualPlan(Vec<Part>);

#[pymethods]
impl VirtualPlan {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Returns a part, for `VirtualScan.read` in any process.
    fn part<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let part =
            self.0.get(index).ok_or_else(|| pyo3::exceptions::PyIndexError::new_err("the part does not exist"))?;
        Ok(PyBytes::new(py, part))
    }

    /// Returns planning metrics by name.
    fn metrics(&self) -> BTreeMap<&'static str, usize> {
        BTreeMap::from([("parts", self.0.len())])
    }

    /// Returns 0 and all parts, because rows are counted by reading them.
    fn count(&self) -> (u64, Vec<usize>) {
        (0, (0..self.0.len()).collect())
    }

    /// Returns each part separately, as bytes.
    fn groups<'py>(&self, py: Python<'py>, target_bytes: i64, open_cost_bytes: i64) -> Vec<Bound<'py, PyBytes>> {
        let _ = (target_bytes, open_cost_bytes);
        self.0.iter().map(|part| PyBytes::new(py, part)).collect()
    }
}

/// An iterator over the remaining batches of a part.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct VirtualBatches(Mutex<PartBatches>);

#[pymethods]
impl VirtualBatches {
    /// Returns the next batch as a `pyarrow.RecordBatch`; None at the end.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        limited(py)?;
        let batch = detached(py, || {
            let mut batches = self.0.lock().map_err(|_| Error::internal("an earlier call of this read failed"))?;
            batches.next().transpose()
        })?;
        batch.map(|batch| arrow::record_batch(py, batch)).transpose()
    }
}

/// Returns the metadata tables of Iceberg: name, documentation, and whether a snapshot can be chosen.
#[pyfunction]
pub(crate) fn iceberg_metadata_tables() -> Vec<(&'static str, &'static str, bool)> {
    inspect::TABLES.iter().map(|table| (table.name, table.doc, table.time_travel)).collect()
}

/// Returns the system tables of Paimon: name, documentation, and whether a snapshot can be chosen.
#[pyfunction]
pub(crate) fn paimon_system_tables() -> Vec<(&'static str, &'static str, bool)> {
    paimon_inspect::TABLES.iter().map(|table| (table.name, table.doc, table.time_travel)).collect()
}
