//! Commits to Paimon tables.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use frazil_core::error::{ErrorKind, Result};
use frazil_paimon::commit::{self, BATCH_IDENTIFIER, BucketChange, NoLock, Overwrite, Request};
use frazil_paimon::table::Table;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::table::PaimonTable;
use crate::interrupt::{detached, interruptible};

/// Snapshots, attempts, the files, rows and bytes that were added, and the files and rows that were removed.
type Committed = (Vec<i64>, u32, (u64, i64, i64), (u64, i64));

/// Values of partition columns, as text.
type Partition = BTreeMap<String, Option<String>>;

/// One commit of what writers wrote.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonCommit {
    table: Table,
    request: Request,
    may_be_committed: AtomicBool,
}

#[pymethods]
impl PaimonCommit {
    /// Return a commit of `user`; without an `identifier` that of a batch. `overwrite` is `table`, `partitions`, which
    /// are those that have the values of one of `partitions`, or `dynamic`.
    #[new]
    #[pyo3(signature = (table, *, user, identifier=None, watermark=None, properties=BTreeMap::new(), overwrite=None,
                        partitions=Vec::new()))]
    #[expect(clippy::too_many_arguments, reason = "what a commit says")]
    fn new(
        table: &PaimonTable,
        user: &str,
        identifier: Option<i64>,
        watermark: Option<i64>,
        properties: BTreeMap<String, String>,
        overwrite: Option<&str>,
        partitions: Vec<Partition>,
    ) -> PyResult<Self> {
        let overwrite = match overwrite {
            None => None,
            Some("table") => Some(Overwrite::Table),
            Some("partitions") => Some(Overwrite::Partitions(partitions)),
            Some("dynamic") => Some(Overwrite::Dynamic),
            Some(other) => return Err(PyValueError::new_err(format!("no overwrite of {other}"))),
        };
        let identifier = identifier.unwrap_or(BATCH_IDENTIFIER);
        let request = Request { identifier, watermark, properties, overwrite, ..Request::append(user) };
        Ok(Self { table: table.0.clone(), request, may_be_committed: AtomicBool::new(false) })
    }

    /// Commits messages; returns the snapshots, the number of attempts, which is 0 if nothing was to be committed or was
    /// committed before, the files, rows and bytes that were added, and the files and rows that were removed.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn commit(&self, py: Python<'_>, messages: Vec<PyBackedBytes>) -> PyResult<Committed> {
        interruptible(py, |context| {
            let changes = opened(&messages)?;
            let outcome = commit::commit(&self.table, &self.request, &changes, &NoLock, context);
            let may_be = match &outcome {
                Ok(committed) => committed.attempts > 0,
                Err(error) => error.kind() == ErrorKind::CommitStateUnknown,
            };
            self.may_be_committed.store(may_be, Ordering::Release);
            let committed = outcome?;
            let (counts, compacted) = (committed.counts, committed.compacted);
            let added = (
                counts.added_files.saturating_add(compacted.added_files),
                counts.added_rows.saturating_add(compacted.added_rows),
                counts.added_bytes.saturating_add(compacted.added_bytes),
            );
            let removed = (
                counts.removed_files.saturating_add(compacted.removed_files),
                counts.removed_rows.saturating_add(compacted.removed_rows),
            );
            Ok((committed.snapshots, committed.attempts, added, removed))
        })
    }

    /// Whether the files of the messages may be part of the table.
    #[getter]
    fn may_be_committed(&self) -> bool {
        self.may_be_committed.load(Ordering::Acquire)
    }

    /// Deletes the files of messages that are not committed; returns how many.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn abort(&self, py: Python<'_>, messages: Vec<PyBackedBytes>) -> PyResult<usize> {
        detached(py, || Ok(commit::abort(&self.table, &opened(&messages)?)))
    }
}

fn opened(messages: &[PyBackedBytes]) -> Result<Vec<BucketChange>> {
    messages.iter().map(|message| BucketChange::open(message)).collect()
}
