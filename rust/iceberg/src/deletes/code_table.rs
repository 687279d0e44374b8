//! A hash table of 64-bit codes, one cache line to a lookup.
//!
//! Codes lie in lines of eight, filled from the front; a full line runs over into the next. At most half of the table
//! is taken, so that a line has room in it nearly always, and to know that a code is not there takes one line, compared
//! as a whole. What belongs to a code lies apart and is not touched before the code is found.

use frazil_core::simd::Kernel;

/// Codes in a line.
const LINE: usize = 8;
/// Stands where there is no code.
const EMPTY: u64 = 0;
/// The shortest table has two lines, so that a line is some upper bits of a hash.
const LINES_MIN: usize = 2;

#[repr(align(64))]
#[derive(Debug, Clone, Copy)]
struct Line([u64; LINE]);

impl Line {
    fn is_full(&self) -> bool {
        self.0.last().is_some_and(|code| *code != EMPTY)
    }
}

/// Codes, each with a `T`. The same code may be there several times.
#[derive(Debug)]
pub(super) struct CodeTable<T> {
    /// None at first, then a power of two.
    lines: Vec<Line>,
    values: Vec<[T; LINE]>,
    len: usize,
}

impl<T> Default for CodeTable<T> {
    fn default() -> Self {
        Self { lines: Vec::new(), values: Vec::new(), len: 0 }
    }
}

impl<T: Copy + Default> CodeTable<T> {
    /// How many codes there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.lines.len() * (size_of::<Line>() + size_of::<[T; LINE]>())
    }

    /// Makes room for so many codes more. `line_hash` gives the hash that a code was inserted with.
    pub(super) fn reserve(&mut self, codes: usize, line_hash: impl Fn(u64) -> u64) {
        let lines = (2 * (self.len + codes)).div_ceil(LINE);
        if lines <= self.lines.len() {
            return;
        }
        let lines = lines.next_power_of_two().max(LINES_MIN);
        let mut larger =
            Self { lines: vec![Line([EMPTY; LINE]); lines], values: vec![[T::default(); LINE]; lines], len: 0 };
        for (line, values) in self.lines.iter().zip(&self.values) {
            for (code, value) in line.0.iter().zip(values).filter(|(code, _)| **code != EMPTY) {
                larger.put(line_hash(*code), *code, *value);
            }
        }
        *self = larger;
    }

    /// The value of a code that `accept` takes.
    pub(super) fn find(&self, hash: u64, code: u64, accept: impl Fn(&T) -> bool) -> Option<&T> {
        let mut at = self.home(hash);
        loop {
            let (line, values) = (self.lines.get(at)?, self.values.get(at)?);
            let mut values = line.0.iter().zip(values).filter(|(own, _)| **own == code).map(|(_, value)| value);
            if let Some(value) = values.find(|value| accept(value)) {
                return Some(value);
            }
            if !line.is_full() {
                return None;
            }
            at = self.after(at);
        }
    }

    /// As [`CodeTable::find`], to change it.
    pub(super) fn find_mut(&mut self, hash: u64, code: u64, accept: impl Fn(&T) -> bool) -> Option<&mut T> {
        let mut at = self.home(hash);
        let slot = loop {
            let (line, values) = (self.lines.get(at)?, self.values.get(at)?);
            let found = line.0.iter().zip(values).position(|(own, value)| *own == code && accept(value));
            match found {
                Some(slot) => break slot,
                None if line.is_full() => at = self.after(at),
                None => return None,
            }
        };
        self.values.get_mut(at)?.get_mut(slot)
    }

    /// Adds a code, for which there must be room, and which must not be 0.
    pub(super) fn put(&mut self, hash: u64, code: u64, value: T) {
        let mut at = self.home(hash);
        while let (Some(line), Some(values)) = (self.lines.get_mut(at), self.values.get_mut(at)) {
            let free = line.0.iter_mut().zip(values).find(|(own, _)| **own == EMPTY);
            if let Some((own, to)) = free {
                (*own, *to) = (code, value);
                self.len += 1;
                return;
            }
            at = self.after(at);
        }
    }

    /// Whether a code is there; one that is not 0.
    #[expect(clippy::inline_always, reason = "compiled for the instructions of the kernel around it")]
    #[inline(always)]
    fn contains(&self, hash: u64, code: u64) -> bool {
        let mut at = self.home(hash);
        while let Some(line) = self.lines.get(at) {
            // All eight, without a branch among them.
            let mut found = false;
            for own in &line.0 {
                found |= *own == code;
            }
            if found || !line.is_full() {
                return found;
            }
            at = self.after(at);
        }
        false
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        // The upper bits; a table has less than 2^64 lines.
        let shift = u64::BITS - self.lines.len().max(LINES_MIN).trailing_zeros();
        usize::try_from(hash >> shift).unwrap_or(usize::MAX)
    }

    #[inline]
    fn after(&self, line: usize) -> usize {
        (line + 1) & (self.lines.len() - 1)
    }
}

/// Looks codes up: one bit for each, 64 to a word, the first the lowest.
pub(super) struct Lookup<'a, T, H> {
    pub(super) table: &'a CodeTable<T>,
    pub(super) rows: usize,
    /// The hash and the code of a row.
    pub(super) code: H,
}

impl<T: Copy + Default, H: Fn(usize) -> (u64, u64)> Kernel for Lookup<'_, T, H> {
    type Output = Vec<u64>;

    #[expect(clippy::inline_always, reason = "compiled for the instructions of the kernel around it")]
    #[inline(always)]
    fn run(self) -> Vec<u64> {
        let mut words = Vec::with_capacity(self.rows.div_ceil(64));
        for start in (0..self.rows).step_by(64) {
            let mut word = 0;
            for row in start..self.rows.min(start + 64) {
                let (hash, code) = (self.code)(row);
                word |= u64::from(self.table.contains(hash, code)) << (row - start);
            }
            words.push(word);
        }
        words
    }
}
