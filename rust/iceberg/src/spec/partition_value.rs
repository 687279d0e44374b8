//! Converts partition values in manifests to typed values (spec: "Manifest Entry Fields", `partition`).
//!
//! A manifest's Avro schema is that of the time when the manifest was written. Logical types may be missing, columns
//! may since have been promoted, and a `void` field keeps the earlier type of its column.

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use frazil_core::error::{Error, Result};
use frazil_core::scalar::{Scalar, decimal_text};

use super::transform::Transform;

/// Converts recorded values to the Arrow type of their partition field.
///
/// # Errors
/// `Corrupt` for values that are invalid for the type.
pub(crate) fn typed(array: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    if array.data_type() == target {
        return Ok(array.clone());
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let steps: &[DataType] = match (array.data_type(), target) {
        // A date or timestamp without a logical type is a plain integer.
        (DataType::Int32, DataType::Timestamp(..))
        | (DataType::Timestamp(TimeUnit::Microsecond, Some(_)), DataType::Timestamp(_, None)) => &[DataType::Int64],
        (DataType::Date32, DataType::Int64) => &[DataType::Int32],
        (_, DataType::Null) => return Ok(new_null_array(target, array.len())),
        _ => &[],
    };
    let mut array = array.clone();
    for step in steps.iter().chain([target]) {
        array = cast_with_options(&array, step, &options).map_err(|e| {
            Error::corrupt(format!("a partition value of type {} cannot be read as {target}", array.data_type()))
                .caused_by(e)
        })?;
    }
    Ok(array)
}

/// Returns a value as Java prints it in folder names and metadata tables: `2024-02` for a month, `2024-02-29-23` for an
/// hour, Base64 for bytes.
pub(crate) fn human_text(transform: &Transform, value: &Scalar) -> String {
    match (transform, value) {
        (Transform::Year, Scalar::Int32(years)) => format!("{:04}", 1970 + i64::from(*years)),
        (Transform::Month, Scalar::Int32(months)) => {
            let months = i64::from(*months);
            format!("{:04}-{:02}", 1970 + months.div_euclid(12), months.rem_euclid(12) + 1)
        }
        (Transform::Hour, Scalar::Int32(hours)) => {
            format!("{}-{:02}", Scalar::Date(hours.div_euclid(24)).plain(), hours.rem_euclid(24))
        }
        (_, Scalar::Timestamp { .. }) => value.plain().to_string().replace(' ', "T").replace('Z', "+00:00"),
        (_, Scalar::Time(micros)) => time_text(*micros),
        (_, Scalar::Float32(number)) => {
            float_text(f64::from(number.abs()), &format!("{number:?}"), &format!("{number:E}"))
        }
        (_, Scalar::Float64(number)) => float_text(number.abs(), &format!("{number:?}"), &format!("{number:E}")),
        (_, Scalar::Decimal { unscaled, scale, .. }) => big_decimal_text(*unscaled, *scale),
        (_, Scalar::Binary(bytes) | Scalar::Fixed(bytes)) => BASE64_STANDARD.encode(bytes),
        _ => value.plain().to_string(),
    }
}

/// Returns a decimal as Java's `BigDecimal.toString` prints it: with an exponent if more than six zeros follow the
/// decimal point before the first other digit.
fn big_decimal_text(unscaled: i128, scale: i8) -> String {
    let digits = unscaled.unsigned_abs().to_string();
    let exponent = i64::try_from(digits.len()).unwrap_or(i64::MAX) - 1 - i64::from(scale);
    if scale >= 0 && exponent >= -6 {
        return decimal_text(unscaled, scale);
    }
    let sign = if unscaled < 0 { "-" } else { "" };
    let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}E{exponent:+}")
}

/// Returns a time without seconds if they are 0, and with three or six fractional digits if needed.
fn time_text(micros: i64) -> String {
    let (seconds, fraction) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (seconds, fraction) {
        (0, 0) => format!("{hours:02}:{minutes:02}"),
        (_, 0) => format!("{hours:02}:{minutes:02}:{seconds:02}"),
        _ if fraction % 1_000 == 0 => format!("{hours:02}:{minutes:02}:{seconds:02}.{:03}", fraction / 1_000),
        _ => format!("{hours:02}:{minutes:02}:{seconds:02}.{fraction:06}"),
    }
}

/// Returns a number of this magnitude, with an exponent if it is less than 0.001 or at least 10,000,000.
fn float_text(size: f64, plain: &str, scientific: &str) -> String {
    if size.is_infinite() {
        return plain.replace("inf", "Infinity");
    }
    if size == 0.0 || size.is_nan() || (1e-3..1e7).contains(&size) {
        return plain.to_string();
    }
    match scientific.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => scientific.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_printed_as_java_does() {
        let decimal = |unscaled, scale| Scalar::Decimal { unscaled, precision: 38, scale };
        let utc = |value, utc| Scalar::Timestamp { value, unit: TimeUnit::Microsecond, utc };
        for (value, text) in [
            (Scalar::Float64(f64::NEG_INFINITY), "-Infinity"),
            (Scalar::Float64(f64::NAN), "NaN"),
            (Scalar::Float64(-0.0), "-0.0"),
            (Scalar::Float64(1e7), "1.0E7"),
            (Scalar::Float64(1.25e-5), "1.25E-5"),
            (Scalar::Float32(0.1), "0.1"),
            (Scalar::Float32(3.4e38), "3.4E38"),
            (decimal(-1, 10), "-1E-10"),
            (decimal(-123, 10), "-1.23E-8"),
            (decimal(0, 10), "0E-10"),
            (decimal(0, 6), "0.000000"),
            (decimal(1, 6), "0.000001"),
            (decimal(10, 7), "0.0000010"),
            (decimal(1, 7), "1E-7"),
            (decimal(-1_234, 2), "-12.34"),
            (decimal(5, 0), "5"),
            (Scalar::Time(0), "00:00"),
            (Scalar::Time(61_500_000), "00:01:01.500"),
            (Scalar::Time(81_068_000_001), "22:31:08.000001"),
            (utc(-1, false), "1969-12-31T23:59:59.999999"),
            (utc(0, true), "1970-01-01T00:00:00+00:00"),
            (Scalar::Binary(vec![0xff]), "/w=="),
            (Scalar::String("a b".into()), "a b"),
        ] {
            assert_eq!(human_text(&Transform::Identity, &value), text, "{value:?}");
        }
    }
}
