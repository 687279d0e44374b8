//! `truncate[W]` (spec: "Partition Transforms"): rounds integers down to a multiple of W, decimals by their unscaled
//! value, and cuts strings to W code points and binary values to W bytes.
//!
//! Below the smallest multiple of W that a 32- or 64-bit type can hold, the result wraps to a very large positive
//! number, as in the reference implementation; [`super::project`] takes this into account. Decimals do not wrap: a
//! result with too many digits is an error.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, Decimal128Array, StringArray};
use frazil_core::error::{Error, Result};
use frazil_core::scalar::Scalar;

use crate::spec::types::PrimitiveType;

/// Truncates an array with the Arrow type of `source`, which [`takes`] must have accepted.
pub(super) fn apply(array: &dyn Array, source: &PrimitiveType, width: u32) -> Result<ArrayRef> {
    Ok(match source {
        PrimitiveType::Int => {
            Arc::new(array.as_primitive::<Int32Type>().unary::<_, Int32Type>(|value| int(value, width)))
        }
        PrimitiveType::Long => {
            Arc::new(array.as_primitive::<Int64Type>().unary::<_, Int64Type>(|value| long(value, width)))
        }
        PrimitiveType::Decimal { precision, .. } => Arc::new(decimals(array.as_primitive(), *precision, width)?),
        PrimitiveType::String => Arc::new(strings(array.as_string(), width)),
        _ => Arc::new(binaries(array.as_binary(), width)),
    })
}

/// Truncates one value; None if its type cannot be truncated.
pub(super) fn apply_scalar(value: &Scalar, width: u32) -> Result<Option<Scalar>> {
    Ok(Some(match value {
        Scalar::Int32(value) => Scalar::Int32(int(*value, width)),
        Scalar::Int64(value) => Scalar::Int64(long(*value, width)),
        Scalar::Decimal { unscaled, precision, scale } => {
            let truncated = floor(*unscaled, width);
            if !fits(truncated, *precision) {
                return Err(too_long(*unscaled, *precision, width));
            }
            Scalar::Decimal { unscaled: truncated, precision: *precision, scale: *scale }
        }
        Scalar::String(text) => Scalar::String(text_prefix(text, width).to_owned()),
        Scalar::Binary(bytes) => Scalar::Binary(bytes_prefix(bytes, width).to_owned()),
        _ => return Ok(None),
    }))
}

/// Returns whether values of `source` can be truncated.
pub(super) fn takes(source: &PrimitiveType) -> bool {
    matches!(
        source,
        PrimitiveType::Int
            | PrimitiveType::Long
            | PrimitiveType::Decimal { .. }
            | PrimitiveType::String
            | PrimitiveType::Binary
    )
}

/// Returns the multiple of `width` at or below `value`, without wrapping.
#[inline]
pub(super) fn floor(value: i128, width: u32) -> i128 {
    match i64::try_from(value) {
        // 64-bit division is several times faster, and most decimals fit.
        Ok(value) => i128::from(value) - i128::from(value.rem_euclid(i64::from(width))),
        Err(_) => value.saturating_sub(value.rem_euclid(i128::from(width))),
    }
}

/// Returns whether an unscaled value has at most `precision` digits.
pub(super) fn fits(unscaled: i128, precision: u8) -> bool {
    10_u128.checked_pow(u32::from(precision)).is_none_or(|limit| unscaled.unsigned_abs() < limit)
}

/// Returns the first `width` code points.
#[inline]
pub(super) fn text_prefix(text: &str, width: u32) -> &str {
    let width = usize::try_from(width).unwrap_or(usize::MAX);
    if text.len() <= width {
        return text;
    }
    let ascii = text.as_bytes().get(..width).is_some_and(<[u8]>::is_ascii);
    let end = if ascii { width } else { text.char_indices().nth(width).map_or(text.len(), |(at, _)| at) };
    text.get(..end).unwrap_or(text)
}

/// Returns the first `width` bytes.
#[inline]
pub(super) fn bytes_prefix(bytes: &[u8], width: u32) -> &[u8] {
    usize::try_from(width).ok().and_then(|width| bytes.get(..width)).unwrap_or(bytes)
}

#[inline]
fn int(value: i32, width: u32) -> i32 {
    let value = i64::from(value);
    #[expect(clippy::cast_possible_truncation, reason = "wraps below the smallest multiple, as specified")]
    let truncated = (value - value.rem_euclid(i64::from(width))) as i32;
    truncated
}

#[inline]
fn long(value: i64, width: u32) -> i64 {
    value.wrapping_sub(value.rem_euclid(i64::from(width)))
}

fn decimals(array: &Decimal128Array, precision: u8, width: u32) -> Result<Decimal128Array> {
    let truncated = array.unary::<_, Decimal128Type>(|value| floor(value, width));
    // The contents of NULL slots are arbitrary, so values are checked one by one only if any of them does not fit.
    if !truncated.values().iter().all(|value| fits(*value, precision))
        && let Some(value) = array.iter().flatten().find(|value| !fits(floor(*value, width), precision))
    {
        return Err(too_long(value, precision, width));
    }
    Ok(truncated.with_data_type(array.data_type().clone()))
}

fn strings(array: &StringArray, width: u32) -> StringArray {
    let mut truncated = StringBuilder::with_capacity(array.len(), array.value_data().len());
    array.iter().for_each(|text| truncated.append_option(text.map(|text| text_prefix(text, width))));
    truncated.finish()
}

fn binaries(array: &BinaryArray, width: u32) -> BinaryArray {
    let mut truncated = BinaryBuilder::with_capacity(array.len(), array.value_data().len());
    array.iter().for_each(|bytes| truncated.append_option(bytes.map(|bytes| bytes_prefix(bytes, width))));
    truncated.finish()
}

#[cold]
fn too_long(unscaled: i128, precision: u8, width: u32) -> Error {
    Error::invalid(format!("truncate[{width}] of the unscaled decimal {unscaled} has more than {precision} digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncation_rounds_down_to_a_multiple_and_wraps_on_underflow() {
        for (value, width, expected) in [(1, 10, 0), (0, 10, 0), (-1, 10, -10), (-10, 10, -10), (-11, 10, -20)] {
            assert_eq!(int(value, width), expected);
            assert_eq!(long(i64::from(value), width), i64::from(expected));
            assert_eq!(floor(i128::from(value), width), i128::from(expected));
        }
        assert_eq!(int(i32::MIN, 10), 2_147_483_646);
        assert_eq!(int(i32::MIN + 7, 10), 2_147_483_646);
        assert_eq!(int(i32::MIN + 8, 10), i32::MIN + 8);
        assert_eq!(int(i32::MIN, 16), i32::MIN);
        assert_eq!(long(i64::MIN, 10), i64::MIN.wrapping_sub(2));
        assert_eq!(int(-5, u32::MAX), 1);
    }

    #[test]
    fn decimals_are_truncated_by_their_unscaled_value_and_never_grow() {
        let decimal = |unscaled| Scalar::Decimal { unscaled, precision: 4, scale: 2 };
        for (value, width, expected) in [(1234, 10, 1230), (-5, 10, -10), (1065, 50, 1050), (9999, 10, 9990)] {
            assert_eq!(apply_scalar(&decimal(value), width).unwrap(), Some(decimal(expected)));
        }
        let error = apply_scalar(&decimal(-9999), 10).unwrap_err().to_string();
        assert_eq!(error, "truncate[10] of the unscaled decimal -9999 has more than 4 digits");
        let array = |values: Vec<Option<i128>>| Decimal128Array::from(values).with_precision_and_scale(4, 2).unwrap();
        assert_eq!(decimals(&array(vec![Some(1234), None]), 4, 10).unwrap(), array(vec![Some(1230), None]));
        assert!(decimals(&array(vec![None, Some(-9999)]), 4, 10).is_err());
        assert_eq!(floor(i128::MIN, 10), i128::MIN);
    }

    #[test]
    fn text_is_cut_between_code_points_and_bytes_anywhere() {
        for (text, width, expected) in [
            ("iceberg", 3, "ice"),
            ("ice", 3, "ice"),
            ("", 3, ""),
            ("\u{30a4}\u{30ed}\u{30cf}", 2, "\u{30a4}\u{30ed}"),
            ("\u{1f4b0}a\u{1f4b0}", 2, "\u{1f4b0}a"),
            ("a\u{1f4b0}b", 2, "a\u{1f4b0}"),
            ("e\u{301}x", 1, "e"),
        ] {
            assert_eq!(text_prefix(text, width), expected);
            assert_eq!(strings(&StringArray::from(vec![Some(text), None]), width), vec![Some(expected), None].into());
        }
        assert_eq!(bytes_prefix(&[1, 2, 3], 2), [1, 2]);
        assert_eq!(bytes_prefix(&[1], 2), [1]);
    }
}
