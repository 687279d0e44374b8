//! Binds a condition to a schema: names become ids, literals become values of the column's type, and NOT is pushed down
//! to the leaves.
//!
//! A row is kept only if the predicate is TRUE, so NULL and FALSE need not be distinguished once NOT is pushed down.
//! The negation of a comparison is the opposite comparison, because the order is total (including NaN). For NULL, the
//! opposite comparison is not TRUE either.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_schema::DataType;

use super::literal::{Compared, Place};
use super::{BoundColumn, BoundPredicate, ColumnName, CompareOp, Condition, LikePart, LikePattern, Literal, Test};
use crate::error::{Error, Result};
use crate::scalar::{Scalar, ScalarType, civil};
use crate::sql::expression::{CivilPart, Expression, Function};

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

/// Binds a condition to columns: tests of one column with literals become leaves, which statistics can decide. Returns
/// `InvalidArgument` for an unknown name, and for a literal that cannot be compared with its column.
pub fn bind(condition: &Expression, columns: &dyn Columns, case_sensitive: bool) -> Result<BoundPredicate> {
    Binder { columns, case_sensitive }.bind(condition, false, 0)
}

struct Binder<'a> {
    columns: &'a dyn Columns,
    case_sensitive: bool,
}

impl Binder<'_> {
    /// Binds the condition or its negation.
    fn bind(&self, condition: &Expression, negated: bool, depth: usize) -> Result<BoundPredicate> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!("a predicate has more than {MAX_DEPTH} nested parts"))
                .hint("write a single AND or OR with many parts"));
        }
        match condition {
            Expression::And(parts) | Expression::Or(parts) => {
                let parts = parts.iter().map(|part| self.bind(part, negated, depth + 1)).collect::<Result<Vec<_>>>()?;
                let all = matches!(condition, Expression::And(_)) != negated;
                Ok(if all { BoundPredicate::and(parts) } else { BoundPredicate::or(parts) })
            }
            Expression::Not(inner) => self.bind(inner, !negated, depth + 1),
            leaf => match self.leaf(leaf, negated)? {
                Some(leaf) => Ok(leaf),
                None => self.condition(leaf, negated),
            },
        }
    }

    /// Binds a test of one column with literals. Returns None for any other condition.
    fn leaf(&self, condition: &Expression, negated: bool) -> Result<Option<BoundPredicate>> {
        use Expression as E;
        Ok(Some(match condition {
            E::Literal(Literal::Boolean(value)) => constant(*value != negated),
            E::Column(name) | E::Word(name, _) => self.boolean(name, negated)?,
            E::Compare(op, left, right) => {
                if let Some(range) = self.of_steps(*op, left, right, negated)? {
                    return Ok(Some(range));
                }
                let Some((name, constant, is_flipped)) = operands(left, right) else { return Ok(None) };
                let column = self.comparable(name)?;
                let Some(literal) = literal_of(constant, &column) else { return Ok(None) };
                let op = if is_flipped { op.flipped() } else { *op };
                let place = column.place(&literal)?;
                compare(column, if negated { op.negated() } else { op }, place)
            }
            E::Distinct(left, right) => {
                let Some((name, constant, _)) = operands(left, right) else { return Ok(None) };
                let column = self.column(name)?;
                match literal_of(constant, &column).as_deref() {
                    None => return Ok(None),
                    Some(Literal::Null) => self.is_null(column, !negated),
                    Some(literal) => {
                        let column = self.comparable(name)?;
                        let place = column.place(literal)?;
                        if negated {
                            compare(column, CompareOp::Eq, place)
                        } else {
                            let is_null = self.is_null(column.clone(), false);
                            BoundPredicate::or([compare(column, CompareOp::NotEq, place), is_null])
                        }
                    }
                }
            }
            E::In(value, members) if CivilStep::of(value).is_some() => {
                let parts = members.iter().map(|member| self.of_steps(CompareOp::Eq, value, member, negated));
                let Some(parts) = parts.collect::<Result<Option<Vec<_>>>>()? else { return Ok(None) };
                if negated { BoundPredicate::and(parts) } else { BoundPredicate::or(parts) }
            }
            E::In(value, members) => {
                let Some(name) = name_of(value) else { return Ok(None) };
                let column = self.comparable(name)?;
                let literals: Option<Vec<_>> = members.iter().map(|member| literal_of(member, &column)).collect();
                let Some(literals) = literals else { return Ok(None) };
                self::members(column, literals.iter().map(AsRef::as_ref), negated)?
            }
            E::IsNull(value) => match name_of(value) {
                Some(name) => self.is_null(self.column(name)?, negated),
                None => return Ok(None),
            },
            E::IsNan(value) => match name_of(value) {
                Some(name) => is_nan(self.comparable(name)?, negated)?,
                None => return Ok(None),
            },
            E::Like(value, pattern) => match name_of(value) {
                Some(name) => like(self.comparable(name)?, pattern, negated)?,
                None => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    /// Binds the comparison of the year or the day of a column with a literal as a range of the column. Returns None for
    /// any other comparison.
    fn of_steps(
        &self,
        op: CompareOp,
        left: &Expression,
        right: &Expression,
        negated: bool,
    ) -> Result<Option<BoundPredicate>> {
        let (step, constant, op) = match (CivilStep::of(left), CivilStep::of(right)) {
            (Some(step), None) => (step, right, op),
            (None, Some(step)) => (step, left, op.flipped()),
            _ => return Ok(None),
        };
        let column = self.comparable(step.column)?;
        if !matches!(column.data_type, ScalarType::Date | ScalarType::Timestamp { .. }) {
            return Ok(None);
        }
        let literal = match constant {
            Expression::Literal(literal) => Some(literal.clone()),
            other => other.constant().filter(|(data_type, _)| step.takes(*data_type)).map(|(_, literal)| literal),
        };
        let Some(literal) = literal else { return Ok(None) };
        let op = if negated { op.negated() } else { op };
        let place = super::literal::place(&literal, step.data_type(), format_args!("the column `{}`", column.name))?;
        let Compared::With(op, value) = place.compared(op) else { return Ok(None) };
        let Some((first, next)) = days_of(&value) else { return Ok(None) };
        let from = |op: CompareOp, day: i32| -> Result<BoundPredicate> {
            let place = column.place(&Literal::Typed(Scalar::Date(day)))?;
            Ok(compare(column.clone(), op, place))
        };
        Ok(Some(match op {
            CompareOp::Lt => from(CompareOp::Lt, first)?,
            CompareOp::LtEq => from(CompareOp::Lt, next)?,
            CompareOp::Gt => from(CompareOp::GtEq, next)?,
            CompareOp::GtEq => from(CompareOp::GtEq, first)?,
            CompareOp::Eq => BoundPredicate::and([from(CompareOp::GtEq, first)?, from(CompareOp::Lt, next)?]),
            CompareOp::NotEq => BoundPredicate::or([from(CompareOp::Lt, first)?, from(CompareOp::GtEq, next)?]),
        }))
    }

    /// Binds a column as a condition, or its negation.
    fn boolean(&self, name: &ColumnName, negated: bool) -> Result<BoundPredicate> {
        let column = self.comparable(name)?;
        match column.data_type {
            ScalarType::Null => Ok(BoundPredicate::False),
            ScalarType::Boolean => Ok(compare(column, CompareOp::Eq, Place::At(Scalar::Boolean(!negated)))),
            other => Err(Error::invalid(format!(
                "the column `{}` of type {other} cannot be used as a condition",
                column.name
            ))
            .hint("only boolean columns can be conditions; compare other columns with a literal")),
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

/// The year or the day of a column of dates or timestamps, which never decreases when the column increases.
struct CivilStep<'a> {
    column: &'a ColumnName,
    is_year: bool,
}

impl<'a> CivilStep<'a> {
    fn of(expression: &'a Expression) -> Option<Self> {
        let (value, is_year) = match expression {
            Expression::Call(Function::Part(CivilPart::Year), parts, _) => (parts.first()?, true),
            Expression::Cast(value, DataType::Date32, ..) => (&**value, false),
            _ => return None,
        };
        Some(Self { column: name_of(value)?, is_year })
    }

    fn data_type(&self) -> ScalarType {
        if self.is_year { ScalarType::Int32 } else { ScalarType::Date }
    }

    /// Returns whether the step can be compared with a literal of this type.
    fn takes(&self, data_type: ScalarType) -> bool {
        if self.is_year { is_exact_number(data_type) } else { data_type == ScalarType::Date }
    }
}

/// Returns the first day of a year or a day, and that of the next one.
fn days_of(value: &Scalar) -> Option<(i32, i32)> {
    let first_of = |year: i64| i32::try_from(civil::days_from_civil(year, 1, 1)).ok();
    match value {
        Scalar::Int32(year) => Some((first_of(i64::from(*year))?, first_of(i64::from(*year) + 1)?)),
        Scalar::Date(day) => Some((*day, day.checked_add(1)?)),
        _ => None,
    }
}

fn incomparable(column: &BoundColumn) -> Error {
    Error::invalid(format!("the values of the column `{}` cannot be compared", column.name))
        .hint("only IS NULL and IS NOT NULL are supported for it")
}

/// Returns the name of a column that is the whole expression.
fn name_of(expression: &Expression) -> Option<&ColumnName> {
    match expression {
        Expression::Column(name) | Expression::Word(name, _) => Some(name),
        _ => None,
    }
}

/// Returns an expression as a literal for a column. An expression of literals is one if its value has the type of the
/// column, or if both are exact numbers: other values are converted before they are compared.
fn literal_of<'a>(expression: &'a Expression, column: &BoundColumn) -> Option<Cow<'a, Literal>> {
    if let Expression::Literal(literal) = expression {
        return Some(Cow::Borrowed(literal));
    }
    let (data_type, literal) = expression.constant()?;
    let are_exact = is_exact_number(data_type) && is_exact_number(column.data_type);
    let are_moments = are_moments(data_type, column.data_type);
    (data_type == column.data_type || are_exact || are_moments).then_some(Cow::Owned(literal))
}

/// Returns whether both types are dates, or timestamps that both have a zone or none, which are compared exactly.
fn are_moments(a: ScalarType, b: ScalarType) -> bool {
    use ScalarType as S;
    match (a, b) {
        (S::Timestamp { utc: a, .. }, S::Timestamp { utc: b, .. }) => a == b,
        (S::Date | S::Timestamp { .. }, S::Date | S::Timestamp { .. }) => true,
        _ => false,
    }
}

fn is_exact_number(data_type: ScalarType) -> bool {
    use ScalarType as S;
    matches!(data_type, S::Int8 | S::Int16 | S::Int32 | S::Int64 | S::Decimal { .. })
}

/// Returns the column and the other side of a comparison, and whether the column is on the right.
fn operands<'a>(left: &'a Expression, right: &'a Expression) -> Option<(&'a ColumnName, &'a Expression, bool)> {
    match (name_of(left), name_of(right)) {
        (Some(name), None) => Some((name, right, false)),
        (None, Some(name)) => Some((name, left, true)),
        _ => None,
    }
}

fn constant(value: bool) -> BoundPredicate {
    if value { BoundPredicate::True } else { BoundPredicate::False }
}

/// Returns the comparison of a column with a literal, given the position of the literal in the order of the column's
/// type.
fn compare(column: BoundColumn, op: CompareOp, place: Place) -> BoundPredicate {
    match place.compared(op) {
        Compared::With(op, value) => BoundPredicate::Leaf(column, Test::Compare(op, value)),
        Compared::Always => not_null(column),
        Compared::Never | Compared::Null => BoundPredicate::False,
    }
}

/// Returns `IS NOT NULL`, which is TRUE for a column that is not nullable.
fn not_null(column: BoundColumn) -> BoundPredicate {
    if column.nullable { BoundPredicate::Leaf(column, Test::NotNull) } else { BoundPredicate::True }
}

/// Binds `IN` and `NOT IN`. Literals that are not values of the column's type match nothing. If a literal is NULL,
/// `NOT IN` is never TRUE.
fn members<'a>(
    column: BoundColumn,
    literals: impl ExactSizeIterator<Item = &'a Literal>,
    negated: bool,
) -> Result<BoundPredicate> {
    let is_empty = literals.len() == 0;
    let mut values = Vec::with_capacity(literals.len());
    let mut any_null = false;
    for literal in literals {
        match column.place(literal)? {
            Place::At(value) => values.push(value),
            Place::Null => any_null = true,
            Place::After(_) | Place::BelowAll | Place::AboveAll => {}
        }
    }
    if negated && any_null {
        return Ok(BoundPredicate::False);
    }
    if negated && is_empty {
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
fn like(column: BoundColumn, pattern: &LikePattern, negated: bool) -> Result<BoundPredicate> {
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
        (_, false) => Test::Like(Arc::new(pattern.clone())),
        (_, true) => Test::NotLike(Arc::new(pattern.clone())),
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
