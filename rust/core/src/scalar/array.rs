//! Converts scalars to and from Arrow arrays.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, PrimitiveArray, StringArray,
};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};

use super::{Scalar, ScalarType};
use crate::error::{Error, Result};

const EXTENSION: &str = "ARROW:extension:name";

impl ScalarType {
    /// Returns the scalar type of an Arrow field; None for types that predicates cannot compare.
    ///
    /// A fixed type of sixteen bytes is a UUID if the field has the extension `arrow.uuid`. Dictionaries have the type
    /// of their values.
    pub fn from_arrow(field: &Field) -> Option<Self> {
        let uuid = || field.metadata().get(EXTENSION).is_some_and(|name| name == "arrow.uuid");
        let data_type = match field.data_type() {
            DataType::Dictionary(_, values) => values,
            other => other,
        };
        Some(match data_type {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Boolean,
            DataType::Int8 => Self::Int8,
            DataType::Int16 => Self::Int16,
            DataType::Int32 => Self::Int32,
            DataType::Int64 => Self::Int64,
            DataType::Float32 => Self::Float32,
            DataType::Float64 => Self::Float64,
            DataType::Decimal128(precision, scale) => Self::Decimal { precision: *precision, scale: *scale },
            DataType::Date32 => Self::Date,
            DataType::Time64(TimeUnit::Microsecond) => Self::Time,
            DataType::Timestamp(unit, zone) => Self::Timestamp { unit: *unit, utc: zone.is_some() },
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::String,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Self::Binary,
            DataType::FixedSizeBinary(16) if uuid() => Self::Uuid,
            DataType::FixedSizeBinary(length) => Self::Fixed(u32::try_from(*length).ok()?),
            _ => return None,
        })
    }
}

impl Scalar {
    /// Returns the value of a row as a scalar of `data_type`; None for NULL.
    ///
    /// Returns `Internal` if the row is out of range or the array does not have that type.
    pub fn from_array(array: &dyn Array, row: usize, data_type: ScalarType) -> Result<Option<Self>> {
        if row >= array.len() {
            return Err(Error::internal(format!("row {row} is out of range for an array of {} values", array.len())));
        }
        if array.is_null(row) || data_type == ScalarType::Null || array.data_type() == &DataType::Null {
            return Ok(None);
        }
        if let DataType::Dictionary(..) = array.data_type() {
            let one = array.slice(row, 1);
            let dictionary = one.as_any_dictionary();
            let key = dictionary.normalized_keys().first().copied().unwrap_or(usize::MAX);
            return Self::from_array(dictionary.values().as_ref(), key, data_type);
        }
        let wrong = || Error::internal(format!("an array has the type {}, expected {data_type}", array.data_type()));
        value(array, row, data_type).ok_or_else(wrong).map(Some)
    }

    /// Returns an array of `length` copies, with the type of [`ScalarType::arrow`].
    ///
    /// Returns `InvalidArgument` if the bytes do not fit in one array.
    pub fn to_array(&self, length: usize) -> Result<ArrayRef> {
        Ok(match self {
            Self::Boolean(value) => {
                let bits = if *value { BooleanBuffer::new_set(length) } else { BooleanBuffer::new_unset(length) };
                Arc::new(BooleanArray::new(bits, None))
            }
            Self::Int8(value) => copies::<Int8Type>(*value, length),
            Self::Int16(value) => copies::<Int16Type>(*value, length),
            Self::Int32(value) => copies::<Int32Type>(*value, length),
            Self::Int64(value) => copies::<Int64Type>(*value, length),
            Self::Float32(value) => copies::<Float32Type>(*value, length),
            Self::Float64(value) => copies::<Float64Type>(*value, length),
            Self::Decimal { unscaled, precision, scale } => Arc::new(
                Decimal128Array::from_value(*unscaled, length)
                    .with_precision_and_scale(*precision, *scale)
                    .map_err(too_big)?,
            ),
            Self::Date(value) => copies::<Date32Type>(*value, length),
            Self::Time(value) => copies::<Time64MicrosecondType>(*value, length),
            Self::Timestamp { value, unit, utc } => match unit {
                TimeUnit::Second => moments::<TimestampSecondType>(*value, length, *utc),
                TimeUnit::Millisecond => moments::<TimestampMillisecondType>(*value, length, *utc),
                TimeUnit::Microsecond => moments::<TimestampMicrosecondType>(*value, length, *utc),
                TimeUnit::Nanosecond => moments::<TimestampNanosecondType>(*value, length, *utc),
            },
            Self::String(text) => {
                fits(text.len(), length)?;
                Arc::new(StringArray::from_iter_values(std::iter::repeat_n(text, length)))
            }
            Self::Binary(bytes) => {
                fits(bytes.len(), length)?;
                Arc::new(BinaryArray::from_iter_values(std::iter::repeat_n(bytes, length)))
            }
            Self::Uuid(bytes) => fixed(bytes, length)?,
            Self::Fixed(bytes) => fixed(bytes, length)?,
        })
    }
}

fn value(array: &dyn Array, row: usize, data_type: ScalarType) -> Option<Scalar> {
    Some(match data_type {
        ScalarType::Null => return None,
        ScalarType::Boolean => Scalar::Boolean(array.as_boolean_opt()?.value(row)),
        ScalarType::Int8 => Scalar::Int8(primitive::<Int8Type>(array, row)?),
        ScalarType::Int16 => Scalar::Int16(primitive::<Int16Type>(array, row)?),
        ScalarType::Int32 => Scalar::Int32(primitive::<Int32Type>(array, row)?),
        ScalarType::Int64 => Scalar::Int64(primitive::<Int64Type>(array, row)?),
        ScalarType::Float32 => Scalar::Float32(primitive::<Float32Type>(array, row)?),
        ScalarType::Float64 => Scalar::Float64(primitive::<Float64Type>(array, row)?),
        ScalarType::Decimal { precision, scale } => match array.data_type() {
            DataType::Decimal128(_, found) if *found == scale => {
                Scalar::Decimal { unscaled: primitive::<Decimal128Type>(array, row)?, precision, scale }
            }
            _ => return None,
        },
        ScalarType::Date => Scalar::Date(primitive::<Date32Type>(array, row)?),
        ScalarType::Time => Scalar::Time(primitive::<Time64MicrosecondType>(array, row)?),
        ScalarType::Timestamp { unit, utc } => {
            let value = match unit {
                TimeUnit::Second => primitive::<TimestampSecondType>(array, row)?,
                TimeUnit::Millisecond => primitive::<TimestampMillisecondType>(array, row)?,
                TimeUnit::Microsecond => primitive::<TimestampMicrosecondType>(array, row)?,
                TimeUnit::Nanosecond => primitive::<TimestampNanosecondType>(array, row)?,
            };
            Scalar::Timestamp { value, unit, utc }
        }
        ScalarType::String => Scalar::String(match array.data_type() {
            DataType::Utf8 => array.as_string_opt::<i32>()?.value(row).to_string(),
            DataType::LargeUtf8 => array.as_string_opt::<i64>()?.value(row).to_string(),
            _ => array.as_string_view_opt()?.value(row).to_string(),
        }),
        ScalarType::Uuid => Scalar::Uuid(bytes(array, row)?.try_into().ok()?),
        ScalarType::Fixed(length) => {
            let bytes = bytes(array, row)?;
            if u32::try_from(bytes.len()) != Ok(length) {
                return None;
            }
            Scalar::Fixed(bytes.to_vec())
        }
        ScalarType::Binary => Scalar::Binary(bytes(array, row)?.to_vec()),
    })
}

fn primitive<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> Option<T::Native> {
    array.as_primitive_opt::<T>()?.values().get(row).copied()
}

fn bytes(array: &dyn Array, row: usize) -> Option<&[u8]> {
    Some(match array.data_type() {
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary_opt()?.value(row),
        DataType::Binary => array.as_binary_opt::<i32>()?.value(row),
        DataType::LargeBinary => array.as_binary_opt::<i64>()?.value(row),
        _ => array.as_binary_view_opt()?.value(row),
    })
}

fn copies<T: ArrowPrimitiveType>(value: T::Native, length: usize) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_value(value, length))
}

fn moments<T: arrow_array::types::ArrowTimestampType>(value: i64, length: usize, utc: bool) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_value(value, length).with_timezone_opt(utc.then_some("UTC")))
}

fn fixed(bytes: &[u8], length: usize) -> Result<ArrayRef> {
    let width = i32::try_from(bytes.len()).map_err(|_| Error::invalid("a fixed value must be shorter than 2 GiB"))?;
    fits(bytes.len(), length)?;
    let copies = bytes.repeat(length);
    Ok(Arc::new(FixedSizeBinaryArray::try_new(width, copies.into(), None).map_err(too_big)?))
}

/// Checks that the size does not exceed 2 GiB, the limit of 32-bit offsets.
fn fits(bytes: usize, length: usize) -> Result<()> {
    let total = bytes.checked_mul(length).and_then(|total| i32::try_from(total).ok());
    total.map(|_| ()).ok_or_else(|| Error::invalid(format!("{length} copies of {bytes} bytes do not fit in one array")))
}

fn too_big(error: ArrowError) -> Error {
    Error::invalid("Arrow cannot represent the value").caused_by(error)
}
