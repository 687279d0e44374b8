//! Separates the files of a merge into those that are rewritten and those that only change their level (Java's
//! `MergeTreeCompactTask`).
//!
//! ```text
//! keys       0 ........ 10 ........ 20 ........ 30 ........ 40
//! unit       [small a]   [ large b ]   [ large c ]
//!                                          [ d ]     [small e]
//! rewritten  a           c and d, e
//! upgraded   b
//! ```
//!
//! Files with overlapping keys are merged. Of the remaining files, small ones are rewritten together with the files
//! that follow them, and large ones are kept.

use frazil_core::error::Result;

use super::pick::Unit;
use crate::merge::section::KeyRanges;
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::options::Options;
use crate::write::file::FileSpec;

/// The rules that decide whether a file is rewritten or upgraded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Upgrades {
    /// The length below which a file is small.
    small_bytes: i64,
    /// Whether the option `compaction.force-rewrite-all-files` is set.
    pub(super) rewrites_all: bool,
}

/// The result for the files of a unit, as positions in the list of files. Files in neither list are already in the
/// right level.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Files that are rewritten together.
    pub(super) rewritten: Vec<Vec<usize>>,
    /// Files that only change their level.
    pub(super) upgraded: Vec<usize>,
}

/// Files that wait for further files.
#[derive(Debug, Default)]
struct WaitingUpgrade {
    files: Vec<usize>,
    sections: usize,
    /// Whether the files have overlapping keys.
    is_merge: bool,
}

impl Upgrades {
    pub(super) fn try_new(options: &Options) -> Result<Self> {
        let target = FileSpec::from_options(options, Some(0))?.target_bytes;
        Ok(Self {
            small_bytes: i64::try_from(target).unwrap_or(i64::MAX) / 10 * 7,
            rewrites_all: options.boolean("compaction.force-rewrite-all-files", false)?,
        })
    }

    /// Splits the files of a unit, whose keys are `keys`, into rewritten and upgraded files. Files for which
    /// `must_rewrite` is true are not upgraded.
    pub(super) fn split(
        self,
        unit: &Unit,
        (files, keys): (&[DataFileMeta], &KeyRanges),
        max_level: i32,
        must_rewrite: &dyn Fn(usize) -> bool,
    ) -> Work {
        let mut work = Work::default();
        if unit.rewrites {
            work.rewritten.extend(unit.files.iter().map(|file| vec![*file]));
            return work;
        }
        let place = |work: &mut Work, at: usize| {
            let Some(file) = files.get(at) else { return };
            let may_delete = unit.output_level == max_level && file.delete_row_count.is_none_or(|count| count > 0);
            if may_delete || self.rewrites_all || must_rewrite(at) {
                work.rewritten.push(vec![at]);
            } else if file.level != unit.output_level {
                work.upgraded.push(at);
            }
        };
        let flush = |work: &mut Work, waiting: &mut WaitingUpgrade| {
            let WaitingUpgrade { files, sections, is_merge } = std::mem::take(waiting);
            if sections == 1 && !is_merge {
                for at in files {
                    place(work, at);
                }
            } else if !files.is_empty() {
                work.rewritten.push(files);
            }
        };
        let mut waiting = WaitingUpgrade::default();
        for section in keys.sections(&unit.files) {
            let is_merge = section.runs.len() > 1;
            for at in section.runs.into_iter().flatten() {
                let is_small = files.get(at).is_some_and(|file| file.file_size_bytes < self.small_bytes);
                if is_merge || is_small {
                    waiting.files.push(at);
                    waiting.sections += usize::from(!is_merge);
                } else {
                    flush(&mut work, &mut waiting);
                    place(&mut work, at);
                }
            }
            waiting.sections += usize::from(is_merge);
            waiting.is_merge |= is_merge;
        }
        flush(&mut work, &mut waiting);
        work
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array};

    use super::*;
    use crate::binary_row;
    use crate::spec::testing::new_file;
    use crate::spec::types::{DataType, TypeRoot};

    fn int_row(key: i32) -> Vec<u8> {
        let column: ArrayRef = Arc::new(Int32Array::from(vec![key]));
        let types = [DataType::required(TypeRoot::Int)];
        let rows = binary_row::with_arity(&binary_row::encode(&[column], &types).unwrap(), 1).unwrap();
        rows.value(0).to_vec()
    }

    /// Splits files, each (first key, last key, level, length, deletes).
    fn split(of: &[(i32, i32, i32, i64, i64)], rewrites_all: bool) -> Work {
        split_expired(of, rewrites_all, &[])
    }

    fn split_expired(of: &[(i32, i32, i32, i64, i64)], rewrites_all: bool, expired: &[usize]) -> Work {
        let file = |(first, last, level, size, deletes): &(i32, i32, i32, i64, i64)| {
            let [min_key, max_key] = [*first, *last].map(int_row);
            let delete_row_count = Some(*deletes);
            DataFileMeta {
                min_key,
                max_key,
                level: *level,
                file_size_bytes: *size,
                delete_row_count,
                ..new_file("a", 1).meta
            }
        };
        let files: Vec<DataFileMeta> = of.iter().map(file).collect();
        let keys = KeyRanges::of_files(&files, &[DataType::required(TypeRoot::Int)]).unwrap();
        let unit = Unit { output_level: 5, files: (0..files.len()).collect(), rewrites: false };
        Upgrades { small_bytes: 10, rewrites_all }.split(&unit, (&files, &keys), 5, &|file| expired.contains(&file))
    }

    fn work(rewritten: &[&[usize]], upgraded: &[usize]) -> Work {
        Work { rewritten: rewritten.iter().map(|files| files.to_vec()).collect(), upgraded: upgraded.to_vec() }
    }

    #[test]
    fn large_files_that_share_no_key_only_change_their_level() {
        let (small, large) = (5, 50);
        // The example in the module documentation.
        let drawn = [
            (0, 5, 0, small, 0),
            (10, 15, 0, large, 0),
            (20, 30, 0, large, 0),
            (25, 32, 0, large, 0),
            (40, 45, 0, small, 0),
        ];
        assert_eq!(split(&drawn, false), work(&[&[2, 3, 4]], &[0, 1]));
        assert_eq!(split(&[(0, 5, 0, small, 0)], false), work(&[], &[0]));
        assert_eq!(split(&[(0, 5, 0, small, 0), (6, 9, 0, small, 0)], false), work(&[&[0, 1]], &[]));
        assert_eq!(split(&[(0, 5, 5, large, 0), (6, 9, 0, large, 0)], false), work(&[], &[1]));
    }

    #[test]
    fn the_highest_level_has_no_deletes() {
        assert_eq!(split(&[(0, 5, 0, 50, 1), (6, 9, 0, 50, 0)], false), work(&[&[0]], &[1]));
        assert_eq!(split(&[(0, 5, 0, 50, 0), (6, 9, 5, 50, 0)], true), work(&[&[0], &[1]], &[]));
        let files = [(0, 5, 0, 50, 0), (6, 9, 0, 50, 0)];
        assert_eq!(split_expired(&files, false, &[1]), work(&[&[1]], &[0]));
    }
}
