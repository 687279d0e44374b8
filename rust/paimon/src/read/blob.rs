//! Files of one BLOB column (documentation: "Blob Storage"), and descriptors of the values in them.
//!
//! ```text
//! file       = record* | index | index_bytes: i32 | version: 1                              all numbers little-endian
//! record     = magic: i32 = 1481511375 | value | record_bytes: i64 | CRC-32 of all before: i32
//! index      = zigzag varints, each the difference to the one before: of each row the record_bytes,
//!              or -1 for NULL, or -2 where an older file has the value; those have no record
//! descriptor = version: 2 | magic: i64 = 0x424c4f4244455343 | uri_bytes: i32 | uri | offset: i64 | length: i64
//! ```

use arrow_array::BinaryArray;
use arrow_array::builder::BinaryBuilder;
use bytes::Bytes;
use frazil_core::bytes::Cursor;
use frazil_core::context::{Context, Lease};
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::files::Files;
use frazil_core::storage::slice;

const MAGIC: i32 = 1_481_511_375;
const VERSION: u8 = 1;
const FOOTER_BYTES: u64 = 5;
/// What a record has before its value.
const HEAD_BYTES: u64 = 4;
/// What a record has beside its value: magic, length, checksum.
const FRAME_BYTES: u64 = HEAD_BYTES + 8 + 4;
const NULL_BYTES: i64 = -1;
const PLACEHOLDER_BYTES: i64 = -2;

const DESCRIPTOR_VERSION: u8 = 2;
const DESCRIPTOR_MAGIC: i64 = 0x424c_4f42_4445_5343;
/// What a descriptor has beside its URI.
const DESCRIPTOR_FRAME_BYTES: usize = 1 + 8 + 4 + 8 + 8;

/// How many bytes of records are read at a time, unless one record is longer.
const BATCH_BYTES: u64 = 64 << 20;
/// The least when there is little memory.
const SMALL_BATCH_BYTES: u64 = 1 << 20;
const BATCH_ROWS: usize = 65_536;
/// How much of the end is read with the footer; a shorter file is read whole at once.
const TAIL_BYTES: u64 = 1 << 20;
/// An array of values has offsets of 32 bits.
const VALUE_LIMIT_BYTES: u64 = i32::MAX as u64;

/// A file of one BLOB column. Its index is held, records are read in batches.
#[derive(Debug)]
pub struct BlobFile {
    path: String,
    /// The end of the file, and where it begins.
    tail: (Bytes, u64),
    index: Bytes,
    /// How much of the index is decoded.
    decoded: usize,
    /// The last number of the index, to which the next one is a difference.
    last: i64,
    /// Where the next record begins.
    offset: u64,
    /// Where the index begins.
    records_end: u64,
    /// The memory of the index.
    _lease: Lease,
}

/// Rows that follow each other: the lengths of their records, None for NULL.
struct Rows {
    start: u64,
    lengths: Vec<Option<u64>>,
}

impl BlobFile {
    /// Reads the index of a file.
    ///
    /// # Errors
    /// `Unsupported` for another version; `CorruptData` for anything else that does not decode; `LimitExceeded` when the
    /// index does not fit into memory; those of `files`.
    pub fn open(files: &Files, path: &str, context: &Context) -> Result<Self> {
        let size = files.size(path)?;
        let body_end =
            size.checked_sub(FOOTER_BYTES).ok_or_else(|| Error::corrupt("a blob file without its footer"))?;
        let tail_start = size.saturating_sub(TAIL_BYTES);
        let tail = range(files, path, tail_start, size)?;
        let footer = slice(&tail, &(body_end - tail_start..size - tail_start))?;
        let mut footer = Cursor::new(&footer);
        let index_bytes = footer.le_i32()?;
        match footer.byte()? {
            VERSION => {}
            other => return Err(Error::unsupported(format!("a blob file of version {other}"))),
        }
        let records_end = u64::try_from(index_bytes).ok().and_then(|bytes| body_end.checked_sub(bytes));
        let records_end =
            records_end.ok_or_else(|| Error::corrupt("the index of a blob file is longer than the file"))?;
        let lease = context.budget.lease(body_end - records_end)?;
        let index = match records_end.checked_sub(tail_start) {
            Some(start) => slice(&tail, &(start..body_end - tail_start))?,
            None => range(files, path, records_end, body_end)?,
        };
        Ok(Self {
            path: path.to_string(),
            tail: (tail, tail_start),
            index,
            decoded: 0,
            last: 0,
            offset: 0,
            records_end,
            _lease: lease,
        })
    }

    /// The values of the next rows; None at the end.
    ///
    /// # Errors
    /// `CorruptData` for a record that does not decode; `LimitExceeded` for one that does not fit into memory;
    /// `Unsupported` where an older file has a value.
    pub fn values(&mut self, files: &Files, context: &Context) -> Result<Option<BinaryArray>> {
        let (lease, batch_bytes) = lease(context, self.records_end - self.offset)?;
        let Some(rows) = self.rows(batch_bytes)? else { return Ok(None) };
        let length = rows.lengths.iter().flatten().sum::<u64>();
        if length > VALUE_LIMIT_BYTES {
            let message = format!("a value of {length} bytes does not fit into an Arrow array");
            return Err(Error::new(ErrorKind::LimitExceeded, message)
                .with("offset", rows.start)
                .hint("the option `blob-as-descriptor` gives where values lie instead of the values"));
        }
        let longer = context.budget.lease(length.saturating_sub(batch_bytes).saturating_mul(2))?;
        let records = self.read(files, rows.start, length)?;
        let mut records = Cursor::new(&records);
        let mut values = BinaryBuilder::with_capacity(rows.lengths.len(), usize::try_from(length).unwrap_or(0));
        for length in rows.lengths {
            match length {
                None => values.append_null(),
                Some(length) => values.append_value(record(&mut records, length, rows.start)?),
            }
        }
        drop((lease, longer));
        Ok(Some(values.finish()))
    }

    /// Descriptors of the values of the next rows, by which they can be read of the file at `uri`; None at the end.
    /// The records themselves are not looked at.
    ///
    /// # Errors
    /// `CorruptData` when the index contradicts the file; `Unsupported` as of [`BlobFile::values`].
    pub fn descriptors(&mut self, uri: &str) -> Result<Option<BinaryArray>> {
        let Some(rows) = self.rows(u64::MAX)? else { return Ok(None) };
        let one = DESCRIPTOR_FRAME_BYTES + uri.len();
        let mut found = BinaryBuilder::with_capacity(rows.lengths.len(), rows.lengths.len().saturating_mul(one));
        let mut start = rows.start;
        for length in rows.lengths {
            match length {
                None => found.append_null(),
                Some(length) => {
                    found.append_value(descriptor(uri, start + HEAD_BYTES, length - FRAME_BYTES)?);
                    start += length;
                }
            }
        }
        Ok(Some(found.finish()))
    }

    /// The next rows, with records of at most `batch_bytes` unless one alone is longer; None at the end.
    fn rows(&mut self, batch_bytes: u64) -> Result<Option<Rows>> {
        let start = self.offset;
        let mut lengths = Vec::new();
        let mut index = Cursor::new(self.index.get(self.decoded..).unwrap_or_default());
        while !index.is_empty() && lengths.len() < BATCH_ROWS {
            let next = self.last.wrapping_add(index.zigzag()?);
            let length = record_bytes(next)?;
            if let Some(length) = length {
                let end = self.offset.checked_add(length).filter(|end| *end <= self.records_end);
                let end = end.ok_or_else(|| Error::corrupt("the records of a blob file run into its index"))?;
                if end - start > batch_bytes && self.offset > start {
                    break;
                }
                self.offset = end;
            }
            lengths.push(length);
            self.last = next;
            self.decoded = self.index.len() - index.remaining();
        }
        if lengths.is_empty() && self.offset != self.records_end {
            let left = self.records_end - self.offset;
            return Err(Error::corrupt(format!("{left} bytes that no record of a blob file has")));
        }
        Ok((!lengths.is_empty()).then_some(Rows { start, lengths }))
    }

    fn read(&self, files: &Files, start: u64, length: u64) -> Result<Bytes> {
        let (tail, tail_start) = &self.tail;
        match start.checked_sub(*tail_start) {
            Some(start) => slice(tail, &(start..start + length)),
            None => range(files, &self.path, start, start + length),
        }
    }
}

/// Memory for the records of a batch and their values, and how many bytes the records may have.
fn lease(context: &Context, left_bytes: u64) -> Result<(Lease, u64)> {
    let mut batch_bytes = BATCH_BYTES.min(left_bytes);
    loop {
        match context.budget.lease(batch_bytes * 2) {
            Err(_) if batch_bytes > SMALL_BATCH_BYTES => batch_bytes /= 2,
            leased => return leased.map(|lease| (lease, batch_bytes)),
        }
    }
}

fn range(files: &Files, path: &str, start: u64, end: u64) -> Result<Bytes> {
    if start == end {
        return Ok(Bytes::new());
    }
    let buffers = files.read_ranges(path, std::slice::from_ref(&(start..end)))?;
    buffers.into_iter().next().ok_or_else(|| Error::internal("the storage returned no buffer"))
}

/// The length of a record by its number in the index; None for NULL.
fn record_bytes(number: i64) -> Result<Option<u64>> {
    match number {
        NULL_BYTES => Ok(None),
        PLACEHOLDER_BYTES => {
            let message = "a BLOB column of which some rows were updated: values lie in several generations of files";
            Err(Error::unsupported(message))
        }
        _ => match u64::try_from(number).ok().filter(|length| *length >= FRAME_BYTES) {
            Some(length) => Ok(Some(length)),
            None => Err(Error::corrupt(format!("a record of a blob file has the length {number}"))),
        },
    }
}

/// The value of the next record. `start` is where the records begin in the file.
fn record<'a>(records: &mut Cursor<'a>, length: u64, start: u64) -> Result<&'a [u8]> {
    let offset = start + records.position() as u64;
    let declared = i64::try_from(length).unwrap_or(i64::MAX);
    let mut record = Cursor::new(records.take_declared(declared)?);
    let framed = record.rest();
    let damaged = |what| Error::corrupt(format!("a record of a blob file {what}")).with("offset", offset);
    if record.le_i32()? != MAGIC {
        return Err(damaged("does not begin as one"));
    }
    let value = record.take_declared(declared - FRAME_BYTES.cast_signed())?;
    if record.le_i64()? != declared {
        return Err(damaged("has another length than the index says"));
    }
    let checked = framed.get(..record.position()).unwrap_or_default();
    if record.le_u32()? != crc32fast::hash(checked) {
        return Err(damaged("has another checksum than its bytes"));
    }
    Ok(value)
}

/// The serialised form of a descriptor.
fn descriptor(uri: &str, offset: u64, length: u64) -> Result<Vec<u8>> {
    let too_far = || Error::corrupt("a blob lies beyond 63 bits");
    let uri_bytes = i32::try_from(uri.len()).map_err(|_| Error::invalid("the location of a file is too long"))?;
    let offset = i64::try_from(offset).map_err(|_| too_far())?;
    let length = i64::try_from(length).map_err(|_| too_far())?;
    let mut bytes = Vec::with_capacity(DESCRIPTOR_FRAME_BYTES + uri.len());
    bytes.push(DESCRIPTOR_VERSION);
    bytes.extend(DESCRIPTOR_MAGIC.to_le_bytes());
    bytes.extend(uri_bytes.to_le_bytes());
    bytes.extend(uri.as_bytes());
    bytes.extend(offset.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    Ok(bytes)
}

#[cfg(test)]
#[path = "blob_tests.rs"]
mod tests;
