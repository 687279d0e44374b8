//! Evaluates `range-bitmap` indexes, which hold distinct values in a sorted dictionary and the code of every row in bit
//! slices.
//!
//! ```text
//! index:   head length: i32 | version: u8 = 1, rows: i32, values: i32, [min value, max value], dictionary length: i32
//!          | dictionary | slices                                                      min and max unless values = 0
//! slices:  head length: i32 | version: u8 = 1, count: u8, length of the bitmap of rows: i32, length of places: i32,
//!          count x ( start: i32, length: i32 ) | bitmap of rows | bitmaps of slices, where the places are from
//! ```
//!
//! Integers are big-endian; bitmaps are in the 32-bit portable format. The code of a value is the number of smaller
//! values. All types of [`Layout`] are supported except bytes, DECIMAL of more than 18 digits and TIMESTAMP of more
//! than 6.
//!
//! If all rows are NULL, Java answers `IS NULL` with the first and the last row; here all rows are returned.

use std::cmp::Ordering;
use std::ops::{Bound, Range};

use arrow_buffer::BooleanBuffer;
use frazil_core::bytes::Cursor;
use frazil_core::error::{Error, Result};

use super::bit_slices::BitSlices;
use super::dictionary::{self, Dictionary};
use super::value::{Layout, Question, Value, Values};
use super::{MEMBERS_MAX, check_rows, count};
use crate::spec::types::TypeRoot;

const VERSION: u8 = 1;

/// Returns the rows that satisfy the question, or None if the version, the type or the question is not supported.
pub(super) fn rows(
    body: &[u8],
    question: &Question<'_>,
    file: &TypeRoot,
    rows: usize,
) -> Result<Option<BooleanBuffer>> {
    let unsupported = matches!(
        file,
        TypeRoot::Binary(_)
            | TypeRoot::VarBinary(_)
            | TypeRoot::Decimal(19.., _)
            | TypeRoot::Timestamp(7..)
            | TypeRoot::LocalZonedTimestamp(7..)
    );
    let Some(layout) = Layout::of(file).filter(|_| !unsupported) else { return Ok(None) };
    let Some(index) = RangeBitmapIndex::read(body, layout, rows)? else { return Ok(None) };
    let passing = match &question.values {
        Values::All => index.slices.exists().clone(),
        Values::In(members) => index.members(members)?,
        Values::NotIn(members) if members.len() <= MEMBERS_MAX => index.slices.exists() & &!&index.members(members)?,
        Values::NotIn(_) => return Ok(None),
        Values::Range(lower, upper) => index.codes(index.range(lower, upper)?)?,
        Values::StartsWith(prefix) => index.codes(index.prefixed(prefix)?)?,
        Values::NotStartsWith(prefix) => index.slices.exists() & &!&index.codes(index.prefixed(prefix)?)?,
    };
    Ok(Some(if question.nulls { &passing | &!index.slices.exists() } else { passing }))
}

struct RangeBitmapIndex<'a> {
    extent: Option<(Value<'a>, Value<'a>)>,
    dictionary: Dictionary<'a>,
    slices: BitSlices<'a>,
    values: u32,
    rows: usize,
}

impl<'a> RangeBitmapIndex<'a> {
    fn read(body: &'a [u8], layout: Layout, rows: usize) -> Result<Option<Self>> {
        let mut cursor = Cursor::new(body);
        let mut head = dictionary::block(&mut cursor)?;
        if head.byte()? != VERSION {
            return Ok(None);
        }
        check_rows(head.be_i32()?, rows)?;
        let values = count(&mut head)?;
        let extent = if values == 0 { None } else { Some((layout.read(&mut head)?, layout.read(&mut head)?)) };
        let dictionary_bytes = count(&mut head)?;
        let dictionary = cursor.take(dictionary_bytes as usize)?;
        let Some(dictionary) = Dictionary::read(dictionary, layout, values)? else { return Ok(None) };
        let Some(slices) = read_slices(&mut cursor, rows)? else { return Ok(None) };
        Ok(Some(Self { extent, dictionary, slices, values, rows }))
    }

    /// Returns the rows with one of these values, which are ascending. For very many values, returns the rows between
    /// the first and the last.
    fn members(&self, members: &[Value<'_>]) -> Result<BooleanBuffer> {
        if let ([first, .., last], true) = (members, members.len() > MEMBERS_MAX) {
            return self.codes(self.range(&Bound::Included(*first), &Bound::Included(*last))?);
        }
        let mut found = BooleanBuffer::new_unset(self.rows);
        for member in members {
            let codes = self.range(&Bound::Included(*member), &Bound::Included(*member))?;
            if !codes.is_empty() {
                found = &found | &self.codes(codes)?;
            }
        }
        Ok(found)
    }

    /// Returns the codes of the values between two bounds.
    fn range(&self, lower: &Bound<Value<'_>>, upper: &Bound<Value<'_>>) -> Result<Range<u32>> {
        let first = match lower {
            Bound::Unbounded => 0,
            Bound::Included(bound) => self.before(|value| value.order(bound).is_lt())?,
            Bound::Excluded(bound) => self.before(|value| value.order(bound).is_le())?,
        };
        let end = match upper {
            Bound::Unbounded => self.values,
            Bound::Included(bound) => self.before(|value| value.order(bound).is_le())?,
            Bound::Excluded(bound) => self.before(|value| value.order(bound).is_lt())?,
        };
        Ok(first..end)
    }

    fn prefixed(&self, prefix: &[u8]) -> Result<Range<u32>> {
        let begins = |value: &Value<'_>| matches!(value, Value::Bytes(bytes) if bytes.starts_with(prefix));
        let less = |value: &Value<'_>| value.order(&Value::Bytes(prefix)) == Ordering::Less;
        Ok(self.before(less)?..self.before(|value| less(value) || begins(value))?)
    }

    /// Returns the number of values for which `holds` is true. Values for which it is true must precede all other
    /// values. The minimum and maximum usually decide without reading the dictionary.
    fn before(&self, holds: impl Fn(&Value<'_>) -> bool) -> Result<u32> {
        match &self.extent {
            Some((min, _)) if !holds(min) => Ok(0),
            Some((_, max)) if holds(max) => Ok(self.values),
            Some(_) => self.dictionary.before(holds),
            None => Ok(0),
        }
    }

    /// Returns the rows whose values have these codes.
    fn codes(&self, codes: Range<u32>) -> Result<BooleanBuffer> {
        if codes.is_empty() {
            return Ok(BooleanBuffer::new_unset(self.rows));
        }
        if codes.len() == 1 && self.values > 1 {
            return self.slices.equal_to(u64::from(codes.start));
        }
        let below = if codes.end < self.values {
            self.slices.less_than(u64::from(codes.end))?
        } else {
            self.slices.exists().clone()
        };
        match codes.start {
            0 => Ok(below),
            start => Ok(&below & &!&self.slices.less_than(u64::from(start))?),
        }
    }
}

fn read_slices<'a>(cursor: &mut Cursor<'a>, rows: usize) -> Result<Option<BitSlices<'a>>> {
    let mut head = dictionary::block(cursor)?;
    if head.byte()? != VERSION {
        return Ok(None);
    }
    let slice_count = head.byte()?;
    let exists_bytes = count(&mut head)?;
    let mut places = dictionary::block(&mut head)?;
    let exists = cursor.take(exists_bytes as usize)?;
    let bitmaps = cursor.rest();
    let slices = (0..slice_count).map(|_| {
        let (start, length) = (count(&mut places)? as usize, count(&mut places)? as usize);
        let bitmap = start.checked_add(length).and_then(|end| bitmaps.get(start..end));
        bitmap.ok_or_else(|| Error::corrupt("a bit slice exceeds its index"))
    });
    let slices = slices.collect::<Result<Vec<_>>>()?;
    BitSlices::try_new(rows, exists, slices).map(Some)
}
