//! Reads the dictionary of `range-bitmap` indexes: sorted values in chunks, few of which are read.
//!
//! ```text
//! dictionary:  head length: i32 | version: u8 = 1, chunks: i32, length of starts: i32, length of chunks: i32
//!              | chunks x start: i32 | chunks | keys
//! chunk:       version: u8 = 1 | first value | its code: i32 | start of its keys: i32 | further values: i32
//!              | fixed width   length of keys: i32, width: i32
//!              | text          length of starts: i32, length of keys: i32
//! keys:        fixed width     values
//!              text            starts: i32 each | ( length: i32, bytes ) each
//! ```

use frazil_core::bytes::Cursor;
use frazil_core::error::{Error, Result};

use super::count;
use super::value::{Layout, Value};

const VERSION: u8 = 1;

/// Sorted distinct values. The code of a value is its position.
pub(super) struct Dictionary<'a> {
    layout: Layout,
    values: u32,
    starts: &'a [u8],
    chunks: &'a [u8],
    keys: &'a [u8],
}

/// The first value of a chunk, and the values after it.
struct DictionaryChunk<'a> {
    first: Value<'a>,
    code: u32,
    further: u32,
    /// The start offsets of the further values among the keys; None if all values have the same width.
    starts: Option<&'a [u8]>,
    keys: &'a [u8],
}

impl<'a> Dictionary<'a> {
    /// Reads a dictionary of `values` values. Returns None for an unknown version.
    pub(super) fn read(bytes: &'a [u8], layout: Layout, values: u32) -> Result<Option<Self>> {
        let mut cursor = Cursor::new(bytes);
        let mut head = block(&mut cursor)?;
        if head.byte()? != VERSION {
            return Ok(None);
        }
        let chunk_count = count(&mut head)? as usize;
        let (starts_bytes, chunks_bytes) = (count(&mut head)? as usize, count(&mut head)? as usize);
        if chunk_count.checked_mul(4) != Some(starts_bytes) {
            return Err(
                head.error(format_args!("{starts_bytes} bytes do not match the start offsets of {chunk_count} chunks"))
            );
        }
        let (starts, chunks) = (cursor.take(starts_bytes)?, cursor.take(chunks_bytes)?);
        Ok(Some(Self { layout, values, starts, chunks, keys: cursor.rest() }))
    }

    /// Returns the number of values for which `holds` is true. Values for which it is true must precede all other
    /// values.
    pub(super) fn before(&self, holds: impl Fn(&Value<'_>) -> bool) -> Result<u32> {
        let chunks = partition(self.starts.len() / 4, |at| Ok(holds(&self.chunk(at)?.first)))?;
        let Some(last) = chunks.checked_sub(1) else { return Ok(0) };
        let chunk = self.chunk(last)?;
        let further = partition(chunk.further as usize, |at| Ok(holds(&self.further(&chunk, at)?)))?;
        let before = u32::try_from(further).ok().and_then(|further| chunk.code.checked_add(1)?.checked_add(further));
        before.filter(|before| *before <= self.values).ok_or_else(|| {
            Error::corrupt(format!("a chunk starts at code {} in a dictionary of {} values", chunk.code, self.values))
        })
    }

    fn chunk(&self, at: usize) -> Result<DictionaryChunk<'a>> {
        let start = start_at(self.starts, at)?;
        let mut cursor = Cursor::new(self.chunks);
        cursor.take(start)?;
        let version = cursor.byte()?;
        if version != VERSION {
            return Err(cursor.error(format_args!("a chunk of version {version} in a dictionary of version {VERSION}")));
        }
        let first = self.layout.read(&mut cursor)?;
        let (code, keys_start, further) = (count(&mut cursor)?, count(&mut cursor)?, count(&mut cursor)?);
        let mut keys = Cursor::new(self.keys);
        keys.take(keys_start as usize)?;
        let starts = match self.layout {
            Layout::Bytes => {
                let starts_bytes = count(&mut cursor)? as usize;
                Some(keys.take(starts_bytes)?)
            }
            _ => None,
        };
        let keys = keys.take(count(&mut cursor)? as usize)?;
        Ok(DictionaryChunk { first, code, further, starts, keys })
    }

    fn further(&self, chunk: &DictionaryChunk<'a>, at: usize) -> Result<Value<'a>> {
        let start = match (chunk.starts, self.layout) {
            (Some(starts), _) => start_at(starts, at)?,
            (None, Layout::Boolean | Layout::Int8) => at,
            (None, Layout::Int16) => at.saturating_mul(2),
            (None, Layout::Int32 | Layout::Float) => at.saturating_mul(4),
            (None, _) => at.saturating_mul(8),
        };
        let mut cursor = Cursor::new(chunk.keys);
        cursor.take(start)?;
        self.layout.read(&mut cursor)
    }
}

/// Reads a length and returns a cursor over that many bytes.
pub(super) fn block<'a>(cursor: &mut Cursor<'a>) -> Result<Cursor<'a>> {
    let bytes = count(cursor)?;
    cursor.take(bytes as usize).map(Cursor::new)
}

fn start_at(starts: &[u8], at: usize) -> Result<usize> {
    let mut cursor = Cursor::new(starts);
    cursor.take(at.saturating_mul(4))?;
    count(&mut cursor).map(|start| start as usize)
}

/// Returns the number of positions in `0..count` for which `holds` is true. These positions must come first.
fn partition(count: usize, holds: impl Fn(usize) -> Result<bool>) -> Result<usize> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
