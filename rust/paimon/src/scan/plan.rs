//! Plans scans: from snapshots to the splits that may hold matching rows.
//!
//! manifest lists -> partition statistics -> manifests -> partitions, levels -> live files -> buckets, keys, values -> splits

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, BinaryArray, UInt32Array};
use arrow_buffer::BooleanBuffer;
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use frazil_core::sql::predicate::BoundPredicate;

use super::deletions::DeletionIndex;
use super::divide::Divider;
use super::judged::Judged;
use super::live::{MetadataReader, add_schemas};
use super::metrics::ScanMetrics;
use super::mode::ReadMode;
use super::partitions::Partitions;
use super::split::SplitGroup;
use crate::context::split::DataSplit;
use crate::context::{ReadContext, View};
use crate::spec::data_file_meta::DeletionFile;
use crate::spec::manifest::ManifestEntries;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::snapshot::Snapshot;
use crate::table::Table;

/// The selection of files of snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// All files that are live in the snapshot.
    Live,
    /// The files that APPEND commits added, as they were written, without merging.
    Delta,
    /// The changelog files of all commits except OVERWRITE.
    Changelog,
}

/// The request that a scan is planned from.
#[derive(Debug, Clone)]
pub struct PlanRequest {
    /// The schema that defines names and types.
    pub schema: Arc<TableSchema>,
    /// The options of the table, overridden by those of the scan.
    pub options: Options,
    /// The predicate that selects rows; columns are field ids of `schema`.
    pub filter: BoundPredicate,
    /// The view of the table that is read.
    pub view: View,
    /// The snapshots, ascending. Empty for a table without snapshots; at most one for [`Selection::Live`].
    pub snapshots: Vec<Snapshot>,
    /// The selection of their files.
    pub selection: Selection,
    /// The partitions that are not read.
    pub excluded_partitions: Arc<HashSet<Vec<u8>>>,
    /// The number of rows at which planning may stop.
    pub limit: Option<u64>,
    /// The number of threads that may decode manifests.
    pub workers: usize,
}

/// The splits of a scan: columns of files, and the range of each split.
#[derive(Debug)]
pub struct Plan {
    pub(super) read: Arc<ReadContext>,
    /// The files, which may include files that are not in any split.
    pub(super) entries: ManifestEntries,
    pub(super) partitions: Partitions,
    /// The rows of the files in the entries, grouped by split.
    pub(super) order: Vec<u32>,
    pub(super) splits: Vec<Planned>,
    pub(super) deletions: DeletionIndex,
    /// The partitions of files that were dropped when their manifests were read.
    dropped_partitions: Vec<BinaryArray>,
    whole_partitions: BooleanBuffer,
    snapshot_id: i64,
    selection: Selection,
    pub(super) metrics: ScanMetrics,
    pub(super) fallback: Option<Box<Plan>>,
}

/// The files of a split: a range of [`Plan::order`].
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) files: Range<usize>,
    pub(super) raw_convertible: bool,
}

impl Plan {
    /// Plans a scan.
    ///
    /// # Errors
    /// `CorruptManifest`, `MissingFile` or `PathNotAllowed` naming the manifest or manifest list.
    pub fn try_new(table: &Table, request: &PlanRequest, context: &Context) -> Result<Self> {
        let mut read = ReadContext {
            files: table.files().clone(),
            table_location: table.location().to_string(),
            schema: request.schema.clone(),
            schemas: BTreeMap::from([(request.schema.id, request.schema.clone())]),
            options: request.options.clone(),
            filter: request.filter.clone(),
            view: request.view,
        };
        let mode = ReadMode::try_new(&read.schema, &read.options)?;
        let mut metrics = ScanMetrics::default();
        let metadata = MetadataReader { table, read: &read, request, context, mode };
        let (Judged { entries, verdicts, dropped }, schemas) = metadata.entries(&mut metrics)?;
        metrics.files = entries.len() + dropped.files;
        metrics.files_skipped_by_bucket = dropped.by_bucket;
        let deletions = metadata.deletions()?;
        read.schemas = schemas;
        add_schemas(&mut read.schemas, table, &entries)?;
        let partitions = Partitions::try_new(entries.partitions(), &read)?;
        let mut divider = Divider::new(&read, &entries, &partitions, mode, request.selection);
        divider.prune(verdicts.as_ref(), &mut metrics)?;
        let (entries, partitions, order, splits) = divider.splits(context)?.compact(entries, partitions)?;
        metrics.files_skipped_by_stats = metrics.files.saturating_sub(metrics.files_skipped_by_bucket + order.len());
        let whole_partitions = partitions.judge(&read.filter)?.all;
        let snapshot_id = request.snapshots.last().map_or(0, |snapshot| snapshot.id);
        let mut plan = Self {
            read: Arc::new(read),
            entries,
            partitions,
            order,
            splits,
            deletions,
            dropped_partitions: dropped.partitions,
            whole_partitions,
            snapshot_id,
            selection: request.selection,
            metrics,
            fallback: None,
        };
        if let Some(limit) = request.limit {
            plan.stop_at(limit);
        }
        Ok(plan)
    }

    /// Appends the splits of another plan to this plan.
    #[must_use]
    pub(super) fn followed_by(mut self, fallback: Plan) -> Self {
        self.fallback = Some(Box::new(fallback));
        self
    }

    /// Returns the context that all splits share. Splits of a fallback branch share that of [`Plan::fallback`].
    pub fn read(&self) -> &Arc<ReadContext> {
        &self.read
    }

    /// Returns whether the split at `index` belongs to the fallback branch.
    pub fn is_of_fallback(&self, index: usize) -> bool {
        self.of_fallback(index).is_some()
    }

    /// Returns the plan of the fallback branch, whose splits are last.
    pub fn fallback(&self) -> Option<&Plan> {
        self.fallback.as_deref()
    }

    /// Returns the metrics, including those of the fallback branch.
    pub fn metrics(&self) -> ScanMetrics {
        let merges = |planned: &Planned| self.selection == Selection::Live && !planned.raw_convertible;
        let merged = self.splits.iter().filter(|planned| merges(planned)).count();
        let mut own =
            ScanMetrics { splits_raw: self.splits.len() - merged, splits_merged: merged, ..self.metrics.clone() };
        for row in self.splits.iter().flat_map(|planned| self.rows(planned)) {
            let level = self.entries.levels().value(row);
            let (low, high) = own.levels.unwrap_or((level, level));
            own.levels = Some((low.min(level), high.max(level)));
            own.files_planned += 1;
            own.deletion_vectors += usize::from(self.deletion_file(row).is_some());
        }
        self.fallback().map_or_else(|| own.clone(), |fallback| own.plus(&fallback.metrics()))
    }

    /// Returns the number of splits.
    pub fn len(&self) -> usize {
        self.splits.len() + self.fallback.as_ref().map_or(0, |fallback| fallback.len())
    }

    /// Returns whether there are no splits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the split at `index`.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such split.
    pub fn split(&self, index: usize) -> Result<DataSplit> {
        if let Some((fallback, index)) = self.of_fallback(index) {
            return fallback.split(index);
        }
        let planned = self.splits.get(index);
        let planned = planned.ok_or_else(|| {
            Error::invalid(format!("split {index} does not exist in a plan of {} splits", self.len()))
        })?;
        let rows: Vec<usize> = self.rows(planned).collect();
        let first = rows.first().copied().ok_or_else(|| Error::internal("a split has no files"))?;
        let partition = self.partitions.of(first);
        let bucket = self.entries.buckets().value(first);
        let files = rows.iter().map(|row| self.entries.file(*row)).collect::<Result<Vec<_>>>()?;
        let row = self.partitions.row(partition);
        let vectors = rows.iter().map(|row| self.deletion_file(*row).cloned());
        let mut deletion_files: Vec<_> = vectors.collect();
        if deletion_files.iter().all(Option::is_none) {
            deletion_files.clear();
        }
        Ok(DataSplit {
            snapshot_id: self.snapshot_id,
            partition: row.to_vec(),
            bucket,
            total_buckets: self.entries.total_buckets().value(first),
            bucket_path: self.read.bucket_path(&self.partitions.folder(&self.read, partition)?, bucket)?,
            files,
            deletion_files,
            raw_convertible: planned.raw_convertible,
            streaming: self.selection != Selection::Live,
        })
    }

    /// Returns the number of matching rows in splits that need not be read, and the splits that must be read.
    pub fn count(&self) -> Result<(u64, Vec<usize>)> {
        let mut rows = 0_u64;
        let mut unread = Vec::new();
        for (index, planned) in self.splits.iter().enumerate() {
            match self.known_rows(planned) {
                Some(known) => rows = rows.saturating_add(known),
                None => unread.push(index),
            }
        }
        if let Some(fallback) = &self.fallback {
            let (more, indexes) = fallback.count()?;
            rows = rows.saturating_add(more);
            unread.extend(indexes.into_iter().map(|index| index + self.splits.len()));
        }
        Ok((rows, unread))
    }

    /// Returns the distinct partitions of the live files, including those pruned by their values.
    pub(super) fn partition_rows(&self) -> HashSet<Vec<u8>> {
        let rows = self.dropped_partitions.iter().chain([self.partitions.rows()]);
        rows.flat_map(|rows| rows.iter().flatten().map(<[u8]>::to_vec)).collect()
    }

    /// Returns the total length of the files of the split at `index`, or 0 if it does not exist.
    pub(crate) fn size_bytes(&self, index: usize) -> u64 {
        if let Some((fallback, index)) = self.of_fallback(index) {
            return fallback.size_bytes(index);
        }
        let sizes = self.entries.file_sizes();
        let rows = self.splits.get(index).into_iter().flat_map(|planned| self.rows(planned));
        rows.fold(0, |sum: u64, row| sum.saturating_add(sizes.value(row).unsigned_abs()))
    }

    /// Returns the rows of a split's files in the entries.
    pub(super) fn rows(&self, planned: &Planned) -> impl Iterator<Item = usize> + '_ {
        let rows = self.order.get(planned.files.clone()).unwrap_or_default();
        rows.iter().filter_map(|row| usize::try_from(*row).ok())
    }

    /// Returns the partition, as bytes with its arity, and the bucket of the split at `index`, or None if it does not
    /// exist.
    pub(crate) fn bucket(&self, index: usize) -> Option<(&[u8], i32)> {
        match self.of_fallback(index) {
            Some((fallback, index)) => fallback.bucket(index),
            None => self.rows(self.splits.get(index)?).next().map(|row| self.bucket_of(row)),
        }
    }

    /// Returns the partition, as bytes with its arity, and the bucket of an entry.
    pub(super) fn bucket_of(&self, row: usize) -> (&[u8], i32) {
        (self.partitions.row(self.partitions.of(row)), self.entries.buckets().value(row))
    }

    /// Returns the deletion vector of an entry.
    pub(super) fn deletion_file(&self, row: usize) -> Option<&DeletionFile> {
        if self.deletions.is_empty() {
            return None;
        }
        let (partition, bucket) = self.bucket_of(row);
        self.deletions.of(partition, bucket, self.entries.file_names().value(row))
    }

    /// Keeps only the files for which `keep` is true, and the splits that still have files.
    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut kept = Packed::default();
        for planned in &self.splits {
            kept.push(self.rows(planned).filter(|row| keep(*row)), planned.raw_convertible);
        }
        (self.order, self.splits) = (kept.order, kept.splits);
    }

    fn of_fallback(&self, index: usize) -> Option<(&Plan, usize)> {
        let index = index.checked_sub(self.splits.len())?;
        self.fallback.as_deref().map(|fallback| (fallback, index))
    }

    /// Returns the number of matching rows of a split, if metadata determines it.
    fn known_rows(&self, planned: &Planned) -> Option<u64> {
        let partition = self.partitions.of(self.rows(planned).next()?);
        let whole = partition < self.whole_partitions.len() && self.whole_partitions.value(partition);
        if self.read.view == View::Binlog && self.selection != Selection::Live {
            // The two images of an update become one row, so the number of rows of the files is not exact.
            return None;
        }
        if !whole || !planned.raw_convertible {
            return None;
        }
        let deletes = self.entries.delete_row_counts();
        let mut rows = 0_u64;
        for row in self.rows(planned) {
            // Files of old releases do not record whether they have rows that delete.
            if self.read.has_primary_key() && deletes.is_null(row) {
                return None;
            }
            let deleted = match self.deletion_file(row) {
                Some(vector) => u64::try_from(vector.cardinality?).ok()?,
                None => 0,
            };
            let count = u64::try_from(self.entries.row_counts().value(row)).ok()?;
            rows = rows.checked_add(count.checked_sub(deleted)?)?;
        }
        Some(rows)
    }

    /// Keeps only splits with a known number of rows, if the known numbers add up to the limit. Otherwise all splits
    /// are kept.
    fn stop_at(&mut self, limit: u64) {
        let mut rows = 0_u64;
        let mut needed = Vec::new();
        for (index, planned) in self.splits.iter().enumerate() {
            if rows >= limit {
                break;
            }
            if let Some(known) = self.known_rows(planned) {
                rows = rows.saturating_add(known);
                needed.push(index);
            }
        }
        if rows < limit {
            return;
        }
        let before = self.order.len();
        let mut kept = Packed::default();
        for planned in needed.iter().filter_map(|index| self.splits.get(*index)) {
            kept.push(self.rows(planned), planned.raw_convertible);
        }
        self.metrics.files_skipped_by_limit = before - kept.order.len();
        (self.order, self.splits) = (kept.order, kept.splits);
    }
}

/// Splits in concatenated form.
#[derive(Debug, Default)]
pub(super) struct Packed {
    order: Vec<u32>,
    splits: Vec<Planned>,
}

impl Packed {
    /// Appends splits.
    pub(super) fn extend(&mut self, groups: &[SplitGroup]) {
        for group in groups {
            self.push(group.files.iter().copied(), group.raw_convertible);
        }
    }

    /// Appends a split for each range of files.
    pub(super) fn push_ranges(&mut self, files: &[usize], ranges: Vec<Range<usize>>, raw_convertible: bool) {
        self.splits.reserve(ranges.len());
        for range in ranges {
            self.push(files.get(range).unwrap_or_default().iter().copied(), raw_convertible);
        }
    }

    /// Appends a split, unless it has no files.
    fn push(&mut self, files: impl Iterator<Item = usize>, raw_convertible: bool) {
        let start = self.order.len();
        self.order.extend(files.filter_map(|file| u32::try_from(file).ok()));
        if self.order.len() > start {
            self.splits.push(Planned { files: start..self.order.len(), raw_convertible });
        }
    }

    /// Drops statistics, which are no longer needed, and also entries if most of them belong to no split. A plan is
    /// long-lived and should not be larger than its result.
    fn compact(
        self,
        entries: ManifestEntries,
        partitions: Partitions,
    ) -> Result<(ManifestEntries, Partitions, Vec<u32>, Vec<Planned>)> {
        let entries = entries.without_stats()?;
        let few = self.order.len() < entries.len() / 2;
        if !few {
            return Ok((entries, partitions, self.order, self.splits));
        }
        let rows = UInt32Array::from(self.order);
        let order = (0..).take(rows.len()).collect();
        Ok((entries.take(&rows)?, partitions.take(&rows), order, self.splits))
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
