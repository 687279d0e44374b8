//! Evaluates `bitmap` indexes, which hold a bitmap of rows for each value.
//!
//! ```text
//! head:   version: u8 | rows: i32 | values: i32 | has NULL: u8
//! v1:     [place of NULL: i32]                      | values x ( value | place: i32 )            in any order
//! v2:     [place of NULL: i32 | length: i32]        | blocks: i32 | blocks x ( first value | start: i32 )
//!         body start: i32 (from the first block)    | blocks, ascending by value
//!         block: entries: i32 | entries x ( value | place: i32 | length: i32 )
//! body:   32-bit portable bitmaps
//!
//! place:  start in the body, or -1 - row for a value of one row; a length of -1 is not known
//! ```
//!
//! Integers are big-endian. DECIMAL and bytes are not supported, and only equality is evaluated.

use std::cmp::Ordering;

use arrow_buffer::BooleanBuffer;
use frazil_core::bitmap::Positions;
use frazil_core::bytes::Cursor;
use frazil_core::error::{Error, Result};

use super::value::{Layout, Question, Value, Values};
use super::{check_rows, count};
use crate::spec::types::TypeRoot;

/// Returns the rows that satisfy the question, or None if the version, the type or the question is not supported.
pub(super) fn rows(
    body: &[u8],
    question: &Question<'_>,
    file: &TypeRoot,
    rows: usize,
) -> Result<Option<BooleanBuffer>> {
    let unsupported = matches!(file, TypeRoot::Decimal(..) | TypeRoot::Binary(_) | TypeRoot::VarBinary(_));
    let Some(layout) = Layout::of(file).filter(|_| !unsupported) else { return Ok(None) };
    let (members, negated) = match &question.values {
        Values::All => ([].as_slice(), true),
        Values::In(members) => (members.as_slice(), false),
        Values::NotIn(members) => (members.as_slice(), true),
        Values::Range(..) | Values::StartsWith(_) | Values::NotStartsWith(_) => return Ok(None),
    };
    let Some(index) = BitmapColumnIndex::read(body, layout, rows)? else { return Ok(None) };
    let mut found = Positions::new();
    index.add_members(members, &mut found)?;
    // NULL rows are added if `found` is the result and NULL passes, or if the complement is the result and NULL fails.
    if negated != question.nulls
        && let Some(null) = &index.null
    {
        index.add(null, &mut found)?;
    }
    let others = found.kept(0, rows);
    Ok(Some(if negated { others } else { !&others }))
}

struct BitmapColumnIndex<'a> {
    layout: Layout,
    rows: usize,
    null: Option<BitmapPlace>,
    values: BitmapDictionary<'a>,
    /// The bitmaps.
    body: &'a [u8],
}

enum BitmapDictionary<'a> {
    /// Version 1: the number of entries, and the bytes from the first entry.
    Plain(u32, &'a [u8]),
    /// Version 2: the first values of blocks with the offsets of the blocks, and the bytes of the blocks.
    Blocks(Vec<(Value<'a>, i32)>, &'a [u8]),
}

/// The location of the rows of a value.
struct BitmapPlace {
    start: i32,
    length: i32,
}

impl<'a> BitmapColumnIndex<'a> {
    fn read(bytes: &'a [u8], layout: Layout, rows: usize) -> Result<Option<Self>> {
        let mut cursor = Cursor::new(bytes);
        let version = cursor.byte()?;
        if !(1..=2).contains(&version) {
            return Ok(None);
        }
        check_rows(cursor.be_i32()?, rows)?;
        let values = count(&mut cursor)?;
        let has_null = cursor.byte()? != 0;
        let start = if has_null { Some(cursor.be_i32()?) } else { None };
        if version == 1 {
            let null = start.map(|start| BitmapPlace { start, length: -1 });
            let entries = cursor.rest();
            for _ in 0..values {
                layout.read(&mut cursor)?;
                cursor.be_i32()?;
            }
            let body = cursor.rest();
            return Ok(Some(Self { layout, rows, null, values: BitmapDictionary::Plain(values, entries), body }));
        }
        let length = if has_null { cursor.be_i32()? } else { -1 };
        let null = start.map(|start| BitmapPlace { start, length });
        let mut firsts: Vec<(Value<'_>, i32)> = Vec::new();
        for _ in 0..count(&mut cursor)? {
            let (first, start) = (layout.read(&mut cursor)?, cursor.be_i32()?);
            if firsts.last().is_some_and(|(before, _)| before.order(&first) == Ordering::Greater) {
                return Err(cursor.error(format_args!("the blocks of a bitmap index are not in ascending order")));
            }
            firsts.push((first, start));
        }
        let blocks_bytes = cursor.be_i32()?;
        let blocks = cursor.take_declared(i64::from(blocks_bytes))?;
        let body = cursor.rest();
        Ok(Some(Self { layout, rows, null, values: BitmapDictionary::Blocks(firsts, blocks), body }))
    }

    /// Adds the rows with one of these values, which are in ascending order.
    fn add_members(&self, members: &[Value<'_>], found: &mut Positions) -> Result<()> {
        match &self.values {
            BitmapDictionary::Plain(count, entries) if !members.is_empty() => {
                let mut cursor = Cursor::new(entries);
                for _ in 0..*count {
                    let (value, start) = (self.layout.read(&mut cursor)?, cursor.be_i32()?);
                    if members.binary_search_by(|member| member.order(&value)).is_ok() {
                        self.add(&BitmapPlace { start, length: -1 }, found)?;
                    }
                }
            }
            BitmapDictionary::Plain(..) => {}
            BitmapDictionary::Blocks(firsts, blocks) => {
                for member in members {
                    // Equal values (0.0 and -0.0) may end one block and begin the next.
                    let from = firsts.partition_point(|(first, _)| first.order(member).is_lt()).saturating_sub(1);
                    let to = firsts.partition_point(|(first, _)| first.order(member).is_le());
                    for (_, start) in firsts.get(from..to).unwrap_or_default() {
                        let block = usize::try_from(*start).ok().and_then(|start| blocks.get(start..));
                        let block = block.ok_or_else(|| Error::corrupt("a block exceeds its bitmap index"))?;
                        self.add_from(block, member, found)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the rows of a value from one block.
    fn add_from(&self, block: &[u8], member: &Value<'_>, found: &mut Positions) -> Result<()> {
        let mut cursor = Cursor::new(block);
        for _ in 0..count(&mut cursor)? {
            let value = self.layout.read(&mut cursor)?;
            let place = BitmapPlace { start: cursor.be_i32()?, length: cursor.be_i32()? };
            match value.order(member) {
                Ordering::Less => {}
                Ordering::Equal => self.add(&place, found)?,
                Ordering::Greater => break,
            }
        }
        Ok(())
    }

    fn add(&self, place: &BitmapPlace, found: &mut Positions) -> Result<()> {
        let check = |row: u64| {
            let beyond = || Error::corrupt(format!("row {row} is out of range in an index of {} rows", self.rows));
            (row < self.rows as u64).then_some(()).ok_or_else(beyond)
        };
        let Ok(start) = usize::try_from(place.start) else {
            let row = u64::from(!place.start.cast_unsigned());
            check(row)?;
            return found.insert(row).map(drop);
        };
        let rest = self.body.get(start..).ok_or_else(|| Error::corrupt("a bitmap exceeds its index"))?;
        let mut cursor = Cursor::new(rest);
        let bitmap = match place.length {
            -1 => Positions::take_portable32(&mut cursor)?,
            length => Positions::decode_portable32(cursor.take_declared(i64::from(length))?)?,
        };
        bitmap.max().map_or(Ok(()), check)?;
        found.union_with(&bitmap);
        Ok(())
    }
}
