//! Stores elements by identity, in the order of arrival.

use std::hash::BuildHasher;

use frazil_core::error::Result;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::lists::Lists;
use super::picks::ElementPick;

/// A table with one element for each identity.
#[derive(Debug, Default)]
pub(super) struct FunctionTable {
    /// The elements; None was removed.
    entries: Vec<Option<ElementPick>>,
    /// The hashes and positions of the entries.
    index: HashTable<(u64, usize)>,
    hasher: DefaultHashBuilder,
}

impl FunctionTable {
    /// Returns the number of elements.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns all elements.
    pub(super) fn picks(&self) -> impl Iterator<Item = ElementPick> + '_ {
        self.entries.iter().flatten().copied()
    }

    /// Returns the element with the same identity as `pick`, and its position, or None.
    pub(super) fn find(&self, lists: &Lists, pick: ElementPick) -> Result<Option<(usize, ElementPick)>> {
        let identity = lists.identity(pick)?;
        let hash = self.hasher.hash_one(identity);
        let found = self.index.find(hash, |(known, place)| {
            *known == hash
                && self.at(*place).is_some_and(|pick| lists.identity(pick).is_ok_and(|known| known == identity))
        });
        Ok(found.and_then(|(_, place)| self.at(*place).map(|pick| (*place, pick))))
    }

    /// Inserts an element, and replaces the element with the same identity if there is one.
    pub(super) fn put(&mut self, lists: &Lists, pick: ElementPick) -> Result<()> {
        if let Some((place, _)) = self.find(lists, pick)? {
            self.replace(place, pick);
            return Ok(());
        }
        let hash = self.hasher.hash_one(lists.identity(pick)?);
        self.index.insert_unique(hash, (hash, self.entries.len()), |(hash, _)| *hash);
        self.entries.push(Some(pick));
        Ok(())
    }

    /// Replaces the element at a known position by an equal one.
    pub(super) fn replace(&mut self, place: usize, pick: ElementPick) {
        if let Some(entry) = self.entries.get_mut(place) {
            *entry = Some(pick);
        }
    }

    /// Removes the element with the same identity as `pick`, if there is one.
    pub(super) fn remove(&mut self, lists: &Lists, pick: ElementPick) -> Result<()> {
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

    fn at(&self, place: usize) -> Option<ElementPick> {
        self.entries.get(place).copied().flatten()
    }
}
