//! Planning: from a snapshot to the data files that may hold matching rows, each with its deletes (spec: "Scan Planning").
//!
//! manifest list -> partition summaries -> manifests -> partition tuples -> counts and bounds -> deletes joined by columns.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{Array, BooleanArray};
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::parallel;
use frazil_core::predicate::BoundPredicate;
use frazil_core::prune::{Verdicts, prune};

use super::context::{PartitionContext, ReadContext};
use super::delete_index::{Assignments, DeleteIndex};
use super::key_range::KeyStatistics;
use super::partition::PartitionTuples;
use super::prune::{EntryStats, KeyColumns, ManifestSummaries};
use super::task::FileScanTask;
use crate::spec::manifest::{self, DELETE_FILE_PATH_ID, ManifestEntries};
use crate::spec::manifest_list::{self, ManifestContent, ManifestFile};
use crate::spec::snapshot::Snapshot;

/// A manifest or manifest list is not read when it is longer than this.
const MANIFEST_LIMIT_BYTES: u64 = 2 << 30;

/// Which files of a snapshot are wanted.
#[derive(Debug, Clone, Default)]
pub enum Selection {
    /// All that are live.
    #[default]
    Live,
    /// Those that one of these snapshots added; deletes do not apply.
    AddedBy(HashSet<i64>),
}

/// What planning kept and what it left out.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ScanMetrics {
    /// Data manifests of the snapshot.
    pub manifests: usize,
    /// Data manifests left out by their partition summaries.
    pub manifests_skipped: usize,
    /// Live data files in the manifests that were read.
    pub files: usize,
    /// Data files left out by their partition tuples.
    pub files_skipped_by_partition: usize,
    /// Data files left out by their counts and bounds.
    pub files_skipped_by_bounds: usize,
    /// Delete files of the snapshot whose partitions may match.
    pub delete_files: usize,
}

/// The data files of one manifest that may match.
#[derive(Debug)]
pub struct PlannedFiles {
    entries: ManifestEntries,
    tuples: PartitionTuples,
    partition: Arc<PartitionContext>,
    deletes: Assignments,
    /// Files of which every row matches, by their partition tuples.
    whole: BooleanArray,
}

/// The data files of a scan with their deletes: columns for each manifest, no object for each file.
#[derive(Debug)]
pub struct Plan {
    read: Arc<ReadContext>,
    files: Vec<PlannedFiles>,
    deletes: Arc<DeleteIndex>,
    metrics: ScanMetrics,
    starts: Vec<usize>,
}

/// What a scan is planned from.
#[derive(Debug)]
pub struct PlanRequest<'a> {
    /// The snapshot; none for a table without one; for [`Selection::AddedBy`] all snapshots that it names.
    pub snapshots: &'a [Arc<Snapshot>],
    /// Which of its files.
    pub selection: Selection,
    /// Enough rows to stop at.
    pub limit: Option<u64>,
    /// Threads that may decode manifests.
    pub workers: usize,
}

impl Plan {
    /// Plans a scan.
    ///
    /// # Errors
    /// `CorruptManifest`, `MissingFile`, `PathNotAllowed` naming the manifest or manifest list.
    pub fn try_new(read: Arc<ReadContext>, request: &PlanRequest<'_>, context: &Context) -> Result<Self> {
        let planner = Planner { read: &read, request, context };
        let mut manifests = Vec::new();
        for snapshot in request.snapshots {
            manifests.extend(planner.manifests(snapshot)?);
        }
        let mut seen = HashSet::new();
        manifests.retain(|manifest| planner.selected(manifest) && seen.insert(manifest.manifest_path.clone()));
        let (data, deletes): (Vec<_>, Vec<_>) = manifests.iter().partition(|m| m.content == ManifestContent::Data);
        let mut metrics = ScanMetrics { manifests: data.len(), ..ScanMetrics::default() };
        let deletes = match request.selection {
            Selection::Live => planner.delete_index(&planner.matching_manifests(&deletes)?)?,
            Selection::AddedBy(_) => DeleteIndex::default(),
        };
        metrics.delete_files = deletes.files().len();
        let data = planner.matching_manifests(&data)?;
        metrics.manifests_skipped = metrics.manifests - data.len();
        let files = planner.data_files(&data, &deletes, &mut metrics)?;
        // Two appends may have added the same file, if it was removed between them.
        if matches!(request.selection, Selection::Live) {
            refuse_duplicates(&files)?;
        }
        let starts = starts(&files);
        Ok(Self { read, files, deletes: Arc::new(deletes), metrics, starts })
    }

    /// What all tasks share.
    pub fn read(&self) -> &Arc<ReadContext> {
        &self.read
    }

    /// What was kept and left out.
    pub fn metrics(&self) -> &ScanMetrics {
        &self.metrics
    }

    /// How many data files.
    pub fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The files of each manifest.
    pub fn files(&self) -> &[PlannedFiles] {
        &self.files
    }

    /// The delete files of the snapshot.
    pub fn deletes(&self) -> &DeleteIndex {
        &self.deletes
    }

    /// The task of the data file at `index`, in the order of the manifests.
    pub fn task(&self, index: usize) -> Result<FileScanTask> {
        let group = self.starts.partition_point(|&start| start <= index).saturating_sub(1);
        let files = self.files.get(group).filter(|_| index < self.len());
        let files = files.ok_or_else(|| Error::invalid(format!("task {index} of a plan of {}", self.len())))?;
        let row = index - self.starts.get(group).copied().unwrap_or(0);
        files.task(row, &self.read, &self.deletes)
    }

    /// The number of matching rows in files that need not be read, and the tasks of those that must be.
    pub fn count(&self) -> Result<(u64, Vec<usize>)> {
        let mut rows = 0_u64;
        let mut unread = Vec::new();
        let mut index = 0;
        for files in &self.files {
            for (row, &count) in files.entries.record_counts()?.values().iter().enumerate() {
                if files.whole.value(row) && files.deletes.row(row).is_empty() {
                    rows = rows.saturating_add(count.unsigned_abs());
                } else {
                    unread.push(index);
                }
                index += 1;
            }
        }
        Ok((rows, unread))
    }
}

impl PlannedFiles {
    /// The entries.
    pub fn entries(&self) -> &ManifestEntries {
        &self.entries
    }

    /// Their partition tuples.
    pub fn tuples(&self) -> &PartitionTuples {
        &self.tuples
    }

    /// Their partition spec.
    pub fn partition(&self) -> &Arc<PartitionContext> {
        &self.partition
    }

    /// Their delete files.
    pub fn deletes(&self) -> &Assignments {
        &self.deletes
    }

    fn task(&self, row: usize, read: &Arc<ReadContext>, deletes: &DeleteIndex) -> Result<FileScanTask> {
        let numbers = self.deletes.row(row).iter();
        let deletes = numbers.filter_map(|&n| deletes.files().get(usize::try_from(n).ok()?).cloned()).collect();
        FileScanTask::from_entry(read.clone(), &self.entries, &self.tuples, self.partition.spec.spec_id, row, deletes)
    }
}

struct Planner<'a> {
    read: &'a Arc<ReadContext>,
    request: &'a PlanRequest<'a>,
    context: &'a Context,
}

impl Planner<'_> {
    fn manifests(&self, snapshot: &Snapshot) -> Result<Vec<ManifestFile>> {
        let named = |e: Error| e.with("snapshot", snapshot.snapshot_id);
        if let Some(list) = &snapshot.manifest_list {
            let bytes = self.read.files.read(list, MANIFEST_LIMIT_BYTES).map_err(named)?;
            return manifest_list::read(bytes, self.context).map_err(|e| named(e.with("file", list)));
        }
        // v1 snapshots may name their manifests inline; what a list would say is in the manifests.
        let inline = snapshot.manifests.iter().flatten();
        inline
            .map(|path| {
                let bytes = self.read.files.read(path, MANIFEST_LIMIT_BYTES).map_err(named)?;
                let spec_id = manifest::partition_spec_id(&bytes).map_err(|e| named(e.with("file", path)))?;
                Ok(ManifestFile { partition_spec_id: spec_id, ..ManifestFile::inline(path) })
            })
            .collect()
    }

    /// The manifests whose partition summaries do not rule them out, in their order.
    fn matching_manifests<'m>(&self, manifests: &[&'m ManifestFile]) -> Result<Vec<&'m ManifestFile>> {
        let mut by_spec: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
        for (i, manifest) in manifests.iter().enumerate() {
            by_spec.entry(manifest.partition_spec_id).or_default().push(i);
        }
        let mut kept = Vec::new();
        for (spec_id, positions) in by_spec {
            let partition = self.read.partition(spec_id)?;
            let filter = partition.inclusive(&self.read.filter, &self.read.types());
            let group: Vec<&ManifestFile> = positions.iter().filter_map(|&i| manifests.get(i).copied()).collect();
            let may = prune(&filter, &ManifestSummaries::new(&group, &partition.fields))?.may;
            kept.extend(positions.into_iter().zip(&may).filter(|(_, may)| *may).map(|(i, _)| i));
        }
        kept.sort_unstable();
        Ok(kept.into_iter().filter_map(|i| manifests.get(i).copied()).collect())
    }

    fn selected(&self, manifest: &ManifestFile) -> bool {
        match &self.request.selection {
            Selection::Live => true,
            Selection::AddedBy(ids) => manifest.added_snapshot_id.is_none_or(|id| ids.contains(&id)),
        }
    }

    fn entries(&self, manifest: &ManifestFile, statistics_ids: &[i32]) -> Result<ManifestEntries> {
        self.context.check()?;
        let path = &*manifest.manifest_path;
        let bytes = self.read.files.read(path, MANIFEST_LIMIT_BYTES)?;
        manifest::read(bytes, manifest, statistics_ids, self.context).map_err(|e| e.with("file", path))
    }

    fn delete_index(&self, manifests: &[&ManifestFile]) -> Result<DeleteIndex> {
        let decoded = parallel::map(manifests, self.request.workers, |manifest| {
            let mut entries = self.entries(manifest, &[DELETE_FILE_PATH_ID])?;
            // Only the entries tell of which columns statistics are needed.
            let key_ids = entries.distinct_equality_ids()?;
            if !key_ids.is_empty() {
                let ids: Vec<i32> = key_ids.iter().copied().chain([DELETE_FILE_PATH_ID]).collect();
                entries = self.entries(manifest, &ids)?;
            }
            let partition = self.read.partition(manifest.partition_spec_id)?;
            let (entries, tuples) = partition_matches(self.read, &partition, entries)?;
            let (entries, tuples) = self.keys_match(&partition, entries, tuples)?;
            let keyed = self.key_statistics(&entries, &key_ids)?;
            Ok((partition, entries, tuples, keyed))
        })?;
        let mut index = DeleteIndex::default();
        for ((partition, entries, tuples, keyed), manifest) in decoded.iter().zip(manifests) {
            let spec = (partition.spec.spec_id, partition.spec.is_unpartitioned());
            index
                .push(entries, tuples, keyed, spec, &|path| self.read.files.same_file_key(path))
                .map_err(|e| e.with("manifest", &manifest.manifest_path))?;
        }
        index.finish();
        Ok(index)
    }

    fn data_files(
        &self,
        manifests: &[&ManifestFile],
        deletes: &DeleteIndex,
        metrics: &mut ScanMetrics,
    ) -> Result<Vec<PlannedFiles>> {
        let mut statistics_ids = self.read.filter_ids();
        statistics_ids.extend(deletes.equality_ids());
        statistics_ids.sort_unstable();
        statistics_ids.dedup();
        let (files, by_partition, by_bounds) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let plan = |manifest: &&ManifestFile| -> Result<PlannedFiles> {
            let entries = self.added(self.entries(manifest, &statistics_ids)?)?;
            let partition = self.read.partition(manifest.partition_spec_id)?;
            files.fetch_add(entries.len(), Ordering::Relaxed);
            let before = entries.len();
            let (entries, tuples) = partition_matches(self.read, &partition, entries)?;
            by_partition.fetch_add(before - entries.len(), Ordering::Relaxed);
            let before = entries.len();
            let planned = self.bounds_match(entries, tuples, partition, deletes)?;
            by_bounds.fetch_add(before - planned.entries.len(), Ordering::Relaxed);
            Ok(planned)
        };
        let mut planned = Vec::with_capacity(manifests.len());
        let mut remaining = self.request.limit;
        // With a limit, as few manifests are read as may suffice.
        let step = if remaining.is_some() { self.request.workers.max(1) } else { manifests.len().max(1) };
        for manifests in manifests.chunks(step) {
            for files in parallel::map(manifests, self.request.workers, plan)? {
                let files = match &mut remaining {
                    Some(remaining) => files.limited(remaining)?,
                    None => files,
                };
                planned.push(files);
            }
            if remaining == Some(0) {
                break;
            }
        }
        planned.retain(|files| !files.entries.is_empty());
        metrics.files = files.into_inner();
        metrics.files_skipped_by_partition = by_partition.into_inner();
        metrics.files_skipped_by_bounds = by_bounds.into_inner();
        Ok(planned)
    }

    /// Without equality deletes of whose keys none matches the filter: the rows that they delete are not wanted.
    fn keys_match(
        &self,
        partition: &PartitionContext,
        entries: ManifestEntries,
        tuples: PartitionTuples,
    ) -> Result<(ManifestEntries, PartitionTuples)> {
        let types = self.read.types();
        let may = prune(&self.read.filter, &KeyColumns::new(&entries, &types))?.may;
        kept(partition, entries, tuples, &may.into())
    }

    fn key_statistics(&self, entries: &ManifestEntries, ids: &[i32]) -> Result<KeyStatistics> {
        let types = self.read.types();
        let scalar = |id| types(id).and_then(|data_type| data_type.scalar());
        KeyStatistics::try_new(ids, &scalar, &EntryStats::new(entries, &types))
    }

    /// Of an incremental selection, the entries that its snapshots added.
    fn added(&self, entries: ManifestEntries) -> Result<ManifestEntries> {
        let Selection::AddedBy(ids) = &self.request.selection else { return Ok(entries) };
        let added = entries.status()?.iter().zip(entries.snapshot_ids()?);
        let keep = added.map(|(status, id)| Some(status == Some(1) && id.is_none_or(|id| ids.contains(&id))));
        entries.filter(&keep.collect::<BooleanArray>())
    }

    fn bounds_match(
        &self,
        entries: ManifestEntries,
        tuples: PartitionTuples,
        partition: Arc<PartitionContext>,
        deletes: &DeleteIndex,
    ) -> Result<PlannedFiles> {
        let key = |path: &str| self.read.files.same_file_key(path);
        let verdicts = prune(&self.read.filter, &EntryStats::new(&entries, &self.read.types()))?;
        let strict = partition.strict(&self.read.filter, &self.read.types());
        // Counts and bounds may be wrong in harmless ways (a name mapping that changed); the partition tuple decides rows.
        let whole = prune(&strict, &tuples)?.all;
        let may = BooleanArray::from(verdicts.may);
        let whole = arrow_select::filter::filter(&BooleanArray::from(whole), &may)?;
        let whole = arrow_array::cast::as_boolean_array(&whole).clone();
        let (entries, tuples) = kept(&partition, entries, tuples, &may)?;
        let keyed = self.key_statistics(&entries, &deletes.equality_ids())?;
        let deletes = deletes.assign(&entries, &tuples, &keyed, partition.spec.spec_id, &key)?;
        let entries = entries.without_statistics()?;
        Ok(PlannedFiles { entries, tuples, partition, deletes, whole })
    }
}

impl PlannedFiles {
    /// The first files of which surely `remaining` rows come, which are subtracted; all when they do not suffice.
    fn limited(self, remaining: &mut u64) -> Result<Self> {
        let counts = self.entries.record_counts()?;
        let mut needed = 0;
        while needed < self.entries.len() && *remaining > 0 {
            if self.whole.value(needed) && self.deletes.row(needed).is_empty() {
                *remaining = remaining.saturating_sub(counts.value(needed).unsigned_abs());
            }
            needed += 1;
        }
        let entries = self.entries.slice(0..needed);
        let tuples = PartitionTuples::try_new(entries.partitions()?, &self.partition.fields, needed)?;
        Ok(Self { entries, tuples, ..self })
    }
}

/// The entries whose partition tuples may match.
fn partition_matches(
    read: &ReadContext,
    partition: &PartitionContext,
    entries: ManifestEntries,
) -> Result<(ManifestEntries, PartitionTuples)> {
    let tuples = PartitionTuples::try_new(entries.partitions()?, &partition.fields, entries.len())?;
    let filter = partition.inclusive(&read.filter, &read.types());
    if filter == BoundPredicate::True {
        return Ok((entries, tuples));
    }
    let Verdicts { may, .. } = prune(&filter, &tuples)?;
    kept(partition, entries, tuples, &may.into())
}

/// The entries where `may` is true.
fn kept(
    partition: &PartitionContext,
    entries: ManifestEntries,
    tuples: PartitionTuples,
    may: &BooleanArray,
) -> Result<(ManifestEntries, PartitionTuples)> {
    if may.true_count() == may.len() {
        return Ok((entries, tuples));
    }
    let entries = entries.filter(may)?;
    let tuples = PartitionTuples::try_new(entries.partitions()?, &partition.fields, entries.len())?;
    Ok((entries, tuples))
}

/// A data file that is live twice would double its rows.
fn refuse_duplicates(files: &[PlannedFiles]) -> Result<()> {
    use std::hash::BuildHasher;
    let hasher = hashbrown::DefaultHashBuilder::default();
    let mut hashes = Vec::with_capacity(files.iter().map(|f| f.entries.len()).sum());
    for files in files {
        let paths = files.entries.paths()?;
        hashes.extend((0..paths.len()).map(|row| hasher.hash_one(paths.value(row))));
    }
    hashes.sort_unstable();
    let twice: HashSet<u64> = hashes.array_windows().filter(|[a, b]| a == b).map(|[a, _]| *a).collect();
    if twice.is_empty() {
        return Ok(());
    }
    let mut seen = HashSet::new();
    for files in files {
        for path in files.entries.paths()?.iter().flatten().filter(|path| twice.contains(&hasher.hash_one(path))) {
            if !seen.insert(path) {
                return Err(Error::new(ErrorKind::CorruptManifest, "a data file is listed twice").with("file", path));
            }
        }
    }
    Ok(())
}

fn starts(files: &[PlannedFiles]) -> Vec<usize> {
    let mut starts = Vec::with_capacity(files.len() + 1);
    let mut total = 0;
    starts.push(total);
    for files in files {
        total += files.entries.len();
        starts.push(total);
    }
    starts
}
