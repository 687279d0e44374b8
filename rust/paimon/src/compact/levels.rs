//! Sorts the files of a bucket into the levels of an LSM tree (documentation: "LSM Trees"), like Java's `Levels`.
//!
//! ```text
//! level 0   [f7] [f6] [f4]     one run per file, youngest first
//! level 1   [f1 f5]            one run; keys ascend from file to file
//! level 2                      empty
//! level 3   [f0 f2 f3]         the oldest records
//! ```

use std::collections::BTreeMap;

use frazil_core::error::{Error, ErrorKind, Result};

use crate::merge::section::KeyRanges;
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::types::DataType;

/// The sorted runs of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Levels {
    runs: Vec<Run>,
    count: i32,
}

/// A sorted run: files whose keys do not overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The level of the run.
    pub level: i32,
    /// Positions in the list of files, in key order; never empty.
    pub files: Vec<usize>,
    /// The total length of the files.
    pub size_bytes: i64,
}

impl Levels {
    /// Sorts the files of a bucket into runs. There are at least `least_levels` levels; `key_types` are the types of
    /// the key columns.
    ///
    /// # Errors
    /// * `InvalidArgument` for fewer than two levels.
    /// * `CorruptManifest` for a negative level or length, keys that do not decode, files of one level with overlapping
    ///   keys, and files of level 0 that are recorded twice.
    pub fn try_new(files: &[DataFileMeta], key_types: &[DataType], least_levels: i32) -> Result<Self> {
        let mut by_level: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
        for (at, file) in files.iter().enumerate() {
            if file.level < 0 {
                return Err(corrupt(file, format_args!("the negative level {}", file.level)));
            }
            if file.file_size_bytes < 0 {
                return Err(corrupt(file, format_args!("the negative length {}", file.file_size_bytes)));
            }
            by_level.entry(file.level).or_default().push(at);
        }
        let highest = by_level.last_key_value().map_or(-1, |(level, _)| *level);
        let count = least_levels.max(highest.saturating_add(1));
        if count < 2 {
            return Err(Error::invalid(format!("a table with a primary key needs at least 2 levels, not {count}"))
                .hint("raise the option `num-levels`"));
        }
        let keys = KeyRanges::of_files(files, key_types)?;
        let mut runs = Vec::new();
        for (level, mut members) in by_level {
            if level > 0 {
                if let Some((file, next)) = keys.sort_run(&mut members) {
                    let names = [file, next].map(|at| files.get(at).map_or("", |file| file.file_name.as_str()));
                    let text =
                        format!("the files `{}` and `{}` of level {level} have overlapping keys", names[0], names[1]);
                    return Err(Error::new(ErrorKind::CorruptManifest, text));
                }
                runs.push(Run::try_new(level, members, files)?);
            } else {
                for file in level_0(files, members)? {
                    runs.push(Run::try_new(0, vec![file], files)?);
                }
            }
        }
        Ok(Self { runs, count })
    }

    /// Returns the runs, newest first: the files of level 0, then one run for each level that has files.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Returns the number of levels, including level 0 and empty levels; at least 2.
    pub fn count(&self) -> i32 {
        self.count
    }

    /// Returns the level of the oldest records.
    pub fn max_level(&self) -> i32 {
        self.count.saturating_sub(1)
    }

    /// Returns the highest level that has files, or None if no level has any.
    pub fn highest_level(&self) -> Option<i32> {
        self.runs.last().map(|run| run.level)
    }

    /// Returns whether a merge into a level may drop rows that delete, because no older record is outside the merge.
    pub fn drops_deletes(&self, output_level: i32) -> bool {
        output_level != 0 && self.highest_level().is_none_or(|highest| output_level >= highest)
    }
}

impl Run {
    fn try_new(level: i32, members: Vec<usize>, files: &[DataFileMeta]) -> Result<Self> {
        let mut sizes = members.iter().filter_map(|at| files.get(*at)).map(|file| file.file_size_bytes);
        let size_bytes = sizes.try_fold(0_i64, i64::checked_add).ok_or_else(|| {
            Error::new(ErrorKind::CorruptManifest, format!("the files of level {level} exceed 2^63 bytes"))
        })?;
        Ok(Self { level, files: members, size_bytes })
    }
}

/// Returns the files of level 0, newest first: by maximum sequence number descending, then by minimum sequence number,
/// creation time and name ascending.
fn level_0(files: &[DataFileMeta], mut members: Vec<usize>) -> Result<Vec<usize>> {
    let of = |at: &usize| {
        // Java compares names by UTF-16 code units.
        let file = files.get(*at)?;
        let name: Vec<u16> = file.file_name.encode_utf16().collect();
        Some((std::cmp::Reverse(file.max_sequence_number), file.min_sequence_number, file.creation_time_ms, name))
    };
    members.sort_by_cached_key(of);
    let mut pairs = members.iter().zip(members.iter().skip(1));
    match pairs.find(|(file, next)| of(file) == of(next)).and_then(|(file, _)| files.get(*file)) {
        Some(file) => Err(corrupt(file, format_args!("two entries"))),
        None => Ok(members),
    }
}

fn corrupt(file: &DataFileMeta, what: std::fmt::Arguments<'_>) -> Error {
    Error::new(ErrorKind::CorruptManifest, format!("the file `{}` has {what}", file.file_name))
}
