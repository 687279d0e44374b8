//! Converts the values of Arrow arrays to keys that sort in the order of predicate comparisons.
//!
//! Numbers become integers (for floats, NaN is the greatest key and -0.0 equals 0.0); strings and binary values stay
//! slices. Rows and bounds are converted to the same keys, so evaluation and pruning agree.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};

use super::BoundColumn;
use crate::error::{Error, Result};
use crate::scalar::{Scalar, ScalarType, float32_key, float64_key};

/// A primitive Arrow type whose values have keys.
pub(crate) trait Keyed: ArrowPrimitiveType {
    /// The type of the keys.
    type Key: Ord + Copy + std::hash::Hash;

    /// Returns the key of a value.
    fn key(value: Self::Native) -> Self::Key;

    /// Returns the key of a scalar; None for a scalar of another type.
    fn literal(scalar: &Scalar) -> Option<Self::Key>;

    /// Returns whether a value is NaN.
    fn is_nan(_value: Self::Native) -> bool {
        false
    }

    /// Returns the keys of the least and the greatest value other than NaN: the infinities of floats. None for all
    /// other types.
    fn extent() -> Option<(Self::Key, Self::Key)> {
        None
    }
}

macro_rules! keyed {
    ($($arrow:ty, $key:ty, $scalar:pat => $literal:expr;)*) => {$(
        impl Keyed for $arrow {
            type Key = $key;

            #[inline]
            fn key(value: Self::Native) -> $key {
                value
            }

            fn literal(scalar: &Scalar) -> Option<$key> {
                match scalar {
                    $scalar => Some(*$literal),
                    _ => None,
                }
            }
        }
    )*};
}

keyed! {
    Int8Type, i8, Scalar::Int8(value) => value;
    Int16Type, i16, Scalar::Int16(value) => value;
    Int32Type, i32, Scalar::Int32(value) => value;
    Int64Type, i64, Scalar::Int64(value) => value;
    Date32Type, i32, Scalar::Date(value) => value;
    Time64MicrosecondType, i64, Scalar::Time(value) => value;
    TimestampSecondType, i64, Scalar::Timestamp { value, unit: TimeUnit::Second, .. } => value;
    TimestampMillisecondType, i64, Scalar::Timestamp { value, unit: TimeUnit::Millisecond, .. } => value;
    TimestampMicrosecondType, i64, Scalar::Timestamp { value, unit: TimeUnit::Microsecond, .. } => value;
    TimestampNanosecondType, i64, Scalar::Timestamp { value, unit: TimeUnit::Nanosecond, .. } => value;
    Decimal128Type, i128, Scalar::Decimal { unscaled, .. } => unscaled;
}

impl Keyed for Float32Type {
    type Key = i32;

    fn key(value: f32) -> i32 {
        float32_key(value)
    }

    fn literal(scalar: &Scalar) -> Option<i32> {
        match scalar {
            Scalar::Float32(value) => Some(float32_key(*value)),
            _ => None,
        }
    }

    fn is_nan(value: f32) -> bool {
        value.is_nan()
    }

    fn extent() -> Option<(Self::Key, Self::Key)> {
        Some((Self::key(f32::NEG_INFINITY), Self::key(f32::INFINITY)))
    }
}

impl Keyed for Float64Type {
    type Key = i64;

    fn key(value: f64) -> i64 {
        float64_key(value)
    }

    fn literal(scalar: &Scalar) -> Option<i64> {
        match scalar {
            Scalar::Float64(value) => Some(float64_key(*value)),
            _ => None,
        }
    }

    fn is_nan(value: f64) -> bool {
        value.is_nan()
    }

    fn extent() -> Option<(Self::Key, Self::Key)> {
        Some((Self::key(f64::NEG_INFINITY), Self::key(f64::INFINITY)))
    }
}

/// Runs `body` with `$T` as the Arrow type of a primitive scalar type, or `other` for all other types.
macro_rules! with_primitive {
    ($data_type:expr, $T:ident => $body:expr, $other:pat => $rest:expr) => {{
        use arrow_array::types as t;
        use arrow_schema::TimeUnit as unit;
        use $crate::scalar::ScalarType as scalar;
        macro_rules! with {
            ($arrow:ty) => {{
                type $T = $arrow;
                $body
            }};
        }
        match $data_type {
            scalar::Int8 => with!(t::Int8Type),
            scalar::Int16 => with!(t::Int16Type),
            scalar::Int32 => with!(t::Int32Type),
            scalar::Int64 => with!(t::Int64Type),
            scalar::Float32 => with!(t::Float32Type),
            scalar::Float64 => with!(t::Float64Type),
            scalar::Decimal { .. } => with!(t::Decimal128Type),
            scalar::Date => with!(t::Date32Type),
            scalar::Time => with!(t::Time64MicrosecondType),
            scalar::Timestamp { unit: unit::Second, .. } => with!(t::TimestampSecondType),
            scalar::Timestamp { unit: unit::Millisecond, .. } => with!(t::TimestampMillisecondType),
            scalar::Timestamp { unit: unit::Microsecond, .. } => with!(t::TimestampMicrosecondType),
            scalar::Timestamp { unit: unit::Nanosecond, .. } => with!(t::TimestampNanosecondType),
            $other => $rest,
        }
    }};
}
pub(crate) use with_primitive;

/// Returns the array as its primitive type; `Internal` for an array of another type.
pub(crate) fn primitive<'a, T: Keyed>(array: &'a dyn Array, column: &BoundColumn) -> Result<&'a PrimitiveArray<T>> {
    array.as_primitive_opt::<T>().filter(|array| fits(array.data_type(), column)).ok_or_else(|| unfit(array, column))
}

/// Runs `body` with `$values` as an iterator over string, binary or fixed values; returns a `Result`, which is
/// `Internal` for other arrays.
macro_rules! with_bytes {
    ($array:expr, $column:expr, $values:ident => $body:expr) => {{
        use arrow_array::cast::AsArray as _;
        use arrow_schema::DataType as kind;
        macro_rules! with {
            ($iterator:expr) => {{
                let $values = $iterator;
                $body
            }};
        }
        match $array.data_type() {
            found if !$crate::sql::predicate::keys::fits(found, $column) => {
                Err($crate::sql::predicate::keys::unfit($array, $column))
            }
            kind::Utf8 => with!($array.as_string::<i32>().iter().map(|text| text.map(str::as_bytes))),
            kind::LargeUtf8 => with!($array.as_string::<i64>().iter().map(|text| text.map(str::as_bytes))),
            kind::Utf8View => with!($array.as_string_view().iter().map(|text| text.map(str::as_bytes))),
            kind::Binary => with!($array.as_binary::<i32>().iter()),
            kind::LargeBinary => with!($array.as_binary::<i64>().iter()),
            kind::BinaryView => with!($array.as_binary_view().iter()),
            kind::FixedSizeBinary(_) => with!($array.as_fixed_size_binary().iter()),
            _ => Err($crate::sql::predicate::keys::unfit($array, $column)),
        }
    }};
}
pub(crate) use with_bytes;

/// An iterator over values like that of [`with_bytes`], for cases in which a call per value is cheap enough.
pub(crate) type BytesIterator<'a> = Box<dyn Iterator<Item = Option<&'a [u8]>> + 'a>;

/// Returns the values of strings, binary and fixed values; `Internal` for other arrays.
pub(crate) fn bytes<'a>(array: &'a dyn Array, column: &BoundColumn) -> Result<BytesIterator<'a>> {
    with_bytes!(array, column, values => Ok(Box::new(values) as BytesIterator<'a>))
}

/// Returns the bytes of a scalar with a byte representation.
pub(crate) fn scalar_bytes(scalar: &Scalar) -> Option<&[u8]> {
    match scalar {
        Scalar::String(text) => Some(text.as_bytes()),
        Scalar::Uuid(bytes) => Some(bytes),
        Scalar::Fixed(bytes) | Scalar::Binary(bytes) => Some(bytes),
        _ => None,
    }
}

/// Returns the error for a scalar whose type differs from the column's.
pub(crate) fn foreign(scalar: &Scalar, column: &BoundColumn) -> Error {
    Error::internal(format!(
        "{scalar} of type {} cannot be tested against the type {}",
        scalar.scalar_type(),
        column.data_type
    ))
    .with("column", &column.name)
}

/// Returns the error for an array whose type differs from the column's.
pub(crate) fn unfit(array: &dyn Array, column: &BoundColumn) -> Error {
    Error::internal(format!("an array has the type {}, expected {}", array.data_type(), column.data_type))
        .with("column", &column.name)
}

/// Returns whether an array of that type can hold values of the column, with any offset width and any name of the zone.
pub(crate) fn fits(data_type: &DataType, column: &BoundColumn) -> bool {
    match (column.data_type, data_type) {
        (ScalarType::String, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        | (ScalarType::Binary, DataType::Binary | DataType::LargeBinary | DataType::BinaryView) => true,
        (ScalarType::Timestamp { unit, utc }, DataType::Timestamp(found, zone)) => {
            unit == *found && utc == zone.is_some()
        }
        (ScalarType::Decimal { scale, .. }, DataType::Decimal128(_, found)) => scale == *found,
        (expected, found) => expected.arrow() == *found,
    }
}
