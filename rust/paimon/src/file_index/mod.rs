//! Reads and evaluates file indexes (spec: "File Index"), which describe the rows of one data file by column.
//!
//! ```text
//! magic: i64 = 1493475289347502 | version: i32 = 1 | head length: i32, from the magic on
//! columns: i32 | columns x ( name | indexes: i32 | indexes x ( kind | start: i32 | length: i32 ) )
//! left: i32 = 0
//! bodies, where starts are from the magic; -1 for an index of no value
//! ```
//!
//! Integers are big-endian. Names and index types are modified UTF-8, preceded by their length as u16. The file is
//! stored in the manifest entry or next to the data file as `<data file>.index`.
//!
//! An index only excludes rows that cannot match. An index that is damaged, of an unknown type or version,
//! or of a different number of rows excludes nothing, so it never changes the result of a read.

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
use frazil_core::scalar::Scalar;
use frazil_core::sql::predicate::{BoundColumn, BoundPredicate, CompareOp, Test};

use crate::spec::types::{DataType, TypeRoot};
use value::Question;

const MAGIC: i64 = 1_493_475_289_347_502;
const VERSION: i32 = 1;
const NO_VALUES: i32 = -1;
/// The number of members above which an IN is evaluated by bit slices as a range instead of for each member.
const MEMBERS_MAX: usize = 64;

/// The rows of a file that may match.
#[derive(Debug, Clone, PartialEq)]
pub enum IndexSelection {
    /// No row.
    Skip,
    /// Any row: the indexes do not exclude rows.
    All,
    /// The rows whose bit is set, with one bit for each row in file order. At least one bit is set, and not all.
    Rows(BooleanBuffer),
}

/// The file column that a scan column is read from.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedColumn {
    /// The name in the schema of the file.
    pub name: String,
    /// The type in the schema of the file.
    pub file_type: DataType,
    /// The type that the column is read as, which is also that of literals.
    pub read_type: DataType,
    /// Whether invalid UTF-8 in strings may be replaced by U+FFFD when they are read.
    pub is_replaced: bool,
}

/// The indexes of one data file. Clones share the bytes.
#[derive(Debug, Clone)]
pub struct FileIndex {
    bytes: Bytes,
    indexes: Vec<ColumnIndex>,
}

/// One index of one column.
#[derive(Debug, Clone)]
struct ColumnIndex {
    /// The name of the column, in modified UTF-8.
    column: Range<usize>,
    kind: IndexKind,
    /// The body; None if the column has no value in the file.
    body: Option<Range<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexKind {
    BloomFilter,
    Bitmap,
    Bsi,
    RangeBitmap,
    Unknown,
}

impl FileIndex {
    /// Parses the header; indexes are read when they are evaluated. A file of an unknown version has no indexes.
    ///
    /// # Errors
    /// `CorruptData` if the header does not decode, or an index exceeds `bytes`. Reading can continue without the
    /// indexes of the file.
    pub fn parse(bytes: Bytes) -> Result<Self> {
        let mut cursor = Cursor::new(&bytes);
        let magic = cursor.be_i64()?;
        if magic != MAGIC {
            return Err(Error::corrupt(format!("invalid magic number {magic} of a file index")));
        }
        let mut indexes = Vec::new();
        if cursor.be_i32()? == VERSION {
            let end = cursor.be_i32()?;
            read_head(&mut cursor, &mut indexes, bytes.len())?;
            if usize::try_from(end).is_ok_and(|end| end < cursor.position()) {
                return Err(cursor.error(format_args!("the header of a file index ends at the invalid offset {end}")));
            }
        }
        Ok(Self { bytes, indexes })
    }

    /// Returns the rows that may match a filter. They include every row that matches. `rows` is the number of rows of
    /// the data file. `column` returns the file column for a field id of the filter, or None for a column that the file
    /// does not have.
    pub fn evaluate(
        &self,
        filter: &BoundPredicate,
        rows: usize,
        column: &dyn Fn(i32) -> Option<IndexedColumn>,
    ) -> IndexSelection {
        match filter {
            BoundPredicate::True | BoundPredicate::Condition(_) => IndexSelection::All,
            BoundPredicate::False => IndexSelection::Skip,
            BoundPredicate::And(parts) => {
                let mut all = IndexSelection::All;
                for part in parts {
                    all = all.intersect(self.evaluate(part, rows, column));
                    if all == IndexSelection::Skip {
                        break;
                    }
                }
                all
            }
            BoundPredicate::Or(parts) => {
                let mut any = IndexSelection::Skip;
                for part in parts {
                    any = any.unite(self.evaluate(part, rows, column));
                    if any == IndexSelection::All {
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
    ) -> IndexSelection {
        let Some(column) = column(tested.id) else { return IndexSelection::All };
        let file = &column.file_type.root;
        let is_text = matches!(file, TypeRoot::Char(_) | TypeRoot::VarChar(_));
        if column.is_replaced && is_text && !is_same_of_replaced(test) {
            return IndexSelection::All;
        }
        if !value::widens(file, &column.read_type.root) {
            return IndexSelection::All;
        }
        let Some(question) = Question::new(test, file) else { return IndexSelection::All };
        let name = modified_utf8(&column.name);
        let mut selection = IndexSelection::All;
        for index in &self.indexes {
            if self.bytes.get(index.column.clone()) != Some(&name) {
                continue;
            }
            let said = match &index.body {
                // An index without a body has no values, but the file may have rows with NULL.
                None if question.nulls => Ok(IndexSelection::All),
                None => Ok(IndexSelection::Skip),
                Some(body) => {
                    let body = self.bytes.get(body.clone()).unwrap_or_default();
                    match index.kind {
                        IndexKind::BloomFilter => bloom_filter::may_match(body, &question, file)
                            .map(|may| if may == Some(false) { IndexSelection::Skip } else { IndexSelection::All }),
                        IndexKind::Bitmap => bitmap::rows(body, &question, file, rows).map(IndexSelection::of),
                        IndexKind::Bsi => bsi::rows(body, &question, file, rows).map(IndexSelection::of),
                        IndexKind::RangeBitmap => {
                            range_bitmap::rows(body, &question, file, rows).map(IndexSelection::of)
                        }
                        IndexKind::Unknown => Ok(IndexSelection::All),
                    }
                }
            };
            // A damaged index excludes nothing.
            selection = selection.intersect(said.unwrap_or(IndexSelection::All));
            if selection == IndexSelection::Skip {
                break;
            }
        }
        selection
    }
}

impl IndexSelection {
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

/// Returns whether a test has the same result for a stored string as for the string that is read.
fn is_same_of_replaced(test: &Test) -> bool {
    match test {
        Test::IsNull | Test::NotNull => true,
        Test::Compare(CompareOp::Eq | CompareOp::NotEq, text) => !has_replacement(text),
        Test::In(texts) | Test::NotIn(texts) => !texts.iter().any(has_replacement),
        _ => false,
    }
}

/// Returns whether a scalar is a string with U+FFFD.
pub(crate) fn has_replacement(text: &Scalar) -> bool {
    matches!(text, Scalar::String(text) if text.contains(char::REPLACEMENT_CHARACTER))
}

fn read_head(cursor: &mut Cursor<'_>, indexes: &mut Vec<ColumnIndex>, end: usize) -> Result<()> {
    for _ in 0..count(cursor)? {
        let column = text(cursor)?;
        for _ in 0..count(cursor)? {
            let kind_length = cursor.array().map(u16::from_be_bytes)?;
            let kind = match cursor.take(usize::from(kind_length))? {
                b"bloom-filter" => IndexKind::BloomFilter,
                b"bitmap" => IndexKind::Bitmap,
                b"bsi" => IndexKind::Bsi,
                b"range-bitmap" => IndexKind::RangeBitmap,
                _ => IndexKind::Unknown,
            };
            let (start, length) = (cursor.be_i32()?, cursor.be_i32()?);
            let body = if start == NO_VALUES {
                None
            } else {
                let start = usize::try_from(start).ok();
                let body = start.zip(usize::try_from(length).ok()).map(|(start, length)| start..start + length);
                Some(body.filter(|body| body.end <= end).ok_or_else(|| {
                    cursor.error(format_args!("an index of {length} bytes at {start:?} exceeds a file of {end} bytes"))
                })?)
            };
            indexes.push(ColumnIndex { column: column.clone(), kind, body });
        }
    }
    Ok(())
}

/// Returns the range of a string that is preceded by its length.
fn text(cursor: &mut Cursor<'_>) -> Result<Range<usize>> {
    let length = cursor.array().map(u16::from_be_bytes)?;
    let start = cursor.position();
    cursor.take(usize::from(length))?;
    Ok(start..cursor.position())
}

/// Encodes a string as Java's `writeUTF` does: NUL in two bytes, characters outside the BMP as two surrogates of three
/// bytes.
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

/// Reads a length, or a count of items that follow.
fn count(cursor: &mut Cursor<'_>) -> Result<u32> {
    let found = cursor.be_i32()?;
    u32::try_from(found).map_err(|_| cursor.error(format_args!("invalid count or length {found}")))
}

/// Checks that an index has the number of rows of this file.
fn check_rows(found: i32, rows: usize) -> Result<()> {
    if usize::try_from(found) == Ok(rows) {
        return Ok(());
    }
    Err(Error::corrupt(format!("an index of {found} rows does not match a file of {rows} rows")))
}
