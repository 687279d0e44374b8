//! Commits several changes to a table in one commit.
//!
//! Each change is applied immediately to the *staged* state, which the next change starts from, so an invalid change
//! fails when it is added. The commit publishes the staged state. Only when another writer was first are the changes
//! repeated, in order, on the newer state.

use std::sync::Arc;

use frazil_core::clock::now_ms;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::ids;

use super::attempts::{Attempts, Change, Committed, Revision, commit_after, newest};
use super::pointer::Pointer;
use super::requirement::Requirement;
use super::update::{MetadataBuilder, TableUpdate};
use crate::spec::table_metadata::TableMetadata;
use crate::table::State;

/// Changes that are waiting to be committed.
#[derive(Debug)]
pub struct Transaction {
    base: State,
    /// Whether the table is to be created; `base` is then its initial state, which no file holds.
    creates: bool,
    staged: Staged,
    changes: Vec<Box<dyn Change>>,
    /// The staged state that each change was first applied to.
    made_on: Vec<Arc<TableMetadata>>,
    /// The current snapshots from which rows of the transaction were read. Later row changes by other writers conflict.
    reads: Vec<Option<i64>>,
}

/// A state with changes, and the updates that produced it.
#[derive(Debug)]
struct Staged {
    metadata: Arc<TableMetadata>,
    updates: Vec<TableUpdate>,
}

impl Staged {
    fn new(metadata: Arc<TableMetadata>) -> Self {
        Self { metadata, updates: Vec::new() }
    }

    fn add(&mut self, change: &mut dyn Change, attempt: u32, context: &Context) -> Result<()> {
        let Revision::Update(updates) = change.revise(Some(&self.metadata), attempt, context)? else {
            return Err(Error::new(ErrorKind::AlreadyExists, "the table already exists"));
        };
        if updates.is_empty() {
            return Ok(());
        }
        let mut builder = MetadataBuilder::new(self.metadata.as_ref().clone(), now_ms());
        updates.iter().try_for_each(|update| builder.apply(update.clone()))?;
        self.metadata = Arc::new(builder.into_metadata()?);
        self.updates.extend(updates);
        Ok(())
    }
}

impl Transaction {
    /// Begins a transaction on the state that the caller knows.
    pub fn new(base: State) -> Self {
        Self {
            staged: Staged::new(base.metadata.clone()),
            base,
            creates: false,
            changes: Vec::new(),
            made_on: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// Begins a transaction that creates a table with this initial state. The commit fails if the table exists by then.
    ///
    /// # Errors
    /// The errors of the random number generator.
    pub fn creating(metadata: TableMetadata) -> Result<Self> {
        let metadata_location = format!("{}/metadata/uncommitted-{}.metadata.json", metadata.location, ids::uuid()?);
        let base = State { metadata: Arc::new(metadata), metadata_location };
        Ok(Self { creates: true, ..Self::new(base) })
    }

    /// Returns the state that the transaction began from.
    pub fn base(&self) -> &State {
        &self.base
    }

    /// Returns the state with all changes so far, which is visible only to this transaction.
    pub fn staged(&self) -> &Arc<TableMetadata> {
        &self.staged.metadata
    }

    /// Returns whether the transaction changes nothing.
    pub fn is_empty(&self) -> bool {
        !self.creates && self.staged.updates.is_empty()
    }

    /// Applies a change to the staged state.
    ///
    /// # Errors
    /// The errors of the change; the transaction is then unchanged.
    pub fn add(&mut self, mut change: Box<dyn Change>, context: &Context) -> Result<()> {
        let before = self.staged.metadata.clone();
        if let Err(error) = self.staged.add(change.as_mut(), 1, context) {
            change.clean(None);
            return Err(error);
        }
        self.changes.push(change);
        self.made_on.push(before);
        Ok(())
    }

    /// Makes the commit fail with a conflict if another writer adds or deletes rows on the main branch after the given
    /// snapshot, from which rows of the transaction were read. None if the branch had no snapshot.
    ///
    /// `CommitConflict` if another writer added or deleted rows before the transaction began.
    pub fn validate_read(&mut self, snapshot_id: Option<i64>) -> Result<()> {
        check_read(&self.base.metadata, snapshot_id)?;
        self.reads.push(snapshot_id);
        Ok(())
    }

    /// Applies changes that belong together to the staged state.
    ///
    /// # Errors
    /// The errors of the first change that fails; the transaction is then unchanged.
    pub fn add_all(&mut self, changes: Vec<Box<dyn Change>>, context: &Context) -> Result<()> {
        let (metadata, updates, made) = (self.staged.metadata.clone(), self.staged.updates.len(), self.changes.len());
        let outcome = changes.into_iter().try_for_each(|change| self.add(change, context));
        if outcome.is_err() {
            self.staged.metadata = metadata;
            self.staged.updates.truncate(updates);
            self.made_on.truncate(made);
            self.changes.drain(made..).for_each(|mut change| change.clean(None));
        }
        outcome
    }

    /// Commits all changes as one, continuing after earlier attempts.
    ///
    /// # Errors
    /// See [`commit_after`]; `AlreadyExists` for a table that was to be created.
    pub fn commit(mut self, pointer: &dyn Pointer, attempts: &mut Attempts, context: &Context) -> Result<Committed> {
        if self.creates {
            return commit_after(pointer, None, &mut self, attempts, context);
        }
        let mut base = self.base.clone();
        if self.is_empty() {
            if let Some(newer) = self.newer(pointer)? {
                if let Err(error) = self.make_again(&newer.metadata, 1, context) {
                    self.clean(None);
                    return Err(error);
                }
                base = newer;
            }
            if self.is_empty() {
                return Ok(Committed { state: base, replaced: None, attempts: attempts.before() });
            }
        }
        commit_after(pointer, Some(base), &mut self, attempts, context)
    }

    /// Returns the latest state if it is newer than the base and at least one change is metadata-only: such a change
    /// may have an effect on the newer state. Returns None otherwise: a change that matched no rows is not repeated,
    /// because newer rows did not exist when the change searched for them.
    fn newer(&self, pointer: &dyn Pointer) -> Result<Option<State>> {
        if self.changes.iter().all(|change| change.writes_files()) {
            return Ok(None);
        }
        let found = newest(pointer, &self.base)?;
        Ok((found.metadata_location != self.base.metadata_location).then_some(found))
    }

    /// Applies all changes again to another state.
    fn make_again(&mut self, base: &TableMetadata, attempt: u32, context: &Context) -> Result<()> {
        self.reads.iter().try_for_each(|read| check_read(base, *read))?;
        self.staged = Staged::new(Arc::new(base.clone()));
        for (change, before) in self.changes.iter_mut().zip(&self.made_on) {
            if change.writes_files() {
                check_ids(&self.base.metadata, before, &self.staged.metadata)?;
            }
            self.staged.add(change.as_mut(), attempt, context)?;
        }
        Ok(())
    }

    /// Aborts the transaction and deletes the files that the changes wrote.
    pub fn abort(mut self) {
        self.clean(None);
    }
}

impl Change for Transaction {
    fn revise(&mut self, base: Option<&TableMetadata>, attempt: u32, context: &Context) -> Result<Revision> {
        if self.creates {
            Requirement::AssertCreate.check(base)?;
            return Ok(Revision::Create(Box::new(self.staged.metadata.as_ref().clone())));
        }
        let base = base.ok_or_else(|| Error::new(ErrorKind::NoSuchTable, "the table no longer exists"))?;
        if attempt > 1 {
            self.make_again(base, attempt, context)?;
        }
        Ok(Revision::Update(self.staged.updates.clone()))
    }

    fn clean(&mut self, committed: Option<&TableMetadata>) {
        self.changes.iter_mut().for_each(|change| change.clean(committed));
    }
}

/// Fails if rows of the main branch changed after the snapshot `read`: only compactions may follow it.
fn check_read(base: &TableMetadata, read: Option<i64>) -> Result<()> {
    let mut id = base.current_snapshot_id;
    while id != read {
        match id.and_then(|id| base.snapshot(id).ok()) {
            Some(snapshot) if snapshot.operation() == Some("replace") => id = snapshot.parent_snapshot_id,
            _ => {
                let message = "another writer changed the table after this transaction read rows from it";
                return Err(Error::new(ErrorKind::CommitConflict, message).hint("run the statement again"));
            }
        }
    }
    Ok(())
}

/// Checks that a retry assigns the schemas and specs of the transaction the same ids as before. The transaction's files
/// were written with the ids of `then`. After another writer's commit, a retry may assign different ids, which would
/// mix up the values of columns. Partition values also depend on the types of their source columns.
fn check_ids(base: &TableMetadata, then: &TableMetadata, now: &TableMetadata) -> Result<()> {
    let schemas = then.schemas.iter().filter(|schema| !base.schemas.contains(schema));
    let specs = then.partition_specs.iter().filter(|spec| !base.partition_specs.contains(spec));
    let orders = then.sort_orders.iter().filter(|order| !base.sort_orders.contains(order));
    let is_same = schemas.into_iter().all(|schema| now.schemas.contains(schema))
        && specs.into_iter().all(|spec| now.partition_specs.contains(spec))
        && orders.into_iter().all(|order| now.sort_orders.contains(order))
        && then.partition_specs.iter().all(|spec| then.partition_type(spec) == now.partition_type(spec));
    if is_same {
        return Ok(());
    }
    let message =
        "another writer changed the schema, the partition spec or the sort order that this transaction changed or used";
    Err(Error::new(ErrorKind::CommitConflict, message).hint("load the table again and retry the transaction"))
}
