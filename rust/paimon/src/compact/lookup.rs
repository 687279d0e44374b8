//! The rules of lookup compactions, which find out what new records replace in higher levels (Java's
//! `LookupMergeTreeCompactRewriter`).

use frazil_core::error::Result;

use super::levels::Levels;
use super::pick::Unit;
use crate::merge::section::KeyRanges;
use crate::merge::{Watch, looks_up};
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::write::file::FileSpec;

/// The properties of a table whose compactions look up records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LookupRule {
    /// Whether deletion vectors mark the replaced records.
    pub(super) has_vectors: bool,
    /// Whether the first record of a key is its row.
    keeps_first: bool,
}

impl LookupRule {
    /// Returns the properties of a table, or None if it is compacted without lookups.
    ///
    /// # Errors
    /// `InvalidArgument` for options that do not parse.
    pub(super) fn from_options(schema: &TableSchema, options: &Options) -> Result<Option<Self>> {
        let keeps_first =
            options.text("merge-engine").is_some_and(|name| name.trim().eq_ignore_ascii_case("first-row"));
        if schema.primary_keys.is_empty() || !(keeps_first || looks_up(options)?) {
            return Ok(None);
        }
        Ok(Some(Self { has_vectors: options.boolean("deletion-vectors.enabled", false)?, keeps_first }))
    }

    /// Returns what to observe in a merge into a level.
    pub(super) fn watch(self, output_level: i32) -> Watch {
        Watch { output_level, images: false, places: self.has_vectors, keeps_first: self.keeps_first }
    }

    /// Returns the files above the level of a unit that may have keys of its records of level 0.
    pub(super) fn looked_up(unit: &Unit, files: &[DataFileMeta], keys: &KeyRanges) -> Vec<usize> {
        let level = |file: usize| files.get(file).map_or(0, |file| file.level);
        let is_new = |file: &usize| level(*file) == 0;
        let mut all: Vec<usize> = (0..files.len()).filter(|file| level(*file) > unit.output_level).collect();
        all.extend(unit.files.iter().copied().filter(is_new));
        let mut found = keys.overlapping(&all, is_new);
        found.retain(|file| !is_new(file));
        found
    }

    /// Returns whether a file of a unit that shares no key with other files of the unit is rewritten, although its level
    /// could just be changed.
    pub(super) fn rewrites(
        self,
        file: usize,
        unit: &Unit,
        (files, keys): (&[DataFileMeta], &KeyRanges),
        (looked_up, options): (&[usize], &Options),
    ) -> Result<bool> {
        let Some(meta) = files.get(file).filter(|file| file.level == 0) else { return Ok(false) };
        let replaces = || keys.overlapping(&[looked_up, &[file]].concat(), |other| *other == file).len() > 1;
        let format = |level: i32| FileSpec::from_options(options, Some(level)).map(|spec| spec.format);
        let may_delete = meta.delete_row_count.is_none_or(|count| count > 0);
        Ok(self.has_vectors && may_delete || format(0)? != format(unit.output_level)? || replaces())
    }

    /// Returns whether rows that delete are left out of the files of a level.
    pub(super) fn drops_deletes(self, levels: &Levels, output_level: i32) -> bool {
        self.has_vectors || levels.drops_deletes(output_level)
    }
}
