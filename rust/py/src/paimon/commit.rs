//! Commits to Paimon tables.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::retry::pause;
use frazil_core::storage::publish::Swap;
use frazil_paimon::commit::{
    self, BATCH_IDENTIFIER, BucketChange, Committed, Counts, NoLock, Overwrite, Request, SnapshotLock,
};
use frazil_paimon::table::Table;
use pyo3::exceptions::{PyBaseException, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::table::PaimonTable;
use crate::catalog::of_python;
use crate::errors::to_python;
use crate::interrupt::{detached, interruptible};

/// The values of partition columns as text.
type Partition = BTreeMap<String, Option<String>>;

/// The snapshots of a commit, and the files that it added and removed: those of the write, or those of the compaction
/// if nothing was written.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonCommitResult(Committed);

impl PaimonCommitResult {
    fn counts(&self) -> &Counts {
        if self.0.counts == Counts::default() { &self.0.compacted } else { &self.0.counts }
    }
}

#[pymethods]
impl PaimonCommitResult {
    /// Returns the ids of the snapshots in ascending order; empty if there was nothing to commit.
    #[getter]
    fn snapshot_ids(&self) -> Vec<i64> {
        self.0.snapshots.clone()
    }

    /// Returns the number of attempts; 0 if there was nothing to commit, or if it was already committed.
    #[getter]
    fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// Returns the number of added data files.
    #[getter]
    fn added_files(&self) -> u64 {
        self.counts().added_files
    }

    /// Returns the number of rows in added data files, including deletes.
    #[getter]
    fn added_rows(&self) -> i64 {
        self.counts().added_rows
    }

    /// Returns the size of added data files in bytes.
    #[getter]
    fn added_bytes(&self) -> i64 {
        self.counts().added_bytes
    }

    /// Returns the positions of the messages whose compaction was not committed, because another writer changed the
    /// bucket.
    #[getter]
    fn lost(&self) -> Vec<usize> {
        self.0.lost.clone()
    }

    /// Returns why the compaction failed as a whole after the written files were committed; None if it did not.
    #[getter]
    fn failure<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBaseException>> {
        self.0.failure.as_ref().map(|error| to_python(py, error).into_value(py).into_bound(py))
    }

    /// Returns the number of removed data files.
    #[getter]
    fn removed_files(&self) -> u64 {
        self.counts().removed_files
    }

    /// Returns the number of rows in removed data files.
    #[getter]
    fn removed_rows(&self) -> i64 {
        self.counts().removed_rows
    }
}

/// A commit of the output of writers.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonCommit {
    table: Table,
    request: Request,
    lock: Option<Py<PyAny>>,
    may_be_committed: AtomicBool,
}

#[pymethods]
impl PaimonCommit {
    /// Creates a commit of `user`; without an `identifier`, a batch commit. `overwrite` is `table`, `partitions` (those
    /// with the values of one of `partitions`) or `dynamic`. `lock` is held while a snapshot is published.
    #[new]
    #[pyo3(signature = (table, *, user, identifier=None, watermark=None, properties=BTreeMap::new(), overwrite=None,
                        partitions=Vec::new(), lock=None))]
    #[expect(clippy::too_many_arguments, reason = "the parameters of a commit")]
    fn new(
        table: &PaimonTable,
        user: &str,
        identifier: Option<i64>,
        watermark: Option<i64>,
        properties: BTreeMap<String, String>,
        overwrite: Option<&str>,
        partitions: Vec<Partition>,
        lock: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let overwrite = match overwrite {
            None => None,
            Some("table") => Some(Overwrite::Table),
            Some("partitions") => Some(Overwrite::Partitions(partitions)),
            Some("dynamic") => Some(Overwrite::Dynamic),
            Some(other) => return Err(PyValueError::new_err(format!("invalid overwrite mode {other}"))),
        };
        let identifier = identifier.unwrap_or(BATCH_IDENTIFIER);
        let request = Request { identifier, watermark, properties, overwrite, ..Request::append(user) };
        Ok(Self { table: table.0.clone(), request, lock, may_be_committed: AtomicBool::new(false) })
    }

    /// Commits messages and returns the result.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn commit(&self, py: Python<'_>, messages: Vec<PyBackedBytes>) -> PyResult<PaimonCommitResult> {
        interruptible(py, |context| {
            let changes = opened(&messages)?;
            let outcome = with_lock(self.lock.as_ref(), context, |lock| {
                commit::commit(&self.table, &self.request, &changes, lock, context)
            });
            let may_be = match &outcome {
                Ok(committed) => committed.attempts > 0,
                Err(error) => error.kind() == ErrorKind::CommitStateUnknown,
            };
            self.may_be_committed.store(may_be, Ordering::Release);
            outcome.map(PaimonCommitResult)
        })
    }

    /// Merges the manifests of the latest snapshot and returns the result.
    fn compact_manifests(&self, py: Python<'_>) -> PyResult<PaimonCommitResult> {
        interruptible(py, |context| {
            let commit = |lock: &dyn SnapshotLock| commit::compact_manifests(&self.table, &self.request, lock, context);
            with_lock(self.lock.as_ref(), context, commit).map(PaimonCommitResult)
        })
    }

    /// Records the content of a statistics file, which belongs to a schema. Returns the result.
    fn record_statistics(&self, py: Python<'_>, schema_id: i64, content: String) -> PyResult<PaimonCommitResult> {
        interruptible(py, |context| {
            let commit = |lock: &dyn SnapshotLock| {
                commit::record_statistics(&self.table, &self.request, (schema_id, content), lock, context)
            };
            with_lock(self.lock.as_ref(), context, commit).map(PaimonCommitResult)
        })
    }

    /// Returns how often the commit is retried (`commit.max-retries`).
    #[getter]
    fn max_retries(&self, py: Python<'_>) -> PyResult<u32> {
        detached(py, || commit::max_retries(&self.table))
    }

    /// Waits before the `number`-th time that the operation is planned again; returns false if the attempts are used up.
    fn back_off(&self, py: Python<'_>, number: u32) -> PyResult<bool> {
        interruptible(py, |context| commit::back_off(&self.table, number, context))
    }

    /// Returns whether the files of the messages may be part of the table.
    #[getter]
    fn may_be_committed(&self) -> bool {
        self.may_be_committed.load(Ordering::Acquire)
    }

    /// Deletes the files of uncommitted messages and returns their number.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn abort(&self, py: Python<'_>, messages: Vec<PyBackedBytes>) -> PyResult<usize> {
        detached(py, || Ok(commit::abort(&self.table, &opened(&messages)?)))
    }

    /// Deletes the files of writers whose name begins with `operation`, except those of the messages, and returns their
    /// number.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn sweep(&self, py: Python<'_>, operation: &str, kept: Vec<PyBackedBytes>) -> PyResult<usize> {
        interruptible(py, |_| commit::sweep(&self.table, operation, &opened(&kept)?))
    }
}

/// Calls `publish` with a `frazil.paimon._state.Lock`, or without a lock.
pub(super) fn with_lock<T>(
    lock: Option<&Py<PyAny>>,
    context: &Context,
    publish: impl FnOnce(&dyn SnapshotLock) -> T,
) -> T {
    match lock {
        Some(lock) => publish(&PythonLock { lock, context }),
        None => publish(&NoLock),
    }
}

/// A `frazil.paimon._state.Lock`. Python is attached only during calls.
#[derive(Debug)]
struct PythonLock<'a> {
    lock: &'a Py<PyAny>,
    context: &'a Context,
}

impl SnapshotLock for PythonLock<'_> {
    fn run(&self, publish: &mut dyn FnMut() -> Swap) -> Result<Swap> {
        while let Some(seconds) = self.acquire()? {
            let wait = Duration::try_from_secs_f64(seconds);
            pause(wait.map_err(|_| Error::internal("a lock returned an invalid wait time"))?, self.context)?;
        }
        let outcome = publish();
        // If it cannot be released, it expires, and the published state stays.
        let _ = Python::attach(|py| self.lock.bind(py).call_method0("release").map(drop));
        Ok(outcome)
    }
}

impl PythonLock<'_> {
    /// Returns the seconds after which to retry; `None` if the lock was acquired.
    fn acquire(&self) -> Result<Option<f64>> {
        Python::attach(|py| {
            let answer = self.lock.bind(py).call_method0("acquire").and_then(|answer| answer.extract());
            answer.map_err(|raised| of_python(py, raised))
        })
    }
}

fn opened(messages: &[PyBackedBytes]) -> Result<Vec<BucketChange>> {
    messages.iter().map(|message| BucketChange::open(message)).collect()
}
