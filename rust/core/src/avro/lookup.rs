//! Looks up a few keys in maps with hundreds of entries, such as statistics by column id. Entries with other keys are
//! skipped without copying.

use std::sync::Arc;

use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::Fields;

use super::node::Node;
use super::schema::Schema;
use super::skip::Skip;
use super::template::Template;
use super::wire::Wire;
use crate::error::{Error, Result};

/// The maximum span of requested keys that are looked up in a table; other keys are found by binary search.
const MAX_TABLE: usize = 1 << 16;

/// A builder of a struct with one child per requested key.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) fields: Fields,
    key: MapKey,
    wanted: Wanted,
    /// One column per requested key.
    values: Vec<Node>,
    /// The row in which each of `values` was last filled, counted from 1.
    filled: Vec<u64>,
    row: u64,
    unwanted: Skip,
    /// The steps that skip an entry; `None` if entries or keys may be null.
    pair: Option<Skip>,
    route: Route,
    /// The template for maps from integers to bytes.
    template: Option<Template>,
    entry: EntryShape,
    nulls: NullBufferBuilder,
}

/// The positions of the requested keys in the last map that contained all of them. Writers keep the order of columns,
/// so the next map usually has the keys at the same positions.
#[derive(Debug, Default)]
struct Route {
    /// The number of entries in the map; 0 if there is no route.
    entries: u64,
    stops: Vec<Stop>,
    /// The number of entries after the last stop.
    rest: u64,
}

/// A requested key, with its distance in entries from the previous one and the position of its value.
#[derive(Debug)]
struct Stop {
    gap: u64,
    key: i64,
    place: usize,
}

/// The encoding of keys in the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MapKey {
    /// An `int` or `long`.
    Number,
    /// A decimal string.
    Text,
}

/// The encoding of entries in the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryShape {
    /// The branch of a null entry, if entries may be null.
    pub(super) null_item: Option<i64>,
    /// The branch of a null key, if keys may be null.
    pub(super) null_key: Option<i64>,
    /// The minimum number of bytes in an entry.
    pub(super) min_width_bytes: usize,
}

impl EntryShape {
    /// Returns the shape of entries of an Avro map: a key with its length, and a value.
    pub(super) fn map(values: &Schema) -> Self {
        Self { null_item: None, null_key: None, min_width_bytes: values.min_width_bytes().saturating_add(1) }
    }
}

impl Lookup {
    /// Creates one child of `fields` and one column of `values` for each of `keys`; `unwanted` skips a value.
    ///
    /// # Errors
    /// `InvalidArgument` for a duplicate key.
    pub(super) fn new(
        key: MapKey,
        keys: &[i32],
        fields: Fields,
        values: Vec<Node>,
        unwanted: Skip,
        entry: EntryShape,
    ) -> Result<Self> {
        let wanted = Wanted::new(keys)?;
        let filled = vec![0; values.len()];
        let nulls = NullBufferBuilder::new(0);
        let key_skip = if key == MapKey::Number { Skip::Varints(1) } else { Skip::Sized(1) };
        let whole = entry.null_item.is_none() && entry.null_key.is_none();
        let pair = whole.then(|| Skip::all([key_skip, unwanted.clone()]));
        let route = Route::default();
        let template = pair.as_ref().filter(|_| key == MapKey::Number && unwanted == Skip::Sized(1));
        let template = template.map(|_| Template::default());
        Ok(Self { fields, key, wanted, values, filled, row: 0, unwanted, pair, route, template, entry, nulls })
    }

    #[inline]
    pub(super) fn read(&mut self, wire: &mut Wire<'_>) -> Result<()> {
        self.row += 1;
        let mut first = true;
        while let Some(items) = wire.items(self.entry.min_width_bytes)? {
            let start = wire.position();
            if !first {
                self.search(items.count, false, wire)?;
            } else if !self.fill(items.count, wire)? {
                let block = wire.clone();
                if !self.follow(items.count, wire)? {
                    self.search(items.count, true, wire)?;
                }
                if let Some(template) = &mut self.template {
                    template.learn(items.count, block, |key| self.wanted.place(key))?;
                }
            }
            wire.end_items(items, start)?;
            first = false;
        }
        for (value, filled) in self.values.iter_mut().zip(&self.filled) {
            if *filled != self.row {
                value.push_null()?;
            }
        }
        self.nulls.append_non_null();
        Ok(())
    }

    /// Reads the first block of a map by the template; returns `false` if it does not match.
    #[inline]
    fn fill(&mut self, entries: u64, wire: &mut Wire<'_>) -> Result<bool> {
        let Some(template) = &mut self.template else { return Ok(false) };
        let Some(stops) = template.stops(entries, wire) else { return Ok(false) };
        let start = wire.mark();
        for (offset, place) in stops {
            if let Some((value, filled)) = self.values.get_mut(*place).zip(self.filled.get_mut(*place)) {
                *filled = self.row;
                wire.reset(start);
                wire.take(*offset)?;
                value.read(wire)?;
            }
        }
        wire.reset(start);
        wire.take(template.len())?;
        template.fitted();
        Ok(true)
    }

    /// Reads the first block of a map by the route. Returns `false`, with `wire` at the start of the block, if the keys
    /// differ. The values that were already read belong to the right keys and are kept.
    #[inline]
    fn follow(&mut self, entries: u64, wire: &mut Wire<'_>) -> Result<bool> {
        let Some(pair) = self.pair.as_ref().filter(|_| self.route.entries == entries) else { return Ok(false) };
        let start = wire.mark();
        for stop in &self.route.stops {
            pair.repeat(stop.gap, wire)?;
            let key = match self.key {
                MapKey::Number => Some(wire.long()?),
                MapKey::Text => decimal(wire.sized()?),
            };
            if key != Some(stop.key) {
                wire.reset(start);
                return Ok(false);
            }
            if let Some((value, filled)) = self.values.get_mut(stop.place).zip(self.filled.get_mut(stop.place)) {
                *filled = self.row;
                value.read(wire)?;
            }
        }
        pair.repeat(self.route.rest, wire)?;
        Ok(true)
    }

    /// Compares every key of a block with the requested keys. In the first block, some values may already have been
    /// read by a route that failed.
    fn search(&mut self, entries: u64, first: bool, wire: &mut Wire<'_>) -> Result<()> {
        let strayed = first && self.filled.contains(&self.row);
        self.route.entries = 0;
        self.route.stops.clear();
        let mut after = 0;
        for place in 0..entries {
            if is_null(wire, self.entry.null_item)? {
                continue;
            }
            let key = match self.key {
                _ if is_null(wire, self.entry.null_key)? => None,
                MapKey::Number => Some(wire.long()?),
                MapKey::Text => decimal(wire.sized()?),
            };
            let found = key.and_then(|key| Some((key, self.wanted.place(key)?)));
            let slot = found.and_then(|(_, slot)| self.values.get_mut(slot).zip(self.filled.get_mut(slot)));
            match slot {
                None => self.unwanted.run(wire)?,
                Some((_, filled)) if *filled == self.row && !strayed => {
                    return Err(wire.error(format_args!("a map has a duplicate key")));
                }
                Some((value, filled)) => {
                    if *filled == self.row {
                        self.unwanted.run(wire)?;
                    } else {
                        *filled = self.row;
                        value.read(wire)?;
                    }
                    if let Some((key, slot)) = found {
                        self.route.stops.push(Stop { gap: place - after, key, place: slot });
                        after = place + 1;
                    }
                }
            }
        }
        if first && !strayed && self.route.stops.len() == self.values.len() {
            self.route.entries = entries;
            self.route.rest = entries - after;
        }
        Ok(())
    }

    pub(super) fn push_null(&mut self) -> Result<()> {
        self.values.iter_mut().try_for_each(Node::push_null)?;
        self.nulls.append_null();
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.nulls.len()
    }

    pub(super) fn reserve(&mut self, rows: usize) {
        self.values.iter_mut().for_each(|value| value.reserve(rows));
    }

    pub(super) fn bytes(&self) -> usize {
        self.values.iter().map(Node::bytes).sum::<usize>() + self.nulls.allocated_size()
    }

    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        let (len, nulls) = (self.nulls.len(), self.nulls.finish());
        let column = |(value, field): (&mut Node, &Arc<arrow_schema::Field>)| {
            value.finish().map_err(|e| e.with("field", field.name()))
        };
        let columns = self.values.iter_mut().zip(&self.fields).map(column).collect::<Result<_>>()?;
        Ok(Arc::new(StructArray::try_new_with_length(self.fields.clone(), columns, nulls, len)?))
    }
}

/// An index of the requested keys that maps each to its position.
#[derive(Debug, Clone, PartialEq)]
enum Wanted {
    /// The positions of `first`, `first + 1`, ...
    Table { first: i64, places: Vec<Option<u32>> },
    /// The keys and their positions, sorted by key.
    Sorted(Vec<(i64, usize)>),
}

impl Wanted {
    fn new(keys: &[i32]) -> Result<Self> {
        let mut sorted: Vec<(i64, usize)> = keys.iter().map(|&key| i64::from(key)).zip(0..).collect();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| matches!(pair, [(a, _), (b, _)] if a == b)) {
            return Err(Error::invalid("a map key is requested twice"));
        }
        let (Some(&(first, _)), Some(&(last, _))) = (sorted.first(), sorted.last()) else {
            return Ok(Self::Sorted(sorted));
        };
        let mut places = match usize::try_from(last - first) {
            Ok(span) if span < MAX_TABLE => vec![None; span + 1],
            _ => return Ok(Self::Sorted(sorted)),
        };
        for &(key, place) in &sorted {
            let slot = usize::try_from(key - first).ok().and_then(|slot| places.get_mut(slot));
            if let (Some(slot), Ok(place)) = (slot, u32::try_from(place)) {
                *slot = Some(place);
            }
        }
        Ok(Self::Table { first, places })
    }

    #[inline]
    fn place(&self, key: i64) -> Option<usize> {
        match self {
            Self::Table { first, places } => {
                let slot = usize::try_from(key.checked_sub(*first)?).ok()?;
                places.get(slot).copied().flatten().and_then(|place| usize::try_from(place).ok())
            }
            Self::Sorted(sorted) => {
                let found = sorted.binary_search_by_key(&key, |&(key, _)| key).ok()?;
                sorted.get(found).map(|&(_, place)| place)
            }
        }
    }
}

/// Parses an integer from its decimal string.
fn decimal(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Reads the branch of a union of two types, if there is one, and returns whether it is null; `null` is the branch of
/// null.
#[inline]
fn is_null(wire: &mut Wire<'_>, null: Option<i64>) -> Result<bool> {
    let Some(null) = null else { return Ok(false) };
    match wire.long()? {
        branch @ 0..=1 => Ok(branch == null),
        other => Err(wire.error(format_args!("a union of two types has no branch {other}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wanted_key_is_found_at_its_place() {
        for keys in [vec![], vec![7], vec![3, 1, 2], vec![i32::MAX, 0, i32::MIN], vec![5, 2_147_483_546]] {
            let wanted = Wanted::new(&keys).unwrap();
            for (place, key) in keys.iter().enumerate() {
                assert_eq!(wanted.place(i64::from(*key)), Some(place));
            }
            for absent in [4, -4, i64::MAX, i64::MIN] {
                assert_eq!(wanted.place(absent), None);
            }
        }
        assert!(Wanted::new(&[1, 2, 1]).is_err());
    }
}
