//! Determines the files that a snapshot removes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{Array, BooleanArray};
use frazil_core::error::{Error, ErrorKind, Result};

use crate::files::{Removals, ReplacedPartitions};
use crate::scan::partition::PartitionTuples;
use crate::spec::manifest::FileContent;
use crate::spec::manifest_entries::{Entries, file_int, file_long, file_partitions, file_text};
use crate::spec::manifest_list::{ManifestContent, ManifestFile};
use crate::spec::partition::{PartitionField, PartitionSpec};
use crate::spec::transform::Transform;
use crate::spec::types::StructType;

impl Removals {
    /// Returns a mask of the live entries of a manifest: true for the entries that the snapshot removes.
    ///
    /// # Errors
    /// `CommitValidation` for a data file of another spec that may have both rows of replaced partitions and other
    /// rows.
    pub(super) fn gone(
        &self,
        live: &Entries,
        spec: &PartitionSpec,
        partition: &Arc<StructType>,
    ) -> Result<BooleanArray> {
        if self.all {
            return Ok(BooleanArray::from(vec![true; live.len()]));
        }
        let files = live.data_files()?;
        let (paths, referenced) = (live.paths()?, file_text(files, "referenced_data_file")?);
        let offsets = file_long(files, "content_offset")?;
        let replaced = self.partitions.as_ref().map(|partitions| partitions.in_files(live, spec, partition));
        let replaced = replaced.transpose()?;
        let gone = |row: usize| -> bool {
            let path = paths.value(row);
            if replaced.as_ref().is_some_and(|replaced| replaced.value(row)) {
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

impl ReplacedPartitions {
    /// Returns a mask of the files of a manifest whose rows are all in the replaced partitions.
    ///
    /// Tuples of another spec are compared by the fields that both specs have.
    fn in_files(&self, live: &Entries, spec: &PartitionSpec, partition: &Arc<StructType>) -> Result<BooleanArray> {
        let shared = SharedFields::of(&self.spec, spec);
        let mut wanted: HashSet<Vec<u8>> = HashSet::new();
        for tuples in &self.tuples {
            let keys = tuples.select(&shared.new).keys()?;
            wanted.extend((0..tuples.len()).map(|row| keys.row(row).to_vec()));
        }
        let files = live.data_files()?;
        let keys = PartitionTuples::of_rows(file_partitions(files)?, partition)?.select(&shared.old).keys()?;
        let found: BooleanArray = (0..live.len()).map(|row| Some(wanted.contains(keys.row(row)))).collect();
        if shared.is_whole {
            return Ok(found);
        }
        let contents = file_int(files, "content")?;
        let is_data = |row: usize| !contents.is_valid(row) || contents.value(row) == FileContent::Data.code();
        match (0..live.len()).find(|&row| found.value(row) && is_data(row)) {
            None => Ok(BooleanArray::from(vec![false; live.len()])),
            Some(row) => {
                let message = format!(
                    "a data file of partition spec {} may have rows of the replaced partitions, which have the spec \
                        {}, and other rows",
                    spec.spec_id, self.spec.spec_id
                );
                Err(Error::new(ErrorKind::CommitValidation, message)
                    .with("file", live.paths()?.value(row))
                    .hint("overwrite by a filter, or first compact the table into its current partition spec"))
            }
        }
    }
}

/// The partition fields that two specs share: those with the same source columns and transform.
struct SharedFields {
    /// The positions of the shared fields in the new spec.
    new: Vec<usize>,
    /// The positions of the shared fields in the old spec.
    old: Vec<usize>,
    /// Whether the old spec has all fields of the new spec, so that all rows of a file are in one partition of the new
    /// spec.
    is_whole: bool,
}

impl SharedFields {
    fn of(new: &PartitionSpec, old: &PartitionSpec) -> Self {
        let mut shared = Self { new: Vec::new(), old: Vec::new(), is_whole: true };
        let fields = new.fields.iter().enumerate().filter(|(_, field)| field.transform != Transform::Void);
        for (position, field) in fields {
            let is_same =
                |other: &PartitionField| other.source_ids == field.source_ids && other.transform == field.transform;
            match old.fields.iter().position(is_same) {
                Some(same) => {
                    shared.new.push(position);
                    shared.old.push(same);
                }
                None => shared.is_whole = false,
            }
        }
        shared
    }
}

/// The removed files that have not yet been found while manifests are searched.
pub(super) struct Sought<'a> {
    removals: &'a Removals,
    found: HashSet<&'a str>,
    /// The number of data files of each spec that are still to be found.
    left: HashMap<i32, usize>,
}

impl<'a> Sought<'a> {
    pub(super) fn new(removals: &'a Removals) -> Self {
        let mut left = HashMap::new();
        removals.data_files.values().for_each(|file| *left.entry(file.spec_id).or_default() += 1);
        Self { removals, found: HashSet::new(), left }
    }

    /// Returns whether a manifest may contain a removed file that has not been found yet.
    pub(super) fn may_be_in(&self, manifest: &ManifestFile) -> bool {
        let removals = self.removals;
        if removals.all || (manifest.content == ManifestContent::Deletes && !removals.is_empty()) {
            return true;
        }
        let spec_id = manifest.partition_spec_id;
        removals.partitions.is_some() || self.left.get(&spec_id).is_some_and(|&left| left > 0)
    }

    /// Records that a data file was found.
    pub(super) fn found(&mut self, path: &str) {
        let Some((path, file)) = self.removals.data_files.get_key_value(path) else { return };
        if self.found.insert(path)
            && let Some(left) = self.left.get_mut(&file.spec_id)
        {
            *left -= 1;
        }
    }

    /// Returns a removed data file that was not found; None if all of them were found.
    pub(super) fn missing(&self) -> Option<&'a str> {
        if self.left.values().all(|&left| left == 0) {
            return None;
        }
        self.removals.data_files.keys().map(String::as_str).find(|path| !self.found.contains(path))
    }
}
