//! Hash tables from keys to the sequence numbers at which they are deleted.

use std::hash::BuildHasher;

use arrow_buffer::NullBuffer;
use frazil_core::code_table::{CodeTable, folded, hashed};
use hashbrown::DefaultHashBuilder;

/// The number of keys that are prefetched before they are inserted.
const TOUCHED_KEYS: usize = 64;

/// A table of integers, each with the highest sequence number that it was inserted with.
#[derive(Debug)]
pub(super) struct IntegerTable {
    table: CodeTable<i64>,
    /// The secret hash seed, so that nobody can craft a file whose keys all fall into one cache line.
    seed: u64,
}

impl Default for IntegerTable {
    fn default() -> Self {
        Self { table: CodeTable::default(), seed: DefaultHashBuilder::default().hash_one(0) }
    }
}

impl IntegerTable {
    fn reserve(&mut self, keys: usize) {
        let seed = self.seed;
        self.table.reserve(keys, |code| folded(code, seed));
    }

    /// Inserts the keys that are not NULL.
    pub(super) fn insert_all(&mut self, keys: &[i64], nulls: Option<&NullBuffer>, sequence_number: i64) {
        self.reserve(keys.len());
        for (start, block) in (0..).step_by(TOUCHED_KEYS).zip(keys.chunks(TOUCHED_KEYS)) {
            for key in block {
                self.table.touch(folded(key.cast_unsigned(), self.seed));
            }
            for (row, key) in (start..).zip(block) {
                if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                    self.insert(*key, sequence_number);
                }
            }
        }
    }

    fn insert(&mut self, key: i64, sequence_number: i64) {
        let code = key.cast_unsigned();
        let hash = folded(code, self.seed);
        if let Some(own) = self.table.find_mut(hash, code, |_| true) {
            *own = sequence_number.max(*own);
        } else {
            self.reserve(1);
            self.table.put(hash, code, sequence_number);
        }
    }

    /// Returns which keys were inserted with a sequence number above `sequence_number`: one bit per key, 64 to a word.
    pub(super) fn find_above(&self, keys: &[i64], sequence_number: i64) -> Vec<u64> {
        let code = |row: usize| keys.get(row).map_or(0, |key| key.cast_unsigned());
        let hash = |row: usize| folded(code(row), self.seed);
        let is_above = |row: usize| self.table.find(hash(row), code(row), |at| *at > sequence_number).is_some();
        self.table.probe(keys.len(), hash, is_above)
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.table.size_bytes()
    }
}

/// A table of byte strings, stored end to end in one arena, each with the highest sequence number that it was inserted
/// with.
#[derive(Debug, Default)]
pub(super) struct KeyTable {
    table: CodeTable<TableKey>,
    arena: Vec<u8>,
    hasher: DefaultHashBuilder,
}

#[derive(Debug, Clone, Copy, Default)]
struct TableKey {
    start: usize,
    end: usize,
    sequence_number: i64,
}

impl TableKey {
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
        self.table.put(code, code, TableKey { start, end: start + key.len(), sequence_number });
        self.arena.extend_from_slice(key);
    }

    /// Returns which keys of `rows` rows were inserted with a sequence number above `sequence_number`: one bit per key,
    /// 64 to a word.
    pub(super) fn find_above<'a>(
        &self,
        rows: usize,
        key: impl Fn(usize) -> &'a [u8],
        sequence_number: i64,
    ) -> Vec<u64> {
        self.table.probe(rows, |row| self.code(key(row)), |row| self.is_above(key(row), sequence_number))
    }

    /// Returns whether a key was inserted with a sequence number above `sequence_number`.
    pub(super) fn is_above(&self, key: &[u8], sequence_number: i64) -> bool {
        let code = self.code(key);
        let applies = |own: &TableKey| own.sequence_number > sequence_number && own.bytes(&self.arena) == key;
        self.table.find(code, code, applies).is_some()
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.table.size_bytes() + self.arena.capacity()
    }

    /// Returns the code of a key, which is its hash.
    #[inline]
    fn code(&self, key: &[u8]) -> u64 {
        hashed(key, &self.hasher)
    }
}
