//! Changes between snapshots of a table.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use frazil_core::changes::{ChangeMode, ChangePairs as CorePairs};
use frazil_core::error::Error;
use frazil_core::sql::expression::Expression;
use frazil_iceberg::scan::change_rows::change_schema;
use frazil_iceberg::scan::change_scan::{ChangeOptions, ChangeScan as CoreScan};
use frazil_iceberg::scan::changes::{ChangePlan as CorePlan, ChangeStage as CoreStage, ChangeTask as CoreTask};
use frazil_iceberg::scan::incremental::SnapshotRange;
use frazil_iceberg::scan::wire;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow::{self, ArrowBatch};
use crate::errors::OrRaise;
use crate::files::Files;
use crate::interrupt::{detached, interruptible, limited};
use crate::table::Table;
use crate::task::FileScanTask;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ChangeScan>()?;
    module.add_class::<ChangePlan>()?;
    module.add_class::<ChangeStage>()?;
    module.add_class::<ChangeTask>()?;
    module.add_class::<ChangePairs>()
}

/// A read of changes that is bound to snapshots and a schema.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct ChangeScan(CoreScan);

/// The files to read, in stages.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct ChangePlan(Vec<Arc<CoreStage>>);

/// A set of files that are read together, or that can each be read separately.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct ChangeStage(Arc<CoreStage>);

/// A data file in which a snapshot changed rows.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct ChangeTask(CoreTask);

/// A pairing of the rows of a stage of changes.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct ChangePairs(Mutex<CorePairs>);

#[pymethods]
impl ChangeScan {
    /// Creates a scan. `snapshots` is `(from, to)`; `mode` is `carryovers`, `changes`, `net` or `updates`.
    #[new]
    #[pyo3(signature = (table, *, row_filter, selected_fields, case_sensitive, snapshots, mode, identifier_columns))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only, named as the Python method that calls it")]
    fn new(
        py: Python<'_>,
        table: &Table,
        row_filter: &str,
        selected_fields: Vec<String>,
        case_sensitive: bool,
        snapshots: (Option<i64>, Option<i64>),
        mode: &str,
        identifier_columns: Vec<String>,
    ) -> PyResult<Self> {
        let budget = limited(py)?.budget;
        detached(py, || {
            let row_filter = if row_filter.is_empty() { Expression::TRUE } else { Expression::filter(row_filter)? };
            let mode = ChangeMode::from_name(mode, identifier_columns)?;
            let (from_snapshot_id_exclusive, to_snapshot_id_inclusive) = snapshots;
            let range = SnapshotRange { from_snapshot_id_exclusive, to_snapshot_id_inclusive };
            let options = ChangeOptions { row_filter, selected_fields, case_sensitive, range, mode };
            CoreScan::try_new(&table.0, &options).map(|scan| Self(scan.within(&budget)))
        })
    }

    /// Returns the schema of the changes as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, change_schema(self.0.result()))
    }

    /// Returns the last snapshot of the range.
    #[getter]
    fn snapshot_id(&self) -> Option<i64> {
        self.0.to_snapshot_id()
    }

    /// Returns the bound filter as SQL.
    #[getter]
    fn filter(&self) -> String {
        self.0.result().filter.to_string()
    }

    /// Plans the scan on at most `workers` threads.
    fn plan(&self, py: Python<'_>, workers: usize) -> PyResult<ChangePlan> {
        let CorePlan { stages } = interruptible(py, |context| self.0.plan(workers, context))?;
        Ok(ChangePlan(stages.into_iter().map(Arc::new).collect()))
    }
}

#[pymethods]
impl ChangePlan {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Returns a stage.
    fn stage(&self, py: Python<'_>, index: usize) -> PyResult<ChangeStage> {
        let stage = self
            .0
            .get(index)
            .cloned()
            .ok_or_else(|| Error::invalid(format!("stage {index} is out of range for {} stages", self.0.len())));
        stage.map(ChangeStage).or_raise(py)
    }

    /// Returns planning metrics by name.
    fn metrics(&self) -> BTreeMap<&'static str, usize> {
        let paired = self.0.iter().filter(|stage| stage.pairing.is_some());
        BTreeMap::from([
            ("stages", self.0.len()),
            ("paired_stages", paired.count()),
            ("tasks", self.0.iter().map(|stage| stage.tasks.len()).sum()),
        ])
    }

    /// Returns 0 and all stages, because changes are counted by reading them.
    fn count(&self) -> (u64, Vec<usize>) {
        (0, (0..self.0.len()).collect())
    }

    /// Returns the wire forms of the units that can be read separately: stages whose rows are paired, and the files of
    /// other stages.
    fn groups<'py>(
        &self,
        py: Python<'py>,
        target_bytes: i64,
        open_cost_bytes: i64,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let groups = interruptible(py, |_| {
            let groups = self.0.iter().flat_map(|stage| stage.groups(target_bytes, open_cost_bytes));
            groups.map(|stage| wire::changes::write(&stage)).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(groups.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
    }
}

#[pymethods]
impl ChangeStage {
    /// Deserialises a stage; files are read through the storage of `files`.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, content: &[u8], files: &Files) -> PyResult<Self> {
        let budget = limited(py)?.budget;
        let stage = detached(py, || wire::changes::read(content, files.0.storage(), &budget))?;
        Ok(Self(Arc::new(stage)))
    }

    fn __len__(&self) -> usize {
        self.0.tasks.len()
    }

    /// Returns the schema of the changes as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, change_schema(&self.0.result))
    }

    /// Returns a file of the stage.
    fn task(&self, py: Python<'_>, index: usize) -> PyResult<ChangeTask> {
        let task = self.0.tasks.get(index).cloned();
        let task = task.ok_or_else(|| {
            Error::invalid(format!("change {index} is out of range for {} changes", self.0.tasks.len()))
        });
        task.map(ChangeTask).or_raise(py)
    }

    /// Returns the pairing of the stage's rows, with about `memory_bytes` of them in memory; None if each file can be
    /// read separately.
    fn pairs(&self, py: Python<'_>, memory_bytes: usize) -> PyResult<Option<ChangePairs>> {
        let pairs = detached(py, || self.0.pairs(memory_bytes))?;
        Ok(pairs.map(ChangePairs::new))
    }
}

#[pymethods]
impl ChangeTask {
    /// Returns the number of the snapshot in the range.
    #[getter]
    fn ordinal(&self) -> i32 {
        self.0.ordinal
    }

    /// Returns the snapshot.
    #[getter]
    fn snapshot_id(&self) -> i64 {
        self.0.snapshot_id
    }

    /// Returns the file with its deletes before the snapshot; None if the snapshot added it.
    #[getter]
    fn before(&self) -> Option<FileScanTask> {
        self.0.before.clone().map(FileScanTask::new)
    }

    /// Returns the file with its deletes after the snapshot; None if the snapshot removed it.
    #[getter]
    fn after(&self) -> Option<FileScanTask> {
        self.0.after.clone().map(FileScanTask::new)
    }

    /// Returns the changes among the rows that both readers returned; None if there are none.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        before: Option<ArrowBatch>,
        after: Option<ArrowBatch>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (before, after) = (before.map(|batch| batch.0), after.map(|batch| batch.0));
        let rows = detached(py, || self.0.rows(before.as_ref(), after.as_ref()))?;
        rows.map(|rows| arrow::record_batch(py, rows)).transpose()
    }
}

impl ChangePairs {
    pub(crate) fn new(pairs: CorePairs) -> Self {
        Self(Mutex::new(pairs))
    }
}

#[pymethods]
impl ChangePairs {
    /// Adds rows that `ChangeTask.rows` returned.
    fn push(&self, py: Python<'_>, rows: ArrowBatch) -> PyResult<()> {
        let ArrowBatch(rows) = rows;
        detached(py, || self.0.lock().unwrap_or_else(PoisonError::into_inner).push(rows))
    }

    /// Returns the next changes; None after the last ones.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let rows = detached(py, || self.0.lock().unwrap_or_else(PoisonError::into_inner).next_batch())?;
        rows.map(|rows| arrow::record_batch(py, rows)).transpose()
    }
}
