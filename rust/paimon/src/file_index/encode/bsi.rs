//! Builds a `bsi` index (layout: `file_index/bsi.rs`).

use frazil_core::error::{Error, ErrorKind, Result};
use roaring::RoaringBitmap;

use super::column::HeldColumn;
use super::int;
use super::rows::{push_digits, serialized};

/// Numbers by binary digits. Negative numbers are stored separately by magnitude.
#[derive(Debug, Default)]
pub(super) struct EncodedSlices {
    positive: SliceSide,
    negative: SliceSide,
}

#[derive(Debug, Default)]
struct SliceSide {
    exists: RoaringBitmap,
    slices: Vec<RoaringBitmap>,
    max: u64,
}

impl EncodedSlices {
    pub(super) fn add(&mut self, held: &HeldColumn<'_>, first_row: u32) -> Result<()> {
        let HeldColumn::Numbers(numbers, nulls) = held else { return Ok(()) };
        for (at, (row, number)) in (first_row..).zip(numbers).enumerate() {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(at)) {
                continue;
            }
            if *number == i64::MIN {
                return Err(Error::new(ErrorKind::LimitExceeded, format!("the index `bsi` cannot hold {number}"))
                    .hint("remove the index from the options of the table"));
            }
            let side = if *number < 0 { &mut self.negative } else { &mut self.positive };
            side.exists.insert(row);
            side.max = side.max.max(number.unsigned_abs());
            push_digits(&mut side.slices, row, number.unsigned_abs());
        }
        Ok(())
    }

    pub(super) fn finish(self, rows: u32) -> Result<Vec<u8>> {
        let mut out = vec![1];
        out.extend(rows.to_be_bytes());
        for side in [self.positive, self.negative] {
            out.push(u8::from(!side.exists.is_empty()));
            if !side.exists.is_empty() {
                out.push(1);
                // Java's minimum is always 0.
                out.extend(0_i64.to_be_bytes());
                out.extend(side.max.to_be_bytes());
                out.extend(serialized(side.exists)?);
                out.extend(int(side.slices.len())?);
                for slice in side.slices {
                    out.extend(serialized(slice)?);
                }
            }
        }
        Ok(out)
    }
}
