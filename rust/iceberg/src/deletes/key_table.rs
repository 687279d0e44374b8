//! Hash tables from keys to the sequence numbers that they are deleted at.

use std::hash::{BuildHasher, Hasher};

use frazil_core::simd;
use hashbrown::DefaultHashBuilder;

use super::code_table::{CodeTable, MayHave};

/// Integers, each with the highest sequence number it was inserted with.
#[derive(Debug)]
pub(super) struct IntegerTable {
    table: CodeTable<i64>,
    /// Nobody else knows it, so that nobody can write a file of keys that all fall into one line.
    seed: u64,
}

impl Default for IntegerTable {
    fn default() -> Self {
        Self { table: CodeTable::default(), seed: DefaultHashBuilder::default().hash_one(0) }
    }
}

impl IntegerTable {
    pub(super) fn reserve(&mut self, keys: usize) {
        let seed = self.seed;
        self.table.reserve(keys, |code| folded(code, seed));
    }

    pub(super) fn insert(&mut self, key: i64, sequence_number: i64) {
        let code = key.cast_unsigned();
        let hash = folded(code, self.seed);
        if let Some(own) = self.table.find_mut(hash, code, |_| true) {
            *own = sequence_number.max(*own);
        } else {
            self.reserve(1);
            self.table.put(hash, code, sequence_number);
        }
    }

    /// Which of the keys were inserted with a sequence number above `sequence_number`: one bit for each, 64 to a word.
    pub(super) fn find_above(&self, keys: &[i64], sequence_number: i64) -> Vec<u64> {
        let code = |row: usize| keys.get(row).map_or(0, |key| key.cast_unsigned());
        let mut found =
            simd::run(MayHave { table: &self.table, rows: keys.len(), hash: |row| folded(code(row), self.seed) });
        retain(&mut found, |row| {
            let code = code(row);
            self.table.find(folded(code, self.seed), code, |at| *at > sequence_number).is_some()
        });
        found
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.table.size_bytes()
    }
}

/// Byte strings, end to end in one arena, each with the highest sequence number it was inserted with.
#[derive(Debug, Default)]
pub(super) struct KeyTable {
    table: CodeTable<Key>,
    arena: Vec<u8>,
    hasher: DefaultHashBuilder,
}

#[derive(Debug, Clone, Copy, Default)]
struct Key {
    start: usize,
    end: usize,
    sequence_number: i64,
}

impl Key {
    fn bytes<'a>(&self, arena: &'a [u8]) -> &'a [u8] {
        arena.get(self.start..self.end).unwrap_or_default()
    }
}

impl KeyTable {
    pub(super) fn reserve(&mut self, keys: usize) {
        self.table.reserve(keys, |code| code);
    }

    pub(super) fn insert(&mut self, key: &[u8], sequence_number: i64) {
        let code = self.code(key);
        if let Some(own) = self.table.find_mut(code, code, |own| own.bytes(&self.arena) == key) {
            own.sequence_number = sequence_number.max(own.sequence_number);
            return;
        }
        self.reserve(1);
        let start = self.arena.len();
        self.table.put(code, code, Key { start, end: start + key.len(), sequence_number });
        self.arena.extend_from_slice(key);
    }

    /// Which of the keys of `rows` rows were inserted with a sequence number above `sequence_number`: one bit for each,
    /// 64 to a word.
    pub(super) fn find_above<'a>(
        &self,
        rows: usize,
        key: impl Fn(usize) -> &'a [u8],
        sequence_number: i64,
    ) -> Vec<u64> {
        let mut found = simd::run(MayHave { table: &self.table, rows, hash: |row| self.code(key(row)) });
        retain(&mut found, |row| self.is_above(key(row), sequence_number));
        found
    }

    /// Whether one key was inserted with a sequence number above `sequence_number`.
    pub(super) fn is_above(&self, key: &[u8], sequence_number: i64) -> bool {
        let code = self.code(key);
        let applies = |own: &Key| own.sequence_number > sequence_number && own.bytes(&self.arena) == key;
        self.table.find(code, code, applies).is_some()
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.table.size_bytes() + self.arena.capacity()
    }

    /// The hash of a key is its code as well.
    #[inline]
    fn code(&self, key: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key);
        hasher.finish()
    }
}

/// Both halves of a product: all bits of a number decide about all bits of its hash.
#[inline]
fn folded(number: u64, seed: u64) -> u64 {
    let product = u128::from(number ^ seed) * 0x9e37_79b9_7f4a_7c15;
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of the product")]
    let (low, high) = (product as u64, (product >> 64) as u64);
    low ^ high
}

/// Clears the bits of rows that are not kept.
fn retain(words: &mut [u64], keep: impl Fn(usize) -> bool) {
    for (number, word) in words.iter_mut().enumerate() {
        let mut left = *word;
        while left != 0 {
            if !keep(64 * number + left.trailing_zeros() as usize) {
                *word &= !(left & left.wrapping_neg());
            }
            left &= left - 1;
        }
    }
}
