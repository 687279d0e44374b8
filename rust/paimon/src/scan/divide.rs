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
use super::metrics::ScanMetrics;
use super::mode::{ReadMode, TableKind};
use super::partitions::Partitions;
use super::plan::Selection;
use super::prune::{EntryStats, may_match_index};
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
        self.prune_buckets()?;
        metrics.files_skipped_by_bucket = before - self.kept.len();
        let stats = EntryStats::try_new(self.read, self.entries, self.partitions)?;
        if self.mode.kind == TableKind::DataEvolution {
            return self.prune_evolved(&stats);
        }
        let verdicts = stats.judge()?;
        self.kept.retain(|file| verdicts.keys.value(*file));
        self.rows = verdicts.rows.iter().collect();
        for file in &self.kept {
            if self.rows.get(*file) == Some(&true) && !may_match_index(self.read, self.entries, *file)? {
                if let Some(row) = self.rows.get_mut(*file) {
                    *row = false;
                }
                metrics.files_excluded_by_index += 1;
            }
        }
        Ok(())
    }

    fn prune_buckets(&mut self) -> Result<()> {
        let Some(mut keys) = BucketKeys::try_new(self.read)? else { return Ok(()) };
        let (buckets, totals) = (self.entries.buckets(), self.entries.total_buckets());
        let mut kept = Vec::with_capacity(self.kept.len());
        for file in std::mem::take(&mut self.kept) {
            let schema = self.read.file_schema(self.entries.schema_ids().value(file))?;
            if keys.may_be_in(buckets.value(file), totals.value(file), schema)? {
                kept.push(file);
            }
        }
        self.kept = kept;
        Ok(())
    }

    /// Files that hold columns of the same rows match together or not at all.
    fn prune_evolved(&mut self, stats: &EntryStats<'_>) -> Result<()> {
        let facts = FileFacts::new(self.entries);
        let kept = self.by_bucket();
        let buckets = kept.chunk_by(|a, b| self.bucket(*a) == self.bucket(*b));
        let groups: Vec<Vec<usize>> = buckets.flat_map(|files| facts.row_id_groups(files)).collect();
        let may = stats.judge_groups(&groups)?;
        for (group, may) in groups.iter().zip(&may) {
            let index = matches!(group.as_slice(), [only] if !may_match_index(self.read, self.entries, *only)?);
            for file in group {
                if let Some(row) = self.rows.get_mut(*file) {
                    *row = may && !index;
                }
            }
        }
        Ok(())
    }

    /// The splits, bucket after bucket.
    pub(super) fn splits(&self, context: &Context) -> Result<Vec<SplitGroup>> {
        let kept = self.by_bucket();
        let mut splits = Vec::new();
        let ranges = match self.mode.kind {
            TableKind::PrimaryKey { independent, keeps_rows } if self.selection == Selection::Live => {
                let keys = self.ranges()?;
                Some((keys, independent, keeps_rows))
            }
            _ => None,
        };
        for files in kept.chunk_by(|a, b| self.bucket(*a) == self.bucket(*b)) {
            context.check()?;
            splits.extend(match &ranges {
                Some((ranges, independent, keeps_rows)) => self.merged(files, ranges, *independent, *keeps_rows),
                None => self.unmerged(files),
            });
        }
        Ok(splits)
    }

    fn ranges(&self) -> Result<KeyRanges> {
        KeyRanges::try_new(self.entries.min_keys(), self.entries.max_keys(), &self.read.key_types())
    }

    /// A bucket of a primary key table.
    fn merged(&self, files: &[usize], ranges: &KeyRanges, independent: bool, keeps_rows: bool) -> Vec<SplitGroup> {
        let facts = FileFacts::new(self.entries);
        if facts.raw_bucket(files, independent) {
            return facts.raw(self.matching(files), self.mode.weights);
        }
        let files = if independent { self.matching(files) } else { files.to_vec() };
        let mut sections = ranges.sections(&files);
        sections.retain(|section| {
            let alone = matches!(section.runs.as_slice(), [run] if run.len() == 1);
            let mut files = section.runs.iter().flatten();
            !(alone || keeps_rows) || files.any(|file| self.may_match(*file))
        });
        facts.merged(sections, self.mode.weights)
    }

    /// A bucket of an append table, or changes, which are not merged.
    fn unmerged(&self, files: &[usize]) -> Vec<SplitGroup> {
        let facts = FileFacts::new(self.entries);
        let (files, weights) = (self.matching(files), self.mode.weights);
        match self.mode.kind {
            TableKind::DataEvolution => facts.by_row_id(&files, weights),
            TableKind::Append { ordered } if !ordered && self.selection == Selection::Live => facts.raw(files, weights),
            TableKind::Append { .. } => facts.raw_by_sequence(files, weights),
            TableKind::PrimaryKey { .. } => {
                let groups = facts.raw_by_sequence(files, weights).into_iter();
                groups.map(|group| SplitGroup { raw_convertible: false, ..group }).collect()
            }
        }
    }

    /// The files that are kept, those of a bucket together.
    fn by_bucket(&self) -> Vec<usize> {
        let mut kept = self.kept.clone();
        kept.sort_by_key(|file| self.bucket(*file));
        kept
    }

    fn bucket(&self, file: usize) -> (usize, i32) {
        (self.partitions.of(file), self.entries.buckets().value(file))
    }

    fn matching(&self, files: &[usize]) -> Vec<usize> {
        files.iter().copied().filter(|file| self.may_match(*file)).collect()
    }

    fn may_match(&self, file: usize) -> bool {
        self.rows.get(file).copied().unwrap_or(true)
    }
}
