//! A scan as it is asked for: which snapshot, which rows, which columns.

use std::sync::Arc;

use frazil_core::context::{Budget, Context};
use frazil_core::error::Result;
use frazil_core::predicate::Predicate;
use frazil_core::predicate::bind::bind;

use super::context::ReadContext;
use super::incremental::{SnapshotRange, appended};
use super::output::{MetadataColumn, Output};
use super::plan::{Plan, PlanRequest, Selection};
use crate::spec::schema::Schema;
use crate::spec::snapshot::Snapshot;
use crate::table::{SnapshotChoice, Table};

/// What is asked of a table.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// Rows for which this is true.
    pub row_filter: Predicate,
    /// Columns; see [`Output::select`].
    pub selected_fields: Vec<String>,
    /// Metadata columns, appended after them and found by position: the table may have columns of the same names.
    pub metadata_columns: Vec<MetadataColumn>,
    /// The state of the table.
    pub snapshot: SnapshotChoice,
    /// At most so many rows; planning stops where they surely suffice.
    pub limit: Option<u64>,
    /// Whether `ID` is another column than `id`.
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
    /// `NoSuchSnapshot`; `InvalidArgument` naming the column or literal that does not fit.
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

    /// Binds a scan of the rows that append snapshots of a range added. A column that became required later is optional: rows
    /// that were deleted before that may have NULL.
    ///
    /// # Errors
    /// As [`TableScan::try_new`]; `InvalidArgument` when the range does not lie on one line of history.
    pub fn incremental(table: &Table, options: &ScanOptions, range: SnapshotRange) -> Result<Self> {
        let snapshots = appended(table.metadata(), range)?;
        let added_by = snapshots.iter().map(|snapshot| snapshot.snapshot_id).collect();
        let (snapshot, schema) = table.choose(&options.snapshot)?;
        let schema = Arc::new(schema.optional_as_in(&table.metadata().schemas));
        let scan = Self::bound(table, options, snapshot, schema)?;
        Ok(Self { snapshots, selection: Selection::AddedBy(added_by), ..scan })
    }

    /// The scan with what decoded deletes may hold: without it they are only held to the size of their cache.
    #[must_use]
    pub fn within(self, budget: Budget) -> Self {
        let read = ReadContext { budget, ..Arc::unwrap_or_clone(self.read) };
        Self { read: Arc::new(read), ..self }
    }

    /// What all tasks share.
    pub fn read(&self) -> &Arc<ReadContext> {
        &self.read
    }

    /// The snapshot; the last one of an incremental scan.
    pub fn snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.snapshots.first()
    }

    /// At most so many rows.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Plans the scan on at most `workers` threads.
    pub fn plan(&self, workers: usize, context: &Context) -> Result<Plan> {
        let request =
            PlanRequest { snapshots: &self.snapshots, selection: self.selection.clone(), limit: self.limit, workers };
        Plan::try_new(self.read.clone(), &request, context)
    }
}
