//! Clauses of a merge, bound to column types.

use crate::error::{Error, Result};
use crate::sql::expression::Expression;
use crate::sql::expression::bind::{Bound, Scope};
use crate::sql::predicate::column_names;
use arrow_schema::Schema;

use super::{Action, Clause, MergePlan, When};

/// A clause that is bound to column types.
#[derive(Debug)]
pub(super) struct BoundClause {
    pub(super) condition: Option<Bound>,
    pub(super) action: BoundAction,
}

/// The action on a row, by column of the target: None leaves the column unchanged.
#[derive(Debug)]
pub(super) enum BoundAction {
    Delete,
    Update(Vec<Option<Bound>>),
    Insert(Vec<Option<Bound>>),
}

/// Binds the clauses of one WHEN type.
///
/// # Errors
/// `InvalidArgument` for an action that the WHEN type does not support, for a clause after one without a condition, and
/// for an expression that cannot be bound.
pub(super) fn bind_clauses(
    plan: &MergePlan,
    when: When,
    target: &Schema,
    source: &Schema,
    now_micros: i64,
) -> Result<Vec<BoundClause>> {
    let relations = vec![
        (plan.target_alias.as_str(), (when != When::NotMatched).then_some(target)),
        (plan.source_alias.as_str(), (when != When::NotMatchedBySource).then_some(source)),
    ];
    let scope = Scope::new(relations, now_micros);
    let clauses: Vec<&Clause> = plan.clauses.iter().filter(|clause| clause.when == when).collect();
    let before_last = clauses.len().saturating_sub(1);
    if clauses.iter().take(before_last).any(|clause| clause.condition.is_none()) {
        let message = format!("a clause {} after one without a condition never applies", when.text());
        return Err(Error::invalid(message).hint("give every clause but the last of its type a condition"));
    }
    let bind = |clause: &&Clause| {
        let condition = clause.condition.as_ref().map(|condition| scope.bind_condition(condition)).transpose()?;
        Ok(BoundClause { condition, action: action(clause, &scope, plan, target, source)? })
    };
    clauses.iter().map(bind).collect()
}

impl When {
    /// Returns the SQL keywords.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Matched => "WHEN MATCHED",
            Self::NotMatched => "WHEN NOT MATCHED",
            Self::NotMatchedBySource => "WHEN NOT MATCHED BY SOURCE",
        }
    }
}

fn action(
    clause: &Clause,
    scope: &Scope<'_>,
    plan: &MergePlan,
    target: &Schema,
    source: &Schema,
) -> Result<BoundAction> {
    let all = |except: &[String]| all_columns(plan, target, source, except);
    let assign = |set: &[(String, Expression)]| scope.assign(set, target, &plan.target_alias);
    match (&clause.action, clause.when) {
        (Action::Delete, When::Matched | When::NotMatchedBySource) => Ok(BoundAction::Delete),
        (Action::Update(set), When::Matched | When::NotMatchedBySource) => Ok(BoundAction::Update(assign(set)?)),
        (Action::UpdateAll(except), When::Matched) => Ok(BoundAction::Update(assign(&all(except)?)?)),
        (Action::Insert(values), When::NotMatched) => Ok(BoundAction::Insert(assign(values)?)),
        (Action::InsertAll(except), When::NotMatched) => Ok(BoundAction::Insert(assign(&all(except)?)?)),
        (action, when) => {
            let verb = match action {
                Action::Delete => "DELETE",
                Action::Update(_) | Action::UpdateAll(_) => "UPDATE",
                Action::Insert(_) | Action::InsertAll(_) => "INSERT",
            };
            Err(Error::invalid(format!("{} cannot {verb}", when.text())))
        }
    }
}

/// Maps each source column to the target column with the same name.
fn all_columns(
    plan: &MergePlan,
    target: &Schema,
    source: &Schema,
    except: &[String],
) -> Result<Vec<(String, Expression)>> {
    let except = column_names(except, source);
    if let Some(unknown) = except.iter().find(|name| source.field_with_name(name).is_err()) {
        return Err(Error::invalid(format!("the source has no column `{unknown}` to exclude")));
    }
    let names = source.fields().iter().map(|field| field.name()).filter(|name| !except.contains(name));
    let column = |name: &String| {
        if target.field_with_name(name).is_err() {
            let message = format!("the source has a column `{name}`, which does not exist in the table");
            return Err(Error::invalid(message)
                .with("column", name)
                .hint("exclude it (except_columns), or add it to the table first (schema evolution)"));
        }
        Ok((name.clone(), Expression::column([plan.source_alias.as_str(), name])))
    };
    names.map(column).collect()
}
