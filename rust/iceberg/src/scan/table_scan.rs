//! Defines a scan: the snapshot, the rows and the columns.

use std::sync::Arc;

use frazil_core::context::{Budget, Context};
use frazil_core::error::Result;
use frazil_core::sql::expression::Expression;
use frazil_core::sql::predicate::bind::bind;

use super::context::ReadContext;
use super::incremental::{SnapshotRange, appended};
use super::output::{MetadataColumn, Output};
use super::plan::{Plan, PlanRequest, Selection};
use crate::spec::schema::Schema;
use crate::spec::snapshot::Snapshot;
use crate::table::{SnapshotChoice, Table};

/// The options of a scan.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// The row filter.
    pub row_filter: Expression,
    /// The columns; see [`Output::select`].
    pub selected_fields: Vec<String>,
    /// The metadata columns, which are appended and identified by position because the table may have columns of the
    /// same names.
    pub metadata_columns: Vec<MetadataColumn>,
    /// The snapshot to read.
    pub snapshot: SnapshotChoice,
    /// The maximum number of rows; planning stops once the planned files are certain to have that many.
    pub limit: Option<u64>,
    /// Whether column names are case-sensitive.
    pub case_sensitive: bool,
}

/// A scan that is bound to a snapshot and a schema. Immutable.
#[derive(Debug, Clone)]
pub struct TableScan {
    read: Arc<ReadContext>,
    snapshots: Vec<Arc<Snapshot>>,
    selection: Selection,
    limit: Option<u64>,
}

impl TableScan {
    /// Binds a scan.
    ///
    /// # Errors
    /// `NoSuchSnapshot`; `InvalidArgument` with the column or literal that does not fit.
    pub fn try_new(table: &Table, options: &ScanOptions) -> Result<Self> {
        let (snapshot, schema) = table.choose(&options.snapshot)?;
        Self::bound(table, options, snapshot, schema)
    }

    fn bound(
        table: &Table,
        options: &ScanOptions,
        snapshot: Option<Arc<Snapshot>>,
        schema: Arc<Schema>,
    ) -> Result<Self> {
        let filter = bind(&options.row_filter, schema.as_ref(), options.case_sensitive)?;
        let metadata = table.metadata();
        let output = Output::select(&schema, metadata, &options.selected_fields, options.case_sensitive)?
            .with_metadata(&options.metadata_columns);
        let read = ReadContext::try_new(metadata, schema, output, filter, table.files().clone())?;
        let snapshots = snapshot.into_iter().collect();
        Ok(Self { read: Arc::new(read), snapshots, selection: Selection::Live, limit: options.limit })
    }

    /// Binds a scan of the rows that the append snapshots of a range added. A column that later became required is
    /// optional: rows that were deleted before that may have NULL.
    ///
    /// # Errors
    /// See [`TableScan::try_new`]; `InvalidArgument` if the range is not on one line of history.
    pub fn incremental(table: &Table, options: &ScanOptions, range: SnapshotRange) -> Result<Self> {
        let snapshots = appended(table.metadata(), range)?;
        let added_by = snapshots.iter().map(|snapshot| snapshot.snapshot_id).collect();
        let (snapshot, schema) = table.choose(&options.snapshot)?;
        let schema = Arc::new(schema.optional_as_in(&table.metadata().schemas));
        let scan = Self::bound(table, options, snapshot, schema)?;
        Ok(Self { snapshots, selection: Selection::AddedBy(added_by), ..scan })
    }

    /// Returns the scan with `budget` as the memory budget for decoded deletes. Without a budget, only the cache size
    /// limits their memory.
    #[must_use]
    pub fn within(self, budget: Budget) -> Self {
        let read = ReadContext { budget, ..Arc::unwrap_or_clone(self.read) };
        Self { read: Arc::new(read), ..self }
    }

    /// Returns the state that all tasks share.
    pub fn read(&self) -> &Arc<ReadContext> {
        &self.read
    }

    /// Returns the snapshot, or the last snapshot of an incremental scan.
    pub fn snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.snapshots.first()
    }

    /// Returns the maximum number of rows.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Plans the scan on at most `workers` threads.
    pub fn plan(&self, workers: usize, context: &Context) -> Result<Plan> {
        Plan::try_new(self.read.clone(), &self.request(workers), context)
    }

    /// Plans the scan for an operation that rewrites files, which also reads the rows that do not match the filter.
    pub fn plan_whole_files(&self, workers: usize, context: &Context) -> Result<Plan> {
        let request = PlanRequest { whole_files: true, ..self.request(workers) };
        Plan::try_new(self.read.clone(), &request, context)
    }

    fn request(&self, workers: usize) -> PlanRequest<'_> {
        PlanRequest {
            snapshots: &self.snapshots,
            selection: self.selection.clone(),
            limit: self.limit,
            whole_files: false,
            workers,
        }
    }
}
