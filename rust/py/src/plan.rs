//! Plans: columns over the border, task objects only for what is asked for.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use frazil_iceberg::scan::plan::Plan as CorePlan;
use frazil_iceberg::scan::stream::{plan_schema, planned_batch};
use frazil_iceberg::scan::task::FileScanTask as CoreTask;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow;
use crate::errors::OrRaise;
use crate::interrupt::{detached, interruptible};
use crate::scan::Scan;
use crate::task::FileScanTask;

/// The data files of a scan with their deletes.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Plan(Arc<CorePlan>);

impl Plan {
    pub(crate) fn new(plan: CorePlan) -> Self {
        Self(Arc::new(plan))
    }

    pub(crate) fn core(&self) -> &Arc<CorePlan> {
        &self.0
    }
}

#[pymethods]
impl Plan {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The task of one data file.
    fn task(&self, py: Python<'_>, index: usize) -> PyResult<FileScanTask> {
        self.0.task(index).or_raise(py).map(FileScanTask::new)
    }

    /// The task of one data file for another scan of the same table: its columns and its filter.
    fn task_for(&self, py: Python<'_>, index: usize, scan: &Scan) -> PyResult<FileScanTask> {
        let task = self.0.task(index).or_raise(py)?;
        Ok(FileScanTask::new(CoreTask { read: scan.read().clone(), ..task }))
    }

    /// Whether every row of a data file matches by its partition.
    fn is_whole(&self, py: Python<'_>, index: usize) -> PyResult<bool> {
        self.0.origin(index).map(|(_, whole)| whole).or_raise(py)
    }

    /// How many record batches [`Plan::batch`] has.
    #[getter]
    fn batch_count(&self) -> usize {
        self.0.files().len()
    }

    /// The schema of the plan as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, plan_schema(&self.0))
    }

    /// The files of one manifest as a `pyarrow.RecordBatch`.
    fn batch<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let batch = detached(py, || planned_batch(&self.0, index))?;
        arrow::record_batch(py, batch)
    }

    /// What was kept and left out, by name.
    fn metrics(&self) -> BTreeMap<&'static str, usize> {
        let metrics = self.0.metrics();
        BTreeMap::from([
            ("manifests", metrics.manifests),
            ("manifests_skipped", metrics.manifests_skipped),
            ("files", metrics.files),
            ("files_skipped_by_partition", metrics.files_skipped_by_partition),
            ("files_skipped_by_bounds", metrics.files_skipped_by_bounds),
            ("delete_files", metrics.delete_files),
            ("tasks", self.0.len()),
        ])
    }

    /// The rows that metadata alone counts, and the tasks whose files must be read to count the rest.
    fn count(&self, py: Python<'_>) -> PyResult<(u64, Vec<usize>)> {
        interruptible(py, |_| self.0.count())
    }

    /// Groups of the tasks at `indices`, of whole files: the places of the tasks, and the bytes of a wire task.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn whole_groups<'py>(
        &self,
        py: Python<'py>,
        indices: Vec<usize>,
        target_bytes: i64,
        open_cost_bytes: i64,
    ) -> PyResult<Vec<(Vec<usize>, Bound<'py, PyBytes>)>> {
        let groups =
            interruptible(py, |context| self.0.whole_groups(&indices, target_bytes, open_cost_bytes, context))?;
        Ok(groups.into_iter().map(|(places, bytes)| (places, PyBytes::new(py, &bytes))).collect())
    }

    /// Groups of tasks of about `target_bytes`, each as the bytes of a wire task; files above that are split. The tasks
    /// at the places in `without` are left out.
    #[pyo3(signature = (target_bytes, open_cost_bytes, without = HashSet::new()))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts sets by value")]
    fn groups<'py>(
        &self,
        py: Python<'py>,
        target_bytes: i64,
        open_cost_bytes: i64,
        without: HashSet<usize>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let groups =
            interruptible(py, |context| self.0.groups_without(&without, target_bytes, open_cost_bytes, context))?;
        Ok(groups.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
    }
}
