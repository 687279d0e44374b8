//! Transactions: changes of a table, committed as one.

use std::collections::BTreeMap;
use std::sync::Mutex;

use frazil_core::context::Context;
use frazil_core::error::Error;
use frazil_core::storage::files::Files;
use frazil_iceberg::table::Table as IcebergTable;
use frazil_iceberg::transaction::append::Append;
use frazil_iceberg::transaction::commit::Change;
use frazil_iceberg::transaction::hadoop::HadoopPointer;
use frazil_iceberg::transaction::pointer::{Pointer, State};
use frazil_iceberg::transaction::staged::Transaction as CoreTransaction;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::interrupt::interruptible;
use crate::table::Table;
use crate::write::RowWriter;

/// Changes of a table on their way to be committed. Ended by `commit` or `abort`.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Transaction {
    changes: Mutex<Option<CoreTransaction>>,
    files: Files,
}

impl Transaction {
    /// Makes a change on the staged state.
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

    fn end(&self) -> Result<CoreTransaction, Error> {
        self.changes.lock().map_err(|_| ended())?.take().ok_or_else(ended)
    }
}

#[pymethods]
impl Transaction {
    /// Begins at the state of `table`.
    #[new]
    fn new(table: &Table) -> Self {
        let changes = Mutex::new(Some(CoreTransaction::new(table.0.state())));
        Self { changes, files: table.0.files().clone() }
    }

    /// The table with all changes so far, which nobody else sees.
    fn staged(&self, py: Python<'_>) -> PyResult<Table> {
        self.with(py, |changes, _| {
            let metadata_location = changes.base().metadata_location.clone();
            let state = State { metadata: changes.staged().clone(), metadata_location };
            IcebergTable::at(state, self.files.clone()).map(Table)
        })
    }

    /// Adds the files of `rows` to a branch; gives the id of the snapshot, None where there are none.
    fn append(
        &self,
        py: Python<'_>,
        rows: &RowWriter,
        branch: &str,
        properties: BTreeMap<String, String>,
    ) -> PyResult<Option<i64>> {
        let added = rows.added(py)?;
        let nothing = added.is_empty();
        let append = Append::new(self.files.clone(), branch, added, properties).or_raise(py)?;
        let snapshot_id = append.snapshot_id();
        self.add(py, Box::new(append))?;
        Ok((!nothing).then_some(snapshot_id))
    }

    /// Commits all changes as one; gives the new state and how many attempts it took.
    fn commit(&self, py: Python<'_>) -> PyResult<(Table, u32)> {
        interruptible(py, |context| {
            let changes = self.end()?;
            let pointer = pointer_of(&self.files, changes.base());
            let committed = changes.commit(pointer.as_ref(), context)?;
            Ok((Table(IcebergTable::at(committed.state, self.files.clone())?), committed.attempts))
        })
    }

    /// Gives up, and deletes what the changes wrote; nothing to do after `commit`.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        interruptible(py, |_| {
            if let Ok(changes) = self.end() {
                changes.abort();
            }
            Ok(())
        })
    }
}

/// Where the newest state of a table is found.
fn pointer_of(files: &Files, state: &State) -> Box<dyn Pointer> {
    Box::new(HadoopPointer::new(files.clone(), &state.metadata.location))
}

fn ended() -> Error {
    Error::invalid("the transaction has ended").hint("begin another one with table.transaction()")
}
