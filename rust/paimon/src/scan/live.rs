//! From snapshots to entries of files: manifest lists, manifests, and what is left out before added and deleted entries
//! meet. Only what is the same for both may be looked at here: partition, bucket and level.

use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::BooleanArray;
use frazil_core::context::Context;
use frazil_core::error::Result;
use frazil_core::parallel;
use frazil_core::prune::prune;

use super::context::{ReadContext, View};
use super::deletions::DeletionIndex;
use super::mode::ReadMode;
use super::partitions::Partitions;
use super::plan::{PlanRequest, ScanMetrics, Selection, bucket_path};
use super::prune::{ManifestStats, part_of};
use crate::spec::index_manifest::{self, IndexEntry};
use crate::spec::manifest::{self, ADD, ManifestEntries, Wanted};
use crate::spec::manifest_list::{self, ManifestFileMeta};
use crate::spec::snapshot::CommitKind;

/// A manifest or manifest list is not read when it is longer than this.
const MANIFEST_LIMIT_BYTES: u64 = 2 << 30;

/// How many sorted runs a bucket has when it is compacted, by default; there is one level more.
const COMPACTION_TRIGGER: i64 = 5;

/// Reads the metadata of a scan.
pub(super) struct MetadataReader<'a> {
    pub(super) read: &'a ReadContext,
    pub(super) request: &'a PlanRequest,
    pub(super) context: &'a Context,
    pub(super) mode: ReadMode,
}

impl MetadataReader<'_> {
    /// The files that are wanted, of partitions that may match.
    pub(super) fn entries(&self, metrics: &mut ScanMetrics) -> Result<ManifestEntries> {
        let manifests = self.manifests()?;
        metrics.manifests = manifests.len();
        let manifests = self.matching(manifests)?;
        metrics.manifests_skipped = metrics.manifests - manifests.len();
        let skipped = AtomicUsize::new(0);
        let wanted = self.wanted();
        let parts = parallel::map(&manifests, self.request.workers, |manifest| {
            self.context.check()?;
            let path = self.path(&manifest.file_name);
            let bytes = self.read.files.read(&path, MANIFEST_LIMIT_BYTES)?;
            let entries = manifest::read(bytes, wanted, self.context);
            entries.and_then(|entries| self.selected(entries, &skipped)).map_err(|e| e.with("file", path))
        })?;
        metrics.entries_skipped_by_partition = skipped.into_inner();
        let entries = ManifestEntries::concat(&parts)?;
        if self.request.selection == Selection::Live { entries.live() } else { Ok(entries) }
    }

    /// The deletion vectors of the snapshot. Changes are read as they were written, without them.
    pub(super) fn deletions(&self) -> Result<DeletionIndex> {
        let snapshot = self.request.snapshots.last().filter(|_| self.request.selection == Selection::Live);
        let Some(name) = snapshot.and_then(|snapshot| snapshot.index_manifest.as_ref()) else {
            return Ok(DeletionIndex::default());
        };
        let path = self.path(name);
        let bytes = self.read.files.read(&path, MANIFEST_LIMIT_BYTES)?;
        let entries = index_manifest::read(bytes, self.context).map_err(|e| e.with("file", &path))?;
        let beside_data = self.read.options.boolean("index-file-in-data-file-dir", false)?;
        let location = |entry: &IndexEntry| {
            let folder = if beside_data { self.bucket_path(entry)? } else { "index".to_string() };
            Ok(format!("{}/{folder}/{}", self.read.table_location, entry.file_name))
        };
        DeletionIndex::try_new(entries, &location).map_err(|e| e.with("index manifest", &path))
    }

    fn bucket_path(&self, entry: &IndexEntry) -> Result<String> {
        let partition = arrow_array::BinaryArray::from_vec(vec![entry.partition.as_slice()]);
        let folder = Partitions::try_new(&partition, self.read)?.folder(self.read, 0)?;
        Ok(bucket_path(&folder, entry.bucket))
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

    /// The manifests that may have entries of matching partitions, on levels that are read.
    fn matching(&self, manifests: Vec<ManifestFileMeta>) -> Result<Vec<ManifestFileMeta>> {
        let ids = self.partition_ids();
        let may = prune(&part_of(&self.read.filter, &ids), &ManifestStats::new(&manifests, self.read))?.may;
        let least_level = self.least_level()?;
        let level = |manifest: &ManifestFileMeta| {
            least_level.zip(manifest.max_level).is_none_or(|(least, greatest)| greatest >= least)
        };
        let kept = manifests.into_iter().zip(&may).filter(|(manifest, may)| *may && level(manifest));
        Ok(kept.map(|(manifest, _)| manifest).collect())
    }

    fn selected(&self, entries: ManifestEntries, skipped: &AtomicUsize) -> Result<ManifestEntries> {
        let partitions = Partitions::try_new(entries.partitions(), self.read)?;
        let may = partitions.judge(&part_of(&self.read.filter, &self.partition_ids()))?.may;
        let excluded = &self.request.excluded_partitions;
        let may: arrow_buffer::BooleanBuffer = (0..may.len())
            .map(|partition| may.value(partition) && !excluded.contains(partitions.row(partition)))
            .collect();
        let may = partitions.spread(&may);
        skipped.fetch_add(may.false_count(), Ordering::Relaxed);
        let changes = self.request.selection != Selection::Live;
        let least_level = self.least_level()?;
        let (kinds, levels, buckets) =
            (entries.kinds().values(), entries.levels().values(), entries.buckets().values());
        let read = kinds.iter().zip(levels).zip(buckets).zip(&may);
        let keep: BooleanArray = read
            .map(|(((kind, level), bucket), may)| {
                let level = least_level.is_none_or(|least| *level >= least);
                Some(may == Some(true) && level && *bucket >= 0 && (!changes || *kind == ADD))
            })
            .collect();
        if keep.true_count() == keep.len() { Ok(entries) } else { entries.filter(&keep) }
    }

    /// The level below which files are not read. What level 0 holds of tables that look rows up when they compact is not
    /// yet part of the table; a read-optimized view has the highest level only, whose rows are merged.
    fn least_level(&self) -> Result<Option<i32>> {
        if self.request.selection == Selection::Changelog {
            return Ok(None);
        }
        if self.read.view != View::ReadOptimized || !self.read.has_primary_key() {
            return Ok(self.mode.independent().then_some(1));
        }
        let options = &self.read.options;
        let levels = match options.integer("num-levels")? {
            Some(levels) => levels,
            None => options.integer("num-sorted-run.compaction-trigger")?.unwrap_or(COMPACTION_TRIGGER).saturating_add(1),
        };
        Ok(Some(i32::try_from(levels.saturating_sub(1)).unwrap_or(i32::MAX)))
    }

    fn partition_ids(&self) -> Vec<i32> {
        self.read.partition_fields().iter().map(|field| field.id).collect()
    }

    /// The statistics that the filter asks for.
    fn wanted(&self) -> Wanted {
        let partitions = self.partition_ids();
        let keys: Vec<i32> = self.read.key_fields().iter().map(|field| field.id).collect();
        let columns = self.read.filter.columns();
        let mut others = columns.iter().map(|column| column.id).filter(|id| !partitions.contains(id));
        Wanted {
            key_stats: others.clone().any(|id| keys.contains(&id)),
            value_stats: others.any(|id| !keys.contains(&id)),
        }
    }
}
