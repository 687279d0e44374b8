//! Clauses with types.

use std::collections::HashSet;

use arrow_schema::Schema;
use frazil_core::error::{Error, Result};
use frazil_core::expression::Expression;
use frazil_core::expression::bind::{Bound, Scope};

use super::{Action, Clause, MergePlan, When};

/// A clause with types.
#[derive(Debug)]
pub(super) struct BoundClause {
    pub(super) condition: Option<Bound>,
    pub(super) action: BoundAction,
}

/// What becomes of a row, by column of the target: None leaves it.
#[derive(Debug)]
pub(super) enum BoundAction {
    Delete,
    Update(Vec<Option<Bound>>),
    Insert(Vec<Option<Bound>>),
}

/// The clauses of one kind.
///
/// # Errors
/// `InvalidArgument` for an action that does not go with the kind, for a clause behind one that takes every row, and for
/// what cannot be bound.
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
        let message = format!("a clause {} behind one without a condition never applies", when.text());
        return Err(Error::invalid(message).hint("give every clause but the last of its kind a condition"));
    }
    let bind = |clause: &&Clause| {
        let condition = clause.condition.as_ref().map(|condition| scope.bind_condition(condition)).transpose()?;
        Ok(BoundClause { condition, action: action(clause, &scope, plan, target, source)? })
    };
    clauses.iter().map(bind).collect()
}

impl When {
    /// As SQL says it.
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
    match (&clause.action, clause.when) {
        (Action::Delete, When::Matched | When::NotMatchedBySource) => Ok(BoundAction::Delete),
        (Action::Update(set), When::Matched | When::NotMatchedBySource) => {
            Ok(BoundAction::Update(bind_set(set, scope, target)?))
        }
        (Action::UpdateAll(except), When::Matched) => Ok(BoundAction::Update(bind_set(&all(except)?, scope, target)?)),
        (Action::Insert(values), When::NotMatched) => Ok(BoundAction::Insert(bind_set(values, scope, target)?)),
        (Action::InsertAll(except), When::NotMatched) => {
            Ok(BoundAction::Insert(bind_set(&all(except)?, scope, target)?))
        }
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

/// Each column of the source for the column of the target that has its name.
fn all_columns(
    plan: &MergePlan,
    target: &Schema,
    source: &Schema,
    except: &[String],
) -> Result<Vec<(String, Expression)>> {
    if let Some(unknown) = except.iter().find(|name| source.field_with_name(name).is_err()) {
        return Err(Error::invalid(format!("the source has no column `{unknown}` to leave out")));
    }
    let names = source.fields().iter().map(|field| field.name()).filter(|name| !except.contains(name));
    let column = |name: &String| {
        if target.field_with_name(name).is_err() {
            let message = format!("the source has a column `{name}`, which the table does not have");
            return Err(Error::invalid(message)
                .with("column", name)
                .hint("leave it out (except_columns), or add it to the table first (schema evolution)"));
        }
        Ok((name.clone(), Expression::column([plan.source_alias.as_str(), name])))
    };
    names.map(column).collect()
}

/// The value for each column of the target.
///
/// # Errors
/// `InvalidArgument` for a column that is not there or is set twice, and as of [`Bound::assign`].
pub(super) fn bind_set(set: &[(String, Expression)], scope: &Scope<'_>, target: &Schema) -> Result<Vec<Option<Bound>>> {
    let mut seen = HashSet::new();
    let mut columns: Vec<Option<Bound>> = target.fields().iter().map(|_| None).collect();
    for (name, value) in set {
        let Some((index, field)) = target.column_with_name(name) else {
            let nested = name.split_once('.').is_some_and(|(parent, _)| target.field_with_name(parent).is_ok());
            let error = Error::invalid(format!("the table has no column `{name}` to set")).with("column", name);
            return Err(if nested {
                error.hint("set the whole struct; fields of it cannot be set alone")
            } else {
                error
            });
        };
        if !seen.insert(index) {
            return Err(Error::invalid(format!("the column `{name}` is set twice")).with("column", name));
        }
        let bound = scope.bind(value).and_then(|bound| bound.assign(field));
        if let Some(column) = columns.get_mut(index) {
            *column = Some(bound.map_err(|error| error.with("column", name))?);
        }
    }
    Ok(columns)
}
