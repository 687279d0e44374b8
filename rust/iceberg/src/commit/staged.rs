//! Several changes of a table, committed as one.
//!
//! Each change is made at once on the *staged* state, which the next one starts from, so that it fails where it is
//! asked for. The commit hands over what is staged; only when another writer was first are the changes made again, in
//! their order, on the newer state.

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

/// Changes on their way to be committed.
#[derive(Debug)]
pub struct Transaction {
    base: State,
    /// Whether the table is to be made, so that `base` is the state that it begins with, which no file holds.
    creates: bool,
    staged: Staged,
    changes: Vec<Box<dyn Change>>,
    /// The staged state that each change was made on first.
    made_on: Vec<Arc<TableMetadata>>,
    /// The current snapshots that rows of the transaction were made of, while changes since then conflict.
    reads: Vec<Option<i64>>,
}

/// A state with changes, and the updates that lead to it.
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
            return Err(Error::new(ErrorKind::AlreadyExists, "the table exists already"));
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
    /// Begins at the state that the caller knows.
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

    /// Begins with the first state of a table that its commit makes, if there is none by then.
    ///
    /// # Errors
    /// Those of the random number generator.
    pub fn creating(metadata: TableMetadata) -> Result<Self> {
        let metadata_location = format!("{}/metadata/uncommitted-{}.metadata.json", metadata.location, ids::uuid()?);
        let base = State { metadata: Arc::new(metadata), metadata_location };
        Ok(Self { creates: true, ..Self::new(base) })
    }

    /// The state that it began from.
    pub fn base(&self) -> &State {
        &self.base
    }

    /// The state with all changes so far; nobody else sees it.
    pub fn staged(&self) -> &Arc<TableMetadata> {
        &self.staged.metadata
    }

    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        !self.creates && self.staged.updates.is_empty()
    }

    /// Makes a change on the staged state.
    ///
    /// # Errors
    /// Those of the change; the transaction is then as it was before.
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

    /// Makes it a conflict if another writer adds or deletes rows of the main branch after this snapshot of it, from which
    /// rows of the transaction were made. None if the branch had no snapshot.
    ///
    /// # Errors
    /// `CommitConflict` if a writer did so before the transaction began.
    pub fn validate_read(&mut self, snapshot_id: Option<i64>) -> Result<()> {
        check_read(&self.base.metadata, snapshot_id)?;
        self.reads.push(snapshot_id);
        Ok(())
    }

    /// Makes changes that belong together on the staged state.
    ///
    /// # Errors
    /// Those of the first that fails; the transaction is then as it was before all of them.
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

    /// Commits all changes as one, after attempts that were made before.
    ///
    /// # Errors
    /// As [`commit_after`]; `AlreadyExists` for a table that was to be made.
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

    /// The newest state, if changes of metadata that had nothing to do may have to do something there. Rows that were
    /// not found need no other look: they were not there when they were looked for.
    fn newer(&self, pointer: &dyn Pointer) -> Result<Option<State>> {
        if self.changes.iter().all(|change| change.writes_files()) {
            return Ok(None);
        }
        let found = newest(pointer, &self.base)?;
        Ok((found.metadata_location != self.base.metadata_location).then_some(found))
    }

    /// Makes all changes again, on another state.
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

    /// Gives up: deletes what the changes wrote.
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
        let base = base.ok_or_else(|| Error::new(ErrorKind::NoSuchTable, "the table is not there any more"))?;
        if attempt > 1 {
            self.make_again(base, attempt, context)?;
        }
        Ok(Revision::Update(self.staged.updates.clone()))
    }

    fn clean(&mut self, committed: Option<&TableMetadata>) {
        self.changes.iter_mut().for_each(|change| change.clean(committed));
    }
}

/// Fails unless the main branch has the rows that it had at a snapshot: only compactions may follow it.
fn check_read(base: &TableMetadata, read: Option<i64>) -> Result<()> {
    let mut id = base.current_snapshot_id;
    while id != read {
        match id.and_then(|id| base.snapshot(id).ok()) {
            Some(snapshot) if snapshot.operation() == Some("replace") => id = snapshot.parent_snapshot_id,
            _ => {
                let message = "another writer changed the table after the rows of this transaction were read from it";
                return Err(Error::new(ErrorKind::CommitConflict, message).hint("run the statement again"));
            }
        }
    }
    Ok(())
}

/// Files were written by the schemas and specs that the transaction itself had made by `then`. Made again after another
/// writer's, these may have got other ids, which would give the values of one column to another. And partitions are told
/// apart by values of the types that their columns had.
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
    Err(Error::new(ErrorKind::CommitConflict, message).hint("load the table anew and make the transaction again"))
}
