//! Predicates for scans, pruning, deletes and merges, with the three-valued logic of SQL.
//!
//! The filter of a user is an [`Expression`](super::expression::Expression), with columns by name. [`bind`](bind::bind)
//! converts it to a [`BoundPredicate`], which has column ids and typed literals, with NOT pushed down to the leaves and
//! trivial parts folded. All later steps (pruning, projection to partitions, evaluation on rows) use only the bound
//! form.

pub mod bind;
mod condition;
pub mod eval;
pub(crate) mod keys;
pub(crate) mod lex;
mod like;
pub(crate) mod literal;
mod number;
pub(crate) mod parse;
mod print;
#[cfg(test)]
pub(crate) mod testing;

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_schema::Schema;

use self::lex::{Language, Lexer, Token};
use crate::scalar::{Scalar, ScalarType};

pub use self::condition::Condition;

/// The name of a column, as the user wrote it: one part, or several for a field in structs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnName(pub Vec<String>);

/// A literal, as the user wrote it; its type is determined by the column it is compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `NULL`.
    Null,
    /// `true`, `false`.
    Boolean(bool),
    /// An integer or decimal number with its original digits: `10`, `-0.050`, `1e-3`. Also `nan`, `inf`, `-inf`,
    /// `-0.0`.
    Number(String),
    /// `'text'`: also used for dates, times, timestamps and UUIDs.
    String(String),
    /// `X'00ff'`.
    Binary(Vec<u8>),
    /// `DATE '2024-01-01'`.
    Date(String),
    /// `TIME '10:00:00'`.
    Time(String),
    /// `TIMESTAMP '2024-01-01 00:00:00'`.
    Timestamp(String),
    /// A value that already has a type (from an API, never from text).
    Typed(Scalar),
}

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `<`
    Lt,
    /// `<=`
    LtEq,
    /// `>`
    Gt,
    /// `>=`
    GtEq,
    /// `=`
    Eq,
    /// `<>`, `!=`
    NotEq,
}

/// A column that a predicate references.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundColumn {
    /// The id of the column in statistics and rows (a field id).
    pub id: i32,
    /// The full name, for messages and for printing. If it is a valid SQL name, the printed predicate can be parsed and
    /// bound again.
    pub name: Arc<str>,
    /// The type of its values.
    pub data_type: ScalarType,
    /// Whether it may be NULL (itself optional, or inside an optional field).
    pub nullable: bool,
}

/// A test of a value. NULL fails every test except [`Test::IsNull`] and [`Test::NotNan`].
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// The value is NULL.
    IsNull,
    /// The value is not NULL.
    NotNull,
    /// The value is NaN.
    IsNan,
    /// The value is NULL or not NaN (`is nan` of NULL is false, so its negation is true).
    NotNan,
    /// The value has this relation to a scalar of the column's type.
    Compare(CompareOp, Scalar),
    /// The value is one of these: sorted, distinct, at least two.
    In(Arc<[Scalar]>),
    /// The value is not NULL and none of these: sorted, distinct, at least two.
    NotIn(Arc<[Scalar]>),
    /// The string or binary value has this prefix.
    StartsWith(Scalar),
    /// The string or binary value does not have this prefix.
    NotStartsWith(Scalar),
    /// The string matches a LIKE pattern that is more than a prefix.
    Like(Arc<LikePattern>),
    /// The string does not match a LIKE pattern that is more than a prefix.
    NotLike(Arc<LikePattern>),
}

impl Test {
    /// Returns the same test with its literals promoted by [`Scalar::promote`], or None if one cannot be promoted.
    pub fn promote(&self, to: ScalarType) -> Option<Self> {
        let all = |values: &[Scalar]| values.iter().map(|value| value.promote(to)).collect::<Option<Arc<[Scalar]>>>();
        Some(match self {
            Self::Compare(op, value) => Self::Compare(*op, value.promote(to)?),
            Self::In(values) => Self::In(all(values)?),
            Self::NotIn(values) => Self::NotIn(all(values)?),
            Self::StartsWith(prefix) => Self::StartsWith(prefix.promote(to)?),
            Self::NotStartsWith(prefix) => Self::NotStartsWith(prefix.promote(to)?),
            Self::IsNull | Self::NotNull | Self::IsNan | Self::NotNan | Self::Like(_) | Self::NotLike(_) => {
                self.clone()
            }
        })
    }
}

/// A parsed LIKE pattern: adjacent texts are merged into one part, and so are adjacent `%`.
#[derive(Debug, Clone, PartialEq)]
pub struct LikePattern {
    /// The original pattern.
    pub text: String,
    /// The parts.
    pub parts: Vec<LikePart>,
}

/// A part of a [`LikePattern`].
#[derive(Debug, Clone, PartialEq)]
pub enum LikePart {
    /// Exactly this text.
    Text(String),
    /// Any one character (`_`).
    One,
    /// Any text (`%`).
    Any,
}

/// A predicate over column ids, without NOT: only rows for which it is TRUE are kept.
///
/// Invariants: `And` and `Or` have at least two parts, none of them a constant or the same connective.
#[derive(Debug, Clone, PartialEq)]
pub enum BoundPredicate {
    /// Every row.
    True,
    /// No row.
    False,
    /// The conjunction.
    And(Vec<BoundPredicate>),
    /// The disjunction.
    Or(Vec<BoundPredicate>),
    /// One test of one column.
    Leaf(BoundColumn, Test),
    /// A condition that statistics do not decide.
    Condition(Arc<Condition>),
}

impl ColumnName {
    /// Returns the name that a quoted text represents in SQL: `q?` for `"q?"`, `s.a b` for `` s.`a b` ``. None for a
    /// text without quotes, which is the name itself, and for one that is not a single name.
    ///
    /// Arguments that accept column names (not expressions) accept both forms: a column whose name equals the text
    /// takes precedence.
    pub fn unquoted(text: &str) -> Option<String> {
        Self::from_quoted(text).map(|name| name.0.join("."))
    }

    /// Returns the parts of a quoted name; None as in [`ColumnName::unquoted`].
    pub fn from_quoted(text: &str) -> Option<Self> {
        if !text.contains(['"', '`']) {
            return None;
        }
        let mut lexer = Lexer::new(text, Language::Filter).ok()?;
        let (Token::Name(parts), _) = lexer.next().ok()? else { return None };
        matches!(lexer.next(), Ok((Token::End, _))).then_some(Self(parts))
    }
}

/// Returns the column names that texts from a user reference. A quoted text is unquoted, as in
/// [`ColumnName::unquoted`], if only the unquoted name is a column of `schema`; other texts are unchanged.
pub fn column_names(texts: &[String], schema: &Schema) -> Vec<String> {
    let has = |name: &String| schema.field_with_name(name).is_ok();
    let named = |text: &String| match ColumnName::unquoted(text).filter(has) {
        Some(name) if !has(text) => name,
        _ => text.clone(),
    };
    texts.iter().map(named).collect()
}

impl CompareOp {
    /// Returns the SQL operator.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Lt => "<",
            Self::LtEq => "<=",
            Self::Gt => ">",
            Self::GtEq => ">=",
            Self::Eq => "=",
            Self::NotEq => "<>",
        }
    }

    /// Returns the operator that holds for two non-null values exactly when this one does not.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Lt => Self::GtEq,
            Self::LtEq => Self::Gt,
            Self::Gt => Self::LtEq,
            Self::GtEq => Self::Lt,
            Self::Eq => Self::NotEq,
            Self::NotEq => Self::Eq,
        }
    }

    /// Returns the equivalent operator for exchanged sides.
    #[must_use]
    pub fn flipped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::LtEq => Self::GtEq,
            Self::Gt => Self::Lt,
            Self::GtEq => Self::LtEq,
            Self::Eq | Self::NotEq => self,
        }
    }

    /// Returns whether the comparison is true if the left side has this ordering relative to the right side.
    pub fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Self::Lt => ordering.is_lt(),
            Self::LtEq => ordering.is_le(),
            Self::Gt => ordering.is_gt(),
            Self::GtEq => ordering.is_ge(),
            Self::Eq => ordering.is_eq(),
            Self::NotEq => ordering.is_ne(),
        }
    }
}

impl BoundPredicate {
    /// Returns the conjunction, with the invariants of [`BoundPredicate`] established.
    pub fn and(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Self::True => {}
                Self::False => return Self::False,
                Self::And(inner) => kept.extend(inner),
                other => kept.push(other),
            }
        }
        match (kept.pop(), kept.is_empty()) {
            (None, _) => Self::True,
            (Some(only), true) => only,
            (Some(last), false) => {
                kept.push(last);
                Self::And(kept)
            }
        }
    }

    /// Returns the disjunction, with the invariants of [`BoundPredicate`] established.
    pub fn or(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Self::False => {}
                Self::True => return Self::True,
                Self::Or(inner) => kept.extend(inner),
                other => kept.push(other),
            }
        }
        match (kept.pop(), kept.is_empty()) {
            (None, _) => Self::False,
            (Some(only), true) => only,
            (Some(last), false) => {
                kept.push(last);
                Self::Or(kept)
            }
        }
    }

    /// Returns whether it has a condition that statistics do not decide.
    pub fn has_condition(&self) -> bool {
        match self {
            Self::True | Self::False | Self::Leaf(..) => false,
            Self::And(parts) | Self::Or(parts) => parts.iter().any(Self::has_condition),
            Self::Condition(_) => true,
        }
    }

    /// Returns the columns that it tests, without duplicates, in the order of their first test.
    pub fn columns(&self) -> Vec<&BoundColumn> {
        fn add<'a>(found: &mut Vec<&'a BoundColumn>, column: &'a BoundColumn) {
            if !found.iter().any(|known| known.id == column.id) {
                found.push(column);
            }
        }
        let mut found: Vec<&BoundColumn> = Vec::new();
        let mut rest = vec![self];
        while let Some(next) = rest.pop() {
            match next {
                Self::True | Self::False => {}
                Self::And(parts) | Self::Or(parts) => rest.extend(parts.iter().rev()),
                Self::Leaf(column, _) => add(&mut found, column),
                Self::Condition(condition) => condition.columns().iter().for_each(|column| add(&mut found, column)),
            }
        }
        found
    }
}
