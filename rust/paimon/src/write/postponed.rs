//! Writes rows of tables with postponed buckets (`bucket` = -2; documentation: "Postpone Bucket").
//!
//! By default, each partition has a fixed number of buckets. Otherwise, rows wait in files without a bucket, which are
//! not read, until a compaction assigns them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt32Type};
use arrow_select::take::take;
use frazil_core::error::{Error, Result};
use frazil_core::groups::Groups;
use frazil_core::ids;

use super::change::Home;
use super::restore::Restorer;
use super::row_placement::Part;
use crate::bucket::{BucketFunction, bucket_ids};
use crate::spec::options::Options;
use crate::spec::partition_path::POSTPONED;
use crate::spec::schema::TableSchema;
use crate::spec::types::DataType;

/// The option that is false if rows wait for a compaction that assigns buckets.
const FIXED: &str = "postpone.batch-write-fixed-bucket";

/// The option with the number of buckets of new partitions.
const DEFAULT_COUNT: &str = "postpone.default-bucket-num";

/// Returns whether the buckets of a table are postponed.
///
/// # Errors
/// As for [`Options::bucket`].
pub(crate) fn is_postponed(options: &Options) -> Result<bool> {
    Ok(options.bucket()? == POSTPONED)
}

/// Returns whether new rows wait for a compaction that assigns them to buckets.
///
/// # Errors
/// `InvalidArgument` for options that do not parse.
pub(crate) fn waits(options: &Options) -> Result<bool> {
    Ok(is_postponed(options)? && !options.boolean(FIXED, true)?)
}

/// Returns whether rows of a table that were written earlier may wait for a compaction.
///
/// # Errors
/// As for [`is_postponed`].
pub fn has_waiting_rows(schema: &TableSchema) -> Result<bool> {
    is_postponed(&Options::new(schema.options.clone()))
}

/// Returns the options of a write that assigns rows to buckets.
pub(super) fn assigning(options: &Options) -> Options {
    options.clone().with(&BTreeMap::from([(FIXED.to_string(), "true".to_string())]))
}

/// Returns the options of files of waiting rows, as in Java: Avro without statistics. The writer is part of the name,
/// because Java reads the files of a writer in order.
///
/// # Errors
/// As for [`ids::random`].
pub(super) fn waiting(options: &Options) -> Result<Options> {
    let prefix = options.text("data-file.prefix").unwrap_or("data-");
    let writer = i32::from_be_bytes(ids::random()?) & i32::MAX;
    let prefix = format!("{prefix}-u-{}-s-{writer}-w-", ids::uuid()?);
    let mut all = options.all().clone();
    for (name, value) in
        [("data-file.prefix", prefix.as_str()), ("file.format", "avro"), ("metadata.stats-mode", "none")]
    {
        all.insert(name.to_string(), value.to_string());
    }
    for name in ["file.format.per.level", "file.compression.per.level", "changelog-producer"] {
        all.remove(name);
    }
    Ok(Options::new(all))
}

/// The numbers of buckets of partitions.
#[derive(Debug)]
pub(super) struct PartitionBuckets {
    function: BucketFunction,
    types: Vec<DataType>,
    default: i32,
    known: HashMap<Arc<[u8]>, i32>,
}

impl PartitionBuckets {
    /// Creates the state for keys of these types.
    ///
    /// # Errors
    /// As for [`default_count`].
    pub(super) fn try_new(function: BucketFunction, types: Vec<DataType>, options: &Options) -> Result<Self> {
        Ok(Self { function, types, default: default_count(options)?, known: HashMap::new() })
    }

    /// Returns the number of buckets of a partition that rows were split for.
    pub(super) fn count(&self, partition: &[u8]) -> i32 {
        self.known.get(partition).copied().unwrap_or(self.default)
    }

    /// Splits the rows of partitions by bucket. `keys` are those of all rows. `restorer` has the numbers of buckets of
    /// the partitions that exist; None if all rows of the partitions are replaced.
    ///
    /// # Errors
    /// As for [`bucket_ids`] and [`Restorer::read`].
    pub(super) fn split(
        &mut self,
        parts: Vec<Part>,
        keys: &[ArrayRef],
        restorer: Option<&mut Restorer>,
    ) -> Result<Vec<Part>> {
        if let Some(restorer) = restorer {
            restorer.read(parts.iter().map(|part| &part.home))?;
            for Part { home, .. } in &parts {
                let found = restorer.total_buckets(&home.partition);
                self.known.entry(home.partition.clone()).or_insert(found.unwrap_or(self.default));
            }
        }
        let mut found = Vec::new();
        for Part { home, rows } in parts {
            let keys = keys.iter().map(|key| take(key, &rows, None)).collect::<Result<Vec<_>, _>>()?;
            let ids: ArrayRef = Arc::new(bucket_ids(self.function, &keys, &self.types, self.count(&home.partition))?);
            let groups = Groups::of_numbers(&ids).ok_or_else(|| Error::internal("buckets are not numbers"))?;
            let firsts = take(&ids, &groups.firsts(), None)?;
            let firsts = firsts.as_primitive::<Int32Type>().values().to_vec();
            for (bucket, members) in firsts.into_iter().zip(groups.members()) {
                let rows = take(&rows, &members, None)?.as_primitive::<UInt32Type>().clone();
                found.push(Part { home: Home { partition: home.partition.clone(), bucket }, rows });
            }
        }
        Ok(found)
    }
}

/// Returns the number of buckets of new partitions.
///
/// # Errors
/// `InvalidArgument` for a number below 1.
pub(super) fn default_count(options: &Options) -> Result<i32> {
    let count = options.integer_32(DEFAULT_COUNT)?.unwrap_or(1);
    if count < 1 {
        let message = format!("the option `{DEFAULT_COUNT}` is {count}, but must be at least 1");
        return Err(Error::invalid(message));
    }
    Ok(count)
}
