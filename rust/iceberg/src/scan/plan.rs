//! Plans a scan: finds the data files of a snapshot that may hold matching rows, each with its deletes (spec: "Scan
//! Planning").
//!
//! manifest list -> partition summaries -> manifests -> partition tuples -> counts and bounds -> deletes joined by columns.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::BooleanBuffer;
use frazil_core::context::{Context, Lease};
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::Files;

use super::context::{PartitionContext, ReadContext};
use super::delete_index::{Assignments, DeleteIndex};
use super::duplicates::refuse_duplicates;
use super::partition::PartitionTuples;
use super::planner::Planner;
use super::task::FileScanTask;
use crate::spec::manifest::{self, ManifestEntries};
use crate::spec::manifest_list::{self, MANIFEST_LIMIT_BYTES, ManifestFile};
use crate::spec::snapshot::Snapshot;

/// The files of a snapshot to select.
#[derive(Debug, Clone, Default)]
pub enum Selection {
    /// All live files.
    #[default]
    Live,
    /// The files that one of these snapshots added; deletes do not apply.
    AddedBy(HashSet<i64>),
}

/// The numbers of files that planning kept and skipped.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ScanMetrics {
    /// The data manifests of the snapshot.
    pub manifests: usize,
    /// The data manifests that were skipped by their partition summaries.
    pub manifests_skipped: usize,
    /// The live data files in the manifests that were read.
    pub files: usize,
    /// The data files that were skipped by their partition tuples.
    pub files_skipped_by_partition: usize,
    /// The data files that were skipped by their counts and bounds.
    pub files_skipped_by_bounds: usize,
    /// The delete files of the snapshot whose partitions may match.
    pub delete_files: usize,
}

/// The data files of one manifest that may match.
#[derive(Debug)]
pub struct PlannedFiles {
    pub(super) manifest: Arc<str>,
    pub(super) entries: ManifestEntries,
    pub(super) tuples: PartitionTuples,
    pub(super) partition: Arc<PartitionContext>,
    pub(super) deletes: Assignments,
    /// The files in which every row matches, according to their partition tuples.
    pub(super) whole: BooleanBuffer,
    /// The lease on the memory of the entries while other manifests are planned.
    pub(super) _lease: Arc<Lease>,
}

/// The data files of a scan with their deletes, stored in columns per manifest rather than as one object per file.
#[derive(Debug)]
pub struct Plan {
    read: Arc<ReadContext>,
    files: Vec<PlannedFiles>,
    deletes: Arc<DeleteIndex>,
    delete_paths: OnceLock<ArrayRef>,
    metrics: ScanMetrics,
    starts: Vec<usize>,
}

/// The input of planning.
#[derive(Debug)]
pub struct PlanRequest<'a> {
    /// The snapshot; empty for a table without one. For [`Selection::AddedBy`], all snapshots in the selection.
    pub snapshots: &'a [Arc<Snapshot>],
    /// The files to select.
    pub selection: Selection,
    /// The number of rows after which planning may stop.
    pub limit: Option<u64>,
    /// Whether rows that do not match the filter are also read, for example to rewrite files. If so, deletes whose keys
    /// cannot match the filter are applied, too.
    pub whole_files: bool,
    /// The number of threads that may decode manifests.
    pub workers: usize,
}

impl Plan {
    /// Plans a scan.
    ///
    /// # Errors
    /// `CorruptManifest`, `MissingFile` and `PathNotAllowed` with the manifest or manifest list.
    pub fn try_new(read: Arc<ReadContext>, request: &PlanRequest<'_>, context: &Context) -> Result<Self> {
        let mut manifests = Vec::new();
        for snapshot in request.snapshots {
            manifests.extend(manifests_of(snapshot, &read.files, context)?);
        }
        Self::of_manifests(read, manifests, request, context)
    }

    /// Plans a scan of snapshots whose manifests are known.
    ///
    /// # Errors
    /// See [`Plan::try_new`].
    pub(crate) fn of_manifests(
        read: Arc<ReadContext>,
        manifests: Vec<ManifestFile>,
        request: &PlanRequest<'_>,
        context: &Context,
    ) -> Result<Self> {
        let planner = Planner::new(&read, request, context);
        let (data, deletes) = planner.wanted(manifests);
        let mut metrics = ScanMetrics { manifests: data.len(), ..ScanMetrics::default() };
        let deletes = match request.selection {
            Selection::Live => planner.delete_index(&planner.matching(&deletes)?)?,
            Selection::AddedBy(_) => DeleteIndex::default(),
        };
        metrics.delete_files = deletes.files().len();
        let data = planner.matching(&data)?;
        metrics.manifests_skipped = metrics.manifests - data.len();
        let files = planner.data_files(&data, &deletes, &mut metrics)?;
        // Two appends may have added the same file, if it was removed in between.
        if matches!(request.selection, Selection::Live) {
            refuse_duplicates(&files, request.workers)?;
        }
        let starts = starts(&files);
        Ok(Self { read, files, deletes: Arc::new(deletes), delete_paths: OnceLock::new(), metrics, starts })
    }

    /// Returns the state that all tasks share.
    pub fn read(&self) -> &Arc<ReadContext> {
        &self.read
    }

    /// Returns the numbers of files that were kept and skipped.
    pub fn metrics(&self) -> &ScanMetrics {
        &self.metrics
    }

    /// Returns the number of data files.
    pub fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Returns whether there are no data files.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the files of each manifest.
    pub fn files(&self) -> &[PlannedFiles] {
        &self.files
    }

    /// Returns the delete files of the snapshot.
    pub fn deletes(&self) -> &DeleteIndex {
        &self.deletes
    }

    /// Returns the paths of the delete files, by number.
    pub(super) fn delete_paths(&self) -> ArrayRef {
        let paths = self.deletes.files().iter().map(|file| &*file.path);
        self.delete_paths.get_or_init(|| Arc::new(StringArray::from_iter_values(paths))).clone()
    }

    /// Returns the task of the data file at `index`, in the order of the manifests.
    pub fn task(&self, index: usize) -> Result<FileScanTask> {
        let (files, row) = self.place(index)?;
        files.task(row, &self.read, &self.deletes)
    }

    /// Returns the manifest that lists the data file at `index`, and whether its partition tuple proves that every row
    /// of the file matches the filter.
    pub fn origin(&self, index: usize) -> Result<(&Arc<str>, bool)> {
        let (files, row) = self.place(index)?;
        Ok((&files.manifest, files.whole.value(row)))
    }

    fn place(&self, index: usize) -> Result<(&PlannedFiles, usize)> {
        let group = self.starts.partition_point(|&start| start <= index).saturating_sub(1);
        let files = self.files.get(group).filter(|_| index < self.len());
        let files = files.ok_or_else(|| {
            Error::invalid(format!("task {index} is out of range for a plan of {} tasks", self.len()))
        })?;
        Ok((files, index - self.starts.get(group).copied().unwrap_or(0)))
    }

    /// Returns the number of matching rows in files that need not be read, and the tasks of the files that must be
    /// read.
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
    /// Returns the manifest entries.
    pub fn entries(&self) -> &ManifestEntries {
        &self.entries
    }

    /// Returns the partition tuples of the entries.
    pub fn tuples(&self) -> &PartitionTuples {
        &self.tuples
    }

    /// Returns the partition spec of the entries.
    pub fn partition(&self) -> &Arc<PartitionContext> {
        &self.partition
    }

    /// Returns the delete files of the entries.
    pub fn deletes(&self) -> &Assignments {
        &self.deletes
    }

    /// Returns the task of an entry, with its deletes out of `deletes`.
    pub(super) fn task(&self, row: usize, read: &Arc<ReadContext>, deletes: &DeleteIndex) -> Result<FileScanTask> {
        let numbers = self.deletes.row(row).iter();
        let deletes = numbers.filter_map(|&n| deletes.files().get(usize::try_from(n).ok()?).cloned()).collect();
        FileScanTask::from_entry(read.clone(), &self.entries, &self.tuples, self.partition.spec.spec_id, row, deletes)
    }

    /// Returns the first entries that certainly contain `remaining` matching rows, and subtracts the rows that they
    /// contain. Returns all entries if they contain fewer.
    pub(super) fn limited(self, remaining: &mut u64) -> Result<Self> {
        let counts = self.entries.record_counts()?;
        let mut needed = 0;
        while needed < self.entries.len() && *remaining > 0 {
            if self.whole.value(needed) && self.deletes.row(needed).is_empty() {
                *remaining = remaining.saturating_sub(counts.value(needed).unsigned_abs());
            }
            needed += 1;
        }
        let entries = self.entries.slice(0..needed);
        let tuples = self.tuples.slice(0..needed);
        Ok(Self { entries, tuples, ..self })
    }
}

/// The hint for a missing file of a snapshot.
const EXPIRED: &str = "the snapshot may have expired since the table was loaded; refresh the table";

/// Returns the manifests of a snapshot.
pub(crate) fn manifests_of(snapshot: &Snapshot, files: &Files, context: &Context) -> Result<Vec<ManifestFile>> {
    let named = |e: Error| {
        let e = e.with("snapshot", snapshot.snapshot_id);
        if e.kind() == ErrorKind::MissingFile { e.hint(EXPIRED) } else { e }
    };
    if let Some(list) = &snapshot.manifest_list {
        let bytes = files.read(list, MANIFEST_LIMIT_BYTES).map_err(named)?;
        return manifest_list::read(bytes, context).map_err(|e| named(e.with("file", list)));
    }
    // A v1 snapshot may reference its manifests inline; the manifests themselves then provide the fields of a manifest
    // list.
    let inline = snapshot.manifests.iter().flatten();
    inline
        .map(|path| {
            let bytes = files.read(path, MANIFEST_LIMIT_BYTES).map_err(named)?;
            let spec_id = manifest::partition_spec_id(&bytes).map_err(|e| named(e.with("file", path)))?;
            Ok(ManifestFile { partition_spec_id: spec_id, ..ManifestFile::inline(path) })
        })
        .collect()
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
