//! Elements by what they are equal by, in the order in which they came.

use std::hash::BuildHasher;

use frazil_core::error::Result;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::lists::Lists;
use super::picks::Pick;

/// One element for each identity.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// None was removed.
    entries: Vec<Option<Pick>>,
    /// Hashes and places of the entries.
    index: HashTable<(u64, usize)>,
    hasher: DefaultHashBuilder,
}

impl Table {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// All of them.
    pub(super) fn picks(&self) -> impl Iterator<Item = Pick> + '_ {
        self.entries.iter().flatten().copied()
    }

    /// The place of the element that equals another one, and what is there.
    pub(super) fn find(&self, lists: &Lists, pick: Pick) -> Result<Option<(usize, Pick)>> {
        let identity = lists.identity(pick)?;
        let hash = self.hasher.hash_one(identity);
        let found = self.index.find(hash, |(known, place)| {
            *known == hash
                && self.at(*place).is_some_and(|pick| lists.identity(pick).is_ok_and(|known| known == identity))
        });
        Ok(found.and_then(|(_, place)| self.at(*place).map(|pick| (*place, pick))))
    }

    /// Puts an element, in the place of the one that it equals.
    pub(super) fn put(&mut self, lists: &Lists, pick: Pick) -> Result<()> {
        if let Some((place, _)) = self.find(lists, pick)? {
            self.replace(place, pick);
            return Ok(());
        }
        let hash = self.hasher.hash_one(lists.identity(pick)?);
        self.index.insert_unique(hash, (hash, self.entries.len()), |(hash, _)| *hash);
        self.entries.push(Some(pick));
        Ok(())
    }

    /// Puts an equal element into a place that was found.
    pub(super) fn replace(&mut self, place: usize, pick: Pick) {
        if let Some(entry) = self.entries.get_mut(place) {
            *entry = Some(pick);
        }
    }

    /// Removes the element that equals another one.
    pub(super) fn remove(&mut self, lists: &Lists, pick: Pick) -> Result<()> {
        if let Some((place, _)) = self.find(lists, pick)? {
            let hash = self.hasher.hash_one(lists.identity(pick)?);
            if let Ok(entry) = self.index.find_entry(hash, |(_, known)| *known == place) {
                entry.remove();
            }
            if let Some(entry) = self.entries.get_mut(place) {
                *entry = None;
            }
        }
        Ok(())
    }

    fn at(&self, place: usize) -> Option<Pick> {
        self.entries.get(place).copied().flatten()
    }
}
