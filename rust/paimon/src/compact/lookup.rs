//! The rules of lookup compactions, which find out what new records replace in higher levels (Java's
//! `LookupMergeTreeCompactRewriter`).

use frazil_core::error::Result;

use super::levels::Levels;
use super::pick::Unit;
use crate::merge::section::KeyRanges;
use crate::merge::{OldRecords, Watch, keeps_first, looks_up};
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::write::file::FileSpec;

/// The properties of a table whose compactions observe what new records replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LookupRule {
    /// Whether deletion vectors mark the replaced records.
    pub(super) has_vectors: bool,
    /// Whether changes are written to changelog files.
    pub(super) has_changelog: bool,
    /// How older records take part in a merge. If all do, no record is looked up, and only merges into the highest level
    /// are observed (`changelog-producer` = `full-compaction`).
    old: OldRecords,
    /// Whether the last record of a key is its row.
    keeps_last: bool,
}

impl LookupRule {
    /// Returns the properties of a table, or None if it is compacted without observations. The changes of an overwrite
    /// (`replaces`) are not written.
    ///
    /// # Errors
    /// `InvalidArgument` for options that do not parse.
    pub(super) fn from_options(schema: &TableSchema, options: &Options, replaces: bool) -> Result<Option<Self>> {
        let is =
            |name: &str, value: &str| options.text(name).is_some_and(|text| text.trim().eq_ignore_ascii_case(value));
        let keeps_first = keeps_first(options);
        let of_full = is("changelog-producer", "full-compaction");
        let looks_up = keeps_first || looks_up(options)?;
        if schema.primary_keys.is_empty() || !(looks_up || of_full && !replaces) {
            return Ok(None);
        }
        let is_sequenced = options.text("sequence.field").is_some_and(|text| !text.trim().is_empty());
        Ok(Some(Self {
            has_vectors: options.boolean("deletion-vectors.enabled", false)?,
            has_changelog: !replaces && (of_full || is("changelog-producer", "lookup")),
            old: match (of_full, keeps_first) {
                (true, _) => OldRecords::All,
                (false, true) => OldRecords::First,
                (false, false) => OldRecords::Lowest,
            },
            keeps_last: (options.text("merge-engine").is_none() || is("merge-engine", "deduplicate")) && !is_sequenced,
        }))
    }

    fn is_of_full(self) -> bool {
        self.old == OldRecords::All
    }

    /// Returns the level below which records are new in a merge; None if the merge is not observed.
    pub(super) fn new_below(self, output_level: i32, max_level: i32) -> Option<i32> {
        if self.is_of_full() { (output_level == max_level).then_some(max_level) } else { Some(1) }
    }

    /// Returns what to observe in a merge into a level.
    pub(super) fn watch(self, output_level: i32, new_below: i32) -> Watch {
        let Self { has_changelog: images, has_vectors: places, old, .. } = self;
        Watch { output_level, new_below, old, images, places }
    }

    /// Returns the files above the level of a unit that may have keys of its records of level 0.
    pub(super) fn looked_up(self, unit: &Unit, files: &[DataFileMeta], keys: &KeyRanges) -> Vec<usize> {
        if self.is_of_full() {
            return Vec::new();
        }
        let level = |file: usize| files.get(file).map_or(0, |file| file.level);
        let is_new = |file: &usize| level(*file) == 0;
        let mut all: Vec<usize> = (0..files.len()).filter(|file| level(*file) > unit.output_level).collect();
        all.extend(unit.files.iter().copied().filter(is_new));
        let mut found = keys.overlapping(&all, is_new);
        found.retain(|file| !is_new(file));
        found
    }

    /// Returns whether a file of level 0 that shares no key with other files of a unit is rewritten, although its level
    /// could just be changed (`upgradeStrategy`). `is_looked_up` is whether files of higher levels may have its keys.
    pub(super) fn rewrites(
        self,
        file: &DataFileMeta,
        (output_level, max_level): (i32, i32),
        is_looked_up: bool,
        options: &Options,
    ) -> Result<bool> {
        if file.level != 0 || self.is_of_full() {
            return Ok(false);
        }
        let format = |level: i32| FileSpec::from_options(options, Some(level)).map(|spec| spec.format);
        let may_delete = file.delete_row_count.is_none_or(|count| count > 0);
        if format(0)? != format(output_level)? || self.has_vectors && may_delete {
            return Ok(true);
        }
        Ok(is_looked_up && output_level != max_level && !self.keeps_last)
    }

    /// Returns whether the rows of a file that only changes its level are observed.
    pub(super) fn observes(self, is_looked_up: bool) -> bool {
        self.has_changelog || self.has_vectors && is_looked_up
    }

    /// Returns whether rows that delete are left out of the files of a level.
    pub(super) fn drops_deletes(self, levels: &Levels, output_level: i32) -> bool {
        self.has_vectors || levels.drops_deletes(output_level)
    }
}
