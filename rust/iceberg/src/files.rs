//! Files that an operation adds, removes, or deletes rows of: the values that writers hand to a snapshot change.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::StructArray;

use crate::scan::partition::PartitionTuples;
use crate::spec::partition::PartitionSpec;

/// New files of one partition spec: rows of `data_file` as [`manifest_rows`](crate::spec::manifest_rows) has them.
#[derive(Debug, Clone)]
pub struct AddedFiles {
    /// The spec of their partition tuples.
    pub spec_id: i32,
    /// The files.
    pub data_files: StructArray,
}

/// The files that a snapshot removes.
#[derive(Debug, Clone, Default)]
pub struct Removals {
    /// Whether all files are removed.
    pub all: bool,
    /// Data files by their path, and the manifest that they were found in. A delete file for one of them
    /// alone is removed with it.
    pub data_files: HashMap<String, RemovedFile>,
    /// Delete files by their path and, for deletion vectors, their offset.
    pub delete_files: HashSet<(String, Option<i64>)>,
    /// All files of these partitions.
    pub partitions: Option<ReplacedPartitions>,
}

/// Partitions of a spec whose rows are replaced, also those in files of other specs.
#[derive(Debug, Clone)]
pub struct ReplacedPartitions {
    /// The spec.
    pub spec: Arc<PartitionSpec>,
    /// The partitions, in parts.
    pub tuples: Vec<PartitionTuples>,
}

/// Where a removed data file was found.
#[derive(Debug, Clone)]
pub struct RemovedFile {
    /// Its spec.
    pub spec_id: i32,
    /// Its manifest, if that is known.
    pub manifest: Option<Arc<str>>,
}

impl Removals {
    /// Return whether nothing is removed.
    pub fn is_empty(&self) -> bool {
        !self.all && self.data_files.is_empty() && self.delete_files.is_empty() && self.partitions.is_none()
    }
}

/// Data files that lose rows.
#[derive(Debug, Clone, Default)]
pub struct TouchedFiles {
    /// Data files that stay and get deletes.
    pub staying: HashSet<String>,
    /// The specs and partition keys ([`PartitionTuples::keys`](crate::scan::partition::PartitionTuples::keys)) of all.
    pub partitions: HashSet<(i32, Vec<u8>)>,
}
