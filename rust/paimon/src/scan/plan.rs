//! Planning: from snapshots to the splits that may hold matching rows.
//!
//! manifest lists -> partition statistics -> manifests -> partitions, levels -> live files -> buckets, keys, values -> splits

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::Array;
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use frazil_core::predicate::BoundPredicate;

use super::context::{ReadContext, View};
use super::deletions::DeletionIndex;
use super::divide::Divider;
use super::live::MetadataReader;
use super::mode::ReadMode;
use super::pack::{self, Weights};
use super::partitions::Partitions;
use super::split::DataSplit;
use crate::spec::data_file_meta::DeletionFile;
use crate::spec::manifest::ManifestEntries;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::snapshot::Snapshot;
use crate::table::Table;

/// The bucket of files that wait for one.
const POSTPONED: i32 = -2;

/// Which files of snapshots are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// All that are live in the one snapshot.
    Live,
    /// Those that APPEND commits added, as they were written: nothing is merged.
    Delta,
    /// The changelog files of all but OVERWRITE commits.
    Changelog,
}

/// What a scan is planned from.
#[derive(Debug, Clone)]
pub struct PlanRequest {
    /// The schema that names and types are taken from.
    pub schema: Arc<TableSchema>,
    /// The options of the table with those of the scan over them.
    pub options: Options,
    /// Rows for which this is true; columns are field ids of `schema`.
    pub filter: BoundPredicate,
    /// What is read of the table.
    pub view: View,
    /// The snapshots, ascending; none for a table without one, at most one for [`Selection::Live`].
    pub snapshots: Vec<Snapshot>,
    /// Which of their files.
    pub selection: Selection,
    /// Partitions that are not read.
    pub excluded_partitions: Arc<HashSet<Vec<u8>>>,
    /// Enough rows to stop at.
    pub limit: Option<u64>,
    /// Threads that may decode manifests.
    pub workers: usize,
}

/// What planning kept and what it left out.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ScanMetrics {
    /// Manifests of the snapshots.
    pub manifests: usize,
    /// Manifests left out by their statistics.
    pub manifests_skipped: usize,
    /// Entries of the manifests that were read, left out by their partitions.
    pub entries_skipped_by_partition: usize,
    /// Live data files of the partitions that may match; files that reads of the table pass over are not among them.
    pub files: usize,
    /// Data files left out by their buckets.
    pub files_skipped_by_bucket: usize,
    /// Data files left out by keys, statistics and indexes.
    pub files_skipped_by_stats: usize,
    /// Data files of which the indexes in their manifests say that no row matches; they may have to be read all the same,
    /// for what they hide.
    pub files_excluded_by_index: usize,
    /// Splits.
    pub splits: usize,
}

/// The splits of a scan: columns of files, and where each split begins and ends.
#[derive(Debug)]
pub struct Plan {
    pub(super) read: Arc<ReadContext>,
    pub(super) entries: ManifestEntries,
    pub(super) partitions: Partitions,
    pub(super) splits: Vec<Planned>,
    pub(super) deletions: DeletionIndex,
    whole_partitions: Vec<bool>,
    snapshot_id: i64,
    selection: Selection,
    metrics: ScanMetrics,
    pub(super) fallback: Option<Box<Plan>>,
}

/// A partition, as bytes with their arity, and the number of a bucket in it.
type BucketId = (Vec<u8>, i32);

/// Files of a split by their rows in the entries.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) files: Vec<u32>,
    pub(super) raw_convertible: bool,
}

impl Plan {
    /// Plans a scan.
    ///
    /// # Errors
    /// `CorruptManifest`, `MissingFile`, `PathNotAllowed` naming the manifest or manifest list.
    pub fn try_new(table: &Table, request: &PlanRequest, context: &Context) -> Result<Self> {
        let read = ReadContext {
            files: table.files().clone(),
            table_location: table.location().to_string(),
            schema: request.schema.clone(),
            schemas: BTreeMap::from([(request.schema.id, request.schema.clone())]),
            options: request.options.clone(),
            filter: request.filter.clone(),
            view: request.view,
        };
        let mode = ReadMode::try_new(&read)?;
        let mut metrics = ScanMetrics::default();
        let metadata = MetadataReader { read: &read, request, context, mode };
        let entries = metadata.entries(&mut metrics)?;
        metrics.files = entries.len();
        let deletions = metadata.deletions()?;
        let read = with_schemas(read, table, &entries)?;
        let partitions = Partitions::try_new(entries.partitions(), &read)?;
        let mut divider = Divider::new(&read, &entries, &partitions, mode, request.selection);
        divider.prune(&mut metrics)?;
        let splits = divider.splits(context)?;
        let planned: usize = splits.iter().map(|planned| planned.files.len()).sum();
        metrics.files_skipped_by_stats = metrics.files.saturating_sub(metrics.files_skipped_by_bucket + planned);
        let whole_partitions = partitions.judge(&read.filter)?.all.iter().collect();
        let snapshot_id = request.snapshots.last().map_or(0, |snapshot| snapshot.id);
        let mut plan = Self {
            read: Arc::new(read),
            entries,
            partitions,
            splits,
            deletions,
            whole_partitions,
            snapshot_id,
            selection: request.selection,
            metrics,
            fallback: None,
        };
        if let Some(limit) = request.limit {
            plan.stop_at(limit);
        }
        plan.metrics.splits = plan.splits.len();
        Ok(plan)
    }

    /// This plan, and the splits of another after its own.
    #[must_use]
    pub(super) fn followed_by(mut self, fallback: Plan) -> Self {
        self.fallback = Some(Box::new(fallback));
        self
    }

    /// What all splits share; those of a fallback branch have another one, see [`Plan::read_of`].
    pub fn read(&self) -> &Arc<ReadContext> {
        &self.read
    }

    /// What the split at `index` shares with others.
    pub fn read_of(&self, index: usize) -> &Arc<ReadContext> {
        match self.of_fallback(index) {
            Some((fallback, index)) => fallback.read_of(index),
            None => &self.read,
        }
    }

    /// The plan of the fallback branch, whose splits are the last ones.
    pub fn fallback(&self) -> Option<&Plan> {
        self.fallback.as_deref()
    }

    /// What was kept and left out, the fallback branch not counted.
    pub fn metrics(&self) -> &ScanMetrics {
        &self.metrics
    }

    /// How many splits.
    pub fn len(&self) -> usize {
        self.splits.len() + self.fallback.as_ref().map_or(0, |fallback| fallback.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The split at `index`.
    ///
    /// # Errors
    /// `InvalidArgument` when there is none.
    pub fn split(&self, index: usize) -> Result<DataSplit> {
        if let Some((fallback, index)) = self.of_fallback(index) {
            return fallback.split(index);
        }
        let planned = self.splits.get(index);
        let planned = planned.ok_or_else(|| Error::invalid(format!("split {index} of a plan of {}", self.len())))?;
        let rows: Vec<usize> = planned.rows().collect();
        let first = rows.first().copied().ok_or_else(|| Error::internal("a split without files"))?;
        let partition = self.partitions.of(first);
        let bucket = self.entries.buckets().value(first);
        let files = rows.iter().map(|row| self.entries.file(*row)).collect::<Result<Vec<_>>>()?;
        let row = self.partitions.row(partition);
        let vectors = files.iter().map(|file| self.deletions.of(row, bucket, &file.file_name).cloned());
        let mut deletion_files: Vec<_> = vectors.collect();
        if deletion_files.iter().all(Option::is_none) {
            deletion_files.clear();
        }
        Ok(DataSplit {
            snapshot_id: self.snapshot_id,
            partition: row.to_vec(),
            bucket,
            total_buckets: self.entries.total_buckets().value(first),
            bucket_path: bucket_path(&self.partitions.folder(&self.read, partition)?, bucket),
            files,
            deletion_files,
            raw_convertible: planned.raw_convertible,
            streaming: self.selection != Selection::Live,
        })
    }

    /// The number of matching rows in splits that need not be read, and the splits that must be.
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

    /// The splits in packs of about `target_bytes`, the largest first; each counts at least `open_cost_bytes`.
    pub fn groups(&self, target_bytes: u64, open_cost_bytes: u64) -> Vec<Vec<usize>> {
        let weights = Weights { target_bytes, open_cost_bytes };
        let sizes: Vec<u64> = self.sizes_bytes().collect();
        let all = (0..sizes.len()).collect();
        pack::balanced(all, weights, |index| sizes.get(*index).copied().unwrap_or(0))
    }

    /// The distinct partitions of the live files, those that are left out by their values included.
    pub(super) fn partition_rows(&self) -> HashSet<Vec<u8>> {
        self.partitions.rows().iter().flatten().map(<[u8]>::to_vec).collect()
    }

    /// Leaves out the files that another plan has in the same buckets.
    pub(super) fn leave_out_files_of(&mut self, other: &Plan) {
        let identity = |plan: &'_ Plan, row: usize| {
            let partition = plan.partitions.row(plan.partitions.of(row)).to_vec();
            (partition, plan.entries.buckets().value(row), plan.entries.file_names().value(row).to_string())
        };
        let rows = other.splits.iter().flat_map(Planned::rows);
        let known: HashSet<_> = rows.map(|row| identity(other, row)).collect();
        let mut splits = std::mem::take(&mut self.splits);
        for planned in &mut splits {
            planned.files.retain(|row| usize::try_from(*row).is_ok_and(|row| !known.contains(&identity(self, row))));
        }
        splits.retain(|planned| !planned.files.is_empty());
        self.splits = splits;
        self.metrics.splits = self.splits.len();
    }

    /// Leaves out of both plans the buckets that have the same files with the same deletion vectors.
    pub(super) fn leave_out_same_buckets(&mut self, other: &mut Plan) {
        let (own, others) = (self.buckets(), other.buckets());
        let same = |bucket: &BucketId| own.get(bucket).is_some_and(|files| others.get(bucket) == Some(files));
        for plan in [self, other] {
            let mut splits = std::mem::take(&mut plan.splits);
            splits.retain(|planned| planned.rows().next().is_some_and(|row| !same(&plan.bucket_of(row))));
            plan.splits = splits;
            plan.metrics.splits = plan.splits.len();
        }
    }

    fn bucket_of(&self, row: usize) -> BucketId {
        (self.partitions.row(self.partitions.of(row)).to_vec(), self.entries.buckets().value(row))
    }

    fn buckets(&self) -> HashMap<BucketId, BTreeMap<String, Option<DeletionFile>>> {
        let mut buckets: HashMap<BucketId, BTreeMap<_, _>> = HashMap::new();
        for row in self.splits.iter().flat_map(Planned::rows) {
            let bucket = self.bucket_of(row);
            let name = self.entries.file_names().value(row);
            let vector = self.deletions.of(&bucket.0, bucket.1, name).cloned();
            buckets.entry(bucket).or_default().insert(name.to_string(), vector);
        }
        buckets
    }

    fn sizes_bytes(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        let sizes = self.entries.file_sizes();
        let size = |planned: &Planned| planned.rows().map(|row| sizes.value(row).unsigned_abs()).sum();
        let own = self.splits.iter().map(size);
        Box::new(own.chain(self.fallback.iter().flat_map(|fallback| fallback.sizes_bytes())))
    }

    fn of_fallback(&self, index: usize) -> Option<(&Plan, usize)> {
        let index = index.checked_sub(self.splits.len())?;
        self.fallback.as_deref().map(|fallback| (fallback, index))
    }

    /// The matching rows of a split, where metadata says how many there are.
    fn known_rows(&self, planned: &Planned) -> Option<u64> {
        let first = planned.rows().next()?;
        let whole = self.whole_partitions.get(self.partitions.of(first)).copied().unwrap_or(false);
        if !whole || !planned.raw_convertible {
            return None;
        }
        let (names, deletes) = (self.entries.file_names(), self.entries.delete_row_counts());
        let mut rows = 0_u64;
        for row in planned.rows() {
            // Files of old releases do not say whether they have rows that delete.
            if self.read.has_primary_key() && deletes.is_null(row) {
                return None;
            }
            let partition = self.partitions.row(self.partitions.of(row));
            let deleted = match self.deletions.of(partition, self.entries.buckets().value(row), names.value(row)) {
                Some(vector) => u64::try_from(vector.cardinality?).ok()?,
                None => 0,
            };
            let count = u64::try_from(self.entries.row_counts().value(row)).ok()?;
            rows = rows.checked_add(count.checked_sub(deleted)?)?;
        }
        Some(rows)
    }

    /// Keeps only splits of known rows if those suffice.
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
        if rows >= limit {
            let mut index = 0;
            self.splits.retain(|_| {
                index += 1;
                needed.binary_search(&(index - 1)).is_ok()
            });
        }
    }
}

impl Planned {
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.files.iter().filter_map(|row| usize::try_from(*row).ok())
    }
}

/// The folder of a bucket, relative to the table, in the folder of its partition.
pub(super) fn bucket_path(folder: &str, bucket: i32) -> String {
    let separator = if folder.is_empty() { "" } else { "/" };
    if bucket == POSTPONED {
        return format!("{folder}{separator}bucket-postpone");
    }
    format!("{folder}{separator}bucket-{bucket}")
}

/// With the schemas that files were written by.
fn with_schemas(mut read: ReadContext, table: &Table, entries: &ManifestEntries) -> Result<ReadContext> {
    let mut last = None;
    for id in entries.schema_ids().values() {
        if last != Some(*id) && !read.schemas.contains_key(id) {
            let schema = table.schema_by_id(*id)?;
            read.schemas.insert(*id, schema);
        }
        last = Some(*id);
    }
    Ok(read)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
