//! Reads files of one BLOB column (documentation: "Blob Storage"), and creates descriptors of their values.
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
/// The size of a record before its value.
const HEAD_BYTES: u64 = 4;
/// The size of a record without its value: magic, length, checksum.
const FRAME_BYTES: u64 = HEAD_BYTES + 8 + 4;
const NULL_BYTES: i64 = -1;
const PLACEHOLDER_BYTES: i64 = -2;

const DESCRIPTOR_VERSION: u8 = 2;
const DESCRIPTOR_MAGIC: i64 = 0x424c_4f42_4445_5343;
/// The size of a descriptor without its URI.
const DESCRIPTOR_FRAME_BYTES: usize = 1 + 8 + 4 + 8 + 8;

/// The maximum total size of the records that are read at a time, unless a single record is longer.
const BATCH_BYTES: u64 = 64 << 20;
/// The minimum batch size if memory is scarce.
const SMALL_BATCH_BYTES: u64 = 1 << 20;
const BATCH_ROWS: usize = 65_536;
/// The number of bytes at the end that are read with the footer. A shorter file is read completely in one request.
const TAIL_BYTES: u64 = 1 << 20;
/// The maximum size of a value, limited by the 32-bit offsets of Arrow arrays.
const VALUE_LIMIT_BYTES: u64 = i32::MAX as u64;

/// A file of one BLOB column. The index is held in memory, and records are read in batches.
#[derive(Debug)]
pub struct BlobFile {
    path: String,
    /// The end of the file, and the offset where it begins.
    tail: (Bytes, u64),
    index: Bytes,
    /// The number of decoded bytes of the index.
    decoded: usize,
    /// The last number of the index, relative to which the next one is encoded.
    last: i64,
    /// The offset of the next record.
    offset: u64,
    /// The end of the records, where the index begins.
    records_end: u64,
    /// The memory reservation of the index.
    _lease: Lease,
}

/// Consecutive rows: the lengths of their records, None for NULL.
struct BlobRows {
    start: u64,
    lengths: Vec<Option<u64>>,
}

impl BlobFile {
    /// Reads the index of a file.
    ///
    /// # Errors
    /// `Unsupported` for another version; `CorruptData` for anything else that does not decode; `LimitExceeded` if the
    /// index does not fit into memory; the errors of `files`.
    pub fn open(files: &Files, path: &str, context: &Context) -> Result<Self> {
        let size = files.size(path)?;
        let body_end = size.checked_sub(FOOTER_BYTES).ok_or_else(|| Error::corrupt("a blob file has no footer"))?;
        let tail_start = size.saturating_sub(TAIL_BYTES);
        let tail = range(files, path, tail_start, size)?;
        let footer = slice(&tail, &(body_end - tail_start..size - tail_start))?;
        let mut footer = Cursor::new(&footer);
        let index_bytes = footer.le_i32()?;
        match footer.byte()? {
            VERSION => {}
            other => return Err(Error::unsupported(format!("version {other} of blob files is not supported"))),
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

    /// Returns the values of the next rows, or None at the end.
    ///
    /// # Errors
    /// `CorruptData` for a record that does not decode; `LimitExceeded` for a record that does not fit into memory;
    /// `Unsupported` if the value is in an older file.
    pub fn values(&mut self, files: &Files, context: &Context) -> Result<Option<BinaryArray>> {
        let (lease, batch_bytes) = lease(context, self.records_end - self.offset)?;
        let Some(rows) = self.rows(batch_bytes)? else { return Ok(None) };
        let length = rows.lengths.iter().flatten().sum::<u64>();
        if length > VALUE_LIMIT_BYTES {
            let message = format!("a value of {length} bytes does not fit into an Arrow array");
            return Err(Error::new(ErrorKind::LimitExceeded, message)
                .with("offset", rows.start)
                .hint("set the option `blob-as-descriptor` to read the locations of values instead of the values"));
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

    /// Returns descriptors of the values of the next rows, for reading them from the file at `uri`, or None at the end.
    /// The records themselves are not read.
    ///
    /// # Errors
    /// `CorruptData` if the index contradicts the file; `Unsupported` as for [`BlobFile::values`].
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

    /// Returns the next rows, with records of at most `batch_bytes` unless a single record is longer, or None at the
    /// end.
    fn rows(&mut self, batch_bytes: u64) -> Result<Option<BlobRows>> {
        let start = self.offset;
        let mut lengths = Vec::new();
        let mut index = Cursor::new(self.index.get(self.decoded..).unwrap_or_default());
        while !index.is_empty() && lengths.len() < BATCH_ROWS {
            let next = self.last.wrapping_add(index.zigzag()?);
            let length = record_bytes(next)?;
            if let Some(length) = length {
                let end = self.offset.checked_add(length).filter(|end| *end <= self.records_end);
                let end = end.ok_or_else(|| Error::corrupt("the records of a blob file overlap its index"))?;
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
            return Err(Error::corrupt(format!("{left} bytes of a blob file belong to no record")));
        }
        Ok((!lengths.is_empty()).then_some(BlobRows { start, lengths }))
    }

    fn read(&self, files: &Files, start: u64, length: u64) -> Result<Bytes> {
        let (tail, tail_start) = &self.tail;
        match start.checked_sub(*tail_start) {
            Some(start) => slice(tail, &(start..start + length)),
            None => range(files, &self.path, start, start + length),
        }
    }
}

/// Reserves memory for the records of a batch and their values. Returns the reservation and the maximum total size of
/// the records.
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

/// Decodes the length of a record from its index entry. Returns None for NULL.
fn record_bytes(number: i64) -> Result<Option<u64>> {
    match number {
        NULL_BYTES => Ok(None),
        PLACEHOLDER_BYTES => {
            let message = "a BLOB column with updated rows, whose values are in several generations of files, is not \
                supported";
            Err(Error::unsupported(message))
        }
        _ => match u64::try_from(number).ok().filter(|length| *length >= FRAME_BYTES) {
            Some(length) => Ok(Some(length)),
            None => Err(Error::corrupt(format!("invalid length {number} of a record in a blob file"))),
        },
    }
}

/// Returns the value of the next record. `start` is the offset of the records in the file.
fn record<'a>(records: &mut Cursor<'a>, length: u64, start: u64) -> Result<&'a [u8]> {
    let offset = start + records.position() as u64;
    let declared = i64::try_from(length).unwrap_or(i64::MAX);
    let mut record = Cursor::new(records.take_declared(declared)?);
    let framed = record.rest();
    let damaged = |what| Error::corrupt(format!("a record of a blob file {what}")).with("offset", offset);
    if record.le_i32()? != MAGIC {
        return Err(damaged("does not begin with its magic number"));
    }
    let value = record.take_declared(declared - FRAME_BYTES.cast_signed())?;
    if record.le_i64()? != declared {
        return Err(damaged("has a different length than the index"));
    }
    let checked = framed.get(..record.position()).unwrap_or_default();
    if record.le_u32()? != crc32fast::hash(checked) {
        return Err(damaged("has a checksum mismatch"));
    }
    Ok(value)
}

/// Returns the serialized form of a descriptor.
fn descriptor(uri: &str, offset: u64, length: u64) -> Result<Vec<u8>> {
    let too_far = || Error::corrupt("a blob offset exceeds 63 bits");
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
