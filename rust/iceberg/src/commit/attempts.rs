//! Commits a change to the latest state of a table. When another writer commits first, the change is retried on the new
//! state, so no update is lost.
//!
//! ```text
//! load the newest state -> the change gives its revision of it -> apply -> swap -> done
//!          ^                                                               |
//!          +---------------- wait, as often as commit.retry allows --------+ lost
//! ```
//!
//! If the outcome of a commit cannot be determined, a separate error is returned and nothing is deleted.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use frazil_core::clock::now_ms;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::retry::{Retry, pause};
use frazil_core::storage::Turn;
use frazil_core::storage::publish::Swap;

use super::pointer::{Pointer, Proposal};
use super::requirement::Requirement;
use super::update::{MetadataBuilder, TableUpdate};
use crate::properties::{self, Property};
use crate::spec::table_metadata::{MetadataLogEntry, TableMetadata};
use crate::table::State;

/// The revision that a change makes to a given state.
#[derive(Debug)]
pub enum Revision {
    /// Creates the table with this initial state.
    Create(Box<TableMetadata>),
    /// Updates the table; empty if there is nothing to do.
    Update(Vec<TableUpdate>),
}

/// A change to a table that can be repeated on a newer state.
pub trait Change: fmt::Debug + Send {
    /// Returns the revision of `base`, which is None if the table does not exist yet, and checks the change's
    /// conditions. Called once per attempt; attempts are counted from 1.
    ///
    /// # Errors
    /// `CommitConflict`, `CommitValidation` and other errors if the change cannot be made on this state. It is not
    /// retried.
    fn revise(&mut self, base: Option<&TableMetadata>, attempt: u32, context: &Context) -> Result<Revision>;

    /// Deletes the files that this change wrote and that `committed`, the new state, does not reference: those of
    /// failed attempts, or all of them if `committed` is None because the commit failed. Not called when the outcome is
    /// unknown.
    fn clean(&mut self, committed: Option<&TableMetadata>);

    /// Returns whether the change commits files, which were written with the schema and the partition spec of the base
    /// state.
    fn writes_files(&self) -> bool {
        true
    }
}

/// The result of a committed change.
#[derive(Debug)]
pub struct Committed {
    /// The new state.
    pub state: State,
    /// The state that the commit replaced. None if nothing was committed or the table was created.
    pub replaced: Option<State>,
    /// The number of commit attempts, including those of earlier plans of the change.
    pub attempts: u32,
}

/// Returns the retry settings (`commit.retry.*`): by default 4 retries, with waits of 100 ms to one minute, for at most
/// half an hour.
///
/// # Errors
/// `InvalidArgument` for a property that is not a number.
fn retry_of(metadata: Option<&TableMetadata>) -> Result<Retry> {
    let number = |property: &Property| metadata.map_or_else(|| property.number(), |table| table.number(property));
    let time = |property| number(property).map(Duration::from_millis);
    Ok(Retry {
        retries: u32::try_from(number(&properties::RETRY_NUM_RETRIES)?).unwrap_or(u32::MAX),
        min_wait: time(&properties::RETRY_MIN_WAIT_MS)?,
        max_wait: time(&properties::RETRY_MAX_WAIT_MS)?,
        total: time(&properties::RETRY_TOTAL_TIMEOUT_MS)?,
    })
}

/// The commit attempts of a change. If another writer replaces the state that a change was planned on, the change is
/// planned again. `commit.retry.*` limits the attempts over all plans.
#[derive(Debug)]
pub struct Attempts {
    /// The number of the current attempt, from 1.
    number: u32,
    /// The time of the first commit attempt.
    since: Option<Instant>,
    /// The turn among the writers of this machine. Held from planning to commit when a change is planned again.
    turn: Option<Turn>,
}

impl Default for Attempts {
    fn default() -> Self {
        Self { number: 1, since: None, turn: None }
    }
}

impl Attempts {
    /// Returns the number of attempts before the current one.
    pub(super) fn before(&self) -> u32 {
        self.number.saturating_sub(1)
    }

    /// Moves on to the next attempt after a conflict. Returns false if no attempts are left.
    fn next(&mut self, retry: &Retry) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        let is_last = self.number > retry.retries || since.elapsed() >= retry.total;
        self.number += u32::from(!is_last);
        !is_last
    }

    /// Waits before the current attempt.
    fn wait(&self, retry: &Retry, context: &Context) -> Result<()> {
        pause(retry.wait(self.before())?, context)
    }

    /// Moves on to the next attempt after a commit conflict, for which the caller plans the change again. Waits for the
    /// table's backoff time and then for a turn. The turn is held until the commit ends, so that other writers of this
    /// machine cannot commit first again. Returns false if the table allows no further attempt.
    ///
    /// # Errors
    /// `InvalidArgument` for a property that is not a number; `Cancelled`.
    pub fn again(&mut self, pointer: &dyn Pointer, known: &State, context: &Context) -> Result<bool> {
        let retry = retry_of(Some(&known.metadata))?;
        let goes_on = self.next(&retry);
        self.end_turn();
        if goes_on {
            self.wait(&retry, context)?;
            self.turn = pointer.turn(Some(known));
        }
        Ok(goes_on)
    }

    /// Ends the turn of an attempt that will not be committed.
    pub fn end_turn(&mut self) {
        self.turn = None;
    }
}

/// Returns the latest state of a table, given a known state of it.
///
/// # Errors
/// `Unsupported` for a table that cannot be changed through `pointer`; `NoSuchTable`; `CommitConflict` if the table was
/// replaced by another one.
pub fn newest(pointer: &dyn Pointer, known: &State) -> Result<State> {
    pointer.check(known)?;
    let found = same_table(Some(known), pointer.load()?);
    let found =
        found.and_then(|found| found.ok_or_else(|| Error::new(ErrorKind::NoSuchTable, "the table does not exist")));
    found.map_err(|error| error.with("file", &known.metadata_location))
}

/// Returns the loaded state (None if the table does not exist) after checking that its table UUID is that of the known
/// state.
fn same_table(known: Option<&State>, loaded: Option<State>) -> Result<Option<State>> {
    if let Some(uuid) = known.and_then(|known| known.metadata.table_uuid.clone()) {
        Requirement::AssertTableUuid { uuid }.check(loaded.as_ref().map(|state| state.metadata.as_ref()))?;
    }
    Ok(loaded)
}

/// Commits a change. `base` is the state that the caller knows, or None; if it is still the latest state, loading the
/// table is avoided.
///
/// # Errors
/// See [`commit_after`].
pub fn commit(
    pointer: &dyn Pointer,
    base: Option<State>,
    change: &mut dyn Change,
    context: &Context,
) -> Result<Committed> {
    commit_after(pointer, base, change, &mut Attempts::default(), context)
}

/// Commits a change like [`commit`], continuing after earlier attempts.
///
/// # Errors
/// The errors of the change; `CommitConflict` if every attempt lost to another writer; `CommitStateUnknown` if the
/// outcome cannot be determined; storage errors.
pub fn commit_after(
    pointer: &dyn Pointer,
    base: Option<State>,
    change: &mut dyn Change,
    attempts: &mut Attempts,
    context: &Context,
) -> Result<Committed> {
    let outcome = attempted(pointer, base, change, attempts, context).map_err(|error| match error.kind() {
        ErrorKind::CommitConflict => error.with("attempts", attempts.number),
        _ => error,
    });
    match &outcome {
        Ok(committed) => change.clean(Some(&committed.state.metadata)),
        Err(error) if error.kind() == ErrorKind::CommitStateUnknown => {}
        Err(_) => change.clean(None),
    }
    outcome
}

fn attempted(
    pointer: &dyn Pointer,
    mut base: Option<State>,
    change: &mut dyn Change,
    attempts: &mut Attempts,
    context: &Context,
) -> Result<Committed> {
    let retry = retry_of(base.as_ref().map(|state| state.metadata.as_ref()))?;
    attempts.since.get_or_insert_with(Instant::now);
    let turn = attempts.turn.take().or_else(|| pointer.turn(base.as_ref()));
    let mut attempt = 1;
    loop {
        context.check()?;
        if attempt > 1 {
            base = same_table(base.as_ref(), pointer.load()?)?;
        } else if base.is_none() {
            base = pointer.existing()?;
        }
        let metadata = base.as_ref().map(|state| state.metadata.as_ref());
        let revision = change.revise(metadata, attempt, context).inspect_err(|error| {
            // The conflict belongs to the previous attempt, so the change must be planned again. The current attempt
            // has not swapped anything and is not counted.
            if attempt > 1 && error.kind() == ErrorKind::CommitConflict {
                attempts.number = attempts.before();
            }
        })?;
        let Some(Applied { next, updates, dropped }) = applied(base.as_ref(), revision)? else {
            let state = base.ok_or_else(|| Error::internal("a change did not create a table"))?;
            return Ok(Committed { state, replaced: None, attempts: attempts.number });
        };
        match pointer.swap(&Proposal { base: base.as_ref(), next: &next, updates: &updates }) {
            Swap::Done(state) => {
                delete_dropped(pointer, &next, &dropped);
                return Ok(Committed { state, replaced: base, attempts: attempts.number });
            }
            Swap::Refused(error) => return Err(error),
            Swap::Unknown(error) => return Err(unknown(&error)),
            Swap::Lost => {
                if !attempts.next(&retry) {
                    return Err(Error::new(
                        ErrorKind::CommitConflict,
                        "every commit attempt conflicted with another writer",
                    )
                    .hint("try again later, or raise the table property commit.retry.num-retries"));
                }
                // A writer that holds a turn retries immediately after its first attempt, because only its base was
                // stale. In all other cases it backs off.
                if attempt > 1 || turn.is_none() {
                    attempts.wait(&retry, context)?;
                }
            }
        }
        attempt += 1;
    }
}

/// Deletes metadata files that were dropped from the metadata log, if the table's properties request it.
fn delete_dropped(pointer: &dyn Pointer, committed: &TableMetadata, dropped: &[MetadataLogEntry]) {
    // With `gc.enabled=false`, other tables may share the metadata files of this table.
    if !committed.flag(&properties::METADATA_DELETE_AFTER_COMMIT) || !committed.flag(&properties::GC_ENABLED) {
        return;
    }
    let is_kept = |file: &str| committed.metadata_log.iter().any(|kept| kept.metadata_file == file);
    for entry in dropped.iter().filter(|entry| !is_kept(&entry.metadata_file)) {
        pointer.delete(&entry.metadata_file);
    }
}

/// The state after a revision.
struct Applied {
    next: Arc<TableMetadata>,
    updates: Vec<TableUpdate>,
    /// The entries that were dropped from the metadata log.
    dropped: Vec<MetadataLogEntry>,
}

/// Returns the state after a revision, or None if it changes nothing.
fn applied(base: Option<&State>, revision: Revision) -> Result<Option<Applied>> {
    match (base, revision) {
        (None, Revision::Create(metadata)) => {
            let updates = TableUpdate::creating(&metadata);
            Ok(Some(Applied { next: Arc::new(*metadata), updates, dropped: Vec::new() }))
        }
        (Some(_), Revision::Create(_)) => Err(Error::new(ErrorKind::AlreadyExists, "the table already exists")),
        (None, Revision::Update(_)) => Err(Error::new(ErrorKind::NoSuchTable, "the table no longer exists")),
        (Some(base), Revision::Update(updates)) => {
            let timestamp_ms = base.metadata.last_updated_ms;
            let previous = MetadataLogEntry { timestamp_ms, metadata_file: base.metadata_location.clone() };
            let mut builder = MetadataBuilder::new(base.metadata.as_ref().clone(), now_ms());
            updates.into_iter().try_for_each(|update| builder.apply(update))?;
            if !builder.is_changed() {
                return Ok(None);
            }
            let updates = builder.effective().to_vec();
            let (next, dropped) = builder.build(Some(previous))?;
            Ok(Some(Applied { next: Arc::new(next), updates, dropped }))
        }
    }
}

fn unknown(cause: &Error) -> Error {
    Error::new(ErrorKind::CommitStateUnknown, format!("cannot determine whether the commit took effect: {cause}"))
        .hint("nothing was deleted; load the table and check for the change before you retry it")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry(retries: u32, total: Duration) -> Retry {
        Retry { retries, min_wait: Duration::from_millis(10), max_wait: Duration::from_millis(35), total }
    }

    #[test]
    fn there_are_as_many_attempts_as_the_table_says() {
        for (retry, last) in
            [(retry(2, Duration::MAX), 3), (retry(0, Duration::MAX), 1), (retry(u32::MAX, Duration::ZERO), 1)]
        {
            let mut attempts = Attempts::default();
            while attempts.next(&retry) {}
            assert_eq!(attempts.number, last, "{retry:?}");
            assert!(!attempts.next(&retry) && attempts.number == last, "the last stays the last");
        }
    }
}
