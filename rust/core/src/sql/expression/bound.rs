//! Expressions that are bound to types.

use std::sync::Arc;

use arrow_schema::{DataType, Field};

use super::cast::cast;
use super::literal::converted;
use super::types::{assigned_by_cast, common, normal_type, shown, widens};
use super::{ArithmeticOp, Function};
use crate::error::{Error, Result};
use crate::scalar::Scalar;
use crate::sql::predicate::{CompareOp, LikePattern};

/// An expression that is bound to a type.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    pub(super) node: BoundNode,
    pub(super) data_type: DataType,
    /// The source text, for messages; empty if evaluation cannot fail.
    pub(super) text: Arc<str>,
    /// Whether evaluation may fail for some values, so that only rows that need it may be evaluated.
    pub(super) fallible: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum BoundNode {
    Literal(Option<Scalar>),
    /// A column: the position of its relation, its position in the relation, and the positions of nested fields.
    Column(usize, usize, Vec<usize>),
    Arithmetic(ArithmeticOp, Box<Bound>, Box<Bound>),
    Compare(CompareOp, Box<Bound>, Box<Bound>),
    Distinct(Box<Bound>, Box<Bound>),
    And(Vec<Bound>),
    Or(Vec<Bound>),
    Not(Box<Bound>),
    IsNull(Box<Bound>),
    IsNan(Box<Bound>),
    Like(Box<Bound>, LikePattern),
    /// Membership in a sorted list of distinct values of the same type.
    In(Box<Bound>, Arc<[Scalar]>),
    Case(Vec<(Bound, Bound)>, Option<Box<Bound>>),
    /// A cast to the type of the expression; `true` returns NULL if it fails.
    Cast(Box<Bound>, bool),
    /// A conversion to a type that can hold all values of the operand.
    Widen(Box<Bound>),
    Call(Function, Vec<Bound>),
    /// A struct of these fields, in the order of the type; never NULL.
    Struct(Vec<Bound>),
}

impl Bound {
    pub(super) fn new(node: BoundNode, data_type: DataType, text: Arc<str>) -> Self {
        let any = |parts: &[Self]| parts.iter().any(|part| part.fallible);
        let fallible = match &node {
            BoundNode::Arithmetic(..) => true,
            BoundNode::Cast(inner, tried) => !tried || inner.fallible,
            BoundNode::Call(function, parts) => {
                matches!(function, Function::Abs | Function::Round | Function::Plus) || any(parts)
            }
            BoundNode::Literal(_) | BoundNode::Column(..) => false,
            BoundNode::Compare(_, a, b) | BoundNode::Distinct(a, b) => a.fallible || b.fallible,
            BoundNode::And(parts) | BoundNode::Or(parts) | BoundNode::Struct(parts) => any(parts),
            BoundNode::Widen(inner) => {
                inner.fallible || matches!(data_type, DataType::Decimal128(..) | DataType::Timestamp(..))
            }
            BoundNode::Not(inner)
            | BoundNode::IsNull(inner)
            | BoundNode::IsNan(inner)
            | BoundNode::Like(inner, _)
            | BoundNode::In(inner, _) => inner.fallible,
            BoundNode::Case(branches, otherwise) => {
                branches.iter().any(|(a, b)| a.fallible || b.fallible) || otherwise.as_ref().is_some_and(|o| o.fallible)
            }
        };
        Self { node, data_type, text, fallible }
    }

    /// Returns the type of the values, which is the [`normal_type`] of an Arrow type.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Returns the relation and position of the column, if the expression is only a top-level column.
    pub fn as_column(&self) -> Option<(usize, usize)> {
        match &self.node {
            BoundNode::Column(relation, index, path) if path.is_empty() => Some((*relation, *index)),
            BoundNode::Widen(inner) => inner.as_column(),
            _ => None,
        }
    }

    /// Returns the positions of the relations that the expression references, in order and without duplicates.
    pub fn relations(&self) -> Vec<usize> {
        let mut found: Vec<usize> = self.leaves().into_iter().map(|(relation, _)| relation).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the positions of the columns of `relation` that the expression references, possibly with duplicates.
    pub fn columns(&self, relation: usize) -> Vec<usize> {
        self.leaves().into_iter().filter(|(own, _)| *own == relation).map(|(_, column)| column).collect()
    }

    /// Returns the columns that the expression references, each as the positions of its relation and column.
    fn leaves(&self) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut rest = vec![self];
        while let Some(next) = rest.pop() {
            match &next.node {
                BoundNode::Literal(_) => {}
                BoundNode::Column(relation, column, _) => found.push((*relation, *column)),
                BoundNode::Arithmetic(_, a, b) | BoundNode::Compare(_, a, b) | BoundNode::Distinct(a, b) => {
                    rest.extend([&**a, &**b]);
                }
                BoundNode::And(parts) | BoundNode::Or(parts) | BoundNode::Call(_, parts) | BoundNode::Struct(parts) => {
                    rest.extend(parts);
                }
                BoundNode::Not(inner)
                | BoundNode::IsNull(inner)
                | BoundNode::IsNan(inner)
                | BoundNode::Like(inner, _)
                | BoundNode::In(inner, _)
                | BoundNode::Cast(inner, _)
                | BoundNode::Widen(inner) => rest.push(inner),
                BoundNode::Case(branches, otherwise) => {
                    rest.extend(branches.iter().flat_map(|(a, b)| [a, b]));
                    rest.extend(otherwise.as_deref());
                }
            }
        }
        found
    }

    /// Returns the two sides of an equality, and whether NULL equals NULL in it. None for any other expression.
    pub fn as_equality(&self) -> Option<(&Self, &Self, bool)> {
        match &self.node {
            BoundNode::Compare(CompareOp::Eq, left, right) => Some((left, right, false)),
            BoundNode::Not(inner) => match &inner.node {
                BoundNode::Distinct(left, right) => Some((left, right, true)),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn is_literal(&self) -> bool {
        matches!(self.node, BoundNode::Literal(_))
    }

    /// Returns the expression converted to the type of a column, if no value can be lost. Numbers may lose fractional
    /// digits, and timestamps their time of day, as in Spark's store assignment.
    ///
    /// # Errors
    /// `InvalidArgument` with the column and both types.
    pub fn assign(self, field: &Field) -> Result<Self> {
        let to = normal_type(field.data_type());
        if let BoundNode::Literal(Some(scalar)) = &self.node
            && let Some(value) = converted(scalar, &to)
        {
            return Ok(Self::new(BoundNode::Literal(Some(value)), to, "".into()));
        }
        if assigned_by_cast(&self.data_type, &to) {
            let text = self.text.clone();
            if let BoundNode::Literal(Some(scalar)) = &self.node {
                cast(&scalar.to_array(1)?, &to, false).map_err(|error| error.with("column", field.name()))?;
            }
            return Ok(Self::new(BoundNode::Cast(Box::new(self), false), to, text));
        }
        if !widens(&self.data_type, &to) {
            let name = field.name();
            let (from, to) = (shown(&self.data_type), shown(&to));
            return Err(Error::invalid(format!(
                "the column `{name}` of type {to} does not accept a value of type {from}"
            ))
            .with("column", name)
            .hint(format!("write CAST(... AS {to}) to convert it explicitly")));
        }
        Ok(self.widen(&to))
    }

    /// Returns the expression in a type that can hold its values.
    pub(super) fn widen(self, to: &DataType) -> Self {
        if self.data_type == *to {
            return self;
        }
        match &self.node {
            BoundNode::Literal(None) => return Self::new(BoundNode::Literal(None), to.clone(), "".into()),
            BoundNode::Literal(Some(scalar)) => {
                if let Some(value) = converted(scalar, to) {
                    return Self::new(BoundNode::Literal(Some(value)), to.clone(), "".into());
                }
            }
            _ => {}
        }
        Self::new(BoundNode::Widen(Box::new(self)), to.clone(), "".into())
    }
}

/// Returns two values in a common type for comparison.
pub(super) fn together([left, right]: [Bound; 2]) -> Result<[Bound; 2]> {
    // A literal is converted to the type of the other side if it is exactly representable there: DATE '…' compared with
    // a timestamp, or 1 compared with a decimal.
    let taken = [(&left, &right), (&right, &left)].into_iter().find_map(|(literal, other)| match &literal.node {
        BoundNode::Literal(Some(scalar)) if !other.is_literal() && !other.data_type.is_floating() => {
            converted(scalar, &other.data_type).map(|_| other.data_type.clone())
        }
        _ => None,
    });
    if let Some(to) = taken {
        return Ok([left.widen(&to), right.widen(&to)]);
    }
    if let Some(data_type) = common(&left.data_type, &right.data_type) {
        return Ok([left.widen(&data_type), right.widen(&data_type)]);
    }
    let (a, b) = (shown(&left.data_type), shown(&right.data_type));
    let error = Error::invalid(format!("a value of type {a} cannot be compared with one of type {b}"));
    Err(match (&left.data_type, &right.data_type) {
        (DataType::Utf8, DataType::Date32) | (DataType::Date32, DataType::Utf8) => {
            error.hint("write DATE '2024-01-31', or CAST one of them")
        }
        (DataType::Utf8, DataType::Timestamp(..)) | (DataType::Timestamp(..), DataType::Utf8) => {
            error.hint("write TIMESTAMP '2024-01-31 23:59:59', or CAST one of them")
        }
        _ => error.hint("CAST one of them"),
    })
}

/// Returns values in a common type.
pub(super) fn all_together(values: Vec<Bound>, place: &str) -> Result<Vec<Bound>> {
    let mut data_type = DataType::Null;
    for value in &values {
        data_type = common(&data_type, &value.data_type)
            .filter(|found| !matches!(found, DataType::Decimal256(..)))
            .ok_or_else(|| {
                let (a, b) = (shown(&data_type), shown(&value.data_type));
                Error::invalid(format!("{place} has values of types {a} and {b}, which have no common type"))
                    .hint("CAST one of them")
            })?;
    }
    Ok(values.into_iter().map(|value| value.widen(&data_type)).collect())
}
