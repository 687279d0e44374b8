//! Decodes variant bytes without copying them. Counts and offsets are checked against the available bytes before use.

use crate::bytes::Cursor;
use crate::error::{Error, Result};

/// The dictionary of field names of one variant.
#[derive(Debug, Clone, Copy)]
pub struct Metadata<'a> {
    /// The offsets: `count + 1` numbers of `width` bytes.
    offsets: &'a [u8],
    width: usize,
    count: usize,
    text: &'a [u8],
    sorted: bool,
}

impl<'a> Metadata<'a> {
    /// Parses the header; names are checked when they are read.
    ///
    /// # Errors
    /// `CorruptData` for a version other than 1, or a dictionary that is longer than the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let header = cursor.byte()?;
        if header & 0x0f != 1 {
            return Err(Error::corrupt(format!("unsupported variant metadata version {}", header & 0x0f)));
        }
        let width = usize::from(header >> 6) + 1;
        let count = number(cursor.take(width)?);
        let offsets = cursor.take(table_len(count, 1, width)?)?;
        Ok(Self { offsets, width, count, text: cursor.rest(), sorted: header & 0x10 != 0 })
    }

    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the name with this id.
    ///
    /// # Errors
    /// `CorruptData` if the id does not exist or the name is not valid UTF-8.
    pub fn name(&self, id: usize) -> Result<&'a str> {
        if id >= self.count {
            return Err(Error::corrupt(format!(
                "the variant field name {id} is out of range for {} names",
                self.count
            )));
        }
        let (start, end) = (entry(self.offsets, id, self.width)?, entry(self.offsets, id + 1, self.width)?);
        let bytes =
            self.text.get(start..end).ok_or_else(|| Error::corrupt("a variant field name is outside the metadata"))?;
        text(bytes)
    }

    /// Returns the id of a name; None if it is not in the dictionary.
    ///
    /// # Errors
    /// `CorruptData` if a name that was compared is corrupt.
    pub fn id_of(&self, name: &str) -> Result<Option<usize>> {
        if !self.sorted {
            for id in 0..self.count {
                if self.name(id)? == name {
                    return Ok(Some(id));
                }
            }
            return Ok(None);
        }
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            match self.name(middle)?.cmp(name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
            }
        }
        Ok(None)
    }
}

/// A decoded value; objects and arrays are decoded one level at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// The variant null value.
    Null,
    /// A boolean.
    Boolean(bool),
    /// An integer of 8 to 64 bits.
    Int(i64),
    /// An IEEE 754 single.
    Float(f32),
    /// An IEEE 754 double.
    Double(f64),
    /// A decimal of at most 38 digits.
    Decimal {
        /// The unscaled integer.
        unscaled: i128,
        /// The number of digits after the point, at most 38.
        scale: u8,
    },
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Units since 1970-01-01T00:00:00.
    Timestamp {
        /// The number of units.
        value: i64,
        /// Whether the unit is nanoseconds rather than microseconds.
        nanos: bool,
        /// Whether the timestamp is an instant rather than a local time.
        utc: bool,
    },
    /// Bytes.
    Binary(&'a [u8]),
    /// A UTF-8 string.
    String(&'a str),
    /// Sixteen bytes, big-endian.
    Uuid([u8; 16]),
    /// An object of named fields.
    Object(Object<'a>),
    /// An array of elements.
    Array(Array<'a>),
}

impl<'a> Value<'a> {
    /// Parses the value at the start of `bytes`, and returns it with its length.
    ///
    /// # Errors
    /// `CorruptData` if the bytes are truncated, `Unsupported` for an unknown primitive type.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, usize)> {
        let mut cursor = Cursor::new(bytes);
        let header = cursor.byte()?;
        let type_header = header >> 2;
        let value = match header & 3 {
            0 => primitive(type_header, &mut cursor)?,
            1 => Self::String(text(cursor.take(usize::from(type_header))?)?),
            2 => Self::Object(Object::parse(type_header, &mut cursor)?),
            _ => Self::Array(Array::parse(type_header, &mut cursor)?),
        };
        Ok((value, cursor.position()))
    }
}

fn primitive<'a>(type_id: u8, cursor: &mut Cursor<'a>) -> Result<Value<'a>> {
    let timestamp = |value, nanos, utc| Value::Timestamp { value, nanos, utc };
    Ok(match type_id {
        0 => Value::Null,
        1 => Value::Boolean(true),
        2 => Value::Boolean(false),
        3 => Value::Int(i64::from(i8::from_le_bytes(cursor.array()?))),
        4 => Value::Int(i64::from(i16::from_le_bytes(cursor.array()?))),
        5 => Value::Int(i64::from(cursor.le_i32()?)),
        6 => Value::Int(cursor.le_i64()?),
        7 => Value::Double(cursor.le_f64()?),
        8 => decimal(cursor, |cursor| Ok(i128::from(cursor.le_i32()?)))?,
        9 => decimal(cursor, |cursor| Ok(i128::from(cursor.le_i64()?)))?,
        10 => decimal(cursor, |cursor| cursor.array().map(i128::from_le_bytes))?,
        11 => Value::Date(cursor.le_i32()?),
        12 => timestamp(cursor.le_i64()?, false, true),
        13 => timestamp(cursor.le_i64()?, false, false),
        14 => Value::Float(cursor.le_f32()?),
        15 => Value::Binary(long_bytes(cursor)?),
        16 => Value::String(text(long_bytes(cursor)?)?),
        17 => Value::Time(cursor.le_i64()?),
        18 => timestamp(cursor.le_i64()?, true, true),
        19 => timestamp(cursor.le_i64()?, true, false),
        20 => Value::Uuid(cursor.array()?),
        other => return Err(Error::unsupported(format!("the variant primitive type {other} is not supported"))),
    })
}

fn decimal<'a>(cursor: &mut Cursor<'a>, unscaled: impl Fn(&mut Cursor<'a>) -> Result<i128>) -> Result<Value<'a>> {
    let scale = cursor.byte()?;
    if scale > 38 {
        return Err(cursor.error(format_args!("the scale {scale} of a variant decimal exceeds 38")));
    }
    Ok(Value::Decimal { unscaled: unscaled(cursor)?, scale })
}

fn long_bytes<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let length = cursor.le_u32()?;
    cursor.take_declared(i64::from(length))
}

/// The fields of an object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Object<'a> {
    ids: &'a [u8],
    id_width: usize,
    values: Array<'a>,
}

impl<'a> Object<'a> {
    fn parse(type_header: u8, cursor: &mut Cursor<'a>) -> Result<Self> {
        let id_width = usize::from(type_header >> 2 & 3) + 1;
        let offset_width = usize::from(type_header & 3) + 1;
        let count = count(type_header & 0x10 != 0, cursor)?;
        let ids = cursor.take(table_len(count, 0, id_width)?)?;
        Ok(Self { ids, id_width, values: Array::parse_values(count, offset_width, cursor)? })
    }

    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the name id of a field, and a slice that starts with its value and may contain further bytes.
    ///
    /// # Errors
    /// `CorruptData` if the field does not exist or its offset is outside the object.
    pub fn field(&self, at: usize) -> Result<(usize, &'a [u8])> {
        Ok((entry(self.ids, at, self.id_width)?, self.values.element(at)?))
    }
}

/// The elements of an array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Array<'a> {
    /// The offsets: `count + 1` numbers of `width` bytes.
    offsets: &'a [u8],
    width: usize,
    count: usize,
    data: &'a [u8],
}

impl<'a> Array<'a> {
    fn parse(type_header: u8, cursor: &mut Cursor<'a>) -> Result<Self> {
        let offset_width = usize::from(type_header & 3) + 1;
        let count = count(type_header & 4 != 0, cursor)?;
        Self::parse_values(count, offset_width, cursor)
    }

    fn parse_values(count: usize, width: usize, cursor: &mut Cursor<'a>) -> Result<Self> {
        let offsets = cursor.take(table_len(count, 1, width)?)?;
        // The last offset is the total length of the values.
        let data = cursor.take(entry(offsets, count, width)?)?;
        Ok(Self { offsets, width, count, data })
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns a slice that starts with an element and may contain further bytes.
    ///
    /// # Errors
    /// `CorruptData` if the element does not exist or its offset is outside the array.
    pub fn element(&self, at: usize) -> Result<&'a [u8]> {
        if at >= self.count {
            return Err(Error::corrupt(format!(
                "the variant element {at} is out of range for {} elements",
                self.count
            )));
        }
        let start = entry(self.offsets, at, self.width)?;
        self.data.get(start..).ok_or_else(|| Error::corrupt("a variant element is outside its array"))
    }
}

fn count(large: bool, cursor: &mut Cursor) -> Result<usize> {
    Ok(number(cursor.take(if large { 4 } else { 1 })?))
}

fn table_len(count: usize, more: usize, width: usize) -> Result<usize> {
    count
        .checked_add(more)
        .and_then(|entries| entries.checked_mul(width))
        .ok_or_else(|| Error::corrupt(format!("a variant has too many entries ({count})")))
}

/// Returns an unsigned little-endian number of one to four bytes.
fn number(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
}

fn entry(table: &[u8], at: usize, width: usize) -> Result<usize> {
    let start = at * width;
    table.get(start..start + width).map(number).ok_or_else(|| Error::corrupt("a variant table is too short"))
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| Error::corrupt("a variant string is not valid UTF-8").caused_by(error))
}
