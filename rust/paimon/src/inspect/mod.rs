//! System tables (documentation: "System Tables"): the metadata of a table as rows.
//!
//! Names, columns and types match Java 1.4. `audit_log`, `binlog`, `ro` and `row_tracking` are scans of the table's
//! rows ([`View`](crate::context::View)) and are only listed here. Times are as recorded: UTC for commits, and the wall
//! clock of the writer for files.

mod aggregation_fields;
mod display;
mod file_stats;
mod files;
mod live;
mod manifests;
mod options;
mod partitions;
mod refs;
mod schemas;
mod snapshots;
mod statistics;
mod table_indexes;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use frazil_core::virtual_table::{Part, PartBatches, TableInfo, VirtualTable, find};

use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::snapshot::Snapshot;
use crate::spec::types::DataField;
use crate::table::{SnapshotChoice, Table};
use files::DataFiles;

/// All system tables.
pub static TABLES: &[TableInfo] = &[
    always("aggregation_fields", "Columns with their aggregate functions and options."),
    of_snapshot("audit_log", "Rows of a snapshot with their kinds, including rows that only delete."),
    of_snapshot("binlog", "Rows of a snapshot with their kinds, with lists of row images as columns."),
    always("branches", "Branches other than main."),
    of_snapshot("buckets", "Buckets of a snapshot with the rows and files in each."),
    always("consumers", "Consumers with the next snapshot that each one reads."),
    of_snapshot("file_key_ranges", "Data files of a snapshot with their smallest and greatest keys."),
    of_snapshot("files", "Data files of a snapshot with their statistics."),
    of_snapshot("manifests", "Manifests of a snapshot."),
    always("options", "Options of the table."),
    of_snapshot("partitions", "Partitions of a snapshot with the rows and files in each."),
    of_snapshot("ro", "Rows of a snapshot that need no merge; the latest rows may be missing."),
    of_snapshot("row_tracking", "Rows of a snapshot with their row ids and sequence numbers."),
    always("schemas", "Schemas of the table."),
    always("snapshots", "Snapshots that have not expired."),
    of_snapshot("statistics", "Statistics that ANALYZE recorded for a snapshot."),
    of_snapshot("table_indexes", "Index files of a snapshot, including deletion vectors."),
    always("tags", "Tags with the snapshots that they keep."),
];

/// The system tables that are views of the rows of the table, not computed from metadata.
pub const VIEWS: [&str; 4] = ["audit_log", "binlog", "ro", "row_tracking"];

const fn always(name: &'static str, doc: &'static str) -> TableInfo {
    TableInfo { name, doc, time_travel: false }
}

const fn of_snapshot(name: &'static str, doc: &'static str) -> TableInfo {
    TableInfo { name, doc, time_travel: true }
}

/// Returns a system table that is computed from metadata. If `choice` is the latest snapshot, the options of the table
/// choose the snapshot.
///
/// # Errors
/// `InvalidArgument` for an unknown name, a view of the table's rows, and a snapshot choice for a table that does not
/// support one; as for [`Table::choose`].
pub fn open(table: &Table, name: &str, choice: &SnapshotChoice) -> Result<Arc<dyn VirtualTable>> {
    let info = find(TABLES, name)?;
    if VIEWS.contains(&name) {
        return Err(Error::invalid(format!("the system table `{name}` is not computed from metadata"))
            .hint("scan the rows of the table with this view instead"));
    }
    if !info.time_travel && choice.is_time_travel() {
        return Err(Error::invalid(format!("the system table `{name}` does not support time travel"))
            .with("table", table.location())
            .hint("open it without a snapshot, tag or time"));
    }
    let state = if info.time_travel { InspectState::at(table, choice)? } else { InspectState::latest(table) };
    let (columns, rows): (&[InspectColumn], InspectRows) = match info.name {
        "files" => return Ok(Arc::new(DataFiles::new(state, &files::FILES))),
        "file_key_ranges" => return Ok(Arc::new(DataFiles::new(state, &files::FILE_KEY_RANGES))),
        "aggregation_fields" => (&aggregation_fields::COLUMNS, aggregation_fields::rows),
        "branches" => (&refs::BRANCHES, refs::branches),
        "buckets" => (&partitions::BUCKETS, partitions::buckets),
        "consumers" => (&refs::CONSUMERS, refs::consumers),
        "manifests" => (&manifests::COLUMNS, manifests::rows),
        "options" => (&options::COLUMNS, options::rows),
        "partitions" => (&partitions::PARTITIONS, partitions::partitions),
        "schemas" => (&schemas::COLUMNS, schemas::rows),
        "snapshots" => (&snapshots::COLUMNS, snapshots::rows),
        "statistics" => (&statistics::COLUMNS, statistics::rows),
        "table_indexes" => (&table_indexes::COLUMNS, table_indexes::rows),
        "tags" => (&refs::TAGS, refs::tags),
        other => return Err(Error::internal(format!("the system table `{other}` cannot be opened"))),
    };
    Ok(Arc::new(Computed { state, schema: schema(columns), rows }))
}

/// A table at the displayed state.
#[derive(Debug, Clone)]
struct InspectState {
    table: Table,
    /// The schema that defines names and types.
    schema: Arc<TableSchema>,
    options: Options,
    /// The displayed snapshot; None before the first commit, and for tables that do not show a snapshot.
    snapshot: Option<Snapshot>,
}

impl InspectState {
    fn latest(table: &Table) -> Self {
        let schema = table.schema().clone();
        let options = Options::new(schema.options.clone());
        Self { table: table.clone(), schema, options, snapshot: None }
    }

    fn at(table: &Table, choice: &SnapshotChoice) -> Result<Self> {
        let latest = Self::latest(table);
        let choice = choice.or_options(&latest.options)?;
        let snapshot = table.choose(&choice, &latest.options)?;
        let schema = table.read_schema(choice.is_time_travel(), snapshot.as_ref())?;
        Ok(Self { schema, snapshot, ..latest })
    }

    /// Returns the partition columns, outermost first.
    fn partition_fields(&self) -> Vec<&DataField> {
        self.schema.partition_keys.iter().filter_map(|key| self.schema.field(key)).collect()
    }
}

/// A column of a system table: its name, type, and whether it is nullable.
type InspectColumn = (&'static str, ViewKind, bool);

const REQUIRED: bool = false;
const NULLABLE: bool = true;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ViewKind {
    Text,
    Int,
    Long,
    /// Milliseconds.
    Time,
    /// Microseconds.
    PreciseTime,
    /// A list of strings.
    Texts,
    /// A list of the locations of deletion vectors.
    DeletionRanges,
}

impl ViewKind {
    fn arrow(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8,
            Self::Int => DataType::Int32,
            Self::Long => DataType::Int64,
            Self::Time => DataType::Timestamp(TimeUnit::Millisecond, None),
            Self::PreciseTime => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Texts => DataType::List(Arc::new(Field::new("element", DataType::Utf8, true))),
            Self::DeletionRanges => {
                let range = DataType::Struct(table_indexes::range_fields());
                DataType::List(Arc::new(Field::new("element", range, true)))
            }
        }
    }
}

fn schema(columns: &[InspectColumn]) -> SchemaRef {
    let field = |&(name, kind, nullable): &InspectColumn| Field::new(name, kind.arrow(), nullable);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// A function that computes all columns of all rows.
type InspectRows = fn(&InspectState, &Context) -> Result<Vec<ArrayRef>>;

/// A small table with a single part, whose rows are computed together.
#[derive(Debug)]
struct Computed {
    state: InspectState,
    schema: SchemaRef,
    rows: InspectRows,
}

impl VirtualTable for Computed {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn parts(&self, _: &Context) -> Result<Vec<Part>> {
        Ok(vec![Part::new()])
    }

    fn read(&self, part: &[u8], columns: &[usize], context: &Context) -> Result<PartBatches> {
        if !part.is_empty() {
            return Err(Error::invalid("the part belongs to another system table"));
        }
        let all = (self.rows)(&self.state, context)?;
        let rows = all.first().map_or(0, |column| column.len());
        Ok(Box::new(std::iter::once(project(&self.schema, &all, columns, rows))))
    }
}

/// Returns some columns of a table as a batch of `rows` rows.
fn project(schema: &SchemaRef, all: &[ArrayRef], columns: &[usize], rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let arrays = columns.iter().filter_map(|&column| all.get(column).cloned()).collect();
    Ok(RecordBatch::try_new_with_options(Arc::new(schema.project(columns)?), arrays, &options)?)
}
