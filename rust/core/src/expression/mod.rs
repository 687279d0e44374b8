//! SQL expressions over the rows of named relations: parsed, bound to Arrow schemas, evaluated on batches.
//!
//! An [`Expression`] is what a user wrote. [`Scope::bind`](bind::Scope::bind) gives each part a type and each column its
//! place, as a [`Bound`](bind::Bound), which [`Bound::evaluate`](bind::Bound::evaluate) turns into an array for
//! [`Rows`](rows::Rows). Literals, names and tests are read and compared as those of a [`Predicate`](crate::predicate).
//!
//! Values have one Arrow type for each SQL type (the one that [`ScalarType::arrow`](crate::scalar::ScalarType::arrow) names);
//! narrower integers, dictionaries and the wide forms of text are widened when a column is read.

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
pub mod rows;
#[cfg(test)]
mod tests;
mod types;

use std::sync::Arc;

use arrow_schema::DataType;

pub use self::cast::widened;
pub use self::types::{normal_type, takes};
use crate::predicate::{ColumnName, CompareOp, LikePattern, Literal};

/// An expression by column name.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A literal, which has a type of its own unless what stands beside it wants another.
    Literal(Literal),
    /// `relation.column`, `column`, and fields of structs behind them.
    Column(ColumnName),
    /// `left op right`, and how the text begins that it was written as.
    Arithmetic(ArithmeticOp, Box<Expression>, Box<Expression>, Arc<str>),
    /// `left op right`.
    Compare(CompareOp, Box<Expression>, Box<Expression>),
    /// `left IS DISTINCT FROM right`: NULL is a value like others.
    Distinct(Box<Expression>, Box<Expression>),
    /// All of these, by three-valued logic.
    And(Vec<Expression>),
    /// Any of these, by three-valued logic.
    Or(Vec<Expression>),
    /// Not this; NULL stays NULL.
    Not(Box<Expression>),
    /// `value IS NULL`.
    IsNull(Box<Expression>),
    /// `value IS NAN`; false for NULL.
    IsNan(Box<Expression>),
    /// `value IN (…)`.
    In(Box<Expression>, Vec<Expression>),
    /// `value LIKE 'pattern'`.
    Like(Box<Expression>, LikePattern),
    /// `CASE WHEN condition THEN value … ELSE value END`; without ELSE it is NULL.
    Case(Vec<(Expression, Expression)>, Option<Box<Expression>>),
    /// `CAST(value AS type)`, or TRY_CAST, which gives NULL where CAST fails; and the text it was written as.
    Cast(Box<Expression>, DataType, bool, Arc<str>),
    /// A function of some arguments, and the text it was written as.
    Call(Function, Vec<Expression>, Arc<str>),
}

/// The operators that make values of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`: a double for integers.
    Divide,
    /// `%`: has the sign of the left side.
    Remainder,
}

/// The functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// The first value that is not NULL.
    Coalesce,
    /// The greatest value, NULLs aside.
    Greatest,
    /// The least value, NULLs aside.
    Least,
    /// The absolute value.
    Abs,
    /// Rounded to so many places, halves away from zero.
    Round,
    /// In upper case.
    Upper,
    /// In lower case.
    Lower,
    /// Without spaces at the ends.
    Trim,
    /// Characters of text, bytes of bytes.
    Length,
    /// Characters from a place on, the first being 1; from the end where it is negative; at most so many.
    Substring,
    /// Texts end to end; NULL if one is.
    Concat,
    /// The instant of the statement.
    CurrentTimestamp,
    /// The day of the statement, in UTC.
    CurrentDate,
}

impl Expression {
    /// A column by its parts.
    pub fn column<const N: usize>(parts: [&str; N]) -> Self {
        Self::Column(ColumnName(parts.iter().map(ToString::to_string).collect()))
    }

    /// What must all hold: the parts of an AND at the top.
    pub fn conjuncts(self) -> Vec<Self> {
        match self {
            Self::And(parts) => parts.into_iter().flat_map(Self::conjuncts).collect(),
            other => vec![other],
        }
    }
}
