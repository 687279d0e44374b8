//! Casts to and from DECIMAL: rounded half up, NULL if there are too many digits.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Int64Type};
use arrow_array::{ArrayRef, Decimal128Array, Float64Array};
use frazil_core::error::{Error, Result};

use super::number::{doubles, from_long, longs};
use super::{CastRule, finish, float, rule_of, try_map};
use crate::spec::types::TypeRoot;

/// The maximum precision of a decimal that Java keeps as a 64-bit number.
const COMPACT_DIGITS: u8 = 18;

pub(super) fn rule(from: &TypeRoot, to: &TypeRoot) -> Option<CastRule> {
    use TypeRoot as T;
    match (from, to) {
        (T::TinyInt | T::SmallInt | T::Int | T::BigInt | T::Boolean, T::Decimal(..)) => {
            let digits = Digits::of(to)?;
            rule_of(move |array| {
                let values = longs(array)?;
                digits.array(values.unary_opt(|value| digits.rescale(i128::from(value), 0)))
            })
        }
        (T::Float | T::Double, T::Decimal(..)) => {
            let digits = Digits::of(to)?;
            rule_of(move |array| from_doubles(&doubles(array)?, digits))
        }
        (T::Decimal(_, scale), T::Decimal(..)) => {
            let (digits, scale) = (Digits::of(to)?, *scale);
            rule_of(move |array| digits.array(unscaled(array)?.unary_opt(|value| digits.rescale(value, scale))))
        }
        (T::Decimal(precision, scale), T::Float | T::Double) => {
            let (compact, scale, single) = (*precision <= COMPACT_DIGITS, *scale, *to == T::Float);
            rule_of(move |array| to_floats(unscaled(array)?, compact, scale, single))
        }
        (T::Decimal(_, scale), T::TinyInt | T::SmallInt | T::Int | T::BigInt) => {
            let (narrow, divisor) = (from_long(to)?, power(*scale)?);
            rule_of(move |array| Ok(narrow(&unscaled(array)?.unary::<_, Int64Type>(|value| low_bits(value / divisor)))))
        }
        _ => None,
    }
}

/// The precision and scale of a decimal type.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digits {
    precision: u8,
    scale: u8,
    /// The smallest unscaled number with too many digits.
    limit: i128,
}

impl Digits {
    pub(super) fn of(to: &TypeRoot) -> Option<Self> {
        match to {
            TypeRoot::Decimal(precision, scale) => {
                Some(Self { precision: *precision, scale: *scale, limit: power(*precision)? })
            }
            _ => None,
        }
    }

    /// Returns unscaled values as an array of the type.
    pub(super) fn array(self, values: Decimal128Array) -> Result<ArrayRef> {
        Ok(finish(values.with_precision_and_scale(self.precision, self.scale.cast_signed())?))
    }

    /// Converts an unscaled value from another scale.
    fn rescale(self, value: i128, scale: u8) -> Option<i128> {
        let rescaled = if scale <= self.scale {
            value.checked_mul(power(self.scale - scale)?)?
        } else {
            let divisor = power(scale - self.scale)?;
            let (quotient, rest) = (value / divisor, value % divisor);
            if rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2) { quotient + value.signum() } else { quotient }
        };
        self.fits(rescaled)
    }

    fn fits(self, value: i128) -> Option<i128> {
        (value.unsigned_abs() < self.limit.unsigned_abs()).then_some(value)
    }

    /// Returns the number `0.digits * 10^exponent`, with ASCII digits, or None if it has too many digits.
    pub(super) fn number(self, negative: bool, digits: &[u8], exponent: i64) -> Option<i128> {
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        let digits = digits.get(zeros..).unwrap_or_default();
        if digits.is_empty() {
            return Some(0);
        }
        // The number of digits of the unscaled number, before rounding.
        let kept = exponent.saturating_sub(i64::try_from(zeros).ok()?).saturating_add(i64::from(self.scale));
        if kept > i64::from(self.precision) {
            return None;
        }
        let Ok(kept) = usize::try_from(kept) else { return Some(0) };
        let mut value: i128 = 0;
        for at in 0..kept {
            let digit = digits.get(at).map_or(0, |digit| i128::from(digit.wrapping_sub(b'0')));
            value = value.checked_mul(10)?.checked_add(digit)?;
        }
        if digits.get(kept).is_some_and(|digit| *digit >= b'5') {
            value += 1;
        }
        self.fits(if negative { -value } else { value })
    }
}

/// Returns a power of ten, or None above 10^38.
fn power(exponent: u8) -> Option<i128> {
    10_i128.checked_pow(u32::from(exponent))
}

pub(super) fn unscaled(array: &ArrayRef) -> Result<&Decimal128Array> {
    array.as_primitive_opt::<Decimal128Type>().ok_or_else(|| Error::internal("expected a decimal array"))
}

#[expect(clippy::cast_possible_truncation, reason = "Java keeps the low 64 bits")]
fn low_bits(value: i128) -> i64 {
    value as i64
}

/// Converts doubles by way of their decimal text, so that 0.1 is exactly 0.1.
fn from_doubles(values: &Float64Array, digits: Digits) -> Result<ArrayRef> {
    let mut text = String::new();
    let decimal = |value: f64| match float::shortest(value, &mut text) {
        Some((negative, exponent)) => Ok(digits.number(negative, text.as_bytes(), exponent + 1)),
        None => Err(Error::corrupt(format!("{value} is not a decimal"))),
    };
    digits.array(try_map(values, decimal)?)
}

fn to_floats(values: &Decimal128Array, compact: bool, scale: u8, single: bool) -> Result<ArrayRef> {
    let doubles: Float64Array = if compact {
        // Values of few digits are divided, which may round twice; values of many digits are rounded once.
        let divisor = (0..scale).fold(1.0, |power, _| power * 10.0);
        values.unary(|value| value as f64 / divisor)
    } else {
        let mut text = String::new();
        try_map(values, |value| Ok(Some(nearest(value, scale, &mut text))))?
    };
    if single { Ok(finish(doubles.unary::<_, Float32Type>(nearest_single))) } else { Ok(finish(doubles)) }
}

#[expect(clippy::cast_possible_truncation, reason = "Java rounds the double to the nearest float")]
fn nearest_single(value: f64) -> f32 {
    value as f32
}

fn nearest(value: i128, scale: u8, text: &mut String) -> f64 {
    use std::fmt::Write;
    text.clear();
    // Writing to a string does not fail, and the text is always a number.
    let _ = write!(text, "{value}e-{scale}");
    text.parse().unwrap_or(f64::NAN)
}
