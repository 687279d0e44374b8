//! Files of one BLOB column (documentation: "Blob Storage").
//!
//! ```text
//! file    = record* | index | index_bytes: i32 | version: 1
//! record  = magic: i32 = 1481511375 | value | record_bytes: i64 | CRC-32 of all before: i32        little-endian
//! index   = the record_bytes of each record, -1 for NULL: zigzag varints, each the difference to the one before
//! ```

use arrow_array::BinaryArray;
use arrow_array::builder::BinaryBuilder;
use frazil_core::bytes::Cursor;
use frazil_core::error::{Error, ErrorKind, Result};

const MAGIC: i32 = 1_481_511_375;
const VERSION: u8 = 1;
const FOOTER_BYTES: usize = 5;
/// What a record has beside its value: magic, length, checksum.
const FRAME_BYTES: i64 = 4 + 8 + 4;
const NULL_BYTES: i64 = -1;

/// The values of a file.
///
/// # Errors
/// `Unsupported` for another version; `CorruptDataFile` for anything else that does not decode.
pub fn decode(file: &[u8]) -> Result<BinaryArray> {
    decode_records(file).map_err(|e| e.corrupt_as(ErrorKind::CorruptDataFile))
}

fn decode_records(file: &[u8]) -> Result<BinaryArray> {
    let body_bytes =
        file.len().checked_sub(FOOTER_BYTES).ok_or_else(|| Error::corrupt("a blob file without its footer"))?;
    let (body, footer) = file.split_at(body_bytes);
    let mut footer = Cursor::new(footer);
    let index_bytes = footer.le_i32()?;
    match footer.byte()? {
        VERSION => {}
        other => return Err(Error::unsupported(format!("a blob file of version {other}"))),
    }
    let index_start = usize::try_from(index_bytes).ok().and_then(|bytes| body_bytes.checked_sub(bytes));
    let index_start = index_start.ok_or_else(|| Error::corrupt("the index of a blob file is longer than the file"))?;
    let (records, index) = body.split_at(index_start);

    let (mut records, mut index) = (Cursor::new(records), Cursor::new(index));
    let mut values = BinaryBuilder::new();
    let mut record_bytes = 0_i64;
    while !index.is_empty() {
        record_bytes = record_bytes.wrapping_add(index.zigzag()?);
        if record_bytes == NULL_BYTES {
            values.append_null();
        } else {
            values.append_value(record(&mut records, record_bytes)?);
        }
    }
    if records.is_empty() {
        Ok(values.finish())
    } else {
        Err(records.error(format_args!("{} bytes that no record of a blob file has", records.remaining())))
    }
}

fn record<'a>(records: &mut Cursor<'a>, record_bytes: i64) -> Result<&'a [u8]> {
    let start = records.position();
    let mut record = Cursor::new(records.take_declared(record_bytes)?);
    let framed = record.rest();
    let damaged = |what| Error::corrupt(format!("a record of a blob file {what}")).with("offset", start);
    if record.le_i32()? != MAGIC {
        return Err(damaged("does not begin as one"));
    }
    let value = record.take_declared(record_bytes - FRAME_BYTES)?;
    if record.le_i64()? != record_bytes {
        return Err(damaged("has another length than the index says"));
    }
    let checked = framed.get(..record.position()).unwrap_or_default();
    if record.le_u32()? != crc32fast::hash(checked) {
        return Err(damaged("has another checksum than its bytes"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;

    use super::*;

    /// Written by the reference: "Lily", "Alice".
    const TWO: &[u8] = b"\xcf\x11\x4e\x58Lily\x14\0\0\0\0\0\0\0\xc6\xc9\x3a\x45\
        \xcf\x11\x4e\x58Alice\x15\0\0\0\0\0\0\0\x15\xf0\x97\xed\x28\x02\x02\0\0\0\x01";

    #[test]
    fn a_file_of_the_reference_decodes() {
        assert_eq!(decode(TWO).unwrap(), BinaryArray::from_vec(vec![b"Lily", b"Alice"]));
        assert_eq!(decode(&[0, 0, 0, 0, 1]).unwrap().len(), 0);
        assert_eq!(decode(&[1, 1, 0, 0, 0, 1]).unwrap(), BinaryArray::from_opt_vec(vec![None]));
    }

    #[test]
    fn no_damaged_byte_goes_unnoticed() {
        for at in 0..TWO.len() {
            let mut damaged = TWO.to_vec();
            damaged[at] ^= 0x41;
            assert!(decode(&damaged).is_err(), "byte {at}");
        }
        for end in 0..TWO.len() {
            assert!(decode(&TWO[..end]).is_err(), "cut at {end}");
        }
    }
}
