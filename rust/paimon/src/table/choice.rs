//! Selects the state of a table that is read (documentation: "Time Travel", the options `scan.*`).
//!
//! | `scan.mode`, in a batch read | requires | reads |
//! |---|---|---|
//! | default | | the state that the other options select, else the latest snapshot |
//! | latest-full, full, latest | | the latest snapshot |
//! | compacted-full | | the snapshot of the latest compaction, else the latest |
//! | from-timestamp | `scan.timestamp-millis` or `scan.timestamp` | the latest snapshot at that time |
//! | from-snapshot | `scan.snapshot-id`, `scan.tag-name`, `scan.version` or `scan.watermark` | that snapshot |
//! | from-snapshot-full | `scan.snapshot-id` | that snapshot |
//! | from-file-creation-time | `scan.file-creation-time-millis` | files of the latest snapshot created since then |
//! | incremental | `incremental-*` | changes, see `scan::incremental` |

use frazil_core::error::{Error, ErrorKind, Result};
use jiff::Timestamp;
use jiff::civil::DateTime;

use super::numbered::present;
use super::{LIMIT_BYTES, Table, check_name, parse_snapshot};
use crate::spec::json::shown;
use crate::spec::options::Options;
use crate::spec::snapshot::{CommitKind, Snapshot};

/// The state of a table that is read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SnapshotChoice {
    /// The latest snapshot, with the latest schema.
    #[default]
    Latest,
    /// A snapshot by id, which is read with its own schema. The following variants are also read with the snapshot's
    /// schema.
    Id(i64),
    /// A tag. Branches are resolved earlier.
    Ref(String),
    /// A tag; or, if the tag does not exist, a snapshot by id (`5`) or by watermark (`watermark-5`).
    Version(String),
    /// The latest snapshot that was committed at or before this time (milliseconds since the epoch).
    AsOf(i64),
    /// The earliest snapshot with at least this watermark.
    Watermark(i64),
}

/// The options that select a snapshot. At most one of them may be set.
const SCAN_KEYS: [&str; 6] =
    ["scan.snapshot-id", "scan.tag-name", "scan.version", "scan.timestamp-millis", "scan.timestamp", "scan.watermark"];

const CREATION_KEY: &str = "scan.file-creation-time-millis";

const INCREMENTAL_KEYS: [&str; 3] = ["incremental-between", "incremental-between-timestamp", "incremental-to-auto-tag"];

/// The maximum number of snapshots that are read together in a search.
const MAX_BATCH: usize = 64;

impl SnapshotChoice {
    /// Returns the choice of the options, or None if they select no state, or changes instead of a snapshot.
    ///
    /// `scan.timestamp` is a date with an optional time of day. It is interpreted as UTC unless it includes an
    /// offset, so that the result does not depend on the machine.
    ///
    /// # Errors
    /// `InvalidArgument` for options that contradict each other or do not parse; `Unsupported` naming a mode.
    pub fn from_options(options: &Options) -> Result<Option<Self>> {
        check_mode(options)?;
        let given = |key: &&str| options.text(key).is_some();
        let mut keys = SCAN_KEYS.iter().chain([&CREATION_KEY]).chain(&INCREMENTAL_KEYS).copied().filter(given);
        let Some(key) = keys.next() else { return Ok(None) };
        if let Some(other) = keys.next() {
            return Err(contradiction(key, other));
        }
        let text = options.text(key).unwrap_or_default();
        let number = || options.integer(key).map(Option::unwrap_or_default);
        Ok(Some(match key {
            "scan.snapshot-id" => Self::Id(number()?),
            "scan.tag-name" => Self::Ref(text.to_string()),
            "scan.version" => Self::Version(text.to_string()),
            "scan.timestamp-millis" => Self::AsOf(number()?),
            "scan.timestamp" => Self::AsOf(parse_timestamp_ms(text)?),
            "scan.watermark" => Self::Watermark(number()?),
            CREATION_KEY => {
                number()?;
                return Ok(None);
            }
            _ => return Ok(None),
        }))
    }

    /// Returns this choice, or the choice of the options if this choice is the latest snapshot. A `scan.mode` that only
    /// selects the latest snapshot does not contradict another choice.
    ///
    /// # Errors
    /// As for [`SnapshotChoice::from_options`]; `InvalidArgument` if this choice and the options select different
    /// states.
    pub fn or_options(&self, options: &Options) -> Result<Self> {
        let by_options = Self::from_options(options)?;
        if *self == Self::Latest {
            return Ok(by_options.unwrap_or_default());
        }
        let mut others = INCREMENTAL_KEYS.iter().chain([&CREATION_KEY]);
        let other = mode(options) == "compacted-full" || others.any(|key| options.text(key).is_some());
        if other || by_options.is_some_and(|chosen| chosen != *self) {
            return Err(Error::invalid("the arguments and the options of the scan select different states")
                .hint("remove either the arguments, or the options `scan.*` and `incremental-*`"));
        }
        Ok(self.clone())
    }

    /// Returns whether the snapshot is read with its own schema instead of the latest one. Call this on the result of
    /// [`SnapshotChoice::or_options`].
    pub fn is_time_travel(&self) -> bool {
        *self != Self::Latest
    }
}

impl Table {
    /// Returns the selected snapshot. If `choice` is the latest snapshot, `options` select it. Returns None if the
    /// latest snapshot is selected and the table has no snapshots.
    ///
    /// # Errors
    /// `NoSuchSnapshot` with the existing snapshots; as for [`SnapshotChoice::or_options`] and [`Table::snapshot`].
    pub fn choose(&self, choice: &SnapshotChoice, options: &Options) -> Result<Option<Snapshot>> {
        match choice.or_options(options)? {
            SnapshotChoice::Latest if mode(options) == "compacted-full" => self.latest_compacted(options),
            SnapshotChoice::Latest => self.latest_snapshot(),
            SnapshotChoice::Id(id) => self.snapshot(id).map(Some),
            SnapshotChoice::Ref(name) => self.tag(&name).map(Some),
            SnapshotChoice::Version(text) => self.version(&text).map(Some),
            SnapshotChoice::AsOf(time_ms) => self.as_of(time_ms).map(Some),
            SnapshotChoice::Watermark(watermark) => self.at_watermark(watermark).map(Some),
        }
    }

    fn version(&self, text: &str) -> Result<Snapshot> {
        check_name("tag", text)?;
        if let Some(tag) = self.find_tag(text)? {
            return Ok(tag);
        }
        let number = |digits: &str| digits.parse::<i64>().ok();
        if let Some(watermark) = text.strip_prefix("watermark-").and_then(number) {
            return self.at_watermark(watermark);
        }
        match number(text) {
            Some(id) => self.snapshot(id),
            None => self.tag(text),
        }
    }

    /// Finds the latest snapshot at a time by binary search. Commit times do not decrease.
    fn as_of(&self, time_ms: i64) -> Result<Snapshot> {
        let ids = self.snapshot_ids()?;
        let files = self.snapshot_files();
        let (mut low, mut high, mut found) = (0, ids.len(), None);
        while let Some(&id) = ids.get(low..high).and_then(|ids| ids.get(ids.len() / 2)) {
            let middle = low + (high - low) / 2;
            match files.read(id)?.map(|content| parse_snapshot(&files, "snapshot", id, &content)).transpose()? {
                Some(snapshot) if snapshot.time_ms > time_ms => high = middle,
                // A snapshot that disappears between listing and reading has expired, and all earlier snapshots have
                // also expired.
                snapshot => {
                    found = snapshot;
                    low = middle + 1;
                }
            }
        }
        found.ok_or_else(|| {
            let none = self.none_like(&format!("was committed by {time_ms} ms"));
            match self.first_like(&ids, |_| true) {
                Ok(Some(first)) => none.hint(format!(
                    "the earliest remaining snapshot is {}, committed at {} ms",
                    first.id, first.time_ms
                )),
                _ => none,
            }
        })
    }

    /// Finds the first snapshot whose watermark is at least `watermark`. Snapshots are searched linearly, because some
    /// have no watermark.
    fn at_watermark(&self, watermark: i64) -> Result<Snapshot> {
        let reached = |snapshot: &Snapshot| snapshot.watermark.is_some_and(|found| found >= watermark);
        let found = self.first_like(&self.snapshot_ids()?, reached)?;
        found.ok_or_else(|| self.none_like(&format!("has a watermark of at least {watermark}")))
    }

    /// Returns the latest full compaction if full compactions are scheduled, otherwise the latest compaction of any
    /// type. Without a compaction, returns the latest snapshot.
    fn latest_compacted(&self, options: &Options) -> Result<Option<Snapshot>> {
        let every = match options.integer("full-compaction.delta-commits")? {
            Some(commits) if commits < 1 => {
                return Err(Error::invalid("the option `full-compaction.delta-commits` must be at least 1"));
            }
            None if options
                .text("changelog-producer")
                .is_some_and(|producer| producer.trim().eq_ignore_ascii_case("full-compaction")) =>
            {
                Some(1)
            }
            commits => commits,
        };
        let wanted = |snapshot: &Snapshot| {
            let identifier = snapshot.commit_identifier;
            let scheduled = every.is_none_or(|commits| identifier == i64::MAX || identifier % commits == 0);
            snapshot.commit_kind == CommitKind::Compact && scheduled
        };
        let mut ids = self.snapshot_ids()?;
        ids.reverse();
        self.first_like(&ids, wanted)?.map_or_else(|| self.latest_snapshot(), |found| Ok(Some(found)))
    }

    /// Returns the first of the snapshots `ids` for which `wanted` is true. Snapshots are read in batches of increasing
    /// size.
    fn first_like(&self, ids: &[i64], wanted: impl Fn(&Snapshot) -> bool) -> Result<Option<Snapshot>> {
        let files = self.snapshot_files();
        let (mut rest, mut batch) = (ids, 1);
        while let Some((ids, others)) = rest.split_at_checked(batch.min(rest.len())).filter(|_| !rest.is_empty()) {
            let locations: Vec<String> = ids.iter().map(|&id| files.location(id)).collect();
            let locations: Vec<&str> = locations.iter().map(String::as_str).collect();
            for (&id, content) in ids.iter().zip(self.files().read_all(&locations, LIMIT_BYTES)) {
                // A snapshot that disappears between listing and reading has expired.
                let Some(content) = present(content)? else { continue };
                let snapshot = parse_snapshot(&files, "snapshot", id, &content)?;
                if wanted(&snapshot) {
                    return Ok(Some(snapshot));
                }
            }
            rest = others;
            batch = (batch * 4).min(MAX_BATCH);
        }
        Ok(None)
    }

    fn none_like(&self, what: &str) -> Error {
        Error::new(ErrorKind::NoSuchSnapshot, format!("no snapshot {what}")).with("table", self.location())
    }
}

/// The values of `scan.mode`.
const MODES: [&str; 10] = [
    "default",
    "latest-full",
    "full",
    "latest",
    "compacted-full",
    "from-timestamp",
    "from-snapshot",
    "from-snapshot-full",
    "from-file-creation-time",
    "incremental",
];

fn mode(options: &Options) -> String {
    options.text("scan.mode").map_or("default".to_string(), |mode| mode.trim().to_ascii_lowercase())
}

/// Checks the options that a mode requires, and those that contradict it.
fn check_mode(options: &Options) -> Result<()> {
    let mode = mode(options);
    let needs: &[&str] = match mode.as_str() {
        "default" | "" => return check_creation_timestamp(options),
        "latest-full" | "full" | "latest" | "compacted-full" => &[],
        "from-timestamp" => &["scan.timestamp-millis", "scan.timestamp"],
        "from-snapshot" => &["scan.snapshot-id", "scan.tag-name", "scan.version", "scan.watermark"],
        "from-snapshot-full" => &["scan.snapshot-id"],
        "from-file-creation-time" => &[CREATION_KEY],
        "incremental" => &INCREMENTAL_KEYS,
        _ => {
            return Err(Error::unsupported(format!(
                "the option `scan.mode` with the value `{}` is not supported",
                shown(&mode)
            ))
            .hint(format!("supported values are {}", MODES.join(", "))));
        }
    };
    check_creation_timestamp(options)?;
    let given = |key: &&&str| options.text(key).is_some();
    if !needs.is_empty() && !needs.iter().any(|key| given(&key)) {
        return Err(Error::invalid(format!("`scan.mode` = `{mode}` requires `{}`", needs.join("` or `"))));
    }
    let mut all = SCAN_KEYS.iter().chain([&CREATION_KEY]).chain(&INCREMENTAL_KEYS);
    match all.find(|key| given(key) && !needs.contains(key)) {
        None => Ok(()),
        Some(key) => Err(contradiction(&format!("scan.mode` = `{mode}"), key)),
    }
}

/// Rejects `scan.creation-time-millis`, because its meaning depends on which snapshots have expired: it selects a
/// snapshot or filters files by creation time.
fn check_creation_timestamp(options: &Options) -> Result<()> {
    match options.text("scan.creation-time-millis") {
        None => Ok(()),
        Some(_) => Err(Error::unsupported("the option `scan.creation-time-millis` is not supported")
            .hint("use `scan.timestamp-millis` or `scan.file-creation-time-millis`")),
    }
}

fn contradiction(one: &str, other: &str) -> Error {
    Error::invalid(format!("the options `{one}` and `{other}` contradict each other"))
}

/// Parses a date and time to milliseconds since the epoch.
pub(crate) fn parse_timestamp_ms(text: &str) -> Result<i64> {
    let text = text.trim();
    let with_offset = text.parse::<Timestamp>().ok();
    let utc = || text.parse::<DateTime>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    let instant = with_offset.or_else(|| utc().map(|zoned| zoned.timestamp()));
    instant.map(Timestamp::as_millisecond).ok_or_else(|| {
        let message = format!("the option `scan.timestamp` is `{}`, expected a date and time", shown(text));
        Error::invalid(message).hint("for example 2024-05-14 01:02:03 or 2024-05-14T01:02:03+08:00")
    })
}
