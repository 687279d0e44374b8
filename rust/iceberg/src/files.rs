//! Files that an operation adds, removes, or deletes rows of: the values that writers pass to a snapshot change.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::StructArray;

use crate::scan::partition::PartitionTuples;
use crate::spec::partition::PartitionSpec;

/// The new files of one partition spec: rows of `data_file` in the form of
/// [`manifest_rows`](crate::spec::manifest_rows).
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
    /// The data files to remove, by path, with the manifest in which each was found. A delete file that applies only to
    /// one of them is removed with it.
    pub data_files: HashMap<String, RemovedFile>,
    /// The delete files to remove, by path and, for deletion vectors, their offset.
    pub delete_files: HashSet<(String, Option<i64>)>,
    /// The partitions of which all files are removed.
    pub partitions: Option<ReplacedPartitions>,
}

/// The partitions of a spec whose rows are replaced, including rows in files of other specs.
#[derive(Debug, Clone)]
pub struct ReplacedPartitions {
    /// The spec.
    pub spec: Arc<PartitionSpec>,
    /// The partitions, in several parts.
    pub tuples: Vec<PartitionTuples>,
}

/// The manifest and the spec of a removed data file.
#[derive(Debug, Clone)]
pub struct RemovedFile {
    /// The spec of the file.
    pub spec_id: i32,
    /// The manifest of the file, if known.
    pub manifest: Option<Arc<str>>,
}

impl Removals {
    /// Returns whether nothing is removed.
    pub fn is_empty(&self) -> bool {
        !self.all && self.data_files.is_empty() && self.delete_files.is_empty() && self.partitions.is_none()
    }
}

/// The data files from which rows are deleted.
#[derive(Debug, Clone, Default)]
pub struct TouchedFiles {
    /// The data files that stay and get deletes.
    pub staying: HashSet<String>,
    /// The specs and partition keys ([`PartitionTuples::keys`](crate::scan::partition::PartitionTuples::keys)) of all
    /// these files.
    pub partitions: HashSet<(i32, Vec<u8>)>,
}
