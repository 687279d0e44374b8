//! SQL expressions over the rows of named relations: parsing, binding to Arrow schemas, and evaluation on batches.
//!
//! An [`Expression`] is the parsed text of a user. [`Scope::bind`](bind::Scope::bind) converts it to a
//! [`Bound`](bind::Bound), in which each part has a type and each column a position.
//! [`Bound::evaluate`](bind::Bound::evaluate) computes an array for [`Rows`](rows::Rows). Literals, names and
//! comparisons have the same semantics as in a [`predicate`](crate::sql::predicate).
//!
//! There is one Arrow type for each SQL type (that of [`ScalarType::arrow`](crate::scalar::ScalarType::arrow)).
//! Narrower integers, dictionaries and the large forms of strings are widened when a column is read.

mod arithmetic;
mod assign;
pub mod bind;
mod bound;
mod call;
mod cast;
mod civil_fields;
mod compare;
mod eval;
mod function;
mod interval;
mod literal;
mod parse;
mod print;
mod rewrite;
pub mod rows;
#[cfg(test)]
mod tests;
mod types;

use std::sync::Arc;

use arrow_schema::DataType;

use self::bind::Scope;
pub use self::cast::widened;
pub use self::print::Printed;
use self::rows::Rows;
use self::types::scalar_type;
pub use self::types::{normal_type, takes};
use crate::error::Result;
use crate::scalar::{Scalar, ScalarType};
use crate::sql::predicate::{ColumnName, CompareOp, LikePattern, Literal};

/// An unbound expression, with columns by name.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A literal, whose type adapts to that of the other operand if possible.
    Literal(Literal),
    /// `relation.column` or `column`, followed by any nested fields.
    Column(ColumnName),
    /// `nan` or `inf` without quotes: a column if there is one of this name, else a number. If it is compared with a
    /// name, it is a [`Literal`](Self::Literal) instead.
    Word(ColumnName, Literal),
    /// `left op right`, with the beginning of its source text.
    Arithmetic(ArithmeticOp, Box<Expression>, Box<Expression>, Arc<str>),
    /// `left op right`.
    Compare(CompareOp, Box<Expression>, Box<Expression>),
    /// `left IS DISTINCT FROM right`: NULL is treated as a value.
    Distinct(Box<Expression>, Box<Expression>),
    /// The conjunction, by three-valued logic.
    And(Vec<Expression>),
    /// The disjunction, by three-valued logic.
    Or(Vec<Expression>),
    /// The negation; NULL stays NULL.
    Not(Box<Expression>),
    /// `value IS NULL`.
    IsNull(Box<Expression>),
    /// `value IS NAN`; false for NULL.
    IsNan(Box<Expression>),
    /// `value IN (…)`.
    In(Box<Expression>, Vec<Expression>),
    /// `value LIKE 'pattern'`.
    Like(Box<Expression>, LikePattern),
    /// `CASE WHEN condition THEN value … ELSE value END`; the default for ELSE is NULL.
    Case(Vec<(Expression, Expression)>, Option<Box<Expression>>),
    /// `CAST(value AS type)`, or TRY_CAST, which returns NULL if CAST fails; with the source text.
    Cast(Box<Expression>, DataType, bool, Arc<str>),
    /// A function call, with the source text.
    Call(Function, Vec<Expression>, Arc<str>),
}

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`: the result is a double for integers.
    Divide,
    /// `%`: the result has the sign of the left operand.
    Remainder,
}

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// The first value that is not NULL.
    Coalesce,
    /// The greatest value, ignoring NULLs.
    Greatest,
    /// The least value, ignoring NULLs.
    Least,
    /// The absolute value.
    Abs,
    /// The value rounded to a number of fractional digits, halves away from zero.
    Round,
    /// The string in upper case.
    Upper,
    /// The string in lower case.
    Lower,
    /// The string without leading and trailing spaces.
    Trim,
    /// The number of characters of a string, or of bytes of a binary value.
    Length,
    /// The characters from a position on, where 1 is the first, or counted from the end if it is negative; optionally
    /// with a maximum length.
    Substring,
    /// The concatenation of strings; NULL if any is NULL.
    Concat,
    /// The instant of the statement.
    CurrentTimestamp,
    /// The day of the statement, in UTC.
    CurrentDate,
    /// A part of a date or timestamp, in UTC.
    Part(CivilPart),
    /// A date or timestamp plus numbers of months, days and microseconds. The day is at most the last one of its month.
    Plus,
}

/// A part of a date or timestamp in the proleptic Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CivilPart {
    /// The year.
    Year,
    /// The month, from 1 to 12.
    Month,
    /// The day of the month.
    Day,
    /// The hour of the day, which is 0 for a date.
    Hour,
    /// The minute of the hour.
    Minute,
    /// The second of the minute, without its fraction.
    Second,
}

impl Expression {
    /// The condition that every row fulfills.
    pub const TRUE: Self = Self::Literal(Literal::Boolean(true));

    /// The condition that no row fulfills.
    pub const FALSE: Self = Self::Literal(Literal::Boolean(false));

    /// Returns `column op literal`.
    pub fn compare(column: ColumnName, op: CompareOp, literal: Literal) -> Self {
        Self::Compare(op, Box::new(Self::Column(column)), Box::new(Self::Literal(literal)))
    }

    /// Returns `column IN (literals)`.
    pub fn is_in(column: ColumnName, literals: Vec<Literal>) -> Self {
        Self::In(Box::new(Self::Column(column)), literals.into_iter().map(Self::Literal).collect())
    }

    /// Returns `column IS NULL`.
    pub fn is_null(column: ColumnName) -> Self {
        Self::IsNull(Box::new(Self::Column(column)))
    }

    /// Returns `column IS NAN`.
    pub fn is_nan(column: ColumnName) -> Self {
        Self::IsNan(Box::new(Self::Column(column)))
    }

    /// Returns `column LIKE pattern`.
    ///
    /// # Errors
    /// `InvalidArgument` if the pattern ends with an escape character.
    pub fn like(column: ColumnName, pattern: &str) -> Result<Self> {
        Ok(Self::Like(Box::new(Self::Column(column)), LikePattern::parse(pattern)?))
    }

    /// Creates a column reference from its parts.
    pub fn column<const N: usize>(parts: [&str; N]) -> Self {
        Self::Column(ColumnName(parts.iter().map(ToString::to_string).collect()))
    }

    /// Returns the parts of a top-level AND, all of which must hold.
    pub fn conjuncts(self) -> Vec<Self> {
        match self {
            Self::And(parts) => parts.into_iter().flat_map(Self::conjuncts).collect(),
            other => vec![other],
        }
    }

    /// Returns the direct parts.
    fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Literal(_) | Self::Column(_) | Self::Word(..) => Vec::new(),
            Self::Arithmetic(_, a, b, _) | Self::Compare(_, a, b) | Self::Distinct(a, b) => vec![a, b],
            Self::And(parts) | Self::Or(parts) | Self::Call(_, parts, _) => parts.iter().collect(),
            Self::In(value, members) => std::iter::once(&**value).chain(members).collect(),
            Self::Not(inner)
            | Self::IsNull(inner)
            | Self::IsNan(inner)
            | Self::Like(inner, _)
            | Self::Cast(inner, ..) => vec![inner],
            Self::Case(branches, otherwise) => {
                let branches = branches.iter().flat_map(|(condition, value)| [condition, value]);
                branches.chain(otherwise.as_deref()).collect()
            }
        }
    }

    /// Returns the number of parts, including indirect ones and itself.
    fn size(&self) -> usize {
        1 + self.parts().into_iter().map(Self::size).sum::<usize>()
    }

    /// Returns the type and the value of an expression of literals. None if it has columns, words or the current time,
    /// if its evaluation fails, or if no literal has its type.
    pub(crate) fn constant(&self) -> Option<(ScalarType, Literal)> {
        if !self.is_of_literals() {
            return None;
        }
        let bound = Scope::new(Vec::new(), 0).bind(self).ok()?;
        let value = bound.evaluate(&Rows::new(1, Vec::new())).ok()?;
        let data_type = scalar_type(bound.data_type())?;
        let value = Scalar::from_array(value.as_ref(), 0, data_type).ok()?;
        Some((data_type, value.map_or(Literal::Null, Literal::Typed)))
    }

    fn is_of_literals(&self) -> bool {
        let parts = self.parts();
        match self {
            Self::Literal(_) => true,
            _ => !parts.is_empty() && parts.into_iter().all(Self::is_of_literals),
        }
    }
}
