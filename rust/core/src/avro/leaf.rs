//! Columns of single values: each decodes one writer type into the buffers of one Arrow type.

use std::sync::Arc;

use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, StringArray,
    new_null_array,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, TimeUnit};

use super::natural::MAX_FIXED_BYTES;
use super::schema::{Logical, Schema, Shape};
use super::wire::Wire;
use crate::error::{Error, ErrorKind, Result};

/// A builder of a column of single values.
#[derive(Debug)]
pub(super) struct Leaf {
    values: Values,
    nulls: NullBufferBuilder,
    data_type: DataType,
}

/// The buffers, with one variant per decoding method.
#[derive(Debug)]
enum Values {
    /// Only nulls.
    Null,
    Boolean(BooleanBufferBuilder),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    /// From `long`, unchanged.
    Int64(Vec<i64>),
    /// From `int` (`narrow`) or `long`, multiplied by `factor`.
    Scaled {
        values: Vec<i64>,
        factor: i64,
        narrow: bool,
    },
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    /// From `float`.
    Widened(Vec<f64>),
    /// From `bytes` or `string`.
    Sized(LeafStrings),
    /// From `fixed` of this many bytes.
    Unsized(LeafStrings, usize),
    /// From `enum`.
    Symbol(LeafStrings, Arc<[String]>),
    /// Values with a fixed `width` in bytes.
    Fixed {
        values: Vec<u8>,
        width: usize,
        source: FixedSource,
    },
    /// From `fixed` of this many bytes, or from `bytes`.
    Decimal(Vec<i128>, Option<usize>),
}

/// The encoding of values of a fixed width.
#[derive(Debug, Clone, Copy)]
enum FixedSource {
    Fixed,
    Bytes,
    UuidText,
}

impl Leaf {
    /// Creates a builder of `data_type` from non-null values of `schema`; `None` if the types cannot be converted.
    pub(super) fn new(schema: &Schema, data_type: &DataType) -> Option<Self> {
        Some(Self {
            values: values(schema, data_type)?,
            nulls: NullBufferBuilder::new(0),
            data_type: data_type.clone(),
        })
    }

    pub(super) fn data_type(&self) -> &DataType {
        &self.data_type
    }

    pub(super) fn len(&self) -> usize {
        self.nulls.len()
    }

    /// Decodes one value.
    #[inline]
    pub(super) fn read(&mut self, wire: &mut Wire<'_>) -> Result<()> {
        match &mut self.values {
            Values::Null => {
                self.nulls.append_null();
                return Ok(());
            }
            Values::Boolean(values) => values.append(wire.boolean()?),
            Values::Int8(values) => values.push(narrowed(wire)?),
            Values::Int16(values) => values.push(narrowed(wire)?),
            Values::Int32(values) => values.push(wire.int()?),
            Values::Int64(values) => values.push(wire.long()?),
            Values::Scaled { values, factor, narrow } => {
                let value = if *narrow { i64::from(wire.int()?) } else { wire.long()? };
                match value.checked_mul(*factor) {
                    Some(value) => values.push(value),
                    None => return Err(wire.error(format_args!("{value} times {factor} does not fit 64 bits"))),
                }
            }
            Values::Float32(values) => values.push(wire.float()?),
            Values::Float64(values) => values.push(wire.double()?),
            Values::Widened(values) => values.push(f64::from(wire.float()?)),
            Values::Sized(values) => values.push(wire.sized()?)?,
            Values::Unsized(values, size) => values.push(wire.take(*size)?)?,
            Values::Symbol(values, symbols) => {
                let index = wire.long()?;
                match usize::try_from(index).ok().and_then(|index| symbols.get(index)) {
                    Some(symbol) => values.push(symbol.as_bytes())?,
                    None => return Err(wire.error(format_args!("an enum has no symbol {index}"))),
                }
            }
            Values::Fixed { values, width, source } => fixed(values, *width, *source, wire)?,
            Values::Decimal(values, size) => {
                let bytes = if let Some(size) = size { wire.take(*size)? } else { wire.sized()? };
                match unscaled(bytes) {
                    Some(value) => values.push(value),
                    None => {
                        return Err(wire.error(format_args!("a decimal of {} bytes exceeds 128 bits", bytes.len())));
                    }
                }
            }
        }
        self.nulls.append_non_null();
        Ok(())
    }

    /// Appends a null.
    pub(super) fn push_null(&mut self) -> Result<()> {
        match &mut self.values {
            Values::Null => {}
            Values::Boolean(values) => values.append(false),
            Values::Int8(values) => values.push(0),
            Values::Int16(values) => values.push(0),
            Values::Int32(values) => values.push(0),
            Values::Int64(values) | Values::Scaled { values, .. } => values.push(0),
            Values::Float32(values) => values.push(0.0),
            Values::Float64(values) | Values::Widened(values) => values.push(0.0),
            Values::Sized(values) | Values::Unsized(values, _) | Values::Symbol(values, _) => values.push(&[])?,
            Values::Fixed { values, width, .. } => {
                let end = checked_end(values.len(), *width)?;
                values.resize(end, 0);
            }
            Values::Decimal(values, _) => values.push(0),
        }
        self.nulls.append_null();
        Ok(())
    }

    /// Reserves capacity for `rows` more values.
    pub(super) fn reserve(&mut self, rows: usize) {
        match &mut self.values {
            Values::Null | Values::Fixed { .. } => {}
            Values::Boolean(values) => values.reserve(rows),
            Values::Int8(values) => values.reserve(rows),
            Values::Int16(values) => values.reserve(rows),
            Values::Int32(values) => values.reserve(rows),
            Values::Int64(values) | Values::Scaled { values, .. } => values.reserve(rows),
            Values::Float32(values) => values.reserve(rows),
            Values::Float64(values) | Values::Widened(values) => values.reserve(rows),
            Values::Sized(values) | Values::Unsized(values, _) | Values::Symbol(values, _) => {
                values.offsets.reserve(rows);
            }
            Values::Decimal(values, _) => values.reserve(rows),
        }
    }

    /// Returns the approximate memory size of the column in bytes.
    pub(super) fn bytes(&self) -> usize {
        let values = match &self.values {
            Values::Null => 0,
            Values::Boolean(values) => values.len() / 8,
            Values::Int8(values) => values.capacity(),
            Values::Int16(values) => 2 * values.capacity(),
            Values::Int32(values) => 4 * values.capacity(),
            Values::Float32(values) => 4 * values.capacity(),
            Values::Int64(values) | Values::Scaled { values, .. } => 8 * values.capacity(),
            Values::Float64(values) | Values::Widened(values) => 8 * values.capacity(),
            Values::Sized(s) | Values::Unsized(s, _) | Values::Symbol(s, _) => {
                s.values.capacity() + 4 * s.offsets.capacity()
            }
            Values::Fixed { values, .. } => values.capacity(),
            Values::Decimal(values, _) => 16 * values.capacity(),
        };
        values + self.nulls.allocated_size()
    }

    /// Returns the array of the decoded values; the column is empty afterwards.
    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        let len = self.nulls.len();
        let nulls = self.nulls.finish();
        Ok(match &mut self.values {
            Values::Null => new_null_array(&self.data_type, len),
            Values::Boolean(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Values::Int8(values) => primitive::<Int8Type>(values, nulls, &self.data_type)?,
            Values::Int16(values) => primitive::<Int16Type>(values, nulls, &self.data_type)?,
            Values::Float32(values) => primitive::<Float32Type>(values, nulls, &self.data_type)?,
            Values::Float64(values) | Values::Widened(values) => {
                primitive::<Float64Type>(values, nulls, &self.data_type)?
            }
            Values::Int32(values) => int32_array(values, nulls, &self.data_type)?,
            Values::Int64(values) | Values::Scaled { values, .. } => int64_array(values, nulls, &self.data_type)?,
            Values::Sized(strings) | Values::Unsized(strings, _) | Values::Symbol(strings, _) => {
                strings.finish(nulls, &self.data_type)?
            }
            Values::Fixed { values, width, .. } => {
                let width = i32::try_from(*width).map_err(|_| Error::internal("a fixed width exceeds 31 bits"))?;
                let values = Buffer::from(grown(values));
                Arc::new(FixedSizeBinaryArray::try_new_with_len(width, values, nulls, len)?)
            }
            Values::Decimal(values, _) => {
                let values = ScalarBuffer::from(grown(values));
                let array = PrimitiveArray::<Decimal128Type>::try_new(values, nulls)?;
                let array = array.with_data_type(self.data_type.clone());
                if let DataType::Decimal128(precision, _) = self.data_type {
                    array.validate_decimal_precision(precision)?;
                }
                Arc::new(array)
            }
        })
    }
}

/// Returns the buffers for decoding `schema` to `target`.
fn values(schema: &Schema, target: &DataType) -> Option<Values> {
    use DataType as T;
    Some(match (&schema.shape, target) {
        (Shape::Null, _) => Values::Null,
        (Shape::Boolean, T::Boolean) => Values::Boolean(BooleanBufferBuilder::new(0)),
        (Shape::Int | Shape::Long, T::Int8) => Values::Int8(Vec::new()),
        (Shape::Int | Shape::Long, T::Int16) => Values::Int16(Vec::new()),
        (Shape::Int | Shape::Long, T::Int32) => Values::Int32(Vec::new()),
        (Shape::Int, T::Date32) if matches!(schema.logical, None | Some(Logical::Date)) => Values::Int32(Vec::new()),
        (Shape::Int, T::Time32(TimeUnit::Millisecond)) if time_unit(schema, TimeUnit::Millisecond).is_some() => {
            Values::Int32(Vec::new())
        }
        (Shape::Int, T::Int64) => Values::Scaled { values: Vec::new(), factor: 1, narrow: true },
        (Shape::Long, T::Int64) => Values::Int64(Vec::new()),
        (Shape::Int | Shape::Long, T::Time64(unit)) => scaled(schema, time_unit(schema, *unit)?, *unit)?,
        (Shape::Long, T::Timestamp(unit, _)) => scaled(schema, timestamp_unit(schema, *unit)?, *unit)?,
        (Shape::Float, T::Float32) => Values::Float32(Vec::new()),
        (Shape::Float, T::Float64) => Values::Widened(Vec::new()),
        (Shape::Double, T::Float64) => Values::Float64(Vec::new()),
        (Shape::Bytes | Shape::String, T::Binary | T::Utf8) => Values::Sized(LeafStrings::default()),
        (Shape::Fixed(size), T::Binary) => Values::Unsized(LeafStrings::default(), *size),
        (Shape::Enum(symbols), T::Utf8 | T::Binary) => Values::Symbol(LeafStrings::default(), symbols.clone()),
        (Shape::Fixed(_) | Shape::SizedFixed(_) | Shape::Bytes | Shape::String, T::FixedSizeBinary(width)) => {
            let width = usize::try_from(*width).ok().filter(|&width| width <= MAX_FIXED_BYTES)?;
            let source = match &schema.shape {
                Shape::Fixed(size) if *size == width => FixedSource::Fixed,
                Shape::SizedFixed(size) if *size == width => FixedSource::Bytes,
                Shape::Bytes => FixedSource::Bytes,
                Shape::String if width == 16 => FixedSource::UuidText,
                _ => return None,
            };
            Values::Fixed { values: Vec::new(), width, source }
        }
        (Shape::Fixed(_) | Shape::Bytes, T::Decimal128(_, scale)) => match schema.logical {
            Some(Logical::Decimal { scale: written, .. }) if i64::from(written) != i64::from(*scale) => return None,
            None | Some(Logical::Decimal { .. }) => {
                Values::Decimal(Vec::new(), if let Shape::Fixed(size) = schema.shape { Some(size) } else { None })
            }
            Some(_) => return None,
        },
        _ => return None,
    })
}

/// Returns the unit of a time of day, or `wanted` if the writer does not declare it as one.
fn time_unit(schema: &Schema, wanted: TimeUnit) -> Option<TimeUnit> {
    match schema.logical {
        None => Some(wanted),
        Some(Logical::Time(unit)) => Some(unit),
        Some(_) => None,
    }
}

/// Returns the unit of a timestamp, or `wanted` if the writer does not declare it as one.
fn timestamp_unit(schema: &Schema, wanted: TimeUnit) -> Option<TimeUnit> {
    match schema.logical {
        None => Some(wanted),
        Some(Logical::Timestamp { unit, .. }) => Some(unit),
        Some(_) => None,
    }
}

/// Converts integers from the unit `from` to the unit `to`, which must not be coarser.
fn scaled(schema: &Schema, from: TimeUnit, to: TimeUnit) -> Option<Values> {
    let per_second = |unit| match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000_i64,
    };
    let factor = per_second(to) / per_second(from);
    match (factor, &schema.shape) {
        (0, _) => None,
        (1, Shape::Long) => Some(Values::Int64(Vec::new())),
        _ => Some(Values::Scaled { values: Vec::new(), factor, narrow: schema.shape == Shape::Int }),
    }
}

/// Reads an integer; an error if it does not fit `T`.
fn narrowed<T: TryFrom<i64>>(wire: &mut Wire<'_>) -> Result<T> {
    let value = wire.long()?;
    T::try_from(value).map_err(|_| wire.error(format_args!("{value} does not fit {}", std::any::type_name::<T>())))
}

/// Appends one value of `width` bytes.
fn fixed(values: &mut Vec<u8>, width: usize, source: FixedSource, wire: &mut Wire<'_>) -> Result<()> {
    checked_end(values.len(), width)?;
    match source {
        FixedSource::Fixed => values.extend_from_slice(wire.take(width)?),
        FixedSource::Bytes => {
            let bytes = wire.sized()?;
            if bytes.len() != width {
                return Err(wire.error(format_args!("got {} bytes, expected {width}", bytes.len())));
            }
            values.extend_from_slice(bytes);
        }
        FixedSource::UuidText => match uuid(wire.sized()?) {
            Some(bytes) => values.extend_from_slice(&bytes),
            None => return Err(wire.error(format_args!("a string is not a UUID"))),
        },
    }
    Ok(())
}

/// Parses a UUID of 32 hexadecimal digits, with or without dashes.
fn uuid(text: &[u8]) -> Option<[u8; 16]> {
    if !matches!(text.len(), 32 | 36) {
        return None;
    }
    let mut value = 0_u128;
    let mut digits = 0;
    for (place, &byte) in text.iter().enumerate() {
        if byte == b'-' && text.len() == 36 && matches!(place, 8 | 13 | 18 | 23) {
            continue;
        }
        value = value << 4 | u128::from(char::from(byte).to_digit(16)?);
        digits += 1;
    }
    (digits == 32).then(|| value.to_be_bytes())
}

/// Returns a big-endian two's complement integer; `None` if it is empty or exceeds 128 bits.
fn unscaled(bytes: &[u8]) -> Option<i128> {
    let fill = if bytes.first()? & 0x80 == 0 { 0 } else { 0xff };
    let (extension, low) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut value = [fill; 16];
    for (to, from) in value.iter_mut().rev().zip(low.iter().rev()) {
        *to = *from;
    }
    let value = i128::from_be_bytes(value);
    let fits = extension.iter().all(|&byte| byte == fill) && (value < 0) == (fill == 0xff);
    fits.then_some(value)
}

/// Takes the values of a column, and frees the spare capacity if it exceeds a sixteenth of the values.
fn grown<T>(values: &mut Vec<T>) -> Vec<T> {
    let mut values = std::mem::take(values);
    if values.capacity() - values.len() > values.len() / 16 {
        values.shrink_to_fit();
    }
    values
}

fn primitive<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let array = PrimitiveArray::<T>::try_new(ScalarBuffer::from(grown(values)), nulls)?;
    // Timestamps get their zone here; all other types are already correct.
    Ok(if array.data_type() == data_type { Arc::new(array) } else { Arc::new(array.with_data_type(data_type.clone())) })
}

fn int32_array(values: &mut Vec<i32>, nulls: Option<NullBuffer>, data_type: &DataType) -> Result<ArrayRef> {
    match data_type {
        DataType::Date32 => primitive::<Date32Type>(values, nulls, data_type),
        DataType::Time32(TimeUnit::Millisecond) => primitive::<Time32MillisecondType>(values, nulls, data_type),
        _ => primitive::<Int32Type>(values, nulls, data_type),
    }
}

fn int64_array(values: &mut Vec<i64>, nulls: Option<NullBuffer>, data_type: &DataType) -> Result<ArrayRef> {
    match data_type {
        DataType::Time64(TimeUnit::Microsecond) => primitive::<Time64MicrosecondType>(values, nulls, data_type),
        DataType::Time64(TimeUnit::Nanosecond) => primitive::<Time64NanosecondType>(values, nulls, data_type),
        DataType::Timestamp(TimeUnit::Second, _) => primitive::<TimestampSecondType>(values, nulls, data_type),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            primitive::<TimestampMillisecondType>(values, nulls, data_type)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            primitive::<TimestampMicrosecondType>(values, nulls, data_type)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => primitive::<TimestampNanosecondType>(values, nulls, data_type),
        _ => primitive::<Int64Type>(values, nulls, data_type),
    }
}

/// A builder of values of any length, stored end to end.
#[derive(Debug)]
struct LeafStrings {
    offsets: Vec<i32>,
    values: Vec<u8>,
}

impl Default for LeafStrings {
    fn default() -> Self {
        Self { offsets: vec![0], values: Vec::new() }
    }
}

impl LeafStrings {
    #[inline]
    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        let Ok(end) = i32::try_from(self.values.len() + bytes.len()) else { return Err(too_long()) };
        self.values.extend_from_slice(bytes);
        self.offsets.push(end);
        Ok(())
    }

    fn finish(&mut self, nulls: Option<NullBuffer>, data_type: &DataType) -> Result<ArrayRef> {
        let Self { mut offsets, mut values } = std::mem::take(self);
        let (offsets, values) = (OffsetBuffer::new(grown(&mut offsets).into()), Buffer::from(grown(&mut values)));
        match data_type {
            DataType::Utf8 => match StringArray::try_new(offsets, values, nulls) {
                Ok(array) => Ok(Arc::new(array)),
                Err(error) => Err(Error::corrupt("a string is not valid UTF-8").caused_by(error)),
            },
            _ => Ok(Arc::new(BinaryArray::try_new(offsets, values, nulls)?)),
        }
    }
}

/// Returns the end offset of a value of `width` bytes that starts at `len`; an error if it exceeds 32 bits.
fn checked_end(len: usize, width: usize) -> Result<usize> {
    len.checked_add(width).filter(|&end| i32::try_from(end).is_ok()).ok_or_else(too_long)
}

#[cold]
pub(super) fn too_long() -> Error {
    Error::new(ErrorKind::LimitExceeded, "a column exceeds 2 GiB in one batch").hint("read fewer rows per batch")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_sign_extended_and_must_fit() {
        for (bytes, value) in [
            (&[0][..], Some(0)),
            (&[0xff], Some(-1)),
            (&[0x01, 0x00], Some(256)),
            (&[0x80, 0x00], Some(-32768)),
            (&[0xff; 40], Some(-1)),
            (&[], None),
        ] {
            assert_eq!(unscaled(bytes), value, "{bytes:?}");
        }
        let mut bytes = [0; 17];
        bytes[1] = 0x7f;
        assert_eq!(unscaled(&bytes), Some(0x7f << 120));
        bytes[1] = 0x80;
        assert_eq!(unscaled(&bytes), None);
        bytes[0] = 0xff;
        assert_eq!(unscaled(&bytes), Some(i128::MIN));
    }

    #[test]
    fn uuids_are_read_with_and_without_dashes() {
        let expected = Some(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef_u128.to_be_bytes());
        assert_eq!(uuid(b"01234567-89ab-cdef-0123-456789abcdef"), expected);
        assert_eq!(uuid(b"0123456789ABCDEF0123456789abcdef"), expected);
        for bad in [&b"0123"[..], b"0123456789abcdef0123456789abcdeg", b"012345678-9ab-cdef-0123-456789abcdef"] {
            assert_eq!(uuid(bad), None);
        }
    }
}
