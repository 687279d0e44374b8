//! Evaluates bit slices: one bitmap per binary digit of the unsigned numbers of rows. `bsi` and `range-bitmap` use them
//! to answer range queries.
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

/// Bit slices, which are decoded on demand.
#[derive(Debug)]
pub(super) struct BitSlices<'a> {
    rows: usize,
    exists: BooleanBuffer,
    /// The slices, least significant first; at most 64.
    slices: Vec<&'a [u8]>,
}

impl<'a> BitSlices<'a> {
    /// Creates slices over `rows` rows from the bytes of their bitmaps.
    ///
    /// # Errors
    /// `CorruptData` for more than 64 slices, and if the bitmap of rows does not decode.
    pub(super) fn try_new(rows: usize, exists: &'a [u8], slices: Vec<&'a [u8]>) -> Result<Self> {
        if slices.len() > 64 {
            return Err(Error::corrupt(format!("{} bit slices exceed the 64 bits of a number", slices.len())));
        }
        Ok(Self { rows, exists: mask(exists, rows)?, slices })
    }

    /// Returns the rows that have a number.
    pub(super) fn exists(&self) -> &BooleanBuffer {
        &self.exists
    }

    /// Returns the rows whose number is less than `bound`.
    pub(super) fn less_than(&self, bound: u64) -> Result<BooleanBuffer> {
        if bound.checked_shr(u32::try_from(self.slices.len()).unwrap_or(u32::MAX)).unwrap_or(0) != 0 {
            return Ok(self.exists.clone());
        }
        // From the lowest digit up: a number is less if its digit is less, or if its digit is equal and the lower
        // digits are less. The bits of the bound below its lowest set bit are all 0, so no number is less in those
        // bits, and they are skipped.
        let mut less = BooleanBuffer::new_unset(self.rows);
        for (digit, slice) in self.slices.iter().enumerate().skip(bound.trailing_zeros() as usize) {
            let zero = unset(slice, self.rows)?;
            less = if bound >> digit & 1 == 1 { &less | &zero } else { &less & &zero };
        }
        Ok(&less & &self.exists)
    }

    /// Returns the rows whose number is `number`.
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

/// Returns the rows that a serialized bitmap contains.
///
/// # Errors
/// `CorruptData` if the bitmap does not decode or contains a row beyond `rows`.
pub(super) fn mask(bitmap: &[u8], rows: usize) -> Result<BooleanBuffer> {
    Ok(!&unset(bitmap, rows)?)
}

/// Returns the rows up to `rows` that a serialized bitmap does not contain.
fn unset(bitmap: &[u8], rows: usize) -> Result<BooleanBuffer> {
    let positions = Positions::decode_portable32(bitmap)?;
    match positions.max() {
        Some(max) if max >= rows as u64 => {
            Err(Error::corrupt(format!("row {max} is out of range in an index of {rows} rows")))
        }
        _ => Ok(positions.kept(0, rows)),
    }
}
