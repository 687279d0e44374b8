//! Decodes rows into columns: each column is decoded over all rows. Nested values are decoded in the same way, one
//! level down.
//!
//! Offsets and lengths are not trusted. The parts of all values of a column must not be longer than the bytes that hold
//! them: otherwise overlapping parts could expand a small file without limit.

use std::sync::Arc;

use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, ListArray, MapArray, PrimitiveArray, StringArray,
    StructArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType as ArrowType, Fields};
use frazil_core::error::{Error, ErrorKind, Result};

use super::layout::{
    MAX_COMPACT_DECIMAL, MAX_COMPACT_TIMESTAMP, MAX_INLINE_BYTES, array_header_bytes, element_bytes, row_header_bytes,
};
use super::{count_type, field_types, offset};
use crate::spec::types::{DataType, TypeRoot};

/// How a timestamp that does not fit 64 bits in its unit is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overflow {
    /// Return an error.
    Fail,
    /// Return NULL.
    Null,
}

/// A value: the eight bytes of its slot and the row or array that offsets in the slot refer to.
#[derive(Clone, Copy)]
struct Cell<'a> {
    region: &'a [u8],
    place: [u8; 8],
}

/// The values of one column, with None for NULL.
type Cells<'a> = Vec<Option<Cell<'a>>>;

pub(super) fn columns(
    rows: &BinaryArray,
    types: &[DataType],
    wanted: &[usize],
    overflow: Overflow,
) -> Result<Vec<ArrayRef>> {
    let rows: Vec<Option<&[u8]>> = rows.iter().map(|row| body(row, types.len())).collect::<Result<_>>()?;
    fields(&rows, types, wanted, overflow)
}

/// Returns the bytes of a row after its arity, or None for NULL and for a row without fields.
fn body(row: Option<&[u8]>, expected: usize) -> Result<Option<&[u8]>> {
    let Some(row) = row else { return Ok(None) };
    let Some((arity, body)) = row.split_first_chunk::<4>() else {
        return Err(Error::corrupt(format!("a row of {} bytes is too short", row.len())));
    };
    let arity = u32::from_be_bytes(*arity);
    match usize::try_from(arity) {
        Ok(0) => Ok(None),
        Ok(arity) if arity == expected => Ok(Some(body)),
        _ => Err(Error::corrupt(format!("a row has {arity} fields, expected {expected}"))),
    }
}

/// Decodes the fields at the positions `wanted` of rows without arity, one array for each position.
fn fields(rows: &[Option<&[u8]>], types: &[DataType], wanted: &[usize], overflow: Overflow) -> Result<Vec<ArrayRef>> {
    let header = row_header_bytes(types.len());
    let fixed = header.saturating_add(types.len().saturating_mul(8));
    if let Some(short) = rows.iter().flatten().find(|row| row.len() < fixed) {
        return Err(Error::corrupt(format!(
            "a row of {} bytes is too short: its fixed-length part takes {fixed} bytes",
            short.len()
        )));
    }
    let within = rows.iter().flatten().map(|row| row.len()).sum();
    let field = |&field: &usize| {
        let data_type = types.get(field).ok_or_else(|| {
            Error::invalid(format!("field {field} is out of range: the row has {} fields", types.len()))
        })?;
        let cells = rows.iter().map(|row| field_of((*row)?, field, header)).collect();
        Decoder { within, overflow }.column(&cells, data_type).map_err(|error| error.with("field", field))
    };
    wanted.iter().map(field).collect()
}

/// Returns a field of a row that is long enough for all its slots, or None for NULL.
#[inline]
fn field_of(row: &[u8], field: usize, header: usize) -> Option<Cell<'_>> {
    if is_null(row, field + 8) {
        return None;
    }
    let place = *row.get(header + 8 * field..)?.first_chunk()?;
    Some(Cell { region: row, place })
}

#[inline]
fn is_null(bits: &[u8], bit: usize) -> bool {
    bits.get(bit / 8).is_none_or(|byte| (byte >> (bit % 8)) & 1 == 1)
}

/// The decoder of one column.
#[derive(Clone, Copy)]
struct Decoder {
    /// The maximum number of bytes that all values of the column may take.
    within: usize,
    overflow: Overflow,
}

impl Decoder {
    fn column(self, cells: &Cells<'_>, data_type: &DataType) -> Result<ArrayRef> {
        let arrow = data_type.arrow();
        match &data_type.root {
            TypeRoot::Boolean => Ok(Arc::new(booleans(cells))),
            TypeRoot::TinyInt => fixed::<Int8Type>(cells, &arrow, |[a, ..]| i8::from_le_bytes([a])),
            TypeRoot::SmallInt => fixed::<Int16Type>(cells, &arrow, |[a, b, ..]| i16::from_le_bytes([a, b])),
            TypeRoot::Int => fixed::<Int32Type>(cells, &arrow, int),
            TypeRoot::Date => fixed::<Date32Type>(cells, &arrow, int),
            TypeRoot::Time(_) => fixed::<Time32MillisecondType>(cells, &arrow, int),
            TypeRoot::BigInt => fixed::<Int64Type>(cells, &arrow, i64::from_le_bytes),
            TypeRoot::Float => fixed::<Float32Type>(cells, &arrow, |[a, b, c, d, ..]| f32::from_le_bytes([a, b, c, d])),
            TypeRoot::Double => fixed::<Float64Type>(cells, &arrow, f64::from_le_bytes),
            TypeRoot::Decimal(digits, _) if *digits <= MAX_COMPACT_DECIMAL => {
                fixed::<Decimal128Type>(cells, &arrow, |place| i128::from(i64::from_le_bytes(place)))
            }
            TypeRoot::Decimal(..) => primitive::<Decimal128Type>(cells, &arrow, |cell| wide_decimal(cell).map(Some)),
            TypeRoot::Timestamp(digits) | TypeRoot::LocalZonedTimestamp(digits) => {
                self.timestamps(cells, *digits, &arrow)
            }
            TypeRoot::Char(_) | TypeRoot::VarChar(_) => {
                let (offsets, values) = self.byte_strings(cells)?;
                let array = StringArray::try_new(offsets, values, nulls(cells));
                Ok(Arc::new(array.map_err(|error| Error::corrupt("a string is not valid UTF-8").caused_by(error))?))
            }
            TypeRoot::Binary(_) | TypeRoot::VarBinary(_) | TypeRoot::Blob => {
                let (offsets, values) = self.byte_strings(cells)?;
                Ok(Arc::new(BinaryArray::try_new(offsets, values, nulls(cells))?))
            }
            TypeRoot::Array(element) => self.list(cells, element, &arrow),
            TypeRoot::Map(key, value) => self.map(cells, key, value, &arrow),
            TypeRoot::Multiset(element) => self.map(cells, element, &count_type(), &arrow),
            TypeRoot::Row(inner) => {
                let types = field_types(inner);
                let wanted: Vec<usize> = (0..types.len()).collect();
                let columns = fields(&self.parts(cells)?, &types, &wanted, self.overflow)?;
                structs(&arrow, columns, nulls(cells), cells.len())
            }
            TypeRoot::Variant => self.variants(cells, &arrow),
        }
    }

    fn timestamps(self, cells: &Cells<'_>, digits: u8, arrow: &ArrowType) -> Result<ArrayRef> {
        if digits <= MAX_COMPACT_TIMESTAMP {
            return fixed::<TimestampMillisecondType>(cells, arrow, i64::from_le_bytes);
        }
        let scaled = |cell: &Cell<'_>, per_milli: i64, nanos_per_unit: i64| {
            let (millis, nanos) = wide_timestamp(cell)?;
            let value = millis.checked_mul(per_milli).and_then(|value| value.checked_add(nanos / nanos_per_unit));
            match (value, self.overflow) {
                (None, Overflow::Fail) => Err(Error::new(
                    ErrorKind::LimitExceeded,
                    format!("a TIMESTAMP({digits}) of {millis} ms does not fit 64 bits"),
                )),
                (value, _) => Ok(value),
            }
        };
        if digits <= 6 {
            primitive::<TimestampMicrosecondType>(cells, arrow, |cell| scaled(cell, 1_000, 1_000))
        } else {
            primitive::<TimestampNanosecondType>(cells, arrow, |cell| scaled(cell, 1_000_000, 1))
        }
    }

    /// Returns the offsets and the concatenated bytes of strings or byte strings.
    fn byte_strings(self, cells: &Cells<'_>) -> Result<(OffsetBuffer<i32>, Buffer)> {
        let mut values = Vec::new();
        let mut offsets = Vec::with_capacity(cells.len() + 1);
        offsets.push(0);
        let mut used = 0_usize;
        for cell in cells {
            if let Some(Cell { place, .. }) = cell
                && let [text @ .., mark] = place
                && mark & 0x80 != 0
            {
                let length = usize::from(mark & 0x7f);
                let text = text.get(..length).filter(|_| length <= MAX_INLINE_BYTES);
                values.extend_from_slice(text.ok_or_else(|| Error::corrupt(format!("{length} bytes in a slot of 7")))?);
            } else if let Some(cell) = cell {
                let part = part(cell)?;
                used = self.grown(used, part)?;
                values.extend_from_slice(part);
            }
            offsets.push(offset(values.len())?);
        }
        Ok((OffsetBuffer::new(ScalarBuffer::from(offsets)), Buffer::from(values)))
    }

    /// Returns the bytes of the parts that the slots refer to, with None for NULL.
    fn parts<'a>(self, cells: &Cells<'a>) -> Result<Vec<Option<&'a [u8]>>> {
        let mut used = 0;
        let mut parts = Vec::with_capacity(cells.len());
        for cell in cells {
            let part = cell.as_ref().map(part).transpose()?;
            used = self.grown(used, part.unwrap_or_default())?;
            parts.push(part);
        }
        Ok(parts)
    }

    fn grown(self, used: usize, part: &[u8]) -> Result<usize> {
        let used = used.saturating_add(part.len());
        if used > self.within {
            return Err(Error::corrupt(format!(
                "values of more than {} bytes overlap in a region of that size",
                self.within
            )));
        }
        Ok(used)
    }

    fn list(self, cells: &Cells<'_>, element: &DataType, arrow: &ArrowType) -> Result<ArrayRef> {
        let ArrowType::List(field) = arrow else {
            return Err(Error::internal("the Arrow type of an ARRAY is not a list"));
        };
        let elements = DecodedElements::of(&self.parts(cells)?, element)?;
        let values = Self { within: elements.within, ..self }.column(&elements.cells, element)?;
        Ok(Arc::new(ListArray::try_new(Arc::clone(field), elements.offsets, values, nulls(cells))?))
    }

    fn map(self, cells: &Cells<'_>, key: &DataType, value: &DataType, arrow: &ArrowType) -> Result<ArrayRef> {
        let ArrowType::Map(field, sorted) = arrow else {
            return Err(Error::internal("the Arrow type of a MAP is not a map"));
        };
        let halves = self.parts(cells)?.into_iter().map(|part| part.map(halves).transpose());
        let halves = halves.collect::<Result<Vec<_>>>()?;
        let keys: Vec<_> = halves.iter().map(|half| half.map(|(keys, _)| keys)).collect();
        let values: Vec<_> = halves.iter().map(|half| half.map(|(_, values)| values)).collect();
        let (keys, values) = (DecodedElements::of(&keys, key)?, DecodedElements::of(&values, value)?);
        if keys.offsets != values.offsets {
            return Err(Error::corrupt("a map has different numbers of keys and values"));
        }
        let (offsets, length) = (keys.offsets, keys.cells.len());
        let keys = Self { within: keys.within, ..self }.column(&keys.cells, key)?;
        let values = Self { within: values.within, ..self }.column(&values.cells, value)?;
        let entries = struct_array(field.data_type(), vec![keys, values], None, length)?;
        Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls(cells), *sorted)?))
    }

    fn variants(self, cells: &Cells<'_>, arrow: &ArrowType) -> Result<ArrayRef> {
        let halves = self.parts(cells)?.into_iter().map(|part| part.map_or(Ok((&[][..], &[][..])), halves));
        let (values, metadata): (Vec<_>, Vec<_>) = halves.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let column = |values: Vec<&[u8]>| -> Result<ArrayRef> {
            offset(values.iter().map(|value| value.len()).sum())?;
            Ok(Arc::new(BinaryArray::from_vec(values)))
        };
        structs(arrow, vec![column(metadata)?, column(values)?], nulls(cells), cells.len())
    }
}

/// The elements of many arrays, concatenated.
struct DecodedElements<'a> {
    cells: Cells<'a>,
    offsets: OffsetBuffer<i32>,
    /// The number of bytes that hold all elements.
    within: usize,
}

impl<'a> DecodedElements<'a> {
    fn of(arrays: &[Option<&'a [u8]>], element: &DataType) -> Result<Self> {
        let width = element_bytes(element);
        let mut cells = Vec::new();
        let mut offsets = Vec::with_capacity(arrays.len() + 1);
        offsets.push(0);
        for region in arrays {
            if let Some(region) = region {
                Self::push(region, width, &mut cells)?;
            }
            offsets.push(offset(cells.len())?);
        }
        let within = arrays.iter().flatten().map(|region| region.len()).sum();
        Ok(Self { cells, offsets: OffsetBuffer::new(ScalarBuffer::from(offsets)), within })
    }

    fn push(region: &'a [u8], width: usize, cells: &mut Cells<'a>) -> Result<()> {
        let (length, bits) = split_length(region)?;
        let header = array_header_bytes(length);
        let end = length.checked_mul(width).and_then(|bytes| bytes.checked_add(header));
        let Some(places) = end.and_then(|end| region.get(header..end)) else {
            return Err(Error::corrupt(format!("an array of {length} elements does not fit {} bytes", region.len())));
        };
        cells.reserve(length);
        for (index, element) in places.chunks_exact(width).enumerate() {
            let mut place = [0; 8];
            place.iter_mut().zip(element).for_each(|(to, from)| *to = *from);
            cells.push((!is_null(bits, index)).then_some(Cell { region, place }));
        }
        Ok(())
    }
}

/// Splits off the leading length and returns it with the remaining bytes.
fn split_length(bytes: &[u8]) -> Result<(usize, &[u8])> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
        return Err(Error::corrupt(format!("a length does not fit {} bytes", bytes.len())));
    };
    let length = i32::from_le_bytes(*length);
    let length = usize::try_from(length).map_err(|_| Error::corrupt(format!("negative length {length}")))?;
    Ok((length, rest))
}

/// Splits a map into keys and values, or a variant into value and metadata.
fn halves(part: &[u8]) -> Result<(&[u8], &[u8])> {
    let (length, rest) = split_length(part)?;
    let halves = rest.split_at_checked(length);
    halves.ok_or_else(|| Error::corrupt(format!("{length} bytes declared, {} bytes found", rest.len())))
}

/// Returns the bytes of the part that a slot refers to by offset and length.
#[inline]
fn part<'a>(cell: &Cell<'a>) -> Result<&'a [u8]> {
    let [l0, l1, l2, l3, o0, o1, o2, o3] = cell.place;
    slice(cell.region, u32::from_le_bytes([o0, o1, o2, o3]), u32::from_le_bytes([l0, l1, l2, l3]))
}

#[inline]
fn slice(region: &[u8], offset: u32, length: u32) -> Result<&[u8]> {
    let range = usize::try_from(offset).ok().zip(usize::try_from(length).ok());
    let range = range.and_then(|(start, length)| Some(start..start.checked_add(length)?));
    range.and_then(|range| region.get(range)).ok_or_else(|| {
        Error::corrupt(format!("{length} bytes at offset {offset} exceed the region of {} bytes", region.len()))
    })
}

fn wide_decimal(cell: &Cell<'_>) -> Result<i128> {
    let part = part(cell)?;
    let fill = match part.first() {
        Some(first) if part.len() <= 16 => {
            if first & 0x80 == 0 {
                0
            } else {
                0xff
            }
        }
        _ => return Err(Error::corrupt(format!("a DECIMAL of {} bytes", part.len()))),
    };
    let mut value = [fill; 16];
    value.iter_mut().rev().zip(part.iter().rev()).for_each(|(to, from)| *to = *from);
    Ok(i128::from_be_bytes(value))
}

/// Returns the milliseconds, and the nanoseconds within the millisecond.
fn wide_timestamp(cell: &Cell<'_>) -> Result<(i64, i64)> {
    let [n0, n1, n2, n3, o0, o1, o2, o3] = cell.place;
    let millis = slice(cell.region, u32::from_le_bytes([o0, o1, o2, o3]), 8)?;
    let millis =
        i64::from_le_bytes(*millis.first_chunk().ok_or_else(|| Error::internal("expected a slice of 8 bytes"))?);
    match u32::from_le_bytes([n0, n1, n2, n3]) {
        nanos @ 0..1_000_000 => Ok((millis, i64::from(nanos))),
        nanos => Err(Error::corrupt(format!("{nanos} is out of range for the nanoseconds within a millisecond"))),
    }
}

fn int([a, b, c, d, ..]: [u8; 8]) -> i32 {
    i32::from_le_bytes([a, b, c, d])
}

fn nulls(cells: &Cells<'_>) -> Option<NullBuffer> {
    let nulls = NullBuffer::new(cells.iter().map(Option::is_some).collect());
    Some(nulls).filter(|nulls| nulls.null_count() > 0)
}

fn booleans(cells: &Cells<'_>) -> BooleanArray {
    let is_true = |cell: &Option<Cell<'_>>| matches!(cell, Some(Cell { place: [byte, ..], .. }) if *byte != 0);
    let values: BooleanBuffer = cells.iter().map(is_true).collect();
    BooleanArray::new(values, nulls(cells))
}

/// Decodes values that are stored in their slots.
fn fixed<T: ArrowPrimitiveType>(
    cells: &Cells<'_>,
    arrow: &ArrowType,
    value: impl Fn([u8; 8]) -> T::Native,
) -> Result<ArrayRef> {
    let values: Vec<T::Native> =
        cells.iter().map(|cell| cell.map_or_else(T::default_value, |cell| value(cell.place))).collect();
    let array = PrimitiveArray::<T>::try_new(ScalarBuffer::from(values), nulls(cells))?;
    Ok(Arc::new(array.with_data_type(arrow.clone())))
}

/// Decodes values whose decoding may fail or yield NULL.
fn primitive<T: ArrowPrimitiveType>(
    cells: &Cells<'_>,
    arrow: &ArrowType,
    value: impl Fn(&Cell<'_>) -> Result<Option<T::Native>>,
) -> Result<ArrayRef> {
    let values = cells.iter().map(|cell| cell.as_ref().map_or(Ok(None), &value));
    let array = values.collect::<Result<PrimitiveArray<T>>>()?;
    Ok(Arc::new(array.with_data_type(arrow.clone())))
}

fn structs(arrow: &ArrowType, columns: Vec<ArrayRef>, nulls: Option<NullBuffer>, length: usize) -> Result<ArrayRef> {
    Ok(Arc::new(struct_array(arrow, columns, nulls, length)?))
}

fn struct_array(
    arrow: &ArrowType,
    columns: Vec<ArrayRef>,
    nulls: Option<NullBuffer>,
    length: usize,
) -> Result<StructArray> {
    let ArrowType::Struct(fields) = arrow else {
        return Err(Error::internal("the Arrow type of a ROW is not a struct"));
    };
    Ok(StructArray::try_new_with_length(Fields::clone(fields), columns, nulls, length)?)
}
