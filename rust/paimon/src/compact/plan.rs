//! Groups the files that are rewritten together. Files of append tables are picked by length (Java's
//! `AppendCompactCoordinator` and `BucketedAppendCompactManager`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{Array, BinaryArray, BooleanArray, UInt32Array};
use arrow_buffer::BooleanBuffer;
use frazil_core::clock::now_ms;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::prune::ColumnStats;
use frazil_core::sql::expression::Expression;
use frazil_core::sql::predicate::BoundColumn;
use frazil_core::sql::predicate::bind::bind;
use frazil_core::sql::predicate::eval::evaluate;

use super::bucket_reader::{Reads, read_context, total_buckets};
use super::changelog::ChangelogOutput;
use super::lookup::LookupRule;
use super::task::{CompactTask, GroupRead, Shared};
use super::upgrade::Upgrades;
use super::vectors::BucketVectors;
use super::{Level0, Levels, Now, Picker, Strategy, Unit, pick_full};
use crate::commit::{Overwrite, Replaced};
use crate::context::ReadContext;
use crate::merge::Watch;
use crate::merge::section::KeyRanges;
use crate::read::expiry::Expiry;
use crate::scan::deletions::DeletionIndex;
use crate::scan::mode::ReadMode;
use crate::scan::partitions::Partitions;
use crate::scan::prune::EntryStats;
use crate::spec::data_file_meta::{DataFileMeta, DeletionFile};
use crate::spec::index_manifest::IndexEntry;
use crate::spec::manifest::{ManifestEntries, WantedFields};
use crate::spec::options::Options;
use crate::spec::partition_path::POSTPONED;
use crate::spec::schema::TableSchema;
use crate::spec::snapshot::{CommitKind, Snapshot};
use crate::spec::types::DataType;
use crate::table::Table;
use crate::write::change::{BucketChange, Home, Increment, upper_files};
use crate::write::check::check_writable;
use crate::write::file::FileSpec;
use crate::write::postponed::is_postponed;

const MS_PER_HOUR: i64 = 3_600_000;
const MS_PER_DAY: i64 = 24 * MS_PER_HOUR;
/// The default number of small files that triggers a compaction (`compaction.min.file-num`).
const DEFAULT_MIN_FILES: i64 = 5;
/// The default of `compaction.delete-ratio-threshold`.
const DEFAULT_MAX_DELETED: f64 = 0.2;

/// The request for a compaction.
#[derive(Debug, Clone)]
pub struct CompactRequest {
    /// Whether each bucket is compacted into one sorted run, and small files are joined regardless of their number.
    /// Otherwise files are picked as by a writer.
    pub full: bool,
    /// Changes whose buckets are compacted; None for all buckets.
    pub buckets: Option<Vec<BucketChange>>,
    /// How the files that these changes append take part, if they are not yet part of the table.
    pub appended: Option<Appended>,
    /// Whether the writer of these changes compacts. It does not if the table leaves compaction to a dedicated job.
    pub is_of_writer: bool,
    /// The number of the commit among those of its user, if it has one.
    pub identifier: Option<i64>,
    /// The partitions, as in an overwrite; empty for all.
    pub partitions: Vec<BTreeMap<String, Option<String>>>,
    /// A filter of the partitions by their keys.
    pub partition_filter: Expression,
    /// The offset of the local clock from UTC.
    pub utc_offset_ms: i64,
}

/// How files that are not yet part of the table take part in a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// They are compacted with the other files of their buckets.
    Added,
    /// They replace all other files of their buckets. They are compacted only if the table looks up records; otherwise,
    /// the commit moves them to the highest level.
    Replacing,
}

/// The plan of a compaction.
#[derive(Debug, Default)]
pub struct CompactPlan {
    /// The files to rewrite; each task holds files of one bucket.
    pub tasks: Vec<CompactTask>,
    /// Files that only change their level.
    pub upgrades: Vec<BucketChange>,
}

/// Returns the files to rewrite, bucket by bucket.
///
/// # Errors
/// `Unsupported` for tables that cannot be written; `InvalidArgument` for partitions that do not exist.
pub fn plan(table: &Table, request: &CompactRequest, context: &Context) -> Result<CompactPlan> {
    let schema = table.schema();
    check_writable(schema)?;
    let mut planned = CompactPlan::default();
    let options = Options::new(schema.options.clone());
    if request.is_of_writer && !compacts_itself(schema, &options)? {
        return Ok(planned);
    }
    let full = request.full || request.is_of_writer && is_full_due(table, &options, request.identifier)?;
    let request = &CompactRequest { full, ..request.clone() };
    let rule = CompactionRule::try_new(schema, &options, request)?;
    let replaces = request.appended == Some(Appended::Replacing);
    if replaces && rule.lookup().is_none() {
        return Ok(planned);
    }
    let latest = if replaces { None } else { table.latest_snapshot()? };
    let live = files(table, latest.as_ref(), request, context)?;
    let snapshot = latest.as_ref().map(|snapshot| snapshot.id);
    let read = read_context(table, &options, &live)?;
    let live = selected(&read, live, request)?;
    let homes = request.buckets.as_ref().map(|buckets| buckets.iter().map(|change| &change.home).collect());
    let indexes = match &latest {
        Some(latest) => table.index_entries(latest, context)?,
        None => Vec::new(),
    };
    let deletions = DeletionIndex::try_new(indexes.clone(), &|entry| table.index_location(entry))?;
    let mut picked = Vec::new();
    for (home, rows) in Home::rows(&live) {
        let is_other = homes.as_ref().is_some_and(|homes: &BTreeSet<&Home>| !homes.contains(&home));
        if is_other || home.bucket == POSTPONED {
            continue;
        }
        let entries = live.take(&UInt32Array::from(rows))?;
        let vector = |name: &str| deletions.of(&home.partition, home.bucket, name);
        let picks = rule.pick(&entries, &read, &vector)?;
        picked.extend(picks.into_iter().map(|pick| (home.clone(), entries.clone(), pick)));
    }
    if picked.is_empty() {
        return Ok(planned);
    }
    let planner = Planner {
        table,
        shared: Arc::new(Shared::try_new(table, &options, snapshot, request.utc_offset_ms)?),
        reads: Reads::try_new(read, rule.expiry(), snapshot)?,
        options,
        lookup: rule.lookup(),
        snapshot,
        utc_offset_ms: request.utc_offset_ms,
        indexes,
        deletions,
    };
    for (home, entries, pick) in picked {
        planned.upgrades.extend(planner.upgrades(&home, &entries, &pick)?);
        planned.tasks.extend(planner.tasks(&home, &entries, pick)?);
    }
    Ok(planned)
}

/// The state that the tasks of all buckets share.
struct Planner<'a> {
    table: &'a Table,
    shared: Arc<Shared>,
    reads: Reads,
    options: Options,
    lookup: Option<LookupRule>,
    snapshot: Option<i64>,
    utc_offset_ms: i64,
    indexes: Vec<IndexEntry>,
    deletions: DeletionIndex,
}

impl Planner<'_> {
    /// Returns the change of the files that only change their level.
    fn upgrades(&self, home: &Home, entries: &ManifestEntries, pick: &BucketPick) -> Result<Option<BucketChange>> {
        let upgraded = entries.take(&UInt32Array::from(pick.upgraded.clone()))?;
        if upgraded.is_empty() {
            return Ok(None);
        }
        let total_buckets = total_buckets(&upgraded);
        let compact = Increment { added: upgraded.at_level(pick.level)?, removed: upgraded, ..Increment::empty()? };
        Ok(Some(BucketChange {
            home: home.clone(),
            total_buckets,
            base_snapshot: self.snapshot,
            upper_files: self.lookup.map(|_| upper_files(entries)),
            append: Increment::empty()?,
            compact,
        }))
    }

    /// Returns the tasks that rewrite files. Groups with deletion vectors are one task, because there is one file of
    /// vectors.
    fn tasks(&self, home: &Home, entries: &ManifestEntries, pick: BucketPick) -> Result<Vec<CompactTask>> {
        let BucketPick { rewritten, level, keeps_retracts, watch, .. } = pick;
        let (mut groups, mut removed) = (Vec::new(), Vec::new());
        for RewriteGroup { files, looked_up, is_written } in rewritten {
            let watch = watch.filter(|_| looked_up.is_some());
            let read = watch.map_or_else(|| self.reads.merged(keeps_retracts), |watch| self.reads.watched(watch));
            let all: Vec<u32> = files.iter().copied().chain(looked_up.into_iter().flatten()).collect();
            let read = self.reads.task(home, &entries.take(&UInt32Array::from(all))?, read, &self.deletions)?;
            groups.push(GroupRead { read, is_written, drops_deletes: watch.map(|_| !keeps_retracts) });
            if is_written {
                removed.push(entries.take(&UInt32Array::from(files))?);
            }
        }
        let task = |groups, removed| CompactTask::try_new(self.shared.clone(), groups, home.clone(), removed, level);
        // Vectors remain after the table no longer has deletion vectors.
        let has_vectors = groups.iter().any(|group| group.read.split.deletion_files.iter().any(Option::is_some));
        let Some(lookup) = self.lookup else {
            if !has_vectors {
                return groups.into_iter().zip(removed).map(|(group, removed)| task(vec![group], removed)).collect();
            }
            let task = task(groups, ManifestEntries::concat(&removed)?)?;
            return Ok(vec![task.with_vectors(self.vectors(home)?)]);
        };
        if groups.is_empty() {
            return Ok(Vec::new());
        }
        let mut task = task(groups, ManifestEntries::concat(&removed)?)?.above(Some(upper_files(entries)));
        if lookup.has_changelog {
            task = task.with_changelog(ChangelogOutput::try_new(self.table, &self.options, level, self.utc_offset_ms)?);
        }
        if lookup.has_vectors || has_vectors {
            task = task.with_vectors(self.vectors(home)?);
        }
        Ok(vec![task])
    }

    fn vectors(&self, home: &Home) -> Result<BucketVectors> {
        BucketVectors::try_new(self.table, &self.options, home, &self.indexes)
    }
}

/// Returns whether writers compact the buckets that they write. They do not if rows have no bucket, or if the table
/// leaves compaction to a dedicated job. With postponed buckets, writers only compact to look up records.
fn compacts_itself(schema: &TableSchema, options: &Options) -> Result<bool> {
    if is_postponed(options)? && LookupRule::from_options(schema, options, false)?.is_none() {
        return Ok(false);
    }
    let has_buckets = !schema.primary_keys.is_empty() || options.bucket()? > 0;
    Ok(has_buckets && !options.boolean("write-only", options.boolean("write.compaction-skip", false)?)?)
}

/// Returns whether the next commit of a writer is one of those that compact their buckets completely
/// (`full-compaction.delta-commits`): by the number of the commit, or by the number of commits since the last compaction.
fn is_full_due(table: &Table, options: &Options, identifier: Option<i64>) -> Result<bool> {
    let Some(every) = options.integer("full-compaction.delta-commits")? else { return Ok(false) };
    let every = every.max(1);
    if let Some(identifier) = identifier {
        return Ok(identifier % every == 0);
    }
    let Some(latest) = table.latest_snapshot()? else { return Ok(every == 1) };
    let mut commits = 1;
    let mut id = latest.id;
    while commits < every {
        let snapshot = match table.snapshot(id) {
            Err(error) if error.kind() == ErrorKind::NoSuchSnapshot => break,
            found => found?,
        };
        if snapshot.commit_kind == CommitKind::Compact {
            break;
        }
        commits += 1;
        id -= 1;
    }
    Ok(commits >= every)
}

/// Returns the files of a snapshot and the appended files, in the partitions of the requested buckets.
pub(super) fn files(
    table: &Table,
    snapshot: Option<&Snapshot>,
    request: &CompactRequest,
    context: &Context,
) -> Result<ManifestEntries> {
    let buckets = request.buckets.as_ref();
    let partitions = buckets.map(|buckets| buckets.iter().map(|change| change.home.partition.to_vec()).collect());
    let appended = buckets.filter(|_| request.appended.is_some()).into_iter().flatten();
    let mut files: Vec<ManifestEntries> = appended.map(|change| change.append.added.clone()).collect();
    if let Some(snapshot) = snapshot {
        files.push(table.live_files(snapshot, partitions.as_ref(), WantedFields::ALL, context)?);
    }
    ManifestEntries::concat(&files)
}

/// Returns the files of the requested partitions.
pub(super) fn selected(
    reads: &ReadContext,
    live: ManifestEntries,
    request: &CompactRequest,
) -> Result<ManifestEntries> {
    let mut selected = live;
    if !request.partitions.is_empty() {
        let none = BinaryArray::from_vec(Vec::new());
        let overwrite = Overwrite::Partitions(request.partitions.clone());
        let replaced = Replaced::try_new(&reads.schema, &overwrite, &none)?;
        selected = selected.filter(&replaced.of(selected.partitions())?)?;
        if selected.is_empty() {
            return Err(Error::invalid("no partition matches these values")
                .hint("list the partitions with `table.inspect.partitions()`"));
        }
    }
    if request.partition_filter != Expression::TRUE {
        let filter = bind(&request.partition_filter, reads.schema.as_ref(), true)?;
        let is_key = |column: &&BoundColumn| reads.partition_fields().iter().any(|field| field.id == column.id);
        if let Some(other) = filter.columns().into_iter().find(|column| !is_key(column)) {
            return Err(Error::invalid("partitions can only be selected by partition keys")
                .with("column", &other.name)
                .hint("buckets are compacted as a whole: filter by partition keys only"));
        }
        let partitions = Partitions::try_new(selected.partitions(), reads)?;
        let kept = partitions.spread(&evaluate(&filter, &partitions, partitions.len())?);
        selected = selected.filter(&BooleanArray::new(kept, None))?;
    }
    Ok(selected)
}

/// Files that are compacted, and the level of the files that replace them.
struct BucketPick {
    /// Files that are rewritten together.
    rewritten: Vec<RewriteGroup>,
    /// Files that only change their level.
    upgraded: Vec<u32>,
    level: i32,
    /// Whether rows that delete are kept, because older files may have the rows that they delete.
    keeps_retracts: bool,
    /// What is observed in groups with new records.
    watch: Option<Watch>,
}

/// Files that are rewritten together.
struct RewriteGroup {
    files: Vec<u32>,
    /// The files above the output level that are searched for keys of new records; None if the merge is not observed.
    looked_up: Option<Vec<u32>>,
    /// Whether new files are written; otherwise the rows are only observed.
    is_written: bool,
}

/// The rule that selects the files of a bucket to rewrite.
enum CompactionRule {
    Keyed {
        picker: Picker,
        full: bool,
        now: Now,
        key_types: Vec<DataType>,
        upgrades: Upgrades,
        expiry: Option<Arc<Expiry>>,
        lookup: Option<LookupRule>,
        options: Options,
    },
    Append(SmallFiles),
}

/// The rule that joins small files of append tables.
struct SmallFiles {
    full: bool,
    target_bytes: i64,
    min_files: i64,
    /// The share of deleted rows above which a file is rewritten (`compaction.delete-ratio-threshold`).
    max_deleted: f64,
    /// Whether rows keep their order, as in fixed buckets.
    is_ordered: bool,
}

impl CompactionRule {
    fn try_new(schema: &TableSchema, options: &Options, request: &CompactRequest) -> Result<Self> {
        if !schema.primary_keys.is_empty() {
            let lookup = LookupRule::from_options(schema, options, request.appended == Some(Appended::Replacing))?;
            let mut strategy = Strategy::try_new(options)?;
            if ReadMode::try_new(schema, options)?.independent() {
                // Rows of level 0 are not visible, whatever `lookup-compact` is.
                strategy.level_0 = Level0::Always;
            }
            let picker = Picker::new(strategy);
            let keys = schema.trimmed_primary_keys().into_iter().filter_map(|key| schema.field(key));
            let key_types = keys.map(|field| field.data_type.clone()).collect();
            let ms = now_ms();
            let hour = ms.saturating_add(request.utc_offset_ms).rem_euclid(MS_PER_DAY) / MS_PER_HOUR;
            let now = Now { ms, hour: i32::try_from(hour).unwrap_or(0) };
            let upgrades = Upgrades::try_new(options)?;
            let expiry = Expiry::from_options(schema, options, ms)?.map(Arc::new);
            let options = options.clone();
            return Ok(Self::Keyed { picker, full: request.full, now, key_types, upgrades, expiry, lookup, options });
        }
        let target = FileSpec::from_options(options, None)?.target_bytes;
        Ok(Self::Append(SmallFiles {
            full: request.full,
            target_bytes: i64::try_from(target).unwrap_or(i64::MAX),
            min_files: options.integer("compaction.min.file-num")?.unwrap_or(DEFAULT_MIN_FILES),
            max_deleted: options.number("compaction.delete-ratio-threshold")?.unwrap_or(DEFAULT_MAX_DELETED),
            is_ordered: options.bucket()? > 0,
        }))
    }

    /// Returns the expiration of records, whose expired records are dropped on rewriting.
    fn expiry(&self) -> Option<Arc<Expiry>> {
        match self {
            Self::Keyed { expiry, .. } => expiry.clone(),
            Self::Append(_) => None,
        }
    }

    /// Returns the properties of lookups, for tables that have any.
    fn lookup(&self) -> Option<LookupRule> {
        match self {
            Self::Keyed { lookup, .. } => *lookup,
            Self::Append(_) => None,
        }
    }

    /// Returns the files of a bucket to rewrite. `vector` returns the deletion vector of a file.
    fn pick<'a>(
        &self,
        entries: &ManifestEntries,
        read: &ReadContext,
        vector: &dyn Fn(&str) -> Option<&'a DeletionFile>,
    ) -> Result<Vec<BucketPick>> {
        match self {
            Self::Append(small) => {
                let group = |files| RewriteGroup { files, looked_up: None, is_written: true };
                let rewritten: Vec<RewriteGroup> = small.pick(entries, vector).into_iter().map(group).collect();
                if rewritten.is_empty() {
                    return Ok(Vec::new());
                }
                let upgraded = Vec::new();
                Ok(vec![BucketPick { rewritten, upgraded, level: 0, keeps_retracts: false, watch: None }])
            }
            Self::Keyed { picker, full, now, key_types, upgrades, expiry, lookup, options } => {
                let files = (0..entries.len()).map(|row| entries.file(row)).collect::<Result<Vec<DataFileMeta>>>()?;
                let levels = Levels::try_new(&files, key_types, picker.strategy().levels)?;
                // The picker is cloned, so no picks are remembered: each call starts without state.
                let expired = expiry.as_ref().map(|expiry| expired(expiry, entries, read)).transpose()?;
                let is_expired = |file: usize| expired.as_ref().is_some_and(|expired| expired.value(file));
                let has_vector = |file: usize| files.get(file).is_some_and(|file| vector(&file.file_name).is_some());
                let must_rewrite = |file: usize| upgrades.rewrites_all || is_expired(file) || has_vector(file);
                let unit = if *full { pick_full(&levels, &must_rewrite) } else { picker.clone().pick(&levels, *now) };
                let Some(unit) = unit else { return Ok(Vec::new()) };
                let bucket = KeyedBucket { keys: KeyRanges::of_files(&files, key_types)?, files, levels };
                Ok(vec![bucket.pick(&unit, (*upgrades, *lookup), options, &is_expired)?])
            }
        }
    }
}

/// The files of a bucket of a table with a primary key.
struct KeyedBucket {
    files: Vec<DataFileMeta>,
    keys: KeyRanges,
    levels: Levels,
}

impl KeyedBucket {
    /// Splits the files of a unit into those that are rewritten, observed and upgraded.
    fn pick(
        &self,
        unit: &Unit,
        (upgrades, lookup): (Upgrades, Option<LookupRule>),
        options: &Options,
        is_expired: &dyn Fn(usize) -> bool,
    ) -> Result<BucketPick> {
        let Self { files, keys, levels } = self;
        let (output_level, max_level) = (unit.output_level, levels.max_level());
        let looked_up = lookup.map(|lookup| lookup.looked_up(unit, files, keys)).unwrap_or_default();
        let is_looked_up =
            |at: usize| keys.overlapping(&[&looked_up[..], &[at]].concat(), |other| *other == at).len() > 1;
        let mut rewrites = Vec::with_capacity(files.len());
        for (at, file) in files.iter().enumerate() {
            let of_lookup = |lookup: LookupRule| {
                let is_looked_up = file.level == 0 && is_looked_up(at);
                lookup.rewrites(file, (output_level, max_level), is_looked_up, options)
            };
            rewrites.push(is_expired(at) || lookup.map_or(Ok(false), of_lookup)?);
        }
        let must_rewrite = |at: usize| rewrites.get(at).copied().unwrap_or(false);
        let work = upgrades.split(unit, (files, keys), max_level, &must_rewrite);
        let new_below = lookup.and_then(|lookup| lookup.new_below(output_level, max_level));
        let is_new = |at: &usize| new_below.is_some_and(|level| files.get(*at).is_some_and(|file| file.level < level));
        let group = |group: &Vec<usize>, is_written: bool| RewriteGroup {
            files: numbers(group),
            looked_up: group.iter().any(is_new).then(|| numbers(&looked_up)),
            is_written,
        };
        let mut rewritten: Vec<RewriteGroup> = work.rewritten.iter().map(|files| group(files, true)).collect();
        if let Some(lookup) = lookup {
            let observed = work.upgraded.iter().filter(|at| is_new(at) && lookup.observes(is_looked_up(**at)));
            rewritten.extend(observed.map(|at| group(&vec![*at], false)));
        }
        let drops_deletes = match lookup {
            Some(lookup) => lookup.drops_deletes(levels, output_level),
            None => levels.drops_deletes(output_level),
        };
        let watch = lookup.zip(new_below).map(|(lookup, new_below)| lookup.watch(output_level, new_below));
        let upgraded = numbers(&work.upgraded);
        Ok(BucketPick { rewritten, upgraded, level: output_level, keeps_retracts: !drops_deletes, watch })
    }
}

/// Returns which files have expired records, according to statistics.
fn expired(expiry: &Expiry, entries: &ManifestEntries, read: &ReadContext) -> Result<BooleanBuffer> {
    let partitions = Partitions::try_new(entries.partitions(), read)?;
    match EntryStats::try_new(read, entries, &partitions)?.least(expiry.column.id)? {
        Some(least) if least.len() == entries.len() => expiry.of(&least),
        _ => Ok(BooleanBuffer::new_unset(entries.len())),
    }
}

fn numbers(files: &[usize]) -> Vec<u32> {
    files.iter().filter_map(|file| u32::try_from(*file).ok()).collect()
}

impl SmallFiles {
    /// Picks small files, up to the target length of files, and files with many deleted rows.
    fn pick<'a>(&self, entries: &ManifestEntries, vector: &dyn Fn(&str) -> Option<&'a DeletionFile>) -> Vec<Vec<u32>> {
        let has_deletes = |row: u32| {
            let row = usize::try_from(row).unwrap_or(usize::MAX);
            let Some(vector) = vector(entries.file_names().value(row)) else { return false };
            let rows = entries.row_counts().value(row) as f64;
            self.full || vector.cardinality.is_some_and(|deleted| deleted as f64 > rows * self.max_deleted)
        };
        let sizes = entries.file_sizes().values();
        let size = |row: u32| usize::try_from(row).ok().and_then(|row| sizes.get(row)).copied().unwrap_or(i64::MAX);
        let small = self.target_bytes / 10 * 7;
        let first = entries.min_sequence_numbers().values();
        let mut order: Vec<u32> = (0_u32..).take(entries.len()).collect();
        order.sort_by_key(|row| usize::try_from(*row).ok().and_then(|row| first.get(row)).copied());
        let (mut groups, mut group, mut bytes) = (Vec::new(), Vec::new(), 0_i64);
        for row in order {
            if size(row) >= small && !has_deletes(row) {
                // Rows keep their order, so files are not joined across a file that is kept.
                if self.is_ordered {
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
            let is_full = self.full || count >= self.min_files || *bytes >= self.target_bytes;
            count > 1 && is_full || files.iter().any(|row| has_deletes(*row))
        };
        groups.into_iter().filter(is_due).map(|(files, _)| files).collect()
    }
}
