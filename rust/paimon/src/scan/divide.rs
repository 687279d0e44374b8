//! From live files to splits: files are left out by bucket, key and value, and each bucket is divided.
//!
//! A file of a primary key table may be left out by its keys alone. By its values only where that cannot bring back an
//! older row: its rows share no key with another file of the bucket, or no row of its section may match and merged rows
//! are rows that were written.

use frazil_core::context::Context;
use frazil_core::error::Result;
use frazil_core::predicate::BoundPredicate;

use super::buckets::BucketKeys;
use super::context::ReadContext;
use super::mode::ReadMode;
use super::partitions::Partitions;
use super::plan::{Planned, ScanMetrics, Selection};
use super::prune::{judge, may_match_index};
use super::section::KeyRanges;
use super::split::{FileFacts, SplitGroup};
use crate::spec::manifest::ManifestEntries;

/// Live files with what is known of them.
pub(super) struct Divider<'a> {
    read: &'a ReadContext,
    entries: &'a ManifestEntries,
    partitions: &'a Partitions,
    mode: ReadMode,
    selection: Selection,
    /// Whether a file may hold rows, as they stand in it, that match.
    rows: Vec<bool>,
    /// Files that may hold keys of matching rows.
    kept: Vec<usize>,
}

impl<'a> Divider<'a> {
    /// All of these files.
    pub(super) fn new(
        read: &'a ReadContext,
        entries: &'a ManifestEntries,
        partitions: &'a Partitions,
        mode: ReadMode,
        selection: Selection,
    ) -> Self {
        let rows = vec![true; entries.len()];
        let kept = (0..entries.len()).collect();
        Self { read, entries, partitions, mode, selection, rows, kept }
    }

    /// Leaves files out by the filter.
    pub(super) fn prune(&mut self, metrics: &mut ScanMetrics) -> Result<()> {
        if self.read.filter == BoundPredicate::True || self.entries.is_empty() {
            return Ok(());
        }
        let before = self.kept.len();
        if let Some(mut keys) = BucketKeys::try_new(self.read)? {
            let (buckets, totals) = (self.entries.buckets(), self.entries.total_buckets());
            let mut kept = Vec::with_capacity(self.kept.len());
            for file in std::mem::take(&mut self.kept) {
                let schema = self.read.file_schema(self.entries.schema_ids().value(file))?;
                if keys.may_be_in(buckets.value(file), totals.value(file), schema)? {
                    kept.push(file);
                }
            }
            self.kept = kept;
        }
        metrics.files_skipped_by_bucket = before - self.kept.len();
        let before = self.kept.len();
        let verdicts = judge(self.read, self.entries, self.partitions)?;
        self.kept.retain(|file| verdicts.keys.value(*file));
        metrics.files_skipped_by_stats = before - self.kept.len();
        self.rows = verdicts.rows.iter().collect();
        for file in &self.kept {
            if self.rows.get(*file) == Some(&true) && !may_match_index(self.read, self.entries, *file)? {
                if let Some(row) = self.rows.get_mut(*file) {
                    *row = false;
                }
                metrics.files_skipped_by_index += 1;
            }
        }
        Ok(())
    }

    /// The splits, bucket after bucket.
    pub(super) fn splits(mut self, context: &Context) -> Result<Vec<Planned>> {
        let buckets = self.entries.buckets();
        let bucket = |file: usize| (self.partitions.of(file), buckets.value(file));
        let mut kept = std::mem::take(&mut self.kept);
        kept.sort_by_key(|file| bucket(*file));
        let merged = self.mode.primary_key && self.selection == Selection::Live;
        let ranges = if merged && !kept.is_empty() { Some(self.ranges()?) } else { None };
        let mut splits = Vec::new();
        for files in kept.chunk_by(|a, b| bucket(*a) == bucket(*b)) {
            context.check()?;
            let groups = match &ranges {
                Some(ranges) => self.merged(files, ranges),
                None if self.mode.data_evolution => self.evolved(files),
                None => self.appended(files),
            };
            splits.extend(groups.into_iter().map(planned));
        }
        Ok(splits)
    }

    fn ranges(&self) -> Result<KeyRanges> {
        KeyRanges::try_new(self.entries.min_keys(), self.entries.max_keys(), &self.read.key_types())
    }

    /// A bucket of a primary key table.
    fn merged(&self, files: &[usize], ranges: &KeyRanges) -> Vec<SplitGroup> {
        let facts = FileFacts::new(self.entries);
        let independent = self.mode.independent;
        if facts.raw_bucket(files, independent) {
            return facts.raw(self.matching(files), self.mode.weights);
        }
        let files = if independent { self.matching(files) } else { files.to_vec() };
        let mut sections = ranges.sections(&files);
        sections.retain(|section| {
            let mut files = section.runs.iter().flatten();
            let alone = matches!(section.runs.as_slice(), [run] if run.len() == 1);
            let decided = alone || self.mode.keeps_rows;
            !decided || files.any(|file| self.may_match(*file))
        });
        facts.merged(sections, self.mode.weights)
    }

    /// A bucket of an append table, or changes, which are not merged.
    fn appended(&self, files: &[usize]) -> Vec<SplitGroup> {
        let facts = FileFacts::new(self.entries);
        let files = self.matching(files);
        let changes = self.selection != Selection::Live;
        let mut groups = if self.mode.ordered || changes {
            facts.raw_by_sequence(files, self.mode.weights)
        } else {
            facts.raw(files, self.mode.weights)
        };
        groups.iter_mut().for_each(|group| group.raw_convertible = !self.mode.primary_key);
        groups
    }

    /// A bucket whose files hold columns of the same rows: such files are left out together or not at all.
    fn evolved(&self, files: &[usize]) -> Vec<SplitGroup> {
        let facts = FileFacts::new(self.entries);
        let mut groups = facts.row_id_groups(files);
        groups.retain(|files| files.len() > 1 || files.iter().any(|file| self.may_match(*file)));
        facts.by_row_id(&groups.concat(), self.mode.weights)
    }

    fn matching(&self, files: &[usize]) -> Vec<usize> {
        files.iter().copied().filter(|file| self.may_match(*file)).collect()
    }

    fn may_match(&self, file: usize) -> bool {
        self.rows.get(file).copied().unwrap_or(true)
    }
}

fn planned(group: SplitGroup) -> Planned {
    let files = group.files.iter().filter_map(|file| u32::try_from(*file).ok()).collect();
    Planned { files, raw_convertible: group.raw_convertible }
}
