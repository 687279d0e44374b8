//! Maps recorded locations to the actual locations of files.
//!
//! A table that was copied still records its original location in metadata, in manifests, and in the rows of its
//! position delete files. A [`Relocation`] maps recorded prefixes to actual ones, longest first, by whole segments.

use crate::error::Result;

use super::location::{Location, Scheme, strip_segments};

/// Recorded prefixes and their actual locations.
#[derive(Debug, Clone, Default)]
pub struct Relocation {
    /// The entries, sorted by descending length of the recorded path. Of two equal entries, the first one added takes
    /// precedence.
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    recorded: Location,
    actual: Location,
}

/// The quality of a match between a recorded prefix and a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The same path, but one location is in HDFS and the other has no scheme, or only one of two HDFS locations has an
    /// authority.
    HdfsAlias,
    /// Equal scheme and authority.
    Exact,
}

impl Relocation {
    /// Maps all locations at or below `recorded` to the same path below `actual`. A relative `actual` is resolved
    /// against the current folder.
    ///
    /// # Errors
    /// See [`Location::parse`].
    pub fn add(&mut self, recorded: &str, actual: &str) -> Result<()> {
        let entry = Entry { recorded: Location::parse(recorded)?, actual: Location::parse_absolute(actual)? };
        let at = self.entries.partition_point(|e| e.recorded.key().len() >= entry.recorded.key().len());
        self.entries.insert(at, entry);
        Ok(())
    }

    /// Returns the recorded prefixes and their actual locations, in the text form of [`Relocation::add`].
    pub fn pairs(&self) -> Vec<(String, String)> {
        self.entries.iter().map(|entry| (entry.recorded.canonical(), entry.actual.canonical())).collect()
    }

    /// Returns whether there are no mappings.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the actual locations of all mappings, which a table may therefore read.
    pub fn targets(&self) -> impl Iterator<Item = &Location> {
        self.entries.iter().map(|entry| &entry.actual)
    }

    /// Returns the actual location for a recorded one, as canonical text; the location is unchanged if no prefix
    /// matches.
    ///
    /// # Errors
    /// See [`Location::parse`].
    pub fn resolve(&self, recorded: &str) -> Result<String> {
        self.locate(&Location::parse(recorded)?).map(|location| location.canonical())
    }

    /// Resolves a parsed location, like [`Relocation::resolve`]. A relative local path that no prefix covers is
    /// resolved against the current folder.
    ///
    /// # Errors
    /// `Storage` if there is no current folder.
    pub fn locate(&self, recorded: &Location) -> Result<Location> {
        match self.relocated(recorded) {
            Some(actual) => Ok(actual),
            None if recorded.is_relative() => Location::parse_absolute(&recorded.path_text()),
            None => Ok(recorded.clone()),
        }
    }

    /// Returns the actual location if a prefix covers `recorded`, or None. An exact prefix takes precedence over a
    /// prefix in another HDFS form.
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
