//! What a manifest says of one data file (spec: "Manifest", `_FILE`).

use std::cmp::{Ordering, Reverse};

/// One data file. Lengths, counts and levels are as recorded; nothing of the file itself was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct DataFileMeta {
    /// The name within the folder of its bucket.
    pub file_name: String,
    /// Its length.
    pub file_size_bytes: i64,
    /// Rows, those that only delete included.
    pub row_count: i64,
    /// The smallest key as a serialised `BinaryRow` with its arity; without fields in append tables.
    pub min_key: Vec<u8>,
    /// The greatest key.
    pub max_key: Vec<u8>,
    /// The smallest sequence number.
    pub min_sequence_number: i64,
    /// The greatest sequence number.
    pub max_sequence_number: i64,
    /// The schema that it was written with.
    pub schema_id: i64,
    /// The level of the LSM tree.
    pub level: i32,
    /// Files that belong to it, beside it: indexes.
    pub extra_files: Vec<String>,
    /// When it was written by the wall clock of its writer: milliseconds.
    pub creation_time_ms: Option<i64>,
    /// Rows that delete; not known in files of old releases.
    pub delete_row_count: Option<i64>,
    /// The file index, where it is small.
    pub embedded_file_index: Option<Vec<u8>>,
    /// 0: written by an append, 1: by a compaction.
    pub file_source: Option<i32>,
    /// The columns that have value statistics; None for all.
    pub value_stats_cols: Option<Vec<String>>,
    /// Where it lies, when that is not in the folder of its bucket.
    pub external_path: Option<String>,
    /// The row id of its first row (row tracking).
    pub first_row_id: Option<i64>,
    /// The columns that it has; None for all of its schema (data evolution).
    pub write_cols: Option<Vec<String>>,
}

impl DataFileMeta {
    /// Compare the ages of two files of a bucket; the older file is less.
    ///
    /// Two files compare alike whatever other files the bucket has: by level, where the highest is the oldest, by the
    /// greatest and the smallest sequence number, by the time of creation, and by name.
    pub(crate) fn compare_age(&self, other: &Self) -> Ordering {
        let age = |file: &Self| {
            (Reverse(file.level), file.max_sequence_number, file.min_sequence_number, file.creation_time_ms)
        };
        age(self).cmp(&age(other)).then_with(|| self.file_name.cmp(&other.file_name))
    }
}

/// Where the deletion vector of a data file stands (spec: "Table Index", `_DELETIONS_VECTORS_RANGES`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletionFile {
    /// The recorded location of the index file.
    pub path: String,
    /// Where the vector's length stands in it.
    pub offset: i64,
    /// The recorded length; what it counts depends on the version of the vector.
    pub length: i64,
    /// How many rows are deleted; old releases do not say.
    pub cardinality: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::testing::new_file;

    #[test]
    fn an_older_file_is_less() {
        let file = |level, max, min, made, name: &str| DataFileMeta {
            level,
            max_sequence_number: max,
            min_sequence_number: min,
            creation_time_ms: made,
            ..new_file(name, 1).meta
        };
        let ascending = [
            file(5, 90, 80, Some(9), "z"),
            file(4, 10, 0, Some(1), "a"),
            file(0, 10, 0, Some(1), "a"),
            file(0, 20, 0, Some(1), "a"),
            file(0, 20, 1, None, "b"),
            file(0, 20, 1, Some(1), "a"),
            file(0, 20, 1, Some(2), "a"),
            file(0, 20, 1, Some(2), "b"),
        ];
        for (at, older) in ascending.iter().enumerate() {
            assert!(older.compare_age(older).is_eq());
            assert!(ascending.iter().skip(at + 1).all(|newer| older.compare_age(newer).is_lt()));
        }
    }
}
