//! Reads the changes of snapshots, commit by commit.
//!
//! | table | data read for a snapshot |
//! |---|---|
//! | with a `changelog-producer` | the changelog files that the snapshot wrote |
//! | any other, and OVERWRITE commits of all tables | the rows of the states before and after, in files that differ |
//!
//! Compactions do not change rows, unless readers ignore files of level 0. In that case, compactions make rows visible.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use frazil_core::changes::{
    ChangeMode, ChangePairs, change_schema, changed_rows, check_selected, filter_of_identifiers,
};
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::pack::first_fit_decreasing;
use frazil_core::row_pairs::{ChangeType, PairSpec, RowPairs};
use frazil_core::sql::expression::Expression;
use frazil_core::sql::predicate::BoundPredicate;
use frazil_core::sql::predicate::eval::evaluate;

use super::SplitTask;
use crate::context::output::{MetadataColumn, Output, narrowed};
use crate::context::{ReadContext, View, find};
use crate::read::rows::FieldColumns;
use crate::read::scan_read::ScanRead;
use crate::scan::incremental::{check_range, has_changelog, written};
use crate::scan::mode::{ReadMode, TableKind};
use crate::scan::plan::{Plan, Selection};
use crate::scan::table_scan::{ScanOptions, TableScan};
use crate::spec::snapshot::{CommitKind, Snapshot};
use crate::spec::types::{DataField, arrow_fields};
use crate::table::{SnapshotChoice, Table};

/// The options of a read of changes.
#[derive(Debug, Clone)]
pub struct ChangeOptions {
    /// The predicate that returned rows satisfy.
    pub row_filter: Expression,
    /// The columns of the table; `*` for all.
    pub selected_fields: Vec<String>,
    /// Whether `ID` and `id` are different columns.
    pub case_sensitive: bool,
    /// The snapshot after which the read begins; None to begin with the first one.
    pub after: Option<i64>,
    /// The last snapshot; None for the latest.
    pub until: Option<i64>,
    /// The way in which deletes and inserts are paired.
    pub mode: ChangeMode,
}

/// A read of changes that is bound to snapshots and a schema. It is immutable.
#[derive(Debug, Clone)]
pub struct ChangeScan {
    scan: TableScan,
    /// The returned rows and columns.
    wanted: Arc<WantedChanges>,
    /// The predicate for the rows that are compared. If updates are computed, the predicate keeps both rows of an
    /// update.
    compared: BoundPredicate,
    mode: ChangeMode,
    /// The positions of the columns that identify rows; empty if no updates are computed.
    identifiers: Vec<usize>,
    commits: Vec<Commit>,
    until: Option<i64>,
}

/// The rows and columns that are returned.
#[derive(Debug, Clone, PartialEq)]
pub struct WantedChanges {
    /// The columns of the table; a ROW may have only some of its fields.
    pub fields: Vec<DataField>,
    /// The predicate that returned rows satisfy.
    pub filter: BoundPredicate,
}

#[derive(Debug, Clone)]
struct Commit {
    ordinal: i32,
    snapshot: Snapshot,
    reads: ChangeReads,
}

#[derive(Debug, Clone)]
enum ChangeReads {
    /// The changelog files of the snapshot.
    Changelog,
    /// The states before and after the snapshot. The state before the snapshot is None for an empty table.
    States(Option<Box<Snapshot>>),
}

/// The source of rows, which determines their change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The changelog, whose rows have their kinds.
    Changelog,
    /// The state before a commit.
    Before,
    /// The state after a commit.
    After,
}

impl Side {
    /// All sides.
    pub const ALL: [Self; 3] = [Self::Changelog, Self::Before, Self::After];

    /// Returns the public name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Changelog => "changelog",
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// The splits of one commit. They are read together if their rows are paired, and otherwise separately.
#[derive(Debug, Clone)]
pub struct ChangeStage {
    /// The ordinal of the snapshot in the range.
    pub ordinal: i32,
    /// The snapshot.
    pub snapshot_id: i64,
    /// The splits to read; splits of one side share their read.
    pub splits: Vec<(Side, SplitTask)>,
    /// The returned rows and columns.
    pub wanted: Arc<WantedChanges>,
    /// The positions of the columns that identify rows, if rows are paired; None if each split is read separately.
    pub pairing: Option<Vec<usize>>,
    /// Whether updates of a changelog are returned as updates instead of deletes and inserts.
    pub has_updates: bool,
}

impl ChangeScan {
    /// Binds a read of changes. Columns are those of the latest schema.
    ///
    /// # Errors
    /// `NoSuchSnapshot`; `InvalidArgument` for a column or literal that does not match, or updates without columns that
    /// identify rows; `Unsupported` for a table with `scan.fallback-branch`.
    pub fn try_new(table: &Table, options: &ChangeOptions) -> Result<Self> {
        let scan = TableScan::try_new(
            table,
            &ScanOptions {
                row_filter: options.row_filter.clone(),
                snapshot: SnapshotChoice::Latest,
                view: View::Rows,
                options: BTreeMap::new(),
                limit: None,
                case_sensitive: options.case_sensitive,
            },
        )?;
        if scan.has_fallback() {
            return Err(Error::unsupported("reading changes of a table with `scan.fallback-branch` is not supported"));
        }
        let schema = scan.schema();
        let output =
            Output::select(schema, (View::Rows, scan.options()), &options.selected_fields, options.case_sensitive)?;
        if let Some(column) = output.metadata.first() {
            let message = format!("`{}` cannot be selected from the changes of a table", column.name());
            return Err(Error::invalid(message).hint("select columns of the table"));
        }
        check_selected(output.fields.iter().map(|field| field.name.as_str()))?;
        let identifiers = match &options.mode {
            ChangeMode::Updates(names) => identifiers(&scan, names, options.case_sensitive)?,
            _ => Vec::new(),
        };
        // Both rows of an update are needed, regardless of which one the filter selects.
        let compared = match options.mode {
            ChangeMode::Updates(_) => {
                let ids = identifiers.iter().filter_map(|&at| schema.fields.get(at)).map(|field| field.id);
                filter_of_identifiers(scan.filter(), &ids.collect::<Vec<_>>())
            }
            _ => scan.filter().clone(),
        };
        let wanted = Arc::new(WantedChanges { fields: output.fields, filter: scan.filter().clone() });
        let (commits, until) = commits(table, &scan, options)?;
        Ok(Self { wanted, compared, mode: options.mode.clone(), identifiers, commits, until, scan })
    }

    /// Returns the schema of the changes.
    pub fn schema(&self) -> SchemaRef {
        self.wanted.schema()
    }

    /// Returns the predicate that returned rows satisfy.
    pub fn filter(&self) -> &BoundPredicate {
        self.scan.filter()
    }

    /// Returns the last snapshot of the range.
    pub fn until(&self) -> Option<i64> {
        self.until
    }

    /// Plans the stages, oldest commit first. Manifests are read on at most `workers` threads.
    ///
    /// # Errors
    /// As for [`Plan::try_new`].
    pub fn plan(&self, workers: usize, context: &Context) -> Result<Vec<ChangeStage>> {
        let mut stages = Vec::new();
        for commit in &self.commits {
            context.check()?;
            let stage = match &commit.reads {
                ChangeReads::Changelog => self.changelog(commit, workers, context),
                ChangeReads::States(before) => self.states(commit, before.as_deref(), workers, context),
            };
            let stage = stage.map_err(|e| e.with("snapshot", commit.snapshot.id))?;
            stages.extend(Some(stage).filter(|stage| !stage.splits.is_empty()));
        }
        Ok(stages)
    }

    fn changelog(&self, commit: &Commit, workers: usize, context: &Context) -> Result<ChangeStage> {
        let snapshots = vec![commit.snapshot.clone()];
        let plan = self.scan.plan_of(Selection::Changelog, snapshots, &self.wanted.filter, workers, context)?;
        let output =
            Output { fields: self.wanted.fields.clone(), metadata: vec![MetadataColumn::RowKind], images: false };
        Ok(self.stage(commit, tasks(&plan, Side::Changelog, &self.wanted.filter, output)?, None))
    }

    fn states(
        &self,
        commit: &Commit,
        before: Option<&Snapshot>,
        workers: usize,
        context: &Context,
    ) -> Result<ChangeStage> {
        let plan = |snapshot: Option<&Snapshot>, filter| {
            let snapshots = snapshot.into_iter().cloned().collect();
            self.scan.plan_of(Selection::Live, snapshots, filter, workers, context)
        };
        let mut after = plan(Some(&commit.snapshot), &self.compared)?;
        let mut old = plan(before, &self.compared)?;
        match ReadMode::try_new(self.scan.schema(), self.scan.options())?.kind {
            TableKind::Append { .. } => after.leave_out_same_files(&mut old),
            TableKind::DataEvolution => after.leave_out_same_buckets(&mut old),
            TableKind::PrimaryKey { .. } => after.leave_out_same_keys(&mut old)?,
        }
        let pairs = !after.is_empty() && !old.is_empty() && self.mode != ChangeMode::Carryovers;
        // If no rows are paired, the complete filter and only the returned columns are read.
        let (fields, filter) = if pairs {
            (&self.scan.schema().fields, &self.compared)
        } else {
            (&self.wanted.fields, &self.wanted.filter)
        };
        let output = Output { fields: fields.clone(), metadata: Vec::new(), images: false };
        let mut splits = tasks(&old, Side::Before, filter, output.clone())?;
        splits.extend(tasks(&after, Side::After, filter, output)?);
        Ok(self.stage(commit, splits, pairs.then(|| self.identifiers.clone())))
    }

    fn stage(&self, commit: &Commit, splits: Vec<(Side, SplitTask)>, pairing: Option<Vec<usize>>) -> ChangeStage {
        ChangeStage {
            ordinal: commit.ordinal,
            snapshot_id: commit.snapshot.id,
            splits,
            wanted: self.wanted.clone(),
            pairing,
            has_updates: matches!(self.mode, ChangeMode::Updates(_)),
        }
    }
}

/// Returns the positions of the columns that identify rows: the specified ones, else the primary key.
fn identifiers(scan: &TableScan, names: &[String], case_sensitive: bool) -> Result<Vec<usize>> {
    let schema = scan.schema();
    let names = if names.is_empty() { &schema.primary_keys } else { names };
    if names.is_empty() {
        return Err(Error::invalid("updates require columns that identify rows, but the table has no primary key")
            .hint("pass identifier_columns, for example identifier_columns=(\"id\",)"));
    }
    let position = |name: &String| {
        let field = find(&schema.fields, name, case_sensitive)?;
        let field = field.ok_or_else(|| Error::invalid(format!("unknown identifier column `{name}`")))?;
        if field.data_type.scalar().is_none() {
            return Err(Error::invalid(format!("the column `{name}` is nested and cannot identify rows"))
                .hint("specify columns of primitive types"));
        }
        let at = schema.fields.iter().position(|own| own.id == field.id);
        at.ok_or_else(|| Error::internal("a column is not in its schema"))
    };
    names.iter().map(position).collect()
}

/// Returns the commits of the range that may have changed rows, and the last snapshot of the range.
fn commits(table: &Table, scan: &TableScan, options: &ChangeOptions) -> Result<(Vec<Commit>, Option<i64>)> {
    let until = match options.until {
        None => table.latest_snapshot()?.map(|snapshot| snapshot.id),
        given => given,
    };
    let (start, end) = (options.after.unwrap_or(0), until.unwrap_or(0));
    if start < 0 || end < start {
        return Err(Error::invalid(format!("invalid range of changes: after snapshot {start} up to {end}"))
            .hint("the first snapshot must not be newer than the last one"));
    }
    if start == end {
        return Ok((Vec::new(), until));
    }
    let is_net = options.mode == ChangeMode::Net;
    let has_changelog = has_changelog(scan.options()) && !is_net;
    let selection = if has_changelog { Selection::Changelog } else { Selection::Live };
    check_range(table, start, end, selection).map_err(|e| match options.after {
        None => e.with("from_snapshot_id_exclusive", "not set, so the first snapshot is 1"),
        Some(_) => e,
    })?;
    let independent = ReadMode::try_new(scan.schema(), scan.options())?.independent();
    let mut commits = Vec::new();
    for id in if is_net { end..=end } else { start + 1..=end } {
        let snapshot = written(table, id, selection)?;
        let before = if is_net { start } else { id - 1 };
        let states = || Ok::<_, Error>(ChangeReads::States(state(table, before)?.map(Box::new)));
        let reads = match snapshot.commit_kind {
            _ if is_net => states()?,
            CommitKind::Analyze => continue,
            CommitKind::Overwrite => states()?,
            CommitKind::Compact if independent && shows_overwrite(table, &snapshot)? => states()?,
            _ if has_changelog => ChangeReads::Changelog,
            CommitKind::Compact if !independent => continue,
            CommitKind::Append | CommitKind::Compact => states()?,
        };
        let ordinal = i32::try_from(id - start - 1)
            .map_err(|_| Error::unsupported("the range of changes has too many snapshots"))?;
        commits.push(Commit { ordinal, snapshot, reads });
    }
    Ok((commits, until))
}

/// Returns whether a compaction without a changelog makes the rows of an overwrite visible, which readers did not see in
/// level 0.
fn shows_overwrite(table: &Table, compaction: &Snapshot) -> Result<bool> {
    if compaction.changelog_manifest_list.is_some() {
        return Ok(false);
    }
    match table.snapshot(compaction.id - 1) {
        Err(error) if error.kind() == ErrorKind::NoSuchSnapshot => Ok(false),
        found => {
            let before = found?;
            Ok(before.commit_kind == CommitKind::Overwrite && before.commit_user == compaction.commit_user)
        }
    }
}

/// Returns the snapshot `id`, with which the next snapshot is compared. Returns None for 0, the empty table before the
/// first snapshot.
fn state(table: &Table, id: i64) -> Result<Option<Snapshot>> {
    if id == 0 {
        return Ok(None);
    }
    match table.snapshot(id) {
        Err(e) if e.kind() == ErrorKind::NoSuchSnapshot => Err(Error::new(
            ErrorKind::NoSuchSnapshot,
            format!("snapshot {id}, which is required for comparison with snapshot {}, has expired", id + 1),
        )
        .hint(format!("begin after it: from_snapshot_id_exclusive={}", id + 1))),
        found => found.map(Some),
    }
}

/// Returns the schema of the rows of a split with the columns of changes.
fn schema_of(split: &SplitTask) -> SchemaRef {
    change_schema(&arrow_fields(&split.read.output.fields))
}

fn tasks(plan: &Plan, side: Side, filter: &BoundPredicate, output: Output) -> Result<Vec<(Side, SplitTask)>> {
    let context = ReadContext { filter: filter.clone(), ..ReadContext::clone(plan.read()) };
    let read = Arc::new(ScanRead::try_new(Arc::new(context), output)?);
    let task = |index| Ok((side, SplitTask { read: read.clone(), split: plan.split(index)?, before: None }));
    (0..plan.len()).map(task).collect()
}

impl WantedChanges {
    /// Returns the schema of the changes.
    pub fn schema(&self) -> SchemaRef {
        change_schema(&arrow_fields(&self.fields))
    }

    /// Returns the rows of `read` that pass the filter, with the returned columns.
    fn of(&self, read: &ReadContext, mut rows: RecordBatch) -> Result<Option<RecordBatch>> {
        let fields = &read.schema.fields;
        if read.filter != self.filter && self.filter != BoundPredicate::True {
            let keep = evaluate(&self.filter, &FieldColumns::new(fields, rows.columns()), rows.num_rows())?;
            rows = filter_record_batch(&rows, &BooleanArray::new(keep, None))?;
        }
        if rows.num_rows() == 0 {
            return Ok(None);
        }
        let column = |wanted: &DataField| {
            let found = fields.iter().zip(rows.columns()).find(|(field, _)| field.id == wanted.id);
            let (field, column) = found.ok_or_else(|| Error::internal("a selected column was not read"))?;
            narrowed(column, field, wanted)
        };
        let mut columns = self.fields.iter().map(column).collect::<Result<Vec<_>>>()?;
        columns.extend(rows.columns().iter().skip(fields.len()).cloned());
        Ok(Some(RecordBatch::try_new(self.schema(), columns)?))
    }
}

impl ChangeStage {
    /// Adds the columns of changes to rows of a split.
    ///
    /// # Errors
    /// `Internal` for rows of another split.
    pub fn rows(&self, index: usize, rows: &RecordBatch) -> Result<RecordBatch> {
        let (side, split) = self.splits.get(index).ok_or_else(|| Error::internal("a split does not exist"))?;
        let own = split.read.output.fields.len();
        let types = match side {
            Side::Before => {
                StringArray::from_iter_values(std::iter::repeat_n(ChangeType::Delete.name(), rows.num_rows()))
            }
            Side::After => {
                StringArray::from_iter_values(std::iter::repeat_n(ChangeType::Insert.name(), rows.num_rows()))
            }
            Side::Changelog => self.types(rows.columns().get(own))?,
        };
        let columns: Vec<ArrayRef> = rows.columns().iter().take(own).cloned().collect();
        changed_rows(schema_of(split), columns, types, (self.ordinal, self.snapshot_id))
    }

    /// Returns the change types for the kinds of rows.
    fn types(&self, kinds: Option<&ArrayRef>) -> Result<StringArray> {
        let kinds = kinds.and_then(|column| column.as_string_opt::<i32>());
        let kinds = kinds.ok_or_else(|| Error::internal("a changelog has no row kinds"))?;
        let name = |kind: Option<&str>| {
            let change = match kind {
                Some("-U") if self.has_updates => ChangeType::UpdateBefore,
                Some("+U") if self.has_updates => ChangeType::UpdateAfter,
                Some("-U" | "-D") => ChangeType::Delete,
                Some("+U" | "+I") => ChangeType::Insert,
                other => return Err(Error::internal(format!("unknown row kind: {other:?}"))),
            };
            Ok(change.name())
        };
        kinds.iter().map(|kind| name(kind).map(Some)).collect()
    }

    /// Starts pairing the rows of the stage, with about `limit_bytes` of them in memory. Returns None if they are not
    /// paired.
    ///
    /// # Errors
    /// `Unsupported` for columns that cannot be compared.
    pub fn pairs(&self, limit_bytes: usize) -> Result<Option<ChangePairs>> {
        let (Some(identifiers), Some((_, split))) = (self.pairing.clone(), self.splits.first()) else {
            return Ok(None);
        };
        let read = split.read.context.clone();
        let spec =
            PairSpec { values: read.schema.fields.len(), identifiers, null_is_unknown: false, across_commits: false };
        let pairs = RowPairs::try_new(schema_of(split), spec, limit_bytes)?;
        let wanted = self.wanted.clone();
        Ok(Some(ChangePairs::new(pairs, Box::new(move |rows| wanted.of(&read, rows)))))
    }

    /// Divides the stage into parts that can be read separately in any process: the stage itself if its rows are
    /// paired, else groups of splits of about `target_bytes`. Each split counts at least `open_cost_bytes`.
    pub fn groups(&self, target_bytes: i64, open_cost_bytes: i64) -> Vec<Self> {
        if self.pairing.is_some() {
            return vec![self.clone()];
        }
        let weight = |(_, split): &(Side, SplitTask)| {
            i64::try_from(split.split.size_bytes()).unwrap_or(i64::MAX).max(open_cost_bytes)
        };
        let groups = first_fit_decreasing(self.splits.clone(), target_bytes, weight);
        groups.into_iter().map(|splits| Self { splits, ..self.clone() }).collect()
    }
}
