//! Parses strings as Booleans and numbers.
//!
//! | To | String |
//! |---|---|
//! | BOOLEAN | `t`, `true`, `y`, `yes`, `1` and `f`, `false`, `n`, `no`, `0`, case-insensitive |
//! | integers | sign, digits, and digits after a point, which are dropped |
//! | FLOAT, DOUBLE | decimal with or without exponent, `NaN`, `Infinity`; surrounding spaces are allowed |
//! | DECIMAL | decimal with or without exponent; rounded half up, NULL if it has too many digits |
//!
//! No other spaces are allowed. Hexadecimal floats, which Java parses, are rejected.

use std::sync::Arc;

use arrow_array::builder::PrimitiveBuilder;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrowPrimitiveType, BooleanArray, PrimitiveArray, StringArray};
use frazil_core::error::Result;

use super::bytes::text;
use super::decimal::Digits;
use super::{CastRule, finish, rule_of, unparsable};
use crate::spec::types::TypeRoot;

pub(super) fn rule(from: &TypeRoot, to: &TypeRoot) -> Option<CastRule> {
    use TypeRoot as T;
    let (T::Char(_) | T::VarChar(_)) = from else { return None };
    match to {
        T::Boolean => rule_of(|array| {
            let values = text(array)?.iter().map(|value| value.map(truth).transpose());
            Ok(Arc::new(values.collect::<Result<BooleanArray>>()?))
        }),
        T::TinyInt => rule_of(|array| Ok(finish(integers::<Int8Type>(text(array)?, "TINYINT")?))),
        T::SmallInt => rule_of(|array| Ok(finish(integers::<Int16Type>(text(array)?, "SMALLINT")?))),
        T::Int => rule_of(|array| Ok(finish(integers::<Int32Type>(text(array)?, "INT")?))),
        T::BigInt => rule_of(|array| Ok(finish(integers::<Int64Type>(text(array)?, "BIGINT")?))),
        T::Float => rule_of(|array| Ok(finish(floats::<Float32Type>(text(array)?, "FLOAT")?))),
        T::Double => rule_of(|array| Ok(finish(floats::<Float64Type>(text(array)?, "DOUBLE")?))),
        T::Decimal(..) => {
            let digits = Digits::of(to)?;
            rule_of(move |array| {
                let mut scratch = Vec::new();
                digits.array(parse_all::<Decimal128Type>(text(array)?, |value| {
                    decimal(value, digits, &mut scratch).ok_or_else(|| unparsable(value, "DECIMAL"))
                })?)
            })
        }
        _ => None,
    }
}

/// Applies `parse` to every string that is not NULL.
pub(super) fn parse_all<T: ArrowPrimitiveType>(
    texts: &StringArray,
    mut parse: impl FnMut(&str) -> Result<Option<T::Native>>,
) -> Result<PrimitiveArray<T>> {
    let mut builder = PrimitiveBuilder::with_capacity(texts.len());
    for value in texts {
        builder.append_option(value.map(&mut parse).transpose()?.flatten());
    }
    Ok(builder.finish())
}

fn truth(text: &str) -> Result<bool> {
    let is = |word: &&str| text.eq_ignore_ascii_case(word);
    if ["t", "true", "y", "yes", "1"].iter().any(is) {
        return Ok(true);
    }
    if ["f", "false", "n", "no", "0"].iter().any(is) {
        return Ok(false);
    }
    Err(unparsable(text, "BOOLEAN"))
}

fn integers<T>(texts: &StringArray, name: &str) -> Result<PrimitiveArray<T>>
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i64>,
{
    parse_all(texts, |text| {
        let value = integer(text).and_then(|value| T::Native::try_from(value).ok());
        value.map(Some).ok_or_else(|| unparsable(text, name))
    })
}

/// Parses an integer; digits after a point are dropped.
pub(super) fn integer(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let (negative, digits) = signed(whole);
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let lone_sign = matches!(text, "" | "-" | "+");
    if lone_sign || !all_digits(digits) || !all_digits(fraction) {
        return None;
    }
    // The value accumulates as a negative number, because the smallest integer has no positive counterpart.
    let value =
        digits.bytes().try_fold(0_i64, |value, digit| value.checked_mul(10)?.checked_sub(i64::from(digit - b'0')))?;
    if negative { Some(value) } else { value.checked_neg() }
}

fn signed(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn floats<T>(texts: &StringArray, name: &str) -> Result<PrimitiveArray<T>>
where
    T: ArrowPrimitiveType,
    T::Native: std::str::FromStr + Copy,
{
    parse_all(texts, |text| {
        let value = float_text(text).and_then(|text| text.parse().ok());
        value.map(Some).ok_or_else(|| unparsable(text, name))
    })
}

/// Returns the string of a float in Rust's notation, which differs from Java's for NaN and infinities.
fn float_text(text: &str) -> Option<&str> {
    let text = text.trim_matches(|c: char| c <= ' ');
    match signed(text).1 {
        // Java ignores the sign of NaN.
        "NaN" => Some("NaN"),
        "Infinity" => Some(text),
        digits => {
            let digits = digits.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(digits);
            let is_decimal = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
            (is_decimal && !digits.starts_with(['+', '-']))
                .then(|| text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text))
        }
    }
}

/// Parses a decimal. The outer None means that the string is not a decimal, the inner None that it has too many digits.
#[expect(clippy::option_option, reason = "an invalid number and a NULL are different results")]
fn decimal(text: &str, target: Digits, scratch: &mut Vec<u8>) -> Option<Option<i128>> {
    let (negative, text) = signed(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        None => (text, 0),
        Some((mantissa, exponent)) => {
            let (below, digits) = signed(exponent);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            let size = i64::from(digits.parse::<i32>().ok()?);
            (mantissa, if below { -size } else { size })
        }
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    scratch.clear();
    scratch.extend(whole.bytes().chain(fraction.bytes()));
    if scratch.is_empty() || !scratch.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(target.number(negative, scratch, i64::try_from(whole.len()).ok()?.saturating_add(exponent)))
}
