//! Defines splits: files of one bucket that are read together.

use frazil_core::error::Result;

use crate::merge::section::{KeyRanges, Section};
use crate::spec::data_file_meta::{DataFileMeta, DeletionFile};
use crate::spec::types::DataType;

/// Files of one bucket that are read together.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSplit {
    /// The snapshot that was planned.
    pub snapshot_id: i64,
    /// The partition as a serialized `BinaryRow` with its arity.
    pub partition: Vec<u8>,
    /// The number of the bucket.
    pub bucket: i32,
    /// The number of buckets of the partition when the first of the files was written; -1 if the bucket of a row does
    /// not depend on that number.
    pub total_buckets: i32,
    /// The folder of the files without an external path, relative to the table.
    pub bucket_path: String,
    /// The files: in no particular order for merges, and by first row id and then newest first for data evolution.
    pub files: Vec<DataFileMeta>,
    /// The deletion vector of each file; empty if no file has one.
    pub deletion_files: Vec<Option<DeletionFile>>,
    /// Whether no two files have rows of the same key, and no file has rows that delete.
    pub raw_convertible: bool,
    /// Whether the rows are changes: they are never merged and keep their row kinds.
    pub streaming: bool,
}

impl DataSplit {
    /// Returns the sections of a split that must be merged. Runs hold positions in [`DataSplit::files`]. `types` are
    /// those of the trimmed primary key.
    ///
    /// # Errors
    /// As for [`KeyRanges::try_new`].
    pub fn sections(&self, types: &[DataType]) -> Result<Vec<Section>> {
        let all: Vec<usize> = (0..self.files.len()).collect();
        Ok(KeyRanges::of_files(&self.files, types)?.sections(&all))
    }

    /// Returns the recorded location of one of the files.
    pub fn file_path(&self, table_location: &str, file: &DataFileMeta) -> String {
        match &file.external_path {
            Some(path) => path.clone(),
            None => format!("{table_location}/{}/{}", self.bucket_path, file.file_name),
        }
    }

    /// Returns this split with the files of another split of the same bucket added.
    #[must_use]
    pub fn joined(mut self, mut other: Self) -> Self {
        if !(self.deletion_files.is_empty() && other.deletion_files.is_empty()) {
            self.deletion_files.resize(self.files.len(), None);
            other.deletion_files.resize(other.files.len(), None);
        }
        self.files.append(&mut other.files);
        self.deletion_files.append(&mut other.deletion_files);
        self.raw_convertible &= other.raw_convertible;
        self
    }

    /// Returns the total length of the files.
    pub fn size_bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(u64::try_from(file.file_size_bytes).unwrap_or(0)))
    }
}
