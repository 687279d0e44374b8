//! Builds a `range-bitmap` index (layout: `file_index/range_bitmap.rs`).

use frazil_core::error::Result;
use roaring::RoaringBitmap;

use super::distinct::{Distinct, Sorted, width};
use super::int;
use super::rows::{bitmap_of, push_digits, serialized};
use crate::file_index::value::Layout;

/// Values by rank, and ranks by binary digits.
#[derive(Debug)]
pub(super) struct RangeBitmap {
    /// The maximum size of the keys of a dictionary chunk, without its first key.
    pub(super) chunk_bytes: usize,
    pub(super) layout: Layout,
    pub(super) distinct: Distinct,
}

/// A chunk of the dictionary.
struct Chunk {
    /// The rank of the first key.
    first: usize,
    /// The further keys.
    keys: Vec<u8>,
    /// The start of each further key in `keys`.
    offsets: Vec<u8>,
    /// The number of further keys.
    further: usize,
}

impl RangeBitmap {
    pub(super) fn finish(self, rows: u32) -> Result<Vec<u8>> {
        let sorted = self.distinct.sort()?;
        let mut head = vec![1];
        head.extend(rows.to_be_bytes());
        head.extend(int(sorted.len())?);
        if let Some(last) = sorted.len().checked_sub(1) {
            head.extend(sorted.key(0));
            head.extend(sorted.key(last));
        }
        let dictionary = dictionary(&sorted, self.layout, self.chunk_bytes)?;
        head.extend(int(dictionary.len())?);
        Ok([&int(head.len())?[..], &head, &dictionary, &slices(&sorted)?].concat())
    }
}

fn dictionary(sorted: &Sorted, layout: Layout, chunk_bytes: usize) -> Result<Vec<u8>> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for rank in 0..sorted.len() {
        let key = sorted.key(rank);
        match chunks.last_mut() {
            Some(chunk) if chunk.keys.len().saturating_add(key.len()) <= chunk_bytes => {
                chunk.offsets.extend(int(chunk.keys.len())?);
                chunk.keys.extend(key);
                chunk.further = chunk.further.saturating_add(1);
            }
            _ => chunks.push(Chunk { first: rank, keys: Vec::new(), offsets: Vec::new(), further: 0 }),
        }
    }
    let (mut starts, mut heads, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for chunk in &chunks {
        starts.extend(int(heads.len())?);
        heads.push(1);
        heads.extend(sorted.key(chunk.first));
        for number in [chunk.first, keys.len(), chunk.further] {
            heads.extend(int(number)?);
        }
        if layout == Layout::Bytes {
            heads.extend(int(chunk.offsets.len())?);
            heads.extend(int(chunk.keys.len())?);
            keys.extend(&chunk.offsets);
        } else {
            heads.extend(int(chunk.keys.len())?);
            heads.extend(int(width(layout))?);
        }
        keys.extend(&chunk.keys);
    }
    let mut head = vec![1];
    for number in [chunks.len(), starts.len(), heads.len()] {
        head.extend(int(number)?);
    }
    Ok([&int(head.len())?[..], &head, &starts, &heads, &keys].concat())
}

fn slices(sorted: &Sorted) -> Result<Vec<u8>> {
    let mut slices = Vec::new();
    for (row, rank) in sorted.ranks() {
        push_digits(&mut slices, row, u64::from(rank));
    }
    // Matches Java's count of the digits of the greatest rank, which is -1 if there are no values.
    let least = if sorted.len() == 0 { 64 } else { 1 };
    if slices.len() < least {
        slices.resize_with(least, RoaringBitmap::new);
    }
    let exists = serialized(bitmap_of(sorted.ranks().map(|(row, _)| row)))?;
    let mut head = vec![1];
    head.extend(u8::try_from(slices.len()));
    head.extend(int(exists.len())?);
    head.extend(int(slices.len().saturating_mul(8))?);
    let mut bodies = exists;
    let mut at = 0_usize;
    for slice in slices {
        let bytes = serialized(slice)?;
        head.extend(int(at)?);
        head.extend(int(bytes.len())?);
        at = at.saturating_add(bytes.len());
        bodies.extend(bytes);
    }
    Ok([&int(head.len())?[..], &head, &bodies].concat())
}
