//! Binds expressions to types: finds each column, and converts each operand to the type that its operator accepts.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_schema::{DataType, Fields, Schema};

pub use super::bound::Bound;
use super::bound::{BoundNode, all_together, together};
use super::cast::castable;
use super::literal::{as_decimal, literal_value};
use super::types::{is_numeric, literal_type, normal_type, shown};
use super::{ArithmeticOp, Expression, arithmetic};
use crate::error::{Error, Result};
use crate::scalar::Scalar;
use crate::sql::predicate::bind::{distinct, nearest};
use crate::sql::predicate::literal::{Compared, Place, place};
use crate::sql::predicate::{ColumnName, CompareOp, Literal};

/// The subject of messages about literals.
const A_VALUE: &str = "a value";

/// The relations that an expression may reference, and the time of the statement.
#[derive(Debug)]
pub struct Scope<'a> {
    relations: Vec<(&'a str, Option<&'a Schema>)>,
    pub(super) now_micros: i64,
}

/// Returns microseconds since the epoch, for a [`Scope`].
pub fn now_micros() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}

impl<'a> Scope<'a> {
    /// Creates a scope of relations by alias, in the order of [`Rows`](super::rows::Rows). The schema is None for a
    /// relation that has no row at this point, such as the target of an INSERT.
    pub fn new(relations: Vec<(&'a str, Option<&'a Schema>)>, now_micros: i64) -> Self {
        Self { relations, now_micros }
    }

    /// Binds an expression to types.
    ///
    /// # Errors
    /// `InvalidArgument` for a column that does not exist or is in two relations, and for operands of incompatible
    /// types, with both types.
    pub fn bind(&self, expression: &Expression) -> Result<Bound> {
        let many = |parts: &[Expression]| parts.iter().map(|part| self.bind(part)).collect::<Result<Vec<_>>>();
        match expression {
            Expression::Literal(literal) => literal_value(literal),
            Expression::Column(name) => self.find(name)?.ok_or_else(|| self.unknown(name)),
            Expression::Word(name, literal) => match self.find(name)? {
                Some(column) => Ok(column),
                None => literal_value(literal),
            },
            Expression::Arithmetic(op, left, right, text) => self.arithmetic(*op, left, right, text),
            Expression::Compare(op, left, right) => {
                if let Some((value, literal, is_flipped)) = self.beside_literal(left, right)? {
                    let op = if is_flipped { op.flipped() } else { *op };
                    return compared(self.bind(value)?, op, literal);
                }
                comparison(*op, together([self.bind(left)?, self.bind(right)?])?)
            }
            Expression::Distinct(left, right) => {
                if let Some((value, literal, _)) = self.beside_literal(left, right)? {
                    return distinct_from(self.bind(value)?, literal);
                }
                let [left, right] = together([self.bind(left)?, self.bind(right)?])?;
                Ok(boolean(BoundNode::Distinct(Box::new(left), Box::new(right))))
            }
            Expression::And(parts) => Ok(boolean(BoundNode::And(self.conditions(parts, "AND")?))),
            Expression::Or(parts) => Ok(boolean(BoundNode::Or(self.conditions(parts, "OR")?))),
            Expression::Not(inner) => Ok(boolean(BoundNode::Not(Box::new(condition(self.bind(inner)?, "NOT")?)))),
            Expression::IsNull(inner) => Ok(boolean(BoundNode::IsNull(Box::new(self.bind(inner)?)))),
            Expression::IsNan(inner) => {
                let inner = self.bind(inner)?;
                if !is_numeric(&inner.data_type) && inner.data_type != DataType::Null {
                    return Err(Error::invalid(format!("IS NAN does not accept {}", shown(&inner.data_type))));
                }
                Ok(boolean(BoundNode::IsNan(Box::new(inner))))
            }
            Expression::In(value, members) => self.one_of(self.bind(value)?, members),
            Expression::Like(value, pattern) => {
                let value = self.bind(value)?;
                if !matches!(value.data_type, DataType::Utf8 | DataType::Null) {
                    return Err(Error::invalid(format!("LIKE requires a string, not {}", shown(&value.data_type))));
                }
                Ok(boolean(BoundNode::Like(Box::new(value), pattern.clone())))
            }
            Expression::Case(branches, otherwise) => self.case(branches, otherwise.as_deref()),
            Expression::Cast(value, to, tried, text) => {
                let value = self.bind(value)?;
                if !castable(&value.data_type, to) {
                    let message = format!("{} cannot be cast to {} in `{text}`", shown(&value.data_type), shown(to));
                    return Err(Error::invalid(message));
                }
                Ok(Bound::new(BoundNode::Cast(Box::new(value), *tried), to.clone(), text.clone()))
            }
            Expression::Call(function, arguments, text) => self.call(*function, many(arguments)?, text),
        }
    }

    /// Binds a condition, like [`Scope::bind`].
    ///
    /// # Errors
    /// The errors of [`Scope::bind`]; `InvalidArgument` for a type other than boolean.
    pub fn bind_condition(&self, expression: &Expression) -> Result<Bound> {
        condition(self.bind(expression)?, "a condition")
    }

    /// Returns the other operand and the literal of a comparison of which exactly one is a literal, and whether the
    /// literal is on the left.
    fn beside_literal<'e>(
        &self,
        left: &'e Expression,
        right: &'e Expression,
    ) -> Result<Option<(&'e Expression, &'e Literal, bool)>> {
        let literal = |expression: &'e Expression| match expression {
            Expression::Literal(literal) => Ok(Some(literal)),
            Expression::Word(name, literal) => Ok(self.find(name)?.is_none().then_some(literal)),
            _ => Ok::<_, Error>(None),
        };
        Ok(match (literal(left)?, literal(right)?) {
            (None, Some(literal)) => Some((left, literal, false)),
            (Some(literal), None) => Some((right, literal, true)),
            _ => None,
        })
    }

    /// Binds `value IN (members)`. Literal members are combined into one set.
    fn one_of(&self, value: Bound, members: &[Expression]) -> Result<Bound> {
        let set_type = if value.is_literal() { None } else { literal_type(&value.data_type) };
        let (mut set, mut parts) = (Vec::new(), Vec::new());
        for member in members {
            match (member, set_type) {
                (Expression::Literal(literal), Some(data_type)) => match place(literal, data_type, A_VALUE)? {
                    Place::At(scalar) => set.push(scalar),
                    Place::Null => parts.push(boolean(BoundNode::Literal(None))),
                    Place::After(_) | Place::BelowAll | Place::AboveAll => {}
                },
                _ => parts.push(comparison(CompareOp::Eq, together([value.clone(), self.bind(member)?])?)?),
            }
        }
        let found = match (set.is_empty(), members.is_empty()) {
            (_, true) => truth(false),
            (true, false) => unless_null(value, false),
            (false, false) => boolean(BoundNode::In(Box::new(value), distinct(set).into())),
        };
        parts.insert(0, found);
        Ok(boolean(BoundNode::Or(parts)))
    }

    fn conditions(&self, parts: &[Expression], place: &str) -> Result<Vec<Bound>> {
        parts.iter().map(|part| condition(self.bind(part)?, place)).collect()
    }

    /// Returns a column, or None if it does not exist.
    fn find(&self, name: &ColumnName) -> Result<Option<Bound>> {
        let parts: Vec<&str> = name.0.iter().map(String::as_str).collect();
        if let [alias, rest @ ..] = parts.as_slice()
            && !rest.is_empty()
            && let Some(index) = self.relations.iter().position(|(known, _)| known == alias)
            && let Some(found) = self.in_relation(index, rest)?
        {
            return Ok(Some(found));
        }
        // A column may have the same name as a relation. `name.x` then also refers to the field `x` of the column.
        let mut found = Vec::new();
        for (index, (alias, schema)) in self.relations.iter().enumerate() {
            if schema.is_some()
                && let Some(column) = self.in_relation(index, &parts)?
            {
                found.push((alias, column));
            }
        }
        match (found.pop(), found.pop()) {
            (Some((_, column)), None) => Ok(Some(column)),
            (Some((second, _)), Some((first, _))) => {
                Err(Error::invalid(format!("the column `{name}` is ambiguous: it is in both {first} and {second}"))
                    .hint(format!("write {first}.{name} or {second}.{name}")))
            }
            _ => Ok(None),
        }
    }

    fn in_relation(&self, relation: usize, parts: &[&str]) -> Result<Option<Bound>> {
        let Some((alias, schema)) = self.relations.get(relation) else { return Ok(None) };
        let Some(schema) = schema else {
            return Err(Error::invalid(format!(
                "{alias} has no row here, so `{alias}.{}` has no value",
                parts.join(".")
            )));
        };
        let mut fields: &Fields = schema.fields();
        let mut places = Vec::new();
        let mut rest = parts.iter();
        while let Some(part) = rest.next() {
            let Some((position, field)) = fields.find(part) else { return Ok(None) };
            places.push(position);
            match (field.data_type(), rest.len()) {
                (data_type, 0) => {
                    let Some((index, path)) = places.split_first() else { return Ok(None) };
                    let node = BoundNode::Column(relation, *index, path.to_vec());
                    return Ok(Some(Bound::new(node, normal_type(data_type), "".into())));
                }
                (DataType::Struct(inner), _) => fields = inner,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    fn unknown(&self, name: &ColumnName) -> Error {
        let mut known = Vec::new();
        for (alias, schema) in &self.relations {
            for field in schema.iter().flat_map(|schema| schema.fields().iter()) {
                known.extend([field.name().clone(), format!("{alias}.{}", field.name())]);
            }
        }
        let error = Error::invalid(format!("no column `{name}`"));
        match nearest(&name.0.join("."), &known) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("string literals need single quotes"),
        }
    }

    fn arithmetic(&self, op: ArithmeticOp, left: &Expression, right: &Expression, text: &Arc<str>) -> Result<Bound> {
        let (left, right) = (self.bind(left)?, self.bind(right)?);
        let types = arithmetic::types(op, (&left.data_type, left.is_literal()), (&right.data_type, right.is_literal()));
        let Some((operands, mut result)) = types else {
            let (a, b) = (shown(&left.data_type), shown(&right.data_type));
            return Err(
                Error::invalid(format!("the types {a} and {b} are incompatible in `{text}`")).hint("CAST one of them")
            );
        };
        let (left, right) = if let Some(operand) = operands {
            (left.widen(&operand), right.widen(&operand))
        } else {
            let (left, right) = (as_decimal(left), as_decimal(right));
            let (a, b) = ((&left.data_type, true), (&right.data_type, true));
            (_, result) = arithmetic::types(op, a, b).unwrap_or((None, result));
            (left, right)
        };
        Ok(Bound::new(BoundNode::Arithmetic(op, Box::new(left), Box::new(right)), result, text.clone()))
    }

    fn case(&self, branches: &[(Expression, Expression)], otherwise: Option<&Expression>) -> Result<Bound> {
        let mut conditions = Vec::new();
        let mut values = Vec::new();
        for (test, value) in branches {
            conditions.push(condition(self.bind(test)?, "WHEN")?);
            values.push(self.bind(value)?);
        }
        values.extend(otherwise.map(|value| self.bind(value)).transpose()?);
        let mut values = all_together(values, "CASE")?;
        let otherwise = otherwise.and_then(|_| values.pop()).map(Box::new);
        let data_type = values.first().map_or(DataType::Null, |value| value.data_type.clone());
        Ok(Bound::new(BoundNode::Case(conditions.into_iter().zip(values).collect(), otherwise), data_type, "".into()))
    }
}

/// Returns `value op literal`. The literal has the type of the value, so that no value is rounded.
fn compared(value: Bound, op: CompareOp, literal: &Literal) -> Result<Bound> {
    let Some(data_type) = literal_type(&value.data_type) else {
        return comparison(op, together([value, literal_value(literal)?])?);
    };
    Ok(match place(literal, data_type, A_VALUE)?.compared(op) {
        Compared::With(op, scalar) => {
            let literal = Bound::new(BoundNode::Literal(Some(scalar)), value.data_type.clone(), "".into());
            boolean(BoundNode::Compare(op, Box::new(value), Box::new(literal)))
        }
        Compared::Always => unless_null(value, true),
        Compared::Never => unless_null(value, false),
        Compared::Null => boolean(BoundNode::Literal(None)),
    })
}

/// Returns `value IS DISTINCT FROM literal`.
fn distinct_from(value: Bound, literal: &Literal) -> Result<Bound> {
    if *literal == Literal::Null {
        return Ok(boolean(BoundNode::Not(Box::new(boolean(BoundNode::IsNull(Box::new(value)))))));
    }
    let is_null = boolean(BoundNode::IsNull(Box::new(value.clone())));
    let differs = compared(value, CompareOp::NotEq, literal)?;
    Ok(boolean(BoundNode::Case(vec![(is_null, truth(true))], Some(Box::new(differs)))))
}

/// Returns a truth value, or NULL if `value` is NULL.
fn unless_null(value: Bound, holds: bool) -> Bound {
    let is_null = boolean(BoundNode::IsNull(Box::new(value)));
    let null = boolean(BoundNode::Literal(None));
    boolean(BoundNode::Case(vec![(is_null, null)], Some(Box::new(truth(holds)))))
}

fn truth(value: bool) -> Bound {
    boolean(BoundNode::Literal(Some(Scalar::Boolean(value))))
}

fn comparison(op: CompareOp, [left, right]: [Bound; 2]) -> Result<Bound> {
    if left.data_type.is_nested() && !matches!(op, CompareOp::Eq | CompareOp::NotEq) {
        return Err(Error::invalid(format!("values of type {} cannot be ordered", shown(&left.data_type))));
    }
    Ok(boolean(BoundNode::Compare(op, Box::new(left), Box::new(right))))
}

fn boolean(node: BoundNode) -> Bound {
    Bound::new(node, DataType::Boolean, "".into())
}

fn condition(bound: Bound, place: &str) -> Result<Bound> {
    match bound.data_type {
        DataType::Boolean => Ok(bound),
        DataType::Null => Ok(bound.widen(&DataType::Boolean)),
        ref other => Err(Error::invalid(format!("{place} requires a boolean, not {}", shown(other)))),
    }
}
