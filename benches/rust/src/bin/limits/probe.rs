//! Applies equality deletes: the keys are in a filter and an open-addressing hash table, and every row is looked up.
//!
//! The filter has a bit for each hash, and is small enough for a core's cache. It is tested without a branch; only the
//! few rows that pass it are looked up in the table. Rows and keys are those of the tables T5 and T5b.

use frazil_benches::random::Random;

use crate::measure::best;
use crate::simd::dispatched;

const KEYS: usize = 1_000_000;
const ROWS: usize = 20_000_000;
const SLOTS: usize = 1 << 21; // at most half full
const FILTER_BITS: usize = 1 << 23; // 1 MiB
const NAMES: u64 = 100_000;
const DELETED_NAMES: u64 = 5_000;
const PASSES: usize = 5;

/// A key of fixed width. `NONE` marks a free slot and is not a valid key.
trait Key: Copy + Eq {
    const NONE: Self;

    /// Returns the hash, which is below `FILTER_BITS`. Equal keys have equal hashes.
    fn hash(self) -> usize;

    /// Sets the bits of the rows that pass the filter.
    fn sieve(filter: &[u64; FILTER_BITS / 64], rows: &[Self], candidates: &mut [u64]);
}

impl Key for u64 {
    const NONE: Self = Self::MAX;

    #[inline(always)]
    fn hash(self) -> usize {
        top_bits(self.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    fn sieve(filter: &[u64; FILTER_BITS / 64], rows: &[Self], candidates: &mut [u64]) {
        sieve_integers(filter, rows, candidates);
    }
}

/// A string of 16 bytes.
impl Key for u128 {
    const NONE: Self = Self::MAX;

    #[inline(always)]
    fn hash(self) -> usize {
        let mixed = (self as u64).wrapping_mul(0xA076_1D64_78BD_642F) ^ ((self >> 64) as u64);
        top_bits((mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    fn sieve(filter: &[u64; FILTER_BITS / 64], rows: &[Self], candidates: &mut [u64]) {
        sieve_texts(filter, rows, candidates);
    }
}

#[inline(always)]
fn top_bits(hash: u64) -> usize {
    (hash >> (64 - FILTER_BITS.trailing_zeros())) as usize
}

#[inline(always)]
fn sieve<K: Key>(filter: &[u64; FILTER_BITS / 64], rows: &[K], candidates: &mut [u64]) {
    for (rows, word) in rows.chunks(64).zip(candidates) {
        let mut bits = 0;
        for (row, key) in rows.iter().enumerate() {
            let hash = key.hash() % FILTER_BITS;
            bits |= (filter[hash / 64] >> (hash % 64) & 1) << row;
        }
        *word = bits;
    }
}

dispatched! {
    fn sieve_integers(filter: &[u64; FILTER_BITS / 64], rows: &[u64], candidates: &mut [u64]) {
        sieve(filter, rows, candidates);
    }
}

dispatched! {
    fn sieve_texts(filter: &[u64; FILTER_BITS / 64], rows: &[u128], candidates: &mut [u64]) {
        sieve(filter, rows, candidates);
    }
}

/// Measures 64-bit integers, of which a twentieth of the rows, scattered, is deleted.
pub(crate) fn integers() {
    let mut random = Random::new(5);
    let id = |row: u64| row.wrapping_mul(0x9E37_79B9_7F4A_7C15) & ((1 << 40) - 1);
    let every = (ROWS / KEYS) as u64;
    let keys: Vec<u64> = (0..KEYS as u64).map(|key| id(key * every + random.below(every))).collect();
    run("probe-i64", &(0..ROWS as u64).map(id).collect::<Vec<_>>(), &keys);
}

/// Measures contiguous strings of 16 bytes, whose equal length is known. A twentieth of the names is deleted, and many
/// strings that are in no row.
pub(crate) fn texts() {
    let mut random = Random::new(6);
    let rows: Vec<u128> = (0..ROWS).map(|_| text(*b"name_", random.below(NAMES))).collect();
    let deleted = (0..DELETED_NAMES).map(|number| text(*b"name_", number));
    let missing = (DELETED_NAMES..KEYS as u64).map(|number| text(*b"miss_", number));
    run("probe-str", &rows, &deleted.chain(missing).collect::<Vec<_>>());
}

/// Returns a word followed by eleven digits.
fn text(word: [u8; 5], number: u64) -> u128 {
    let mut bytes = [0; 16];
    bytes[..5].copy_from_slice(&word);
    let mut rest = number * 2_654_435_761 % 99_999_999_999;
    for byte in bytes[5..].iter_mut().rev() {
        *byte = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    u128::from_le_bytes(bytes)
}

fn run<K: Key + std::hash::Hash>(limit: &str, rows: &[K], keys: &[K]) {
    let words = ROWS.div_ceil(64);
    let pass = |kept: &mut Vec<u64>| Keys::new(keys).probe(rows, kept);
    best(limit, PASSES, vec![0; words], pass, |kept| {
        let known: std::collections::HashSet<K> = keys.iter().copied().collect();
        // Checking all rows would take seconds.
        assert!(
            (0..ROWS).step_by(101).all(|row| (kept[row / 64] >> (row % 64) & 1 == 0) == known.contains(&rows[row]))
        );
        kept.iter().map(|word| u64::from(word.count_ones())).sum()
    });
}

struct Keys<K> {
    filter: Box<[u64; FILTER_BITS / 64]>,
    table: Box<[K; SLOTS]>,
}

impl<K: Key> Keys<K> {
    fn new(keys: &[K]) -> Self {
        let mut filter: Box<[u64; FILTER_BITS / 64]> = boxed(0);
        let mut table: Box<[K; SLOTS]> = boxed(K::NONE);
        for key in keys {
            let hash = key.hash() % FILTER_BITS;
            filter[hash / 64] |= 1 << (hash % 64);
            let mut slot = first_slot(hash);
            while table[slot] != K::NONE && table[slot] != *key {
                slot = (slot + 1) % SLOTS;
            }
            table[slot] = *key;
        }
        Self { filter, table }
    }

    /// Sets the bits of the rows whose key is not in the table.
    fn probe(&self, rows: &[K], kept: &mut [u64]) {
        // Processes as many rows at a time as fit the first-level cache.
        for (rows, kept) in rows.chunks(1024).zip(kept.chunks_mut(16)) {
            K::sieve(&self.filter, rows, kept);
            for (rows, word) in rows.chunks(64).zip(kept) {
                let mut candidates = *word;
                let mut found = 0;
                while candidates != 0 {
                    let row = candidates.trailing_zeros();
                    candidates &= candidates - 1;
                    found |= u64::from(self.contains(rows[row as usize])) << row;
                }
                *word = !found;
            }
        }
    }

    #[inline(always)]
    fn contains(&self, key: K) -> bool {
        let mut slot = first_slot(key.hash());
        loop {
            let other = self.table[slot % SLOTS];
            if other == key || other == K::NONE {
                return other == key;
            }
            slot += 1;
        }
    }
}

fn first_slot(hash: usize) -> usize {
    hash / (FILTER_BITS / SLOTS)
}

fn boxed<T: Copy, const N: usize>(value: T) -> Box<[T; N]> {
    vec![value; N].try_into().unwrap_or_else(|_| unreachable!("the vector has this length"))
}
