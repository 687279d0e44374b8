//! Finds the position of a literal among the values of a column's type.
//!
//! A literal need not be a value of the type: 1.5 is not an int, 3e9 exceeds int, 0.1 is not exactly representable as a
//! float, and a timestamp with nanoseconds is not representable in microseconds. Such a literal still has an exact
//! position in the order of the values. Each comparison is reduced to a comparison with a value of the type, or to a
//! constant, without rounding.

use std::cmp::Ordering;
use std::fmt::Display;

use super::number::{Floor, Number};
use super::{BoundColumn, CompareOp, Literal};
use crate::error::{Error, Result};
use crate::scalar::civil::{self, DAY_NANOS, Moment};
use crate::scalar::{Scalar, ScalarType, unit_nanos};

/// A position in the order of a type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Place {
    /// NULL, which has no position.
    Null,
    /// At a value.
    At(Scalar),
    /// After a value and before the next one.
    After(Scalar),
    /// Before the first value.
    BelowAll,
    /// After the last value.
    AboveAll,
}

/// The comparison of a value with a literal.
pub(crate) enum Compared {
    /// The comparison of the value with a value of its type.
    With(CompareOp, Scalar),
    /// TRUE for every value, and NULL for NULL.
    Always,
    /// FALSE for every value, and NULL for NULL.
    Never,
    /// NULL.
    Null,
}

impl Place {
    /// Returns the comparison of values with the literal at this position.
    pub(crate) fn compared(self, op: CompareOp) -> Compared {
        use CompareOp::{Gt, GtEq, Lt, LtEq, NotEq};
        match (self, op) {
            (Self::Null, _) => Compared::Null,
            (Self::At(value), op) => Compared::With(op, value),
            (Self::After(value), Lt | LtEq) => Compared::With(LtEq, value),
            (Self::After(value), Gt | GtEq) => Compared::With(Gt, value),
            (Self::After(_) | Self::BelowAll | Self::AboveAll, NotEq)
            | (Self::BelowAll, Gt | GtEq)
            | (Self::AboveAll, Lt | LtEq) => Compared::Always,
            (Self::After(_) | Self::BelowAll | Self::AboveAll, _) => Compared::Never,
        }
    }
}

impl BoundColumn {
    /// Finds the position of a literal among the values of the column; `InvalidArgument` if it has none.
    pub(crate) fn place(&self, literal: &Literal) -> Result<Place> {
        place(literal, self.data_type, format_args!("the column `{}`", self.name))
    }
}

/// Finds the position of a literal among the values of a type. Returns `InvalidArgument` with `subject`, which is
/// compared with the literal, if it has none.
pub(crate) fn place(literal: &Literal, data_type: ScalarType, subject: impl Display + Copy) -> Result<Place> {
    if let Literal::Typed(scalar) = literal {
        if scalar.scalar_type() == data_type {
            return Ok(Place::At(scalar.clone()));
        }
        return place(&untyped(scalar), data_type, subject);
    }
    if *literal == Literal::Null || data_type == ScalarType::Null {
        return Ok(Place::Null);
    }
    let found = match data_type {
        ScalarType::Null => Some(Place::Null),
        ScalarType::Boolean => boolean(literal),
        ScalarType::Int8 => integer(literal, |value| value.try_into().ok().map(Scalar::Int8)),
        ScalarType::Int16 => integer(literal, |value| value.try_into().ok().map(Scalar::Int16)),
        ScalarType::Int32 => integer(literal, |value| value.try_into().ok().map(Scalar::Int32)),
        ScalarType::Int64 => integer(literal, |value| value.try_into().ok().map(Scalar::Int64)),
        ScalarType::Decimal { precision, scale } => decimal(literal, precision, scale),
        ScalarType::Float32 => double(literal).map(single),
        ScalarType::Float64 => double(literal).map(|value| Place::At(Scalar::Float64(value))),
        ScalarType::Date => moment(literal, data_type, subject)?.map(|moment| {
            let days = i32::try_from(moment.nanos.div_euclid(DAY_NANOS)).ok().map(Scalar::Date);
            at_or_after(days, moment.nanos.rem_euclid(DAY_NANOS) == 0, moment.nanos < 0)
        }),
        ScalarType::Time => time(literal),
        ScalarType::Timestamp { unit, utc } => moment(literal, data_type, subject)?.map(|moment| {
            let (value, rest) = (moment.nanos.div_euclid(unit_nanos(unit)), moment.nanos.rem_euclid(unit_nanos(unit)));
            let value = i64::try_from(value).ok().map(|value| Scalar::Timestamp { value, unit, utc });
            at_or_after(value, rest == 0, moment.nanos < 0)
        }),
        ScalarType::String => match literal {
            Literal::String(text) => Some(Place::At(Scalar::String(text.clone()))),
            _ => None,
        },
        ScalarType::Uuid => uuid(literal),
        ScalarType::Fixed(length) => match literal {
            Literal::Binary(bytes) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                Some(fixed(bytes, length, |bytes| Some(Scalar::Fixed(bytes))))
            }
            _ => None,
        },
        ScalarType::Binary => match literal {
            Literal::Binary(bytes) => Some(Place::At(Scalar::Binary(bytes.clone()))),
            _ => None,
        },
    };
    found.ok_or_else(|| mismatch(literal, data_type, subject))
}

/// Returns the error for a literal without a position among the values of a type.
fn mismatch(literal: &Literal, data_type: ScalarType, subject: impl Display) -> Error {
    let mut shown: String = literal.to_string();
    if let Some((end, _)) = shown.char_indices().nth(100) {
        shown.truncate(end);
        shown.push_str("...");
    }
    let error = Error::invalid(format!("{subject} of type {data_type} cannot be compared with {shown}"));
    error.hint(match data_type {
        ScalarType::Boolean => "write true or false",
        ScalarType::Date => "write '2024-01-31', years beyond 9999 with a sign",
        ScalarType::Time => "write '23:59:59.999999'",
        ScalarType::Timestamp { .. } => "write '2024-01-31T23:59:59.999999', with at most nine fractional digits",
        ScalarType::String => "write a string in single quotes",
        ScalarType::Uuid => "write 'f79c3e09-677c-4bbd-a479-3f349cb785e7'",
        ScalarType::Fixed(_) | ScalarType::Binary => "write binary values as X'00ff'",
        _ => "write a number",
    })
}

/// Returns a typed scalar as the equivalent literal, for columns of another type.
fn untyped(scalar: &Scalar) -> Literal {
    match scalar {
        Scalar::Boolean(value) => Literal::Boolean(*value),
        // 1074 fractional digits represent every double exactly.
        Scalar::Float32(value) => Literal::Number(format!("{:.1074}", f64::from(*value))),
        Scalar::Float64(value) => Literal::Number(format!("{value:.1074}")),
        Scalar::Int8(_) | Scalar::Int16(_) | Scalar::Int32(_) | Scalar::Int64(_) | Scalar::Decimal { .. } => {
            Literal::Number(scalar.to_string())
        }
        Scalar::Date(_) => Literal::Date(scalar.plain().to_string()),
        Scalar::Time(_) => Literal::Time(scalar.plain().to_string()),
        Scalar::Timestamp { .. } => Literal::Timestamp(scalar.plain().to_string()),
        Scalar::String(text) => Literal::String(text.clone()),
        Scalar::Uuid(bytes) => Literal::Binary(bytes.to_vec()),
        Scalar::Fixed(bytes) | Scalar::Binary(bytes) => Literal::Binary(bytes.clone()),
    }
}

/// Returns the position at `value`, or after it if the literal is not `exact`. None is a value beyond the range of the
/// type: below all values if it is negative, otherwise above all values.
fn at_or_after(value: Option<Scalar>, exact: bool, negative: bool) -> Place {
    match value {
        Some(value) if exact => Place::At(value),
        Some(value) => Place::After(value),
        None if negative => Place::BelowAll,
        None => Place::AboveAll,
    }
}

fn boolean(literal: &Literal) -> Option<Place> {
    let value = match literal {
        Literal::Boolean(value) => *value,
        Literal::String(text) if text.trim().eq_ignore_ascii_case("true") => true,
        Literal::String(text) if text.trim().eq_ignore_ascii_case("false") => false,
        _ => return None,
    };
    Some(Place::At(Scalar::Boolean(value)))
}

fn number(literal: &Literal) -> Option<Number> {
    match literal {
        Literal::Number(text) | Literal::String(text) => Number::parse(text),
        _ => None,
    }
}

fn integer(literal: &Literal, narrow: impl Fn(i128) -> Option<Scalar>) -> Option<Place> {
    Some(match number(literal)?.floor(0) {
        Floor::Below => Place::BelowAll,
        Floor::Above => Place::AboveAll,
        Floor::At(value, exact) => at_or_after(narrow(value), exact, value < 0),
    })
}

fn decimal(literal: &Literal, precision: u8, scale: i8) -> Option<Place> {
    let limit = 10_i128.checked_pow(u32::from(precision))?;
    Some(match number(literal)?.floor(scale) {
        Floor::Below => Place::BelowAll,
        Floor::Above => Place::AboveAll,
        Floor::At(unscaled, exact) => {
            let fits = unscaled > -limit && unscaled < limit;
            at_or_after(fits.then_some(Scalar::Decimal { unscaled, precision, scale }), exact, unscaled < 0)
        }
    })
}

/// Returns the nearest double, which is how SQL interprets a number that is compared with a float or a double.
fn double(literal: &Literal) -> Option<f64> {
    Some(match number(literal)? {
        Number::NegativeInfinity => f64::NEG_INFINITY,
        Number::Infinity => f64::INFINITY,
        Number::Nan => f64::NAN,
        Number::Finite { .. } => match literal {
            Literal::Number(text) | Literal::String(text) => text.trim().parse().ok()?,
            _ => return None,
        },
    })
}

/// Returns the position of a double among single-precision values.
fn single(value: f64) -> Place {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounding to the nearest single is intended; its error is corrected below"
    )]
    let nearest = value as f32;
    match f64::from(nearest).partial_cmp(&value) {
        None | Some(Ordering::Equal) => Place::At(Scalar::Float32(nearest)), // None is NaN
        Some(Ordering::Less) => Place::After(Scalar::Float32(nearest)),
        Some(Ordering::Greater) => Place::After(Scalar::Float32(nearest.next_down())),
    }
}

/// Returns a date or a timestamp. A literal with a zone is rejected for a type without one, because the comparison is
/// undefined.
fn moment(literal: &Literal, data_type: ScalarType, subject: impl Display) -> Result<Option<Moment>> {
    let found = match literal {
        Literal::String(text) | Literal::Timestamp(text) => civil::parse_timestamp(text),
        Literal::Date(text) => {
            civil::parse_date(text).map(|days| Moment { nanos: i128::from(days) * DAY_NANOS, zoned: false })
        }
        _ => None,
    };
    let zoned = found.is_some_and(|moment| moment.zoned);
    if zoned && !matches!(data_type, ScalarType::Timestamp { utc: true, .. }) {
        let message = format!("{subject} of type {data_type} has no time zone, but {literal} has one");
        return Err(Error::invalid(message).hint("omit the zone"));
    }
    Ok(found)
}

fn time(literal: &Literal) -> Option<Place> {
    let nanos = match literal {
        Literal::String(text) | Literal::Time(text) => civil::parse_time(text)?,
        _ => return None,
    };
    Some(at_or_after(Some(Scalar::Time(nanos.div_euclid(1000))), nanos.rem_euclid(1000) == 0, false))
}

fn uuid(literal: &Literal) -> Option<Place> {
    let scalar = |bytes: Vec<u8>| bytes.try_into().ok().map(Scalar::Uuid);
    match literal {
        Literal::Binary(bytes) => Some(fixed(bytes, 16, scalar)),
        Literal::String(text) => {
            let text = text.trim().as_bytes();
            let hyphens = [8, 13, 18, 23];
            let (mut digits, mut value) = (0, 0_u128);
            for (index, byte) in text.iter().enumerate() {
                if text.len() == 36 && hyphens.contains(&index) {
                    if *byte != b'-' {
                        return None;
                    }
                    continue;
                }
                digits += 1;
                value = value.checked_mul(16)? + u128::from(char::from(*byte).to_digit(16)?);
            }
            (digits == 32).then_some(Place::At(Scalar::Uuid(value.to_be_bytes())))
        }
        _ => None,
    }
}

/// Returns the position of bytes of any length among values of a fixed length. Longer bytes come directly after their
/// first `length` bytes. Shorter bytes come directly before the value that is padded with zeros.
fn fixed(bytes: &[u8], length: usize, scalar: impl Fn(Vec<u8>) -> Option<Scalar>) -> Place {
    if let Some(head) = bytes.get(..length) {
        return at_or_after(scalar(head.to_vec()), bytes.len() == length, false);
    }
    let mut before = bytes.to_vec();
    // The previous value in big-endian order: the last non-zero byte is decremented, and all following bytes become
    // 0xff.
    while before.pop_if(|byte| *byte == 0).is_some() {}
    match before.last_mut() {
        None => Place::BelowAll,
        Some(last) => {
            *last -= 1;
            before.resize(length, 0xff);
            at_or_after(scalar(before), false, false)
        }
    }
}

#[cfg(test)]
#[path = "literal_tests.rs"]
mod tests;
