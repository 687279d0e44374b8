//! Files that an operation adds, removes, or deletes rows of: the values that writers pass to a snapshot change.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::StructArray;

use crate::scan::partition::PartitionTuples;
use crate::spec::partition::PartitionSpec;

/// The new files of one partition spec: `data_file` rows in the form of [`manifest_rows`](crate::spec::manifest_rows).
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
    /// a removed data file is removed too.
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
    /// The paths of the data files that stay in the table and from which rows are deleted.
    pub staying: HashSet<String>,
    /// The specs and partition keys ([`PartitionTuples::keys`](crate::scan::partition::PartitionTuples::keys)) of all
    /// data files from which rows are deleted.
    pub partitions: HashSet<(i32, Vec<u8>)>,
}
