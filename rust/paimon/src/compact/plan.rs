//! Which files are rewritten together (Java's `CompactStrategy.pickFullCompaction`, `AppendCompactCoordinator` and
//! `BucketedAppendCompactManager`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::{BinaryArray, UInt32Array};
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use frazil_core::predicate::Predicate;

use super::task::{CompactTask, Shared};
use crate::commit::{Overwrite, Replaced};
use crate::read::output::Output;
use crate::scan::context::View;
use crate::scan::split::DataSplit;
use crate::scan::table_scan::{ScanOptions, TableScan};
use crate::scan::task::{SplitTask, TaskPlan};
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::manifest::{ManifestEntries, Wanted};
use crate::spec::options::Options;
use crate::table::{SnapshotChoice, Table};
use crate::write::change::Home;
use crate::write::check::check_writable;
use crate::write::file::FileSpec;

/// Sorted runs at which a bucket is compacted (`num-sorted-run.compaction-trigger`).
const DEFAULT_TRIGGER: i64 = 5;
/// Small files at which they are compacted (`compaction.min.file-num`).
const DEFAULT_MIN_FILES: i64 = 5;

/// What to compact.
#[derive(Debug, Clone)]
pub struct CompactRequest {
    /// Whether each bucket becomes one sorted run, and small files are rewritten however few they are.
    pub full: bool,
    /// The partitions, as in an overwrite; none for all.
    pub partitions: Vec<BTreeMap<String, Option<String>>>,
    /// How far the clock of this machine is ahead of UTC.
    pub utc_offset_ms: i64,
    /// Threads that plan.
    pub workers: usize,
}

/// Return what is to be rewritten, bucket by bucket.
///
/// # Errors
/// `Unsupported` for tables that are not written; `InvalidArgument` for partitions that do not exist.
pub fn plan(table: &Table, request: &CompactRequest, context: &Context) -> Result<Vec<CompactTask>> {
    let schema = table.schema();
    check_writable(schema)?;
    let Some(snapshot) = table.latest_snapshot()? else { return Ok(Vec::new()) };
    let live = selected(table, table.live_files(&snapshot, None, Wanted::ALL, context)?, request)?;
    let options = Options::new(schema.options.clone());
    let has_key = !schema.primary_keys.is_empty();
    let splits = splits(table, snapshot.id, has_key, request.workers, context)?;
    let shared = Arc::new(Shared::try_new(table, &options, snapshot.id, request.utc_offset_ms)?);
    let picker = Picker::try_new(&options, has_key, request.full)?;
    let mut tasks = Vec::new();
    for (home, rows) in by_home(&live) {
        let entries = live.take(&UInt32Array::from(rows))?;
        for (files, level) in picker.pick(&entries) {
            let removed = entries.take(&UInt32Array::from(files))?;
            let read = splits.get(&home).ok_or_else(|| Error::internal("a bucket was not planned"))?;
            let files = (0..removed.len()).map(|row| removed.file(row)).collect::<Result<Vec<DataFileMeta>>>()?;
            let split =
                DataSplit { files, deletion_files: Vec::new(), raw_convertible: !has_key, ..read.split.clone() };
            let read = SplitTask { split, ..read.clone() };
            tasks.push(CompactTask::try_new(shared.clone(), read, home.clone(), removed, level)?);
        }
    }
    Ok(tasks)
}

/// The files of the partitions that were asked for.
fn selected(table: &Table, live: ManifestEntries, request: &CompactRequest) -> Result<ManifestEntries> {
    if request.partitions.is_empty() {
        return Ok(live);
    }
    let none = BinaryArray::from_vec(Vec::new());
    let overwrite = Overwrite::Partitions(request.partitions.clone());
    let selected = live.filter(&Replaced::try_new(table.schema(), &overwrite, &none)?.of(live.partitions())?)?;
    if selected.is_empty() {
        return Err(Error::invalid("no partition has these values").hint("`table.inspect.partitions()` shows them"));
    }
    Ok(selected)
}

/// A split of each bucket, to be read with all columns.
fn splits(
    table: &Table,
    snapshot: i64,
    has_key: bool,
    workers: usize,
    context: &Context,
) -> Result<HashMap<Home, SplitTask>> {
    let options = ScanOptions {
        row_filter: Predicate::True,
        snapshot: SnapshotChoice::Id(snapshot),
        view: View::Rows,
        options: BTreeMap::new(),
        limit: None,
        case_sensitive: true,
    };
    let scan = TableScan::try_new(table, &options)?;
    let mut columns = vec!["*".to_string()];
    if has_key {
        columns.extend(["_ROW_KIND", "_SEQUENCE_NUMBER"].map(str::to_string));
    }
    let output = Output::select(scan.schema(), (View::Rows, scan.options()), &columns, true)?;
    let plan = TaskPlan::try_new(&scan, &output, workers, context)?;
    let mut found: HashMap<Home, SplitTask> = HashMap::new();
    for at in 0..plan.len() {
        let task = plan.task(at)?;
        let home = Home { partition: task.split.partition.clone().into(), bucket: task.split.bucket };
        found.entry(home).or_insert(task);
    }
    Ok(found)
}

/// The places of entries by bucket.
fn by_home(live: &ManifestEntries) -> BTreeMap<Home, Vec<u32>> {
    let mut homes: BTreeMap<Home, Vec<u32>> = BTreeMap::new();
    for ((row, partition), bucket) in (0_u32..).zip(live.partitions()).zip(live.buckets().values()) {
        let home = Home { partition: partition.unwrap_or_default().into(), bucket: *bucket };
        homes.entry(home).or_default().push(row);
    }
    homes
}

/// Decides which files of a bucket are rewritten together, and to which level.
struct Picker {
    full: bool,
    kind: Kind,
    target_bytes: i64,
}

enum Kind {
    Keyed {
        trigger: i64,
        levels: i64,
    },
    /// Files of fixed buckets stay in the order of their rows.
    Append {
        min_files: i64,
        is_ordered: bool,
    },
}

impl Picker {
    fn try_new(options: &Options, has_key: bool, full: bool) -> Result<Self> {
        let trigger = options.integer("num-sorted-run.compaction-trigger")?.unwrap_or(DEFAULT_TRIGGER).max(1);
        let kind = if has_key {
            let levels = options.integer("num-levels")?.unwrap_or(trigger.saturating_add(1));
            Kind::Keyed { trigger, levels }
        } else {
            let min_files = options.integer("compaction.min.file-num")?.unwrap_or(DEFAULT_MIN_FILES);
            Kind::Append { min_files, is_ordered: options.bucket()? > 0 }
        };
        let target = FileSpec::from_options(options, has_key)?.target_bytes;
        Ok(Self { full, kind, target_bytes: i64::try_from(target).unwrap_or(i64::MAX) })
    }

    /// The places of the files of each task, with the level of the files that replace them.
    fn pick(&self, entries: &ManifestEntries) -> Vec<(Vec<u32>, i32)> {
        match self.kind {
            Kind::Keyed { trigger, levels } => self.pick_keyed(entries, trigger, levels).into_iter().collect(),
            Kind::Append { min_files, is_ordered } => {
                self.pick_small(entries, min_files, is_ordered).into_iter().map(|files| (files, 0)).collect()
            }
        }
    }

    /// All files, unless they are one sorted run on the highest level.
    fn pick_keyed(&self, entries: &ManifestEntries, trigger: i64, levels: i64) -> Option<(Vec<u32>, i32)> {
        let found = entries.levels().values();
        let highest = found.iter().copied().max()?;
        let top = highest.max(i32::try_from(levels.saturating_sub(1)).unwrap_or(i32::MAX)).max(1);
        let level_0 = found.iter().filter(|level| **level == 0).count();
        let others: std::collections::BTreeSet<i32> = found.iter().copied().filter(|level| *level > 0).collect();
        let runs = i64::try_from(level_0.saturating_add(others.len())).unwrap_or(i64::MAX);
        let is_one_run = level_0 == 0 && others.iter().eq([&top]);
        let is_due = if self.full { !is_one_run } else { runs >= trigger };
        is_due.then(|| ((0_u32..).take(entries.len()).collect(), top))
    }

    /// Small files, up to the length that files are meant to have.
    fn pick_small(&self, entries: &ManifestEntries, min_files: i64, is_ordered: bool) -> Vec<Vec<u32>> {
        let sizes = entries.file_sizes().values();
        let size = |row: u32| usize::try_from(row).ok().and_then(|row| sizes.get(row)).copied().unwrap_or(i64::MAX);
        let small = self.target_bytes / 10 * 7;
        let first = entries.min_sequence_numbers().values();
        let mut order: Vec<u32> = (0_u32..).take(entries.len()).collect();
        order.sort_by_key(|row| usize::try_from(*row).ok().and_then(|row| first.get(row)).copied());
        let (mut groups, mut group, mut bytes) = (Vec::new(), Vec::new(), 0_i64);
        for row in order {
            if size(row) >= small {
                // Rows of a bucket with an order are not moved over those of another file.
                if is_ordered {
                    groups.push((std::mem::take(&mut group), std::mem::take(&mut bytes)));
                }
                continue;
            }
            group.push(row);
            bytes = bytes.saturating_add(size(row));
            if bytes >= self.target_bytes {
                groups.push((std::mem::take(&mut group), std::mem::take(&mut bytes)));
            }
        }
        groups.push((group, bytes));
        let is_due = |(files, bytes): &(Vec<u32>, i64)| {
            let count = i64::try_from(files.len()).unwrap_or(i64::MAX);
            count > 1 && (self.full || count >= min_files || *bytes >= self.target_bytes)
        };
        groups.into_iter().filter(is_due).map(|(files, _)| files).collect()
    }
}
