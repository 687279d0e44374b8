//! Builds a `bloom-filter` (layout: `file_index/bloom_filter.rs`).

use xxhash_rust::xxh64::xxh64;

use super::column::HeldColumn;
use crate::file_index::bloom_filter::mixed;

/// A Bloom filter of 64-bit hashes.
#[derive(Debug)]
pub(super) struct BloomFilter {
    bits: Vec<u8>,
    bit_count: i32,
    functions: i32,
}

/// Returns the numbers of bits and of hash functions for a number of values and a false-positive rate, like Java's
/// `BloomFilter64`. Returns None if too many bits are needed.
#[expect(clippy::cast_possible_truncation, reason = "as Java casts, which saturates too")]
pub(super) fn dimensions(items: i32, false_positives: f64) -> Option<(i32, i32)> {
    let ln_2 = 2.0_f64.ln();
    let wanted = (-f64::from(items) * false_positives.ln() / (ln_2 * ln_2)) as i32;
    let bits = wanted.checked_add(8_i32.checked_sub(wanted.checked_rem(8)?)?)?;
    let functions = (f64::from(bits) / f64::from(items) * ln_2 + 0.5).floor() as i32;
    Some((bits, functions.max(1)))
}

impl BloomFilter {
    /// Creates an empty filter. `bit_count` is a positive multiple of 8.
    pub(super) fn new(bit_count: i32, functions: i32) -> Self {
        Self { bits: vec![0; usize::try_from(bit_count / 8).unwrap_or(0)], bit_count, functions }
    }

    pub(super) fn add(&mut self, held: &HeldColumn<'_>) {
        match held {
            HeldColumn::Numbers(numbers, nulls) => {
                for (row, number) in numbers.iter().enumerate() {
                    if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                        self.insert(mixed(*number));
                    }
                }
            }
            HeldColumn::Bytes(texts) => texts.iter().flatten().for_each(|bytes| self.insert(xxh64(bytes, 0))),
        }
    }

    fn insert(&mut self, hash: u64) {
        let half = |bits: u64| i32::from_be_bytes(bits.to_be_bytes().last_chunk().copied().unwrap_or_default());
        let (low, high) = (half(hash), half(hash >> 32));
        for i in 1..=self.functions {
            let sum = low.wrapping_add(i.wrapping_mul(high));
            let bit = (if sum < 0 { !sum } else { sum }).checked_rem(self.bit_count).unwrap_or(0);
            if let Some(byte) = usize::try_from(bit / 8).ok().and_then(|byte| self.bits.get_mut(byte)) {
                *byte |= 1 << (bit % 8);
            }
        }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        [&self.functions.to_be_bytes()[..], &self.bits].concat()
    }
}
