//! Casts between integers, floats and Booleans.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array};
use arrow_schema::DataType as ArrowType;
use frazil_core::error::{Error, Result};

use super::{CastRule, finish, rule_of};
use crate::spec::types::TypeRoot;

pub(super) fn rule(from: &TypeRoot, to: &TypeRoot) -> Option<CastRule> {
    use TypeRoot as T;
    match (from, to) {
        (T::TinyInt | T::SmallInt | T::Int | T::BigInt, T::Boolean) => rule_of(|array| Ok(truth(&longs(array)?))),
        (T::TinyInt | T::SmallInt | T::Int | T::BigInt | T::Boolean, _) => {
            let narrow = from_long(to)?;
            rule_of(move |array| Ok(narrow(&longs(array)?)))
        }
        (T::Float | T::Double, _) => {
            let narrow = from_double(to)?;
            rule_of(move |array| Ok(narrow(&doubles(array)?)))
        }
        _ => None,
    }
}

/// Returns integers of any width as 64-bit integers; Booleans become 1 and 0.
pub(super) fn longs(array: &ArrayRef) -> Result<Int64Array> {
    let wide = arrow_cast::cast(array, &ArrowType::Int64)?;
    wide.as_primitive_opt().cloned().ok_or_else(|| Error::internal("expected an array of integers"))
}

/// Returns floats of any width as 64-bit floats.
pub(super) fn doubles(array: &ArrayRef) -> Result<Float64Array> {
    let wide = arrow_cast::cast(array, &ArrowType::Float64)?;
    wide.as_primitive_opt().cloned().ok_or_else(|| Error::internal("expected an array of floats"))
}

fn truth(values: &Int64Array) -> ArrayRef {
    let bits = values.values().iter().map(|value| *value != 0).collect();
    Arc::new(BooleanArray::new(bits, values.nulls().cloned()))
}

/// Converts to the low bits of an integer, or to the nearest float.
#[expect(clippy::cast_possible_truncation, reason = "Java keeps the low bits")]
pub(super) fn from_long(to: &TypeRoot) -> Option<fn(&Int64Array) -> ArrayRef> {
    Some(match to {
        TypeRoot::TinyInt => |values| finish(values.unary::<_, Int8Type>(|value| value as i8)),
        TypeRoot::SmallInt => |values| finish(values.unary::<_, Int16Type>(|value| value as i16)),
        TypeRoot::Int => |values| finish(values.unary::<_, Int32Type>(|value| value as i32)),
        TypeRoot::BigInt => |values| finish(values.clone()),
        TypeRoot::Float => |values| finish(values.unary::<_, Float32Type>(|value| value as f32)),
        TypeRoot::Double => |values| finish(values.unary::<_, Float64Type>(|value| value as f64)),
        _ => return None,
    })
}

/// Converts to integers, rounding towards zero and saturating. Narrow integers take the low bits of the INT.
#[expect(clippy::cast_possible_truncation, reason = "Java saturates to INT and BIGINT, then keeps the low bits")]
fn from_double(to: &TypeRoot) -> Option<fn(&Float64Array) -> ArrayRef> {
    Some(match to {
        TypeRoot::TinyInt => |values| finish(values.unary::<_, Int8Type>(|value| value as i32 as i8)),
        TypeRoot::SmallInt => |values| finish(values.unary::<_, Int16Type>(|value| value as i32 as i16)),
        TypeRoot::Int => |values| finish(values.unary::<_, Int32Type>(|value| value as i32)),
        TypeRoot::BigInt => |values| finish(values.unary::<_, Int64Type>(|value| value as i64)),
        TypeRoot::Float => |values| finish(values.unary::<_, Float32Type>(|value| value as f32)),
        TypeRoot::Double => |values| finish(values.clone()),
        _ => return None,
    })
}
