//! Divides live files into splits: prunes files by bucket, key and value, and divides each bucket.
//!
//! A file of a primary-key table may always be pruned by keys. It may be pruned by values only if that cannot make an
//! older row of a key visible. This holds in two cases. First, its rows have no key in common with another file of the
//! bucket. Second, no row of its section may match, and merged rows are always rows that were written.

use arrow_buffer::BooleanBuffer;
use frazil_core::context::Context;
use frazil_core::error::Result;
use frazil_core::sql::predicate::BoundPredicate;

use super::judged::may_be_in_bucket;
use super::metrics::ScanMetrics;
use super::mode::{ReadMode, TableKind};
use super::partitions::Partitions;
use super::plan::{Packed, Selection};
use super::prune::{EntryStats, FileVerdicts, may_match_index};
use super::split::FileFacts;
use crate::context::ReadContext;
use crate::merge::section::KeyRanges;
use crate::spec::manifest::ManifestEntries;

/// The live files and the results of pruning.
pub(super) struct Divider<'a> {
    read: &'a ReadContext,
    entries: &'a ManifestEntries,
    partitions: &'a Partitions,
    mode: ReadMode,
    selection: Selection,
    /// Whether each file may hold matching rows before merging.
    rows: Vec<bool>,
    /// The files that may hold keys of matching rows.
    kept: Vec<usize>,
}

impl<'a> Divider<'a> {
    /// Creates a divider of all of these files.
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

    /// Prunes files by the filter.
    pub(super) fn prune(&mut self, verdicts: Option<&FileVerdicts>, metrics: &mut ScanMetrics) -> Result<()> {
        if self.read.filter == BoundPredicate::True || self.entries.is_empty() {
            return Ok(());
        }
        let Some(verdicts) = verdicts else {
            let buckets = may_be_in_bucket(self.entries, self.read)?;
            self.keep_buckets(&buckets, metrics);
            return match self.mode.kind {
                TableKind::DataEvolution => self.prune_evolved(),
                TableKind::Append { .. } | TableKind::PrimaryKey { .. } => Ok(()),
            };
        };
        self.keep_buckets(&verdicts.buckets, metrics);
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

    fn keep_buckets(&mut self, buckets: &BooleanBuffer, metrics: &mut ScanMetrics) {
        let before = self.kept.len();
        self.kept.retain(|file| buckets.value(*file));
        metrics.files_skipped_by_bucket += before - self.kept.len();
    }

    /// Prunes files that hold columns of the same rows together: either all files of a group are kept or none.
    fn prune_evolved(&mut self) -> Result<()> {
        let stats = EntryStats::try_new(self.read, self.entries, self.partitions)?;
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

    /// Returns the splits, bucket by bucket.
    pub(super) fn splits(&self, context: &Context) -> Result<Packed> {
        let kept = self.by_bucket();
        let mut splits = Packed::default();
        let ranges = match self.mode.kind {
            TableKind::PrimaryKey { independent, keeps_rows } if self.selection == Selection::Live => {
                let keys = self.ranges()?;
                Some((keys, independent, keeps_rows))
            }
            _ => None,
        };
        for files in kept.chunk_by(|a, b| self.bucket(*a) == self.bucket(*b)) {
            context.check()?;
            match &ranges {
                Some((ranges, independent, keeps_rows)) => {
                    self.merge(files, ranges, (*independent, *keeps_rows), &mut splits);
                }
                None => self.pass(files, &mut splits),
            }
        }
        Ok(splits)
    }

    fn ranges(&self) -> Result<KeyRanges> {
        KeyRanges::try_new(self.entries.min_keys(), self.entries.max_keys(), &self.read.key_types())
    }

    /// Divides a bucket of a primary-key table.
    fn merge(&self, files: &[usize], ranges: &KeyRanges, (independent, keeps_rows): (bool, bool), splits: &mut Packed) {
        let facts = FileFacts::new(self.entries);
        if facts.raw_bucket(files, independent) {
            let files = self.matching(files);
            return splits.push_ranges(&files, facts.raw(&files, self.mode.weights), true);
        }
        let files = if independent { self.matching(files) } else { files.to_vec() };
        let mut sections = ranges.sections(&files);
        sections.retain(|section| {
            let alone = matches!(section.runs.as_slice(), [run] if run.len() == 1);
            let mut files = section.runs.iter().flatten();
            !(alone || keeps_rows) || files.any(|file| self.may_match(*file))
        });
        splits.extend(&facts.merged(sections, self.mode.weights));
    }

    /// Divides a bucket of an append table, or of changes, which are not merged.
    fn pass(&self, files: &[usize], splits: &mut Packed) {
        let facts = FileFacts::new(self.entries);
        let (mut files, weights) = (self.matching(files), self.mode.weights);
        let raw = match self.mode.kind {
            TableKind::DataEvolution => return splits.extend(&facts.by_row_id(&files, weights)),
            TableKind::Append { ordered: false } if self.selection == Selection::Live => true,
            TableKind::Append { .. } => {
                facts.sort_by_sequence(&mut files);
                true
            }
            TableKind::PrimaryKey { .. } => {
                facts.sort_by_sequence(&mut files);
                false
            }
        };
        splits.push_ranges(&files, facts.raw(&files, weights), raw);
    }

    /// Returns the kept files, grouped by bucket.
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
