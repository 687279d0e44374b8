//! SQL expressions over the rows of named relations: parsing, binding to Arrow schemas, and evaluation on batches.
//!
//! An [`Expression`] is the parsed text of a user. [`Scope::bind`](bind::Scope::bind) converts it to a
//! [`Bound`](bind::Bound), in which each part has a type and each column a position.
//! [`Bound::evaluate`](bind::Bound::evaluate) computes an array for [`Rows`](rows::Rows). Literals, names and
//! comparisons have the same semantics as in a [`Predicate`](crate::sql::predicate).
//!
//! There is one Arrow type for each SQL type (that of [`ScalarType::arrow`](crate::scalar::ScalarType::arrow)).
//! Narrower integers, dictionaries and the large forms of strings are widened when a column is read.

mod arithmetic;
mod assign;
pub mod bind;
mod bound;
mod call;
mod cast;
mod compare;
mod eval;
mod function;
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

pub use self::cast::widened;
pub use self::print::Printed;
pub use self::types::{normal_type, takes};
use crate::sql::predicate::{ColumnName, CompareOp, LikePattern, Literal};

/// An unbound expression, with columns by name.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A literal, whose type adapts to that of the other operand if possible.
    Literal(Literal),
    /// `relation.column` or `column`, followed by any nested fields.
    Column(ColumnName),
    /// `nan` or `inf` without quotes: a number if it is compared with a column, else a column if there is one of this
    /// name, else a number.
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
}

impl Expression {
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
}
