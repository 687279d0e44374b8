//! Recorded places and where their files lie now.
//!
//! A table that was copied still records where it was written, in metadata, in manifests, and inside the rows of its
//! position delete files. A [`Relocation`] maps recorded prefixes to actual ones, longest first, by whole segments.

use crate::error::Result;

use super::location::{Location, Scheme, strip_segments};

/// Recorded prefixes and their actual places.
#[derive(Debug, Clone, Default)]
pub struct Relocation {
    /// Longest recorded path first; of two equal ones the first added wins.
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    recorded: Location,
    actual: Location,
}

/// How well a recorded prefix fits a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The same path in HDFS and without scheme, or in HDFS with and without authority.
    HdfsAlias,
    /// Scheme and authority agree.
    Exact,
}

impl Relocation {
    /// Maps everything at or below `recorded` to the same place below `actual`. A relative `actual` is taken from the
    /// current folder.
    ///
    /// # Errors
    /// As [`Location::parse`].
    pub fn add(&mut self, recorded: &str, actual: &str) -> Result<()> {
        let entry = Entry { recorded: Location::parse(recorded)?, actual: Location::parse_absolute(actual)? };
        let at = self.entries.partition_point(|e| e.recorded.key().len() >= entry.recorded.key().len());
        self.entries.insert(at, entry);
        Ok(())
    }

    /// The recorded prefixes with their actual places, as text that [`Relocation::add`] takes.
    pub fn pairs(&self) -> Vec<(String, String)> {
        self.entries.iter().map(|entry| (entry.recorded.canonical(), entry.actual.canonical())).collect()
    }

    /// Whether nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The actual places, which a table may therefore read.
    pub fn targets(&self) -> impl Iterator<Item = &Location> {
        self.entries.iter().map(|entry| &entry.actual)
    }

    /// Where a recorded location lies: the canonical text, relocated where a prefix says so.
    ///
    /// # Errors
    /// As [`Location::parse`].
    pub fn resolve(&self, recorded: &str) -> Result<String> {
        self.locate(&Location::parse(recorded)?).map(|location| location.canonical())
    }

    /// As [`Relocation::resolve`] for a parsed location. A relative local path that no prefix covers is taken from the
    /// current folder.
    ///
    /// # Errors
    /// `Storage` when there is no current folder.
    pub fn locate(&self, recorded: &Location) -> Result<Location> {
        match self.relocated(recorded) {
            Some(actual) => Ok(actual),
            None if recorded.is_relative() => Location::parse_absolute(&recorded.path_text()),
            None => Ok(recorded.clone()),
        }
    }

    /// The actual place when a prefix covers `recorded`. An exact prefix wins over one that differs in HDFS spelling.
    pub fn relocated(&self, recorded: &Location) -> Option<Location> {
        let best = |wanted: Fit| {
            self.entries.iter().find_map(|entry| {
                let rest = strip_segments(recorded.key(), entry.recorded.key())?;
                (fit(recorded, &entry.recorded)? == wanted).then(|| entry.actual.join(rest))
            })
        };
        best(Fit::Exact).or_else(|| best(Fit::HdfsAlias))
    }
}

fn fit(location: &Location, prefix: &Location) -> Option<Fit> {
    if location.same_store(prefix) {
        return Some(Fit::Exact);
    }
    let hdfs = |l: &Location| *l.scheme() == Scheme::Hdfs;
    let bare = |l: &Location| l.is_local() && !l.is_relative();
    let aliases = match (hdfs(location), hdfs(prefix)) {
        (true, true) => location.authority().is_empty() || prefix.authority().is_empty(),
        (true, false) => bare(prefix),
        (false, true) => bare(location),
        (false, false) => false,
    };
    aliases.then_some(Fit::HdfsAlias)
}
