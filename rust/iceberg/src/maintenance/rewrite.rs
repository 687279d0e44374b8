//! Selects and groups data files for compaction, following the rules of Java's `rewrite_data_files`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::Array;
use frazil_core::context::Context;
use frazil_core::error::Result;

use crate::scan::delete_index::{DeleteFile, DeleteIndex};
use crate::scan::plan::{Plan, PlannedFiles};
use crate::spec::manifest::FileContent;

/// The rules by which a data file or a group of files is selected for rewriting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RewriteRules {
    /// The target length of new files.
    pub target_file_bytes: i64,
    /// The length below which a file is rewritten.
    pub min_file_bytes: i64,
    /// The length above which a file is rewritten.
    pub max_file_bytes: i64,
    /// The number of files from which a group is rewritten regardless of its total length.
    pub min_input_files: usize,
    /// The number of delete files from which a file is rewritten.
    pub delete_file_threshold: usize,
    /// The share of deleted rows from which a file is rewritten. Only deletes that apply to the file alone are counted.
    pub delete_ratio_threshold: f64,
    /// The maximum number of bytes in a group.
    pub max_group_bytes: i64,
    /// Whether all files are rewritten.
    pub rewrite_all: bool,
}

/// A group of data files that are rewritten together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileGroup {
    /// The positions of the files in the plan.
    pub places: Vec<usize>,
    /// Whether the files have a different spec than the new files, and may belong to any partition of the new spec. If
    /// false, all files are in one partition.
    pub changes_spec: bool,
    /// The total size of the files in bytes.
    pub input_bytes: i64,
    /// The number of delete files that apply to the files. A delete file that applies to several files is counted once
    /// for each.
    pub delete_files: usize,
    /// The expected number of new files.
    pub output_files: i64,
    /// The length at which a new file is closed.
    pub output_file_bytes: i64,
}

/// A data file that is considered for rewriting.
struct Candidate {
    place: usize,
    bytes: i64,
    delete_files: usize,
    /// Whether the number of delete files or the share of deleted rows is reason enough to rewrite the file.
    has_many_deletes: bool,
}

/// Groups the files of a plan that should be rewritten: those in one partition of `spec_id` together, and those of all
/// other specs together. Groups are in the order of the plan.
///
/// # Errors
/// `CorruptManifest` for a manifest that does not record the lengths of its files.
pub fn file_groups(plan: &Plan, rules: &RewriteRules, spec_id: i32, context: &Context) -> Result<Vec<FileGroup>> {
    let mut partitions: HashMap<Option<Box<[u8]>>, usize> = HashMap::new();
    let mut members: Vec<(bool, Vec<Candidate>)> = Vec::new();
    let mut start = 0;
    for files in plan.files() {
        context.check()?;
        let changes_spec = files.partition().spec.spec_id != spec_id;
        let keys = if changes_spec { None } else { Some(files.tuples().keys()?) };
        for (row, candidate) in candidates(files, plan.deletes(), rules, start)?.into_iter().enumerate() {
            let worth_it = rules.rewrite_all
                || candidate.has_many_deletes
                || !(rules.min_file_bytes..=rules.max_file_bytes).contains(&candidate.bytes);
            if worth_it {
                let next = members.len();
                let index = *partitions.entry(keys.as_ref().map(|keys| keys.row(row).into())).or_insert(next);
                if index == next {
                    members.push((changes_spec, Vec::new()));
                }
                if let Some((_, files)) = members.get_mut(index) {
                    files.push(candidate);
                }
            }
        }
        start += files.entries().len();
    }
    let groups = members.into_iter().flat_map(|(changes_spec, files)| {
        let groups = packed(files, rules.max_group_bytes).into_iter();
        groups.filter(|group| rules.should_rewrite(group)).map(move |group| rules.group(&group, changes_spec))
    });
    Ok(groups.collect())
}

fn candidates(
    files: &PlannedFiles,
    deletes: &DeleteIndex,
    rules: &RewriteRules,
    start: usize,
) -> Result<Vec<Candidate>> {
    let (sizes, counts) = (files.entries().file_sizes()?, files.entries().record_counts()?);
    let candidate = |row: usize| {
        let own: Vec<&DeleteFile> = deletes_of(files, deletes, row).collect();
        let known: i64 = own.iter().filter(|one| is_for_one_file(one)).map(|one| one.record_count).sum();
        let rows = counts.values().get(row).copied().unwrap_or(0);
        let deleted = known.min(rows);
        #[expect(clippy::cast_precision_loss, reason = "a ratio")]
        let ratio = if rows > 0 { deleted as f64 / rows as f64 } else { 0.0 };
        Candidate {
            place: start + row,
            bytes: sizes.values().get(row).copied().unwrap_or(0),
            delete_files: own.len(),
            has_many_deletes: !own.is_empty()
                && (own.len() >= rules.delete_file_threshold || ratio >= rules.delete_ratio_threshold),
        }
    };
    Ok((0..files.entries().len()).map(candidate).collect())
}

fn deletes_of<'a>(
    files: &'a PlannedFiles,
    deletes: &'a DeleteIndex,
    row: usize,
) -> impl Iterator<Item = &'a DeleteFile> {
    let numbers = files.deletes().row(row).iter();
    numbers.filter_map(|&number| deletes.files().get(usize::try_from(number).ok()?))
}

fn is_for_one_file(deletes: &DeleteFile) -> bool {
    deletes.content == FileContent::PositionDeletes && deletes.referenced_data_file.is_some()
}

/// Packs files, in order, into bins of at most `most_bytes` bytes; a longer file gets a separate bin.
fn packed(files: Vec<Candidate>, most_bytes: i64) -> Vec<Vec<Candidate>> {
    let mut bins: Vec<Vec<Candidate>> = Vec::new();
    let mut bytes = 0_i64;
    for file in files {
        match bins.last_mut() {
            Some(bin) if bytes.saturating_add(file.bytes) <= most_bytes => {
                bytes += file.bytes;
                bin.push(file);
            }
            _ => {
                bytes = file.bytes;
                bins.push(vec![file]);
            }
        }
    }
    bins
}

impl RewriteRules {
    fn should_rewrite(&self, group: &[Candidate]) -> bool {
        let (count, bytes) = (group.len(), input_bytes(group));
        self.rewrite_all
            || (count > 1 && (count >= self.min_input_files || bytes > self.target_file_bytes))
            || bytes > self.max_file_bytes
            || group.iter().any(|file| file.has_many_deletes)
    }

    fn group(&self, files: &[Candidate], changes_spec: bool) -> FileGroup {
        let input_bytes = input_bytes(files);
        let output_files = self.output_files(input_bytes);
        FileGroup {
            places: files.iter().map(|file| file.place).collect(),
            changes_spec,
            input_bytes,
            delete_files: files.iter().map(|file| file.delete_files).sum(),
            output_files,
            output_file_bytes: self.output_file_bytes(input_bytes, output_files),
        }
    }

    /// Returns the expected number of output files. The remainder gets a separate file if it is long enough, or if it
    /// would otherwise make the other files more than a tenth longer.
    fn output_files(&self, bytes: i64) -> i64 {
        let target = self.target_file_bytes.max(1);
        let (full, rest) = (bytes / target, bytes % target);
        if full == 0 {
            return 1;
        }
        let most = (target.saturating_add(target / 10)).min(self.most_file_bytes());
        let has_own_file = rest > self.min_file_bytes || (rest > 0 && bytes / full >= most);
        if has_own_file { full + 1 } else { full }
    }

    /// Returns the length at which an output file is closed. Rewritten rows may need more bytes than before, so the
    /// length has a margin: otherwise a short file would be left at the end.
    fn output_file_bytes(&self, bytes: i64, files: i64) -> i64 {
        if files == 1 {
            return self.most_file_bytes();
        }
        let share = bytes / files.max(1);
        share.saturating_add(share / 20).clamp(self.target_file_bytes, self.most_file_bytes())
    }

    /// Returns the midpoint between the target length and the length above which files are rewritten.
    fn most_file_bytes(&self) -> i64 {
        self.target_file_bytes.midpoint(self.max_file_bytes.max(self.target_file_bytes))
    }
}

fn input_bytes(files: &[Candidate]) -> i64 {
    files.iter().fold(0, |sum: i64, file| sum.saturating_add(file.bytes))
}

/// Returns, for each group of data files of `planned`, whether `newer` still has all files of the group with the same
/// deletes and row ids. `newer` is a later plan with the same filter. If `passed_over` is true, equality deletes that
/// were added since are ignored: they also apply to new files with the sequence number of `planned`.
///
/// # Errors
/// `InvalidArgument` for positions that `planned` does not have.
pub fn unchanged(planned: &Plan, newer: &Plan, groups: &[&[usize]], passed_over: bool) -> Result<Vec<bool>> {
    let mut tasks = HashMap::new();
    for &place in groups.iter().copied().flatten() {
        let task = planned.task(place)?;
        tasks.insert(task.file.path.to_string(), (place, task.deletes, task.file.first_row_id));
    }
    let mut same = HashSet::new();
    for files in newer.files() {
        let row_ids = files.entries().first_row_ids()?;
        for (row, path) in files.entries().paths()?.iter().enumerate() {
            let Some((place, before, first_row_id)) = path.and_then(|path| tasks.get(path)) else { continue };
            // The first commit after an upgrade to v3 assigns ids to rows that had none.
            if row_ids.filter(|ids| ids.is_valid(row)).map(|ids| ids.value(row)) != *first_row_id {
                continue;
            }
            let known: HashSet<_> = before.iter().map(identity).collect();
            let now: Vec<&DeleteFile> = deletes_of(files, newer.deletes(), row).collect();
            let added = now.iter().filter(|one| !known.contains(&identity(one)));
            let kept = now.iter().filter(|one| known.contains(&identity(one))).count();
            let mut matters = added.filter(|one| !passed_over || one.content != FileContent::EqualityDeletes);
            if kept == known.len() && matters.next().is_none() {
                same.insert(*place);
            }
        }
    }
    Ok(groups.iter().map(|places| places.iter().all(|place| same.contains(place))).collect())
}

/// Returns the values that identify a delete file.
fn identity(deletes: &DeleteFile) -> (Arc<str>, Option<i64>) {
    (deletes.path.clone(), deletes.content_range.map(|(offset, _)| offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: RewriteRules = RewriteRules {
        target_file_bytes: 100,
        min_file_bytes: 75,
        max_file_bytes: 180,
        min_input_files: 5,
        delete_file_threshold: usize::MAX,
        delete_ratio_threshold: 0.3,
        max_group_bytes: 1_000,
        rewrite_all: false,
    };

    fn files(bytes: &[i64]) -> Vec<Candidate> {
        let file = |(place, &bytes)| Candidate { place, bytes, delete_files: 0, has_many_deletes: false };
        bytes.iter().enumerate().map(file).collect()
    }

    #[test]
    fn groups_qualify_by_file_count_or_size() {
        for (bytes, expected) in [
            (&[1, 1, 1, 1, 1][..], true),
            (&[1, 1, 1, 1], false),
            (&[60, 60], true),
            (&[50, 50], false),
            (&[181], true),
            (&[180], false),
        ] {
            assert_eq!(RULES.should_rewrite(&files(bytes)), expected, "{bytes:?}");
        }
        assert!(RewriteRules { min_input_files: 1, ..RULES }.should_rewrite(&files(&[181])));
        assert!(!RewriteRules { min_input_files: 1, ..RULES }.should_rewrite(&files(&[1])), "one file stays one file");
        assert!(RewriteRules { rewrite_all: true, ..RULES }.should_rewrite(&files(&[1])));
    }

    #[test]
    fn bins_keep_the_order_and_do_not_overflow() {
        let places = |bytes: &[i64]| -> Vec<Vec<usize>> {
            let bins = packed(files(bytes), 10).into_iter();
            bins.map(|bin| bin.into_iter().map(|file| file.place).collect()).collect()
        };
        assert_eq!(places(&[4, 6, 1, 20, 3]), [vec![0, 1], vec![2], vec![3], vec![4]]);
        assert_eq!(places(&[i64::MAX, i64::MAX]), [vec![0], vec![1]]);
        assert!(places(&[]).is_empty());
    }

    #[test]
    fn remainder_gets_its_own_file_or_is_distributed() {
        for (bytes, expected) in [(0, 1), (99, 1), (100, 1), (109, 1), (130, 2), (180, 2), (1_050, 10), (1_080, 11)] {
            assert_eq!(RULES.output_files(bytes), expected, "{bytes}");
        }
        assert_eq!(RULES.output_file_bytes(99, 1), 140, "one file is not split for being a little long");
        assert_eq!(RULES.output_file_bytes(1_050, 10), 110);
    }
}
