//! Transactions: changes of a table, committed as one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind};
use frazil_core::sql::expression::Expression;
use frazil_core::storage::files::Files;
use frazil_iceberg::commit::attempts::{Attempts as CoreAttempts, Change};
use frazil_iceberg::commit::staged::Transaction as CoreTransaction;
use frazil_iceberg::evolve::Evolution;
use frazil_iceberg::evolve::create::CreateTable;
use frazil_iceberg::evolve::replace::ReplaceTable;
use frazil_iceberg::files::TouchedFiles;
use frazil_iceberg::snapshot::change::{FileChanges, Outcome, SnapshotChange};
use frazil_iceberg::table::{State, Table as IcebergTable};
use frazil_iceberg::validation::conflict::{NewEqualityDeletes, Validation as CoreValidation};
use pyo3::prelude::*;

use crate::catalog::pointer_at;
use crate::errors::OrRaise;
use crate::interrupt::{detached, interruptible};
use crate::message::CommitMessages;
use crate::row_delta::RowDelta;
use crate::table::Table;
use crate::write::{RowWriter, new_table};

/// Data files that are added: written by this process, or by other processes.
#[derive(FromPyObject)]
enum NewFiles<'py> {
    Written(PyRef<'py, RowWriter>),
    Messages(PyRef<'py, CommitMessages>),
}

/// The attempts to make a change, over all commits that are tried for it.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Attempts(Mutex<CoreAttempts>);

impl Attempts {
    fn with<R>(&self, work: impl FnOnce(&mut CoreAttempts) -> Result<R, Error>) -> Result<R, Error> {
        work(&mut *self.0.lock().map_err(|_| Error::internal("an earlier attempt failed"))?)
    }
}

#[pymethods]
impl Attempts {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// Moves on to the next attempt after a conflict. Waits for the backoff time in the properties of `table`, and then
    /// for a turn among the writers of this machine, which lasts until the commit or `end_turn`. Returns False if the
    /// properties allow no further attempt.
    fn again(&self, py: Python<'_>, table: &Table, row: Option<Py<PyAny>>) -> PyResult<bool> {
        let pointer = table.pointer(row);
        let known = table.0.state();
        interruptible(py, |context| self.with(|attempts| attempts.again(pointer.as_ref(), &known, context)))
    }

    /// Ends the turn of an attempt that will not be committed.
    fn end_turn(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || {
            self.with(|attempts| {
                attempts.end_turn();
                Ok(())
            })
        })
    }
}

/// The snapshot that a change created, and the files that it added and removed.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct SnapshotOutcome(Outcome);

#[pymethods]
impl SnapshotOutcome {
    /// Returns the id of the snapshot; None if there was nothing to do.
    #[getter]
    fn snapshot_id(&self) -> Option<i64> {
        self.0.snapshot_id
    }

    /// Returns the number of added data files.
    #[getter]
    fn added_files(&self) -> i64 {
        self.0.added.data_files
    }

    /// Returns the number of rows in added data files.
    #[getter]
    fn added_records(&self) -> i64 {
        self.0.added.records
    }

    /// Returns the size of added files in bytes.
    #[getter]
    fn added_bytes(&self) -> i64 {
        self.0.added.bytes
    }

    /// Returns the number of added delete files and deletion vectors.
    #[getter]
    fn added_delete_files(&self) -> i64 {
        self.0.added.delete_files
    }

    /// Returns the number of removed data files.
    #[getter]
    fn removed_files(&self) -> i64 {
        self.0.removed.data_files
    }

    /// Returns the number of rows in removed data files.
    #[getter]
    fn removed_records(&self) -> i64 {
        self.0.removed.records
    }

    /// Returns the number of removed delete files and deletion vectors.
    #[getter]
    fn removed_delete_files(&self) -> i64 {
        self.0.removed.delete_files
    }
}

/// A set of changes to a table that are committed together. Ended by `commit` or `abort`.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Transaction {
    changes: Mutex<Option<CoreTransaction>>,
    may_be_committed: AtomicBool,
    files: Files,
    /// The row of the catalog; None for a table without one.
    row: Option<Py<PyAny>>,
    /// The outcome of each snapshot change.
    outcomes: Mutex<Vec<Arc<Mutex<Outcome>>>>,
}

impl Transaction {
    /// Applies a change to the staged state.
    pub(crate) fn add(&self, py: Python<'_>, change: Box<dyn Change>) -> PyResult<()> {
        self.with(py, |changes, context| changes.add(change, context))
    }

    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut CoreTransaction, &Context) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        interruptible(py, |context| {
            let mut changes = self.changes.lock().map_err(|_| ended())?;
            work(changes.as_mut().ok_or_else(ended)?, context)
        })
    }

    fn begin(transaction: CoreTransaction, files: Files, row: Option<Py<PyAny>>) -> Self {
        let changes = Mutex::new(Some(transaction));
        Self { changes, may_be_committed: AtomicBool::new(false), files, row, outcomes: Mutex::default() }
    }

    fn end(&self) -> Result<CoreTransaction, Error> {
        self.changes.lock().map_err(|_| ended())?.take().ok_or_else(ended)
    }
}

#[pymethods]
impl Transaction {
    /// Begins a transaction on the state of `table`.
    #[new]
    #[pyo3(signature = (table, row = None))]
    fn new(table: &Table, row: Option<Py<PyAny>>) -> Self {
        Self::begin(CoreTransaction::new(table.0.state()), table.0.files().clone(), row)
    }

    /// Begins a transaction whose commit creates a table; see [`new_table`].
    #[staticmethod]
    #[pyo3(signature = (files, location, schema, partition_by, sort_order, format_version, properties, row = None))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    #[expect(clippy::too_many_arguments, reason = "the definition of a table")]
    fn creating(
        py: Python<'_>,
        files: &crate::files::Files,
        location: String,
        schema: String,
        partition_by: Vec<(String, Option<String>)>,
        sort_order: String,
        format_version: u8,
        properties: BTreeMap<String, String>,
        row: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        detached(py, || {
            let table = new_table(location, &schema, &partition_by, &sort_order, format_version, properties)?;
            Ok(Self::begin(CoreTransaction::creating(table.metadata()?)?, files.0.clone(), row))
        })
    }

    /// Replaces the definition of the table; None keeps a setting; see [`new_table`].
    #[pyo3(signature = (location, schema, partition_by, sort_order, format_version, properties))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    #[expect(clippy::too_many_arguments, reason = "the definition of a table")]
    fn replace(
        &self,
        py: Python<'_>,
        location: Option<String>,
        schema: String,
        partition_by: Vec<(String, Option<String>)>,
        sort_order: String,
        format_version: Option<u8>,
        properties: BTreeMap<String, String>,
    ) -> PyResult<()> {
        let made = detached(py, || new_table(String::new(), &schema, &partition_by, &sort_order, 1, properties))?;
        let CreateTable { schema, spec, order, properties, .. } = made;
        self.add(py, Box::new(ReplaceTable { format_version, location, schema, spec, order, properties }))
    }

    /// Returns the table as it was when the transaction began.
    fn base(&self, py: Python<'_>) -> PyResult<Table> {
        self.with(py, |changes, _| IcebergTable::at(changes.base().clone(), self.files.clone()).map(Table))
    }

    /// Returns the table with all changes so far, which are visible only to this transaction.
    fn staged(&self, py: Python<'_>) -> PyResult<Table> {
        self.with(py, |changes, _| {
            let metadata_location = changes.base().metadata_location.clone();
            let state = State { metadata: changes.staged().clone(), metadata_location };
            IcebergTable::at(state, self.files.clone()).map(Table)
        })
    }

    /// Adds a snapshot to a branch.
    fn snapshot(&self, py: Python<'_>, request: SnapshotRequest<'_>) -> PyResult<()> {
        let SnapshotRequest { options, files, delta, replace, validation, fast, operation, data_sequence_number } =
            request;
        let mut changes = FileChanges {
            properties: options.properties,
            fast,
            creates_branch: options.creates_branch,
            data_sequence_number,
            ..FileChanges::default()
        };
        for files in &files {
            match files {
                NewFiles::Written(rows) => {
                    let data = rows.added(py)?;
                    if !data.is_empty() {
                        changes.contents.push(rows.contents(py)?);
                    }
                    changes.data.extend(data);
                }
                NewFiles::Messages(messages) => {
                    if !messages.added().is_empty() {
                        changes.contents.push(messages.contents().clone());
                    }
                    changes.data.extend(messages.added().iter().cloned());
                }
            }
        }
        let staged = self.with(py, |transaction, _| Ok(transaction.staged().clone()))?;
        let delta = delta.as_deref();
        detached(py, || {
            let mut touched = TouchedFiles::default();
            if let Some(delta) = delta {
                (changes.removals, touched) = delta.with(|delta| delta.removals())?;
                changes.deletes = delta.with(|delta| Ok(delta.added().to_vec()))?;
            }
            match replace.as_str() {
                "none" => {}
                "all" => changes.removals.all = true,
                "partitions" => {
                    changes.removals.partitions = Some(changes.partitions_of(&staged)?);
                    // Also if nothing is removed: incremental append scans and cherry-picks skip overwrite snapshots.
                    changes.operation = Some("overwrite");
                }
                other => return Err(Error::internal(format!("unknown replacement mode: {other}"))),
            }
            match operation.as_deref() {
                None => {}
                Some("replace") => changes.operation = Some("replace"),
                Some(other) => return Err(Error::internal(format!("unknown snapshot operation: {other}"))),
            }
            changes.validation = validation.map(|looked| looked.into_core(touched)).transpose()?;
            let change = SnapshotChange::new(self.files.clone(), &options.branch, changes)?;
            Ok((change.outcome(), change))
        })
        .and_then(|(outcome, change)| {
            self.add(py, Box::new(change))?;
            self.outcomes.lock().map_err(|_| ended()).or_raise(py)?.push(outcome);
            Ok(())
        })
    }

    /// Returns the outcome of each snapshot change. A commit on a newer state changes it.
    fn outcomes(&self, py: Python<'_>) -> PyResult<Vec<SnapshotOutcome>> {
        let outcomes = self.outcomes.lock().map_err(|_| ended()).or_raise(py)?;
        let current = outcomes.iter().map(|outcome| Ok(SnapshotOutcome(*outcome.lock().map_err(|_| ended())?)));
        current.collect::<Result<_, Error>>().or_raise(py)
    }

    /// Applies a change of schema, partition spec, sort order, properties or references, given in its wire form.
    /// `known` is the state that its user knows, if it differs from the one where the transaction began.
    #[pyo3(signature = (change, known = None))]
    fn evolve(&self, py: Python<'_>, change: &str, known: Option<&Table>) -> PyResult<()> {
        let mut change = Evolution::from_json(change).or_raise(py)?;
        let known = known.map(|known| known.0.state());
        self.with(py, |transaction, context| {
            if let Some(known) = known {
                change = change.decided_on(&known.metadata, &transaction.base().metadata)?;
            }
            transaction.add_all(change.into_changes(&self.files), context)
        })
    }

    /// Makes the commit fail with a conflict if another writer adds or deletes rows on the main branch after this
    /// snapshot.
    fn validate_read(&self, py: Python<'_>, snapshot_id: Option<i64>) -> PyResult<()> {
        self.with(py, |transaction, _| transaction.validate_read(snapshot_id))
    }

    /// Commits all changes as one. Returns the new state; the state that the commit replaced, which is None if there
    /// was nothing to commit or the table was created; and the number of attempts, including earlier ones.
    fn commit(&self, py: Python<'_>, attempts: &Attempts) -> PyResult<(Table, Option<Table>, u32)> {
        let row = self.row.as_ref().map(|row| row.clone_ref(py));
        interruptible(py, |context| {
            let changes = self.end()?;
            let pointer = pointer_at(&self.files, &changes.base().metadata.location, row);
            // Stored here, because a signal may replace the result before it reaches Python.
            self.may_be_committed.store(true, Ordering::Release);
            let committed = attempts.with(|attempts| changes.commit(pointer.as_ref(), attempts, context));
            let is_refused =
                committed.as_ref().err().is_some_and(|error| error.kind() != ErrorKind::CommitStateUnknown);
            self.may_be_committed.store(!is_refused, Ordering::Release);
            let committed = committed?;
            let table = |state| IcebergTable::at(state, self.files.clone()).map(Table);
            Ok((table(committed.state)?, committed.replaced.map(table).transpose()?, committed.attempts))
        })
    }

    /// Returns whether the changes took effect, or may have: their files must not be deleted.
    #[getter]
    fn may_be_committed(&self) -> bool {
        self.may_be_committed.load(Ordering::Acquire)
    }

    /// Aborts the transaction and deletes the files that the changes wrote; does nothing after `commit`.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        interruptible(py, |_| {
            if let Ok(changes) = self.end() {
                changes.abort();
            }
            Ok(())
        })
    }
}

/// A request for a new snapshot; see `frazil.iceberg.operations`.
#[derive(FromPyObject)]
struct SnapshotRequest<'py> {
    options: SnapshotOptions,
    /// The data files to add.
    files: Vec<NewFiles<'py>>,
    /// The deleted rows, and the data files to remove.
    delta: Option<PyRef<'py, RowDelta>>,
    /// The additional data files to remove: `none`, `all`, or those in the `partitions` of the added files.
    replace: String,
    validation: Option<Validation>,
    fast: bool,
    /// The operation of the snapshot: `replace`, or derived from its files by default.
    operation: Option<String>,
    /// The sequence number of the new data files; None for that of the snapshot.
    data_sequence_number: Option<i64>,
}

/// The options of a snapshot that users can set.
#[derive(FromPyObject)]
struct SnapshotOptions {
    branch: String,
    /// Whether the branch is created from `main` if it does not exist.
    creates_branch: bool,
    properties: BTreeMap<String, String>,
}

/// The conditions that a commit validates.
#[derive(FromPyObject)]
struct Validation {
    /// The snapshot of the branch that was read.
    planned_on: Option<i64>,
    isolation: String,
    filter: Filter,
    /// Whether deletes that were added in the meantime conflict even for data files that stay.
    refuses_new_deletes: bool,
    /// Whether equality deletes that were added in the meantime do not conflict.
    passes_over_equality_deletes: bool,
    /// Whether every removal of rows in the meantime conflicts.
    refuses_removals: bool,
}

/// A row filter.
#[derive(FromPyObject)]
struct Filter {
    /// The filter as SQL; empty for all rows.
    text: String,
    case_sensitive: bool,
}

impl Validation {
    fn into_core(self, touched: TouchedFiles) -> Result<CoreValidation, Error> {
        let Self { planned_on, isolation, filter, refuses_new_deletes, passes_over_equality_deletes, refuses_removals } =
            self;
        let Filter { text, case_sensitive } = filter;
        let filter = if text.is_empty() { Expression::TRUE } else { Expression::filter(&text)? };
        Ok(CoreValidation {
            planned_on,
            isolation: isolation.parse()?,
            filter,
            case_sensitive,
            refuses_new_deletes,
            refuses_new_files: false,
            refuses_removals,
            equality_deletes: if passes_over_equality_deletes {
                NewEqualityDeletes::Apply
            } else {
                NewEqualityDeletes::Conflict
            },
            touched,
        })
    }
}

fn ended() -> Error {
    Error::invalid("the transaction has already ended").hint("begin a new one with table.transaction()")
}
