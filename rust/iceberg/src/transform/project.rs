//! Projects row predicates onto partition tuples (spec: "Scan Planning").
//!
//! With `t` the partition tuple of a row:
//!
//! ```text
//! inclusive:  p(row)       =>  inclusive(p)(t)     a partition where it is false holds no matching row
//! strict:     strict(p)(t) =>  p(row)              in a partition where it is true every row matches
//! ```
//!
//! Both projections use [`images`], which returns the tuples of all values that pass a test. The inclusive projection
//! applies it to the test itself. The strict projection applies it to the opposite test, and accepts all other tuples.
//!
//! Some files have timestamp tuples that differ from the spec. Two cases are supported:
//! * Writers before 0.11 of the reference implementation rounded years, months, days and hours before 1970 towards
//!   zero. The correct tuple of a value may be one unit lower than the recorded one (except for dates by day).
//! * The ORC writer stores fractions of the last second before 1970 one second late. A value that is read from the
//!   first second of 1970 may therefore have the tuple of a time before 1970.
//!
//! `truncate` wraps values below the smallest multiple of its width to one very large tuple. This tuple is treated as
//! the lowest one.

use std::cmp::Ordering;
use std::sync::Arc;

use frazil_core::scalar::Scalar;
use frazil_core::sql::predicate::{BoundColumn, BoundPredicate, CompareOp, Test};

use super::evaluate::passes;
use super::temporal::{self, Unit};
use super::truncate;
use crate::spec::partition::{PartitionField, PartitionSpec};
use crate::spec::transform::Transform;
use crate::spec::types::PrimitiveType;

/// A function from field ids to the types of source columns; None for a column that the schema no longer has.
pub type SourceTypes<'a> = dyn Fn(i32) -> Option<PrimitiveType> + 'a;

/// A function from field ids to the values of partition fields: None if the tuple has no such field, `Some(None)` for
/// NULL.
pub type Tuple<'a> = dyn Fn(i32) -> Option<Option<Scalar>> + 'a;

/// Returns a predicate over partition fields that is true for the tuple of every row for which `predicate` is true.
///
/// The columns of the result are partition fields, by their field ids. Parts that cannot be projected become TRUE.
pub fn inclusive(predicate: &BoundPredicate, spec: &PartitionSpec, source_types: &SourceTypes<'_>) -> BoundPredicate {
    map_leaves(predicate, Some(&BoundPredicate::True), &|column, test| leaf_inclusive(column, test, spec, source_types))
}

/// Returns a predicate over partition fields: if it is true for a tuple, `predicate` is true for every row of the
/// partition.
///
/// The columns of the result are partition fields, by their field ids. Parts that cannot be projected become FALSE.
pub fn strict(predicate: &BoundPredicate, spec: &PartitionSpec, source_types: &SourceTypes<'_>) -> BoundPredicate {
    map_leaves(predicate, Some(&BoundPredicate::False), &|column, test| leaf_strict(column, test, spec, source_types))
}

/// Returns the residual filter for the rows of one partition. It is equivalent to `predicate` on every row with
/// `tuple`.
///
/// `spec` and `tuple` are those with which the file was written.
pub fn residual(
    predicate: &BoundPredicate,
    spec: &PartitionSpec,
    source_types: &SourceTypes<'_>,
    tuple: &Tuple<'_>,
) -> BoundPredicate {
    map_leaves(predicate, None, &|column, test| {
        if evaluate(&leaf_strict(column, test, spec, source_types), tuple) == Some(true) {
            BoundPredicate::True
        } else if evaluate(&leaf_inclusive(column, test, spec, source_types), tuple) == Some(false) {
            BoundPredicate::False
        } else {
            BoundPredicate::Leaf(column.clone(), test.clone())
        }
    })
}

/// Returns the [`inclusive`] projection of one test: the conjunction over all partition fields on the column.
pub fn leaf_inclusive(
    column: &BoundColumn,
    test: &Test,
    spec: &PartitionSpec,
    source_types: &SourceTypes<'_>,
) -> BoundPredicate {
    BoundPredicate::and(fields_on(column, spec, source_types).map(|field| field.inclusive(test)))
}

/// Returns the [`strict`] projection of one test: the disjunction over all partition fields on the column.
pub fn leaf_strict(
    column: &BoundColumn,
    test: &Test,
    spec: &PartitionSpec,
    source_types: &SourceTypes<'_>,
) -> BoundPredicate {
    BoundPredicate::or(fields_on(column, spec, source_types).map(|field| field.strict(test)))
}

/// A partition field with a known transform that applies to its only source column.
struct Field<'a> {
    transform: &'a Transform,
    source: PrimitiveType,
    column: BoundColumn,
}

fn fields_on<'a>(
    column: &'a BoundColumn,
    spec: &'a PartitionSpec,
    source_types: &'a SourceTypes<'_>,
) -> impl Iterator<Item = Field<'a>> {
    spec.fields.iter().filter_map(move |field| {
        let PartitionField { source_ids, field_id, name, transform } = field;
        if *source_ids != [column.id] || matches!(transform, Transform::Void) {
            return None;
        }
        // A predicate that is bound to a type other than the partition field's source cannot be projected onto the
        // field.
        let source = source_types(column.id).filter(|source| source.scalar() == Some(column.data_type))?;
        let data_type = transform.result_type(&source)?.scalar()?;
        let column = BoundColumn { id: *field_id, name: Arc::from(name.as_str()), data_type, nullable: true };
        Some(Field { transform, source, column })
    })
}

impl Field<'_> {
    fn inclusive(&self, test: &Test) -> BoundPredicate {
        match test {
            _ if *self.transform == Transform::Identity => self.leaf(test.clone()),
            Test::IsNull | Test::NotNull => self.leaf(test.clone()),
            Test::NotNan => BoundPredicate::True,
            _ => match images(self.transform, &self.source, test) {
                Some(tests) => BoundPredicate::or(tests.into_iter().map(|test| self.leaf(test))),
                // The remaining tests reject NULL, and only NULL has the tuple NULL.
                None => self.leaf(Test::NotNull),
            },
        }
    }

    fn strict(&self, test: &Test) -> BoundPredicate {
        match test {
            _ if *self.transform == Transform::Identity => self.leaf(test.clone()),
            Test::IsNull | Test::NotNull => self.leaf(test.clone()),
            _ => {
                let failing = opposite(test).and_then(|test| images(self.transform, &self.source, &test));
                let others = failing.and_then(|tests| tests.iter().map(opposite).collect::<Option<Vec<_>>>());
                others.map_or(BoundPredicate::False, |tests| {
                    BoundPredicate::and(tests.into_iter().map(|test| self.leaf(test)))
                })
            }
        }
    }

    fn leaf(&self, test: Test) -> BoundPredicate {
        BoundPredicate::Leaf(self.column.clone(), test)
    }
}

/// Returns tests that describe the tuples of all values that pass `test`: such a tuple passes at least one of the
/// tests. None means any tuple except NULL.
fn images(transform: &Transform, source: &PrimitiveType, test: &Test) -> Option<Vec<Test>> {
    match transform {
        Transform::Bucket(_) => same_tuples(transform, test),
        Transform::Truncate(width) if matches!(source, PrimitiveType::String | PrimitiveType::Binary) => {
            prefix_images(transform, *width, test)
        }
        _ => Steps { transform, source }.images(test),
    }
}

/// Projects `=` and IN, where equal values have equal tuples.
fn same_tuples(transform: &Transform, test: &Test) -> Option<Vec<Test>> {
    let tuple = |value: &Scalar| transform.apply_scalar(value).ok().flatten();
    match test {
        Test::Compare(CompareOp::Eq, value) => one_of(vec![tuple(value)?]),
        Test::In(values) => one_of(values.iter().map(tuple).collect::<Option<_>>()?),
        _ => None,
    }
}

/// Projects tests of string and binary prefixes. The width is in the transform's units: code points for strings.
fn prefix_images(transform: &Transform, width: u32, test: &Test) -> Option<Vec<Test>> {
    let prefix = |value: &Scalar| transform.apply_scalar(value).ok().flatten();
    let longer = |value: &Scalar| prefix(value).map(|prefix| (prefix != *value, prefix));
    let whole = |value: &Scalar| match value {
        Scalar::String(text) => u32::try_from(text.chars().count()) == Ok(width),
        Scalar::Binary(bytes) => u32::try_from(bytes.len()) == Ok(width),
        _ => false,
    };
    let compare = |op, value| Some(vec![Test::Compare(op, value)]);
    match test {
        Test::Compare(CompareOp::Lt | CompareOp::LtEq, value) => compare(CompareOp::LtEq, prefix(value)?),
        Test::Compare(CompareOp::Gt | CompareOp::GtEq, value) => compare(CompareOp::GtEq, prefix(value)?),
        Test::StartsWith(value) => match longer(value)? {
            (false, value) if whole(&value) => compare(CompareOp::Eq, value),
            (_, prefix) => Some(vec![Test::StartsWith(prefix)]),
        },
        Test::NotStartsWith(value) => match longer(value)? {
            (true, _) => None,
            (false, value) if whole(&value) => compare(CompareOp::NotEq, value),
            (false, value) => Some(vec![Test::NotStartsWith(value)]),
        },
        _ => same_tuples(transform, test),
    }
}

/// A transform that maps integers to steps and preserves their order.
struct Steps<'a> {
    transform: &'a Transform,
    source: &'a PrimitiveType,
}

impl Steps<'_> {
    fn images(&self, test: &Test) -> Option<Vec<Test>> {
        match test {
            Test::Compare(CompareOp::Lt, value) => self.up_to(number(value)?.checked_sub(1)?),
            Test::Compare(CompareOp::LtEq, value) => self.up_to(number(value)?),
            Test::Compare(CompareOp::Gt, value) => self.from(number(value)?.checked_add(1)?),
            Test::Compare(CompareOp::GtEq, value) => self.from(number(value)?),
            Test::Compare(CompareOp::Eq, value) => self.at(std::slice::from_ref(value)),
            Test::In(values) => self.at(values),
            _ => None,
        }
    }

    /// Returns the tuples of the values up to `number`.
    fn up_to(&self, number: i128) -> Option<Vec<Test>> {
        let last = self.highest(self.in_range(number)?);
        let compare = |op, tuple| Some(Test::Compare(op, self.tuple(tuple)?));
        match self.wrapped() {
            Some(wrapped) if last == wrapped => Some(vec![compare(CompareOp::Eq, wrapped)?]),
            Some(wrapped) => Some(vec![compare(CompareOp::LtEq, last)?, compare(CompareOp::Eq, wrapped)?]),
            None => Some(vec![compare(CompareOp::LtEq, last)?]),
        }
    }

    /// Returns the tuples of the values from `number` on.
    fn from(&self, number: i128) -> Option<Vec<Test>> {
        let first = self.lowest_from(self.in_range(number)?);
        if self.wrapped() == Some(first) {
            return None;
        }
        Some(vec![Test::Compare(CompareOp::GtEq, self.tuple(first)?)])
    }

    /// Returns the tuples of these values.
    fn at(&self, values: &[Scalar]) -> Option<Vec<Test>> {
        let mut tuples = Vec::with_capacity(values.len());
        for value in values {
            let number = self.in_range(number(value)?)?;
            let (lowest, highest) = (self.lowest(number), self.highest(number));
            tuples.push(self.tuple(lowest)?);
            if highest != lowest {
                tuples.push(self.tuple(highest)?);
            }
        }
        one_of(tuples)
    }

    /// Returns the step of `number`, before wrapping.
    fn step(&self, number: i128) -> i128 {
        match (Unit::of(self.transform), self.transform, i64::try_from(number)) {
            (Some(unit), _, Ok(value)) => i128::from(unit.count(self.source, value)),
            (None, Transform::Truncate(width), _) => truncate::floor(number, *width),
            _ => number,
        }
    }

    /// Returns the lowest tuple under which a file may store `number`. A value at exactly 1970-01-01T00:00:00 has no
    /// fraction, so the ORC writer does not store it late.
    fn lowest(&self, number: i128) -> i128 {
        if number == 0 { self.step(number) } else { self.lowest_from(number) }
    }

    /// Returns the lowest tuple under which a file may store `number` or a greater value.
    fn lowest_from(&self, number: i128) -> i128 {
        let first_second = temporal::ticks_per_second(self.source).is_some_and(|ticks| number < i128::from(ticks));
        if number >= 0 && first_second && Unit::of(self.transform).is_some() { -1 } else { self.step(number) }
    }

    /// Returns the highest tuple under which a file may store `number`.
    fn highest(&self, number: i128) -> i128 {
        let step = self.step(number);
        let rounded =
            Unit::of(self.transform).is_some_and(|unit| unit != Unit::Day || *self.source != PrimitiveType::Date);
        if step < 0 && rounded { step + 1 } else { step }
    }

    /// Returns the step that is below the range of the source type, which `truncate` wraps to a very large number. None
    /// if no step is below the range.
    fn wrapped(&self) -> Option<i128> {
        let least = match (self.transform, self.source) {
            (Transform::Truncate(_), PrimitiveType::Int) => i128::from(i32::MIN),
            (Transform::Truncate(_), PrimitiveType::Long) => i128::from(i64::MIN),
            _ => return None,
        };
        Some(self.step(least)).filter(|step| *step < least)
    }

    /// Returns a step in the form stored in a tuple; None if it cannot be represented.
    fn tuple(&self, step: i128) -> Option<Scalar> {
        if let Some(unit) = Unit::of(self.transform) {
            return i32::try_from(step).ok().map(|count| unit.scalar(count));
        }
        #[expect(clippy::cast_possible_truncation, reason = "the lowest step is stored wrapped")]
        match self.source {
            PrimitiveType::Int => Some(Scalar::Int32(step as i32)),
            PrimitiveType::Long => Some(Scalar::Int64(step as i64)),
            PrimitiveType::Decimal { precision, scale } => truncate::fits(step, *precision).then(|| Scalar::Decimal {
                unscaled: step,
                precision: *precision,
                scale: scale.cast_signed(),
            }),
            _ => None,
        }
    }

    /// Returns `number` if it is in the range of the source type.
    fn in_range(&self, number: i128) -> Option<i128> {
        let fits = match self.source {
            PrimitiveType::Int | PrimitiveType::Date => i32::try_from(number).is_ok(),
            PrimitiveType::Decimal { precision, .. } => truncate::fits(number, *precision),
            _ => i64::try_from(number).is_ok(),
        };
        fits.then_some(number)
    }
}

/// Returns a value as an integer; None for a value of another type.
fn number(value: &Scalar) -> Option<i128> {
    match value {
        Scalar::Int32(value) => Some(i128::from(*value)),
        Scalar::Int64(value) => Some(i128::from(*value)),
        Scalar::Decimal { unscaled, .. } => Some(*unscaled),
        _ => temporal::ticks(value).map(i128::from),
    }
}

/// Returns the test that passes exactly the non-NULL values that fail `test`. None if NULL may pass `test`.
fn opposite(test: &Test) -> Option<Test> {
    Some(match test {
        Test::IsNull | Test::NotNull | Test::IsNan | Test::NotNan => return None,
        Test::Compare(op, value) => Test::Compare(
            match op {
                CompareOp::Lt => CompareOp::GtEq,
                CompareOp::LtEq => CompareOp::Gt,
                CompareOp::Gt => CompareOp::LtEq,
                CompareOp::GtEq => CompareOp::Lt,
                CompareOp::Eq => CompareOp::NotEq,
                CompareOp::NotEq => CompareOp::Eq,
            },
            value.clone(),
        ),
        Test::In(values) => Test::NotIn(Arc::clone(values)),
        Test::NotIn(values) => Test::In(Arc::clone(values)),
        Test::StartsWith(prefix) => Test::NotStartsWith(prefix.clone()),
        Test::NotStartsWith(prefix) => Test::StartsWith(prefix.clone()),
        Test::Like(pattern) => Test::NotLike(Arc::clone(pattern)),
        Test::NotLike(pattern) => Test::Like(Arc::clone(pattern)),
    })
}

/// Returns a test for any of `values`: `=` for one distinct value, otherwise IN with sorted values. None if `values` is
/// empty.
fn one_of(mut values: Vec<Scalar>) -> Option<Vec<Test>> {
    values.sort_by(|a, b| a.compare(b).unwrap_or(Ordering::Equal));
    values.dedup();
    match values.len() {
        0 => None,
        1 => values.pop().map(|value| vec![Test::Compare(CompareOp::Eq, value)]),
        _ => Some(vec![Test::In(values.into())]),
    }
}

/// Returns the predicate with each leaf replaced by the result of `leaf`, and each condition that statistics do not decide
/// by `condition`; None keeps conditions.
pub(crate) fn map_leaves(
    predicate: &BoundPredicate,
    condition: Option<&BoundPredicate>,
    leaf: &dyn Fn(&BoundColumn, &Test) -> BoundPredicate,
) -> BoundPredicate {
    match predicate {
        BoundPredicate::True => BoundPredicate::True,
        BoundPredicate::False => BoundPredicate::False,
        BoundPredicate::And(parts) => BoundPredicate::and(parts.iter().map(|part| map_leaves(part, condition, leaf))),
        BoundPredicate::Or(parts) => BoundPredicate::or(parts.iter().map(|part| map_leaves(part, condition, leaf))),
        BoundPredicate::Leaf(column, test) => leaf(column, test),
        BoundPredicate::Condition(_) => condition.unwrap_or(predicate).clone(),
    }
}

/// Returns whether `predicate` is true for a tuple; None if the tuple does not determine it.
fn evaluate(predicate: &BoundPredicate, tuple: &Tuple<'_>) -> Option<bool> {
    let decide = |parts: &[BoundPredicate], deciding: bool| {
        let mut result = Some(!deciding);
        for part in parts {
            match evaluate(part, tuple) {
                Some(value) if value == deciding => return Some(deciding),
                Some(_) => {}
                None => result = None,
            }
        }
        result
    };
    match predicate {
        BoundPredicate::True => Some(true),
        BoundPredicate::False => Some(false),
        BoundPredicate::And(parts) => decide(parts, false),
        BoundPredicate::Or(parts) => decide(parts, true),
        BoundPredicate::Leaf(column, test) => passes(test, tuple(column.id)?.as_ref()),
        BoundPredicate::Condition(_) => None,
    }
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
