//! Defines the metadata of a data file in a manifest (spec: "Manifest", `_FILE`).

use std::cmp::{Ordering, Reverse};

/// The metadata of one data file. Lengths, counts and levels are as recorded; the file itself is not read.
#[derive(Debug, Clone, PartialEq)]
pub struct DataFileMeta {
    /// The name in the folder of its bucket.
    pub file_name: String,
    /// The length of the file.
    pub file_size_bytes: i64,
    /// The number of rows, including rows that only delete.
    pub row_count: i64,
    /// The minimum key as a serialized `BinaryRow` with its arity; without fields in append tables.
    pub min_key: Vec<u8>,
    /// The maximum key.
    pub max_key: Vec<u8>,
    /// The minimum sequence number.
    pub min_sequence_number: i64,
    /// The maximum sequence number.
    pub max_sequence_number: i64,
    /// The schema that the file was written with.
    pub schema_id: i64,
    /// The level of the LSM tree.
    pub level: i32,
    /// The names of index files that belong to the data file, in the same folder.
    pub extra_files: Vec<String>,
    /// The creation time by the wall clock of the writer, in milliseconds.
    pub creation_time_ms: Option<i64>,
    /// The number of rows that delete; unknown in files of old releases.
    pub delete_row_count: Option<i64>,
    /// The file index, if it is small.
    pub embedded_file_index: Option<Vec<u8>>,
    /// The source of the file. 0: written by an append, 1: by a compaction.
    pub file_source: Option<i32>,
    /// The columns with value statistics; None for all.
    pub value_stats_cols: Option<Vec<String>>,
    /// The location, if it is not in the folder of the bucket.
    pub external_path: Option<String>,
    /// The row id of the first row (row tracking).
    pub first_row_id: Option<i64>,
    /// The columns of the file; None for all columns of its schema (data evolution).
    pub write_cols: Option<Vec<String>>,
}

impl DataFileMeta {
    /// Compares the ages of two files of a bucket: the older file is `Less`.
    ///
    /// The result does not depend on the other files of the bucket. Files are compared by level (the highest level is
    /// the oldest), maximum and minimum sequence number, creation time and name.
    pub(crate) fn compare_age(&self, other: &Self) -> Ordering {
        let age = |file: &Self| {
            (Reverse(file.level), file.max_sequence_number, file.min_sequence_number, file.creation_time_ms)
        };
        age(self).cmp(&age(other)).then_with(|| self.file_name.cmp(&other.file_name))
    }
}

/// The location of the deletion vector of a data file (spec: "Table Index", `_DELETIONS_VECTORS_RANGES`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletionFile {
    /// The recorded location of the index file.
    pub path: String,
    /// The offset of the vector's length field in the file.
    pub offset: i64,
    /// The recorded length. The bytes that it includes depend on the version of the vector.
    pub length: i64,
    /// The number of deleted rows; None in old releases.
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
