//! Commits files to a table (spec: "Snapshot"; documentation: "Concurrency Control").
//!
//! ```text
//! delta manifests, delta list -> newest snapshot -> base list -> snapshot id + 1, unless it exists -> LATEST
//!                                     ^                                        |
//!                                     +--- wait, at most commit.max-retries ---+ another writer was first
//! ```
//!
//! * The snapshot has a `uuid` that identifies this commit. If the outcome of publishing it is unknown, the snapshot
//!   file is read back.
//! * The manifest lists of a failed attempt are deleted. Nothing is deleted if the outcome of a commit is unknown.
//! * A streaming commit, whose identifier is not [`BATCH_IDENTIFIER`], is committed once for each (user, identifier).
//! * The base list has the manifests of the previous snapshot, merged if there are many: see `merge.rs`.
//!
//! * Written files and compacted files become two snapshots. Changes that remove files are checked against the latest
//!   snapshot in each attempt: see `conflict.rs`. A compaction is committed for as many buckets as possible: see
//!   `compaction.rs`.

mod attempt;
mod changes;
mod clean;
mod compaction;
mod conflict;
#[cfg(test)]
mod index_tests;
mod indexes;
mod lock;
mod manifests;
mod merge;
mod merge_plan;
#[cfg(test)]
mod merge_tests;
mod overwrite;
#[cfg(test)]
mod overwrite_tests;
mod request;
#[cfg(test)]
mod tests;
mod upgrade;

use std::time::{Duration, Instant};

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::ids;
use frazil_core::retry::{Retry, pause};
use frazil_core::storage::publish::Swap;

use crate::spec::options::Options;
use crate::spec::snapshot::CommitKind;
use crate::table::Table;
use crate::write::check::check_committable;

use attempt::Attempt;
use changes::Changes;
use manifests::{MetadataWriter, codec};
use merge::ManifestMerger;
use merge_plan::MergeSettings;
use upgrade::upgraded;

pub use crate::write::change::{BucketChange, Home, Increment};
pub use clean::{abort, sweep};
pub use lock::{NoLock, SnapshotLock};
pub(crate) use overwrite::{Replaced, partition_values};
pub use request::{BATCH_IDENTIFIER, Committed, Counts, Overwrite, Request};

/// Commits changes of buckets to a table, which may have been loaded at an older state than the latest one.
///
/// # Errors
/// * `Unsupported` for tables that cannot be written, and for the removal of files that have deletion vectors.
/// * `InvalidArgument` for contradictory changes.
/// * `NoSuchTable` and `CommitConflict` if the table was dropped or replaced.
/// * `CommitConflict` if the commit lost to concurrent writers in every attempt, or if its changes conflict with
///   theirs.
/// * `CommitValidation` for a streaming commit whose identifier is less than the last one of its user.
/// * `CommitStateUnknown` if the outcome is unknown. After any other error nothing was committed.
pub fn commit(
    table: &Table,
    request: &Request,
    changes: &[BucketChange],
    lock: &dyn SnapshotLock,
    context: &Context,
) -> Result<Committed> {
    let outcome = committed(table, request, changes, lock, context);
    outcome.map_err(|error| error.with("table", table.location()))
}

/// Rejects options that would make every commit fail.
///
/// # Errors
/// `InvalidArgument` naming an option that does not parse; `Unsupported` naming a codec that cannot be written.
pub(crate) fn check_options(options: &Options) -> Result<()> {
    codec(options)?;
    MergeSettings::try_new(options).map(drop)
}

fn committed(
    table: &Table,
    request: &Request,
    changes: &[BucketChange],
    lock: &dyn SnapshotLock,
    context: &Context,
) -> Result<Committed> {
    request.check()?;
    check_committable(table.schema())?;
    changes.iter().try_for_each(BucketChange::check)?;
    let mut written = Changes::written(changes, request)?;
    let compacts = changes.iter().any(|change| !change.compact.is_empty());
    let options = Options::new(table.schema().options.clone());
    if written.kind == CommitKind::Overwrite && !compacts {
        written.added = upgraded(written.added, table.schema(), &options)?;
    }
    // A dynamic overwrite without new files replaces nothing.
    let replaces = matches!(request.overwrite, Some(Overwrite::Table | Overwrite::Partitions(_)));
    let nothing = written.is_empty() && !replaces;
    let is_skipped = compacts || options.boolean("snapshot.ignore-empty-commit", true)?;
    let mut outcome = Committed::default();
    if !(nothing && request.is_batch() && is_skipped) {
        outcome = snapshot(table, request, &written, lock, context)?;
    }
    // If the files of an earlier call with the same identifier are committed, those to compact are not.
    let is_known = outcome.attempts == 0 && !outcome.snapshots.is_empty();
    if !compacts || is_known {
        return Ok(outcome);
    }
    match compaction::commit(table, request, changes, lock, context) {
        Ok(done) => {
            outcome.snapshots.extend(done.snapshots);
            outcome.attempts = outcome.attempts.max(done.attempts);
            outcome.compacted = done.compacted;
            outcome.lost = done.lost;
        }
        // The written files are part of the table, even if the compaction failed.
        Err(error) if !outcome.snapshots.is_empty() => outcome.failure = Some(error),
        Err(error) => return Err(error),
    }
    Ok(outcome)
}

/// Merges the manifests of the latest snapshot, in a separate snapshot (Java's `compactManifest`). Nothing is committed
/// if no manifest can be merged.
///
/// # Errors
/// As for [`commit`].
pub fn compact_manifests(
    table: &Table,
    request: &Request,
    lock: &dyn SnapshotLock,
    context: &Context,
) -> Result<Committed> {
    let merged = || {
        request.check()?;
        check_committable(table.schema())?;
        let settings = MergeSettings::try_new(&Options::new(table.schema().options.clone()))?.full();
        let latest = table.latest_snapshot()?;
        let manifests = latest.map_or(Ok(Vec::new()), |latest| table.manifests(&latest, context))?;
        if !settings.merges(&manifests) {
            return Ok(Committed::default());
        }
        let changes = Changes::compacted(std::iter::empty())?;
        one_snapshot(&Attempt { table, request, changes: &changes, context }, settings, lock)
    };
    merged().map_err(|error: Error| error.with("table", table.location()))
}

/// Records statistics, which belong to a schema, in a separate snapshot (Java's `commitStatistics`).
///
/// # Errors
/// As for [`commit`]; `CommitConflict` if the table has another schema by now.
pub fn record_statistics(
    table: &Table,
    request: &Request,
    (schema_id, content): (i64, String),
    lock: &dyn SnapshotLock,
    context: &Context,
) -> Result<Committed> {
    let recorded = || {
        request.check()?;
        check_committable(table.schema())?;
        let name = format!("stat-{}-0", ids::uuid()?);
        let location = format!("{}/statistics/{name}", table.location());
        let changes = Changes { kind: CommitKind::Analyze, ..Changes::compacted(std::iter::empty())? };
        let request = Request { statistics: Some((schema_id, name)), ..request.clone() };
        // A request that fails may have written the file.
        let written = table.files().put(&location, content.into());
        let outcome = written.and_then(|()| snapshot(table, &request, &changes, lock, context));
        if outcome.as_ref().is_err_and(|error| error.kind() != ErrorKind::CommitStateUnknown) {
            let _ = table.files().delete(&location);
        }
        outcome
    };
    recorded().map_err(|error: Error| error.with("table", table.location()))
}

/// Commits the changes as one snapshot.
fn snapshot(
    table: &Table,
    request: &Request,
    changes: &Changes,
    lock: &dyn SnapshotLock,
    context: &Context,
) -> Result<Committed> {
    let settings = MergeSettings::try_new(&Options::new(table.schema().options.clone()))?;
    one_snapshot(&Attempt { table, request, changes, context }, settings, lock)
}

fn one_snapshot(attempt: &Attempt<'_>, settings: MergeSettings, lock: &dyn SnapshotLock) -> Result<Committed> {
    let options = Options::new(attempt.table.schema().options.clone());
    let mut writer = MetadataWriter::try_new(attempt.table, &options)?;
    let mut merger = ManifestMerger::new(attempt.table, attempt.context, settings);
    let outcome = attempts(attempt, (&mut writer, &mut merger), lock, &retry(&options)?);
    match &outcome {
        Err(error) if error.kind() == ErrorKind::CommitStateUnknown => {}
        // If the commit had already been made, its metadata files were written before, and the new ones are not needed.
        Err(_) | Ok(Committed { attempts: 0, .. }) => writer.delete_all(),
        Ok(_) => {}
    }
    outcome
}

/// Retries until the commit succeeds, turns out to have been made already, or fails permanently.
fn attempts(
    attempt: &Attempt<'_>,
    (writer, merger): (&mut MetadataWriter<'_>, &mut ManifestMerger<'_>),
    lock: &dyn SnapshotLock,
    retry: &Retry,
) -> Result<Committed> {
    let table = attempt.table;
    let since = Instant::now();
    let turn = table.files().turn(&table.snapshot_folder());
    let mut checked = 0;
    for number in 1_u32.. {
        attempt.context.check()?;
        let base = attempt.base()?;
        if let Some(snapshot) = attempt.committed_before(base.snapshot.as_ref(), checked)? {
            return Ok(Committed { snapshots: vec![snapshot], ..Committed::default() });
        }
        checked = base.snapshot.as_ref().map_or(0, |snapshot| snapshot.id);
        let (snapshot, counts) = attempt.snapshot(&base, writer, merger)?;
        match attempt.publish(&snapshot, &base, lock)? {
            Swap::Done(_) => {
                attempt.hint(snapshot.id);
                attempt.delete_replaced_indexes(writer);
                let snapshots = vec![snapshot.id];
                return Ok(Committed { snapshots, attempts: number, counts, ..Committed::default() });
            }
            Swap::Refused(error) => return Err(error),
            Swap::Unknown(error) => return Err(unknown(&error)),
            // The lists of changes are written again only if the changes differ.
            Swap::Lost => writer.delete(&snapshot.base_manifest_list),
        }
        if number > retry.retries || since.elapsed() >= retry.total {
            break;
        }
        // This writer has its turn among the writers of this machine, so its first retry does not wait.
        if number > 1 || turn.is_none() {
            pause(retry.wait(number)?, attempt.context)?;
        }
    }
    Err(Error::new(ErrorKind::CommitConflict, "the commit lost to concurrent writers in every attempt")
        .with("attempts", retry.retries.saturating_add(1))
        .hint("retry later, or raise the table option commit.max-retries"))
}

/// Returns how often a commit to a table is retried.
///
/// # Errors
/// `InvalidArgument` for an option that does not parse.
pub fn max_retries(table: &Table) -> Result<u32> {
    Ok(retry(&Options::new(table.schema().options.clone()))?.retries)
}

/// Waits before an operation is planned again for the `number`-th time (from 1), because a concurrent commit replaced the
/// files that it changes. Returns false if the attempts are used up.
///
/// # Errors
/// `InvalidArgument` for an option that does not parse; `Cancelled`.
pub fn back_off(table: &Table, number: u32, context: &Context) -> Result<bool> {
    let retry = retry(&Options::new(table.schema().options.clone()))?;
    if number > retry.retries {
        return Ok(false);
    }
    pause(retry.wait(number)?, context)?;
    Ok(true)
}

/// Reads the retry settings from the table options, with Java's defaults.
fn retry(options: &Options) -> Result<Retry> {
    let retries = options.integer("commit.max-retries")?.unwrap_or(10);
    Ok(Retry {
        retries: u32::try_from(retries.max(0)).unwrap_or(u32::MAX),
        min_wait: options.duration("commit.min-retry-wait")?.unwrap_or(Duration::from_millis(10)),
        max_wait: options.duration("commit.max-retry-wait")?.unwrap_or(Duration::from_secs(10)),
        total: options.duration("commit.timeout")?.unwrap_or(Duration::MAX),
    })
}

fn unknown(cause: &Error) -> Error {
    Error::new(ErrorKind::CommitStateUnknown, format!("the outcome of the commit is unknown: {cause}"))
        .hint("nothing was deleted; load the table and check whether the change is present before you repeat it")
}
