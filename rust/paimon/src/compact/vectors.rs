//! Maintains the deletion vectors of buckets: those of replaced or deleted rows are added, and those of rewritten files
//! removed (Java's `BucketedDvMaintainer`).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use frazil_core::bitmap::Positions;
use frazil_core::error::{Error, Result};

use crate::context::split::DataSplit;
use crate::deletion_vector::{self, VectorFile};
use crate::merge::Trace;
use crate::spec::data_file_meta::{DataFileMeta, DeletionFile};
use crate::spec::index_manifest::{DELETION_VECTORS, IndexEntry};
use crate::spec::options::Options;
use crate::table::Table;
use crate::write::change::{BucketChange, Home, Increment};
use crate::write::index_files::{IndexFiles, has_one_vector_file};
use crate::write::side_files::SideFiles;

/// The deletion vectors of a bucket.
#[derive(Debug)]
pub(super) struct BucketVectors {
    table: Table,
    home: Home,
    /// The index files of the bucket.
    existing: Vec<IndexEntry>,
    /// Whether the bucket has one index file. Otherwise it has several, and those without changes are kept.
    has_one_file: bool,
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
            has_one_file: has_one_vector_file(table.schema(), options)?,
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

    /// Marks rows of a data file as deleted.
    fn mark_rows(&mut self, data_file: &str, positions: &Positions) {
        self.marked.entry(data_file.to_string()).or_default().union_with(positions);
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
        let mut all = std::mem::take(&mut self.marked);
        let is_changed = |entry: &IndexEntry| {
            let mut files = entry.deletion_ranges.iter().map(|range| range.data_file.as_str());
            files.any(|file| rewritten.contains(file) || all.contains_key(file))
        };
        let mut replaced: Vec<IndexEntry> = self.existing.iter().filter(|entry| is_changed(entry)).cloned().collect();
        if all.is_empty() && replaced.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        if self.has_one_file {
            replaced.clone_from(&self.existing);
        }
        for entry in &replaced {
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
        Ok((replaced, added))
    }
}

/// The deletion vectors of the buckets whose rows an operation changes (Java's `AppendDeleteFileMaintainer`).
#[derive(Debug)]
pub struct RowVectors {
    table: Table,
    options: Options,
    /// The index files of the snapshot.
    indexes: Vec<IndexEntry>,
    snapshot: Option<i64>,
    buckets: BTreeMap<Home, ChangedBucket>,
    side_files: SideFiles,
}

#[derive(Debug)]
struct ChangedBucket {
    vectors: BucketVectors,
    /// The data files that no longer exist.
    removed: HashSet<String>,
    total_buckets: i32,
}

impl RowVectors {
    /// Creates the state of an operation. `indexes` are the index files of the snapshot.
    pub(super) fn new(table: &Table, options: &Options, indexes: Vec<IndexEntry>, snapshot: Option<i64>) -> Self {
        Self {
            side_files: SideFiles::new(table.files()),
            table: table.clone(),
            options: options.clone(),
            indexes,
            snapshot,
            buckets: BTreeMap::new(),
        }
    }

    /// Marks rows of the file of a split as deleted.
    ///
    /// # Errors
    /// As for [`BucketVectors::try_new`].
    pub(super) fn mark(&mut self, split: &DataSplit, positions: &Positions) -> Result<()> {
        let bucket = self.bucket(split)?;
        for file in &split.files {
            bucket.vectors.mark_rows(&file.file_name, positions);
        }
        Ok(())
    }

    /// Removes the vector of the file of a split, which no longer exists.
    ///
    /// # Errors
    /// As for [`BucketVectors::try_new`].
    pub(super) fn remove(&mut self, split: &DataSplit) -> Result<()> {
        let names = split.files.iter().map(|file| file.file_name.clone());
        self.bucket(split)?.removed.extend(names);
        Ok(())
    }

    fn bucket(&mut self, split: &DataSplit) -> Result<&mut ChangedBucket> {
        let home = Home { partition: split.partition.clone().into(), bucket: split.bucket };
        match self.buckets.entry(home) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                let vectors = BucketVectors::try_new(&self.table, &self.options, new.key(), &self.indexes)?;
                Ok(new.insert(ChangedBucket { vectors, removed: HashSet::new(), total_buckets: split.total_buckets }))
            }
        }
    }

    /// Writes the vectors, and returns the changes of the buckets for a commit.
    ///
    /// # Errors
    /// As for [`BucketVectors::finish`]; `Storage` if a file cannot be written.
    pub fn changes(&mut self) -> Result<Vec<BucketChange>> {
        let mut changes = Vec::new();
        for (home, bucket) in &mut self.buckets {
            let removed: HashSet<&str> = bucket.removed.iter().map(String::as_str).collect();
            let put = |location: &str, content| self.side_files.put(location, content);
            let (index_removed, index_added) = bucket.vectors.finish(&removed, put)?;
            if index_removed.is_empty() && index_added.is_empty() {
                continue;
            }
            changes.push(BucketChange {
                home: home.clone(),
                total_buckets: bucket.total_buckets,
                base_snapshot: self.snapshot,
                upper_files: None,
                append: Increment { index_removed, index_added, ..Increment::empty()? },
                compact: Increment::empty()?,
            });
        }
        Ok(changes)
    }

    /// Deletes the files that were written. Files that cannot be deleted remain as orphan files.
    pub fn abort(&mut self) {
        self.side_files.delete();
    }
}
