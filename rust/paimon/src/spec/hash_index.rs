//! Encodes the index of a dynamic bucket: the hashes of its keys, as big-endian 32-bit integers in any order (Java's
//! `HashIndexFile`).

use bytes::Bytes;
use frazil_core::error::{Error, Result};

const HASH_BYTES: usize = size_of::<i32>();

/// Returns the hashes of an index of `count` keys.
///
/// # Errors
/// `CorruptData` for a file of another length.
pub(crate) fn decode(file: &[u8], count: i64) -> Result<Vec<i32>> {
    let (hashes, rest) = file.as_chunks::<HASH_BYTES>();
    if !rest.is_empty() || i64::try_from(hashes.len()) != Ok(count) {
        return Err(Error::corrupt(format!("an index of {count} keys has {} bytes", file.len())));
    }
    Ok(hashes.iter().copied().map(i32::from_be_bytes).collect())
}

/// Returns the file with these hashes.
pub(crate) fn encode(hashes: impl IntoIterator<Item = i32>) -> Bytes {
    hashes.into_iter().flat_map(i32::to_be_bytes).collect()
}

#[cfg(test)]
mod tests {
    use frazil_core::error::ErrorKind;

    use super::*;

    #[test]
    fn hashes_are_big_endian() {
        let hashes = [0, -1, i32::MAX, i32::MIN, 0x0102_0304];
        let file = encode(hashes);
        assert_eq!(file[16..], [1, 2, 3, 4]);
        assert_eq!(decode(&file, 5).unwrap(), hashes);
        assert_eq!(decode(&[], 0).unwrap().len(), 0);
    }

    #[test]
    fn files_of_another_length_are_corrupt() {
        for (file, count) in [(&[0; 7][..], 1), (&[0; 8], 1), (&[0; 4], 2), (&[0; 3], 0)] {
            assert_eq!(decode(file, count).err().map(|error| error.kind()), Some(ErrorKind::CorruptData), "{count}");
        }
    }
}
