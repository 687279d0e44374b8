//! Reads and writes deletion vectors: the `deletion-vector-v1` blob (Puffin spec, "`deletion-vector-v1` blob type").
//!
//! ```text
//! length: u32 BE | magic: d1 d3 39 64 | 64-bit portable roaring bitmap (LE) | CRC-32: u32 BE
//! ```
//!
//! The length and the checksum cover the magic and the bitmap. A manifest entry records the offset of the blob; a
//! reader does not need the Puffin file around it.

use std::ops::Range;

use arrow_buffer::BooleanBuffer;
use frazil_core::bitmap::{Positions, kept_of_portable64};
use frazil_core::bytes::Cursor;
use frazil_core::error::{Error, ErrorKind, Result};

const MAGIC: [u8; 4] = [0xd1, 0xd3, 0x39, 0x64];
/// The length, the magic, the count of an empty bitmap, and the checksum.
const BLOB_MIN_BYTES: u64 = 20;
/// The maximum that the length prefix of the reference implementation can hold.
const BLOB_MAX_BYTES: u64 = i32::MAX.cast_unsigned() as u64;

/// Returns the byte range of a blob in its file of `file_bytes`, given its manifest entry's `content_offset` and
/// `content_size_in_bytes`.
///
/// # Errors
/// `CorruptDeletes` if either is negative, the blob is too short, or it is not entirely inside the file;
/// `LimitExceeded` above 2 GiB.
pub fn blob_range(content_offset: i64, content_size: i64, file_bytes: u64) -> Result<Range<u64>> {
    let corrupt = |what: &str| {
        Error::new(
            ErrorKind::CorruptDeletes,
            format!("a deletion vector of {content_size} bytes at {content_offset} {what} ({file_bytes} bytes)"),
        )
    };
    let (Ok(start), Ok(size)) = (u64::try_from(content_offset), u64::try_from(content_size)) else {
        return Err(corrupt("has an invalid offset or size"));
    };
    if size < BLOB_MIN_BYTES {
        return Err(corrupt("is too short"));
    }
    match start.checked_add(size).filter(|end| *end <= file_bytes) {
        None => Err(corrupt("is not inside its file")),
        Some(_) if size > BLOB_MAX_BYTES => Err(Error::new(
            ErrorKind::LimitExceeded,
            format!("a deletion vector of {size} bytes exceeds the limit of 2 GiB"),
        )),
        Some(end) => Ok(start..end),
    }
}

/// Returns the positions of a blob. `record_count` is the number of deleted rows according to its manifest entry.
///
/// # Errors
/// `CorruptDeletes` if the length, magic, checksum, bitmap or number of positions is wrong.
pub fn decode(blob: &[u8], record_count: Option<i64>) -> Result<Positions> {
    decode_frame(blob, record_count).map_err(|error| error.corrupt_as(ErrorKind::CorruptDeletes))
}

/// Returns a mask of the rows, out of `rows`, that a blob does *not* delete, without building a set of positions.
///
/// # Errors
/// See [`decode`]; also if a position is not below `rows`. `LimitExceeded` if the mask does not fit in memory.
pub fn kept(blob: &[u8], rows: usize) -> Result<BooleanBuffer> {
    let kept = bitmap_of(blob).and_then(|bitmap| kept_of_portable64(bitmap, rows));
    kept.map_err(|error| error.corrupt_as(ErrorKind::CorruptDeletes))
}

/// Encodes positions as a blob, byte for byte as the reference implementation writes it.
///
/// # Errors
/// `LimitExceeded` above 2 GiB, which positions above roughly 2^59 need.
pub fn encode(positions: &Positions) -> Result<Vec<u8>> {
    let bitmap = positions.encode_portable64()?;
    let over_limit = || Error::new(ErrorKind::LimitExceeded, "a deletion vector exceeds the limit of 2 GiB");
    let length = i32::try_from(MAGIC.len() + bitmap.len()).map_err(|_| over_limit())?;
    let mut blob = Vec::with_capacity(bitmap.len() + 12);
    blob.extend(length.to_be_bytes());
    blob.extend(MAGIC);
    blob.extend_from_slice(&bitmap);
    let crc = crc32fast::hash(blob.get(4..).unwrap_or_default());
    blob.extend(crc.to_be_bytes());
    Ok(blob)
}

fn decode_frame(blob: &[u8], record_count: Option<i64>) -> Result<Positions> {
    let positions = Positions::decode_portable64(bitmap_of(blob)?)?;
    match record_count {
        Some(count) if u64::try_from(count) != Ok(positions.len()) => Err(Error::corrupt(format!(
            "a deletion vector holds {} positions, but its manifest entry records {count}",
            positions.len()
        ))),
        _ => Ok(positions),
    }
}

/// Returns the bitmap of a blob after checking its length, checksum and magic.
fn bitmap_of(blob: &[u8]) -> Result<&[u8]> {
    let mut cursor = Cursor::new(blob);
    let length = cursor.be_u32()? as usize;
    if length.checked_add(8) != Some(blob.len()) {
        return Err(cursor.error(format_args!(
            "a deletion vector has a length of {length} bytes in a blob of {} bytes",
            blob.len()
        )));
    }
    let content = cursor.take(length)?;
    let expected = cursor.be_u32()?;
    let actual = crc32fast::hash(content);
    let Some(bitmap) = content.strip_prefix(&MAGIC) else {
        return Err(Error::corrupt("the blob does not have the magic of a deletion vector"));
    };
    if actual != expected {
        return Err(Error::corrupt(format!(
            "the checksum of a deletion vector is {actual:08x}, but {expected:08x} is recorded"
        )));
    }
    Ok(bitmap)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: String = text.split_whitespace().collect();
        (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
    }

    const EMPTY: &str = "0000000c d1d33964 0000000000000000 bf18480c";
    const FIVE_ODD: &str = "0000002a d1d33964 0100000000000000 00000000 3a300000 01000000 00000400 10000000
                            0100030005000700 0900 b3fb20be";

    #[test]
    fn blobs_of_the_reference_implementation_are_read_and_written() {
        for (blob, expected) in [(EMPTY, vec![]), (FIVE_ODD, vec![1, 3, 5, 7, 9])] {
            let blob = hex(blob);
            let positions = decode(&blob, i64::try_from(expected.len()).ok()).unwrap();
            assert_eq!(positions.iter().collect::<Vec<_>>(), expected);
            assert_eq!(encode(&positions).unwrap(), blob);
            assert_eq!(kept(&blob, 100).unwrap(), positions.kept(0, 100));
            assert_eq!(kept(&blob, 9).is_ok(), expected.is_empty(), "row 9 is not one of nine");
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let blob = hex(FIVE_ODD);
        for at in 0..blob.len() {
            for bit in 0..8 {
                let mut damaged = blob.clone();
                damaged[at] ^= 1 << bit;
                assert_eq!(decode(&damaged, None).unwrap_err().kind(), ErrorKind::CorruptDeletes, "{at}.{bit}");
                assert_eq!(kept(&damaged, 10).unwrap_err().kind(), ErrorKind::CorruptDeletes, "{at}.{bit}");
            }
            assert_eq!(decode(&blob[..at], None).unwrap_err().kind(), ErrorKind::CorruptDeletes, "{at}");
        }
        assert!(decode(&[blob, vec![0]].concat(), None).is_err());
    }

    #[test]
    fn invalid_vectors_with_valid_checksums_are_rejected() {
        let cases = [
            ("X10", "d1d33964 0000000000000080"),
            ("X12", "d1d33964 0100000000000000 00000000 deadbeef 01000000 00000400 10000000 0100 0300 0500 0700 0900"),
            ("X13", "d1d33964 0100000000000000 ffffffff 3a300000 01000000 00000400 10000000 0100 0300 0500 0700 0900"),
            ("X08", "d1d33965 0000000000000000"),
            ("no magic", ""),
        ];
        for (what, content) in cases {
            let content = hex(content);
            let length = u32::try_from(content.len()).unwrap().to_be_bytes();
            let blob = [&length[..], &content, &crc32fast::hash(&content).to_be_bytes()].concat();
            assert_eq!(decode(&blob, None).expect_err(what).kind(), ErrorKind::CorruptDeletes, "{what}");
        }
    }

    #[test]
    fn the_recorded_count_is_the_number_of_positions() {
        for count in [4, 6, 1005, -5, i64::MIN] {
            assert_eq!(decode(&hex(FIVE_ODD), Some(count)).unwrap_err().kind(), ErrorKind::CorruptDeletes);
        }
    }

    #[test]
    fn blob_ranges_must_lie_within_the_file() {
        assert_eq!(blob_range(4, 50, 54).unwrap(), 4..54);
        assert_eq!(blob_range(0, 20, 20).unwrap(), 0..20);
        let corrupt =
            [(4, 51, 54), (1 << 40, 50, 54), (-8, 50, 54), (4, -1, 54), (4, 0, 54), (4, 19, 54), (4, i64::MAX, 54)];
        for (offset, size, file) in corrupt {
            assert_eq!(
                blob_range(offset, size, file).unwrap_err().kind(),
                ErrorKind::CorruptDeletes,
                "{offset} {size}"
            );
        }
        assert_eq!(blob_range(4, 1 << 40, 1 << 41).unwrap_err().kind(), ErrorKind::LimitExceeded);
    }
}
