//! Replaces parts of expressions.

use super::call::{day, moment};
use super::{Expression, Function};
use crate::error::Result;
use crate::sql::predicate::Literal;

impl Expression {
    /// Returns the expression with the current time and date replaced by those of `now_micros`, in microseconds since the
    /// epoch.
    #[must_use]
    pub fn at(self, now_micros: i64) -> Self {
        let replaced = self.map_leaves(&mut |leaf| {
            Ok(match leaf {
                Self::Call(Function::CurrentTimestamp, ..) => Self::Literal(Literal::Typed(moment(now_micros))),
                Self::Call(Function::CurrentDate, ..) => Self::Literal(Literal::Typed(day(now_micros))),
                other => other,
            })
        });
        // The replacement cannot fail.
        replaced.unwrap_or(Self::Literal(Literal::Null))
    }

    /// Returns the expression with each column, word and call without arguments replaced by the result of `replace`.
    ///
    /// # Errors
    /// The errors of `replace`.
    pub fn map_leaves(self, replace: &mut dyn FnMut(Self) -> Result<Self>) -> Result<Self> {
        let mut one = |part: Box<Self>| part.map_leaves(replace).map(Box::new);
        Ok(match self {
            Self::Literal(_) => self,
            Self::Column(_) | Self::Word(..) => replace(self)?,
            Self::Call(_, ref parts, _) if parts.is_empty() => replace(self)?,
            Self::Arithmetic(op, left, right, text) => Self::Arithmetic(op, one(left)?, one(right)?, text),
            Self::Compare(op, left, right) => Self::Compare(op, one(left)?, one(right)?),
            Self::Distinct(left, right) => Self::Distinct(one(left)?, one(right)?),
            Self::Not(inner) => Self::Not(one(inner)?),
            Self::IsNull(inner) => Self::IsNull(one(inner)?),
            Self::IsNan(inner) => Self::IsNan(one(inner)?),
            Self::Like(inner, pattern) => Self::Like(one(inner)?, pattern),
            Self::Cast(inner, data_type, tried, text) => Self::Cast(one(inner)?, data_type, tried, text),
            Self::And(parts) => Self::And(all(parts, replace)?),
            Self::Or(parts) => Self::Or(all(parts, replace)?),
            Self::Call(function, parts, text) => Self::Call(function, all(parts, replace)?, text),
            Self::In(value, members) => {
                let value = one(value)?;
                Self::In(value, all(members, replace)?)
            }
            Self::Case(branches, otherwise) => {
                let mut found = Vec::with_capacity(branches.len());
                for (condition, value) in branches {
                    found.push((condition.map_leaves(replace)?, value.map_leaves(replace)?));
                }
                let otherwise = otherwise.map(|otherwise| otherwise.map_leaves(replace)).transpose()?;
                Self::Case(found, otherwise.map(Box::new))
            }
        })
    }
}

fn all(parts: Vec<Expression>, replace: &mut dyn FnMut(Expression) -> Result<Expression>) -> Result<Vec<Expression>> {
    parts.into_iter().map(|part| part.map_leaves(replace)).collect()
}
