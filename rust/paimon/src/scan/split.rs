//! Divides the files of a bucket into splits (documentation: "Primary Key Table", "Data Evolution").
//!
//! | files of a bucket | splits |
//! |---|---|
//! | append table | consecutive files by sequence number, packed; raw |
//! | primary key, all files above level 0, no deletes, one level or no common live keys | files, packed; raw |
//! | primary key, otherwise | complete sections, packed; raw if a section is one file without deletes |
//! | data evolution | files of overlapping row ids together, packed |
//!
//! The files of a raw split are read one after another. Other splits are merged by key, or joined by row id.

use std::ops::Range;

use arrow_array::{Array, Int32Array, Int64Array};

use super::pack::{self, Weights};
use crate::merge::section::Section;
use crate::spec::manifest::ManifestEntries;

/// A split: files of a bucket, as positions in the list of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitGroup {
    /// The files.
    pub files: Vec<usize>,
    /// See [`DataSplit::raw_convertible`](crate::context::split::DataSplit::raw_convertible).
    pub raw_convertible: bool,
}

/// The properties of files that splitting depends on, with one value for each file.
#[derive(Debug, Clone, Copy)]
pub struct FileFacts<'a> {
    /// The lengths of the files.
    pub sizes_bytes: &'a Int64Array,
    /// The levels of the files.
    pub levels: &'a Int32Array,
    /// The number of rows that delete; NULL if unknown.
    pub delete_row_counts: &'a Int64Array,
    /// The minimum sequence numbers.
    pub min_sequence_numbers: &'a Int64Array,
    /// The maximum sequence numbers.
    pub max_sequence_numbers: &'a Int64Array,
    /// The numbers of rows.
    pub row_counts: &'a Int64Array,
    /// The row ids of the first rows; NULL without row tracking.
    pub first_row_ids: &'a Int64Array,
}

impl<'a> FileFacts<'a> {
    /// Collects the properties of manifest entries.
    pub fn new(entries: &'a ManifestEntries) -> Self {
        Self {
            sizes_bytes: entries.file_sizes(),
            levels: entries.levels(),
            delete_row_counts: entries.delete_row_counts(),
            min_sequence_numbers: entries.min_sequence_numbers(),
            max_sequence_numbers: entries.max_sequence_numbers(),
            row_counts: entries.row_counts(),
            first_row_ids: entries.first_row_ids(),
        }
    }

    /// Returns whether every file is above level 0, no file is known to have deletes, and all files are on one level.
    /// Different levels are allowed if `independent` is true: levels then have no live keys in common.
    pub fn raw_bucket(&self, files: &[usize], independent: bool) -> bool {
        let level = |file: usize| if file < self.levels.len() { self.levels.value(file) } else { 0 };
        let clean = files.iter().all(|file| level(*file) != 0 && self.without_deletes(*file));
        clean && (independent || files.windows(2).all(|pair| matches!(pair, [a, b] if level(*a) == level(*b))))
    }

    /// Returns the splits, as ranges, of files of a bucket whose rows need no merge: those of an append table, or those
    /// for which [`FileFacts::raw_bucket`] is true.
    pub fn raw(&self, files: &[usize], weights: Weights) -> Vec<Range<usize>> {
        pack::ranges(files, weights, |file| self.size(*file))
    }

    /// Sorts files in the order in which their rows were written.
    pub fn sort_by_sequence(&self, files: &mut [usize]) {
        let sequence = |file: usize| value(self.min_sequence_numbers, file).unwrap_or(i64::MIN);
        files.sort_by_key(|file| sequence(*file));
    }

    /// Packs sections into splits, in order. A split is raw if all of its sections are single files without deletes.
    pub fn merged(&self, sections: Vec<Section>, weights: Weights) -> Vec<SplitGroup> {
        let sections = sections.into_iter().map(|section| section.runs.concat()).collect();
        let packs = pack::in_order(sections, weights, |files: &Vec<usize>| self.size_of(files));
        let group = |files: Vec<usize>| {
            let raw_convertible = matches!(files.as_slice(), [only] if self.without_deletes(*only));
            SplitGroup { files, raw_convertible }
        };
        packs.into_iter().map(|pack| group(pack.concat())).collect()
    }

    /// Returns the splits of files that hold columns of the same rows. Files of overlapping row ids are in one split,
    /// sorted by first row id and then newest first. Files without row ids are separate.
    pub fn by_row_id(&self, files: &[usize], weights: Weights) -> Vec<SplitGroup> {
        let packs = pack::in_order(self.row_id_groups(files), weights, |files| self.size_of(files));
        let group = |pack: Vec<Vec<usize>>| {
            let raw_convertible = pack.iter().all(|files| files.len() == 1);
            SplitGroup { files: pack.concat(), raw_convertible }
        };
        packs.into_iter().map(group).collect()
    }

    /// Groups files of overlapping row ids, in the order of row ids; see [`FileFacts::by_row_id`].
    pub fn row_id_groups(&self, files: &[usize]) -> Vec<Vec<usize>> {
        let first = |file: usize| value(self.first_row_ids, file);
        let newest = |file: usize| std::cmp::Reverse(value(self.max_sequence_numbers, file));
        let mut files = files.to_vec();
        files.sort_by_key(|file| (first(*file), newest(*file)));
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut end = None;
        for file in files {
            let start = first(file);
            let file_end = start.map(|start| start.saturating_add(value(self.row_counts, file).unwrap_or(0)));
            let overlaps = start.zip(end).is_some_and(|(start, end)| start < end);
            match groups.last_mut().filter(|_| overlaps) {
                Some(group) => group.push(file),
                None => groups.push(vec![file]),
            }
            end = if overlaps { end.max(file_end) } else { file_end };
        }
        groups
    }

    /// Returns whether a file has no rows that delete, or does not record their number.
    pub fn without_deletes(&self, file: usize) -> bool {
        value(self.delete_row_counts, file).is_none_or(|count| count == 0)
    }

    fn size(&self, file: usize) -> u64 {
        value(self.sizes_bytes, file).and_then(|size| u64::try_from(size).ok()).unwrap_or(0)
    }

    fn size_of(&self, files: &[usize]) -> u64 {
        files.iter().fold(0, |sum, file| sum.saturating_add(self.size(*file)))
    }
}

fn value(array: &Int64Array, file: usize) -> Option<i64> {
    (file < array.len() && array.is_valid(file)).then(|| array.value(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    struct Files {
        sizes: Int64Array,
        levels: Int32Array,
        deletes: Int64Array,
        sequences: Int64Array,
        rows: Int64Array,
        first: Int64Array,
    }

    impl Files {
        fn new(levels: &[i32], deletes: &[Option<i64>]) -> Self {
            let count = levels.len();
            Self {
                sizes: Int64Array::from_value(1 << 20, count),
                levels: levels.to_vec().into(),
                deletes: deletes.iter().copied().collect(),
                sequences: (0..).take(count).map(Some).collect(),
                rows: Int64Array::from_value(10, count),
                first: Int64Array::new_null(count),
            }
        }

        fn facts(&self) -> FileFacts<'_> {
            FileFacts {
                sizes_bytes: &self.sizes,
                levels: &self.levels,
                delete_row_counts: &self.deletes,
                min_sequence_numbers: &self.sequences,
                max_sequence_numbers: &self.sequences,
                row_counts: &self.rows,
                first_row_ids: &self.first,
            }
        }
    }

    fn weights(target_mb: u64) -> Weights {
        Weights { target_bytes: target_mb * MB, open_cost_bytes: MB }
    }

    #[test]
    fn a_bucket_is_raw_without_level_0_without_deletes_and_on_one_level() {
        let raw = |levels: &[i32], deletes: &[Option<i64>], independent| {
            let all: Vec<usize> = (0..levels.len()).collect();
            Files::new(levels, deletes).facts().raw_bucket(&all, independent)
        };
        assert!(raw(&[5, 5], &[Some(0), Some(0)], false));
        assert!(raw(&[5, 5], &[None, Some(0)], false), "unknown deletes count as none");
        assert!(!raw(&[5, 5], &[Some(0), Some(1)], false));
        assert!(!raw(&[4, 5], &[Some(0), Some(0)], false));
        assert!(raw(&[4, 5], &[Some(0), Some(0)], true));
        assert!(!raw(&[0, 5], &[Some(0), Some(0)], true));
        assert!(!raw(&[0], &[Some(0)], false));
    }

    #[test]
    fn sections_are_packed_whole_and_one_clean_file_is_raw() {
        let files = Files::new(&[0, 0, 5, 5], &[Some(0), Some(1), None, Some(2)]);
        let section = |files: &[usize]| Section { runs: files.iter().map(|file| vec![*file]).collect() };
        let sections = || vec![section(&[0]), section(&[1, 2]), section(&[3])];
        let group = |files: &[usize], raw_convertible| SplitGroup { files: files.to_vec(), raw_convertible };
        assert_eq!(
            files.facts().merged(sections(), weights(2)),
            [group(&[0], true), group(&[1, 2], false), group(&[3], false)]
        );
        assert_eq!(files.facts().merged(sections(), weights(3)), [group(&[0, 1, 2], false), group(&[3], false)]);
    }

    #[test]
    fn append_files_follow_their_sequence_numbers() {
        let files = Files::new(&[0; 4], &[None; 4]);
        let mut written = [3, 1, 0, 2];
        files.facts().sort_by_sequence(&mut written);
        assert_eq!(written, [0, 1, 2, 3]);
        assert_eq!(files.facts().raw(&written, weights(3)), [0..3, 3..4]);
    }

    #[test]
    fn files_of_the_same_rows_stay_together_the_newest_first() {
        let mut files = Files::new(&[0; 6], &[None; 6]);
        files.first = [Some(10), Some(0), Some(0), Some(10), None, Some(5)].into_iter().collect();
        files.rows = [10, 10, 5, 10, 10, 5].to_vec().into();
        assert_eq!(files.facts().row_id_groups(&[0, 1, 2, 3, 4, 5]), [vec![4], vec![2, 1, 5], vec![3, 0]]);
        let groups = files.facts().by_row_id(&[0, 1, 2, 3, 4, 5], weights(4));
        assert_eq!(
            groups,
            [
                SplitGroup { files: vec![4, 2, 1, 5], raw_convertible: false },
                SplitGroup { files: vec![3, 0], raw_convertible: false }
            ]
        );
    }
}
