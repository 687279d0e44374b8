//! Reads the file entries of snapshots: manifest lists and manifests, and pruning before added and deleted entries are
//! combined. Pruning may use only properties that are the same for both: partition, bucket and level.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBuffer;
use frazil_core::context::Context;
use frazil_core::error::Result;
use frazil_core::parallel;
use frazil_core::prune::prune;
use frazil_core::sql::predicate::BoundPredicate;

use super::deletions::DeletionIndex;
use super::judged::{Judged, LeftOut};
use super::metrics::ScanMetrics;
use super::mode::{ReadMode, TableKind};
use super::partitions::Partitions;
use super::plan::{PlanRequest, Selection};
use super::prune::{ManifestStats, part_of};
use crate::context::{ReadContext, View};
use crate::spec::manifest::{self, ADD, ManifestEntries, WantedFields};
use crate::spec::manifest_list::{self, ManifestFileMeta};
use crate::spec::schema::TableSchema;
use crate::spec::snapshot::CommitKind;
use crate::table::Table;

/// Schemas by id.
pub(super) type Schemas = BTreeMap<i64, Arc<TableSchema>>;

/// The maximum length of a manifest or manifest list that is read.
const MANIFEST_LIMIT_BYTES: u64 = 2 << 30;

/// The default number of sorted runs from which a bucket is compacted; there is one more level.
const COMPACTION_TRIGGER: i64 = 5;

/// The reader of the metadata of a scan.
pub(super) struct MetadataReader<'a> {
    pub(super) table: &'a Table,
    pub(super) read: &'a ReadContext,
    pub(super) request: &'a PlanRequest,
    pub(super) context: &'a Context,
    pub(super) mode: ReadMode,
}

impl MetadataReader<'_> {
    /// Returns the wanted files of partitions that may match, and the schemas by which they were evaluated.
    pub(super) fn entries(&self, metrics: &mut ScanMetrics) -> Result<(Judged, Schemas)> {
        let least_level = self.least_level()?;
        let manifests = self.manifests()?;
        metrics.manifests = manifests.len();
        let manifests = self.matching(manifests, least_level)?;
        metrics.manifests_skipped = metrics.manifests - manifests.len();
        let schemas = Mutex::new(self.read.schemas.clone());
        let live = self.request.selection == Selection::Live;
        let mut left_out = self.left_out(&manifests);
        let (parts, skipped) = loop {
            let skipped = AtomicUsize::new(0);
            let parts = parallel::map(&manifests, self.request.workers, |manifest| {
                self.context.check()?;
                let path = self.path(&manifest.file_name);
                self.part(&path, (least_level, left_out), &skipped, &schemas).map_err(|e| e.with("file", path))
            })?;
            let deletes = |part: &Judged| part.entries.kinds().values().iter().any(|kind| *kind != ADD);
            if left_out == LeftOut::Stay || !live || !parts.iter().any(deletes) {
                break (parts, skipped);
            }
            // An entry deletes a file although the manifest list records no deletions. Manifests are read again without
            // dropping files.
            left_out = LeftOut::Stay;
        };
        metrics.entries_skipped_by_partition = skipped.into_inner();
        let mut judged = Judged::concat(parts)?;
        if let Some(lasting) = live.then(|| judged.entries.lasting()).transpose()?.flatten() {
            judged = judged.filter(&lasting)?;
        }
        Ok((self.recent(judged)?, schemas.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Returns how excluded files are handled when their manifest is read.
    fn left_out(&self, manifests: &[ManifestFileMeta]) -> LeftOut {
        let live = self.request.selection == Selection::Live;
        let deletes = live && manifests.iter().any(|manifest| manifest.num_deleted_files > 0);
        match self.mode.kind {
            _ if deletes || self.mode.files_since_ms.is_some() => LeftOut::Stay,
            TableKind::PrimaryKey { .. } if live => LeftOut::GoByKeys,
            TableKind::PrimaryKey { .. } | TableKind::Append { .. } | TableKind::DataEvolution => LeftOut::GoByRows,
        }
    }

    /// Returns the wanted entries of a manifest.
    fn part(
        &self,
        path: &str,
        (least_level, left_out): (i32, LeftOut),
        skipped: &AtomicUsize,
        schemas: &Mutex<Schemas>,
    ) -> Result<Judged> {
        let bytes = self.read.files.read(path, MANIFEST_LIMIT_BYTES)?;
        let wanted = self.wanted();
        let entries = self.selected(manifest::read(bytes, wanted, self.context)?, least_level, skipped)?;
        if wanted == WantedFields::FILES || self.mode.kind == TableKind::DataEvolution {
            return Ok(Judged::unknown(entries));
        }
        let known = |id: &i64| self.read.schemas.contains_key(id);
        if entries.schema_ids().values().iter().all(known) {
            return Judged::new(entries, self.read, left_out);
        }
        let schemas = {
            let mut schemas = schemas.lock().unwrap_or_else(PoisonError::into_inner);
            add_schemas(&mut schemas, self.table, &entries)?;
            schemas.clone()
        };
        Judged::new(entries, &ReadContext { schemas, ..self.read.clone() }, left_out)
    }

    /// Returns the files that were created late enough. The creation time does not identify a file, so this is
    /// evaluated only after added and deleted entries are combined.
    fn recent(&self, judged: Judged) -> Result<Judged> {
        let Some(since_ms) = self.mode.files_since_ms else { return Ok(judged) };
        let made = judged.entries.creation_times_ms().iter();
        let recent: BooleanArray = made.map(|made| Some(made.is_none_or(|made| made >= since_ms))).collect();
        judged.filter(&recent)
    }

    /// Returns the deletion vectors of the snapshot. Changes are read as they were written, without deletion vectors.
    pub(super) fn deletions(&self) -> Result<DeletionIndex> {
        let snapshot = self.request.snapshots.last().filter(|_| self.request.selection == Selection::Live);
        let Some(snapshot) = snapshot.filter(|snapshot| snapshot.index_manifest.is_some()) else {
            return Ok(DeletionIndex::default());
        };
        let entries = self.table.index_entries(snapshot, self.context)?;
        let index = DeletionIndex::try_new(entries, &|entry| self.table.index_location(entry));
        index.map_err(|error| error.with("snapshot", snapshot.id))
    }

    fn path(&self, name: &str) -> String {
        format!("{}/manifest/{name}", self.read.table_location)
    }

    fn manifests(&self) -> Result<Vec<ManifestFileMeta>> {
        let mut manifests = Vec::new();
        for snapshot in &self.request.snapshots {
            let lists: [Option<&String>; 2] = match self.request.selection {
                Selection::Live => [Some(&snapshot.base_manifest_list), Some(&snapshot.delta_manifest_list)],
                Selection::Delta if snapshot.commit_kind == CommitKind::Append => {
                    [Some(&snapshot.delta_manifest_list), None]
                }
                Selection::Changelog if snapshot.commit_kind != CommitKind::Overwrite => {
                    [snapshot.changelog_manifest_list.as_ref(), None]
                }
                Selection::Delta | Selection::Changelog => [None, None],
            };
            for list in lists.into_iter().flatten() {
                let path = self.path(list);
                let bytes = self.read.files.read(&path, MANIFEST_LIMIT_BYTES);
                let read = bytes.and_then(|bytes| manifest_list::read(bytes, self.context));
                manifests.extend(read.map_err(|e| e.with("file", path).with("snapshot", snapshot.id))?);
            }
        }
        Ok(manifests)
    }

    /// Returns the manifests that may have entries of matching partitions, in the buckets and levels that are read.
    fn matching(&self, manifests: Vec<ManifestFileMeta>, least_level: i32) -> Result<Vec<ManifestFileMeta>> {
        let may = prune(&self.partition_filter(), &ManifestStats::new(&manifests, self.read))?.may;
        let kept = manifests.into_iter().zip(&may).filter(|(manifest, may)| {
            // A bucket number can be tested only with the number of buckets of its partition, which is not known here.
            // Only manifests without assigned buckets are pruned.
            let bucket = manifest.max_bucket.is_none_or(has_bucket);
            let level = manifest.max_level.is_none_or(|level| level >= least_level);
            *may && bucket && level
        });
        Ok(kept.map(|(manifest, _)| manifest).collect())
    }

    /// Returns the wanted entries. Either all or no entries of a file are dropped here.
    fn selected(&self, entries: ManifestEntries, least_level: i32, skipped: &AtomicUsize) -> Result<ManifestEntries> {
        let partitions = self.selected_partitions(&entries)?;
        if let Some(partitions) = &partitions {
            skipped.fetch_add(partitions.len() - partitions.count_set_bits(), Ordering::Relaxed);
        }
        let changes = self.request.selection != Selection::Live;
        let others = entries.kinds().values().iter().zip(entries.levels().values()).zip(entries.buckets().values());
        let others = others
            .map(|((kind, level), bucket)| *level >= least_level && has_bucket(*bucket) && (!changes || *kind == ADD));
        let keep: BooleanBuffer = match &partitions {
            Some(partitions) => others.zip(partitions).map(|(other, partition)| other && partition).collect(),
            None => others.collect(),
        };
        if keep.count_set_bits() == keep.len() { Ok(entries) } else { entries.filter(&BooleanArray::from(keep)) }
    }

    /// Returns the entries of partitions that may match, or None for all.
    fn selected_partitions(&self, entries: &ManifestEntries) -> Result<Option<BooleanBuffer>> {
        let (filter, excluded) = (self.partition_filter(), &self.request.excluded_partitions);
        if filter == BoundPredicate::True && excluded.is_empty() {
            return Ok(None);
        }
        let partitions = Partitions::try_new(entries.partitions(), self.read)?;
        let may = partitions.judge(&filter)?.may;
        let may: BooleanBuffer = (0..may.len())
            .map(|partition| may.value(partition) && !excluded.contains(partitions.row(partition)))
            .collect();
        Ok(Some(partitions.spread(&may)))
    }

    /// Returns the level below which files are not read. In tables with deletion vectors or the first-row merge engine,
    /// files of level 0 are not visible until they are compacted. A read-optimized view reads only the highest level,
    /// which is fully merged.
    fn least_level(&self) -> Result<i32> {
        if self.request.selection == Selection::Changelog {
            return Ok(0);
        }
        if self.read.view != View::ReadOptimized || !self.read.has_primary_key() {
            return Ok(i32::from(self.mode.independent()));
        }
        let options = &self.read.options;
        let levels = match options.integer("num-levels")? {
            Some(levels) => levels,
            None => {
                options.integer("num-sorted-run.compaction-trigger")?.unwrap_or(COMPACTION_TRIGGER).saturating_add(1)
            }
        };
        Ok(i32::try_from(levels.saturating_sub(1)).unwrap_or(i32::MAX))
    }

    fn partition_filter(&self) -> BoundPredicate {
        part_of(&self.read.filter, &self.partition_ids())
    }

    fn partition_ids(&self) -> Vec<i32> {
        self.read.partition_fields().iter().map(|field| field.id).collect()
    }

    /// Returns the statistics that the filter needs.
    fn wanted(&self) -> WantedFields {
        let partitions = self.partition_ids();
        let keys: Vec<i32> = self.read.key_fields().iter().map(|field| field.id).collect();
        let columns = self.read.filter.columns();
        let mut others = columns.iter().map(|column| column.id).filter(|id| !partitions.contains(id));
        WantedFields {
            key_stats: others.clone().any(|id| keys.contains(&id)),
            value_stats: others.any(|id| !keys.contains(&id)),
        }
    }
}

/// Adds the schemas that files were written with.
pub(crate) fn add_schemas(schemas: &mut Schemas, table: &Table, entries: &ManifestEntries) -> Result<()> {
    let mut last = None;
    for id in entries.schema_ids().values() {
        if last != Some(*id) && !schemas.contains_key(id) {
            schemas.insert(*id, table.schema_by_id(*id)?);
        }
        last = Some(*id);
    }
    Ok(())
}

/// Returns whether a file is assigned to a bucket. Files without a bucket are not read.
fn has_bucket(bucket: i32) -> bool {
    bucket >= 0
}
