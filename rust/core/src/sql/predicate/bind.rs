//! Binds a predicate to a schema: names become ids, literals become values of the column's type, and NOT is pushed down
//! to the leaves.
//!
//! A row is kept only if the predicate is TRUE, so NULL and FALSE need not be distinguished once NOT is pushed down.
//! The negation of a comparison is the opposite comparison, because the order is total (including NaN). For NULL, the
//! opposite comparison is not TRUE either.

use std::sync::Arc;

use super::literal::{Place, place};
use super::{
    BoundColumn, BoundPredicate, ColumnName, CompareOp, Condition, LikePart, LikePattern, Literal, Predicate, Test,
};
use crate::error::{Error, Result};
use crate::scalar::{Scalar, ScalarType};
use crate::sql::expression::Expression;

/// The maximum nesting depth of predicates.
const MAX_DEPTH: usize = 1000;

/// The maximum number of names that are searched for a suggestion.
const MAX_SUGGESTED_FROM: usize = 10_000;

/// The columns that a predicate can reference.
pub trait Columns {
    /// Finds a column: first by a name that consists of all parts joined by dots, then by the path of the parts through
    /// structs. Returns None if it does not exist, and an error if the name is ambiguous.
    ///
    /// A column without comparable values (a struct, a list, a variant) can be returned with [`ScalarType::Null`] if
    /// [`comparable`](Self::comparable) returns false for it; it then supports only tests for NULL.
    fn column(&self, name: &ColumnName, case_sensitive: bool) -> Result<Option<BoundColumn>>;

    /// Returns the full names of all columns, for suggestions if a name is not found.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns whether the values of a returned column can be compared.
    fn comparable(&self, _column: &BoundColumn) -> bool {
        true
    }
}

/// Binds a predicate to columns. Returns `InvalidArgument` for an unknown name, and for a literal that cannot be
/// compared with its column.
pub fn bind(predicate: &Predicate, columns: &dyn Columns, case_sensitive: bool) -> Result<BoundPredicate> {
    Binder { columns, case_sensitive }.bind(predicate, false, 0)
}

struct Binder<'a> {
    columns: &'a dyn Columns,
    case_sensitive: bool,
}

impl Binder<'_> {
    /// Binds the predicate or its negation.
    fn bind(&self, predicate: &Predicate, negated: bool, depth: usize) -> Result<BoundPredicate> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!("a predicate has more than {MAX_DEPTH} nested parts"))
                .hint("write a single AND or OR with many parts"));
        }
        match predicate {
            Predicate::And(parts) | Predicate::Or(parts) => {
                let parts = parts.iter().map(|part| self.bind(part, negated, depth + 1)).collect::<Result<Vec<_>>>()?;
                let all = matches!(predicate, Predicate::And(_)) != negated;
                Ok(if all { BoundPredicate::and(parts) } else { BoundPredicate::or(parts) })
            }
            Predicate::Not(inner) => self.bind(inner, !negated, depth + 1),
            leaf => self.leaf(leaf, negated),
        }
    }

    fn leaf(&self, predicate: &Predicate, negated: bool) -> Result<BoundPredicate> {
        match predicate {
            Predicate::Compare(name, op, literal) => {
                let column = self.comparable(name)?;
                let place = place(literal, &column)?;
                Ok(compare(column, if negated { op.negated() } else { *op }, place))
            }
            Predicate::In(name, literals) => {
                let column = self.comparable(name)?;
                members(column, literals, negated)
            }
            Predicate::IsNull(name) => Ok(self.is_null(self.column(name)?, negated)),
            Predicate::IsNan(name) => is_nan(self.comparable(name)?, negated),
            Predicate::Like(name, pattern) => like(self.comparable(name)?, pattern, negated),
            Predicate::Column(name) => {
                let column = self.comparable(name)?;
                match column.data_type {
                    ScalarType::Null => Ok(BoundPredicate::False),
                    ScalarType::Boolean => {
                        let value = Place::At(Scalar::Boolean(!negated));
                        Ok(compare(column, CompareOp::Eq, value))
                    }
                    other => Err(Error::invalid(format!(
                        "the column `{}` of type {other} cannot be used as a condition",
                        column.name
                    ))
                    .hint("only boolean columns can be conditions; compare other columns with a literal")),
                }
            }
            Predicate::Condition(condition) => self.condition(condition, negated),
            // The caller has already handled the connectives, so only the constants are left.
            constant => {
                Ok(if (*constant == Predicate::True) == negated { BoundPredicate::False } else { BoundPredicate::True })
            }
        }
    }

    fn condition(&self, condition: &Expression, negated: bool) -> Result<BoundPredicate> {
        let mut condition = condition.clone();
        if negated {
            condition = Expression::Not(Box::new(condition));
        }
        let column = |name: &ColumnName| match self.columns.column(name, self.case_sensitive)? {
            Some(column) if !self.columns.comparable(&column) => Err(incomparable(&column)),
            found => Ok(found),
        };
        let missing = |name: &ColumnName| match name.0.as_slice() {
            [text] => {
                let known = self.columns.names();
                let near = nearest(text, &known);
                let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
                let text = text.replace('\'', "''");
                Error::invalid(format!("no column `{text}`"))
                    .hint(format!("{near}string literals need single quotes: write '{text}'"))
            }
            _ => self.missing(name),
        };
        let condition = Condition::bind(condition, &column, &missing)?;
        Ok(match condition.constant()? {
            Some(true) => BoundPredicate::True,
            Some(false) => BoundPredicate::False,
            None => BoundPredicate::Condition(Arc::new(condition)),
        })
    }

    fn column(&self, name: &ColumnName) -> Result<BoundColumn> {
        self.columns.column(name, self.case_sensitive)?.ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &ColumnName) -> Error {
        let error = Error::invalid(format!("no column `{}`", name.0.join(".")));
        match nearest(&name.0.join("."), &self.columns.names()) {
            Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
            None => error,
        }
    }

    /// Binds IS NULL. It is FALSE for a column that is not nullable, because a NULL in such a column is an error when
    /// it is read. It is TRUE for a column of type Null.
    fn is_null(&self, column: BoundColumn, negated: bool) -> BoundPredicate {
        let always = column.data_type == ScalarType::Null && self.columns.comparable(&column);
        match (always, column.nullable) {
            (true, _) if negated => BoundPredicate::False,
            (true, _) => BoundPredicate::True,
            (false, false) if negated => BoundPredicate::True,
            (false, false) => BoundPredicate::False,
            (false, true) => BoundPredicate::Leaf(column, if negated { Test::NotNull } else { Test::IsNull }),
        }
    }

    fn comparable(&self, name: &ColumnName) -> Result<BoundColumn> {
        let column = self.column(name)?;
        if self.columns.comparable(&column) {
            return Ok(column);
        }
        Err(incomparable(&column))
    }
}

fn incomparable(column: &BoundColumn) -> Error {
    Error::invalid(format!("the values of the column `{}` cannot be compared", column.name))
        .hint("only IS NULL and IS NOT NULL are supported for it")
}

/// Returns the comparison of a column with a literal, given the position of the literal in the order of the column's
/// type.
fn compare(column: BoundColumn, op: CompareOp, place: Place) -> BoundPredicate {
    use CompareOp::{Gt, GtEq, Lt, LtEq, NotEq};

    let leaf = |column, op, value| BoundPredicate::Leaf(column, Test::Compare(op, value));
    match (place, op) {
        (Place::At(value), op) => leaf(column, op, value),
        (Place::After(value), Lt | LtEq) => leaf(column, LtEq, value),
        (Place::After(value), Gt | GtEq) => leaf(column, Gt, value),
        (Place::After(_) | Place::BelowAll | Place::AboveAll, NotEq)
        | (Place::BelowAll, Gt | GtEq)
        | (Place::AboveAll, Lt | LtEq) => not_null(column),
        (Place::Null | Place::After(_) | Place::BelowAll | Place::AboveAll, _) => BoundPredicate::False,
    }
}

/// Returns `IS NOT NULL`, which is TRUE for a column that is not nullable.
fn not_null(column: BoundColumn) -> BoundPredicate {
    if column.nullable { BoundPredicate::Leaf(column, Test::NotNull) } else { BoundPredicate::True }
}

/// Binds `IN` and `NOT IN`. Literals that are not values of the column's type match nothing. If a literal is NULL,
/// `NOT IN` is never TRUE.
fn members(column: BoundColumn, literals: &[Literal], negated: bool) -> Result<BoundPredicate> {
    let mut values = Vec::with_capacity(literals.len());
    let mut any_null = false;
    for literal in literals {
        match place(literal, &column)? {
            Place::At(value) => values.push(value),
            Place::Null => any_null = true,
            Place::After(_) | Place::BelowAll | Place::AboveAll => {}
        }
    }
    if negated && any_null {
        return Ok(BoundPredicate::False);
    }
    if negated && literals.is_empty() {
        return Ok(BoundPredicate::True);
    }
    let mut values = distinct(values);
    let op = if negated { CompareOp::NotEq } else { CompareOp::Eq };
    Ok(match (values.pop(), values.is_empty()) {
        (None, _) if negated => not_null(column),
        (None, _) => BoundPredicate::False,
        (Some(only), true) => BoundPredicate::Leaf(column, Test::Compare(op, only)),
        (Some(last), false) => {
            values.push(last);
            let values: Arc<[Scalar]> = values.into();
            BoundPredicate::Leaf(column, if negated { Test::NotIn(values) } else { Test::In(values) })
        }
    })
}

/// Returns values of one type, which are always comparable, sorted and without duplicates.
pub(crate) fn distinct(mut values: Vec<Scalar>) -> Vec<Scalar> {
    values.sort_unstable_by(|a, b| a.compare(b).unwrap_or(std::cmp::Ordering::Equal));
    values.dedup_by(|a, b| a.compare(b).is_some_and(std::cmp::Ordering::is_eq));
    values
}

/// Binds IS NAN. It is FALSE for NULL, and for number types without NaN; other types are not supported.
fn is_nan(column: BoundColumn, negated: bool) -> Result<BoundPredicate> {
    match column.data_type {
        ScalarType::Float32 | ScalarType::Float64 => {
            Ok(BoundPredicate::Leaf(column, if negated { Test::NotNan } else { Test::IsNan }))
        }
        ScalarType::Null
        | ScalarType::Int8
        | ScalarType::Int16
        | ScalarType::Int32
        | ScalarType::Int64
        | ScalarType::Decimal { .. } => Ok(if negated { BoundPredicate::True } else { BoundPredicate::False }),
        other => {
            Err(Error::invalid(format!("IS NAN is not supported for the column `{}` of type {other}", column.name))
                .hint("only float and double columns can contain NaN"))
        }
    }
}

/// Binds `LIKE`: a pattern without wildcards is an equality, and text before a single `%` is a prefix.
fn like(column: BoundColumn, pattern: &str, negated: bool) -> Result<BoundPredicate> {
    let pattern = LikePattern::parse(pattern)?;
    match column.data_type {
        ScalarType::String => {}
        ScalarType::Null => return Ok(BoundPredicate::False),
        other => {
            return Err(Error::invalid(format!(
                "LIKE is not supported for the column `{}` of type {other}",
                column.name
            ))
            .hint("LIKE matches only strings"));
        }
    }
    let equality = if negated { CompareOp::NotEq } else { CompareOp::Eq };
    let text = |text: &str| Scalar::String(text.to_string());
    let test = match (pattern.parts.as_slice(), negated) {
        ([], _) => Test::Compare(equality, text("")),
        ([LikePart::Text(only)], _) => Test::Compare(equality, text(only)),
        ([LikePart::Any], false) => return Ok(not_null(column)),
        ([LikePart::Any], true) => return Ok(BoundPredicate::False),
        ([LikePart::Text(prefix), LikePart::Any], false) => Test::StartsWith(text(prefix)),
        ([LikePart::Text(prefix), LikePart::Any], true) => Test::NotStartsWith(text(prefix)),
        (_, false) => Test::Like(Arc::new(pattern)),
        (_, true) => Test::NotLike(Arc::new(pattern)),
    };
    Ok(BoundPredicate::Leaf(column, test))
}

/// Returns the most similar name, if any is close enough: a third of its characters, at least one, may differ.
pub fn nearest<'a>(wanted: &str, names: &'a [String]) -> Option<&'a str> {
    let wanted: Vec<char> = wanted.to_lowercase().chars().take(64).collect();
    let allowed = (wanted.len() / 3).max(1);
    names
        .iter()
        .take(MAX_SUGGESTED_FROM)
        .filter_map(|name| {
            let candidate: Vec<char> = name.to_lowercase().chars().take(64).collect();
            (candidate.len().abs_diff(wanted.len()) <= allowed).then(|| (edits(&wanted, &candidate), name))
        })
        .filter(|(edits, _)| *edits <= allowed)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name.as_str())
}

/// Returns the number of characters to insert, delete or substitute (Levenshtein distance), computed one row of the
/// table at a time.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (index, x) in a.iter().enumerate() {
        let mut diagonal = index;
        let mut left = index + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let substituted = diagonal + usize::from(x != y);
            diagonal = *cell;
            left = substituted.min(*cell + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
#[path = "bind_tests.rs"]
mod tests;
