//! Determines the snapshots of an incremental read (documentation: "Incremental Query").
//!
//! | option | reads |
//! |---|---|
//! | `incremental-between` = `a,b`, ids | the changes of the snapshots after `a` up to `b`, by the mode; `a` may be 0 |
//! | `incremental-between` = `a,b`, tags | the difference of the rows, regardless of the mode |
//! | `incremental-between` with `incremental-between-tag-to-snapshot` | as for the snapshot ids of the tags |
//! | `incremental-between-timestamp` = `a,b` | as for the ids of the latest snapshots at these times |
//! | `incremental-to-auto-tag` = `b` | the difference from the tag that was created automatically before `b` |
//!
//! The mode, `incremental-between-scan-mode`, is delta (files that APPEND commits added), changelog (changelog files of
//! all commits except OVERWRITE), auto (changelog if the table produces one, else delta), or diff.

use frazil_core::error::{Error, ErrorKind, Result};
use jiff::civil::DateTime;

use super::plan::Selection;
use crate::spec::options::Options;
use crate::spec::snapshot::Snapshot;
use crate::table::{SnapshotChoice, Table};

const BETWEEN: &str = "incremental-between";
const BETWEEN_TIMESTAMP: &str = "incremental-between-timestamp";
const TO_AUTO_TAG: &str = "incremental-to-auto-tag";
const MODE: &str = "incremental-between-scan-mode";
const TAG_TO_SNAPSHOT: &str = "incremental-between-tag-to-snapshot";

/// The content of an incremental read.
#[derive(Debug, Clone, PartialEq)]
pub enum Incremental {
    /// The files that these snapshots wrote, ascending; possibly none.
    Changes(Selection, Vec<Snapshot>),
    /// The difference of the rows of two states.
    Diff(Box<States>),
}

/// Two states of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct States {
    /// The earlier state; None if it is before the first snapshot.
    pub before: Option<Snapshot>,
    /// The later state.
    pub after: Snapshot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IncrementalMode {
    Delta,
    Changelog,
    Diff,
}

impl Incremental {
    /// Returns the incremental read that the options request, or None if they request none.
    ///
    /// # Errors
    /// `InvalidArgument` for options that do not parse or contradict each other; `NoSuchSnapshot` for snapshots that do
    /// not exist or have expired.
    pub fn from_options(table: &Table, options: &Options) -> Result<Option<Self>> {
        let range = SnapshotRange { table, options };
        match (options.text(BETWEEN), options.text(BETWEEN_TIMESTAMP), options.text(TO_AUTO_TAG)) {
            (None, None, None) => Ok(None),
            (Some(between), None, None) => range.between(between).map(Some),
            (None, Some(times), None) => range.between_times(times).map(Some),
            (None, None, Some(tag)) => range.to_auto_tag(tag).map(Some),
            _ => Err(Error::invalid(format!(
                "the options `{BETWEEN}`, `{BETWEEN_TIMESTAMP}` and `{TO_AUTO_TAG}` contradict each other"
            ))
            .hint("set only one of them")),
        }
    }

    fn nothing() -> Self {
        Self::Changes(Selection::Delta, Vec::new())
    }
}

struct SnapshotRange<'a> {
    table: &'a Table,
    options: &'a Options,
}

impl SnapshotRange<'_> {
    fn mode(&self) -> Result<IncrementalMode> {
        let changelog = has_changelog(self.options);
        match self.options.text(MODE).unwrap_or("auto").trim().to_ascii_lowercase().as_str() {
            "diff" => Ok(IncrementalMode::Diff),
            mode if mode == "changelog" || (mode == "auto" && changelog) => Ok(IncrementalMode::Changelog),
            "auto" | "delta" => Ok(IncrementalMode::Delta),
            other => Err(refused(MODE, other, "auto, delta, changelog or diff")),
        }
    }

    fn between(&self, text: &str) -> Result<Incremental> {
        let (start, end) = pair(BETWEEN, text)?;
        match (self.tag(start)?, self.tag(end)?) {
            (Some(start), Some(end)) if self.options.boolean(TAG_TO_SNAPSHOT, false)? => {
                self.between_ids(start.id, end.id)
            }
            (Some(start), Some(end)) => self.between_states(start, end),
            _ => {
                let id = |text: &str| text.parse().map_err(|_| refused(BETWEEN, text, "two ids or two tags"));
                self.between_ids(id(start)?, id(end)?)
            }
        }
    }

    fn between_ids(&self, start: i64, end: i64) -> Result<Incremental> {
        if start < 0 || end < start {
            return Err(Error::invalid(format!("invalid range of an incremental read: snapshot {start} to {end}"))
                .hint("the first id must not be greater than the second one"));
        }
        let mode = self.mode()?;
        if start == end {
            return Ok(Incremental::nothing());
        }
        let selection = match mode {
            IncrementalMode::Delta => Selection::Delta,
            IncrementalMode::Changelog => Selection::Changelog,
            IncrementalMode::Diff => {
                let before = if start == 0 { None } else { Some(self.table.snapshot(start)?) };
                return self.diff(before, self.table.snapshot(end)?);
            }
        };
        check_range(self.table, start, end, selection)?;
        let snapshots = (start..end).map(|id| written(self.table, id + 1, selection)).collect::<Result<_>>()?;
        Ok(Incremental::Changes(selection, snapshots))
    }

    fn between_times(&self, text: &str) -> Result<Incremental> {
        let (start, end) = pair(BETWEEN_TIMESTAMP, text)?;
        let (start_ms, end_ms) = (time_ms(start)?, time_ms(end)?);
        if end_ms < start_ms {
            return Err(refused(BETWEEN_TIMESTAMP, text, "two times with the earlier one first"));
        }
        let ids = self.table.snapshot_ids()?;
        let Some((first, last)) = ids.first().zip(ids.last()) else { return Ok(Incremental::nothing()) };
        let (first, last) = (self.table.snapshot(*first)?, self.table.snapshot(*last)?);
        if start_ms == end_ms || start_ms > last.time_ms || end_ms < first.time_ms {
            return Ok(Incremental::nothing());
        }
        let before = if start_ms < first.time_ms { None } else { self.as_of(start_ms)? };
        let after = self.as_of(end_ms)?.unwrap_or(last);
        if self.mode()? == IncrementalMode::Diff {
            // The state before the first snapshot is known only if the table still has snapshot 1.
            return self.diff(before.or((first.id > 1).then_some(first)), after);
        }
        self.between_ids(before.map_or(first.id - 1, |before| before.id), after.id)
    }

    fn as_of(&self, time_ms: i64) -> Result<Option<Snapshot>> {
        self.table.choose(&SnapshotChoice::AsOf(time_ms), &Options::default())
    }

    fn to_auto_tag(&self, name: &str) -> Result<Incremental> {
        let formats = TagNames::try_new(self.options)?;
        let time = formats.time(name).ok_or_else(|| refused(TO_AUTO_TAG, name, "the name of an automatic tag"))?;
        let Some(end) = self.tag(name)? else { return Ok(Incremental::nothing()) };
        let tags = self.table.tags()?.into_iter();
        let earlier = tags.filter_map(|(name, tag)| formats.time(&name).filter(|t| *t < time).map(|time| (time, tag)));
        match earlier.max_by_key(|(time, _)| *time) {
            Some((_, start)) => self.between_states(start, end),
            None => Ok(Incremental::nothing()),
        }
    }

    fn between_states(&self, start: Snapshot, end: Snapshot) -> Result<Incremental> {
        if start.id > end.id {
            return Err(Error::invalid(format!("the tag of snapshot {} precedes that of {}", end.id, start.id))
                .hint("specify the earlier tag first"));
        }
        if start.id == end.id { Ok(Incremental::nothing()) } else { self.diff(Some(start), end) }
    }

    /// Compares rows bucket by bucket, so both states must have the same number of buckets.
    fn diff(&self, before: Option<Snapshot>, after: Snapshot) -> Result<Incremental> {
        let buckets = |snapshot: &Snapshot| {
            let schema = self.table.schema_by_id(snapshot.schema_id)?;
            Ok::<_, Error>(schema.options.get("bucket").map_or_else(|| "-1".to_string(), |b| b.trim().to_string()))
        };
        if let Some(before) = &before
            && buckets(before)? != buckets(&after)?
        {
            return Err(Error::unsupported(
                "the difference of snapshots with different numbers of buckets is not supported",
            ));
        }
        Ok(Incremental::Diff(Box::new(States { before, after })))
    }

    fn tag(&self, name: &str) -> Result<Option<Snapshot>> {
        match self.table.tag(name) {
            Err(e) if e.kind() == ErrorKind::NoSuchSnapshot => Ok(None),
            found => found.map(Some),
        }
    }
}

/// Returns whether changes are written as a changelog.
pub(crate) fn has_changelog(options: &Options) -> bool {
    options.text("changelog-producer").is_some_and(|producer| producer.trim() != "none")
}

/// Checks that all snapshots after `start` up to `end` exist, before they are read one by one.
///
/// # Errors
/// `NoSuchSnapshot` with the range of existing snapshots.
pub(crate) fn check_range(table: &Table, start: i64, end: i64, selection: Selection) -> Result<()> {
    let mut ids = table.snapshot_ids()?;
    let last = ids.last().copied();
    if selection == Selection::Changelog {
        ids.extend(table.changelog_ids()?);
    }
    let first = ids.iter().min().copied();
    match first.zip(last) {
        Some((first, last)) if first - 1 <= start && end <= last => Ok(()),
        found => {
            let has = match found {
                None => "none".to_string(),
                Some((only, last)) if only == last => format!("only {only}"),
                Some((first, last)) => format!("{first} to {last}"),
            };
            let message = format!("some of the snapshots after {start} up to {end} do not exist");
            Err(Error::new(ErrorKind::NoSuchSnapshot, message).hint(format!("the table has {has}")))
        }
    }
}

/// Reads a snapshot. For a changelog, reads the kept changelog of an expired snapshot if the snapshot does not exist.
///
/// # Errors
/// As for [`Table::snapshot`].
pub(crate) fn written(table: &Table, id: i64, selection: Selection) -> Result<Snapshot> {
    match table.snapshot(id) {
        Err(e) if e.kind() == ErrorKind::NoSuchSnapshot && selection == Selection::Changelog => table.changelog(id),
        found => found,
    }
}

/// The name format of automatic tags (documentation: "Manage Tags", `tag.creation-period`, `tag.period-formatter`).
struct TagNames(&'static str);

impl TagNames {
    fn try_new(options: &Options) -> Result<Self> {
        let period = options.text("tag.creation-period").unwrap_or("daily").trim().to_ascii_lowercase();
        let formatter = options.text("tag.period-formatter").unwrap_or("with_dashes").trim().to_ascii_lowercase();
        Ok(Self(match (period.as_str(), formatter.as_str()) {
            ("daily", "with_dashes") => "%Y-%m-%d",
            ("daily", "without_dashes" | "without_dashes_and_spaces") => "%Y%m%d",
            ("hourly" | "two-hours", "with_dashes") => "%Y-%m-%d %H",
            ("hourly" | "two-hours", "without_dashes") => "%Y%m%d %H",
            ("hourly" | "two-hours", "without_dashes_and_spaces") => "%Y%m%d%H",
            _ => {
                return Err(Error::unsupported(format!(
                    "automatic tags with the period `{period}` and the formatter `{formatter}` are not supported"
                )));
            }
        }))
    }

    fn time(&self, name: &str) -> Option<DateTime> {
        let parsed = jiff::fmt::strtime::parse(self.0, name).ok()?;
        parsed.to_datetime().or_else(|_| parsed.to_date().map(|date| date.at(0, 0, 0, 0))).ok()
    }
}

fn pair<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str)> {
    let parts = text.split_once(',').map(|(start, end)| (start.trim(), end.trim()));
    parts.filter(|(_, end)| !end.contains(',')).ok_or_else(|| refused(option, text, "two values separated by a comma"))
}

/// Returns milliseconds since the epoch, given as a number or as a date string.
fn time_ms(text: &str) -> Result<i64> {
    match text.parse() {
        Ok(number) => Ok(number),
        Err(_) => crate::table::parse_timestamp_ms(text),
    }
}

fn refused(option: &str, text: &str, expected: &str) -> Error {
    Error::invalid(format!("the option `{option}` is `{text}`, expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(period: &str, formatter: &str) -> TagNames {
        let options = [("tag.creation-period", period), ("tag.period-formatter", formatter)];
        let options = options.map(|(name, value)| (name.to_string(), value.to_string()));
        TagNames::try_new(&Options::new(options.into())).unwrap()
    }

    #[test]
    fn automatic_tags_are_known_by_their_names() {
        assert!(names("daily", "with_dashes").time("2024-12-04").is_some());
        assert!(names("daily", "without_dashes").time("20241204").is_some());
        assert!(
            names("hourly", "with_dashes").time("2024-12-04 23") > names("hourly", "with_dashes").time("2024-12-04 09")
        );
        assert!(names("two-hours", "without_dashes_and_spaces").time("2024120410").is_some());
        for other in ["v1", "2024-12", "2024-12-04 10", "2024-13-04", ""] {
            assert!(names("daily", "with_dashes").time(other).is_none(), "{other}");
        }
    }

    #[test]
    fn pairs_have_two_parts() {
        assert_eq!(pair("x", " 1 ,v 2").unwrap(), ("1", "v 2"));
        for text in ["", "1", "1,2,3"] {
            assert_eq!(pair("x", text).unwrap_err().kind(), ErrorKind::InvalidArgument, "{text}");
        }
    }
}
