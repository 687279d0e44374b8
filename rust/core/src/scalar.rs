//! Typed single values and their types, as used in predicates, bounds, partition tuples and defaults.
//!
//! Comparisons follow frazil's predicate semantics: NaN equals NaN and is greater than every other number, -0.0 equals
//! 0.0, strings and binary values compare as unsigned bytes, UUIDs as sixteen unsigned big-endian bytes.
//!
//! The `Display` form of a [`Scalar`] is an SQL literal that the predicate parser can parse.

mod array;
pub mod civil;
pub(crate) mod print;

pub use self::print::{decimal_text, write_decimal};

use std::cmp::Ordering;

use arrow_schema::{DataType, TimeUnit};

/// The types that a predicate can compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalarType {
    /// Only NULL.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A signed 8-bit integer.
    Int8,
    /// A signed 16-bit integer.
    Int16,
    /// A signed 32-bit integer.
    Int32,
    /// A signed 64-bit integer.
    Int64,
    /// An IEEE 754 single.
    Float32,
    /// An IEEE 754 double.
    Float64,
    /// An unscaled integer of at most 38 digits, and the position of its decimal point.
    Decimal {
        /// The total number of digits, 1 to 38.
        precision: u8,
        /// The number of digits after the point.
        scale: i8,
    },
    /// Days since 1970-01-01.
    Date,
    /// Microseconds since midnight.
    Time,
    /// Units since 1970-01-01T00:00:00.
    Timestamp {
        /// The unit of the stored integer.
        unit: TimeUnit,
        /// Whether it is an instant (UTC) rather than a local time.
        utc: bool,
    },
    /// A UTF-8 string.
    String,
    /// Sixteen bytes, big-endian.
    Uuid,
    /// Bytes of a fixed length.
    Fixed(u32),
    /// Bytes.
    Binary,
}

/// One non-null value of a [`ScalarType`].
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// See [`ScalarType::Boolean`].
    Boolean(bool),
    /// See [`ScalarType::Int8`].
    Int8(i8),
    /// See [`ScalarType::Int16`].
    Int16(i16),
    /// See [`ScalarType::Int32`].
    Int32(i32),
    /// See [`ScalarType::Int64`].
    Int64(i64),
    /// See [`ScalarType::Float32`].
    Float32(f32),
    /// See [`ScalarType::Float64`].
    Float64(f64),
    /// See [`ScalarType::Decimal`].
    Decimal {
        /// The unscaled integer.
        unscaled: i128,
        /// The total number of digits.
        precision: u8,
        /// The number of digits after the point.
        scale: i8,
    },
    /// See [`ScalarType::Date`].
    Date(i32),
    /// See [`ScalarType::Time`].
    Time(i64),
    /// See [`ScalarType::Timestamp`].
    Timestamp {
        /// The number of units since the epoch.
        value: i64,
        /// The unit.
        unit: TimeUnit,
        /// Whether it is an instant.
        utc: bool,
    },
    /// See [`ScalarType::String`].
    String(String),
    /// See [`ScalarType::Uuid`].
    Uuid([u8; 16]),
    /// See [`ScalarType::Fixed`].
    Fixed(Vec<u8>),
    /// See [`ScalarType::Binary`].
    Binary(Vec<u8>),
}

impl ScalarType {
    /// Returns the Arrow type that frazil uses for values of this type (UUID is `FixedSizeBinary(16)`).
    pub fn arrow(self) -> DataType {
        match self {
            Self::Null => DataType::Null,
            Self::Boolean => DataType::Boolean,
            Self::Int8 => DataType::Int8,
            Self::Int16 => DataType::Int16,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::Float32 => DataType::Float32,
            Self::Float64 => DataType::Float64,
            Self::Decimal { precision, scale } => DataType::Decimal128(precision, scale),
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            Self::Timestamp { unit, utc } => DataType::Timestamp(unit, utc.then(|| "UTC".into())),
            Self::String => DataType::Utf8,
            Self::Uuid => DataType::FixedSizeBinary(16),
            Self::Fixed(n) => DataType::FixedSizeBinary(i32::try_from(n).unwrap_or(i32::MAX)),
            Self::Binary => DataType::Binary,
        }
    }

    /// Returns whether NaN is a value of this type.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }
}

impl Scalar {
    /// Returns the type.
    pub fn scalar_type(&self) -> ScalarType {
        match self {
            Self::Boolean(_) => ScalarType::Boolean,
            Self::Int8(_) => ScalarType::Int8,
            Self::Int16(_) => ScalarType::Int16,
            Self::Int32(_) => ScalarType::Int32,
            Self::Int64(_) => ScalarType::Int64,
            Self::Float32(_) => ScalarType::Float32,
            Self::Float64(_) => ScalarType::Float64,
            Self::Decimal { precision, scale, .. } => ScalarType::Decimal { precision: *precision, scale: *scale },
            Self::Date(_) => ScalarType::Date,
            Self::Time(_) => ScalarType::Time,
            Self::Timestamp { unit, utc, .. } => ScalarType::Timestamp { unit: *unit, utc: *utc },
            Self::String(_) => ScalarType::String,
            Self::Uuid(_) => ScalarType::Uuid,
            Self::Fixed(bytes) => ScalarType::Fixed(u32::try_from(bytes.len()).unwrap_or(u32::MAX)),
            Self::Binary(_) => ScalarType::Binary,
        }
    }

    /// Returns whether this is NaN.
    pub fn is_nan(&self) -> bool {
        match self {
            Self::Float32(v) => v.is_nan(),
            Self::Float64(v) => v.is_nan(),
            _ => false,
        }
    }

    /// Returns the same value in a wider type, or None if values of this type are not promoted to `to`.
    ///
    /// Promotions are those of Iceberg columns: int to long, float to double, and decimals of the same scale to a
    /// greater precision. All are exact.
    pub fn promote(&self, to: ScalarType) -> Option<Self> {
        match (self, to) {
            (Self::Int32(value), ScalarType::Int64) => Some(Self::Int64(i64::from(*value))),
            (Self::Float32(value), ScalarType::Float64) => Some(Self::Float64(f64::from(*value))),
            (Self::Decimal { unscaled, precision: from, scale: old }, ScalarType::Decimal { precision, scale })
                if scale == *old && precision >= *from =>
            {
                Some(Self::Decimal { unscaled: *unscaled, precision, scale })
            }
            (value, to) => (value.scalar_type() == to).then(|| value.clone()),
        }
    }

    /// Compares two scalars of one kind with the semantics of this module; None if the kinds differ.
    ///
    /// Decimals compare by value, regardless of precision and scale; timestamps compare by the instant, regardless of
    /// unit. A timestamp with a zone cannot be compared with one without, nor a fixed value with a binary value.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Boolean(a), Self::Boolean(b)) => a.cmp(b),
            (Self::Int8(a), Self::Int8(b)) => a.cmp(b),
            (Self::Int16(a), Self::Int16(b)) => a.cmp(b),
            (Self::Int32(a), Self::Int32(b)) | (Self::Date(a), Self::Date(b)) => a.cmp(b),
            (Self::Int64(a), Self::Int64(b)) | (Self::Time(a), Self::Time(b)) => a.cmp(b),
            (Self::Float32(a), Self::Float32(b)) => float32_key(*a).cmp(&float32_key(*b)),
            (Self::Float64(a), Self::Float64(b)) => float64_key(*a).cmp(&float64_key(*b)),
            (Self::Decimal { unscaled: a, scale: a_scale, .. }, Self::Decimal { unscaled: b, scale: b_scale, .. }) => {
                compare_decimals((*a, *a_scale), (*b, *b_scale))
            }
            (
                Self::Timestamp { value: a, unit: a_unit, utc: a_utc },
                Self::Timestamp { value: b, unit: b_unit, utc: b_utc },
            ) if a_utc == b_utc => (i128::from(*a) * unit_nanos(*a_unit)).cmp(&(i128::from(*b) * unit_nanos(*b_unit))),
            (Self::String(a), Self::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Uuid(a), Self::Uuid(b)) => a.cmp(b),
            (Self::Fixed(a), Self::Fixed(b)) | (Self::Binary(a), Self::Binary(b)) => a.cmp(b),
            _ => return None,
        })
    }
}

/// Returns an integer with the same order as the float: NaN is the greatest and equal to itself, -0.0 equals 0.0.
pub(crate) fn float64_key(value: f64) -> i64 {
    if value.is_nan() {
        return i64::MAX;
    }
    let bits = (value + 0.0).to_bits().cast_signed(); // -0.0 + 0.0 is 0.0
    bits ^ ((bits >> 63) & i64::MAX)
}

/// Returns the same as [`float64_key`] for a single.
pub(crate) fn float32_key(value: f32) -> i32 {
    if value.is_nan() {
        return i32::MAX;
    }
    let bits = (value + 0.0).to_bits().cast_signed();
    bits ^ ((bits >> 31) & i32::MAX)
}

/// Returns the number of nanoseconds in a unit.
pub(crate) fn unit_nanos(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Compares `unscaled / 10^scale`. The number with the smaller scale is multiplied. If the product exceeds 128 bits,
/// its magnitude is greater than that of the other number, so its sign decides.
fn compare_decimals((a, a_scale): (i128, i8), (b, b_scale): (i128, i8)) -> Ordering {
    let raised = |unscaled: i128, by: u32| 10_i128.checked_pow(by).and_then(|power| unscaled.checked_mul(power));
    let distance = u32::from(a_scale.abs_diff(b_scale));
    match a_scale.cmp(&b_scale) {
        Ordering::Equal => a.cmp(&b),
        Ordering::Less if a == 0 => 0.cmp(&b),
        Ordering::Less => raised(a, distance).map_or_else(|| a.cmp(&0), |a| a.cmp(&b)),
        Ordering::Greater => compare_decimals((b, b_scale), (a, a_scale)).reverse(),
    }
}

#[cfg(test)]
mod tests;
