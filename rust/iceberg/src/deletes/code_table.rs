//! A hash table of 64-bit codes, behind a filter that stays in the cache.
//!
//! Most rows of most files are not deleted, and the table is larger than a cache. So each code sets two bits in one word
//! of a filter, and only rows whose bits are set are looked up: those that are there, and one in some fifty others.
//! Codes lie in lines of four with their values, filled from the front; a full line runs over into the next. At most half
//! of the table is taken, so that lines are seldom full.

use frazil_core::simd::Kernel;

/// Codes in a line: with values of eight bytes it is a cache line.
const LINE: usize = 4;
/// The shortest table has two lines, so that a line is some upper bits of a hash.
const LINES_MIN: usize = 2;

/// Codes, each with a `T`. The same code may be there several times.
#[derive(Debug)]
pub(super) struct CodeTable<T> {
    /// None at first, then a power of two.
    lines: Vec<Line<T>>,
    /// How many codes each line has.
    filled: Vec<u8>,
    /// A word for each line.
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
    /// How many codes there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.lines.len() * (size_of::<Line<T>>() + size_of::<u8>() + size_of::<u64>())
    }

    /// Makes room for so many codes more. `hash` gives the hash that a code was put with.
    pub(super) fn reserve(&mut self, codes: usize, hash: impl Fn(u64) -> u64) {
        let lines = (2 * (self.len + codes)).div_ceil(LINE);
        if lines <= self.lines.len() {
            return;
        }
        let lines = lines.next_power_of_two().max(LINES_MIN);
        let mut larger =
            Self { lines: vec![Line::default(); lines], filled: vec![0; lines], filter: vec![0; lines], len: 0 };
        for (line, filled) in self.lines.iter_mut().zip(&self.filled) {
            for (code, value) in line.codes.iter().zip(&mut line.values).take(usize::from(*filled)) {
                larger.put(hash(*code), *code, std::mem::take(value));
            }
        }
        *self = larger;
    }

    /// The value of a code that `accept` takes.
    pub(super) fn find(&self, hash: u64, code: u64, accept: impl Fn(&T) -> bool) -> Option<&T> {
        let (line, slot) = self.place(hash, code, accept)?;
        self.lines.get(line)?.values.get(slot)
    }

    /// As [`CodeTable::find`], to change it.
    pub(super) fn find_mut(&mut self, hash: u64, code: u64, accept: impl Fn(&T) -> bool) -> Option<&mut T> {
        let (line, slot) = self.place(hash, code, accept)?;
        self.lines.get_mut(line)?.values.get_mut(slot)
    }

    /// Adds a code, for which there must be room.
    pub(super) fn put(&mut self, hash: u64, code: u64, value: T) {
        let mut at = self.home(hash);
        if let Some(word) = self.filter.get_mut(at) {
            *word |= bits(hash);
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

    /// Reads the line of a hash for nothing but that it is in the cache then. Reads that wait for nothing are under way
    /// together; finding one code after the other waits for each.
    #[inline]
    pub(super) fn touch(&self, hash: u64) {
        std::hint::black_box(self.lines.get(self.home(hash)).and_then(|line| line.codes.first().copied()));
    }

    /// The line and the place in it of a code that `accept` takes.
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

    /// Whether a code of this hash may be there.
    #[expect(clippy::inline_always, reason = "compiled for the instructions of the kernel around it")]
    #[inline(always)]
    fn may_have(&self, hash: u64) -> bool {
        let bits = bits(hash);
        self.filter.get(self.home(hash)).is_some_and(|word| word & bits == bits)
    }

    /// The line that a code of this hash is put into, if there is room in it: some upper bits.
    #[expect(clippy::inline_always, clippy::cast_possible_truncation, reason = "for kernels; an index fits")]
    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        (hash >> (64 - self.filter.len().max(LINES_MIN).trailing_zeros())) as usize
    }

    #[inline]
    fn after(&self, line: usize) -> usize {
        (line + 1) & (self.lines.len() - 1)
    }
}

/// Two bits of a word, by lower bits of a hash.
#[expect(clippy::inline_always, reason = "compiled for the instructions of the kernel around it")]
#[inline(always)]
fn bits(hash: u64) -> u64 {
    1 << (hash & 63) | 1 << (hash >> 6 & 63)
}

/// Which rows may have a code of the table: one bit for each, 64 to a word, the first the lowest.
pub(super) struct MayHave<'a, T, H> {
    pub(super) table: &'a CodeTable<T>,
    pub(super) rows: usize,
    /// The hash of a row.
    pub(super) hash: H,
}

impl<T: Clone + Default, H: Fn(usize) -> u64> Kernel for MayHave<'_, T, H> {
    type Output = Vec<u64>;

    #[expect(clippy::inline_always, reason = "compiled for the instructions of the kernel around it")]
    #[inline(always)]
    fn run(self) -> Vec<u64> {
        let mut words = Vec::with_capacity(self.rows.div_ceil(64));
        for start in (0..self.rows).step_by(64) {
            let mut word = 0;
            for row in start..self.rows.min(start + 64) {
                word |= u64::from(self.table.may_have((self.hash)(row))) << (row - start);
            }
            words.push(word);
        }
        words
    }
}
