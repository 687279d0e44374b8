//! Chooses the dynamic buckets of new rows, and writes the indexes that later writers find them by.
//!
//! The index of a bucket lists the hashes of its keys. It is replaced as a whole when keys are added.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::{Int32Array, UInt32Array};
use frazil_core::error::{Error, Result};

use super::assign::{BucketLimits, KeyBuckets};
use super::change::Home;
use super::restore::Restorer;
use super::row_placement::Part;
use crate::spec::index_manifest::IndexEntry;
use crate::spec::options::Options;

/// The buckets of the keys of all partitions that have new rows.
#[derive(Debug)]
pub(crate) struct DynamicBuckets {
    limits: BucketLimits,
    partitions: HashMap<Arc<[u8]>, PartitionKeys>,
}

#[derive(Debug)]
struct PartitionKeys {
    buckets: KeyBuckets,
    /// The existing index of each bucket.
    indexes: BTreeMap<i32, IndexEntry>,
}

/// The index of a bucket with new keys.
#[derive(Debug)]
pub(crate) struct NewIndex {
    /// The hashes of all keys of the bucket.
    pub(crate) hashes: Vec<i32>,
    /// The index that it replaces.
    pub(crate) replaced: Option<IndexEntry>,
}

impl DynamicBuckets {
    /// Creates the state for a table with these options.
    ///
    /// # Errors
    /// As for [`BucketLimits::from_options`].
    pub(crate) fn try_new(options: &Options) -> Result<Self> {
        Ok(Self { limits: BucketLimits::from_options(options)?, partitions: HashMap::new() })
    }

    /// Splits rows of a partition by bucket, in order of first occurrence. `hashes` are those of all rows of the batch;
    /// `restorer` reads the existing indexes, and is None if the rows replace those of the partition.
    ///
    /// # Errors
    /// `LimitExceeded` if the partition cannot have another bucket; the errors of damaged or missing indexes.
    pub(crate) fn split(
        &mut self,
        part: Part,
        hashes: &Int32Array,
        restorer: Option<&mut Restorer>,
    ) -> Result<Vec<Part>> {
        let partition = part.home.partition;
        let known = match self.partitions.entry(partition.clone()) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => {
                new.insert(PartitionKeys::try_new(self.limits, &partition, restorer)?)
            }
        };
        let mut places: HashMap<i32, usize> = HashMap::new();
        let mut found: Vec<(i32, Vec<u32>)> = Vec::new();
        for row in part.rows.values() {
            let hash = usize::try_from(*row).ok().and_then(|row| hashes.values().get(row));
            let bucket = known.buckets.assign(*hash.ok_or_else(|| Error::internal("a row has no hash"))?)?;
            let place = *places.entry(bucket).or_insert_with(|| {
                found.push((bucket, Vec::new()));
                found.len() - 1
            });
            if let Some((_, rows)) = found.get_mut(place) {
                rows.push(*row);
            }
        }
        let part = |(bucket, rows): (i32, Vec<u32>)| Part {
            home: Home { partition: partition.clone(), bucket },
            rows: UInt32Array::from(rows),
        };
        Ok(found.into_iter().map(part).collect())
    }

    /// Returns the index of a bucket with all of its keys, or None if no keys were added since the last call.
    ///
    /// # Errors
    /// As for [`Restorer::key_hashes`].
    pub(crate) fn new_index(&mut self, home: &Home, restorer: Option<&Restorer>) -> Result<Option<NewIndex>> {
        let Some(known) = self.partitions.get_mut(&home.partition) else { return Ok(None) };
        let added = known.buckets.take_added(home.bucket);
        if added.is_empty() {
            return Ok(None);
        }
        let replaced = known.indexes.get(&home.bucket).cloned();
        let mut hashes = match (&replaced, restorer) {
            (Some(replaced), Some(restorer)) => restorer.key_hashes(replaced)?,
            _ => Vec::new(),
        };
        hashes.extend(added);
        Ok(Some(NewIndex { hashes, replaced }))
    }
}

impl PartitionKeys {
    fn try_new(limits: BucketLimits, partition: &[u8], restorer: Option<&mut Restorer>) -> Result<Self> {
        let mut known = Self { buckets: KeyBuckets::new(limits), indexes: BTreeMap::new() };
        let Some(restorer) = restorer else { return Ok(known) };
        for entry in restorer.key_indexes(partition)? {
            let restored = known.buckets.restore(entry.bucket, restorer.key_hashes(&entry)?.into_iter());
            restored.map_err(|error| error.with("index file", &entry.file_name))?;
            known.indexes.insert(entry.bucket, entry);
        }
        Ok(known)
    }
}
