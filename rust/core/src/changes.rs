//! Changes between snapshots as every format has them: how they are asked for, their columns, and how rows are paired.

use std::fmt;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use crate::error::{Error, Result};
use crate::predicate::BoundPredicate;
use crate::row_pairs::{Paired, RowPairs};

/// The columns that every change has, after those of the table. Names and types are those of Iceberg's `changes` table.
pub const CHANGE_COLUMNS: [(&str, DataType); 3] =
    [("_change_type", DataType::Utf8), ("_change_ordinal", DataType::Int32), ("_commit_snapshot_id", DataType::Int64)];

/// How deletes and inserts are paired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeMode {
    /// Not at all: rows that a rewritten file kept are a DELETE and an INSERT.
    Carryovers,
    /// Within each commit, a row that was deleted and inserted again unchanged is left out.
    Changes,
    /// Over all commits, such rows are left out.
    Net,
    /// Within each commit; what is left of a row is an update. Rows are identified by these columns, or, if there are
    /// none, by what the format identifies rows by.
    Updates(Vec<String>),
}

impl ChangeMode {
    /// The mode of a name; `identifier_columns` matter to updates only.
    ///
    /// # Errors
    /// `Internal` for an unknown name.
    pub fn from_name(name: &str, identifier_columns: Vec<String>) -> Result<Self> {
        Ok(match name {
            "carryovers" => Self::Carryovers,
            "changes" => Self::Changes,
            "net" => Self::Net,
            "updates" => Self::Updates(identifier_columns),
            other => return Err(Error::internal(format!("unknown mode of changes: {other}"))),
        })
    }
}

/// The schema of changes of a table with these columns.
pub fn change_schema(columns: &[FieldRef]) -> SchemaRef {
    let own = CHANGE_COLUMNS.map(|(name, data_type)| Arc::new(Field::new(name, data_type, false)));
    Arc::new(Schema::new(columns.iter().cloned().chain(own).collect::<Vec<_>>()))
}

/// Rows with the columns of changes after their own; `commit` is the number of the snapshot in the range, and its id.
///
/// # Errors
/// `Internal` for columns that do not fit the schema.
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

/// Refuse to select a column of a table that is named as a column of changes.
///
/// # Errors
/// `InvalidArgument` naming the column.
pub fn check_selected<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<()> {
    for name in names {
        if CHANGE_COLUMNS.iter().any(|(own, _)| name.eq_ignore_ascii_case(own)) {
            let message = format!("the table has a column `{name}`, which is also a column of changes");
            return Err(Error::invalid(message).hint("select other columns, or rename it"));
        }
    }
    Ok(())
}

/// What a filter asks of some columns alone: rows for which it is false are in no update that the filter wants, if these
/// columns identify rows.
#[must_use]
pub fn filter_of_identifiers(filter: &BoundPredicate, ids: &[i32]) -> BoundPredicate {
    let of_ids = |part: &BoundPredicate| part.columns().iter().all(|column| ids.contains(&column.id));
    match filter {
        BoundPredicate::And(parts) => BoundPredicate::and(parts.iter().filter(|part| of_ids(part)).cloned()),
        whole if of_ids(whole) => whole.clone(),
        _ => BoundPredicate::True,
    }
}

/// Keeps the rows that were asked for, with their columns; None if there are none.
pub type Finish = Box<dyn Fn(RecordBatch) -> Result<Option<RecordBatch>> + Send>;

/// Pairs the rows of one or several commits: takes all of them, then returns what is left.
pub struct ChangePairs {
    state: State,
    finish: Finish,
}

#[derive(Debug)]
enum State {
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
    /// Begin to pair rows; each batch that is left goes through `finish`.
    pub fn new(pairs: RowPairs, finish: Finish) -> Self {
        Self { state: State::Taking(pairs), finish }
    }

    /// Take rows with the columns of changes.
    ///
    /// # Errors
    /// `Storage` if a temporary file cannot be written.
    pub fn push(&mut self, rows: RecordBatch) -> Result<()> {
        match &mut self.state {
            State::Taking(pairs) => pairs.push(rows),
            State::Giving(_) | State::Done => Err(Error::internal("rows were pushed after the first pair was read")),
        }
    }

    /// Return the next changes; None after the last.
    ///
    /// # Errors
    /// `InvalidArgument` if identifiers do not identify rows; `Storage` if a temporary file cannot be read.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.state = match std::mem::replace(&mut self.state, State::Done) {
            State::Taking(pairs) => State::Giving(pairs.finish()?),
            other => other,
        };
        loop {
            let State::Giving(paired) = &mut self.state else { return Ok(None) };
            let Some(rows) = paired.next_batch()? else {
                self.state = State::Done;
                return Ok(None);
            };
            if let Some(rows) = (self.finish)(rows)? {
                return Ok(Some(rows));
            }
        }
    }
}
