//! Builds and serializes bitmaps of row positions.

use frazil_core::error::{Error, Result};
use roaring::RoaringBitmap;

/// Serializes a bitmap, run-length encoded if that is shorter.
pub(super) fn serialized(mut rows: RoaringBitmap) -> Result<Vec<u8>> {
    rows.optimize();
    let mut bytes = Vec::with_capacity(rows.serialized_size());
    rows.serialize_into(&mut bytes)
        .map_err(|error| Error::corrupt(format!("cannot serialize a bitmap of a file index: {error}")))?;
    Ok(bytes)
}

/// Builds a bitmap of ascending rows.
pub(super) fn bitmap_of(rows: impl IntoIterator<Item = u32>) -> RoaringBitmap {
    let mut bitmap = RoaringBitmap::new();
    for row in rows {
        bitmap.insert(row);
    }
    bitmap
}

/// Adds a row to the bitmap of each binary digit that is 1 in a number.
pub(super) fn push_digits(slices: &mut Vec<RoaringBitmap>, row: u32, number: u64) {
    let digits = usize::try_from(64 - number.leading_zeros()).unwrap_or(64);
    if slices.len() < digits {
        slices.resize_with(digits, RoaringBitmap::new);
    }
    for (digit, slice) in slices.iter_mut().enumerate().take(digits) {
        if number >> digit & 1 == 1 {
            slice.insert(row);
        }
    }
}
