//! Defines executable splits, each with everything that is needed to read it in any process.

pub mod changes;
pub mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;

use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use frazil_core::pack::first_fit_decreasing;
use frazil_core::storage::Storage;

use crate::context::output::Output;
use crate::context::split::DataSplit;
use crate::read::scan_read::ScanRead;
use crate::read::split_reader::SplitReader;
use crate::scan::fallback::Branches;
use crate::scan::metrics::ScanMetrics;
use crate::scan::plan::Plan;
use crate::scan::table_scan::{ScanPlan, TableScan};

/// A split and the way it is read. Cheap to clone except for its files.
#[derive(Debug, Clone)]
pub struct SplitTask {
    /// The state that all splits of the scan share.
    pub read: Arc<ScanRead>,
    /// The files.
    pub split: DataSplit,
    /// For a difference: files of the same bucket whose rows are subtracted.
    pub before: Option<DataSplit>,
}

/// The splits of a scan, ready to be executed.
#[derive(Debug)]
pub struct TaskPlan {
    plan: ScanPlan,
    read: Arc<ScanRead>,
    fallback: Option<Arc<ScanRead>>,
    /// For a difference: the splits of each bucket.
    buckets: Option<Vec<BucketSplits>>,
}

/// The splits of one bucket in two states.
#[derive(Debug, Default)]
struct BucketSplits {
    after: Vec<usize>,
    before: Vec<usize>,
}

impl SplitTask {
    /// Starts reading the split.
    ///
    /// # Errors
    /// As for [`ScanRead::reader`].
    pub fn reader(&self, context: &Context) -> Result<SplitReader> {
        match &self.before {
            None => self.read.reader(&self.split, context),
            Some(before) => self.read.difference(before, &self.split, context),
        }
    }

    /// Returns the wire form of tasks of one scan.
    ///
    /// # Errors
    /// As for [`wire::write`].
    pub fn to_bytes(tasks: &[Self]) -> Result<Vec<u8>> {
        wire::write(tasks)
    }

    /// Parses a wire form. Files are read from `storage`.
    ///
    /// # Errors
    /// As for [`wire::read`].
    pub fn from_bytes(bytes: &[u8], storage: Arc<dyn Storage>) -> Result<Vec<Self>> {
        wire::read(bytes, storage)
    }

    /// Returns the partition: columns with their values as strings, or None for NULL.
    ///
    /// # Errors
    /// `CorruptManifest` if it does not decode.
    pub fn partition(&self) -> Result<Vec<(String, Option<String>)>> {
        self.read.context.partition_texts(&self.split.partition)
    }
}

impl TaskPlan {
    /// Plans a scan whose rows have the columns of `output`.
    ///
    /// # Errors
    /// As for [`TableScan::plan`] and [`ScanRead::try_new`].
    pub fn try_new(scan: &TableScan, output: &Output, workers: usize, context: &Context) -> Result<Self> {
        let plan = scan.plan(workers, context)?;
        let read = Arc::new(ScanRead::try_new(plan.rows.read().clone(), output.clone())?);
        let fallback = plan.rows.fallback().map(|fallback| -> Result<_> {
            let branches = Branches { main: scan.schema(), fallback: &fallback.read().schema };
            let output = branches.output(output)?;
            Ok(Arc::new(ScanRead::try_new(fallback.read().clone(), output)?))
        });
        let buckets = plan.before.as_ref().map(|before| by_bucket(&plan.rows, before));
        Ok(Self { fallback: fallback.transpose()?, plan, read, buckets })
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan.rows
    }

    /// Returns the metrics of planning. For a difference, each bucket counts as one split that is merged.
    pub fn metrics(&self) -> ScanMetrics {
        let metrics = self.plan.rows.metrics();
        match &self.buckets {
            None => metrics,
            Some(buckets) => ScanMetrics { splits_raw: 0, splits_merged: buckets.len(), ..metrics },
        }
    }

    /// Returns the number of tasks.
    pub fn len(&self) -> usize {
        self.buckets.as_ref().map_or_else(|| self.plan.rows.len(), Vec::len)
    }

    /// Returns whether there are no tasks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the task at `index`.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such task.
    pub fn task(&self, index: usize) -> Result<SplitTask> {
        let (Some(buckets), Some(before)) = (&self.buckets, &self.plan.before) else {
            let split = self.plan.rows.split(index)?;
            let fallback = self.fallback.as_ref().filter(|_| self.plan.rows.is_of_fallback(index));
            let read = fallback.unwrap_or(&self.read);
            return Ok(SplitTask { read: read.clone(), split, before: None });
        };
        let splits = buckets
            .get(index)
            .ok_or_else(|| Error::invalid(format!("split {index} does not exist: there are {} splits", self.len())))?;
        let split = joined(&self.plan.rows, &splits.after)?.ok_or_else(|| Error::internal("a bucket has no files"))?;
        Ok(SplitTask { read: self.read.clone(), before: joined(before, &splits.before)?, split })
    }

    /// Returns the number of rows that are counted from metadata alone, and the tasks that must be read to count the
    /// rest.
    ///
    /// # Errors
    /// As for [`Plan::count`].
    pub fn count(&self) -> Result<(u64, Vec<usize>)> {
        if self.buckets.is_some() { Ok((0, (0..self.len()).collect())) } else { self.plan.rows.count() }
    }

    /// Returns wire forms of groups of tasks of about `target_bytes`, largest first. Each task counts at least
    /// `open_cost_bytes`. Tasks that merge are not divided.
    ///
    /// # Errors
    /// As for [`TaskPlan::task`].
    pub fn groups(&self, target_bytes: i64, open_cost_bytes: i64, context: &Context) -> Result<Vec<Vec<u8>>> {
        let weight = |index: &usize| i64::try_from(self.size_bytes(*index)).unwrap_or(i64::MAX).max(open_cost_bytes);
        let is_main = |index: &usize| self.buckets.is_some() || !self.plan.rows.is_of_fallback(*index);
        let (main, other): (Vec<_>, Vec<_>) = (0..self.len()).partition(is_main);
        let mut groups = first_fit_decreasing(main, target_bytes, weight);
        groups.extend(first_fit_decreasing(other, target_bytes, weight));
        let written = groups.iter().map(|group| {
            context.check()?;
            // Tasks are created group by group, so only the tasks of one group are in memory at a time.
            let tasks = group.iter().map(|index| self.task(*index)).collect::<Result<Vec<_>>>()?;
            wire::write(&tasks)
        });
        written.collect()
    }

    /// Returns the total length of the files of a task, without the files of the earlier state of a difference.
    fn size_bytes(&self, index: usize) -> u64 {
        let Some(buckets) = &self.buckets else { return self.plan.rows.size_bytes(index) };
        let splits = buckets.get(index).into_iter().flat_map(|splits| &splits.after);
        splits.fold(0, |sum: u64, split| sum.saturating_add(self.plan.rows.size_bytes(*split)))
    }
}

/// Returns the splits of each bucket that has rows to compare.
fn by_bucket(after: &Plan, before: &Plan) -> Vec<BucketSplits> {
    let mut buckets: BTreeMap<_, BucketSplits> = BTreeMap::new();
    for index in 0..after.len() {
        buckets.entry(after.bucket(index)).or_default().after.push(index);
    }
    for index in 0..before.len() {
        buckets.entry(before.bucket(index)).or_default().before.push(index);
    }
    // A bucket without files in the `after` plan has only deleted files, so it has no new rows.
    buckets.into_values().filter(|splits| !splits.after.is_empty()).collect()
}

fn joined(plan: &Plan, splits: &[usize]) -> Result<Option<DataSplit>> {
    let mut joined: Option<DataSplit> = None;
    for &index in splits {
        let split = plan.split(index)?;
        joined = Some(match joined {
            Some(before) => before.joined(split),
            None => split,
        });
    }
    Ok(joined)
}
