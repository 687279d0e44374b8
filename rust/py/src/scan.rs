//! Scans and their plans.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use frazil_core::error::Error;
use frazil_core::sql::expression::Expression;
use frazil_iceberg::scan::context::ReadContext;
use frazil_iceberg::scan::incremental::SnapshotRange;
use frazil_iceberg::scan::output::MetadataColumn;
use frazil_iceberg::scan::plan::Plan as CorePlan;
use frazil_iceberg::scan::stream::{plan_schema, planned_batch};
use frazil_iceberg::scan::table_scan::{ScanOptions, TableScan};
use frazil_iceberg::scan::task::FileScanTask as CoreTask;
use frazil_iceberg::table::SnapshotChoice;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow;
use crate::errors::OrRaise;
use crate::interrupt::{detached, interruptible, limited};
use crate::table::Table;
use crate::task::FileScanTask;

/// A scan that is bound to a snapshot and a schema.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Scan(TableScan);

impl Scan {
    /// Returns the state that all tasks of the scan share.
    pub(crate) fn read(&self) -> &Arc<ReadContext> {
        self.0.read()
    }
}

#[pymethods]
impl Scan {
    /// Creates a scan. `snapshot` is `("id", 1)`, `("ref", "name")`, `("as_of", ms)` or None; `append` is `(from, to)`
    /// for an incremental append scan. `metadata_columns` are appended in this order, even if the table has columns
    /// with these names.
    #[new]
    #[pyo3(signature = (
        table, *, row_filter, selected_fields, snapshot, append, limit, case_sensitive, metadata_columns = Vec::new()
    ))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    #[expect(clippy::too_many_arguments, reason = "keyword-only, named as the Python method that calls it")]
    fn new(
        py: Python<'_>,
        table: &Table,
        row_filter: &str,
        selected_fields: Vec<String>,
        snapshot: Option<(String, Bound<'_, PyAny>)>,
        append: Option<(Option<i64>, Option<i64>)>,
        limit: Option<u64>,
        case_sensitive: bool,
        metadata_columns: Vec<String>,
    ) -> PyResult<Self> {
        let snapshot = choice(py, snapshot)?;
        let budget = limited(py)?.budget;
        detached(py, || {
            let row_filter = if row_filter.is_empty() { Expression::TRUE } else { Expression::filter(row_filter)? };
            let metadata_columns =
                metadata_columns.iter().map(|name| metadata_column(name)).collect::<Result<_, _>>()?;
            let options =
                ScanOptions { row_filter, selected_fields, metadata_columns, snapshot, limit, case_sensitive };
            match append {
                None => TableScan::try_new(&table.0, &options),
                Some((from_snapshot_id_exclusive, to_snapshot_id_inclusive)) => {
                    let range = SnapshotRange { from_snapshot_id_exclusive, to_snapshot_id_inclusive };
                    TableScan::incremental(&table.0, &options, range)
                }
            }
            .map(|scan| Self(scan.within(budget)))
        })
    }

    /// Returns the schema of the rows as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, self.0.read().output_schema())
    }

    /// Returns the snapshot that is read.
    #[getter]
    fn snapshot_id(&self) -> Option<i64> {
        self.0.snapshot().map(|snapshot| snapshot.snapshot_id)
    }

    /// Returns the bound filter as SQL.
    #[getter]
    fn filter(&self) -> String {
        self.0.read().filter.to_string()
    }

    /// Plans the scan on at most `workers` threads.
    fn plan(&self, py: Python<'_>, workers: usize) -> PyResult<Plan> {
        interruptible(py, |context| self.0.plan(workers, context)).map(Plan::new)
    }

    /// Plans the scan for an operation that rewrites files, which also reads the rows that do not match the filter.
    fn plan_whole_files(&self, py: Python<'_>, workers: usize) -> PyResult<Plan> {
        interruptible(py, |context| self.0.plan_whole_files(workers, context)).map(Plan::new)
    }
}

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

    /// Returns the task of one data file.
    fn task(&self, py: Python<'_>, index: usize) -> PyResult<FileScanTask> {
        self.0.task(index).or_raise(py).map(FileScanTask::new)
    }

    /// Returns the task of one data file for another scan of the same table, with its columns and its filter.
    fn task_for(&self, py: Python<'_>, index: usize, scan: &Scan) -> PyResult<FileScanTask> {
        let task = self.0.task(index).or_raise(py)?;
        Ok(FileScanTask::new(CoreTask { read: scan.read().clone(), ..task }))
    }

    /// Returns whether every row of a data file matches by its partition.
    fn is_whole(&self, py: Python<'_>, index: usize) -> PyResult<bool> {
        self.0.origin(index).map(|(_, whole)| whole).or_raise(py)
    }

    /// Returns the number of record batches of [`Plan::batch`].
    #[getter]
    fn batch_count(&self) -> usize {
        self.0.files().len()
    }

    /// Returns the schema of the plan as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, plan_schema(&self.0))
    }

    /// Returns the files of one manifest as a `pyarrow.RecordBatch`.
    fn batch<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let batch = detached(py, || planned_batch(&self.0, index))?;
        arrow::record_batch(py, batch)
    }

    /// Returns the numbers of files that were kept and skipped, by name.
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

    /// Returns the number of rows that can be counted from metadata only, and the tasks whose files must be read to
    /// count the rest.
    fn count(&self, py: Python<'_>) -> PyResult<(u64, Vec<usize>)> {
        interruptible(py, |_| self.0.count())
    }

    /// Returns groups of the tasks at `indices` without splitting files: the positions of the tasks, and the wire form
    /// as bytes.
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

    /// Returns groups of tasks of about `target_bytes`, each in its wire form as bytes; larger files are split. The
    /// tasks at the positions in `without` are omitted.
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

fn metadata_column(name: &str) -> Result<MetadataColumn, Error> {
    let found = MetadataColumn::ALL.into_iter().find(|column| column.name() == name);
    found.ok_or_else(|| Error::internal(format!("unknown metadata column: {name}")))
}

pub(crate) fn choice(py: Python<'_>, snapshot: Option<(String, Bound<'_, PyAny>)>) -> PyResult<SnapshotChoice> {
    let Some((kind, value)) = snapshot else { return Ok(SnapshotChoice::Current) };
    match kind.as_str() {
        "id" => Ok(SnapshotChoice::Id(snapshot_id(&value)?)),
        "ref" => Ok(SnapshotChoice::Ref(value.extract()?)),
        "as_of" => Ok(SnapshotChoice::AsOf(value.extract()?)),
        other => Err(Error::internal(format!("unknown snapshot selection: {other}"))).or_raise(py),
    }
}

/// Returns a snapshot id; some writers use ids above 2^63, which are represented by the same 64 bits.
fn snapshot_id(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    value.extract().or_else(|_| value.extract::<u64>().map(u64::cast_signed))
}

/// Parses a predicate and prints it again, for messages and tests.
#[pyfunction]
pub(crate) fn normalize_predicate(py: Python<'_>, text: &str) -> PyResult<String> {
    detached(py, || Ok(Expression::filter(text)?.to_string()))
}
