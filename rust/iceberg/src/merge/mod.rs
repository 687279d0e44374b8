//! MERGE: which rows of a table change, and how, by the rows of a source. Knows nothing of files or commits.
//!
//! A [`MergePlan`] is what was asked for. A [`Merger`](merger::Merger) takes the rows of the source, then rows of the target
//! batch by batch, from any thread, and says of each batch which rows are deleted and what others become; the rows to insert
//! come last. Clauses are tried in their order, and the first whose condition is TRUE decides.

mod changes;
mod clause;
pub mod merger;
mod rows;
pub mod source;
pub mod update;

use arrow_schema::Schema;
use frazil_core::error::{Error, Result};
use frazil_core::expression::Expression;
use frazil_core::predicate::{CompareOp, column_names};

/// A MERGE.
#[derive(Debug, Clone, PartialEq)]
pub struct MergePlan {
    /// What expressions call the rows of the table.
    pub target_alias: String,
    /// What expressions call the rows of the source.
    pub source_alias: String,
    /// When a row of the target and one of the source match: at least one equality between them, and anything else.
    pub on: Expression,
    /// What happens, in order of precedence.
    pub clauses: Vec<Clause>,
    /// Whether two rows of the source with one key are an error, even if they match nothing.
    pub unique_source: bool,
    /// The current time of the statement, in microseconds since the epoch: the same in every process.
    pub now_micros: i64,
}

/// One WHEN.
#[derive(Debug, Clone, PartialEq)]
pub struct Clause {
    /// The rows it is about.
    pub when: When,
    /// Which of them; None is all.
    pub condition: Option<Expression>,
    /// What becomes of them.
    pub action: Action,
}

/// The rows that a [`Clause`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Rows of the target that match a row of the source.
    Matched,
    /// Rows of the source that match no row of the target.
    NotMatched,
    /// Rows of the target that match no row of the source.
    NotMatchedBySource,
}

/// What becomes of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// These columns get these values, others stay.
    Update(Vec<(String, Expression)>),
    /// The columns of the source, but these, get its values.
    UpdateAll(Vec<String>),
    /// It is deleted.
    Delete,
    /// A row of these values; other columns get their defaults.
    Insert(Vec<(String, Expression)>),
    /// A row of the columns of the source, but these; other columns get their defaults.
    InsertAll(Vec<String>),
}

impl MergePlan {
    /// Matches rows by columns that both sides have.
    ///
    /// # Errors
    /// `InvalidArgument` without columns.
    pub fn on_columns(
        columns: &[String],
        source: &Schema,
        target_alias: &str,
        source_alias: &str,
    ) -> Result<Expression> {
        let columns = column_names(columns, source);
        if columns.is_empty() {
            return Err(Error::invalid("a merge needs at least one column to match rows by"));
        }
        let equal = |name: &String| {
            let side = |alias| Box::new(Expression::column([alias, name]));
            Expression::Compare(CompareOp::Eq, side(target_alias), side(source_alias))
        };
        Ok(Expression::And(columns.iter().map(equal).collect()))
    }

    /// Updates rows that the source has other values for, by key, and inserts the others. NULL in a key matches nothing.
    ///
    /// # Errors
    /// `InvalidArgument` without keys, for a key that the source does not have, and where nothing would happen.
    pub fn upsert(join_columns: &[String], update: bool, insert: bool, source: &Schema) -> Result<Self> {
        const TARGET: &str = "target";
        const SOURCE: &str = "source";
        if !update && !insert {
            return Err(Error::invalid("an upsert that neither updates nor inserts does nothing"));
        }
        let join_columns = &column_names(join_columns, source);
        if let Some(missing) = join_columns.iter().find(|name| source.field_with_name(name).is_err()) {
            return Err(Error::invalid(format!("the rows have no column `{missing}` to match by")));
        }
        let on = Self::on_columns(join_columns, source, TARGET, SOURCE)?;
        let others = source.fields().iter().map(|field| field.name()).filter(|name| !join_columns.contains(name));
        let changed: Vec<Expression> = others
            .map(|name| {
                let side = |alias| Box::new(Expression::column([alias, name]));
                Expression::Distinct(side(TARGET), side(SOURCE))
            })
            .collect();
        let mut clauses = Vec::new();
        if update && !changed.is_empty() {
            let condition = Some(Expression::Or(changed));
            // Also the columns of the key: -0.0 and 0.0 are equal and not the same.
            clauses.push(Clause { when: When::Matched, condition, action: Action::UpdateAll(Vec::new()) });
        }
        if insert {
            clauses.push(Clause { when: When::NotMatched, condition: None, action: Action::InsertAll(Vec::new()) });
        }
        let (target_alias, source_alias) = (TARGET.to_string(), SOURCE.to_string());
        // No expression of an upsert reads the current time.
        Ok(Self { target_alias, source_alias, on, clauses, unique_source: true, now_micros: 0 })
    }
}
