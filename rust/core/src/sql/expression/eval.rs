//! Evaluates bound expressions on rows.

use std::sync::Arc;

use arrow_arith::boolean::{and_kleene, is_null, not, or_kleene};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Datum, Scalar as One, UInt32Array, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use arrow_select::interleave::interleave;
use arrow_select::take::take;

use super::bound::{Bound, BoundNode};
use super::cast::{cast, structs, widened};
use super::compare::{compare, distinct};
use super::rows::Rows;
use super::types::scalar_type;
use super::{arithmetic, function};
use crate::error::{Error, Result};
use crate::floats::canonical;
use crate::nested::child;
use crate::sql::predicate::eval::among;

/// One side of a comparison.
type Side = Box<dyn Datum>;

impl Bound {
    /// Returns the value of each row, with the type [`Bound::data_type`].
    ///
    /// # Errors
    /// `InvalidArgument` if a row has no value because of an overflow, a division by zero, or a CAST that fails.
    pub fn evaluate(&self, rows: &Rows<'_>) -> Result<ArrayRef> {
        match &self.node {
            BoundNode::Literal(None) => Ok(new_null_array(&self.data_type, rows.len())),
            BoundNode::Literal(Some(scalar)) => scalar.to_array(rows.len()),
            BoundNode::Column(relation, index, path) => self.column(rows, *relation, *index, path),
            BoundNode::Arithmetic(op, left, right) => {
                arithmetic::apply(*op, &left.evaluate(rows)?, &right.evaluate(rows)?, &self.data_type, &self.text)
            }
            BoundNode::Cast(inner, tried) => cast(&inner.evaluate(rows)?, &self.data_type, *tried)
                .map_err(|error| error.with("expression", &self.text)),
            BoundNode::Widen(inner) => widened(&inner.evaluate(rows)?, &self.data_type),
            BoundNode::Case(branches, otherwise) => self.case(rows, branches, otherwise.as_deref()),
            BoundNode::Call(super::Function::Coalesce, parts) => self.coalesce(rows, parts),
            BoundNode::Struct(parts) => {
                let parts = parts.iter().map(|part| part.evaluate(rows)).collect::<Result<Vec<_>>>()?;
                structs(&parts, &self.data_type, rows.len())
            }
            BoundNode::Call(function, parts) => {
                let arguments = parts.iter().map(|part| part.evaluate(rows)).collect::<Result<Vec<_>>>()?;
                function::apply(*function, &arguments, &self.data_type, &self.text)
            }
            _ => Ok(Arc::new(self.truth(rows)?)),
        }
    }

    /// Returns the rows for which the expression is TRUE, not FALSE or NULL. Errors are those of [`Bound::evaluate`].
    pub fn holds(&self, rows: &Rows<'_>) -> Result<BooleanBuffer> {
        let truth = self.truth(rows)?;
        Ok(truth.nulls().map_or_else(|| truth.values().clone(), |nulls| truth.values() & nulls.inner()))
    }

    /// Returns TRUE, FALSE or NULL for each row.
    fn truth(&self, rows: &Rows<'_>) -> Result<BooleanArray> {
        match &self.node {
            BoundNode::Compare(op, left, right) => {
                let (left, right) = sides(left, right, rows)?;
                spread(compare(*op, &*left, &*right)?, rows.len())
            }
            BoundNode::Distinct(left, right) => {
                let (left, right) = sides(left, right, rows)?;
                spread(distinct(&*left, &*right)?, rows.len())
            }
            BoundNode::And(parts) => connective(parts, rows, true),
            BoundNode::Or(parts) => connective(parts, rows, false),
            BoundNode::Not(inner) => Ok(not(&inner.truth(rows)?)?),
            BoundNode::IsNull(inner) => Ok(is_null(inner.evaluate(rows)?.as_ref())?),
            BoundNode::IsNan(inner) => Ok(is_nan(&inner.evaluate(rows)?)),
            BoundNode::Like(inner, pattern) => {
                let values = inner.evaluate(rows)?;
                let Some(texts) = values.as_string_opt::<i32>() else {
                    return Ok(BooleanArray::new_null(rows.len()));
                };
                Ok(texts.iter().map(|text| text.map(|text| pattern.matches(text))).collect())
            }
            BoundNode::In(inner, members) => {
                let values = inner.evaluate(rows)?;
                let data_type =
                    scalar_type(&inner.data_type).ok_or_else(|| Error::internal("the type of an IN has no scalars"))?;
                Ok(BooleanArray::new(among(values.as_ref(), data_type, members)?, values.logical_nulls()))
            }
            _ => {
                let values = self.evaluate(rows)?;
                values.as_boolean_opt().cloned().ok_or_else(|| Error::internal("a condition is not boolean"))
            }
        }
    }

    fn column(&self, rows: &Rows<'_>, relation: usize, index: usize, path: &[usize]) -> Result<ArrayRef> {
        let mut values = rows.column(relation, index)?;
        for position in path {
            let parent =
                values.as_struct_opt().ok_or_else(|| Error::internal("the parent of a field is not a struct"))?;
            values = child(parent, *position)?;
        }
        if values.data_type() == &self.data_type { Ok(values) } else { widened(&values, &self.data_type) }
    }

    fn case(&self, rows: &Rows<'_>, branches: &[(Self, Self)], otherwise: Option<&Self>) -> Result<ArrayRef> {
        let mut chosen = Chosen::new(&self.data_type, rows.len());
        for (condition, value) in branches {
            chosen.next(rows, |rest| {
                let holds = condition.holds(rest)?;
                Ok((value.evaluate(&rest.select(&holds)?)?, holds))
            })?;
        }
        if let Some(value) = otherwise {
            chosen.next(rows, |rest| Ok((value.evaluate(rest)?, BooleanBuffer::new_set(rest.len()))))?;
        }
        chosen.finish()
    }

    fn coalesce(&self, rows: &Rows<'_>, parts: &[Self]) -> Result<ArrayRef> {
        let mut chosen = Chosen::new(&self.data_type, rows.len());
        for part in parts {
            chosen.next(rows, |rest| {
                let values = part.evaluate(rest)?;
                let Some(nulls) = values.logical_nulls() else {
                    return Ok((values, BooleanBuffer::new_set(rest.len())));
                };
                let places: UInt32Array = nulls.inner().set_indices_u32().collect::<Vec<_>>().into();
                Ok((take(values.as_ref(), &places, None)?, nulls.into_inner()))
            })?;
        }
        chosen.finish()
    }
}

/// The values of rows that are chosen from several arrays, as for CASE. The first array is a single NULL, which rows
/// without a value get.
struct Chosen {
    arrays: Vec<ArrayRef>,
    from: Vec<(usize, usize)>,
    rest: Vec<usize>,
}

impl Chosen {
    fn new(data_type: &DataType, len: usize) -> Self {
        Self { arrays: vec![new_null_array(data_type, 1)], from: vec![(0, 0); len], rest: (0..len).collect() }
    }

    /// Assigns values to the rows that have none yet. `values` receives these rows and returns one value for each, and
    /// a mask of the rows that take their value.
    fn next(
        &mut self,
        rows: &Rows<'_>,
        values: impl FnOnce(&Rows<'_>) -> Result<(ArrayRef, BooleanBuffer)>,
    ) -> Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        let (array, taken) = if self.rest.len() == rows.len() {
            values(rows)?
        } else {
            let mut open = vec![false; rows.len()];
            for row in &self.rest {
                if let Some(open) = open.get_mut(*row) {
                    *open = true;
                }
            }
            values(&rows.select(&BooleanBuffer::from(open))?)?
        };
        let mut at = 0;
        let mut left = Vec::new();
        for (row, taken) in self.rest.iter().zip(&taken) {
            if !taken {
                left.push(*row);
                continue;
            }
            if let Some(from) = self.from.get_mut(*row) {
                *from = (self.arrays.len(), at);
            }
            at += 1;
        }
        self.arrays.push(array);
        self.rest = left;
        Ok(())
    }

    fn finish(self) -> Result<ArrayRef> {
        let arrays: Vec<&dyn Array> = self.arrays.iter().map(AsRef::as_ref).collect();
        Ok(interleave(&arrays, &self.from)?)
    }
}

/// Evaluates AND (`all`) or OR. A part that may fail is evaluated only for rows that are still undecided.
fn connective(parts: &[Bound], rows: &Rows<'_>, all: bool) -> Result<BooleanArray> {
    let mut known: Option<BooleanArray> = None;
    for part in parts {
        let Some(before) = known else {
            known = Some(part.truth(rows)?);
            continue;
        };
        let truth = if part.fallible {
            let decided = if all { !before.values() } else { before.values().clone() };
            let decided = before.nulls().map_or_else(|| decided.clone(), |nulls| &decided & nulls.inner());
            let open = !&decided;
            let truth = part.truth(&rows.select(&open)?)?;
            let mut next = 0..;
            let places: UInt32Array = open.iter().map(|open| if open { next.next() } else { None }).collect();
            take(&truth, &places, None)?.as_boolean().clone()
        } else {
            part.truth(rows)?
        };
        known = Some(if all { and_kleene(&before, &truth)? } else { or_kleene(&before, &truth)? });
    }
    Ok(known.unwrap_or_else(|| BooleanArray::new(BooleanBuffer::from(vec![all; rows.len()]), None)))
}

/// Returns both sides of a comparison in canonical form; a literal is a single value, unless both sides are literals.
fn sides(left: &Bound, right: &Bound, rows: &Rows<'_>) -> Result<(Side, Side)> {
    let both = left.is_literal() && right.is_literal();
    let side = |bound: &Bound| -> Result<Side> {
        let one = bound.is_literal() && !both && !bound.data_type.is_nested();
        let rows = if one { &Rows::new(1, Vec::new()) } else { rows };
        let values = canonical(&bound.evaluate(rows)?)?;
        Ok(if one { Box::new(One::new(values)) } else { Box::new(values) })
    };
    Ok((side(left)?, side(right)?))
}

/// Returns the result of a comparison after checking that it has one value per row.
fn spread(truth: BooleanArray, len: usize) -> Result<BooleanArray> {
    if truth.len() == len {
        Ok(truth)
    } else {
        Err(Error::internal(format!("an expression returned {} values for {len} rows", truth.len())))
    }
}

fn is_nan(values: &ArrayRef) -> BooleanArray {
    match values.data_type() {
        DataType::Float32 => {
            values.as_primitive::<Float32Type>().iter().map(|value| Some(value.is_some_and(f32::is_nan))).collect()
        }
        DataType::Float64 => {
            values.as_primitive::<Float64Type>().iter().map(|value| Some(value.is_some_and(f64::is_nan))).collect()
        }
        _ => BooleanArray::from(vec![false; values.len()]),
    }
}
