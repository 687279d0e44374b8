//! Plans of Paimon scans: returned as columns, with split objects created only on request.

use std::collections::BTreeMap;

use frazil_paimon::scan::stream::{batches, plan_schema};
use frazil_paimon::task::TaskPlan;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::split::PaimonSplit;
use crate::arrow;
use crate::interrupt::{detached, interruptible};

/// The splits of a scan.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonPlan(TaskPlan);

impl PaimonPlan {
    pub(crate) fn new(plan: TaskPlan) -> Self {
        Self(plan)
    }
}

#[pymethods]
impl PaimonPlan {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Returns one split.
    fn split(&self, py: Python<'_>, index: usize) -> PyResult<PaimonSplit> {
        detached(py, || self.0.task(index)).map(PaimonSplit::new)
    }

    /// Returns the schema of the plan as a `pyarrow.Schema`.
    #[staticmethod]
    fn schema(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        arrow::schema(py, plan_schema())
    }

    /// Returns the files of the plan as `pyarrow.RecordBatch`es.
    fn batches<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let batches = interruptible(py, |_| batches(self.0.plan()).collect::<Result<Vec<_>, _>>())?;
        batches.into_iter().map(|batch| arrow::record_batch(py, batch)).collect()
    }

    /// Returns the numbers of files that were kept and skipped, by name; levels are included only if they have files.
    fn metrics(&self) -> BTreeMap<&'static str, usize> {
        let metrics = self.0.metrics();
        let level = |level: i32| usize::try_from(level).unwrap_or(0);
        let levels = metrics.levels.map(|(low, high)| [("level_min", level(low)), ("level_max", level(high))]);
        let counts = [
            ("manifests", metrics.manifests),
            ("manifests_skipped", metrics.manifests_skipped),
            ("entries_skipped_by_partition", metrics.entries_skipped_by_partition),
            ("files", metrics.files),
            ("files_skipped_by_bucket", metrics.files_skipped_by_bucket),
            ("files_skipped_by_stats", metrics.files_skipped_by_stats),
            ("files_skipped_by_limit", metrics.files_skipped_by_limit),
            ("files_unchanged", metrics.files_unchanged),
            ("files_excluded_by_index", metrics.files_excluded_by_index),
            ("files_planned", metrics.files_planned),
            ("deletion_vectors", metrics.deletion_vectors),
            ("splits", self.0.len()),
            ("splits_raw", metrics.splits_raw),
            ("splits_merged", metrics.splits_merged),
        ];
        counts.into_iter().chain(levels.into_iter().flatten()).collect()
    }

    /// Returns the number of rows that can be counted from metadata only, and the splits that must be read to count the
    /// rest.
    fn count(&self, py: Python<'_>) -> PyResult<(u64, Vec<usize>)> {
        interruptible(py, |_| self.0.count())
    }

    /// Returns groups of splits of about `target_bytes`, each in its wire form as bytes.
    fn groups<'py>(
        &self,
        py: Python<'py>,
        target_bytes: i64,
        open_cost_bytes: i64,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let groups = interruptible(py, |context| self.0.groups(target_bytes, open_cost_bytes, context))?;
        Ok(groups.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
    }
}
