//! Changes between snapshots of a Paimon table.

use std::collections::BTreeMap;
use std::sync::Arc;

use frazil_core::changes::ChangeMode;
use frazil_core::error::Error;
use frazil_core::sql::expression::Expression;
use frazil_paimon::task::changes::{ChangeOptions, ChangeScan, ChangeStage};
use frazil_paimon::task::wire::changes as wire;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::split::PaimonSplit;
use super::table::PaimonTable;
use crate::arrow::{self, ArrowBatch};
use crate::changes::ChangePairs;
use crate::errors::OrRaise;
use crate::files::Files;
use crate::interrupt::{detached, interruptible};

/// A read of changes that is bound to snapshots and a schema.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonChangeScan(ChangeScan);

/// The splits to read, in stages.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonChangePlan(Vec<Arc<ChangeStage>>);

/// A set of splits of one commit that are read together, or that can each be read separately.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonChangeStage(Arc<ChangeStage>);

#[pymethods]
impl PaimonChangeScan {
    /// Creates a scan. `snapshots` is `(from, to)`; `mode` is `carryovers`, `changes`, `net` or `updates`.
    #[new]
    #[pyo3(signature = (table, *, row_filter, selected_fields, case_sensitive, snapshots, mode, identifier_columns))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only, named as the Python method that calls it")]
    fn new(
        py: Python<'_>,
        table: &PaimonTable,
        row_filter: &str,
        selected_fields: Vec<String>,
        case_sensitive: bool,
        snapshots: (Option<i64>, Option<i64>),
        mode: &str,
        identifier_columns: Vec<String>,
    ) -> PyResult<Self> {
        detached(py, || {
            let row_filter = if row_filter.is_empty() { Expression::TRUE } else { Expression::filter(row_filter)? };
            let mode = ChangeMode::from_name(mode, identifier_columns)?;
            let (after, until) = snapshots;
            let options = ChangeOptions { row_filter, selected_fields, case_sensitive, after, until, mode };
            ChangeScan::try_new(&table.0, &options).map(Self)
        })
    }

    /// Returns the schema of the changes as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, self.0.schema())
    }

    /// Returns the last snapshot of the range.
    #[getter]
    fn snapshot_id(&self) -> Option<i64> {
        self.0.until()
    }

    /// Returns the bound filter as SQL.
    #[getter]
    fn filter(&self) -> String {
        self.0.filter().to_string()
    }

    /// Plans the read on at most `workers` threads.
    fn plan(&self, py: Python<'_>, workers: usize) -> PyResult<PaimonChangePlan> {
        let stages = interruptible(py, |context| self.0.plan(workers, context))?;
        Ok(PaimonChangePlan(stages.into_iter().map(Arc::new).collect()))
    }
}

#[pymethods]
impl PaimonChangePlan {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Returns a stage.
    fn stage(&self, py: Python<'_>, index: usize) -> PyResult<PaimonChangeStage> {
        let stage = self
            .0
            .get(index)
            .cloned()
            .ok_or_else(|| Error::invalid(format!("stage {index} is out of range for {} stages", self.0.len())));
        stage.map(PaimonChangeStage).or_raise(py)
    }

    /// Returns planning metrics by name.
    fn metrics(&self) -> BTreeMap<&'static str, usize> {
        let splits = || self.0.iter().flat_map(|stage| &stage.splits);
        BTreeMap::from([
            ("stages", self.0.len()),
            ("paired_stages", self.0.iter().filter(|stage| stage.pairing.is_some()).count()),
            ("splits", splits().count()),
            ("files", splits().map(|(_, split)| split.split.files.len()).sum()),
        ])
    }

    /// Returns 0 and all stages, because changes are counted by reading them.
    fn count(&self) -> (u64, Vec<usize>) {
        (0, (0..self.0.len()).collect())
    }

    /// Returns the wire forms of the units that can be read separately: stages whose rows are paired, and the splits of
    /// other stages.
    fn groups<'py>(
        &self,
        py: Python<'py>,
        target_bytes: i64,
        open_cost_bytes: i64,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let groups = interruptible(py, |_| {
            let groups = self.0.iter().flat_map(|stage| stage.groups(target_bytes, open_cost_bytes));
            groups.map(|stage| wire::write(&stage)).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(groups.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
    }
}

#[pymethods]
impl PaimonChangeStage {
    /// Deserialises a stage; files are read through the storage of `files`.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, content: &[u8], files: &Files) -> PyResult<Self> {
        let stage = detached(py, || wire::read(content, files.0.storage()))?;
        Ok(Self(Arc::new(stage)))
    }

    fn __len__(&self) -> usize {
        self.0.splits.len()
    }

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

    /// Returns the schema of the changes as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, self.0.wanted.schema())
    }

    /// Returns a split and its origin: `changelog`, `before` or `after` the commit.
    fn split(&self, py: Python<'_>, index: usize) -> PyResult<(&'static str, PaimonSplit)> {
        let found = self.0.splits.get(index);
        let found = found
            .ok_or_else(|| Error::invalid(format!("split {index} is out of range for {} splits", self.0.splits.len())));
        let (side, split) = found.or_raise(py)?;
        Ok((side.name(), PaimonSplit::new(split.clone())))
    }

    /// Returns the rows of a split with the change columns.
    fn rows<'py>(&self, py: Python<'py>, index: usize, rows: ArrowBatch) -> PyResult<Bound<'py, PyAny>> {
        let ArrowBatch(rows) = rows;
        let rows = detached(py, || self.0.rows(index, &rows))?;
        arrow::record_batch(py, rows)
    }

    /// Returns the pairing of the stage's rows, with about `memory_bytes` of them in memory; None if each split can be
    /// read separately.
    fn pairs(&self, py: Python<'_>, memory_bytes: usize) -> PyResult<Option<ChangePairs>> {
        Ok(detached(py, || self.0.pairs(memory_bytes))?.map(ChangePairs::new))
    }
}
