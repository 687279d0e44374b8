//! A map of keys to numbers, for more keys than a map of the keys themselves could hold in memory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use frazil_core::error::{Error, Result};

/// The number of maps. Each map grows on its own, so that only a small part of the memory is needed twice.
const SHARDS: usize = 1 << 8;

/// The part of a hash that identifies a key within its shard.
type Fingerprint = ([u8; 4], [u8; 8]);

/// A map of keys to numbers, which needs 20 to 40 bytes for a key.
///
/// Keys are identified by 104 bits of keyed hashes. Among a billion keys, two are confused with a probability below
/// 10⁻¹³.
#[derive(Debug)]
pub(crate) struct KeyNumbers {
    hashers: [RandomState; 2],
    shards: Vec<HashMap<Fingerprint, u32, BuildHasherDefault<Folding>>>,
}

impl KeyNumbers {
    pub(crate) fn new() -> Self {
        let shards = std::iter::repeat_with(HashMap::default).take(SHARDS).collect();
        Self { hashers: [RandomState::new(), RandomState::new()], shards }
    }

    /// Returns the place of the number of a key.
    ///
    /// # Errors
    /// `Internal`, never.
    pub(crate) fn entry(&mut self, key: &[u8]) -> Result<Entry<'_, Fingerprint, u32>> {
        let [first, second] = self.hashers.each_ref().map(|hasher| hasher.hash_one(key).to_le_bytes());
        let [shard, _, _, _, first @ ..] = first;
        let shard = self.shards.get_mut(usize::from(shard));
        Ok(shard.ok_or_else(|| Error::internal("a shard is missing"))?.entry((first, second)))
    }
}

/// A hasher of values that are hashes already.
#[derive(Debug, Default)]
pub(crate) struct Folding(u64);

impl Hasher for Folding {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    /// Ignores the length of a fingerprint, which is always the same.
    fn write_usize(&mut self, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_number() {
        let mut numbers = KeyNumbers::new();
        for round in 0..2 {
            for number in 0..20_000_u32 {
                match numbers.entry(&number.to_be_bytes()).unwrap() {
                    Entry::Vacant(place) if round == 0 => {
                        place.insert(number);
                    }
                    Entry::Occupied(place) if round == 1 => assert_eq!(*place.get(), number),
                    place => panic!("{round} {number} {place:?}"),
                }
            }
        }
        let shards = numbers.shards.iter().filter(|shard| shard.len() > 40).count();
        assert_eq!(shards, SHARDS);
    }
}
