//! MERGE: decides which rows of a table change, and how, given the rows of a source. Independent of files and commits.
//!
//! A [`MergePlan`] is the request. A [`Merger`](merger::Merger) reads the source rows and then target rows in batches,
//! from any thread, and returns for each batch the deleted rows and the new values of updated rows. The rows to insert
//! are returned last. Clauses are tried in order, and the first whose condition is TRUE applies.

mod changes;
mod clause;
pub mod merger;
mod rows;
pub mod update;

use crate::error::{Error, Result};
use crate::sql::expression::Expression;
use crate::sql::predicate::{CompareOp, column_names};
use arrow_schema::Schema;

/// The definition of a MERGE.
#[derive(Debug, Clone, PartialEq)]
pub struct MergePlan {
    /// The alias of the table in expressions.
    pub target_alias: String,
    /// The alias of the source in expressions.
    pub source_alias: String,
    /// The condition for a match between a target row and a source row: at least one equality between them, and any
    /// other conditions.
    pub on: Expression,
    /// The clauses, in order of precedence.
    pub clauses: Vec<Clause>,
    /// Whether two source rows with the same key are an error, even if they match nothing.
    pub unique_source: bool,
    /// The current time of the statement, in microseconds since the epoch; the same in every process.
    pub now_micros: i64,
}

/// One WHEN clause.
#[derive(Debug, Clone, PartialEq)]
pub struct Clause {
    /// The rows to which it applies.
    pub when: When,
    /// The condition on these rows; None for all of them.
    pub condition: Option<Expression>,
    /// The action on the rows.
    pub action: Action,
}

/// The rows to which a [`Clause`] applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Target rows that match a source row.
    Matched,
    /// Source rows that match no target row.
    NotMatched,
    /// Target rows that match no source row.
    NotMatchedBySource,
}

/// An action on a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Sets these columns to these values; other columns stay unchanged.
    Update(Vec<(String, Expression)>),
    /// Sets all columns of the source, except these, to its values.
    UpdateAll(Vec<String>),
    /// Deletes the row.
    Delete,
    /// Inserts a row of these values; other columns get their defaults.
    Insert(Vec<(String, Expression)>),
    /// Inserts a row with the columns of the source, except these; other columns get their defaults.
    InsertAll(Vec<String>),
}

impl MergePlan {
    /// Matches rows by columns that exist on both sides.
    ///
    /// # Errors
    /// `InvalidArgument` if there are no columns.
    pub fn on_columns(
        columns: &[String],
        source: &Schema,
        target_alias: &str,
        source_alias: &str,
    ) -> Result<Expression> {
        let columns = column_names(columns, source);
        if columns.is_empty() {
            return Err(Error::invalid("a merge needs at least one key column"));
        }
        let equal = |name: &String| {
            let side = |alias| Box::new(Expression::column([alias, name]));
            Expression::Compare(CompareOp::Eq, side(target_alias), side(source_alias))
        };
        Ok(Expression::And(columns.iter().map(equal).collect()))
    }

    /// Updates rows by key if the source has different values for them, and inserts the remaining source rows. NULL in
    /// a key matches nothing.
    ///
    /// # Errors
    /// `InvalidArgument` if there are no keys, if the source does not have a key, and if the upsert would have no
    /// effect.
    pub fn upsert(join_columns: &[String], update: bool, insert: bool, source: &Schema) -> Result<Self> {
        const TARGET: &str = "target";
        const SOURCE: &str = "source";
        if !update && !insert {
            return Err(Error::invalid("an upsert that neither updates nor inserts has no effect"));
        }
        let join_columns = &column_names(join_columns, source);
        if let Some(missing) = join_columns.iter().find(|name| source.field_with_name(name).is_err()) {
            return Err(Error::invalid(format!("the rows have no key column `{missing}`")));
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
            // The key columns are also set: -0.0 and 0.0 are equal but not identical.
            clauses.push(Clause { when: When::Matched, condition, action: Action::UpdateAll(Vec::new()) });
        }
        if insert {
            clauses.push(Clause { when: When::NotMatched, condition: None, action: Action::InsertAll(Vec::new()) });
        }
        let (target_alias, source_alias) = (TARGET.to_string(), SOURCE.to_string());
        // The expressions of an upsert do not read the current time.
        Ok(Self { target_alias, source_alias, on, clauses, unique_source: true, now_micros: 0 })
    }
}
