//! Converts a condition to a predicate: tests of one column with literals, which can be decided by statistics, and other
//! conditions, which are evaluated on rows.

use super::{ColumnName, Literal, Predicate};
use crate::sql::expression::Expression;

/// Returns the predicate that is true for the same rows as a condition.
pub(super) fn lower(condition: Expression) -> Predicate {
    use Expression as E;
    match condition {
        E::And(parts) => Predicate::And(parts.into_iter().map(lower).collect()),
        E::Or(parts) => Predicate::Or(parts.into_iter().map(lower).collect()),
        E::Not(inner) => Predicate::Not(Box::new(lower(*inner))),
        E::Literal(Literal::Boolean(true)) => Predicate::True,
        E::Literal(Literal::Boolean(false)) => Predicate::False,
        E::Column(name) | E::Word(name, _) => Predicate::Column(name),
        E::Compare(op, left, right) => match (*left, *right) {
            (E::Column(name) | E::Word(name, _), E::Literal(literal) | E::Word(_, literal)) => {
                Predicate::Compare(name, op, literal)
            }
            (E::Literal(literal) | E::Word(_, literal), E::Column(name)) | (E::Literal(literal), E::Word(name, _)) => {
                Predicate::Compare(name, op.flipped(), literal)
            }
            (left, right) => Predicate::Condition(E::Compare(op, Box::new(left), Box::new(right))),
        },
        E::Distinct(left, right) => match (*left, *right) {
            (E::Column(name), E::Literal(literal)) | (E::Literal(literal), E::Column(name)) => distinct(name, literal),
            (left, right) => Predicate::Condition(E::Distinct(Box::new(left), Box::new(right))),
        },
        E::IsNull(value) => match *value {
            E::Column(name) | E::Word(name, _) => Predicate::IsNull(name),
            value => Predicate::Condition(E::IsNull(Box::new(value))),
        },
        E::IsNan(value) => match *value {
            E::Column(name) | E::Word(name, _) => Predicate::IsNan(name),
            value => Predicate::Condition(E::IsNan(Box::new(value))),
        },
        E::Like(value, pattern) => match *value {
            E::Column(name) | E::Word(name, _) => Predicate::Like(name, pattern.text),
            value => Predicate::Condition(E::Like(Box::new(value), pattern)),
        },
        E::In(value, members) => members_of(*value, members),
        other => Predicate::Condition(other),
    }
}

fn distinct(name: ColumnName, literal: Literal) -> Predicate {
    if literal == Literal::Null {
        return Predicate::Not(Box::new(Predicate::IsNull(name)));
    }
    let differs = Predicate::Compare(name.clone(), super::CompareOp::NotEq, literal);
    Predicate::Or(vec![differs, Predicate::IsNull(name)])
}

fn members_of(value: Expression, members: Vec<Expression>) -> Predicate {
    use Expression as E;
    let is_literal = |member: &E| matches!(member, E::Literal(_) | E::Word(..));
    match value {
        E::Column(name) | E::Word(name, _) if members.iter().all(is_literal) => {
            let literal = |member| match member {
                E::Literal(literal) | E::Word(_, literal) => Some(literal),
                _ => None,
            };
            Predicate::In(name, members.into_iter().filter_map(literal).collect())
        }
        value => Predicate::Condition(E::In(Box::new(value), members)),
    }
}
