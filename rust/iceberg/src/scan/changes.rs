//! Plans changes: the files that each snapshot added and removed, and the files in which it deleted rows.
//!
//! Each snapshot is compared with its parent. A data file that only the parent has is read with the deletes of the
//! parent; its rows are DELETE. A file that only the snapshot has is read with the deletes of the snapshot; its rows
//! are INSERT. A file that both have is read with both sets of deletes if they differ.

use std::collections::HashSet;
use std::sync::Arc;

use frazil_core::changes::ChangeMode;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::pack::first_fit_decreasing;
use hashbrown::HashMap;

use super::change_scan::{ChangeScan, Commit, Parent};
use super::context::ReadContext;
use super::delete_index::{DeleteFile, DeleteIndex};
use super::output::MetadataColumn;
use super::plan::{Plan, PlanRequest, PlannedFiles, ScanMetrics, Selection, manifests_of};
use super::planner::Planner;
use super::task::FileScanTask;
use crate::spec::manifest_list::ManifestFile;
use crate::spec::schema::Schema;
use crate::spec::snapshot::Snapshot;

/// How the rows of a stage are paired. The columns of the table are first, followed by the row id if rows are
/// identified by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pairing {
    /// The number of columns of the table.
    pub columns: usize,
    /// The positions of the columns that identify rows; empty if no updates are computed.
    pub identifiers: Vec<usize>,
    /// Whether a delete and an insert of the same row in different commits cancel each other.
    pub across_commits: bool,
}

impl Pairing {
    /// Returns whether rows are identified by their row ids.
    pub fn by_row_id(&self) -> bool {
        self.identifiers.contains(&self.columns)
    }

    /// Returns the field ids of the columns that identify rows.
    pub(super) fn identifier_ids(&self, schema: &Schema) -> Vec<i32> {
        self.identifiers.iter().filter_map(|&at| schema.fields.fields.get(at)).map(|field| field.id).collect()
    }
}

/// A data file in which a snapshot changed rows.
#[derive(Debug, Clone)]
pub struct ChangeTask {
    /// The number of the snapshot in the range.
    pub ordinal: i32,
    /// The snapshot.
    pub snapshot_id: i64,
    /// The file with its deletes in the parent; None if it is not in the parent.
    pub before: Option<FileScanTask>,
    /// The file with its deletes in the snapshot; None if it is not in the snapshot.
    pub after: Option<FileScanTask>,
}

/// A set of data files. If their rows are paired, the files are read together; otherwise each can be read separately.
#[derive(Debug, Clone)]
pub struct ChangeStage {
    /// The context with which the files are read.
    pub read: Arc<ReadContext>,
    /// The context of the returned rows.
    pub result: Arc<ReadContext>,
    /// How the rows are paired; None if each file can be read separately.
    pub pairing: Option<Pairing>,
    /// The files.
    pub tasks: Vec<ChangeTask>,
}

impl ChangeStage {
    /// Returns the units that can be read separately, in any process: the stage itself if its rows are paired,
    /// otherwise groups of files of about `target_bytes`, in which each file counts as at least `open_cost_bytes`.
    pub fn groups(&self, target_bytes: i64, open_cost_bytes: i64) -> Vec<Self> {
        if self.pairing.is_some() {
            return vec![self.clone()];
        }
        let weight = |task: &ChangeTask| {
            let bytes = task.before.iter().chain(&task.after).map(FileScanTask::size_bytes);
            bytes.fold(0, i64::saturating_add).max(open_cost_bytes)
        };
        let groups = first_fit_decreasing(self.tasks.clone(), target_bytes, weight);
        groups.into_iter().map(|tasks| Self { tasks, ..self.clone() }).collect()
    }
}

/// The files to read, in the order of the snapshots.
#[derive(Debug)]
pub struct ChangePlan {
    /// The stages.
    pub stages: Vec<ChangeStage>,
}

/// The files of one snapshot, or only those that its parent lists differently.
struct Files {
    deletes: Arc<DeleteIndex>,
    data: Vec<PlannedFiles>,
}

/// The changes of one snapshot.
#[derive(Default)]
struct Changed {
    /// Each file with its deletes before and after the snapshot.
    tasks: Vec<(Option<FileScanTask>, Option<FileScanTask>)>,
    inserts: bool,
    deletes: bool,
}

impl ChangePlan {
    pub(super) fn try_new(scan: &ChangeScan, workers: usize, context: &Context) -> Result<Self> {
        let request =
            PlanRequest { snapshots: &[], selection: Selection::Live, limit: None, whole_files: false, workers };
        let comparison = Comparison { scan, planner: Planner::new(&scan.paired, &request, context), workers, context };
        let mut stages: Vec<ChangeStage> = Vec::new();
        for (ordinal, commit) in (0_i32..).zip(&scan.commits) {
            context.check()?;
            let changed = comparison.changed(commit).map_err(|e| e.with("snapshot", commit.snapshot.snapshot_id))?;
            if !changed.tasks.is_empty() {
                stage(scan, &mut stages, changed, (ordinal, commit.snapshot.snapshot_id));
            }
        }
        for stage in &mut stages {
            alone_if_possible(scan, stage);
        }
        Ok(Self { stages })
    }
}

/// Appends the changes of a snapshot to the last stage if its rows are paired in the same way. Otherwise begins a new
/// stage.
fn stage(scan: &ChangeScan, stages: &mut Vec<ChangeStage>, changed: Changed, commit: (i32, i64)) {
    let (ordinal, snapshot_id) = commit;
    let both = changed.inserts && changed.deletes;
    let pairs = match scan.mode {
        ChangeMode::Carryovers => false,
        ChangeMode::Net => true,
        ChangeMode::Changes | ChangeMode::Updates(_) => both,
    };
    let tasks = changed.tasks.into_iter().map(|(before, after)| ChangeTask { ordinal, snapshot_id, before, after });
    match stages.last_mut() {
        Some(last) if last.pairing.is_some() == pairs && (!pairs || scan.pairing.across_commits) => {
            last.tasks.extend(tasks);
        }
        _ => stages.push(ChangeStage {
            read: scan.paired.clone(),
            result: scan.result.clone(),
            pairing: pairs.then(|| scan.pairing.clone()),
            tasks: tasks.collect(),
        }),
    }
}

/// Turns off pairing for a stage that has only added or only removed files, so that only the returned columns are read.
fn alone_if_possible(scan: &ChangeScan, stage: &mut ChangeStage) {
    let may = |side: fn(&ChangeTask) -> bool| stage.tasks.iter().any(side);
    if stage.pairing.is_some() && may(|task| task.before.is_some()) && may(|task| task.after.is_some()) {
        return;
    }
    stage.pairing = None;
    stage.read = scan.result.clone();
    for task in &mut stage.tasks {
        for file in task.before.iter_mut().chain(&mut task.after) {
            file.read = scan.result.clone();
        }
    }
}

struct Comparison<'a> {
    scan: &'a ChangeScan,
    planner: Planner<'a>,
    workers: usize,
    context: &'a Context,
}

impl Comparison<'_> {
    fn changed(&self, commit: &Commit) -> Result<Changed> {
        let before = match &commit.parent {
            Parent::Empty => Vec::new(),
            Parent::Snapshot(parent) => self.manifests(parent)?,
            Parent::Expired(id) => return self.appended(&commit.snapshot, *id),
        };
        let after = self.manifests(&commit.snapshot)?;
        let (data_before, deletes_before) = self.planner.wanted(before);
        let (data_after, deletes_after) = self.planner.wanted(after);
        if paths(&deletes_before) == paths(&deletes_after) {
            let (own_before, own_after) = (without(&data_before, &data_after), without(&data_after, &data_before));
            if own_before.is_empty() && own_after.is_empty() {
                return Ok(Changed::default());
            }
            let deletes = self.deletes(&deletes_after)?;
            let (before, after) = (self.files(&own_before, &deletes)?, self.files(&own_after, &deletes)?);
            return self.compare(&before, &after);
        }
        let before = self.files(&data_before, &self.deletes(&deletes_before)?)?;
        let after = self.files(&data_after, &self.deletes(&deletes_after)?)?;
        self.compare(&before, &after)
    }

    /// Returns the changes of an append, without reading its parent.
    fn appended(&self, snapshot: &Arc<Snapshot>, parent: i64) -> Result<Changed> {
        if snapshot.operation() != Some("append") {
            let message = format!("its parent {parent}, with which it is compared, has expired");
            return Err(Error::new(ErrorKind::NoSuchSnapshot, message)
                .with("table", &self.scan.metadata_location)
                .hint(format!("begin after it: from_snapshot_id_exclusive={}", snapshot.snapshot_id)));
        }
        let request = PlanRequest {
            snapshots: std::slice::from_ref(snapshot),
            selection: Selection::AddedBy(HashSet::from([snapshot.snapshot_id])),
            limit: None,
            whole_files: false,
            workers: self.workers,
        };
        let plan = Plan::try_new(self.scan.paired.clone(), &request, self.context)?;
        let tasks = (0..plan.len()).map(|index| Ok((None, Some(plan.task(index)?)))).collect::<Result<Vec<_>>>()?;
        Ok(Changed { inserts: !tasks.is_empty(), tasks, deletes: false })
    }

    fn manifests(&self, snapshot: &Snapshot) -> Result<Vec<ManifestFile>> {
        manifests_of(snapshot, &self.scan.paired.files, self.context)
    }

    fn deletes(&self, manifests: &[ManifestFile]) -> Result<Arc<DeleteIndex>> {
        Ok(Arc::new(self.planner.delete_index(&self.planner.matching(manifests)?)?))
    }

    fn files(&self, manifests: &[ManifestFile], deletes: &Arc<DeleteIndex>) -> Result<Files> {
        let matching = self.planner.matching(manifests)?;
        let data = self.planner.data_files(&matching, deletes, &mut ScanMetrics::default())?;
        Ok(Files { deletes: deletes.clone(), data })
    }

    fn compare(&self, before: &Files, after: &Files) -> Result<Changed> {
        let mut old = before.by_path()?;
        let mut changed = Changed::default();
        let mut seen = HashSet::new();
        for (place, path) in after.places()? {
            self.context.check()?;
            if !seen.insert(path) {
                return Err(listed_twice(path));
            }
            let now = || self.task(after, place);
            match old.remove(path) {
                None => {
                    changed.tasks.push((None, Some(now()?)));
                    changed.inserts = true;
                }
                Some(own) if before.numbers(own).is_empty() && after.numbers(place).is_empty() => {}
                Some(own) => {
                    let (before, after) = (self.task(before, own)?, now()?);
                    let gone = !within(&before.deletes, &after.deletes);
                    let new = !within(&after.deletes, &before.deletes);
                    if gone || new {
                        changed.inserts |= gone;
                        changed.deletes |= new;
                        changed.tasks.push((Some(before), Some(after)));
                    }
                }
            }
        }
        let mut removed: Vec<(usize, usize)> = old.into_values().collect();
        removed.sort_unstable();
        changed.deletes |= !removed.is_empty();
        for place in removed {
            changed.tasks.push((Some(self.task(before, place)?), None));
        }
        Ok(changed)
    }

    fn task(&self, files: &Files, (manifest, row): (usize, usize)) -> Result<FileScanTask> {
        let planned = files.data.get(manifest).ok_or_else(|| Error::internal("a planned file is missing"))?;
        planned.task(row, &self.scan.paired, &files.deletes)
    }
}

impl Files {
    /// Returns the manifest and row of each file, with its path.
    fn places(&self) -> Result<Vec<((usize, usize), &str)>> {
        let mut places = Vec::new();
        for (manifest, planned) in self.data.iter().enumerate() {
            let paths = planned.entries().paths()?;
            places.extend((0..planned.entries().len()).map(|row| ((manifest, row), paths.value(row))));
        }
        Ok(places)
    }

    fn by_path(&self) -> Result<HashMap<&str, (usize, usize)>> {
        let mut by_path = HashMap::new();
        for (place, path) in self.places()? {
            if by_path.insert(path, place).is_some() {
                return Err(listed_twice(path));
            }
        }
        Ok(by_path)
    }

    fn numbers(&self, (manifest, row): (usize, usize)) -> &[i32] {
        self.data.get(manifest).map_or(&[], |planned| planned.deletes().row(row))
    }
}

/// Returns whether `others` contains every delete file of `some`.
fn within(some: &[DeleteFile], others: &[DeleteFile]) -> bool {
    some.iter()
        .all(|file| others.iter().any(|other| other.path == file.path && other.content_range == file.content_range))
}

fn paths(manifests: &[ManifestFile]) -> HashSet<&str> {
    manifests.iter().map(|manifest| &*manifest.manifest_path).collect()
}

fn without(manifests: &[ManifestFile], others: &[ManifestFile]) -> Vec<ManifestFile> {
    let others = paths(others);
    manifests.iter().filter(|manifest| !others.contains(&*manifest.manifest_path)).cloned().collect()
}

#[cold]
fn listed_twice(path: &str) -> Error {
    Error::new(ErrorKind::CorruptManifest, "a data file is listed twice").with("file", path)
}

/// Returns whether a scan column is computed by the tasks instead of being a column of the table.
pub(super) fn is_own(field_id: i32) -> bool {
    [MetadataColumn::Deleted, MetadataColumn::RowId].iter().any(|column| column.field_id() == field_id)
}
