//! Which files a snapshot removes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{Array, BooleanArray};
use frazil_core::error::Result;

use crate::files::Removals;
use crate::scan::partition::partition_keys;
use crate::spec::manifest_entries::{Entries, file_long, file_text};
use crate::spec::manifest_list::{ManifestContent, ManifestFile};
use crate::spec::types::StructType;

impl Removals {
    /// Which of the live entries of a manifest go.
    pub(super) fn gone(&self, live: &Entries, spec_id: i32, partition: &Arc<StructType>) -> Result<BooleanArray> {
        if self.all {
            return Ok(BooleanArray::from(vec![true; live.len()]));
        }
        let files = live.data_files()?;
        let (paths, referenced) = (live.paths()?, file_text(files, "referenced_data_file")?);
        let offsets = file_long(files, "content_offset")?;
        let replaced = match &self.partitions {
            Some((replaced, keys)) if *replaced == spec_id => Some((partition_keys(files, partition)?, keys)),
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

/// The files that go on a walk through manifests: those that were not met yet.
pub(super) struct Sought<'a> {
    removals: &'a Removals,
    found: HashSet<&'a str>,
    /// How many data files of each spec are still to be met.
    left: HashMap<i32, usize>,
}

impl<'a> Sought<'a> {
    pub(super) fn new(removals: &'a Removals) -> Self {
        let mut left = HashMap::new();
        removals.data_files.values().for_each(|file| *left.entry(file.spec_id).or_default() += 1);
        Self { removals, found: HashSet::new(), left }
    }

    /// Whether a manifest may hold one of them.
    pub(super) fn may_be_in(&self, manifest: &ManifestFile) -> bool {
        let removals = self.removals;
        if removals.all || (manifest.content == ManifestContent::Deletes && !removals.is_empty()) {
            return true;
        }
        let spec_id = manifest.partition_spec_id;
        removals.partitions.as_ref().is_some_and(|(replaced, _)| *replaced == spec_id)
            || self.left.get(&spec_id).is_some_and(|&left| left > 0)
    }

    /// A data file was met.
    pub(super) fn found(&mut self, path: &str) {
        let Some((path, file)) = self.removals.data_files.get_key_value(path) else { return };
        if self.found.insert(path)
            && let Some(left) = self.left.get_mut(&file.spec_id)
        {
            *left -= 1;
        }
    }

    /// A data file that was not met.
    pub(super) fn missing(&self) -> Option<&'a str> {
        if self.left.values().all(|&left| left == 0) {
            return None;
        }
        self.removals.data_files.keys().map(String::as_str).find(|path| !self.found.contains(path))
    }
}
