//! Prints predicates as SQL text.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

use super::lex::{begins_name, continues_name};
use super::like::escape;
use super::parse::{is_reserved, special_number};
use super::{BoundPredicate, ColumnName, Literal, Test};
use crate::scalar::Scalar;
use crate::scalar::print::{write_bytes, write_text};

const TRUE: &str = "TRUE";
const FALSE: &str = "FALSE";

impl Display for ColumnName {
    /// Writes the parts separated by dots, quoted if necessary.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            let mut chars = part.chars();
            let plain = chars.next().is_some_and(begins_name) && chars.all(continues_name);
            if plain && !(self.0.len() == 1 && is_ambiguous(part)) {
                f.write_str(part)?;
            } else {
                write!(f, "\"{}\"", part.replace('"', "\"\""))?;
            }
        }
        Ok(())
    }
}

/// Returns the full name of a column, in quotes if it could be another word.
pub(super) fn unambiguous(name: &str) -> Cow<'_, str> {
    if is_ambiguous(name) { Cow::Owned(format!("\"{name}\"")) } else { Cow::Borrowed(name) }
}

/// Returns whether an unquoted word is not always a column.
fn is_ambiguous(word: &str) -> bool {
    const OTHERS: [&str; 8] = ["case", "when", "then", "else", "end", "as", "current_date", "current_timestamp"];
    is_reserved(word)
        || special_number(&word.to_ascii_lowercase()).is_some()
        || OTHERS.iter().any(|other| word.eq_ignore_ascii_case(other))
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Number(digits) => f.write_str(digits),
            Self::String(text) => write_text(f, text),
            Self::Binary(bytes) => write_bytes(f, bytes),
            Self::Date(text) => f.write_str("DATE ").and_then(|()| write_text(f, text)),
            Self::Time(text) => f.write_str("TIME ").and_then(|()| write_text(f, text)),
            Self::Timestamp(text) => f.write_str("TIMESTAMP ").and_then(|()| write_text(f, text)),
            Self::Typed(scalar) => write!(f, "{scalar}"),
        }
    }
}

impl Display for BoundPredicate {
    /// Writes SQL with the full names of the columns; a binary prefix, for which SQL has no test, is written as
    /// `STARTS_WITH(name, X'00')`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::True => f.write_str(TRUE),
            Self::False => f.write_str(FALSE),
            Self::And(parts) => write_all(f, parts, Self::is_connective),
            Self::Or(parts) => write_any(f, parts, Self::is_connective),
            Self::Leaf(column, test) => write_test(f, &unambiguous(&column.name), test),
            Self::Condition(condition) => condition.fmt(f),
        }
    }
}

impl BoundPredicate {
    fn is_connective(&self) -> bool {
        match self {
            Self::And(_) | Self::Or(_) => true,
            Self::Condition(condition) => condition.is_connective(),
            _ => false,
        }
    }
}

fn write_test(f: &mut Formatter<'_>, name: &str, test: &Test) -> fmt::Result {
    match test {
        Test::IsNull => write!(f, "{name} IS NULL"),
        Test::NotNull => write!(f, "{name} IS NOT NULL"),
        Test::IsNan => write!(f, "{name} IS NAN"),
        Test::NotNan => write!(f, "{name} IS NOT NAN"),
        Test::Compare(op, scalar) => write!(f, "{name} {} {scalar}", op.symbol()),
        Test::In(scalars) => write_in(f, &name, "IN", scalars),
        Test::NotIn(scalars) => write_in(f, &name, "NOT IN", scalars),
        Test::StartsWith(Scalar::String(prefix)) => write_like(f, &name, "LIKE", &format!("{}%", escape(prefix))),
        Test::NotStartsWith(Scalar::String(prefix)) => {
            write_like(f, &name, "NOT LIKE", &format!("{}%", escape(prefix)))
        }
        Test::StartsWith(prefix) => write!(f, "STARTS_WITH({name}, {prefix})"),
        Test::NotStartsWith(prefix) => write!(f, "NOT STARTS_WITH({name}, {prefix})"),
        Test::Like(pattern) => write_like(f, &name, "LIKE", &pattern.text),
        Test::NotLike(pattern) => write_like(f, &name, "NOT LIKE", &pattern.text),
    }
}

fn write_in(f: &mut Formatter<'_>, name: &impl Display, verb: &str, items: &[impl Display]) -> fmt::Result {
    write!(f, "{name} {verb} (")?;
    join(f, items, ", ", "", Display::fmt)?;
    f.write_str(")")
}

fn write_like(f: &mut Formatter<'_>, name: &impl Display, verb: &str, pattern: &str) -> fmt::Result {
    write!(f, "{name} {verb} ")?;
    write_text(f, pattern)
}

/// Writes a conjunction, with nested connectives in parentheses.
fn write_all<T: Display>(f: &mut Formatter<'_>, parts: &[T], is_connective: fn(&T) -> bool) -> fmt::Result {
    join(f, parts, " AND ", TRUE, |part, f| grouped(part, f, is_connective(part)))
}

/// Writes a disjunction, with nested connectives in parentheses.
fn write_any<T: Display>(f: &mut Formatter<'_>, parts: &[T], is_connective: fn(&T) -> bool) -> fmt::Result {
    join(f, parts, " OR ", FALSE, |part, f| grouped(part, f, is_connective(part)))
}

fn grouped(part: &impl Display, f: &mut Formatter<'_>, parentheses: bool) -> fmt::Result {
    if parentheses { write!(f, "({part})") } else { part.fmt(f) }
}

fn join<T>(
    f: &mut Formatter<'_>,
    parts: &[T],
    separator: &str,
    empty: &str,
    write: impl Fn(&T, &mut Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    if parts.is_empty() {
        return f.write_str(empty);
    }
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        write(part, f)?;
    }
    Ok(())
}
