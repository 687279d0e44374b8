//! Splits: files of one bucket that are read together.

use frazil_core::error::Result;

use crate::merge::section::{KeyRanges, Section};
use crate::spec::data_file_meta::{DataFileMeta, DeletionFile};
use crate::spec::types::DataType;

/// Files of one bucket that are read together.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSplit {
    /// The snapshot that was planned.
    pub snapshot_id: i64,
    /// The partition as a serialised `BinaryRow` with its arity.
    pub partition: Vec<u8>,
    /// The number of the bucket.
    pub bucket: i32,
    /// How many buckets the partition had when the first of the files was written; -1 where that does not say where
    /// rows are.
    pub total_buckets: i32,
    /// The folder of the files that have no external path, relative to the table.
    pub bucket_path: String,
    /// The files: of a merge in no order, of a data evolution by first row id and then the newest first.
    pub files: Vec<DataFileMeta>,
    /// The deletion vector of each file; empty when none has one.
    pub deletion_files: Vec<Option<DeletionFile>>,
    /// Whether no two files have rows of one key, and none has rows that delete.
    pub raw_convertible: bool,
    /// Whether these are changes: never merged, row kinds kept.
    pub streaming: bool,
}

impl DataSplit {
    /// The sections of a split that is to be merged; runs hold positions in [`DataSplit::files`]. `types` are those of
    /// the trimmed primary key.
    ///
    /// # Errors
    /// As [`KeyRanges::try_new`].
    pub fn sections(&self, types: &[DataType]) -> Result<Vec<Section>> {
        let all: Vec<usize> = (0..self.files.len()).collect();
        Ok(KeyRanges::of_files(&self.files, types)?.sections(&all))
    }

    /// The recorded location of one of its files.
    pub fn file_path(&self, table_location: &str, file: &DataFileMeta) -> String {
        match &file.external_path {
            Some(path) => path.clone(),
            None => format!("{table_location}/{}/{}", self.bucket_path, file.file_name),
        }
    }

    /// This split with the files of another one of the same bucket.
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

    /// The lengths of its files together.
    pub fn size_bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(u64::try_from(file.file_size_bytes).unwrap_or(0)))
    }
}
