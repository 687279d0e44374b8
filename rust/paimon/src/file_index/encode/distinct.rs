//! Collects the distinct values of a column, and the value of each row.

use frazil_core::error::{Error, ErrorKind, Result};
use hashbrown::hash_table::Entry;
use hashbrown::{HashMap, HashTable};
use xxhash_rust::xxh64::xxh64;

use super::column::HeldColumn;
use crate::file_index::value::Layout;

/// The number of a row that is NULL.
const NULL: u32 = u32::MAX;

/// Distinct values, numbered in order of occurrence.
#[derive(Debug)]
pub(super) struct Distinct {
    layout: Layout,
    /// The number of the value of each row.
    rows: Vec<u32>,
    numbers: Vec<i64>,
    number_ids: HashMap<i64, u32>,
    bytes: Vec<u8>,
    /// The end of each value in `bytes`.
    ends: Vec<usize>,
    byte_ids: HashTable<u32>,
}

/// Distinct values in Java's order.
#[derive(Debug)]
pub(super) struct Sorted {
    /// The keys of all values, as indexes store them, concatenated.
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// The rank of the value of each row; [`NULL`] if it has none.
    ranks: Vec<u32>,
}

impl Distinct {
    pub(super) fn new(layout: Layout) -> Self {
        Self {
            layout,
            rows: Vec::new(),
            numbers: Vec::new(),
            number_ids: HashMap::new(),
            bytes: Vec::new(),
            ends: Vec::new(),
            byte_ids: HashTable::new(),
        }
    }

    pub(super) fn add(&mut self, held: &HeldColumn<'_>) -> Result<()> {
        match held {
            HeldColumn::Numbers(numbers, nulls) => {
                self.rows.reserve(numbers.len());
                for (row, number) in numbers.iter().enumerate() {
                    let is_valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                    let id = if is_valid { self.number(*number)? } else { NULL };
                    self.rows.push(id);
                }
            }
            HeldColumn::Bytes(texts) => {
                for text in texts.iter() {
                    let id = text.map_or(Ok(NULL), |text| self.text(text))?;
                    self.rows.push(id);
                }
            }
        }
        Ok(())
    }

    fn number(&mut self, number: i64) -> Result<u32> {
        if let Some(id) = self.number_ids.get(&number) {
            return Ok(*id);
        }
        let id = next_id(self.numbers.len())?;
        self.numbers.push(number);
        self.number_ids.insert(number, id);
        Ok(id)
    }

    fn text(&mut self, text: &[u8]) -> Result<u32> {
        let (bytes, ends) = (&self.bytes, &self.ends);
        let of = |id: u32| part(bytes, ends, index(id));
        match self.byte_ids.entry(xxh64(text, 0), |id| of(*id) == text, |id| xxh64(of(*id), 0)) {
            Entry::Occupied(entry) => Ok(*entry.get()),
            Entry::Vacant(entry) => {
                let id = next_id(self.ends.len())?;
                entry.insert(id);
                self.bytes.extend(text);
                self.ends.push(self.bytes.len());
                Ok(id)
            }
        }
    }

    pub(super) fn sort(self) -> Result<Sorted> {
        let mut order: Vec<u32> = (0..next_id(self.numbers.len().max(self.ends.len()))?).collect();
        let number = |id: u32| self.numbers.get(index(id)).copied().unwrap_or_default();
        match self.layout {
            Layout::Bytes => order.sort_unstable_by_key(|id| part(&self.bytes, &self.ends, index(*id))),
            // The bits of negative floats sort in reverse.
            Layout::Float | Layout::Double => order.sort_unstable_by_key(|id| match number(*id) {
                negative @ ..0 => negative ^ i64::MAX,
                positive => positive,
            }),
            _ => order.sort_unstable_by_key(|id| number(*id)),
        }
        let mut ranks_of = vec![0; order.len()];
        let (mut keys, mut ends) = (Vec::new(), Vec::with_capacity(order.len()));
        for (rank, id) in (0..).zip(&order) {
            if let Some(place) = ranks_of.get_mut(index(*id)) {
                *place = rank;
            }
            if self.layout == Layout::Bytes {
                let text = part(&self.bytes, &self.ends, index(*id));
                keys.extend(super::int(text.len())?);
                keys.extend(text);
            } else {
                let bytes = number(*id).to_be_bytes();
                keys.extend(bytes.get(8 - width(self.layout)..).unwrap_or_default());
            }
            ends.push(keys.len());
        }
        let mut ranks = self.rows;
        for id in &mut ranks {
            *id = ranks_of.get(index(*id)).copied().unwrap_or(NULL);
        }
        Ok(Sorted { keys, ends, ranks })
    }
}

impl Sorted {
    /// Returns the number of values.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the key of the value with a rank.
    pub(super) fn key(&self, rank: usize) -> &[u8] {
        part(&self.keys, &self.ends, rank)
    }

    /// Returns the rows that have a value, ascending, with the rank of the value.
    pub(super) fn ranks(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..).zip(&self.ranks).filter(|(_, rank)| **rank != NULL).map(|(row, rank)| (row, *rank))
    }

    /// Returns the rows without a value, ascending.
    pub(super) fn nulls(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.ranks).filter(|(_, rank)| **rank == NULL).map(|(row, _)| row)
    }

    /// Returns all rows that have a value, sorted by rank and row, and the end of the rows of each rank.
    pub(super) fn rows_by_rank(&self) -> (Vec<u32>, Vec<usize>) {
        let mut ends = vec![0_usize; self.len()];
        for (_, rank) in self.ranks() {
            if let Some(count) = ends.get_mut(index(rank)) {
                *count = count.saturating_add(1);
            }
        }
        let mut sum = 0_usize;
        for count in &mut ends {
            sum = sum.saturating_add(std::mem::replace(count, sum));
        }
        let mut rows = vec![0; sum];
        for (row, rank) in self.ranks() {
            let Some(next) = ends.get_mut(index(rank)) else { continue };
            if let Some(place) = rows.get_mut(*next) {
                *place = row;
            }
            *next = next.saturating_add(1);
        }
        (rows, ends)
    }
}

fn next_id(count: usize) -> Result<u32> {
    let id = u32::try_from(count).ok().filter(|id| *id != NULL);
    id.ok_or_else(|| Error::new(ErrorKind::LimitExceeded, "a file index has 2^32 or more values"))
}

fn index(id: u32) -> usize {
    usize::try_from(id).unwrap_or(usize::MAX)
}

/// Returns the part of `all` that ends at `ends[at]` and begins where the previous part ends.
pub(super) fn part<'a, T>(all: &'a [T], ends: &[usize], at: usize) -> &'a [T] {
    let start = at.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    ends.get(at).and_then(|end| all.get(start..*end)).unwrap_or_default()
}

/// Returns the number of bytes of a key, for fixed-width types.
pub(super) fn width(layout: Layout) -> usize {
    match layout {
        Layout::Boolean | Layout::Int8 => 1,
        Layout::Int16 => 2,
        Layout::Int32 | Layout::Float => 4,
        Layout::Int64 | Layout::Double | Layout::Bytes => 8,
    }
}
