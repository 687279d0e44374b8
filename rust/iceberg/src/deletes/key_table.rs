//! A hash table from byte strings to the sequence numbers that they are deleted at.

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

/// Byte strings, end to end in one arena, each with the highest sequence number it was inserted with.
#[derive(Debug, Default)]
pub(super) struct KeyTable {
    slots: HashTable<Slot>,
    arena: Vec<u8>,
    hasher: DefaultHashBuilder,
}

#[derive(Debug)]
struct Slot {
    /// Compared before the key, since the arena is seldom in the cache.
    hash: u64,
    start: usize,
    end: usize,
    sequence_number: i64,
}

impl Slot {
    #[inline]
    fn key<'a>(&self, arena: &'a [u8]) -> &'a [u8] {
        arena.get(self.start..self.end).unwrap_or_default()
    }
}

impl KeyTable {
    pub(super) fn reserve(&mut self, keys: usize) {
        self.slots.reserve(keys, |slot| slot.hash);
    }

    pub(super) fn insert(&mut self, key: &[u8], sequence_number: i64) {
        let Self { slots, arena, hasher } = self;
        let hash = hasher.hash_one(key);
        match slots.entry(hash, |slot| slot.hash == hash && slot.key(arena) == key, |slot| slot.hash) {
            Entry::Occupied(mut slot) => {
                let slot = slot.get_mut();
                slot.sequence_number = slot.sequence_number.max(sequence_number);
            }
            Entry::Vacant(slot) => {
                let start = arena.len();
                slot.insert(Slot { hash, start, end: start + key.len(), sequence_number });
                arena.extend_from_slice(key);
            }
        }
    }

    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Option<i64> {
        let hash = self.hasher.hash_one(key);
        let slot = self.slots.find(hash, |slot| slot.hash == hash && slot.key(&self.arena) == key);
        slot.map(|slot| slot.sequence_number)
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.slots.allocation_size() + self.arena.capacity()
    }
}
