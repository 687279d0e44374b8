//! Builds a `bitmap` index (layout: `file_index/bitmap.rs`). Bitmaps are in value order.

use frazil_core::error::{Error, ErrorKind, Result};

use super::distinct::{Distinct, Sorted, part};
use super::int;
use super::options::BitmapVersion;
use super::rows::{bitmap_of, serialized};

/// The rows of every value.
#[derive(Debug)]
pub(super) struct BitmapIndex {
    pub(super) version: BitmapVersion,
    /// The maximum size of the entries of a block; a longer entry has its own block.
    pub(super) block_bytes: usize,
    pub(super) distinct: Distinct,
}

/// The offset and length of the bitmap of a value. Both are negative for a single row.
type EncodedPlace = (i32, i32);

impl BitmapIndex {
    pub(super) fn finish(self, rows: u32) -> Result<Vec<u8>> {
        let sorted = self.distinct.sort()?;
        let mut bodies = Vec::new();
        let mut head = vec![match self.version {
            BitmapVersion::One => 1,
            BitmapVersion::Two => 2,
        }];
        head.extend(rows.to_be_bytes());
        head.extend(int(sorted.len())?);
        let nulls = bitmap_of(sorted.nulls());
        head.push(u8::from(!nulls.is_empty()));
        if !nulls.is_empty() {
            let only = nulls.min().filter(|_| nulls.len() == 1);
            let bytes = serialized(nulls)?;
            head.extend(only.map_or(Ok(0), single)?.to_be_bytes());
            if self.version == BitmapVersion::Two {
                head.extend(int(bytes.len())?);
            }
            if only.is_none() {
                bodies.extend(bytes);
            }
        }
        let places = places(&sorted, &mut bodies)?;
        match self.version {
            BitmapVersion::One => {
                for (rank, (start, _)) in places.iter().enumerate() {
                    head.extend(sorted.key(rank));
                    head.extend(start.to_be_bytes());
                }
            }
            BitmapVersion::Two => blocks(&mut head, &sorted, &places, self.block_bytes)?,
        }
        head.extend(bodies);
        Ok(head)
    }
}

fn places(sorted: &Sorted, bodies: &mut Vec<u8>) -> Result<Vec<EncodedPlace>> {
    let (rows, ends) = sorted.rows_by_rank();
    let mut places = Vec::with_capacity(ends.len());
    for rank in 0..ends.len() {
        places.push(match part(&rows, &ends, rank) {
            [only] => (single(*only)?, -1),
            rows => {
                let (start, bytes) = (int(bodies.len())?, serialized(bitmap_of(rows.iter().copied()))?);
                bodies.extend(&bytes);
                (i32::from_be_bytes(start), i32::from_be_bytes(int(bytes.len())?))
            }
        });
    }
    Ok(places)
}

/// Returns the encoding of a single row, stored in place of the offset of its bitmap.
fn single(row: u32) -> Result<i32> {
    let place = i32::try_from(row).ok().and_then(|row| (-1_i32).checked_sub(row));
    place.ok_or_else(|| Error::new(ErrorKind::LimitExceeded, "a file index has 2^31 or more rows"))
}

fn blocks(head: &mut Vec<u8>, sorted: &Sorted, places: &[EncodedPlace], block_bytes: usize) -> Result<()> {
    let mut firsts = Vec::new();
    let (mut count, mut blocks) = (0_usize, Vec::new());
    // The start of the last block, and the number of its entries.
    let (mut start, mut entries) = (0_usize, 0_i32);
    for (rank, (place, length)) in places.iter().enumerate() {
        let key = sorted.key(rank);
        let taken = blocks.len().saturating_sub(start);
        if count == 0 || (entries > 0 && taken.saturating_add(key.len()).saturating_add(8) > block_bytes) {
            set_count(&mut blocks, start, entries);
            (start, entries) = (blocks.len(), 0);
            firsts.extend(key);
            firsts.extend(int(start)?);
            blocks.extend([0; 4]);
            count = count.saturating_add(1);
        }
        blocks.extend(key);
        blocks.extend(place.to_be_bytes());
        blocks.extend(length.to_be_bytes());
        entries = entries.saturating_add(1);
    }
    set_count(&mut blocks, start, entries);
    head.extend(int(count)?);
    head.extend(firsts);
    head.extend(int(blocks.len())?);
    head.extend(blocks);
    Ok(())
}

fn set_count(blocks: &mut [u8], start: usize, entries: i32) {
    if let Some(place) = blocks.get_mut(start..start.saturating_add(4)) {
        place.copy_from_slice(&entries.to_be_bytes());
    }
}
