//! Binds literals to types.

use arrow_schema::{DataType, TimeUnit};

use super::bound::{Bound, BoundNode};
use super::types::{MAX_PRECISION, digits, is_integer, is_numeric, normal_type, scalar_type};
use crate::error::{Error, Result};
use crate::scalar::civil;
use crate::scalar::{Scalar, ScalarType};
use crate::sql::predicate::Literal;
use crate::sql::predicate::literal::{Place, place};
use crate::sql::predicate::parse::special_number;

/// Returns a literal as a value of another type, exactly, or as the nearest float; None if there is no such value.
/// Strings stay strings.
pub(super) fn converted(scalar: &Scalar, to: &DataType) -> Option<Scalar> {
    let data_type = scalar_type(to)?;
    let from = scalar.scalar_type();
    if from == data_type {
        return Some(scalar.clone());
    }
    let is_moment = |data_type| matches!(data_type, ScalarType::Date | ScalarType::Timestamp { .. });
    let number = is_numeric(&from.arrow()) && is_numeric(to);
    let moment = is_moment(from) && matches!(data_type, ScalarType::Timestamp { .. });
    let bytes = from == ScalarType::Binary && matches!(data_type, ScalarType::Fixed(_));
    if !(number || moment || bytes) {
        return None;
    }
    if data_type == ScalarType::Float32 {
        let text = scalar.to_string();
        return if from.is_float() { None } else { text.parse().ok().map(Scalar::Float32) };
    }
    match place(&Literal::Typed(scalar.clone()), data_type, "a value") {
        Ok(Place::At(value)) => Some(value),
        _ => None,
    }
}

/// Converts an integer to a decimal. The precision of a literal is its number of digits.
pub(super) fn as_decimal(bound: Bound) -> Bound {
    let precision = match &bound.node {
        BoundNode::Literal(Some(scalar)) if is_integer(&bound.data_type) => {
            u8::try_from(scalar.to_string().trim_start_matches('-').len()).unwrap_or(19)
        }
        _ => digits(&bound.data_type).map_or(19, |(precision, _)| precision),
    };
    if is_integer(&bound.data_type) { bound.widen(&DataType::Decimal128(precision, 0)) } else { bound }
}

/// Returns a literal in the type that its text implies.
pub(super) fn literal_value(literal: &Literal) -> Result<Bound> {
    let unread = || Error::invalid(format!("{literal} is not a valid literal"));
    let scalar = match literal {
        Literal::Null => return Ok(Bound::new(BoundNode::Literal(None), DataType::Null, "".into())),
        Literal::Boolean(value) => Scalar::Boolean(*value),
        Literal::Number(text) => number(text).ok_or_else(|| {
            Error::invalid(format!("the number {text} has more than 38 digits"))
                .hint("write it with an exponent to make it a double")
        })?,
        Literal::String(text) => Scalar::String(text.clone()),
        Literal::Binary(bytes) => Scalar::Binary(bytes.clone()),
        Literal::Date(text) => {
            let days = civil::parse_date(text).and_then(|days| i32::try_from(days).ok());
            Scalar::Date(days.ok_or_else(|| unread().hint("write DATE '2024-01-31'"))?)
        }
        Literal::Time(text) => match place(&Literal::Time(text.clone()), ScalarType::Time, "a value") {
            Ok(Place::At(scalar)) => scalar,
            _ => return Err(unread().hint("write TIME '23:59:59.999999'")),
        },
        Literal::Timestamp(text) => {
            let moment = civil::parse_timestamp(text);
            let moment = moment.ok_or_else(|| unread().hint("write TIMESTAMP '2024-01-31 23:59:59'"))?;
            let (unit, nanos) = match moment.nanos % 1000 {
                0 => (TimeUnit::Microsecond, 1000),
                _ => (TimeUnit::Nanosecond, 1),
            };
            let value = i64::try_from(moment.nanos / nanos).map_err(|_| unread())?;
            Scalar::Timestamp { value, unit, utc: moment.zoned }
        }
        Literal::Typed(scalar) => scalar.clone(),
    };
    let data_type = scalar.scalar_type().arrow();
    Ok(Bound::new(BoundNode::Literal(Some(scalar)), normal_type(&data_type), "".into()))
}

/// Returns an integer, a decimal if there is a point, or a double if there is an exponent.
fn number(text: &str) -> Option<Scalar> {
    let unsigned = text.trim_start_matches('-');
    if special_number(&unsigned.to_ascii_lowercase()).is_some() || text.contains(['e', 'E']) {
        return text.parse().ok().map(Scalar::Float64);
    }
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    if !text.contains('.') {
        if let Ok(value) = text.parse() {
            return Some(Scalar::Int32(value));
        }
        if let Ok(value) = text.parse() {
            return Some(Scalar::Int64(value));
        }
    }
    let whole = whole.trim_start_matches('0');
    let precision = u8::try_from(whole.len() + fraction.len()).ok().filter(|digits| *digits <= MAX_PRECISION)?.max(1);
    let magnitude: i128 =
        if whole.len() + fraction.len() == 0 { 0 } else { format!("{whole}{fraction}").parse().ok()? };
    let unscaled = if text.starts_with('-') { -magnitude } else { magnitude };
    Some(Scalar::Decimal { unscaled, precision, scale: i8::try_from(fraction.len()).ok()? })
}
