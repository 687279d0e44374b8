//! Reads the manifests of snapshots and keeps the entries that may match. Manifests are read independently, one at a
//! time per thread. A thread keeps only the matching entries of a manifest before it reads the next one.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, BooleanArray};
use arrow_buffer::BooleanBuffer;
use bytes::Bytes;
use frazil_core::cache::Cache;
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use frazil_core::parallel;
use frazil_core::prune::prune;
use frazil_core::sql::predicate::BoundPredicate;
use frazil_core::storage::files::FileId;

use super::context::{PartitionContext, ReadContext};
use super::delete_index::{Assignments, DeleteIndex};
use super::key_range::KeyStatistics;
use super::partition::PartitionTuples;
use super::plan::{PlanRequest, PlannedFiles, ScanMetrics, Selection};
use super::prune::{EntryStats, KeyColumns, ManifestSummaries};
use super::statistics::ManifestStatistics;
use crate::spec::manifest::{self, DELETE_FILE_PATH_ID, ManifestEntries};
use crate::spec::manifest_list::{MANIFEST_LIMIT_BYTES, ManifestContent, ManifestFile};

/// The label of cached values of type [`ManifestStatistics`].
const KEPT: &str = "statistics of an Iceberg manifest";

/// A planner of one scan.
pub(super) struct Planner<'a> {
    read: &'a Arc<ReadContext>,
    request: &'a PlanRequest<'a>,
    context: &'a Context,
    specs: BTreeMap<i32, SpecFilter>,
}

/// The filter, projected to the partition tuples of a spec.
struct SpecFilter {
    partition: Arc<PartitionContext>,
    /// The predicate that the tuple of every matching row satisfies.
    inclusive: BoundPredicate,
    /// The predicate that only holds for tuples whose rows all match.
    strict: BoundPredicate,
}

/// The deletes of the snapshot, and their key columns.
struct PlannedDeletes<'a> {
    index: &'a DeleteIndex,
    key_ids: Vec<i32>,
}

/// The entries of a manifest that may match.
struct Verdict {
    may: BooleanBuffer,
    metrics: ScanMetrics,
}

impl<'a> Planner<'a> {
    pub(super) fn new(read: &'a Arc<ReadContext>, request: &'a PlanRequest<'a>, context: &'a Context) -> Self {
        let types = read.types();
        let filter = |partition: &Arc<PartitionContext>| SpecFilter {
            inclusive: partition.inclusive(&read.filter, &types),
            strict: partition.strict(&read.filter, &types),
            partition: partition.clone(),
        };
        let specs = read.partitions.iter().map(|(id, partition)| (*id, filter(partition))).collect();
        Self { read, request, context, specs }
    }

    /// Returns the manifests that may contain selected files, without duplicates: data manifests and delete manifests.
    pub(super) fn wanted(&self, mut manifests: Vec<ManifestFile>) -> (Vec<ManifestFile>, Vec<ManifestFile>) {
        let mut seen = HashSet::new();
        manifests.retain(|manifest| self.selected(manifest) && seen.insert(manifest.manifest_path.clone()));
        manifests.into_iter().partition(|manifest| manifest.content == ManifestContent::Data)
    }

    /// Returns the manifests that may match according to their partition summaries, in order.
    pub(super) fn matching<'m>(&self, manifests: &'m [ManifestFile]) -> Result<Vec<&'m ManifestFile>> {
        let mut by_spec: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
        for (i, manifest) in manifests.iter().enumerate() {
            by_spec.entry(manifest.partition_spec_id).or_default().push(i);
        }
        let mut kept = Vec::new();
        for (spec_id, positions) in by_spec {
            let spec = self.spec(spec_id)?;
            let group: Vec<&ManifestFile> = positions.iter().filter_map(|&i| manifests.get(i)).collect();
            let may = prune(&spec.inclusive, &ManifestSummaries::new(&group, &spec.partition.fields))?.may;
            kept.extend(positions.into_iter().zip(&may).filter(|(_, may)| *may).map(|(i, _)| i));
        }
        kept.sort_unstable();
        Ok(kept.into_iter().filter_map(|i| manifests.get(i)).collect())
    }

    fn selected(&self, manifest: &ManifestFile) -> bool {
        match &self.request.selection {
            Selection::Live => true,
            Selection::AddedBy(ids) => manifest.added_snapshot_id.is_none_or(|id| ids.contains(&id)),
        }
    }

    fn spec(&self, spec_id: i32) -> Result<&SpecFilter> {
        match self.specs.get(&spec_id) {
            Some(spec) => Ok(spec),
            None => Err(self
                .read
                .partition(spec_id)
                .err()
                .unwrap_or_else(|| Error::internal("a partition spec is missing"))),
        }
    }

    fn entries(&self, manifest: &ManifestFile, statistics_ids: &[i32]) -> Result<ManifestEntries> {
        self.decode(manifest, self.bytes(manifest)?, statistics_ids)
    }

    fn bytes(&self, manifest: &ManifestFile) -> Result<Bytes> {
        self.context.check()?;
        self.read.files.read(&manifest.manifest_path, MANIFEST_LIMIT_BYTES)
    }

    fn decode(&self, manifest: &ManifestFile, bytes: Bytes, statistics_ids: &[i32]) -> Result<ManifestEntries> {
        let entries = manifest::read(bytes, manifest, statistics_ids, self.context);
        entries.map_err(|e| e.with("file", &manifest.manifest_path))
    }

    /// Returns the entries of a delete manifest with statistics of their key columns, and the ids of these columns. The
    /// key columns are recorded only in the entries: the entries are read with the columns in `seen`, the key columns
    /// of other manifests, and read again if these do not suffice.
    fn delete_entries(
        &self,
        manifest: &ManifestFile,
        seen: &Mutex<BTreeSet<i32>>,
    ) -> Result<(ManifestEntries, Vec<i32>)> {
        let seen = || seen.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = self.bytes(manifest)?;
        let decode = |key_ids: &BTreeSet<i32>| {
            let ids: Vec<i32> = key_ids.iter().copied().chain([DELETE_FILE_PATH_ID]).collect();
            self.decode(manifest, bytes.clone(), &ids)
        };
        let expected = seen().clone();
        let mut entries = decode(&expected)?;
        let key_ids = entries.distinct_equality_ids()?;
        if !key_ids.is_subset(&expected) {
            seen().extend(&key_ids);
            entries = decode(&key_ids)?;
        }
        Ok((entries, key_ids.into_iter().collect()))
    }

    /// Returns the delete files of manifests whose partitions and keys may match.
    pub(super) fn delete_index(&self, manifests: &[&ManifestFile]) -> Result<DeleteIndex> {
        // Most writers of equality deletes use the identifier columns as keys.
        let seen = Mutex::new(self.read.schema.identifier_field_ids.iter().copied().collect());
        let decoded = parallel::map(manifests, self.request.workers, |manifest| {
            let (entries, key_ids) = self.delete_entries(manifest, &seen)?;
            let spec = self.spec(manifest.partition_spec_id)?;
            let tuples = PartitionTuples::try_new(entries.partitions()?, &spec.partition.fields, entries.len())?;
            // Equality deletes whose keys cannot match the filter only delete rows that do not match it, so a scan omits
            // them.
            let types = self.read.types();
            let mut may = prune(&spec.inclusive, &tuples)?.may;
            if !self.request.whole_files {
                may = &may & &prune(&self.read.filter, &KeyColumns::new(&entries, &types))?.may;
            }
            let may = BooleanArray::from(may);
            let (entries, tuples) = (entries.filter(&may)?, tuples.filter(&may)?);
            let keyed = self.key_statistics(&entries, &key_ids)?;
            let lease = self.context.budget.lease(entries.size_bytes() as u64)?;
            Ok((spec, entries, tuples, keyed, lease))
        })?;
        let mut index = DeleteIndex::default();
        for ((spec, entries, tuples, keyed, _), manifest) in decoded.iter().zip(manifests) {
            let spec = (spec.partition.spec.spec_id, spec.partition.spec.is_unpartitioned());
            index
                .push(entries, tuples, keyed, spec, &|path| self.read.files.same_file_key(path))
                .map_err(|e| e.with("manifest", &manifest.manifest_path))?;
        }
        index.finish();
        Ok(index)
    }

    /// Returns the data files of manifests that may match, and counts them in `metrics`.
    pub(super) fn data_files(
        &self,
        manifests: &[&ManifestFile],
        deletes: &DeleteIndex,
        metrics: &mut ScanMetrics,
    ) -> Result<Vec<PlannedFiles>> {
        let deletes = PlannedDeletes { index: deletes, key_ids: deletes.equality_ids() };
        let plan = |manifest: &&ManifestFile| self.files_of(manifest, &deletes);
        let mut planned = Vec::with_capacity(manifests.len());
        let mut remaining = self.request.limit;
        // With a limit, only as many manifests are read as may be needed.
        let step = if remaining.is_some() { self.request.workers.max(1) } else { manifests.len().max(1) };
        for manifests in manifests.chunks(step) {
            for (files, found) in parallel::map(manifests, self.request.workers, plan)? {
                metrics.files += found.files;
                metrics.files_skipped_by_partition += found.files_skipped_by_partition;
                metrics.files_skipped_by_bounds += found.files_skipped_by_bounds;
                planned.extend(match &mut remaining {
                    Some(remaining) => files.map(|files| files.limited(remaining)).transpose()?,
                    None => files,
                });
            }
            if remaining == Some(0) {
                break;
            }
        }
        planned.retain(|files| !files.entries().is_empty());
        Ok(planned)
    }

    /// Returns the files of one manifest that may match. Statistics cached by an earlier plan may show that there are
    /// none.
    fn files_of(
        &self,
        manifest: &ManifestFile,
        deletes: &PlannedDeletes<'_>,
    ) -> Result<(Option<PlannedFiles>, ScanMetrics)> {
        self.context.check()?;
        let (spec, types) = (self.spec(manifest.partition_spec_id)?, self.read.types());
        let file = self.identify(manifest)?;
        let kept = file.as_ref().and_then(|file| Cache::of_process().find::<ManifestStatistics>(KEPT, file));
        let covers = |kept: &&Arc<ManifestStatistics>| kept.covers(&spec.partition.fields, &self.read.filter, &types);
        if let Some(known) = kept.as_ref().filter(covers) {
            let verdict = self.judge(spec, known, BooleanBuffer::new_set(known.tuples().len()))?;
            if verdict.may.count_set_bits() == 0 {
                return Ok((None, verdict.metrics));
            }
            let entries = self.entries(manifest, &deletes.key_ids)?;
            if entries.len() == known.tuples().len() {
                return self.survivors(manifest, &entries, known.tuples(), deletes, verdict);
            }
        }
        let mut ids = self.read.filter_ids();
        ids.extend(&deletes.key_ids);
        ids.sort_unstable();
        ids.dedup();
        let entries = self.entries(manifest, &ids)?;
        let statistics = ManifestStatistics::try_new(&entries, &spec.partition.fields, &self.read.filter, &types)?;
        let tuples = statistics.tuples().clone();
        let verdict = self.judge(spec, &statistics, self.added(&entries)?)?;
        if let Some(file) = file {
            self.keep(file, statistics, kept.as_deref());
        }
        self.survivors(manifest, &entries, &tuples, deletes, verdict)
    }

    /// Returns the cache key of a manifest; None if it is not cached. Statistics are cached only for scans with
    /// filters.
    fn identify(&self, manifest: &ManifestFile) -> Result<Option<FileId>> {
        if self.read.filter == BoundPredicate::True || !matches!(self.request.selection, Selection::Live) {
            return Ok(None);
        }
        let file = self.read.files.identify(&manifest.manifest_path)?;
        Ok(file.map(|mut file| {
            if file.version.size_bytes == 0 {
                file.version.size_bytes = manifest.manifest_length.unsigned_abs();
            }
            file
        }))
    }

    fn keep(&self, file: FileId, statistics: ManifestStatistics, older: Option<&ManifestStatistics>) {
        let statistics = match older {
            Some(older) if older.tuples().fields() == statistics.tuples().fields() => statistics.with_columns_of(older),
            _ => statistics,
        };
        let bytes = (statistics.size_bytes() + file.location.len()) as u64;
        let left_bytes = self.context.budget.left_bytes();
        if bytes <= left_bytes {
            Cache::of_process().keep(KEPT, file, Arc::new(statistics), bytes);
            Cache::of_process().shrink(left_bytes);
        }
    }

    /// Evaluates the filter on the entries in `candidates`.
    fn judge(&self, spec: &SpecFilter, statistics: &ManifestStatistics, candidates: BooleanBuffer) -> Result<Verdict> {
        let files = candidates.count_set_bits();
        let mut may = candidates;
        if spec.inclusive != BoundPredicate::True {
            may = &may & &prune(&spec.inclusive, statistics.tuples())?.may;
        }
        let in_partitions = may.count_set_bits();
        if self.read.filter != BoundPredicate::True && in_partitions > 0 {
            may = &may & &prune(&self.read.filter, statistics)?.may;
        }
        let metrics = ScanMetrics {
            files,
            files_skipped_by_partition: files - in_partitions,
            files_skipped_by_bounds: in_partitions - may.count_set_bits(),
            ..ScanMetrics::default()
        };
        Ok(Verdict { may, metrics })
    }

    /// Returns the entries that may match, with their deletes.
    fn survivors(
        &self,
        manifest: &ManifestFile,
        entries: &ManifestEntries,
        tuples: &PartitionTuples,
        deletes: &PlannedDeletes<'_>,
        verdict: Verdict,
    ) -> Result<(Option<PlannedFiles>, ScanMetrics)> {
        let Verdict { may, metrics } = verdict;
        let spec = self.spec(manifest.partition_spec_id)?;
        if may.count_set_bits() == 0 {
            return Ok((None, metrics));
        }
        let keyed_entries = if deletes.key_ids.is_empty() { entries.planned() } else { entries.clone() };
        let (entries, tuples) = if may.count_set_bits() == may.len() {
            (keyed_entries, tuples.clone())
        } else {
            let may = BooleanArray::from(may);
            (keyed_entries.filter(&may)?, tuples.filter(&may)?)
        };
        // Only the partition tuple can prove that every row of a file matches. Counts and bounds may be inexact, for
        // example after a change of the name mapping.
        let whole = prune(&spec.strict, &tuples)?.all;
        let assigned = if deletes.index.is_empty() {
            Assignments::default()
        } else {
            let keyed = self.key_statistics(&entries, &deletes.key_ids)?;
            let key = |path: &str| self.read.files.same_file_key(path);
            deletes.index.assign(&entries, &tuples, &keyed, spec.partition.spec.spec_id, &key)?
        };
        let entries = entries.planned();
        let lease = self.context.budget.lease((entries.size_bytes() + assigned.size_bytes()) as u64)?;
        let files = PlannedFiles {
            manifest: manifest.manifest_path.clone(),
            entries,
            tuples,
            partition: spec.partition.clone(),
            deletes: assigned,
            whole,
            _lease: Arc::new(lease),
        };
        Ok((Some(files), metrics))
    }

    fn key_statistics(&self, entries: &ManifestEntries, ids: &[i32]) -> Result<KeyStatistics> {
        let types = self.read.types();
        let scalar = |id| types(id).and_then(|data_type| data_type.scalar());
        KeyStatistics::try_new(ids, &scalar, &EntryStats::new(entries, &types))
    }

    /// Returns the entries that the snapshots of an incremental selection added, or all entries for other selections.
    fn added(&self, entries: &ManifestEntries) -> Result<BooleanBuffer> {
        let Selection::AddedBy(ids) = &self.request.selection else { return Ok(BooleanBuffer::new_set(entries.len())) };
        let (status, snapshots) = (entries.status()?.values(), entries.snapshot_ids()?);
        let by = |row: usize| snapshots.filter(|ids| ids.is_valid(row)).map(|ids| ids.value(row));
        Ok(BooleanBuffer::collect_bool(entries.len(), |row| {
            status.get(row) == Some(&1) && by(row).is_none_or(|id| ids.contains(&id))
        }))
    }
}
