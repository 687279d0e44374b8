//! File indexes (spec: "File Index"): what is known of the rows of one data file, by column.
//!
//! ```text
//! magic: i64 = 1493475289347502 | version: i32 = 1 | head length: i32, from the magic on
//! columns: i32 | columns x ( name | indexes: i32 | indexes x ( kind | start: i32 | length: i32 ) )
//! left: i32 = 0
//! bodies, where starts are from the magic; -1 for an index of no value
//! ```
//!
//! Integers are big-endian, names and kinds modified UTF-8 after their length as u16. The file lies in the manifest
//! entry or beside the data file as `<data file>.index`.
//!
//! An index only ever leaves rows out that cannot match. What it does not know, an index of an unknown kind or version,
//! and one that is damaged or of another number of rows leave out nothing: they never change what is read.

mod bit_slices;
mod bitmap;
mod bloom_filter;
mod bsi;
mod dictionary;
mod encode;
mod range_bitmap;
#[cfg(test)]
mod tests;
mod value;

pub use encode::{IndexBuilder, IndexOptions};

use std::ops::Range;

use arrow_buffer::BooleanBuffer;
use bytes::Bytes;
use frazil_core::bytes::Cursor;
use frazil_core::error::{Error, Result};
use frazil_core::predicate::{BoundColumn, BoundPredicate, CompareOp, Test};
use frazil_core::scalar::Scalar;

use crate::spec::types::{DataType, TypeRoot};
use value::Question;

const MAGIC: i64 = 1_493_475_289_347_502;
const VERSION: i32 = 1;
const NO_VALUES: i32 = -1;
/// Of more members of an IN than this, bit slices are not asked for each.
const MEMBERS_MAX: usize = 64;

/// Which rows of a file may match.
#[derive(Debug, Clone, PartialEq)]
pub enum Selection {
    /// None.
    Skip,
    /// Any: nothing is known.
    All,
    /// Those whose bit is set, one for each row as it lies in the file; at least one, and not all.
    Rows(BooleanBuffer),
}

/// The column of a file that a column of a scan is read from.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedColumn {
    /// Its name in the schema of the file.
    pub name: String,
    /// Its type in the schema of the file.
    pub file_type: DataType,
    /// The type that it is read as: literals are of it.
    pub read_type: DataType,
    /// Whether texts may be read with U+FFFD in place of what is not UTF-8.
    pub is_replaced: bool,
}

/// The indexes of one data file; clones share its bytes.
#[derive(Debug, Clone)]
pub struct FileIndex {
    bytes: Bytes,
    indexes: Vec<Index>,
}

/// One index of one column.
#[derive(Debug, Clone)]
struct Index {
    /// The column's name, in modified UTF-8.
    column: Range<usize>,
    kind: Kind,
    /// None when the column has no value in the file.
    body: Option<Range<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    BloomFilter,
    Bitmap,
    Bsi,
    RangeBitmap,
    Unknown,
}

impl FileIndex {
    /// Reads the head; the indexes are read when they are asked. A version that is not known has no indexes.
    ///
    /// # Errors
    /// `CorruptData` when the head does not decode, or an index is not inside of `bytes`. Reading can go on without
    /// the indexes of the file.
    pub fn parse(bytes: Bytes) -> Result<Self> {
        let mut cursor = Cursor::new(&bytes);
        let magic = cursor.be_i64()?;
        if magic != MAGIC {
            return Err(Error::corrupt(format!("{magic} is not the magic of a file index")));
        }
        let mut indexes = Vec::new();
        if cursor.be_i32()? == VERSION {
            let end = cursor.be_i32()?;
            read_head(&mut cursor, &mut indexes, bytes.len())?;
            if usize::try_from(end).is_ok_and(|end| end < cursor.position()) {
                return Err(cursor.error(format_args!("the head of a file index ends at {end}")));
            }
        }
        Ok(Self { bytes, indexes })
    }

    /// Which rows may match a filter. Every row that matches is among them; others may be. `rows` is the number of rows
    /// of the data file; `column` says for the field ids of the filter what they are read from, None for a column that
    /// the file does not have.
    pub fn evaluate(
        &self,
        filter: &BoundPredicate,
        rows: usize,
        column: &dyn Fn(i32) -> Option<IndexedColumn>,
    ) -> Selection {
        match filter {
            BoundPredicate::True => Selection::All,
            BoundPredicate::False => Selection::Skip,
            BoundPredicate::And(parts) => {
                let mut all = Selection::All;
                for part in parts {
                    all = all.intersect(self.evaluate(part, rows, column));
                    if all == Selection::Skip {
                        break;
                    }
                }
                all
            }
            BoundPredicate::Or(parts) => {
                let mut any = Selection::Skip;
                for part in parts {
                    any = any.unite(self.evaluate(part, rows, column));
                    if any == Selection::All {
                        break;
                    }
                }
                any
            }
            BoundPredicate::Leaf(tested, test) => self.leaf(tested, test, rows, column),
        }
    }

    fn leaf(
        &self,
        tested: &BoundColumn,
        test: &Test,
        rows: usize,
        column: &dyn Fn(i32) -> Option<IndexedColumn>,
    ) -> Selection {
        let Some(column) = column(tested.id) else { return Selection::All };
        let file = &column.file_type.root;
        let is_text = matches!(file, TypeRoot::Char(_) | TypeRoot::VarChar(_));
        if column.is_replaced && is_text && !is_same_of_replaced(test) {
            return Selection::All;
        }
        if !value::widens(file, &column.read_type.root) {
            return Selection::All;
        }
        let Some(question) = Question::new(test, file) else { return Selection::All };
        let name = modified_utf8(&column.name);
        let mut selection = Selection::All;
        for index in &self.indexes {
            if self.bytes.get(index.column.clone()) != Some(&name) {
                continue;
            }
            let said = match &index.body {
                // Rows may still be there, with NULL.
                None if question.nulls => Ok(Selection::All),
                None => Ok(Selection::Skip),
                Some(body) => {
                    let body = self.bytes.get(body.clone()).unwrap_or_default();
                    match index.kind {
                        Kind::BloomFilter => bloom_filter::may_match(body, &question, file)
                            .map(|may| if may == Some(false) { Selection::Skip } else { Selection::All }),
                        Kind::Bitmap => bitmap::rows(body, &question, file, rows).map(Selection::of),
                        Kind::Bsi => bsi::rows(body, &question, file, rows).map(Selection::of),
                        Kind::RangeBitmap => range_bitmap::rows(body, &question, file, rows).map(Selection::of),
                        Kind::Unknown => Ok(Selection::All),
                    }
                }
            };
            // A damaged index leaves out nothing.
            selection = selection.intersect(said.unwrap_or(Selection::All));
            if selection == Selection::Skip {
                break;
            }
        }
        selection
    }
}

impl Selection {
    fn of(rows: Option<BooleanBuffer>) -> Self {
        match rows {
            None => Self::All,
            Some(rows) => match rows.count_set_bits() {
                0 => Self::Skip,
                set if set == rows.len() => Self::All,
                _ => Self::Rows(rows),
            },
        }
    }

    fn intersect(self, other: Self) -> Self {
        match (self, other) {
            (Self::Skip, _) | (_, Self::Skip) => Self::Skip,
            (Self::All, other) | (other, Self::All) => other,
            (Self::Rows(a), Self::Rows(b)) => Self::of(Some(&a & &b)),
        }
    }

    fn unite(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, _) | (_, Self::All) => Self::All,
            (Self::Skip, other) | (other, Self::Skip) => other,
            (Self::Rows(a), Self::Rows(b)) => Self::of(Some(&a | &b)),
        }
    }
}

/// Whether a test has the same result for a stored text as for the one that is read.
fn is_same_of_replaced(test: &Test) -> bool {
    match test {
        Test::IsNull | Test::NotNull => true,
        Test::Compare(CompareOp::Eq | CompareOp::NotEq, text) => !has_replacement(text),
        Test::In(texts) | Test::NotIn(texts) => !texts.iter().any(has_replacement),
        _ => false,
    }
}

/// Whether a scalar is text with U+FFFD.
pub(crate) fn has_replacement(text: &Scalar) -> bool {
    matches!(text, Scalar::String(text) if text.contains(char::REPLACEMENT_CHARACTER))
}

fn read_head(cursor: &mut Cursor<'_>, indexes: &mut Vec<Index>, end: usize) -> Result<()> {
    for _ in 0..count(cursor)? {
        let column = text(cursor)?;
        for _ in 0..count(cursor)? {
            let kind_length = cursor.array().map(u16::from_be_bytes)?;
            let kind = match cursor.take(usize::from(kind_length))? {
                b"bloom-filter" => Kind::BloomFilter,
                b"bitmap" => Kind::Bitmap,
                b"bsi" => Kind::Bsi,
                b"range-bitmap" => Kind::RangeBitmap,
                _ => Kind::Unknown,
            };
            let (start, length) = (cursor.be_i32()?, cursor.be_i32()?);
            let body = if start == NO_VALUES {
                None
            } else {
                let start = usize::try_from(start).ok();
                let body = start.zip(usize::try_from(length).ok()).map(|(start, length)| start..start + length);
                Some(body.filter(|body| body.end <= end).ok_or_else(|| {
                    cursor.error(format_args!("an index of {length} bytes at {start:?} in a file of {end}"))
                })?)
            };
            indexes.push(Index { column: column.clone(), kind, body });
        }
    }
    Ok(())
}

/// Where a text after its length stands.
fn text(cursor: &mut Cursor<'_>) -> Result<Range<usize>> {
    let length = cursor.array().map(u16::from_be_bytes)?;
    let start = cursor.position();
    cursor.take(usize::from(length))?;
    Ok(start..cursor.position())
}

/// Text as Java's `writeUTF` writes it: NUL in two bytes, characters beyond 16 bits as two surrogates of three bytes.
fn modified_utf8(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for unit in text.encode_utf16() {
        let [high, low] = [unit >> 6, unit].map(|bits| 0x80 | (bits & 0x3f).to_le_bytes()[0]);
        match unit {
            1..0x80 => bytes.extend(unit.to_le_bytes().first()),
            0 | 0x80..0x800 => bytes.extend([high | 0x40, low]),
            0x800.. => bytes.extend([0xe0 | (unit >> 12).to_le_bytes()[0], high, low]),
        }
    }
    bytes
}

/// A length, or a count of things that follow.
fn count(cursor: &mut Cursor<'_>) -> Result<u32> {
    let found = cursor.be_i32()?;
    u32::try_from(found).map_err(|_| cursor.error(format_args!("a count or length of {found}")))
}

/// An index of another number of rows is not of this file.
fn check_rows(found: i32, rows: usize) -> Result<()> {
    if usize::try_from(found) == Ok(rows) {
        return Ok(());
    }
    Err(Error::corrupt(format!("an index of {found} rows for a file of {rows}")))
}
