//! Unsigned numbers of rows, a bitmap for each binary digit: what `bsi` and `range-bitmap` answer ranges with.
//!
//! ```text
//! row        0    1    2    3
//! number     5    -    1    4
//! exists     1    0    1    1       rows that have a number
//! slice 0    1    0    1    0       digit of 1
//! slice 1    0    0    0    0       digit of 2
//! slice 2    1    0    0    1       digit of 4
//! ```

use arrow_buffer::BooleanBuffer;
use frazil_core::bitmap::Positions;
use frazil_core::error::{Error, Result};

/// Bitmaps; slices are decoded when they are needed.
#[derive(Debug)]
pub(super) struct BitSlices<'a> {
    rows: usize,
    exists: BooleanBuffer,
    /// Least significant first; at most 64.
    slices: Vec<&'a [u8]>,
}

impl<'a> BitSlices<'a> {
    /// Slices over `rows` rows, of the bytes of their bitmaps.
    ///
    /// # Errors
    /// `CorruptData` for more slices than a number has digits, and when the bitmap of rows does not decode.
    pub(super) fn try_new(rows: usize, exists: &'a [u8], slices: Vec<&'a [u8]>) -> Result<Self> {
        if slices.len() > 64 {
            return Err(Error::corrupt(format!("{} slices of numbers of 64 bits", slices.len())));
        }
        Ok(Self { rows, exists: mask(exists, rows)?, slices })
    }

    /// The rows that have a number.
    pub(super) fn exists(&self) -> &BooleanBuffer {
        &self.exists
    }

    /// The rows whose number is less than `bound`.
    pub(super) fn less_than(&self, bound: u64) -> Result<BooleanBuffer> {
        if bound.checked_shr(u32::try_from(self.slices.len()).unwrap_or(u32::MAX)).unwrap_or(0) != 0 {
            return Ok(self.exists.clone());
        }
        // From the lowest digit up: a number is less when its digit is, or when it is the same and the lower digits
        // are less. Below the lowest 1 of the bound nothing is.
        let mut less = BooleanBuffer::new_unset(self.rows);
        for (digit, slice) in self.slices.iter().enumerate().skip(bound.trailing_zeros() as usize) {
            let zero = unset(slice, self.rows)?;
            less = if bound >> digit & 1 == 1 { &less | &zero } else { &less & &zero };
        }
        Ok(&less & &self.exists)
    }

    /// The rows whose number is `number`.
    pub(super) fn equal_to(&self, number: u64) -> Result<BooleanBuffer> {
        if number.checked_shr(u32::try_from(self.slices.len()).unwrap_or(u32::MAX)).unwrap_or(0) != 0 {
            return Ok(BooleanBuffer::new_unset(self.rows));
        }
        let mut equal = self.exists.clone();
        for (digit, slice) in self.slices.iter().enumerate() {
            let zero = unset(slice, self.rows)?;
            equal = if number >> digit & 1 == 1 { &equal & &!&zero } else { &equal & &zero };
        }
        Ok(equal)
    }
}

/// The rows that a serialised bitmap holds.
///
/// # Errors
/// `CorruptData` when it does not decode or holds a row beyond `rows`.
pub(super) fn mask(bitmap: &[u8], rows: usize) -> Result<BooleanBuffer> {
    Ok(!&unset(bitmap, rows)?)
}

/// The rows that a serialised bitmap does not hold.
fn unset(bitmap: &[u8], rows: usize) -> Result<BooleanBuffer> {
    let positions = Positions::decode_portable32(bitmap)?;
    match positions.max() {
        Some(max) if max >= rows as u64 => Err(Error::corrupt(format!("row {max} in an index of {rows} rows"))),
        _ => Ok(positions.kept(0, rows)),
    }
}
