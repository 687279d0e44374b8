//! Expires snapshots (Java's `ExpireSnapshotsImpl`): selects those that are too old or too many, and finds the files
//! that no other state references.
//!
//! Snapshots of a branch follow each other. A data file that an expired snapshot needs is therefore needed by a later
//! snapshot only if it is live in the first one that remains.

use std::collections::HashMap;
use std::ops::Range;

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::reach::{Kept, MAX_ATTEMPTS, OwnedFile, References, has_expired, in_order};
use crate::spec::manifest::DELETE;
use crate::spec::manifest_list::ManifestFileMeta;
use crate::spec::options::Options;
use crate::spec::snapshot::Snapshot;
use crate::table::Table;

const MIN_OPTION: &str = "snapshot.num-retained.min";
const MAX_OPTION: &str = "snapshot.num-retained.max";
const TIME_OPTION: &str = "snapshot.time-retained";
const LIMIT_OPTION: &str = "snapshot.expire.limit";

const DEFAULT_MIN: i64 = 10;
const DEFAULT_MAX: i64 = i32::MAX as i64;
const DEFAULT_TIME_MS: i64 = 3_600_000;
const DEFAULT_LIMIT: i64 = 50;

/// The limits of an expiry; None for the options of the table.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExpireRequest {
    /// Snapshots of this time and later are retained, in milliseconds since the epoch.
    pub older_than_ms: Option<i64>,
    /// The maximum number of retained snapshots. More are expired regardless of their age.
    pub retain_max: Option<i64>,
    /// The minimum number of retained snapshots.
    pub retain_min: Option<i64>,
    /// The maximum number of snapshots that expire.
    pub max_deletes: Option<i64>,
    /// The current time, in milliseconds since the epoch.
    pub now_ms: i64,
    /// The first snapshot that does not expire in any case.
    pub end: Option<i64>,
    /// A known snapshot, after which the table is not searched for later ones.
    pub latest: Option<i64>,
}

/// The snapshots that expire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiring {
    /// The ids, without gaps; the last id is not included, and is that of a snapshot that remains.
    pub ids: Range<i64>,
}

/// Returns the snapshots of the branch that expire, or None if there are none.
///
/// # Errors
/// `InvalidArgument` for contradicting numbers and options that do not parse; `Unsupported` for a table that retains
/// changelogs longer than snapshots.
pub fn expiring(table: &Table, request: &ExpireRequest) -> Result<Option<Expiring>> {
    let options = Options::new(table.schema().options.clone());
    let ExpireRequest { now_ms, .. } = *request;
    let number = |given: Option<i64>, option: &str, default: i64| match given {
        Some(given) => Ok(given),
        None => Ok::<_, Error>(options.integer(option)?.unwrap_or(default)),
    };
    let retain_min = number(request.retain_min, MIN_OPTION, DEFAULT_MIN)?;
    let retain_max = number(request.retain_max, MAX_OPTION, DEFAULT_MAX)?;
    let max_deletes = number(request.max_deletes, LIMIT_OPTION, DEFAULT_LIMIT)?;
    if retain_min < 1 {
        return Err(Error::invalid(format!("retain_min is {retain_min}, but must be at least 1"))
            .hint("a table always keeps its latest snapshot"));
    }
    if retain_max < retain_min {
        return Err(Error::invalid(format!("retain_max ({retain_max}) is less than retain_min ({retain_min})"))
            .hint("pass retain_min as well, or a greater retain_max"));
    }
    if max_deletes < 1 {
        return Err(Error::invalid(format!("max_deletes is {max_deletes}, but must be at least 1")));
    }
    let retained = options.duration(TIME_OPTION)?;
    let retained_ms =
        retained.map_or(DEFAULT_TIME_MS, |retained| i64::try_from(retained.as_millis()).unwrap_or(i64::MAX));
    check_changelogs(&options, retained_ms)?;
    let older_than_ms = request.older_than_ms.unwrap_or(now_ms.saturating_sub(retained_ms));
    let latest = match request.latest {
        None => table.latest_snapshot()?.map(|latest| latest.id),
        known => known,
    };
    let (Some(latest), Some(earliest)) = (latest, table.earliest_snapshot_id()?) else { return Ok(None) };
    let certain = latest.saturating_sub(retain_max).saturating_add(1).max(earliest);
    let mut end = latest.saturating_sub(retain_min).saturating_add(1);
    end = end.min(earliest.saturating_add(max_deletes)).min(request.end.unwrap_or(i64::MAX));
    for id in certain..end {
        match table.snapshot(id) {
            Err(error) if error.kind() == ErrorKind::NoSuchSnapshot => {}
            Err(error) => return Err(error),
            Ok(snapshot) if snapshot.time_ms >= older_than_ms => {
                end = id;
                break;
            }
            Ok(_) => {}
        }
    }
    if earliest < end {
        for (_, consumer) in table.consumers()? {
            end = end.min(consumer.next_snapshot);
        }
    }
    Ok((earliest < end).then_some(Expiring { ids: earliest..end }))
}

impl Expiring {
    /// Returns the files that only the expired snapshots reference, in the order in which they are deleted.
    ///
    /// # Errors
    /// `CorruptManifest` for manifests that do not decode; `MissingFile` if metadata of other states is missing.
    pub fn files(&self, table: &Table, context: &Context) -> Result<Vec<OwnedFile>> {
        let (_, gone) = self.candidates(table, context)?;
        Ok(in_order(self.unneeded(table, &gone, context)?))
    }

    /// Deletes the expired snapshots, oldest first, and returns the files that only they referenced, which can be
    /// deleted then.
    ///
    /// # Errors
    /// As for [`Expiring::files`]; nothing is deleted then. `Storage` if a snapshot cannot be deleted.
    pub fn apply(&self, table: &Table, context: &Context) -> Result<(Vec<i64>, Vec<OwnedFile>)> {
        let (ids, gone) = self.candidates(table, context)?;
        // Fails here, before anything is deleted, if metadata is damaged.
        self.unneeded(table, &gone, context)?;
        for id in &ids {
            table.files().delete(&table.snapshot_location(*id))?;
        }
        let hint = format!("{}/EARLIEST", table.snapshot_folder());
        let _ = table.files().put(&hint, self.ids.end.to_string().into());
        // A tag may have been created since then, and another writer may expire more snapshots.
        Ok((ids, in_order(self.unneeded(table, &gone, context)?)))
    }

    /// Returns the snapshots that expire and still exist, and the files that later snapshots do not need, unless they are
    /// live in the first one that remains.
    fn candidates(&self, table: &Table, context: &Context) -> Result<(Vec<i64>, References)> {
        let mut expired: Vec<Snapshot> = Vec::new();
        for id in self.ids.clone() {
            match table.snapshot(id) {
                Err(error) if error.kind() == ErrorKind::NoSuchSnapshot => {}
                snapshot => expired.push(snapshot?),
            }
        }
        let mut gone = References::new();
        let first = match self.first_retained(table) {
            // Another writer expires more snapshots.
            Err(error) if error.kind() == ErrorKind::NoSuchSnapshot => return Ok((Vec::new(), gone)),
            found => found?,
        };
        let mut deltas: HashMap<i64, Vec<ManifestFileMeta>> = HashMap::new();
        for snapshot in &expired {
            context.check()?;
            table.find_changelog(snapshot, &mut gone, context)?;
            let [_, delta] = table.find_metadata(snapshot, &mut gone, context)?;
            deltas.insert(snapshot.id, delta);
        }
        deltas.insert(first.id, table.list(&first.delta_manifest_list, true, context)?);
        for snapshot in &expired {
            context.check()?;
            match deltas.get(&(snapshot.id + 1)) {
                Some(delta) => table.find_changed(delta, DELETE, &mut gone, context)?,
                None => table.find_live(snapshot, &mut gone, context)?,
            }
        }
        Ok((expired.iter().map(|snapshot| snapshot.id).collect(), gone))
    }

    /// Returns the files that no remaining snapshot, tag, changelog or branch needs.
    fn unneeded(&self, table: &Table, gone: &References, context: &Context) -> Result<References> {
        let mut attempt = 1;
        loop {
            let mut left = gone.clone();
            let found =
                if left.is_empty() { Ok(()) } else { self.leave_out_needed(table, &mut Kept(&mut left), context) };
            match found {
                Ok(()) => return Ok(left),
                // Another writer expires the first snapshot that remains: there is a later one.
                Err(error) if has_expired(&error) && attempt < MAX_ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn leave_out_needed(&self, table: &Table, kept: &mut Kept<'_>, context: &Context) -> Result<()> {
        let first = self.first_retained(table)?;
        // A file that only changes its level is removed and added again.
        table.find_live(&first, kept, context)?;
        table.find_metadata(&first, kept, context)?;
        table.find_changelog(&first, kept, context)?;
        for (_, tag) in table.tags()?.iter().filter(|(_, tag)| tag.id < first.id) {
            context.check()?;
            table.find_files(tag, kept, context)?;
        }
        table.find_decoupled(kept, context)?;
        table.other_branches()?.iter().try_for_each(|branch| branch.find_all(kept, context))
    }

    /// Returns the first snapshot that remains.
    fn first_retained(&self, table: &Table) -> Result<Snapshot> {
        match table.snapshot(self.ids.end) {
            Err(error) if error.kind() == ErrorKind::NoSuchSnapshot => {
                let later = table.snapshot_ids()?.into_iter().find(|id| *id > self.ids.end);
                later.map_or(Err(error), |id| table.snapshot(id))
            }
            found => found,
        }
    }
}

/// Rejects a table whose changelogs are retained longer than its snapshots.
fn check_changelogs(options: &Options, retained_ms: i64) -> Result<()> {
    let number = |option: &str| options.integer(option);
    let is_greater =
        |option: &str, of_snapshots: i64| Ok::<_, Error>(number(option)?.is_some_and(|own| own > of_snapshots));
    let least = number(MIN_OPTION)?.unwrap_or(DEFAULT_MIN);
    let most = number(MAX_OPTION)?.unwrap_or(DEFAULT_MAX);
    let own_ms =
        options.duration("changelog.time-retained")?.map(|own| i64::try_from(own.as_millis()).unwrap_or(i64::MAX));
    for (name, is_longer) in [
        ("changelog.num-retained.min", is_greater("changelog.num-retained.min", least)?),
        ("changelog.num-retained.max", is_greater("changelog.num-retained.max", most)?),
        ("changelog.time-retained", own_ms.is_some_and(|own| own > retained_ms)),
    ] {
        if is_longer {
            let message = "expiring snapshots of a table whose changelogs are retained longer is not supported";
            return Err(Error::unsupported(message)
                .with("option", name)
                .hint("expire them with Paimon's own connectors, or lower the option to that of snapshots"));
        }
    }
    Ok(())
}
