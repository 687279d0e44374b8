//! Prints scalars as SQL literals, and scalar types by their SQL names.

use std::fmt;

use arrow_schema::TimeUnit;

use super::{Scalar, ScalarType, civil, unit_nanos};
use crate::hex;

impl fmt::Display for Scalar {
    /// Writes a literal that parses to this value for a column of this type.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Int8(value) => write!(f, "{value}"),
            Self::Int16(value) => write!(f, "{value}"),
            Self::Int32(value) => write!(f, "{value}"),
            Self::Int64(value) => write!(f, "{value}"),
            Self::Float32(value) if value.is_nan() => f.write_str("nan"),
            Self::Float64(value) if value.is_nan() => f.write_str("nan"),
            // Converted to a double, because literals are compared as doubles: the shortest text of a single would
            // parse to another value.
            Self::Float32(value) => write!(f, "{:?}", f64::from(*value)),
            Self::Float64(value) => write!(f, "{value:?}"),
            Self::Decimal { unscaled, scale, .. } => write_decimal(f, *unscaled, *scale),
            Self::Date(_) => write!(f, "DATE '{}'", self.plain()),
            Self::Time(_) => write!(f, "TIME '{}'", self.plain()),
            Self::Timestamp { .. } => write!(f, "TIMESTAMP '{}'", self.plain()),
            Self::String(text) => write_text(f, text),
            Self::Uuid(_) => write!(f, "'{}'", self.plain()),
            Self::Fixed(bytes) | Self::Binary(bytes) => write_bytes(f, bytes),
        }
    }
}

impl Scalar {
    /// Returns the value without the quotes and the type prefix of its literal, which is the result of a cast to
    /// string.
    pub fn plain(&self) -> impl fmt::Display + '_ {
        Plain(self)
    }
}

struct Plain<'a>(&'a Scalar);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Scalar::Date(days) => civil::write_date(f, i64::from(*days)),
            Scalar::Time(micros) => civil::write_time(f, i128::from(*micros) * unit_nanos(TimeUnit::Microsecond)),
            Scalar::Timestamp { value, unit, utc } => {
                civil::write_timestamp(f, i128::from(*value) * unit_nanos(*unit))?;
                f.write_str(if *utc { "Z" } else { "" })
            }
            Scalar::String(text) => f.write_str(text),
            Scalar::Uuid(bytes) => f.write_str(&hex::uuid(*bytes)),
            Scalar::Fixed(bytes) | Scalar::Binary(bytes) => f.write_str(&hex::encode(bytes)),
            number => fmt::Display::fmt(number, f),
        }
    }
}

impl fmt::Display for ScalarType {
    /// Writes the SQL name, for messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Int8 => "tinyint",
            Self::Int16 => "smallint",
            Self::Int32 => "int",
            Self::Int64 => "bigint",
            Self::Float32 => "float",
            Self::Float64 => "double",
            Self::Decimal { precision, scale } => return write!(f, "decimal({precision}, {scale})"),
            Self::Date => "date",
            Self::Time => "time",
            Self::Timestamp { unit, utc } => {
                let digits = match unit {
                    TimeUnit::Second => 0,
                    TimeUnit::Millisecond => 3,
                    TimeUnit::Microsecond => 6,
                    TimeUnit::Nanosecond => 9,
                };
                let zone = if *utc { " with time zone" } else { "" };
                return write!(f, "timestamp({digits}){zone}");
            }
            Self::String => "string",
            Self::Uuid => "uuid",
            Self::Fixed(length) => return write!(f, "fixed({length})"),
            Self::Binary => "binary",
        })
    }
}

/// Writes `'text'` with its quotes doubled.
pub(crate) fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    write!(f, "'{}'", text.replace('\'', "''"))
}

/// Writes `X'00ff'`.
pub(crate) fn write_bytes(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_str("X'")?;
    for byte in bytes {
        write!(f, "{byte:02x}")?;
    }
    f.write_str("'")
}

/// Writes a decimal number with all digits of its scale; with an exponent if the scale is negative.
///
/// # Errors
/// The errors of `out`.
pub fn write_decimal(out: &mut impl fmt::Write, unscaled: i128, scale: i8) -> fmt::Result {
    if scale < 0 {
        return write!(out, "{unscaled}e{}", scale.unsigned_abs());
    }
    let places = usize::from(scale.unsigned_abs());
    let sign = if unscaled < 0 { "-" } else { "" };
    // There is at least one digit before the point.
    let digits = format!("{:0width$}", unscaled.unsigned_abs(), width = places + 1);
    match digits.split_at_checked(digits.len() - places) {
        Some((whole, fraction)) if places > 0 => write!(out, "{sign}{whole}.{fraction}"),
        _ => write!(out, "{sign}{digits}"),
    }
}

/// Returns the text that [`write_decimal`] writes.
pub fn decimal_text(unscaled: i128, scale: i8) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_decimal(&mut text, unscaled, scale);
    text
}
