//! Which files a snapshot removes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray};
use frazil_core::error::Result;

use super::entries::{Entries, file_long, file_text};
use crate::scan::partition::PartitionTuples;
use crate::spec::types::StructType;

/// The files that go.
#[derive(Debug, Clone, Default)]
pub struct Removals {
    /// All of them.
    pub all: bool,
    /// Data files by their path, and the manifest that they were found in. Deletes that are for one of them alone go
    /// with it.
    pub data_files: HashMap<String, RemovedFile>,
    /// Delete files by their path and, for deletion vectors, where they begin.
    pub delete_files: HashSet<(String, Option<i64>)>,
    /// All files of these partitions of a spec: the keys of [`PartitionTuples::keys`].
    pub partitions: Option<(i32, HashSet<Vec<u8>>)>,
}

/// Where a data file that goes was found.
#[derive(Debug, Clone)]
pub struct RemovedFile {
    /// Its spec.
    pub spec_id: i32,
    /// Its manifest, if that is known.
    pub manifest: Option<Arc<str>>,
}

impl Removals {
    /// Whether nothing goes.
    pub fn is_empty(&self) -> bool {
        !self.all && self.data_files.is_empty() && self.delete_files.is_empty() && self.partitions.is_none()
    }

    /// Whether data files go that are not known by their path.
    pub(super) fn is_open(&self) -> bool {
        self.all || self.partitions.is_some()
    }

    /// Which of the live entries of a manifest go.
    pub(super) fn gone(&self, live: &Entries, spec_id: i32, partition: &Arc<StructType>) -> Result<BooleanArray> {
        if self.all {
            return Ok(BooleanArray::from(vec![true; live.len()]));
        }
        let files = live.data_files()?;
        let (paths, referenced) = (live.paths()?, file_text(files, "referenced_data_file")?);
        let offsets = file_long(files, "content_offset")?;
        let replaced = match &self.partitions {
            Some((replaced, keys)) if *replaced == spec_id => {
                let tuples = files.column_by_name("partition").and_then(|tuples| tuples.as_struct_opt());
                let tuples = tuples.map(|tuples| PartitionTuples::of_rows(tuples, partition)).transpose()?;
                tuples.map(|tuples| tuples.keys()).transpose()?.map(|own| (own, keys))
            }
            _ => None,
        };
        let gone = |row: usize| -> bool {
            let path = paths.value(row);
            if replaced.as_ref().is_some_and(|(own, keys)| keys.contains(own.row(row))) {
                return true;
            }
            if self.data_files.contains_key(path)
                || (referenced.is_valid(row) && self.data_files.contains_key(referenced.value(row)))
            {
                return true;
            }
            let offset = offsets.is_valid(row).then(|| offsets.value(row));
            !self.delete_files.is_empty() && self.delete_files.contains(&(path.to_string(), offset))
        };
        Ok((0..live.len()).map(|row| Some(gone(row))).collect())
    }
}
