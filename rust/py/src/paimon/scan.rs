//! Scans of Paimon tables.

use std::collections::BTreeMap;

use frazil_core::sql::expression::Expression;
use frazil_paimon::compact::rewrite::RewritePlan;
use frazil_paimon::context::output::Output;
use frazil_paimon::scan::table_scan::{ScanOptions, TableScan};
use frazil_paimon::table::{SnapshotChoice, Table};
use frazil_paimon::task::TaskPlan;
use pyo3::prelude::*;

use super::plan::PaimonPlan;
use super::rewrite::PaimonRewrites;
use super::table::PaimonTable;
use crate::arrow;
use crate::interrupt::{detached, interruptible};

/// A scan that is bound to a snapshot and a schema.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonScan {
    scan: TableScan,
    output: Output,
}

#[pymethods]
impl PaimonScan {
    /// Creates a scan. `view` is `rows`, `read-optimized`, `audit-log`, `binlog` or `row-tracking`; `snapshot` is
    /// `("id", 1)`, `("ref", "tag or branch")`, `("as_of", ms)` or None.
    #[new]
    #[pyo3(signature = (table, *, view, row_filter, selected_fields, snapshot, options, limit, case_sensitive))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only, named as the Python method that calls it")]
    #[expect(clippy::needless_pass_by_value, reason = "values come from Python")]
    fn new(
        py: Python<'_>,
        table: &PaimonTable,
        view: &str,
        row_filter: &str,
        selected_fields: Vec<String>,
        snapshot: Option<(String, Bound<'_, PyAny>)>,
        options: BTreeMap<String, String>,
        limit: Option<u64>,
        case_sensitive: bool,
    ) -> PyResult<Self> {
        let snapshot = choice(snapshot)?;
        detached(py, || {
            let row_filter = if row_filter.is_empty() { Expression::TRUE } else { Expression::filter(row_filter)? };
            let (table, snapshot) = Table::of_ref(&table.0, snapshot, options.get("branch").map(String::as_str))?;
            let view = view.parse()?;
            let options = ScanOptions { row_filter, snapshot, view, options, limit, case_sensitive };
            let scan = TableScan::try_new(&table, &options)?;
            let output = Output::select(scan.schema(), (view, scan.options()), &selected_fields, case_sensitive)?;
            Ok(Self { scan, output })
        })
    }

    /// Returns the schema of the rows as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, self.output.schema())
    }

    /// Returns the snapshot that is read, or the last one of an incremental read.
    #[getter]
    fn snapshot_id(&self) -> Option<i64> {
        self.scan.snapshot().map(|snapshot| snapshot.id)
    }

    /// Returns the bound filter as SQL.
    #[getter]
    fn filter(&self) -> String {
        self.scan.filter().to_string()
    }

    /// Plans the scan on at most `workers` threads.
    fn plan(&self, py: Python<'_>, workers: usize) -> PyResult<PaimonPlan> {
        interruptible(py, |context| TaskPlan::try_new(&self.scan, &self.output, workers, context)).map(PaimonPlan::new)
    }

    /// Plans the data files whose rows may match, to write those again that have changed rows. The table must not have a
    /// primary key.
    #[pyo3(signature = (*, utc_offset_ms))]
    fn rewrites(&self, py: Python<'_>, utc_offset_ms: i64) -> PyResult<PaimonRewrites> {
        interruptible(py, |context| RewritePlan::try_new(&self.scan, &self.output, utc_offset_ms, context))
            .map(PaimonRewrites::new)
    }
}

pub(crate) fn choice(snapshot: Option<(String, Bound<'_, PyAny>)>) -> PyResult<SnapshotChoice> {
    let Some((kind, value)) = snapshot else { return Ok(SnapshotChoice::Latest) };
    Ok(match kind.as_str() {
        "id" => SnapshotChoice::Id(value.extract()?),
        "as_of" => SnapshotChoice::AsOf(value.extract()?),
        _ => SnapshotChoice::Ref(value.extract()?),
    })
}
