//! Evaluates `bsi` indexes, which hold a number for every row in bit slices. Negative numbers are stored separately by
//! their magnitude.
//!
//! ```text
//! version: u8 = 1 | rows: i32 | has positive: u8 | slices of numbers >= 0 | has negative: u8 | slices of magnitudes
//!
//! slices:  version: u8 = 1 | min: i64 | max: i64 | bitmap of rows | count: i32 | count x bitmap of (number - min)
//! ```
//!
//! Integers are big-endian; bitmaps are in the 32-bit portable format without a length. Supported types are numbers,
//! DATE, TIME, TIMESTAMP and DECIMAL, without -2^63.

use std::ops::Bound;

use arrow_buffer::BooleanBuffer;
use frazil_core::bitmap::portable32_bytes;
use frazil_core::bytes::Cursor;
use frazil_core::error::Result;

use super::bit_slices::BitSlices;
use super::value::{Layout, Question, Value, Values};
use super::{MEMBERS_MAX, check_rows};
use crate::spec::types::TypeRoot;

const VERSION: u8 = 1;

/// Returns the rows that satisfy the question, or None if the version, the type or the question is not supported.
pub(super) fn rows(
    body: &[u8],
    question: &Question<'_>,
    file: &TypeRoot,
    rows: usize,
) -> Result<Option<BooleanBuffer>> {
    let integers = [Layout::Int8, Layout::Int16, Layout::Int32, Layout::Int64];
    if !Layout::of(file).is_some_and(|layout| integers.contains(&layout)) {
        return Ok(None);
    }
    let Some(index) = BsiIndex::read(body, rows)? else { return Ok(None) };
    let exists = index.exists();
    let passing = match &question.values {
        Values::All => exists.clone(),
        Values::In(members) => index.members(members)?,
        Values::NotIn(members) if members.len() <= MEMBERS_MAX => &exists & &!&index.members(members)?,
        Values::Range(lower, upper) => index.range(lower, upper)?,
        Values::NotIn(_) | Values::StartsWith(_) | Values::NotStartsWith(_) => return Ok(None),
    };
    Ok(Some(if question.nulls { &passing | &!&exists } else { passing }))
}

struct BsiIndex<'a> {
    positive: BsiPart<'a>,
    negative: BsiPart<'a>,
    rows: usize,
}

/// The numbers of one sign: all negative or all non-negative numbers.
struct BsiPart<'a> {
    min: u64,
    max: u64,
    slices: Option<BitSlices<'a>>,
}

impl<'a> BsiIndex<'a> {
    fn read(body: &'a [u8], rows: usize) -> Result<Option<Self>> {
        let mut cursor = Cursor::new(body);
        if cursor.byte()? != VERSION {
            return Ok(None);
        }
        check_rows(cursor.be_i32()?, rows)?;
        let Some(positive) = BsiPart::read(&mut cursor, rows)? else { return Ok(None) };
        let Some(negative) = BsiPart::read(&mut cursor, rows)? else { return Ok(None) };
        if !cursor.is_empty() {
            return Err(cursor.error(format_args!("{} bytes left over after the bit slices", cursor.remaining())));
        }
        Ok(Some(Self { positive, negative, rows }))
    }

    fn exists(&self) -> BooleanBuffer {
        &self.positive.exists(self.rows) | &self.negative.exists(self.rows)
    }

    /// Returns the rows with one of these values. For very many values, returns the rows between the first and the
    /// last.
    fn members(&self, members: &[Value<'_>]) -> Result<BooleanBuffer> {
        if let ([first, .., last], true) = (members, members.len() > MEMBERS_MAX) {
            return self.range(&Bound::Included(*first), &Bound::Included(*last));
        }
        let mut found = BooleanBuffer::new_unset(self.rows);
        for member in members {
            let Value::Integer(number) = member else { continue };
            let part = if *number < 0 { &self.negative } else { &self.positive };
            found = &found | &part.equal_to(number.unsigned_abs(), self.rows)?;
        }
        Ok(found)
    }

    fn range(&self, lower: &Bound<Value<'_>>, upper: &Bound<Value<'_>>) -> Result<BooleanBuffer> {
        // Expresses both bounds as "less than": an inclusive upper bound and an exclusive lower bound are shifted by
        // one.
        let below = |bound: &Bound<Value<'_>>, next: i128| match bound {
            Bound::Included(Value::Integer(number)) => Some(i128::from(*number) + next),
            Bound::Excluded(Value::Integer(number)) => Some(i128::from(*number) + 1 - next),
            _ => None,
        };
        let within = match below(upper, 1) {
            Some(bound) => self.less_than(bound)?,
            None => self.exists(),
        };
        match below(lower, 0) {
            Some(bound) => Ok(&within & &!&self.less_than(bound)?),
            None => Ok(within),
        }
    }

    /// Returns the rows whose number is less than `bound`, which is at most one outside the range of an i64.
    fn less_than(&self, bound: i128) -> Result<BooleanBuffer> {
        let negative = self.negative.exists(self.rows);
        if let Ok(bound) = u64::try_from(bound) {
            return Ok(&negative | &self.positive.less_than(bound, self.rows)?);
        }
        // Negative numbers below `bound` have a magnitude of at least 1 - `bound`.
        let magnitude = u64::try_from(1 - bound).unwrap_or(u64::MAX);
        Ok(&negative & &!&self.negative.less_than(magnitude, self.rows)?)
    }
}

impl<'a> BsiPart<'a> {
    fn read(cursor: &mut Cursor<'a>, rows: usize) -> Result<Option<Self>> {
        if cursor.byte()? == 0 {
            return Ok(Some(Self { min: 0, max: 0, slices: None }));
        }
        if cursor.byte()? != VERSION {
            return Ok(None);
        }
        let (min, max) = (cursor.be_i64()?, cursor.be_i64()?);
        let (Ok(min), Ok(max)) = (u64::try_from(min), u64::try_from(max)) else {
            return Err(cursor.error(format_args!("the range from {min} to {max} includes negative numbers")));
        };
        let exists = portable32_bytes(cursor)?;
        let count = cursor.be_i32()?;
        let expected = max.checked_sub(min).map(|span| 64 - span.leading_zeros());
        if expected.is_none() || u32::try_from(count).ok() != expected {
            return Err(cursor.error(format_args!("{count} bit slices do not match numbers from {min} to {max}")));
        }
        let slices = (0..count).map(|_| portable32_bytes(cursor)).collect::<Result<Vec<_>>>()?;
        Ok(Some(Self { min, max, slices: Some(BitSlices::try_new(rows, exists, slices)?) }))
    }

    fn exists(&self, rows: usize) -> BooleanBuffer {
        self.slices.as_ref().map_or_else(|| BooleanBuffer::new_unset(rows), |slices| slices.exists().clone())
    }

    fn less_than(&self, bound: u64, rows: usize) -> Result<BooleanBuffer> {
        match &self.slices {
            Some(slices) if bound > self.max => Ok(slices.exists().clone()),
            Some(slices) if bound > self.min => slices.less_than(bound - self.min),
            _ => Ok(BooleanBuffer::new_unset(rows)),
        }
    }

    fn equal_to(&self, number: u64, rows: usize) -> Result<BooleanBuffer> {
        match &self.slices {
            Some(slices) if (self.min..=self.max).contains(&number) => slices.equal_to(number - self.min),
            _ => Ok(BooleanBuffer::new_unset(rows)),
        }
    }
}
