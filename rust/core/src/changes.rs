//! Changes between snapshots, independent of the format: the modes, the columns, and the pairing of rows.

use std::fmt;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use crate::error::{Error, Result};
use crate::row_pairs::{Paired, RowPairs};
use crate::sql::predicate::BoundPredicate;

/// The columns of every change, which follow those of the table. Names and types are those of Iceberg's `changes`
/// table.
pub const CHANGE_COLUMNS: [(&str, DataType); 3] =
    [("_change_type", DataType::Utf8), ("_change_ordinal", DataType::Int32), ("_commit_snapshot_id", DataType::Int64)];

/// How deletes and inserts are paired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeMode {
    /// Deletes and inserts are not paired: rows that a rewritten file kept are a DELETE and an INSERT.
    Carryovers,
    /// Within each commit, rows that were deleted and inserted again unchanged are omitted.
    Changes,
    /// As `Changes`, but rows are also omitted if they were deleted and inserted again unchanged in different commits.
    Net,
    /// As `Changes`; in addition, a remaining delete and insert of the same row within a commit become an update. Rows
    /// are identified by these columns or, if there are none, by the format's own row identifiers.
    Updates(Vec<String>),
}

impl ChangeMode {
    /// Returns the mode with this name; `identifier_columns` are used only for updates.
    ///
    /// # Errors
    /// `Internal` for an unknown name.
    pub fn from_name(name: &str, identifier_columns: Vec<String>) -> Result<Self> {
        Ok(match name {
            "carryovers" => Self::Carryovers,
            "changes" => Self::Changes,
            "net" => Self::Net,
            "updates" => Self::Updates(identifier_columns),
            other => return Err(Error::internal(format!("unknown change mode: {other}"))),
        })
    }
}

/// Returns the schema of changes of a table with these columns.
pub fn change_schema(columns: &[FieldRef]) -> SchemaRef {
    let own = CHANGE_COLUMNS.map(|(name, data_type)| Arc::new(Field::new(name, data_type, false)));
    Arc::new(Schema::new(columns.iter().cloned().chain(own).collect::<Vec<_>>()))
}

/// Returns rows with the change columns appended. `commit` is the ordinal of the snapshot in the range and the snapshot
/// id.
///
/// # Errors
/// `Internal` for columns that do not match the schema.
pub fn changed_rows(
    schema: SchemaRef,
    mut columns: Vec<ArrayRef>,
    types: StringArray,
    (ordinal, snapshot_id): (i32, i64),
) -> Result<RecordBatch> {
    let rows = types.len();
    columns.push(Arc::new(types));
    columns.push(Arc::new(Int32Array::from_value(ordinal, rows)));
    columns.push(Arc::new(Int64Array::from_value(snapshot_id, rows)));
    Ok(RecordBatch::try_new(schema, columns)?)
}

/// Rejects the selection of a table column with the name of a change column.
///
/// # Errors
/// `InvalidArgument` with the column.
pub fn check_selected<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<()> {
    for name in names {
        if CHANGE_COLUMNS.iter().any(|(own, _)| name.eq_ignore_ascii_case(own)) {
            let message = format!("the table has a column `{name}`, which is also the name of a change column");
            return Err(Error::invalid(message).hint("select other columns, or rename this one"));
        }
    }
    Ok(())
}

/// Returns the part of a filter that depends only on the columns in `ids`. If these columns identify rows, both rows of
/// an update have the same result: where it is false, the filter selects neither of them.
#[must_use]
pub fn filter_of_identifiers(filter: &BoundPredicate, ids: &[i32]) -> BoundPredicate {
    let of_ids = |part: &BoundPredicate| part.columns().iter().all(|column| ids.contains(&column.id));
    match filter {
        BoundPredicate::And(parts) => BoundPredicate::and(parts.iter().filter(|part| of_ids(part)).cloned()),
        whole if of_ids(whole) => whole.clone(),
        _ => BoundPredicate::True,
    }
}

/// A function that selects the rows and columns to return. It returns None if no rows are left.
pub type Finish = Box<dyn Fn(RecordBatch) -> Result<Option<RecordBatch>> + Send>;

/// A pairing of the rows of one or several commits. All rows are added first; the remaining rows are then returned.
pub struct ChangePairs {
    state: ChangeState,
    finish: Finish,
}

#[derive(Debug)]
enum ChangeState {
    Taking(RowPairs),
    Giving(Paired),
    Done,
}

impl fmt::Debug for ChangePairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangePairs").field("state", &self.state).finish_non_exhaustive()
    }
}

impl ChangePairs {
    /// Begins to pair rows; each remaining batch is passed through `finish`.
    pub fn new(pairs: RowPairs, finish: Finish) -> Self {
        Self { state: ChangeState::Taking(pairs), finish }
    }

    /// Adds rows with the change columns.
    ///
    /// # Errors
    /// `Storage` if a temporary file cannot be written.
    pub fn push(&mut self, rows: RecordBatch) -> Result<()> {
        match &mut self.state {
            ChangeState::Taking(pairs) => pairs.push(rows),
            ChangeState::Giving(_) | ChangeState::Done => {
                Err(Error::internal("rows were pushed after the first pair was read"))
            }
        }
    }

    /// Returns the next changes; None after the last ones.
    ///
    /// # Errors
    /// `InvalidArgument` if the identifiers are not unique; `Storage` if a temporary file cannot be read.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.state = match std::mem::replace(&mut self.state, ChangeState::Done) {
            ChangeState::Taking(pairs) => ChangeState::Giving(pairs.finish()?),
            other => other,
        };
        loop {
            let ChangeState::Giving(paired) = &mut self.state else { return Ok(None) };
            let Some(rows) = paired.next_batch()? else {
                self.state = ChangeState::Done;
                return Ok(None);
            };
            if let Some(rows) = (self.finish)(rows)? {
                return Ok(Some(rows));
            }
        }
    }
}
