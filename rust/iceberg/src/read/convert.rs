//! Converts the values of a leaf column of a data file to the column's type in the table (spec: "Schema Evolution",
//! appendix A).
//!
//! Three things may differ: the encoding of the array (dictionaries, views, 64-bit offsets); the storage type of the
//! format (ORC has no UUID, Parquet may hold INT96); and the type of the column when the file was written.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Int64Type, Time32MillisecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeBinaryArray, Int64Array, Time64MicrosecondArray, new_null_array,
};
use arrow_buffer::MutableBuffer;
use arrow_schema::{DataType, TimeUnit};
use frazil_core::error::{Error, Result};
use frazil_core::file_values::{cast, checked_text, decimal};

use super::FileFormat;
use crate::spec::arrow::arrow_primitive;
use crate::spec::types::PrimitiveType;

/// Returns whether a file column of this Arrow type can be read as `to`.
pub(crate) fn is_convertible(from: &DataType, to: &PrimitiveType, format: FileFormat) -> bool {
    convert(&arrow_array::new_empty_array(from), to, format).is_ok()
}

/// Returns the column as `to`, in the Arrow type of [`arrow_primitive`]; shares the buffers if no conversion is needed.
///
/// # Errors
/// `CorruptData` if the types are incompatible, a value is out of range, or a string is not valid UTF-8.
pub(crate) fn convert(array: &ArrayRef, to: &PrimitiveType, format: FileFormat) -> Result<ArrayRef> {
    use DataType as D;
    use PrimitiveType as P;
    let array = &plain(array)?;
    let same = arrow_primitive(to);
    match (to, array.data_type()) {
        (P::Unknown, _) | (_, D::Null) => Ok(new_null_array(&same, array.len())),
        (P::String, D::Utf8) => checked_text(array),
        (P::Timestamp | P::TimestampNs, D::Date32 | D::Timestamp(..))
        | (P::Timestamptz | P::TimestamptzNs, D::Timestamp(..)) => timestamp(array, to),
        (_, from) if *from == same => Ok(Arc::clone(array)),
        (P::Int, D::Int8 | D::Int16 | D::UInt8 | D::UInt16)
        | (P::Long, D::Int8 | D::Int16 | D::Int32 | D::UInt8 | D::UInt16 | D::UInt32)
        | (P::Double, D::Float32)
        | (P::String, D::Binary)
        | (P::Binary | P::Geometry(_) | P::Geography(..), D::FixedSizeBinary(_)) => cast(array, &same),
        (P::Decimal { precision, scale }, from) if from.is_decimal() => decimal(array, *precision, *scale),
        (P::Time, D::Time32(_) | D::Time64(_)) => time(array),
        (P::Time, D::Int64) if format == FileFormat::Orc => time(array),
        (P::Uuid, D::Binary) => fixed(array.as_binary(), 16),
        (P::Fixed(length), D::Binary) => fixed(array.as_binary(), *length),
        (_, from) => {
            Err(Error::corrupt(format!("the data file column has the type {from}, which cannot be read as {same}")))
        }
    }
}

/// Returns the same values without dictionaries, runs, views and 64-bit offsets.
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(_, values) => plain(&cast(array, values)?),
        DataType::RunEndEncoded(_, values) => plain(&cast(array, values.data_type())?),
        DataType::LargeUtf8 | DataType::Utf8View => cast(array, &DataType::Utf8),
        DataType::LargeBinary | DataType::BinaryView => cast(array, &DataType::Binary),
        _ => Ok(Arc::clone(array)),
    }
}

fn time(array: &ArrayRef) -> Result<ArrayRef> {
    let micros: Time64MicrosecondArray = match array.data_type() {
        DataType::Time32(TimeUnit::Millisecond) => {
            array.as_primitive::<Time32MillisecondType>().unary(|millis| i64::from(millis) * 1000)
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            array.as_primitive::<Time64NanosecondType>().unary(|nanos| nanos.div_euclid(1000))
        }
        DataType::Int64 => array.as_primitive::<Int64Type>().reinterpret_cast(),
        other => {
            return Err(Error::corrupt(format!(
                "the data file column has the type {other}, which cannot be read as a time"
            )));
        }
    };
    Ok(Arc::new(micros))
}

const MICROS_PER_SECOND: i64 = 1_000_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Returns timestamps of any unit, and dates, in the unit of `to`: finer units are rounded down, coarser ones
/// multiplied. The stored number is the same with and without a time zone, as both are counted in UTC.
fn timestamp(array: &ArrayRef, to: &PrimitiveType) -> Result<ArrayRef> {
    let nanos = matches!(to, PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs);
    let to_per_second = if nanos { NANOS_PER_SECOND } else { MICROS_PER_SECOND };
    let values = match array.data_type() {
        DataType::Date32 => {
            let per_day = to_per_second * SECONDS_PER_DAY;
            array.as_primitive::<Date32Type>().try_unary(|days| times(i64::from(days), per_day))?
        }
        DataType::Timestamp(unit, _) => {
            let from_per_second = match unit {
                TimeUnit::Second => 1,
                TimeUnit::Millisecond => 1000,
                TimeUnit::Microsecond => MICROS_PER_SECOND,
                TimeUnit::Nanosecond => NANOS_PER_SECOND,
            };
            rescale(cast(array, &DataType::Int64)?.as_primitive(), from_per_second, to_per_second)?
        }
        other => {
            return Err(Error::corrupt(format!(
                "the data file column has the type {other}, which cannot be read as a timestamp"
            )));
        }
    };
    let zone = matches!(to, PrimitiveType::Timestamptz | PrimitiveType::TimestamptzNs).then_some("UTC");
    Ok(if nanos {
        Arc::new(values.reinterpret_cast::<TimestampNanosecondType>().with_timezone_opt(zone))
    } else {
        Arc::new(values.reinterpret_cast::<TimestampMicrosecondType>().with_timezone_opt(zone))
    })
}

fn rescale(values: &Int64Array, from_per_second: i64, to_per_second: i64) -> Result<Int64Array> {
    match from_per_second.cmp(&to_per_second) {
        std::cmp::Ordering::Equal => Ok(values.clone()),
        std::cmp::Ordering::Less => values.try_unary(|value| times(value, to_per_second / from_per_second)),
        std::cmp::Ordering::Greater => Ok(values.unary(|value| value.div_euclid(from_per_second / to_per_second))),
    }
}

fn times(value: i64, factor: i64) -> Result<i64> {
    value
        .checked_mul(factor)
        .ok_or_else(|| Error::corrupt(format!("{value} x {factor} does not fit a 64-bit timestamp")))
}

/// Returns byte strings after checking that each has `length` bytes.
fn fixed(array: &BinaryArray, length: u32) -> Result<ArrayRef> {
    let (Ok(length), Ok(size)) = (usize::try_from(length), i32::try_from(length)) else {
        return Err(Error::unsupported(format!("fixed({length})")));
    };
    let mut bytes = MutableBuffer::with_capacity(array.value_data().len());
    for value in array {
        match value {
            Some(value) if value.len() == length => bytes.extend_from_slice(value),
            Some(value) => {
                return Err(Error::corrupt(format!("a fixed value has {} bytes, expected {length}", value.len())));
            }
            None => bytes.extend_zeros(length),
        }
    }
    let nulls = array.nulls().cloned();
    Ok(Arc::new(FixedSizeBinaryArray::try_new_with_len(size, bytes.into(), nulls, array.len())?))
}
