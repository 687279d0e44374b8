//! Paimon tables.

use std::collections::BTreeMap;

use frazil_core::sql::expression::bind::now_micros;
use frazil_paimon::bucket;
use frazil_paimon::references::ManageReferences;
use frazil_paimon::scan::mode::hides_new_rows;
use frazil_paimon::schema::Change;
use frazil_paimon::schema::alter::alter;
use frazil_paimon::table::Table;
use frazil_paimon::write::align::source_batches;
use frazil_paimon::write::postponed::has_waiting_rows;
use pyo3::prelude::*;

use super::commit::with_lock;
use crate::arrow::{self, ArrowBatch};
use crate::files::Files;
use crate::interrupt::{detached, interruptible};

/// A table with its latest schema.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonTable(pub(crate) Table);

#[pymethods]
impl PaimonTable {
    /// Opens the table in a folder, on a given branch or on the main one.
    #[staticmethod]
    fn open(py: Python<'_>, files: &Files, location: &str, branch: Option<&str>) -> PyResult<Self> {
        interruptible(py, |_| Table::open(&files.0, location, branch)).map(Self)
    }

    /// Returns the table with its latest schema.
    fn refresh(&self, py: Python<'_>) -> PyResult<Self> {
        interruptible(py, |_| self.0.refresh()).map(Self)
    }

    /// Returns the folder of the table.
    #[getter]
    fn location(&self) -> &str {
        self.0.location()
    }

    /// Returns the branch that is read.
    #[getter]
    fn branch(&self) -> &str {
        self.0.branch()
    }

    /// Returns the rows of a merge in the types of the table's columns; with `exact`, a column that `append` rejects is
    /// an error.
    #[pyo3(signature = (batches, *, exact))]
    fn source_batches<'py>(
        &self,
        py: Python<'py>,
        batches: Vec<ArrowBatch>,
        exact: bool,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let batches: Vec<_> = batches.into_iter().map(|ArrowBatch(batch)| batch).collect();
        let batches = detached(py, || source_batches(self.0.schema(), &batches, exact))?;
        batches.into_iter().map(|batch| arrow::record_batch(py, batch)).collect()
    }

    /// Returns whether readers see new rows only after a compaction.
    fn hides_new_rows(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || hides_new_rows(self.0.schema()))
    }

    /// Returns whether a key can move to another partition, because the primary key lacks a partition column.
    fn moves_keys(&self) -> bool {
        self.0.schema().moves_keys()
    }

    /// Returns whether rows may wait for a compaction that assigns them to buckets.
    fn has_waiting_rows(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || has_waiting_rows(self.0.schema()))
    }

    /// Returns the ids of all schemas in ascending order.
    fn schema_ids(&self, py: Python<'_>) -> PyResult<Vec<i64>> {
        detached(py, || self.0.schema_ids())
    }

    /// Returns a schema as JSON; the latest for None.
    fn schema_json(&self, py: Python<'_>, schema_id: Option<i64>) -> PyResult<String> {
        detached(py, || match schema_id {
            None => Ok(self.0.schema().to_json()),
            Some(id) => Ok(self.0.schema_by_id(id)?.to_json()),
        })
    }

    /// Returns the ids of all snapshots in ascending order.
    fn snapshot_ids(&self, py: Python<'_>) -> PyResult<Vec<i64>> {
        detached(py, || self.0.snapshot_ids())
    }

    /// Returns a snapshot as JSON; the latest for None, `null` if there is no snapshot.
    fn snapshot_json(&self, py: Python<'_>, snapshot_id: Option<i64>) -> PyResult<String> {
        detached(py, || self.0.snapshot_text(snapshot_id))
    }

    /// Returns the tags as a JSON object of names and file contents.
    fn tags_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.0.tag_texts())
    }

    /// Returns the branches other than the main one, sorted.
    fn branches(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || self.0.branches())
    }

    /// Returns the consumers as a JSON object of names and next snapshots.
    fn consumers_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.0.consumer_texts())
    }

    /// Changes tags and branches by operations in JSON.
    fn manage_references(&self, py: Python<'_>, change: &str, utc_offset_ms: i64) -> PyResult<()> {
        interruptible(py, |context| {
            let local_us = now_micros().saturating_add(utc_offset_ms.saturating_mul(1000));
            ManageReferences::from_json(change)?.apply(&self.0, local_us, context)
        })
    }

    /// Writes the `_SUCCESS` files of partitions, which are given by the values of all partition columns as text.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts objects by value")]
    fn mark_partitions_done(&self, py: Python<'_>, partitions: Vec<BTreeMap<String, Option<String>>>) -> PyResult<()> {
        interruptible(py, |_| self.0.mark_partitions_done(&partitions))
    }

    /// Applies schema changes, which are given as a JSON array of operations, to the latest schema. Returns the
    /// table with the new schema. `lock` is held while the schema is published.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts objects by value")]
    fn alter(&self, py: Python<'_>, changes: &str, lock: Option<Py<PyAny>>) -> PyResult<Self> {
        interruptible(py, |context| {
            let changes = Change::parse_all(changes.as_bytes())?;
            with_lock(lock.as_ref(), context, |lock| alter(&self.0, &changes, lock, context))
        })
        .map(Self)
    }

    /// Returns the bucket of each row as a `pyarrow.Array`; columns are matched by name.
    fn bucket_ids(&self, py: Python<'_>, batch: ArrowBatch) -> PyResult<Py<PyAny>> {
        let ArrowBatch(batch) = batch;
        let ids = detached(py, || bucket::of_rows(self.0.schema(), &batch))?;
        arrow::int32_array(py, ids)
    }
}
