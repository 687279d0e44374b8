//! Reads the manifests of a snapshot, and the files that are live in it.

use std::collections::BTreeSet;

use arrow_array::BooleanArray;
use frazil_core::context::Context;
use frazil_core::error::Result;
use frazil_core::parallel;

use super::{PartitionBounds, Table};
use crate::spec::manifest::{self, ManifestEntries, WantedFields};
use crate::spec::manifest_list::{self, ManifestFileMeta};
use crate::spec::snapshot::Snapshot;
use crate::spec::types::DataType;

/// The maximum length of a manifest, a manifest list or an index file that is read.
pub(crate) const LIMIT_BYTES: u64 = 2 << 30;

/// The number of threads that decode manifests.
const WORKERS: usize = 4;

impl Table {
    /// Returns the manifests of a snapshot, with those of its base first.
    ///
    /// # Errors
    /// `CorruptManifest` for lists that do not decode.
    pub(crate) fn manifests(&self, snapshot: &Snapshot, context: &Context) -> Result<Vec<ManifestFileMeta>> {
        let mut manifests = Vec::new();
        for name in [&snapshot.base_manifest_list, &snapshot.delta_manifest_list] {
            let path = self.manifest_location(name);
            let read = || manifest_list::read(self.files().read(&path, LIMIT_BYTES)?, context);
            manifests.extend(read().map_err(|error| error.with("file", &path))?);
        }
        Ok(manifests)
    }

    /// Returns the entries of the files that are live in a snapshot: those of `partitions`, or all for None. Partitions
    /// are rows with their arity.
    ///
    /// # Errors
    /// `CorruptManifest` for lists and manifests that do not decode or contradict each other.
    pub(crate) fn live_files(
        &self,
        snapshot: &Snapshot,
        partitions: Option<&BTreeSet<Vec<u8>>>,
        wanted: WantedFields,
        context: &Context,
    ) -> Result<ManifestEntries> {
        let mut manifests = self.manifests(snapshot, context)?;
        if let Some(partitions) = partitions {
            let mut bounds = PartitionBounds::new(&self.partition_types());
            bounds.add(&partitions.iter().map(Some).collect())?;
            manifests.retain(|manifest| bounds.may_be_in(manifest));
        }
        let parts = parallel::map(&manifests, WORKERS, |manifest| {
            context.check()?;
            let path = self.manifest_location(&manifest.file_name);
            let read = || {
                let entries = manifest::read(self.files().read(&path, LIMIT_BYTES)?, wanted, context)?;
                let Some(partitions) = partitions else { return Ok(entries) };
                let is_wanted = |partition: Option<&[u8]>| partition.map(|partition| partitions.contains(partition));
                let kept: BooleanArray = entries.partitions().iter().map(is_wanted).collect();
                entries.filter(&kept)
            };
            read().map_err(|error| error.with("file", &path))
        })?;
        ManifestEntries::concat(&parts)?.live()
    }

    /// Returns the types of the partition columns.
    pub(crate) fn partition_types(&self) -> Vec<DataType> {
        let keys = self.schema().partition_keys.iter();
        keys.filter_map(|key| self.schema().field(key)).map(|field| field.data_type.clone()).collect()
    }
}
