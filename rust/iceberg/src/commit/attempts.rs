//! Commits a change: against the newest state, again when another writer was first, and without losing anything.
//!
//! ```text
//! load the newest state -> the change gives its revision of it -> apply -> swap -> done
//!          ^                                                               |
//!          +---------------- wait, as often as commit.retry allows --------+ lost
//! ```
//!
//! An outcome that nobody knows is an error of its own, after which nothing is deleted.

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

/// What a change does to the state that it meets.
#[derive(Debug)]
pub enum Revision {
    /// Makes the table: the state it begins with.
    Create(Box<TableMetadata>),
    /// Updates the table; none for nothing to do.
    Update(Vec<TableUpdate>),
}

/// A change of a table that can be made again on a newer state.
pub trait Change: fmt::Debug + Send {
    /// What to do to `base`, None where there is no table yet. Called once for each attempt, which count from 1; checks
    /// what must hold.
    ///
    /// # Errors
    /// `CommitConflict`, `CommitValidation` and others where the change cannot be made on this state: it is not tried
    /// again.
    fn revise(&mut self, base: Option<&TableMetadata>, attempt: u32, context: &Context) -> Result<Revision>;

    /// Deletes files that this change wrote and that `committed` does not use: of attempts that lost, or all where
    /// `committed` is None. Not called when the outcome is unknown.
    fn clean(&mut self, committed: Option<&TableMetadata>);

    /// Whether it commits files, which were written by the schema and the partition spec of the state before it.
    fn writes_files(&self) -> bool {
        true
    }
}

/// A change that is made.
#[derive(Debug)]
pub struct Committed {
    /// The new state.
    pub state: State,
    /// The state that the commit replaced; None if nothing was committed, or the table was created.
    pub replaced: Option<State>,
    /// How many attempts it took, over all commits that were tried.
    pub attempts: u32,
}

/// How often and how long to try (`commit.retry.*`): 4 times, waiting 100 ms to a minute, for half an hour unless set.
///
/// # Errors
/// `InvalidArgument` for a property that is no number.
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

/// The attempts to make a change, over all commits that are tried for it: what was planned on a state that others
/// changed is planned and committed anew, and `commit.retry.*` counts both kinds.
#[derive(Debug)]
pub struct Attempts {
    /// The number of the one under way, from 1.
    number: u32,
    /// When the first was committed.
    since: Option<Instant>,
    /// The turn among the writers of this machine, held from the planning to the commit of an attempt that is planned anew.
    turn: Option<Turn>,
}

impl Default for Attempts {
    fn default() -> Self {
        Self { number: 1, since: None, turn: None }
    }
}

impl Attempts {
    /// How many there were before the one under way.
    pub(super) fn before(&self) -> u32 {
        self.number.saturating_sub(1)
    }

    /// Goes on to the next when others were ahead of this one; false where it was the last that there is.
    fn next(&mut self, retry: &Retry) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        let is_last = self.number > retry.retries || since.elapsed() >= retry.total;
        self.number += u32::from(!is_last);
        !is_last
    }

    /// Waits before this one.
    fn wait(&self, retry: &Retry, context: &Context) -> Result<()> {
        pause(retry.wait(self.before())?, context)
    }

    /// Goes on to the next, which is planned anew, when a commit met a conflict: waits for as long as the table asks, then for
    /// a turn, which is held until the commit ends, so that writers of this machine cannot overtake it again. False where the
    /// table asks for no other attempt.
    ///
    /// # Errors
    /// `InvalidArgument` for a property that is no number; `Cancelled`.
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

    /// Ends the turn of an attempt that is not committed.
    pub fn end_turn(&mut self) {
        self.turn = None;
    }
}

/// The newest state of a table of which one is known.
///
/// # Errors
/// `Unsupported` for a table that is not changed by way of `pointer`; `NoSuchTable`; `CommitConflict` where another table
/// has taken its place.
pub fn newest(pointer: &dyn Pointer, known: &State) -> Result<State> {
    pointer.check(known)?;
    let found = same_table(Some(known), pointer.load()?);
    let found = found.and_then(|found| found.ok_or_else(|| Error::new(ErrorKind::NoSuchTable, "the table is missing")));
    found.map_err(|error| error.with("file", &known.metadata_location))
}

/// What was loaded, if it is the table that was known.
fn same_table(known: Option<&State>, loaded: Option<State>) -> Result<Option<State>> {
    if let Some(uuid) = known.and_then(|known| known.metadata.table_uuid.clone()) {
        Requirement::AssertTableUuid { uuid }.check(loaded.as_ref().map(|state| state.metadata.as_ref()))?;
    }
    Ok(loaded)
}

/// Makes a change. `base` is the state that the caller knows, which spares a look-up if it is still the newest.
///
/// # Errors
/// As [`commit_after`].
pub fn commit(
    pointer: &dyn Pointer,
    base: Option<State>,
    change: &mut dyn Change,
    context: &Context,
) -> Result<Committed> {
    commit_after(pointer, base, change, &mut Attempts::default(), context)
}

/// As [`commit`], after attempts that were made before.
///
/// # Errors
/// Those of the change; `CommitConflict` when others were first too often; `CommitStateUnknown` when nobody can say
/// whether it was made; what the storage says when it refuses.
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
            // The attempt that lost is the one to be planned anew: this one swapped nothing.
            if attempt > 1 && error.kind() == ErrorKind::CommitConflict {
                attempts.number = attempts.before();
            }
        })?;
        let Some(Applied { next, updates, dropped }) = applied(base.as_ref(), revision)? else {
            let state = base.ok_or_else(|| Error::internal("a change made no table"))?;
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
                    return Err(Error::new(ErrorKind::CommitConflict, "other writers were first each time")
                        .hint("try again later, or raise the table property commit.retry.num-retries"));
                }
                // What was known was not the newest; whoever waits for a turn will not be first the next time.
                if attempt > 1 || turn.is_none() {
                    attempts.wait(&retry, context)?;
                }
            }
        }
        attempt += 1;
    }
}

/// Deletes the files of states that fell out of the log, where the table asks for it.
fn delete_dropped(pointer: &dyn Pointer, committed: &TableMetadata, dropped: &[MetadataLogEntry]) {
    // Without garbage collection others may use the files of the table.
    if !committed.flag(&properties::METADATA_DELETE_AFTER_COMMIT) || !committed.flag(&properties::GC_ENABLED) {
        return;
    }
    let is_kept = |file: &str| committed.metadata_log.iter().any(|kept| kept.metadata_file == file);
    for entry in dropped.iter().filter(|entry| !is_kept(&entry.metadata_file)) {
        pointer.delete(&entry.metadata_file);
    }
}

/// A state after a revision.
struct Applied {
    next: Arc<TableMetadata>,
    updates: Vec<TableUpdate>,
    /// What fell out of the metadata log.
    dropped: Vec<MetadataLogEntry>,
}

/// The state after a revision; None when it changes nothing.
fn applied(base: Option<&State>, revision: Revision) -> Result<Option<Applied>> {
    match (base, revision) {
        (None, Revision::Create(metadata)) => {
            let updates = TableUpdate::creating(&metadata);
            Ok(Some(Applied { next: Arc::new(*metadata), updates, dropped: Vec::new() }))
        }
        (Some(_), Revision::Create(_)) => Err(Error::new(ErrorKind::AlreadyExists, "the table exists already")),
        (None, Revision::Update(_)) => Err(Error::new(ErrorKind::NoSuchTable, "the table is not there any more")),
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
    Error::new(ErrorKind::CommitStateUnknown, format!("it is not known whether the commit took effect: {cause}"))
        .hint("nothing was deleted; load the table and look for the change before you make it again")
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
