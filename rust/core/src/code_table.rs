//! A hash table of 64-bit codes, with a preceding filter that stays in the cache.
//!
//! Most rows of most files are not deleted, and the table is larger than a CPU cache. Each code therefore sets two bits
//! in one word of a filter, and only rows whose two bits are set are looked up: all codes in the table, and about one
//! in fifty of the remaining ones. Codes are stored with their values in lines of four, filled from the front; a full
//! line overflows into the next one. At most half of the table is used, so lines are rarely full.

use std::hash::{BuildHasher, Hasher};

use hashbrown::DefaultHashBuilder;

/// The number of codes in a line. With values of eight bytes, the codes and values of a line fill a cache line.
const LINE: usize = 4;
/// The number of lines that share a word of the filter, which then has two bits set for each of at most four codes.
const FILTERED_LINES: usize = 2;
/// The number of words of 64 rows whose lines are prefetched before the rows are looked up. The prefetched lines fit in
/// the smallest cache.
const TOUCHED_WORDS: usize = 16;
/// The minimum number of lines, so that the line number is at least one upper bit of a hash.
const LINES_MIN: usize = 2;

/// A table of codes, each with a `T`. A code may occur several times.
#[derive(Debug)]
pub struct CodeTable<T> {
    /// The lines: initially none, then a power of two.
    lines: Vec<Line<T>>,
    /// The number of codes in each line.
    filled: Vec<u8>,
    /// The filter, with one word for several lines: see [`FILTERED_LINES`].
    filter: Vec<u64>,
    len: usize,
}

#[repr(align(64))]
#[derive(Debug, Clone, Default)]
struct Line<T> {
    codes: [u64; LINE],
    values: [T; LINE],
}

impl<T> Default for CodeTable<T> {
    fn default() -> Self {
        Self { lines: Vec::new(), filled: Vec::new(), filter: Vec::new(), len: 0 }
    }
}

impl<T: Clone + Default> CodeTable<T> {
    /// Returns the number of codes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the size in bytes.
    pub fn size_bytes(&self) -> usize {
        self.lines.len() * (size_of::<Line<T>>() + size_of::<u8>()) + self.filter.len() * size_of::<u64>()
    }

    /// Reserves capacity for `codes` more codes. `hash` returns the hash with which a code was added.
    pub fn reserve(&mut self, codes: usize, hash: impl Fn(u64) -> u64) {
        let lines = (2 * (self.len + codes)).div_ceil(LINE);
        if lines <= self.lines.len() {
            return;
        }
        let lines = lines.next_power_of_two().max(LINES_MIN);
        let mut larger = Self {
            lines: vec![Line::default(); lines],
            filled: vec![0; lines],
            filter: vec![0; lines / FILTERED_LINES],
            len: 0,
        };
        for (line, filled) in self.lines.iter_mut().zip(&self.filled) {
            for (code, value) in line.codes.iter().zip(&mut line.values).take(usize::from(*filled)) {
                larger.put(hash(*code), *code, std::mem::take(value));
            }
        }
        *self = larger;
    }

    /// Returns the value of a code that `accept` accepts.
    pub fn find(&self, hash: u64, code: u64, accept: impl Fn(&T) -> bool) -> Option<&T> {
        let (line, slot) = self.place(hash, code, accept)?;
        self.lines.get(line)?.values.get(slot)
    }

    /// Returns a mutable reference, like [`CodeTable::find`].
    pub fn find_mut(&mut self, hash: u64, code: u64, accept: impl Fn(&T) -> bool) -> Option<&mut T> {
        let (line, slot) = self.place(hash, code, accept)?;
        self.lines.get_mut(line)?.values.get_mut(slot)
    }

    /// Adds a code; capacity must have been reserved.
    pub fn put(&mut self, hash: u64, code: u64, value: T) {
        let mut at = self.home(hash);
        if let Some(word) = self.filter.get_mut(at / FILTERED_LINES) {
            let (first, second) = places(hash);
            *word |= 1 << first | 1 << second;
        }
        while let (Some(line), Some(filled)) = (self.lines.get_mut(at), self.filled.get_mut(at)) {
            let free = usize::from(*filled);
            if let (Some(own), Some(to)) = (line.codes.get_mut(free), line.values.get_mut(free)) {
                (*own, *to) = (code, value);
                *filled += 1;
                self.len += 1;
                return;
            }
            at = self.after(at);
        }
    }

    /// Prefetches the line of a hash into the CPU cache. Prefetches run in parallel, whereas each lookup would wait for
    /// its own memory access.
    #[inline]
    pub fn touch(&self, hash: u64) {
        std::hint::black_box(self.lines.get(self.home(hash)).and_then(|line| line.codes.first().copied()));
    }

    /// Returns the line, and the position in it, of a code that `accept` accepts.
    #[inline]
    fn place(&self, hash: u64, code: u64, accept: impl Fn(&T) -> bool) -> Option<(usize, usize)> {
        let mut at = self.home(hash);
        loop {
            let (line, filled) = (self.lines.get(at)?, usize::from(*self.filled.get(at)?));
            let mut codes = line.codes.iter().zip(&line.values).take(filled);
            if let Some(slot) = codes.position(|(own, value)| *own == code && accept(value)) {
                return Some((at, slot));
            }
            if filled < LINE {
                return None;
            }
            at = self.after(at);
        }
    }

    /// Looks up rows by their hashes. Returns the rows for which `keep` is true, as one bit per row, 64 to a word.
    /// `keep` is called in order, only for rows whose code may exist, after their lines were prefetched.
    #[inline]
    pub fn probe(
        &self,
        rows: usize,
        hash: impl Fn(usize) -> u64 + Copy,
        mut keep: impl FnMut(usize) -> bool,
    ) -> Vec<u64> {
        let mut words = self.may_have(rows, hash);
        for (number, words) in words.chunks_mut(TOUCHED_WORDS).enumerate() {
            let start = 64 * TOUCHED_WORDS * number;
            for (first, word) in (start..).step_by(64).zip(&*words) {
                set_bits(*word).for_each(|bit| self.touch(hash(first + bit)));
            }
            for (first, word) in (start..).step_by(64).zip(words) {
                for bit in set_bits(*word) {
                    if !keep(first + bit) {
                        *word &= !(1 << bit);
                    }
                }
            }
        }
        words
    }

    /// Returns the rows whose code may exist.
    #[inline]
    fn may_have(&self, rows: usize, hash: impl Fn(usize) -> u64) -> Vec<u64> {
        let shift = self.shift();
        let may_have = |row: usize| {
            let hash = hash(row);
            let word = self.filter.get(upper(hash, shift) / FILTERED_LINES).copied().unwrap_or(0);
            let (first, second) = places(hash);
            word >> first & word >> second & 1
        };
        let mut words = Vec::with_capacity(rows.div_ceil(64));
        for start in (0..rows).step_by(64) {
            let end = rows.min(start + 64);
            words.push((start..end).rev().fold(0, |word, row| word << 1 | may_have(row)));
        }
        words
    }

    /// Returns the line in which a code with this hash is stored if the line is not full. Upper bits of the hash select
    /// the line.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        upper(hash, self.shift())
    }

    /// Returns the number of bits of a hash below those of its line number.
    #[inline]
    fn shift(&self) -> u32 {
        64 - self.lines.len().max(LINES_MIN).trailing_zeros()
    }

    #[inline]
    fn after(&self, line: usize) -> usize {
        (line + 1) & (self.lines.len() - 1)
    }
}

/// Returns the bits of a hash from `shift` on.
#[expect(clippy::cast_possible_truncation, reason = "the index of a line")]
#[inline]
fn upper(hash: u64, shift: u32) -> usize {
    (hash >> shift) as usize
}

/// Returns the two bits that a hash sets in a word of the filter. They are taken from its lowest twelve bits.
#[inline]
fn places(hash: u64) -> (u64, u64) {
    (hash & 63, hash >> 6 & 63)
}

/// Returns a hash of an integer: both halves of a product, so that every bit of the number affects every bit of the
/// hash.
#[inline]
pub fn folded(number: u64, seed: u64) -> u64 {
    let product = u128::from(number ^ seed) * 0x9e37_79b9_7f4a_7c15;
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of the product")]
    let (low, high) = (product as u64, (product >> 64) as u64);
    low ^ high
}

/// Returns a hash of bytes.
#[inline]
pub fn hashed(bytes: &[u8], hasher: &DefaultHashBuilder) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

/// Returns the positions of the set bits, from the lowest.
#[inline]
fn set_bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}
