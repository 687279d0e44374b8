//! Converts values to types that cannot represent all of them, value by value.
//!
//! | Column | Value |
//! |---|---|
//! | integer | integers in its range; floats and decimals that are integers in its range |
//! | float | floats, rounded to the nearest float, except beyond its range and close to 0; exact integers and decimals |
//! | double | floats; exact integers and decimals |
//! | decimal | integers, floats and decimals that need no further digit |
//! | date | timestamps without zone, at midnight |
//! | fixed | binary values of its length |

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_ord::cmp::distinct;
use arrow_schema::{DataType, TimeUnit};

use super::widens;
use crate::error::{Error, Result};

/// The numbers of bits in the significand of a float and a double, and of the fraction that a double stores.
const FLOAT_DIGITS: u32 = 24;
const DOUBLE_DIGITS: u32 = 53;
const FRACTION_BITS: u32 = 52;
/// The exponent of the smallest subnormal double, 2^-1074.
const SMALLEST_EXPONENT: i32 = -1074;

const SECONDS_OF_DAY: i64 = 86_400;

const NON_STRICT: CastOptions<'_> =
    CastOptions { safe: true, format_options: arrow_cast::display::FormatOptions::new() };

/// Returns whether some values of one Arrow type can be values of another.
pub(super) fn is_convertible(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    widens(from, to)
        || (from.is_numeric() && to.is_numeric())
        || match to {
            D::Date32 => matches!(from, D::Date64 | D::Timestamp(_, None)),
            D::FixedSizeBinary(_) => matches!(from, D::Binary | D::LargeBinary | D::BinaryView),
            _ => false,
        }
}

/// Converts values to `to`. A value that `to` cannot represent becomes NULL.
///
/// # Errors
/// `InvalidArgument` for types that cannot be converted.
pub(super) fn exact_or_null(values: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    use DataType as D;
    let from = values.data_type();
    if widens(from, to) {
        return cast(values, to);
    }
    match (from, to) {
        (D::Timestamp(..) | D::Date64, D::Date32) => days(values),
        (D::LargeBinary | D::BinaryView, _) => cast(&cast(values, &D::Binary)?, to),
        (D::Float16 | D::Float32 | D::Float64, _) => from_floats(&cast(values, &D::Float64)?, to),
        (_, D::Float32) if from.is_decimal() => from_decimals(values, FLOAT_DIGITS, to),
        (_, D::Float64) if from.is_decimal() => from_decimals(values, DOUBLE_DIGITS, to),
        _ => returning(values, to),
    }
}

fn cast(values: &dyn Array, to: &DataType) -> Result<ArrayRef> {
    Ok(cast_with_options(values, to, &NON_STRICT)?)
}

/// Converts values, and removes those that differ after the way back.
fn returning(values: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let converted = cast(values, to)?;
    if !to.is_numeric() {
        return Ok(converted);
    }
    let back = cast(&converted, values.data_type())?;
    removed(&converted, &distinct(values, &back)?)
}

fn removed(values: &ArrayRef, which: &BooleanArray) -> Result<ArrayRef> {
    Ok(if which.has_true() { arrow_select::nullif::nullif(values, which)? } else { values.clone() })
}

/// Converts doubles to numbers.
fn from_floats(values: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let doubles = values.as_primitive_opt::<Float64Type>().ok_or_else(unexpected)?;
    match *to {
        DataType::Float32 => {
            let floats = cast(values, to)?;
            let rounded = floats.as_primitive_opt::<Float32Type>().ok_or_else(unexpected)?;
            let is_lost = |(value, rounded): (Option<f64>, Option<f32>)| {
                let (value, rounded) = value.zip(rounded)?;
                Some((value.is_finite() && rounded.is_infinite()) || (value != 0.0 && rounded == 0.0))
            };
            removed(&floats, &doubles.iter().zip(rounded).map(is_lost).collect())
        }
        DataType::Decimal128(precision, scale) => {
            let number = |value: f64| scaled(value, u32::try_from(scale).ok()?);
            let decimals = doubles.unary_opt::<_, Decimal128Type>(number);
            let decimals = decimals.with_data_type(DataType::Decimal128(38, scale));
            cast(&decimals, &DataType::Decimal128(precision, scale))
        }
        _ => cast(&doubles.unary_opt::<_, Float64Type>(|value| (value.fract() == 0.0).then_some(value)), to),
    }
}

/// Returns `value` × 10^`scale` if it is an integer of at most 38 digits.
fn scaled(value: f64, scale: u32) -> Option<i128> {
    if !value.is_finite() {
        return None;
    }
    let bits = value.to_bits();
    let exponent = i32::try_from((bits >> FRACTION_BITS) & 0x7ff).ok()?;
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let (significand, exponent) = match exponent {
        0 => (fraction, SMALLEST_EXPONENT),
        _ => (fraction | (1 << FRACTION_BITS), exponent - 1 + SMALLEST_EXPONENT),
    };
    if significand == 0 {
        return Some(0);
    }
    // The value is odd × 2^exponent.
    let zeros = significand.trailing_zeros();
    let (odd, exponent) = (i128::from(significand >> zeros), exponent + i32::try_from(zeros).ok()?);
    let power = exponent.unsigned_abs();
    let number = if exponent >= 0 {
        odd.checked_mul(2_i128.checked_pow(power)?)?.checked_mul(10_i128.checked_pow(scale)?)?
    } else {
        odd.checked_mul(5_i128.checked_pow(power)?)?.checked_mul(10_i128.checked_pow(scale.checked_sub(power)?)?)?
    };
    Some(if value.is_sign_negative() { -number } else { number })
}

/// Converts decimals to floats whose significand has this number of bits.
fn from_decimals(values: &ArrayRef, digits: u32, to: &DataType) -> Result<ArrayRef> {
    let (DataType::Decimal32(_, scale)
    | DataType::Decimal64(_, scale)
    | DataType::Decimal128(_, scale)
    | DataType::Decimal256(_, scale)) = *values.data_type()
    else {
        return Err(unexpected());
    };
    // A decimal of more than 38 digits is not exact in a double unless most of them are zeros.
    let decimals = cast(values, &DataType::Decimal128(38, scale))?;
    let decimals = decimals.as_primitive_opt::<Decimal128Type>().ok_or_else(unexpected)?;
    cast(&decimals.unary_opt::<_, Float64Type>(|value| float(value, scale, digits)), to)
}

/// Returns `value` / 10^`scale` if a float whose significand has `digits` bits represents it exactly.
fn float(mut value: i128, scale: i8, digits: u32) -> Option<f64> {
    let mut halvings = 0;
    for _ in 0..scale.max(0) {
        // A fraction in lowest terms is exact only if its denominator is a power of 2.
        if value % 5 != 0 {
            return None;
        }
        (value, halvings) = (value / 5, halvings + 1);
    }
    let value = value.checked_mul(10_i128.checked_pow(scale.min(0).unsigned_abs().into())?)?;
    let magnitude = value.unsigned_abs();
    if magnitude == 0 {
        return Some(0.0);
    }
    let odd = u64::try_from(magnitude >> magnitude.trailing_zeros()).ok().filter(|odd| odd.ilog2() < digits)?;
    let power = i32::try_from(magnitude.trailing_zeros()).ok()? - halvings;
    let high = f64::from(u32::try_from(odd >> 32).ok()?) * 4_294_967_296.0;
    let number = (high + f64::from(u32::try_from(odd & 0xffff_ffff).ok()?)) * 2_f64.powi(power);
    Some(if value < 0 { -number } else { number })
}

/// Converts timestamps at midnight to dates.
fn days(values: &ArrayRef) -> Result<ArrayRef> {
    let ticks = SECONDS_OF_DAY
        * match values.data_type() {
            DataType::Timestamp(TimeUnit::Second, _) => 1,
            DataType::Timestamp(TimeUnit::Millisecond, _) | DataType::Date64 => 1_000,
            DataType::Timestamp(TimeUnit::Microsecond, _) => 1_000_000,
            DataType::Timestamp(TimeUnit::Nanosecond, _) => 1_000_000_000,
            _ => return Err(unexpected()),
        };
    let integers = cast(values, &DataType::Int64)?;
    let integers = integers.as_primitive_opt::<Int64Type>().ok_or_else(unexpected)?;
    let day = |value: i64| (value % ticks == 0).then(|| i32::try_from(value / ticks).ok()).flatten();
    let days: Int32Array = integers.unary_opt(day);
    cast(&days, &DataType::Date32)
}

#[cold]
fn unexpected() -> Error {
    Error::internal("values do not have the type that was checked")
}

#[cfg(test)]
#[path = "exact_tests.rs"]
mod tests;
