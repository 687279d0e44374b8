//! Partitions the files of a bucket into sections and sorted runs (documentation: "Primary Key Table", "LSM Trees";
//! `IntervalPartition`).
//!
//! ```text
//! keys      0----5----10---15---20---25        section 1: runs [a, c] and [b]
//! files     a----a    c----c    d--d           section 2: run  [d]
//!              b----b
//! ```
//!
//! Sections have no keys in common, so each is merged separately. The files of a run do not overlap either, and are in
//! key order.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_row::{RowConverter, Rows, SortField};
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::floats::one_nan;

use crate::binary_row;
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::types::DataType;

/// The minimum and maximum keys of files in comparable form.
///
/// The order is total: numbers by value with -0.0 below 0.0 and a single NaN above all, strings and bytes by unsigned
/// bytes. Thus two keys compare as equal only if they are the same key.
#[derive(Debug)]
pub struct KeyRanges {
    min: Rows,
    max: Rows,
}

/// Files whose keys may overlap each other, but no keys of other files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The runs of files. Within a run, keys ascend from file to file.
    pub runs: Vec<Vec<usize>>,
}

impl KeyRanges {
    /// Decodes key ranges from manifests; `types` are those of the key columns.
    ///
    /// # Errors
    /// `CorruptManifest` if a key does not decode or has a NULL, or the minimum is above the maximum; `CorruptMetadata`
    /// without key columns.
    pub fn try_new(min: &BinaryArray, max: &BinaryArray, types: &[DataType]) -> Result<Self> {
        if types.is_empty() {
            return Err(Error::new(
                ErrorKind::CorruptMetadata,
                "a primary key has no columns besides the partition keys",
            ));
        }
        let fields: Vec<SortField> = types.iter().map(|data_type| SortField::new(data_type.arrow())).collect();
        let converter = RowConverter::new(fields)?;
        let decode = |rows: &BinaryArray, what: &'static str| {
            keys(&converter, rows, types)
                .map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest).with("key", what).with("keys", rows.len()))
        };
        let ranges = Self { min: decode(min, "_MIN_KEY")?, max: decode(max, "_MAX_KEY")? };
        if (0..ranges.len()).any(|file| ranges.min.row(file) > ranges.max.row(file)) {
            return Err(Error::new(ErrorKind::CorruptManifest, "the minimum key of a file is above its maximum key"));
        }
        Ok(ranges)
    }

    /// Returns the key ranges of files, in file order.
    ///
    /// # Errors
    /// As for [`KeyRanges::try_new`].
    pub fn of_files(files: &[DataFileMeta], types: &[DataType]) -> Result<Self> {
        let min = BinaryArray::from_iter_values(files.iter().map(|file| &file.min_key));
        let max = BinaryArray::from_iter_values(files.iter().map(|file| &file.max_key));
        Self::try_new(&min, &max, types)
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.min.num_rows()
    }

    /// Returns whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the sections of some of the files (numbers below [`KeyRanges::len`]), in key order.
    pub fn sections(&self, files: &[usize]) -> Vec<Section> {
        let mut sorted: Vec<usize> = files.iter().copied().filter(|file| *file < self.len()).collect();
        sorted.sort_by(|a, b| {
            self.min.row(*a).cmp(&self.min.row(*b)).then_with(|| self.max.row(*a).cmp(&self.max.row(*b)))
        });
        let mut sections = Vec::new();
        let mut section: Vec<usize> = Vec::new();
        // The file with the greatest maximum key so far.
        let mut last: Option<usize> = None;
        for file in sorted {
            if last.is_some_and(|last| self.follows(file, last)) {
                sections.push(self.runs(std::mem::take(&mut section)));
                last = None;
            }
            section.push(file);
            if last.is_none_or(|last| self.max.row(file) > self.max.row(last)) {
                last = Some(file);
            }
        }
        if !section.is_empty() {
            sections.push(self.runs(section));
        }
        sections
    }

    /// Sorts files by their minimum keys. Returns two consecutive files that overlap, or None if the files are one
    /// sorted run. Numbers are below [`KeyRanges::len`].
    pub(crate) fn sort_run(&self, files: &mut [usize]) -> Option<(usize, usize)> {
        files.sort_by(|a, b| self.min.row(*a).cmp(&self.min.row(*b)));
        let mut pairs = files.iter().zip(files.iter().skip(1)).map(|(file, next)| (*file, *next));
        pairs.find(|(file, next)| !self.follows(*next, *file))
    }

    /// Returns those of `files` whose keys overlap a file for which `marks` is true, including that file. Numbers are
    /// below [`KeyRanges::len`].
    pub(crate) fn overlapping(&self, files: &[usize], marks: impl Fn(&usize) -> bool) -> Vec<usize> {
        let mut marked: Vec<usize> = files.iter().copied().filter(|file| marks(file)).collect();
        marked.sort_by(|a, b| self.min.row(*a).cmp(&self.min.row(*b)));
        // Ascending ranges that do not overlap: for each, a file with the minimum key and a file with the maximum key.
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for file in marked {
            match ranges.last_mut() {
                Some((_, last)) if !self.follows(file, *last) => {
                    if self.max.row(file) > self.max.row(*last) {
                        *last = file;
                    }
                }
                _ => ranges.push((file, file)),
            }
        }
        let overlaps = |file: &usize| {
            let next = ranges.partition_point(|(_, last)| self.follows(*file, *last));
            ranges.get(next).is_some_and(|(first, _)| !self.follows(*first, *file))
        };
        files.iter().copied().filter(overlaps).collect()
    }

    /// Assigns files to runs in the order of their minimum keys, each time to the run that ends first.
    fn runs(&self, files: Vec<usize>) -> Section {
        let mut runs: Vec<Vec<usize>> = Vec::new();
        let mut ends = BinaryHeap::new();
        for file in files {
            let end = |run: usize| Reverse(SectionEnd { ranges: self, file, run });
            let first = ends.peek().filter(|Reverse(end): &&Reverse<SectionEnd<'_>>| self.follows(file, end.file));
            let run = first.map(|Reverse(end)| end.run);
            if let Some((run, files)) = run.and_then(|run| Some((run, runs.get_mut(run)?))) {
                files.push(file);
                ends.pop();
                ends.push(end(run));
            } else {
                ends.push(end(runs.len()));
                runs.push(vec![file]);
            }
        }
        Section { runs }
    }

    fn follows(&self, file: usize, other: usize) -> bool {
        self.min.row(file) > self.max.row(other)
    }
}

/// The last file of a run, ordered by its maximum key.
struct SectionEnd<'a> {
    ranges: &'a KeyRanges,
    file: usize,
    run: usize,
}

impl Ord for SectionEnd<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |end: &Self| end.ranges.max.row(end.file);
        key(self).cmp(&key(other)).then_with(|| self.run.cmp(&other.run))
    }
}

impl PartialOrd for SectionEnd<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SectionEnd<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SectionEnd<'_> {}

fn keys(converter: &RowConverter, rows: &BinaryArray, types: &[DataType]) -> Result<Rows> {
    let wanted: Vec<usize> = (0..types.len()).collect();
    let columns = binary_row::decode_columns(rows, types, &wanted)?;
    if columns.iter().any(|column| column.null_count() > 0) {
        return Err(Error::corrupt("a column of a key is NULL"));
    }
    let columns: Vec<ArrayRef> = columns.iter().map(one_nan).collect();
    Ok(converter.convert_columns(&columns)?)
}

#[cfg(test)]
#[path = "section_tests.rs"]
mod tests;
