//! Encodes columns as rows, byte for byte as Java does for partitions and keys. Bucket numbers are hashes of these
//! bytes.
//!
//! In a row, a NULL of a DECIMAL or TIMESTAMP that needs a part keeps that part, filled with zeros. In an array it does
//! not. Hashes must include those zeros.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int8Array, Int16Array,
    Int64Array, StringArray,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::hash::twos_complement_len;

use super::layout::{
    MAX_COMPACT_DECIMAL, MAX_COMPACT_TIMESTAMP, MAX_INLINE_BYTES, array_header_bytes, element_bytes, reserved_bytes,
    row_header_bytes,
};
use super::{count_type, field_types, offset};
use crate::spec::types::{DataType, TypeRoot};

/// Encodes columns as rows of kind +I, without arity. The result is empty if `columns` is empty.
///
/// # Errors
/// `InvalidArgument` for columns of different lengths, or whose Arrow type differs from [`DataType::arrow`] (timestamps
/// may have any unit); `LimitExceeded` above 2 GiB.
pub fn encode(columns: &[ArrayRef], types: &[DataType]) -> Result<BinaryArray> {
    let length = columns.first().map_or(0, Array::len);
    if columns.len() != types.len() || columns.iter().any(|column| column.len() != length) {
        return Err(Error::invalid(format!(
            "{} columns for {} types, or columns of different lengths",
            columns.len(),
            types.len()
        )));
    }
    let row = EncodedRow::new(columns, types)?;
    let mut out = Out { bytes: Vec::with_capacity(length.saturating_mul(row.fixed_bytes())) };
    let mut offsets = Vec::with_capacity(length + 1);
    offsets.push(0);
    for index in 0..length {
        row.write(index, &mut out)?;
        offsets.push(offset(out.bytes.len())?);
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(BinaryArray::try_new(offsets, Buffer::from(out.bytes), None)?)
}

/// The bytes written so far. All parts are aligned to 8 bytes from the start of their row.
struct Out {
    bytes: Vec<u8>,
}

/// The slot that a value is written to.
#[derive(Clone, Copy)]
struct RowPlace {
    /// The base of offsets.
    base: usize,
    /// The position where the slot begins.
    at: usize,
}

impl Out {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    fn set_bit(&mut self, start: usize, bit: usize) {
        if let Some(byte) = self.bytes.get_mut(start + bit / 8) {
            *byte |= 1 << (bit % 8);
        }
    }

    /// Appends zeros until the part that began at `start` ends at a word boundary.
    fn pad(&mut self, start: usize) {
        let end = start + (self.bytes.len() - start).next_multiple_of(8);
        self.bytes.resize(end, 0);
    }

    /// Records the offset and the length of a part that began at `start` in the slot of its value.
    fn refer(&mut self, place: RowPlace, start: usize, length: usize) -> Result<()> {
        let too_long = || Error::new(ErrorKind::LimitExceeded, "a row is larger than 2 GiB");
        let (start, length) = (offset(start - place.base)?, u32::try_from(length).map_err(|_| too_long())?);
        self.put(place.at, &length.to_le_bytes());
        self.put(place.at + 4, &start.to_le_bytes());
        Ok(())
    }

    /// Appends bytes as a part and records the part in the slot.
    fn part(&mut self, place: RowPlace, bytes: &[u8]) -> Result<()> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.pad(start);
        self.refer(place, start, bytes.len())
    }

    fn byte_string(&mut self, place: RowPlace, bytes: &[u8]) -> Result<()> {
        match u8::try_from(bytes.len()) {
            Ok(length) if bytes.len() <= MAX_INLINE_BYTES => {
                self.put(place.at, bytes);
                self.put(place.at + 7, &[0x80 | length]);
                Ok(())
            }
            _ => self.part(place, bytes),
        }
    }
}

/// The fields of a row.
struct EncodedRow<'a> {
    fields: Vec<RowColumn<'a>>,
}

impl<'a> EncodedRow<'a> {
    fn new(columns: &'a [ArrayRef], types: &[DataType]) -> Result<Self> {
        let fields = columns.iter().zip(types).map(|(column, data_type)| RowColumn::new(column, data_type));
        Ok(Self { fields: fields.collect::<Result<_>>()? })
    }

    fn fixed_bytes(&self) -> usize {
        row_header_bytes(self.fields.len()) + 8 * self.fields.len()
    }

    /// Appends a row, padded to whole words.
    fn write(&self, index: usize, out: &mut Out) -> Result<()> {
        let base = out.bytes.len();
        let header = row_header_bytes(self.fields.len());
        out.bytes.resize(base + self.fixed_bytes(), 0);
        for (number, field) in self.fields.iter().enumerate() {
            let place = RowPlace { base, at: base + header + 8 * number };
            if !field.is_null(index) {
                field.write(index, place, out)?;
                continue;
            }
            out.set_bit(base, number + 8);
            if field.reserved_bytes > 0 {
                let start = out.bytes.len();
                out.bytes.resize(start + field.reserved_bytes, 0);
                out.refer(place, start, 0)?;
            }
        }
        Ok(())
    }
}

/// A column and the way its values are written.
struct RowColumn<'a> {
    nulls: Option<&'a NullBuffer>,
    reserved_bytes: usize,
    values: EncodedValues<'a>,
}

enum EncodedValues<'a> {
    Boolean(&'a BooleanArray),
    Int8(&'a Int8Array),
    Int16(&'a Int16Array),
    Int32(&'a [i32]),
    Int64(&'a Int64Array),
    Float32(&'a Float32Array),
    Float64(&'a Float64Array),
    Decimal { values: &'a Decimal128Array, compact: bool },
    Timestamp { values: &'a [i64], unit: TimeUnit, compact: bool },
    Text(&'a StringArray),
    Bytes(&'a BinaryArray),
    List(EncodedElements<'a>),
    Map { keys: EncodedElements<'a>, values: EncodedElements<'a> },
    Row(EncodedRow<'a>),
    Variant { metadata: &'a BinaryArray, values: &'a BinaryArray },
}

impl<'a> RowColumn<'a> {
    fn new(array: &'a ArrayRef, data_type: &DataType) -> Result<Self> {
        let values =
            EncodedValues::new(array, data_type).transpose().unwrap_or_else(|| Err(mismatch(array, data_type)))?;
        Ok(Self { nulls: array.nulls(), reserved_bytes: reserved_bytes(data_type), values })
    }

    #[inline]
    fn is_null(&self, index: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(index))
    }

    /// Writes a value that is not NULL.
    fn write(&self, index: usize, place: RowPlace, out: &mut Out) -> Result<()> {
        let at = place.at;
        match &self.values {
            EncodedValues::Boolean(values) => out.put(at, &[u8::from(values.value(index))]),
            EncodedValues::Int8(values) => out.put(at, &values.value(index).to_le_bytes()),
            EncodedValues::Int16(values) => out.put(at, &values.value(index).to_le_bytes()),
            EncodedValues::Int32(values) => out.put(at, &values.get(index).copied().unwrap_or_default().to_le_bytes()),
            EncodedValues::Int64(values) => out.put(at, &values.value(index).to_le_bytes()),
            EncodedValues::Float32(values) => out.put(at, &values.value(index).to_le_bytes()),
            EncodedValues::Float64(values) => out.put(at, &values.value(index).to_le_bytes()),
            EncodedValues::Decimal { values, compact } => write_decimal(values.value(index), *compact, place, out)?,
            EncodedValues::Timestamp { values, unit, compact } => {
                let value = values.get(index).copied().unwrap_or_default();
                write_timestamp(value, *unit, *compact, place, out)?;
            }
            EncodedValues::Text(values) => out.byte_string(place, values.value(index).as_bytes())?,
            EncodedValues::Bytes(values) => out.byte_string(place, values.value(index))?,
            EncodedValues::List(elements) => {
                let start = out.bytes.len();
                elements.write(index, out)?;
                out.refer(place, start, out.bytes.len() - start)?;
            }
            EncodedValues::Map { keys, values } => write_map(keys, values, index, place, out)?,
            EncodedValues::Row(row) => {
                let start = out.bytes.len();
                row.write(index, out)?;
                out.refer(place, start, out.bytes.len() - start)?;
            }
            EncodedValues::Variant { metadata, values } => {
                let value = values.value(index);
                let start = out.bytes.len();
                out.bytes.extend_from_slice(&offset(value.len())?.to_le_bytes());
                out.bytes.extend_from_slice(value);
                out.bytes.extend_from_slice(metadata.value(index));
                let length = out.bytes.len() - start;
                out.pad(start);
                out.refer(place, start, length)?;
            }
        }
        Ok(())
    }
}

impl<'a> EncodedValues<'a> {
    /// Creates a column, or returns None if the Arrow type is not that of `data_type`.
    fn new(array: &'a ArrayRef, data_type: &DataType) -> Result<Option<Self>> {
        Ok(match &data_type.root {
            TypeRoot::Boolean => array.as_boolean_opt().map(Self::Boolean),
            TypeRoot::TinyInt => array.as_primitive_opt::<Int8Type>().map(Self::Int8),
            TypeRoot::SmallInt => array.as_primitive_opt::<Int16Type>().map(Self::Int16),
            TypeRoot::Int => array.as_primitive_opt::<Int32Type>().map(|array| Self::Int32(array.values())),
            TypeRoot::Date => array.as_primitive_opt::<Date32Type>().map(|array| Self::Int32(array.values())),
            TypeRoot::Time(_) => {
                array.as_primitive_opt::<Time32MillisecondType>().map(|array| Self::Int32(array.values()))
            }
            TypeRoot::BigInt => array.as_primitive_opt::<Int64Type>().map(Self::Int64),
            TypeRoot::Float => array.as_primitive_opt::<Float32Type>().map(Self::Float32),
            TypeRoot::Double => array.as_primitive_opt::<Float64Type>().map(Self::Float64),
            TypeRoot::Decimal(digits, scale) => {
                let compact = *digits <= MAX_COMPACT_DECIMAL;
                let array = array.as_primitive_opt::<Decimal128Type>();
                let array = array.filter(|array| array.scale() == scale.cast_signed());
                array.map(|values| Self::Decimal { values, compact })
            }
            TypeRoot::Timestamp(digits) | TypeRoot::LocalZonedTimestamp(digits) => {
                let compact = *digits <= MAX_COMPACT_TIMESTAMP;
                timestamps(array).map(|(values, unit)| Self::Timestamp { values, unit, compact })
            }
            TypeRoot::Char(_) | TypeRoot::VarChar(_) => array.as_string_opt().map(Self::Text),
            TypeRoot::Binary(_) | TypeRoot::VarBinary(_) | TypeRoot::Blob => array.as_binary_opt().map(Self::Bytes),
            TypeRoot::Array(element) => match array.as_list_opt::<i32>() {
                Some(list) => Some(Self::List(EncodedElements::new(list.values(), list.offsets(), element)?)),
                None => None,
            },
            TypeRoot::Map(key, value) => Self::map(array, key, value)?,
            TypeRoot::Multiset(element) => Self::map(array, element, &count_type())?,
            TypeRoot::Row(fields) => match array.as_struct_opt() {
                Some(row) if row.num_columns() == fields.len() => {
                    Some(Self::Row(EncodedRow::new(row.columns(), &field_types(fields))?))
                }
                _ => None,
            },
            TypeRoot::Variant => array.as_struct_opt().and_then(|row| {
                let binary = |name| row.column_by_name(name)?.as_binary_opt();
                Some(Self::Variant { metadata: binary("metadata")?, values: binary("value")? })
            }),
        })
    }

    fn map(array: &'a ArrayRef, key: &DataType, value: &DataType) -> Result<Option<Self>> {
        let Some(map) = array.as_map_opt() else { return Ok(None) };
        let keys = EncodedElements::new(map.keys(), map.offsets(), key)?;
        let values = EncodedElements::new(map.values(), map.offsets(), value)?;
        Ok(Some(Self::Map { keys, values }))
    }
}

/// The elements of all arrays of a column.
struct EncodedElements<'a> {
    offsets: &'a OffsetBuffer<i32>,
    element_bytes: usize,
    column: Box<RowColumn<'a>>,
}

impl<'a> EncodedElements<'a> {
    fn new(values: &'a ArrayRef, offsets: &'a OffsetBuffer<i32>, data_type: &DataType) -> Result<Self> {
        let column = Box::new(RowColumn::new(values, data_type)?);
        Ok(Self { offsets, element_bytes: element_bytes(data_type), column })
    }

    /// Appends an array, padded to whole words.
    fn write(&self, index: usize, out: &mut Out) -> Result<()> {
        let ends = self.offsets.get(index).zip(self.offsets.get(index + 1));
        let ends = ends.and_then(|(start, end)| Some((usize::try_from(*start).ok()?, usize::try_from(*end).ok()?)));
        let (first, end) = ends.ok_or_else(|| Error::internal("a list has no offsets"))?;
        let length = end.saturating_sub(first);
        let base = out.bytes.len();
        let header = array_header_bytes(length);
        out.bytes.resize(base + (header + length * self.element_bytes).next_multiple_of(8), 0);
        out.put(base, &offset(length)?.to_le_bytes());
        for number in 0..length {
            if self.column.is_null(first + number) {
                out.set_bit(base + 4, number);
            } else {
                let at = base + header + number * self.element_bytes;
                self.column.write(first + number, RowPlace { base, at }, out)?;
            }
        }
        Ok(())
    }
}

fn write_map(
    keys: &EncodedElements<'_>,
    values: &EncodedElements<'_>,
    index: usize,
    place: RowPlace,
    out: &mut Out,
) -> Result<()> {
    let start = out.bytes.len();
    out.bytes.extend_from_slice(&[0; 4]);
    keys.write(index, out)?;
    let keys_bytes = out.bytes.len() - start - 4;
    out.put(start, &offset(keys_bytes)?.to_le_bytes());
    values.write(index, out)?;
    let length = out.bytes.len() - start;
    out.pad(start);
    out.refer(place, start, length)
}

fn write_decimal(value: i128, compact: bool, place: RowPlace, out: &mut Out) -> Result<()> {
    if compact {
        let value = i64::try_from(value);
        let value = value.map_err(|_| Error::invalid("a DECIMAL has more digits than its type allows"))?;
        out.put(place.at, &value.to_le_bytes());
        return Ok(());
    }
    let length = twos_complement_len(value);
    let start = out.bytes.len();
    out.bytes.extend_from_slice(value.to_be_bytes().get(16 - length..).unwrap_or_default());
    out.bytes.resize(start + 16, 0);
    out.refer(place, start, length)
}

fn write_timestamp(value: i64, unit: TimeUnit, compact: bool, place: RowPlace, out: &mut Out) -> Result<()> {
    let (millis, nanos) = match unit {
        TimeUnit::Second => {
            let millis = value.checked_mul(1_000);
            (millis.ok_or_else(|| Error::invalid("a timestamp does not fit 64 bits of milliseconds"))?, 0)
        }
        TimeUnit::Millisecond => (value, 0),
        TimeUnit::Microsecond => (value.div_euclid(1_000), value.rem_euclid(1_000) * 1_000),
        TimeUnit::Nanosecond => (value.div_euclid(1_000_000), value.rem_euclid(1_000_000)),
    };
    if compact {
        out.put(place.at, &millis.to_le_bytes());
        return Ok(());
    }
    let start = out.bytes.len();
    out.bytes.extend_from_slice(&millis.to_le_bytes());
    out.refer(place, start, usize::try_from(nanos).unwrap_or_default())
}

fn timestamps(array: &ArrayRef) -> Option<(&[i64], TimeUnit)> {
    let ArrowType::Timestamp(unit, _) = array.data_type() else { return None };
    let values: &[i64] = match unit {
        TimeUnit::Second => array.as_primitive_opt::<TimestampSecondType>()?.values(),
        TimeUnit::Millisecond => array.as_primitive_opt::<TimestampMillisecondType>()?.values(),
        TimeUnit::Microsecond => array.as_primitive_opt::<TimestampMicrosecondType>()?.values(),
        TimeUnit::Nanosecond => array.as_primitive_opt::<TimestampNanosecondType>()?.values(),
    };
    Some((values, *unit))
}

fn mismatch(array: &ArrayRef, data_type: &DataType) -> Error {
    Error::invalid(format!("values of Arrow type {}, expected {}", array.data_type(), data_type.arrow()))
}
