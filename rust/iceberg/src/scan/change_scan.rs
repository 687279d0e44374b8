//! Defines a read of changes between snapshots: the snapshots, the rows, and how deletes and inserts are paired.

use std::sync::Arc;

use frazil_core::changes::{ChangeMode, check_selected, filter_of_identifiers};
use frazil_core::context::{Budget, Context};
use frazil_core::error::{Error, Result};
use frazil_core::sql::expression::Expression;
use frazil_core::sql::predicate::BoundPredicate;
use frazil_core::sql::predicate::bind::bind;

use super::changes::{ChangePlan, Pairing};
use super::context::ReadContext;
use super::incremental::{SnapshotRange, snapshots_of};
use super::output::{MetadataColumn, Output};
use crate::spec::schema::Schema;
use crate::spec::snapshot::Snapshot;
use crate::spec::table_metadata::TableMetadata;
use crate::spec::types::Type;
use crate::table::Table;

/// The operation of snapshots that do not change rows.
const REPLACE: &str = "replace";
/// The format version from which rows have ids.
const ROW_LINEAGE_VERSION: u8 = 3;

/// The options of a read of changes.
#[derive(Debug, Clone)]
pub struct ChangeOptions {
    /// The row filter.
    pub row_filter: Expression,
    /// The columns of the table to return; `*` for all.
    pub selected_fields: Vec<String>,
    /// Whether column names are case-sensitive.
    pub case_sensitive: bool,
    /// The snapshots whose changes are returned.
    pub range: SnapshotRange,
    /// How deletes and inserts are paired.
    pub mode: ChangeMode,
}

/// One snapshot of a range.
#[derive(Debug, Clone)]
pub(super) struct Commit {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) parent: Parent,
}

/// The state with which a snapshot is compared.
#[derive(Debug, Clone)]
pub(super) enum Parent {
    /// An empty table.
    Empty,
    /// The previous snapshot.
    Snapshot(Arc<Snapshot>),
    /// An expired snapshot.
    Expired(i64),
}

/// A read of changes that is bound to snapshots and a schema. Immutable.
#[derive(Debug, Clone)]
pub struct ChangeScan {
    pub(super) metadata_location: Arc<str>,
    /// The columns and the filter of the returned rows.
    pub(super) result: Arc<ReadContext>,
    /// The columns and the filter of the rows that are read for pairing: all columns, and every row that the filter may
    /// need.
    pub(super) paired: Arc<ReadContext>,
    pub(super) mode: ChangeMode,
    pub(super) pairing: Pairing,
    /// The snapshots of the range, oldest first.
    pub(super) commits: Vec<Commit>,
    to_snapshot_id: Option<i64>,
}

impl ChangeScan {
    /// Binds a read of changes. The columns are those of the current schema. A column that later became required is
    /// optional: rows that were deleted before that may have NULL.
    ///
    /// # Errors
    /// `NoSuchSnapshot`; `InvalidArgument` for a range that is not on one line of history, a column or literal that
    /// does not fit, or updates of rows without identifier columns.
    pub fn try_new(table: &Table, options: &ChangeOptions) -> Result<Self> {
        let metadata = table.metadata();
        let schema = Arc::new(metadata.current_schema()?.optional_as_in(&metadata.schemas));
        let filter = bind(&options.row_filter, schema.as_ref(), options.case_sensitive)?;
        let selected = Output::select(&schema, metadata, &options.selected_fields, options.case_sensitive)?;
        refuse_names(&selected)?;
        let pairing = pairing(metadata, &schema, &options.mode, options.case_sensitive)?;
        let context = |output: Output, filter: BoundPredicate| {
            let output = output.with_metadata(&[MetadataColumn::Deleted]);
            ReadContext::try_new(metadata, schema.clone(), output, filter, table.files().clone())
        };
        let mut whole = Output { fields: schema.fields.clone() };
        if pairing.by_row_id() {
            whole = whole.with_metadata(&[MetadataColumn::RowId]);
        }
        // Both rows of an update are needed, even if only one of them matches the filter. The rows are therefore read
        // with a filter on the identifier columns only.
        let both = match options.mode {
            ChangeMode::Updates(_) => filter_of_identifiers(&filter, &pairing.identifier_ids(&schema)),
            _ => filter.clone(),
        };
        let (result, paired) = (context(selected, filter)?, context(whole, both)?);
        let snapshots =
            snapshots_of(metadata, options.range).map_err(|e| e.with("table", table.metadata_location()))?;
        Ok(Self {
            metadata_location: table.metadata_location().into(),
            to_snapshot_id: snapshots.first().map(|snapshot| snapshot.snapshot_id),
            commits: commits(metadata, snapshots),
            result: Arc::new(result),
            paired: Arc::new(paired),
            mode: options.mode.clone(),
            pairing,
        })
    }

    /// Returns the scan with `budget` as the memory budget for decoded deletes.
    #[must_use]
    pub fn within(self, budget: &Budget) -> Self {
        let within =
            |read: Arc<ReadContext>| Arc::new(ReadContext { budget: budget.clone(), ..Arc::unwrap_or_clone(read) });
        Self { result: within(self.result), paired: within(self.paired), ..self }
    }

    /// Returns the context of the returned rows.
    pub fn result(&self) -> &Arc<ReadContext> {
        &self.result
    }

    /// Returns the last snapshot of the range.
    pub fn to_snapshot_id(&self) -> Option<i64> {
        self.to_snapshot_id
    }

    /// Plans the scan on at most `workers` threads.
    ///
    /// # Errors
    /// `CorruptManifest`, `MissingFile` and `PathNotAllowed` with the manifest or manifest list; `NoSuchSnapshot` if a
    /// snapshot that removed rows is compared with one that has expired.
    pub fn plan(&self, workers: usize, context: &Context) -> Result<ChangePlan> {
        ChangePlan::try_new(self, workers, context)
    }
}

fn commits(metadata: &TableMetadata, newest_first: Vec<Arc<Snapshot>>) -> Vec<Commit> {
    // The first snapshot of a table is read as added rows even if its operation is `replace`.
    let changes =
        |snapshot: &Arc<Snapshot>| snapshot.operation() != Some(REPLACE) || snapshot.parent_snapshot_id.is_none();
    newest_first
        .into_iter()
        .rev()
        .filter(changes)
        .map(|snapshot| {
            let parent = match snapshot.parent_snapshot_id {
                None => Parent::Empty,
                Some(id) => {
                    metadata.snapshot(id).map_or(Parent::Expired(id), |parent| Parent::Snapshot(parent.clone()))
                }
            };
            Commit { snapshot, parent }
        })
        .collect()
}

fn refuse_names(selected: &Output) -> Result<()> {
    for field in &selected.fields.fields {
        if MetadataColumn::ALL.iter().any(|column| column.field_id() == field.id) {
            let message = format!("`{}` cannot be selected from the changes of a table", field.name);
            return Err(Error::invalid(message).hint("select columns of the table"));
        }
    }
    check_selected(selected.fields.fields.iter().map(|field| field.name.as_str()))
}

fn pairing(metadata: &TableMetadata, schema: &Schema, mode: &ChangeMode, case_sensitive: bool) -> Result<Pairing> {
    let columns = schema.fields.fields.len();
    let none = |across_commits| Pairing { columns, identifiers: Vec::new(), across_commits };
    let names = match mode {
        ChangeMode::Updates(names) => names,
        ChangeMode::Net => return Ok(none(true)),
        ChangeMode::Carryovers | ChangeMode::Changes => return Ok(none(false)),
    };
    let identifiers = if names.is_empty() {
        let ids = &schema.identifier_field_ids;
        let own = ids.iter().map(|id| schema.fields.fields.iter().position(|field| field.id == *id));
        match own.collect::<Option<Vec<usize>>>() {
            _ if metadata.format_version >= ROW_LINEAGE_VERSION => vec![columns],
            Some(own) if !own.is_empty() => own,
            _ => {
                let message = "updates need columns that identify rows, but the schema has no identifier fields";
                return Err(
                    Error::invalid(message).hint("pass identifier_columns, such as identifier_columns=(\"id\",)")
                );
            }
        }
    } else {
        names.iter().map(|name| identifier(schema, name, case_sensitive)).collect::<Result<_>>()?
    };
    Ok(Pairing { columns, identifiers, across_commits: false })
}

/// Returns the position of a top-level column of a primitive type.
fn identifier(schema: &Schema, name: &str, case_sensitive: bool) -> Result<usize> {
    let selected = schema.project(&[name], case_sensitive)?;
    let [field] = selected.fields.as_slice() else {
        return Err(Error::invalid(format!("`{name}` does not match exactly one column and cannot identify rows")));
    };
    let position = schema.fields.fields.iter().position(|own| own.id == field.id);
    position.filter(|_| matches!(field.field_type, Type::Primitive(_))).ok_or_else(|| {
        Error::invalid(format!("the column `{name}` is nested and cannot identify rows"))
            .hint("use top-level columns of primitive types")
    })
}
