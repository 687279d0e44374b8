//! Binary single-value serialization of column bounds and partition summaries (spec: appendix D).
//!
//! ```text
//! boolean                      1 byte, 00 or 01
//! int date float               4 bytes, little-endian
//! long time timestamp double   8 bytes, little-endian; timestamps of every kind
//! decimal                      big-endian two's complement of the unscaled value, shortest form written, 1-16 bytes read
//! string                       UTF-8
//! uuid                         16 bytes, big-endian
//! fixed binary                 as they are
//! ```
//!
//! A promoted column keeps the bounds of its old files, so the length determines the recorded type: 4 bytes are an int
//! in a long column, a float in a double column, or a date in a column of timestamps without zone.
//!
//! Bounds are hints. A bound that cannot be decoded is None or NULL and prunes nothing; it is never an error.

use std::sync::Arc;

use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, StringArray,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer};
use arrow_schema::{DataType, TimeUnit};
use frazil_core::hash::twos_complement_len;
use frazil_core::scalar::{Scalar, ScalarType};

use super::types::PrimitiveType;

const MICROS_PER_DAY: i64 = 86_400_000_000;
const NANOS_PER_DAY: i64 = 1_000 * MICROS_PER_DAY;

/// The maximum number of bytes by which a `fixed` is padded. Without a limit, the length in a schema could exhaust
/// memory.
const MAX_PADDING_BYTES: usize = 1 << 16;
const MAX_PADDING_RATIO: usize = 64;

/// Returns the value that `bytes` encode in a column of type `data_type`.
///
/// Truncated bounds of a `fixed` are padded with zeros, which keeps a lower bound low and an upper bound high. NaN is
/// kept. Returns None for invalid bytes and for types without an order (unknown, variant, geometry, geography).
pub fn decode(data_type: &PrimitiveType, bytes: &[u8]) -> Option<Scalar> {
    Some(match data_type {
        PrimitiveType::Boolean => Scalar::Boolean(boolean(bytes)?),
        PrimitiveType::Int => Scalar::Int32(int(bytes)?),
        PrimitiveType::Long => Scalar::Int64(long(bytes)?),
        PrimitiveType::Float => Scalar::Float32(float(bytes)?),
        PrimitiveType::Double => Scalar::Float64(double(bytes)?),
        PrimitiveType::Decimal { precision, scale } => {
            Scalar::Decimal { unscaled: unscaled(bytes)?, precision: *precision, scale: scale.cast_signed() }
        }
        PrimitiveType::Date => Scalar::Date(int(bytes)?),
        PrimitiveType::Time => Scalar::Time(eight(bytes)?),
        PrimitiveType::Timestamp => timestamp(promoted::<MICROS_PER_DAY>(bytes)?, TimeUnit::Microsecond, false),
        PrimitiveType::Timestamptz => timestamp(eight(bytes)?, TimeUnit::Microsecond, true),
        PrimitiveType::TimestampNs => timestamp(promoted::<NANOS_PER_DAY>(bytes)?, TimeUnit::Nanosecond, false),
        PrimitiveType::TimestamptzNs => timestamp(eight(bytes)?, TimeUnit::Nanosecond, true),
        PrimitiveType::String => Scalar::String(str::from_utf8(bytes).ok()?.to_owned()),
        PrimitiveType::Uuid => Scalar::Uuid(bytes.try_into().ok()?),
        PrimitiveType::Fixed(length) => {
            let length = padded_len(*length, bytes.len(), 1)?;
            let mut padded = bytes.to_vec();
            (usable(bytes, length)).then(|| padded.resize(length, 0))?;
            Scalar::Fixed(padded)
        }
        PrimitiveType::Binary => Scalar::Binary(bytes.to_vec()),
        PrimitiveType::Unknown | PrimitiveType::Variant | PrimitiveType::Geometry(_) | PrimitiveType::Geography(..) => {
            return None;
        }
    })
}

/// Returns the result of [`decode`] for a column: an array of the Arrow type of `data_type`, NULL where `bytes` is NULL
/// or invalid.
///
/// None for types without an order, and if a `fixed` would need far more memory than its bytes do.
pub fn decode_column(data_type: &PrimitiveType, bytes: &BinaryArray) -> Option<ArrayRef> {
    let arrow = data_type.scalar().map(ScalarType::arrow)?;
    Some(match data_type {
        PrimitiveType::Boolean => Arc::new(bytes.iter().map(|bytes| boolean(bytes?)).collect::<BooleanArray>()),
        PrimitiveType::Int => column::<Int32Type>(bytes, arrow, int),
        PrimitiveType::Long => column::<Int64Type>(bytes, arrow, long),
        PrimitiveType::Float => column::<Float32Type>(bytes, arrow, float),
        PrimitiveType::Double => column::<Float64Type>(bytes, arrow, double),
        PrimitiveType::Decimal { .. } => column::<Decimal128Type>(bytes, arrow, unscaled),
        PrimitiveType::Date => column::<Date32Type>(bytes, arrow, int),
        PrimitiveType::Time => column::<Time64MicrosecondType>(bytes, arrow, eight),
        PrimitiveType::Timestamp => column::<TimestampMicrosecondType>(bytes, arrow, promoted::<MICROS_PER_DAY>),
        PrimitiveType::Timestamptz => column::<TimestampMicrosecondType>(bytes, arrow, eight),
        PrimitiveType::TimestampNs => column::<TimestampNanosecondType>(bytes, arrow, promoted::<NANOS_PER_DAY>),
        PrimitiveType::TimestamptzNs => column::<TimestampNanosecondType>(bytes, arrow, eight),
        PrimitiveType::String => strings(bytes),
        PrimitiveType::Uuid => fixed(bytes, 16, |bytes, length| bytes.len() == length)?,
        PrimitiveType::Fixed(length) => {
            fixed(bytes, padded_len(*length, bytes.value_data().len(), bytes.len())?, usable)?
        }
        PrimitiveType::Binary => Arc::new(bytes.clone()),
        PrimitiveType::Unknown | PrimitiveType::Variant | PrimitiveType::Geometry(_) | PrimitiveType::Geography(..) => {
            return None;
        }
    })
}

/// Returns the bytes of a value, as a writer stores them in bounds.
pub fn encode(value: &Scalar) -> Vec<u8> {
    match value {
        Scalar::Boolean(value) => vec![u8::from(*value)],
        Scalar::Int8(value) => i32::from(*value).to_le_bytes().to_vec(),
        Scalar::Int16(value) => i32::from(*value).to_le_bytes().to_vec(),
        Scalar::Int32(value) | Scalar::Date(value) => value.to_le_bytes().to_vec(),
        Scalar::Int64(value) | Scalar::Time(value) | Scalar::Timestamp { value, .. } => value.to_le_bytes().to_vec(),
        Scalar::Float32(value) => value.to_le_bytes().to_vec(),
        Scalar::Float64(value) => value.to_le_bytes().to_vec(),
        Scalar::Decimal { unscaled, .. } => {
            unscaled.to_be_bytes().into_iter().skip(16 - twos_complement_len(*unscaled)).collect()
        }
        Scalar::String(text) => text.as_bytes().to_vec(),
        Scalar::Uuid(bytes) => bytes.to_vec(),
        Scalar::Fixed(bytes) | Scalar::Binary(bytes) => bytes.clone(),
    }
}

#[inline]
fn boolean(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [0] => Some(false),
        [1] => Some(true),
        _ => None,
    }
}

#[inline]
fn int(bytes: &[u8]) -> Option<i32> {
    bytes.try_into().ok().map(i32::from_le_bytes)
}

#[inline]
fn eight(bytes: &[u8]) -> Option<i64> {
    bytes.try_into().ok().map(i64::from_le_bytes)
}

#[inline]
fn long(bytes: &[u8]) -> Option<i64> {
    eight(bytes).or_else(|| int(bytes).map(i64::from))
}

#[inline]
fn float(bytes: &[u8]) -> Option<f32> {
    bytes.try_into().ok().map(f32::from_le_bytes)
}

#[inline]
fn double(bytes: &[u8]) -> Option<f64> {
    bytes.try_into().ok().map(f64::from_le_bytes).or_else(|| float(bytes).map(f64::from))
}

/// Decodes a timestamp without zone from 8 bytes, or from the 4-byte day of a column that was previously a date.
#[inline]
fn promoted<const TICKS_PER_DAY: i64>(bytes: &[u8]) -> Option<i64> {
    eight(bytes).or_else(|| i64::from(int(bytes)?).checked_mul(TICKS_PER_DAY))
}

/// Returns a big-endian two's complement number of up to 16 bytes.
#[inline]
fn unscaled(bytes: &[u8]) -> Option<i128> {
    let sign = if bytes.first()? & 0x80 == 0 { 0 } else { 0xff };
    let mut wide = [sign; 16];
    wide.get_mut(16_usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}

fn timestamp(value: i64, unit: TimeUnit, utc: bool) -> Scalar {
    Scalar::Timestamp { value, unit, utc }
}

fn column<T: ArrowPrimitiveType>(
    bytes: &BinaryArray,
    arrow: DataType,
    decode: impl Fn(&[u8]) -> Option<T::Native>,
) -> ArrayRef {
    let mut valid = BooleanBufferBuilder::new(bytes.len());
    let values: Vec<T::Native> = bytes
        .iter()
        .map(|bytes| {
            let value = bytes.and_then(&decode);
            valid.append(value.is_some());
            value.unwrap_or_default()
        })
        .collect();
    let nulls = NullBuffer::new(valid.finish());
    let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls).with_data_type(arrow))
}

fn strings(bytes: &BinaryArray) -> ArrayRef {
    match StringArray::try_from_binary(bytes.clone()) {
        Ok(strings) => Arc::new(strings),
        Err(_) => Arc::new(bytes.iter().map(|bytes| str::from_utf8(bytes?).ok()).collect::<StringArray>()),
    }
}

/// Returns an array of `length`-byte values. Values that are `usable` are padded with zeros; all other values become
/// NULL.
fn fixed(bytes: &BinaryArray, length: usize, usable: fn(&[u8], usize) -> bool) -> Option<ArrayRef> {
    let mut valid = BooleanBufferBuilder::new(bytes.len());
    let mut values = Vec::with_capacity(bytes.len().checked_mul(length)?);
    for bytes in bytes {
        let value = bytes.filter(|bytes| usable(bytes, length));
        valid.append(value.is_some());
        let end = values.len() + length;
        values.extend_from_slice(value.unwrap_or_default());
        values.resize(end, 0);
    }
    let (length, nulls) = (i32::try_from(length).ok()?, NullBuffer::new(valid.finish()));
    let array = FixedSizeBinaryArray::try_new(length, Buffer::from_vec(values), Some(nulls)).ok()?;
    Some(Arc::new(array))
}

/// Returns whether `bytes` are a `fixed` of `length` bytes or a truncated bound of one.
fn usable(bytes: &[u8], length: usize) -> bool {
    bytes.len() <= length && (bytes.is_empty() == (length == 0))
}

/// Returns the length of a `fixed`, unless `count` of them would need far more memory than the `found` bytes.
fn padded_len(length: u32, found: usize, count: usize) -> Option<usize> {
    let length = usize::try_from(length).ok()?;
    let limit = found.saturating_mul(MAX_PADDING_RATIO).saturating_add(MAX_PADDING_BYTES);
    (length.checked_mul(count)? <= limit).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use PrimitiveType::*;
    use arrow_array::cast::AsArray;
    use proptest::prelude::*;

    fn decimal(unscaled: i128) -> Scalar {
        Scalar::Decimal { unscaled, precision: 38, scale: 4 }
    }

    fn micros(value: i64) -> Scalar {
        timestamp(value, TimeUnit::Microsecond, false)
    }

    /// Decodes a value separately and in a column among NULLs; the results must be equal.
    fn decoded(data_type: &PrimitiveType, bytes: &[u8]) -> Option<Scalar> {
        let alone = decode(data_type, bytes);
        let column = decode_column(data_type, &BinaryArray::from(vec![None, Some(bytes), None])).unwrap();
        assert_eq!(column.data_type(), &data_type.scalar().unwrap().arrow());
        assert!(column.is_null(0) && column.is_null(2));
        assert_eq!(column.is_valid(1), alone.is_some(), "{data_type:?} {bytes:?}");
        if let Some(alone) = &alone {
            let reread = match column.data_type() {
                DataType::Boolean => encode(&Scalar::Boolean(column.as_boolean().value(1))),
                DataType::Int32 => encode(&Scalar::Int32(column.as_primitive::<Int32Type>().value(1))),
                DataType::Date32 => encode(&Scalar::Date(column.as_primitive::<Date32Type>().value(1))),
                DataType::Int64 => encode(&Scalar::Int64(column.as_primitive::<Int64Type>().value(1))),
                DataType::Float32 => encode(&Scalar::Float32(column.as_primitive::<Float32Type>().value(1))),
                DataType::Float64 => encode(&Scalar::Float64(column.as_primitive::<Float64Type>().value(1))),
                DataType::Decimal128(..) => encode(&decimal(column.as_primitive::<Decimal128Type>().value(1))),
                DataType::Utf8 => column.as_string::<i32>().value(1).into(),
                DataType::Binary => column.as_binary::<i32>().value(1).into(),
                DataType::FixedSizeBinary(_) => column.as_fixed_size_binary().value(1).into(),
                _ => column.to_data().buffers()[0].as_slice()[8..16].to_vec(),
            };
            assert_eq!(reread, encode(alone), "{data_type:?} {bytes:?}");
        }
        alone
    }

    #[test]
    fn the_vectors_of_the_specification_hold() {
        let dec = Decimal { precision: 38, scale: 4 };
        for (data_type, value, bytes) in [
            (Boolean, Scalar::Boolean(true), vec![1]),
            (Boolean, Scalar::Boolean(false), vec![0]),
            (Int, Scalar::Int32(84_202), vec![0xea, 0x48, 1, 0]),
            (Long, Scalar::Int64(200), vec![200, 0, 0, 0, 0, 0, 0, 0]),
            (Float, Scalar::Float32(-4.5), vec![0, 0, 0x90, 0xc0]),
            (Double, Scalar::Float64(1.0), vec![0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
            (dec.clone(), decimal(345), vec![1, 0x59]),
            (dec.clone(), decimal(1_234_567), vec![0x12, 0xd6, 0x87]),
            (dec.clone(), decimal(-1_234_567), vec![0xed, 0x29, 0x79]),
            (dec.clone(), decimal(11), vec![0x0b]),
            (dec.clone(), decimal(0), vec![0]),
            (dec, decimal(i128::MIN), [&[0x80][..], &[0; 15]].concat()),
            (Date, Scalar::Date(1000), vec![0xe8, 3, 0, 0]),
            (Time, Scalar::Time(1), vec![1, 0, 0, 0, 0, 0, 0, 0]),
            (Timestamp, micros(-1), vec![0xff; 8]),
            (Timestamptz, timestamp(-1, TimeUnit::Microsecond, true), vec![0xff; 8]),
            (TimestampNs, timestamp(-1, TimeUnit::Nanosecond, false), vec![0xff; 8]),
            (TimestamptzNs, timestamp(-1, TimeUnit::Nanosecond, true), vec![0xff; 8]),
            (String, Scalar::String("\u{1f4b0}".into()), vec![0xf0, 0x9f, 0x92, 0xb0]),
            (String, Scalar::String(std::string::String::new()), vec![]),
            (Uuid, Scalar::Uuid([7; 16]), vec![7; 16]),
            (Fixed(3), Scalar::Fixed(vec![1, 2, 3]), vec![1, 2, 3]),
            (Fixed(0), Scalar::Fixed(vec![]), vec![]),
            (Binary, Scalar::Binary(vec![0xff]), vec![0xff]),
        ] {
            assert_eq!(encode(&value), bytes);
            assert_eq!(decoded(&data_type, &bytes), Some(value));
        }
    }

    #[test]
    fn bounds_of_promoted_columns_keep_the_old_length() {
        let minus_two = (-2_i32).to_le_bytes();
        assert_eq!(decoded(&Long, &minus_two), Some(Scalar::Int64(-2)));
        assert_eq!(decoded(&Double, &1.5_f32.to_le_bytes()), Some(Scalar::Float64(1.5)));
        assert_eq!(decoded(&Timestamp, &minus_two), Some(micros(-2 * MICROS_PER_DAY)));
        let nanos = timestamp(-2 * NANOS_PER_DAY, TimeUnit::Nanosecond, false);
        assert_eq!(decoded(&TimestampNs, &minus_two), Some(nanos));
        assert_eq!(decoded(&TimestampNs, &i32::MAX.to_le_bytes()), None);
        assert_eq!(decoded(&Timestamptz, &minus_two), None);
        assert_eq!(decoded(&Time, &minus_two), None);
    }

    #[test]
    fn decimals_are_read_at_any_length_up_to_sixteen() {
        let dec = Decimal { precision: 38, scale: 4 };
        assert_eq!(decoded(&dec, &[0xff, 0xff, 0xff, 0x85]), Some(decimal(-123)));
        assert_eq!(decoded(&dec, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]), Some(decimal(9)));
        assert_eq!(decoded(&dec, &[0; 17]), None);
        assert_eq!(decoded(&dec, &[]), None);
    }

    #[test]
    fn undecodable_values_are_missing() {
        for (data_type, bytes) in [
            (Boolean, &[2][..]),
            (Boolean, &[]),
            (Int, &[0; 8]),
            (Int, &[]),
            (Long, &[0; 5]),
            (Float, &[0; 8]),
            (Double, &[0; 7]),
            (Date, &[0; 8]),
            (Uuid, &[0; 15]),
            (Fixed(2), &[0; 3]),
            (Fixed(2), &[]),
            (String, &[0xff]),
            (String, &[b'a', 0xc3]),
        ] {
            assert_eq!(decoded(&data_type, bytes), None, "{data_type:?}");
        }
        for data_type in [Unknown, Variant, Geometry(None), Geography(None, None)] {
            assert_eq!(decode(&data_type, &[0; 16]), None);
            assert!(decode_column(&data_type, &BinaryArray::from(vec![Some(&[0_u8; 16][..])])).is_none());
        }
    }

    #[test]
    fn truncated_fixed_bounds_are_padded_but_not_without_limit() {
        assert_eq!(decoded(&Fixed(4), &[1, 2]), Some(Scalar::Fixed(vec![1, 2, 0, 0])));
        assert_eq!(decode(&Fixed(u32::MAX), &[1]), None);
        assert!(decode_column(&Fixed(u32::MAX), &BinaryArray::from(vec![Some(&[1_u8][..])])).is_none());
    }

    #[test]
    fn nan_bounds_are_kept() {
        assert!(decoded(&Double, &f64::NAN.to_le_bytes()).unwrap().is_nan());
        assert!(decoded(&Double, &f32::NAN.to_le_bytes()).unwrap().is_nan());
    }

    proptest! {
        #[test]
        fn decimals_and_longs_round_trip(unscaled: i128, shift in 0_u32..128, long: i64) {
            let dec = Decimal { precision: 38, scale: 4 };
            let unscaled: i128 = unscaled >> shift;
            prop_assert_eq!(decoded(&dec, &encode(&decimal(unscaled))), Some(decimal(unscaled)));
            prop_assert_eq!(decoded(&Long, &encode(&Scalar::Int64(long))), Some(Scalar::Int64(long)));
        }

        #[test]
        fn any_bytes_decode_alike_alone_and_in_a_column(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            let dec = Decimal { precision: 38, scale: 4 };
            for data_type in [Boolean, Int, Long, Float, Double, dec, Date, Time, Timestamp, Timestamptz, TimestampNs,
                TimestamptzNs, String, Uuid, Fixed(9), Binary] {
                decoded(&data_type, &bytes);
            }
        }
    }
}
