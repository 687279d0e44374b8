//! Plans a scan as the user requests it: the state or changes of the table, and the rows.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::sql::expression::Expression;
use frazil_core::sql::predicate::BoundPredicate;
use frazil_core::sql::predicate::bind::bind;

use super::fallback::Branches;
use super::incremental::{Incremental, States};
use super::nullability::with_older_nulls;
use super::plan::{Plan, PlanRequest, Selection};
use crate::context::View;
use crate::features::check_readable;
use crate::merge::with_nullable_values;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::snapshot::Snapshot;
use crate::table::{SnapshotChoice, Table};

/// The options of a scan.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// The predicate that returned rows satisfy.
    pub row_filter: Expression,
    /// The state of the table, unless the options select a state or changes.
    pub snapshot: SnapshotChoice,
    /// The view of the table that is read: its rows or, for example, the audit log.
    pub view: View,
    /// Options that override those of the table.
    pub options: BTreeMap<String, String>,
    /// The maximum number of rows. Planning stops when the planned splits are known to have that many rows.
    pub limit: Option<u64>,
    /// Whether `ID` and `id` are different columns.
    pub case_sensitive: bool,
}

/// Options that determine how and where the files of a table were written. A scan cannot override these options.
const OF_THE_TABLE: [&str; 13] = [
    "bucket",
    "bucket-function.type",
    "bucket-key",
    "data-evolution.enabled",
    "data-file.path-directory",
    "index-file-in-data-file-dir",
    "merge-engine",
    "partition",
    "primary-key",
    "row-tracking.enabled",
    "rowkind.field",
    "sequence.field",
    "type",
];

/// A scan that is bound to snapshots and a schema. It is immutable.
#[derive(Debug, Clone)]
pub struct TableScan {
    table: Table,
    schema: Arc<TableSchema>,
    options: Options,
    filter: BoundPredicate,
    view: View,
    reads: ScanReads,
    limit: Option<u64>,
    fallback: Option<Box<TableScan>>,
}

/// The content of a read.
#[derive(Debug, Clone, PartialEq)]
enum ScanReads {
    /// The rows of a snapshot; empty if the table has no snapshots.
    State(Vec<Snapshot>),
    Changes(Selection, Vec<Snapshot>),
    Diff(Box<States>),
}

/// The plan of a scan.
#[derive(Debug)]
pub struct ScanPlan {
    /// The plan of the rows of the scan.
    pub rows: Plan,
    /// For a difference: the plan of the rows to subtract, compared by key and then by value. Neither plan contains
    /// unchanged buckets. For append tables, `rows` contains only added files, and `before` is an empty plan.
    pub before: Option<Plan>,
}

impl TableScan {
    /// Binds a scan.
    ///
    /// # Errors
    /// `NoSuchSnapshot`; `InvalidArgument` naming a column, literal or option that does not match; `Unsupported` for
    /// unknown options that change reading.
    pub fn try_new(table: &Table, scan: &ScanOptions) -> Result<Self> {
        check_changed(&table.schema().options, &scan.options)?;
        let mut bound = Self::of_branch(table, scan)?;
        let branch = bound.options.fallback_branch().filter(|branch| *branch != table.branch());
        if let Some(branch) = branch {
            let ScanReads::State(snapshot) = &bound.reads else {
                return Err(Error::unsupported(
                    "incremental reads of a table with `scan.fallback-branch` are not supported",
                ));
            };
            // Snapshot ids differ between branches, so the state of the fallback branch is selected by time.
            let travels = scan.snapshot.or_options(&bound.options)?.is_time_travel();
            let time_ms = snapshot.first().filter(|_| travels).map(|snapshot| snapshot.time_ms);
            if let Some(mut fallback) = Self::of_fallback(&table.with_branch(branch)?, scan, time_ms)? {
                let branches = Branches { main: &bound.schema, fallback: &fallback.schema };
                fallback.filter = branches.filter(&bound.filter)?;
                bound.fallback = Some(Box::new(fallback));
            }
        }
        Ok(bound)
    }

    /// Returns the table.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the schema that defines names and types.
    pub fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    /// Returns the options of the table, overridden by those of the scan.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the view of the table that is read.
    pub fn view(&self) -> View {
        self.view
    }

    /// Returns the predicate that returned rows satisfy.
    pub fn filter(&self) -> &BoundPredicate {
        &self.filter
    }

    /// Returns the snapshot; for an incremental scan, the last one.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        match &self.reads {
            ScanReads::State(snapshots) | ScanReads::Changes(_, snapshots) => snapshots.last(),
            ScanReads::Diff(states) => Some(&states.after),
        }
    }

    /// Returns the maximum number of rows.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Plans the scan on at most `workers` threads.
    ///
    /// # Errors
    /// As for [`Plan::try_new`].
    pub fn plan(&self, workers: usize, context: &Context) -> Result<ScanPlan> {
        let plan = |selection, snapshots: Vec<Snapshot>, limit| {
            Plan::try_new(&self.table, &self.request(selection, snapshots, limit, workers), context)
        };
        let rows = |rows| ScanPlan { rows, before: None };
        match &self.reads {
            ScanReads::State(snapshots) => {
                let state = plan(Selection::Live, snapshots.clone(), self.limit)?;
                self.with_fallback(state, workers, context).map(rows)
            }
            ScanReads::Changes(selection, snapshots) => plan(*selection, snapshots.clone(), self.limit).map(rows),
            ScanReads::Diff(states) => {
                let mut before = plan(Selection::Live, states.before.iter().cloned().collect(), None)?;
                let mut rows = plan(Selection::Live, vec![states.after.clone()], None)?;
                rows.know_schemas_of(&before);
                if self.schema.primary_keys.is_empty() {
                    rows.leave_out_files_of(&before);
                    before = plan(Selection::Live, Vec::new(), None)?;
                } else {
                    rows.leave_out_same_buckets(&mut before);
                }
                Ok(ScanPlan { rows, before: Some(before) })
            }
        }
    }

    /// Returns whether partitions of another branch are read too.
    pub(crate) fn has_fallback(&self) -> bool {
        self.options.fallback_branch().is_some_and(|branch| branch != self.table.branch())
    }

    /// Plans other snapshots of the table with another filter and without a limit.
    ///
    /// # Errors
    /// As for [`Plan::try_new`].
    pub(crate) fn plan_of(
        &self,
        selection: Selection,
        snapshots: Vec<Snapshot>,
        filter: &BoundPredicate,
        workers: usize,
        context: &Context,
    ) -> Result<Plan> {
        let request = PlanRequest { filter: filter.clone(), ..self.request(selection, snapshots, None, workers) };
        Plan::try_new(&self.table, &request, context)
    }

    fn request(
        &self,
        selection: Selection,
        snapshots: Vec<Snapshot>,
        limit: Option<u64>,
        workers: usize,
    ) -> PlanRequest {
        PlanRequest {
            schema: self.schema.clone(),
            options: self.options.clone(),
            filter: self.filter.clone(),
            view: self.view,
            snapshots,
            selection,
            excluded_partitions: Arc::default(),
            limit,
            workers,
        }
    }

    fn with_fallback(&self, main: Plan, workers: usize, context: &Context) -> Result<Plan> {
        let Some(scan) = &self.fallback else { return Ok(main) };
        let ScanReads::State(snapshots) = &scan.reads else { return Ok(main) };
        let excluded: HashSet<Vec<u8>> = main.partition_rows();
        let mut request = scan.request(Selection::Live, snapshots.clone(), scan.limit, workers);
        request.excluded_partitions = Arc::new(excluded);
        Ok(main.followed_by(Plan::try_new(&scan.table, &request, context)?))
    }

    /// Creates the scan of one branch, without its fallback.
    fn of_branch(table: &Table, scan: &ScanOptions) -> Result<Self> {
        let options = Options::new(table.schema().options.clone()).with(&scan.options);
        let choice = scan.snapshot.or_options(&options)?;
        let reads = match Incremental::from_options(table, &options)? {
            Some(_) if choice.is_time_travel() => {
                return Err(Error::invalid("an incremental read cannot be combined with a snapshot")
                    .hint("remove either the snapshot or the options `incremental-*`"));
            }
            Some(Incremental::Changes(selection, snapshots)) => ScanReads::Changes(selection, snapshots),
            Some(Incremental::Diff(states)) => ScanReads::Diff(states),
            None => ScanReads::State(table.choose(&choice, &options)?.into_iter().collect()),
        };
        if matches!(reads, ScanReads::Diff(_)) && options.boolean("data-evolution.enabled", false)? {
            // A new file may hold new columns of old rows, so the difference of files is not the difference of rows.
            return Err(Error::unsupported(
                "the difference of snapshots of a table with `data-evolution.enabled` is not supported",
            ));
        }
        if scan.view.has_kinds() && matches!(reads, ScanReads::Diff(_)) {
            return Err(Error::unsupported("the audit log or binlog of a difference of snapshots is not supported")
                .hint("read the changes with the mode `delta` or `changelog`"));
        }
        let snapshot = match &reads {
            ScanReads::State(snapshots) => snapshots.first(),
            ScanReads::Changes(..) | ScanReads::Diff(..) => None,
        };
        let schema = with_older_nulls(table, table.read_schema(choice.is_time_travel(), snapshot)?)?;
        check_readable(&schema, &options)?;
        let schema = with_nullable_values(schema, &options);
        let filter = bind(&scan.row_filter, schema.as_ref(), scan.case_sensitive)?;
        let (view, limit) = (scan.view, scan.limit);
        Ok(Self { table: table.clone(), schema, options, filter, view, reads, limit, fallback: None })
    }

    /// Creates the scan of all rows of a fallback branch, or returns None if it had no snapshot at that time.
    fn of_fallback(table: &Table, scan: &ScanOptions, time_ms: Option<i64>) -> Result<Option<Self>> {
        let mut scan = scan.clone();
        scan.options.retain(|name, _| !name.starts_with("scan."));
        scan.row_filter = Expression::TRUE;
        scan.snapshot = time_ms.map_or(SnapshotChoice::Latest, SnapshotChoice::AsOf);
        match Self::of_branch(table, &scan) {
            Err(e) if e.kind() == ErrorKind::NoSuchSnapshot && time_ms.is_some() => Ok(None),
            found => found.map(Some),
        }
    }
}

/// Rejects options that a read cannot change, unless they have the values of the table.
fn check_changed(table: &BTreeMap<String, String>, scan: &BTreeMap<String, String>) -> Result<()> {
    let changes = |name: &&&str| scan.get(**name).is_some_and(|value| table.get(**name) != Some(value));
    match OF_THE_TABLE.iter().find(changes) {
        None => Ok(()),
        Some(name) => Err(Error::invalid(format!("the table option `{name}` cannot be changed by a read"))
            .hint("remove it: the files were written with the value of the table")),
    }
}
