//! Maintains the deletion vectors of a bucket: those of replaced records are added, and those of rewritten files removed
//! (Java's `BucketedDvMaintainer`).

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use frazil_core::bitmap::Positions;
use frazil_core::error::{Error, Result};

use crate::deletion_vector::{self, VectorFile};
use crate::merge::Trace;
use crate::spec::data_file_meta::{DataFileMeta, DeletionFile};
use crate::spec::index_manifest::{DELETION_VECTORS, IndexEntry};
use crate::spec::options::Options;
use crate::table::Table;
use crate::write::change::Home;
use crate::write::index_files::IndexFiles;

/// The deletion vectors of a bucket.
#[derive(Debug)]
pub(super) struct BucketVectors {
    table: Table,
    home: Home,
    /// The index files of the bucket, which one new file replaces.
    existing: Vec<IndexEntry>,
    index_files: IndexFiles,
    is_wide: bool,
    /// The newly deleted rows by data file.
    marked: BTreeMap<String, Positions>,
}

impl BucketVectors {
    /// Creates the state of a bucket. `indexes` are the index files of the snapshot.
    ///
    /// # Errors
    /// As for [`IndexFiles::try_new`]; `InvalidArgument` for an option that does not parse.
    pub(super) fn try_new(table: &Table, options: &Options, home: &Home, indexes: &[IndexEntry]) -> Result<Self> {
        let is_here = |entry: &&IndexEntry| {
            entry.index_type == DELETION_VECTORS && entry.bucket == home.bucket && *entry.partition == *home.partition
        };
        Ok(Self {
            table: table.clone(),
            home: home.clone(),
            existing: indexes.iter().filter(is_here).cloned().collect(),
            index_files: IndexFiles::try_new(table, None)?,
            is_wide: options.boolean("deletion-vectors.bitmap64", false)?,
            marked: BTreeMap::new(),
        })
    }

    /// Marks the records of `files` that were looked up as deleted.
    ///
    /// # Errors
    /// `Internal` for a file that was not read.
    pub(super) fn mark(&mut self, files: &[DataFileMeta], trace: &Trace) -> Result<()> {
        let mut found: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        let places = trace.file.iter().zip(trace.position.iter());
        for (file, position) in places.filter_map(|(file, position)| file.zip(position)) {
            found.entry(file).or_default().push(position);
        }
        for (file, positions) in found {
            let file = usize::try_from(file).ok().and_then(|file| files.get(file));
            let file = file.ok_or_else(|| Error::internal("a record of an unknown file was looked up"))?;
            self.marked.entry(file.file_name.clone()).or_default().insert_all(&positions)?;
        }
        Ok(())
    }

    /// Returns the index files to remove and to add; empty if no vector changes. `rewritten` are the data files that no
    /// longer exist. `put` writes a file.
    ///
    /// # Errors
    /// `CorruptDeletes` for an existing vector that does not decode; the errors of `put`.
    pub(super) fn finish(
        &mut self,
        rewritten: &HashSet<&str>,
        put: impl FnOnce(&str, Bytes) -> Result<()>,
    ) -> Result<(Vec<IndexEntry>, Vec<IndexEntry>)> {
        let mut known = self.existing.iter().flat_map(|entry| &entry.deletion_ranges);
        if self.marked.is_empty() && !known.any(|range| rewritten.contains(range.data_file.as_str())) {
            return Ok((Vec::new(), Vec::new()));
        }
        let mut all = std::mem::take(&mut self.marked);
        for entry in &self.existing {
            let path = self.table.index_location(entry)?;
            for range in entry.deletion_ranges.iter().filter(|range| !rewritten.contains(range.data_file.as_str())) {
                let file = DeletionFile {
                    path: path.clone(),
                    offset: range.offset.into(),
                    length: range.length.into(),
                    cardinality: range.cardinality,
                };
                let deleted = deletion_vector::read(self.table.files(), &file)?;
                all.entry(range.data_file.clone()).or_default().union_with(&deleted);
            }
        }
        let mut vectors = VectorFile::new(self.is_wide);
        for (data_file, deleted) in &all {
            vectors.push(data_file, deleted)?;
        }
        let added =
            if all.is_empty() { Vec::new() } else { vec![self.index_files.of_vectors(&self.home, vectors, put)?] };
        Ok((self.existing.clone(), added))
    }
}
