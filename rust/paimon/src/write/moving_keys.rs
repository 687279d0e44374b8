//! Places rows whose keys do not determine their partition (documentation: "Cross Partitions Upsert", Java's
//! `GlobalIndexAssigner`).
//!
//! A key is in one partition. A row with another partition moves it there, stays in the old partition, or is skipped,
//! depending on the merge engine. The keys of the table are read before the first row.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{ArrayRef, BinaryArray, Int8Array, RecordBatch, UInt32Array};
use arrow_select::take::{take, take_record_batch};
use frazil_core::error::{Error, Result};
use frazil_core::floats::one_nan;

use super::assign::{BucketLimits, BucketSizes};
use super::change::Home;
use super::key_numbers::KeyNumbers;
use super::kinds::DELETE;
use super::row_placement::{Part, Placed, PlacementColumns};
use crate::binary_row;
use crate::bucket::row_hashes;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;

/// The buckets of all keys of a table.
#[derive(Debug)]
pub(crate) struct MovingKeys {
    key: PlacementColumns,
    partition: PlacementColumns,
    limits: BucketLimits,
    on_move: OnMove,
    partitions: Vec<Partition>,
    partition_numbers: HashMap<Arc<[u8]>, u32>,
    homes: Vec<NumberedHome>,
    home_numbers: HashMap<NumberedHome, u32>,
    /// The number of the bucket of each key.
    keys: KeyNumbers,
}

/// What happens to a row whose key is in another partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnMove {
    /// The key is deleted in the old partition, and the row is added to its own.
    Delete,
    /// The row is added to the old partition.
    Stay,
    /// The row is dropped.
    Skip,
}

#[derive(Debug)]
struct Partition {
    name: Arc<[u8]>,
    sizes: BucketSizes,
}

/// A bucket, with the number of its partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct NumberedHome {
    partition: u32,
    bucket: u16,
}

/// Rows of a batch in the order in which they are written.
#[derive(Debug, Default)]
struct Chosen {
    rows: Vec<u32>,
    kinds: Vec<i8>,
    homes: Vec<u32>,
    /// The number of the partition of each row.
    partitions: Vec<u32>,
    /// Whether the partition of a row differs from its columns.
    moves: bool,
}

impl MovingKeys {
    /// Creates the state without keys; None if the partition of a row is part of its key.
    ///
    /// # Errors
    /// `InvalidArgument` for options that do not parse.
    pub(crate) fn try_new(schema: &TableSchema, options: &Options) -> Result<Option<Self>> {
        if !schema.moves_keys() || options.bucket()? != -1 {
            return Ok(None);
        }
        let on_move = OnMove::from_options(options);
        Ok(Some(Self {
            key: PlacementColumns::named(schema, &schema.primary_keys)?,
            partition: PlacementColumns::named(schema, &schema.partition_keys)?,
            limits: BucketLimits::from_options(options)?,
            on_move,
            partitions: Vec::new(),
            partition_numbers: HashMap::new(),
            homes: Vec::new(),
            home_numbers: HashMap::new(),
            keys: KeyNumbers::new(),
        }))
    }

    /// Returns whether a key that moves is deleted in its old partition.
    pub(super) fn deletes(options: &Options) -> bool {
        OnMove::from_options(options) == OnMove::Delete
    }

    /// Adds existing keys of a bucket, given the columns of the primary key.
    ///
    /// # Errors
    /// `InvalidArgument` for other columns; `CorruptData` for a bucket number that Java cannot assign.
    pub(crate) fn restore(&mut self, home: &Home, keys: &RecordBatch) -> Result<()> {
        let partition = self.partition_number(&home.partition)?;
        let sizes = &mut self.partitions.get_mut(index(partition)).ok_or_else(missing)?.sizes;
        let bucket = sizes.add(home.bucket, u64::try_from(keys.num_rows()).unwrap_or(u64::MAX))?;
        let number = self.home_number(NumberedHome { partition, bucket })?;
        let columns: Vec<ArrayRef> = keys.columns().iter().map(one_nan).collect();
        for key in binary_row::encode(&columns, &self.key.types)?.iter().flatten() {
            self.keys.entry(key)?.insert_entry(number);
        }
        Ok(())
    }

    /// Places rows in the order in which they take effect. `parts` are the rows of each partition.
    ///
    /// # Errors
    /// `LimitExceeded` if a partition cannot have another bucket.
    pub(super) fn place(&mut self, rows: &RecordBatch, kinds: &Int8Array, parts: &[Part]) -> Result<Placed> {
        let partitions = self.partitions_of(rows.num_rows(), parts)?;
        let columns: Vec<ArrayRef> = self.key.of(rows)?.iter().map(one_nan).collect();
        let keys = binary_row::encode(&columns, &self.key.types)?;
        let hashes = row_hashes(&columns, &self.key.types)?;
        let mut chosen = Chosen::default();
        let of_rows = partitions.iter().zip(keys.iter().flatten()).zip(hashes.values()).zip(kinds.values());
        for (row, (((partition, key), hash), kind)) in (0_u32..).zip(of_rows) {
            self.place_row(&mut chosen, (row, *kind), *partition, (key, *hash))?;
        }
        self.placed(rows, chosen)
    }

    fn place_row(
        &mut self,
        chosen: &mut Chosen,
        (row, kind): (u32, i8),
        partition: u32,
        (key, hash): (&[u8], i32),
    ) -> Result<()> {
        let known = match self.keys.entry(key)? {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(_) => None,
        };
        if let Some(number) = known {
            let home = *self.homes.get(index(number)).ok_or_else(missing)?;
            if home.partition == partition {
                chosen.push(row, kind, number, partition);
                return Ok(());
            }
            match self.on_move {
                OnMove::Skip => return Ok(()),
                OnMove::Stay => {
                    chosen.moves = true;
                    chosen.push(row, kind, number, home.partition);
                    return Ok(());
                }
                OnMove::Delete => {
                    chosen.moves = true;
                    chosen.push(row, DELETE, number, home.partition);
                    let old = self.partitions.get_mut(index(home.partition)).ok_or_else(missing)?;
                    old.sizes.remove_key(home.bucket);
                }
            }
        }
        let bucket = self.partitions.get_mut(index(partition)).ok_or_else(missing)?.sizes.add_key(hash)?;
        let number = self.home_number(NumberedHome { partition, bucket })?;
        self.keys.entry(key)?.insert_entry(number);
        chosen.push(row, kind, number, partition);
        Ok(())
    }

    /// Returns the chosen rows, with the values of the partitions that they are in.
    fn placed(&self, rows: &RecordBatch, chosen: Chosen) -> Result<Placed> {
        let mut placed = take_record_batch(rows, &UInt32Array::from(chosen.rows))?;
        if chosen.moves {
            let mut columns = placed.columns().to_vec();
            let numbers = UInt32Array::from(chosen.partitions);
            for (place, values) in self.partition.places.iter().zip(self.partition_values()?) {
                let column = columns.get_mut(*place).ok_or_else(missing)?;
                *column = take(&values, &numbers, None)?;
            }
            placed = RecordBatch::try_new(placed.schema(), columns)?;
        }
        let mut order: Vec<u32> = Vec::new();
        let mut of_homes: HashMap<u32, Vec<u32>> = HashMap::new();
        for (row, home) in (0_u32..).zip(chosen.homes) {
            of_homes.entry(home).or_insert_with(|| {
                order.push(home);
                Vec::new()
            });
            of_homes.entry(home).and_modify(|rows| rows.push(row));
        }
        let part = |number: u32| {
            let NumberedHome { partition, bucket } = *self.homes.get(index(number)).ok_or_else(missing)?;
            let partition = self.partitions.get(index(partition)).ok_or_else(missing)?.name.clone();
            let rows = UInt32Array::from(of_homes.remove(&number).unwrap_or_default());
            Ok(Part { home: Home { partition, bucket: i32::from(bucket) }, rows })
        };
        let parts = order.into_iter().map(part).collect::<Result<_>>()?;
        Ok(Placed { rows: placed, kinds: chosen.kinds.into(), parts })
    }

    /// Returns the columns of all known partitions.
    fn partition_values(&self) -> Result<Vec<ArrayRef>> {
        let mut names = BinaryBuilder::new();
        self.partitions.iter().for_each(|partition| names.append_value(&partition.name));
        let names: BinaryArray = names.finish();
        let wanted: Vec<usize> = (0..self.partition.types.len()).collect();
        binary_row::decode_columns(&names, &self.partition.types, &wanted)
    }

    /// Returns the number of the partition of each row.
    fn partitions_of(&mut self, count: usize, parts: &[Part]) -> Result<Vec<u32>> {
        let mut partitions = vec![0; count];
        for part in parts {
            let number = self.partition_number(&part.home.partition)?;
            for row in part.rows.values() {
                *partitions.get_mut(index(*row)).ok_or_else(missing)? = number;
            }
        }
        Ok(partitions)
    }

    fn partition_number(&mut self, name: &Arc<[u8]>) -> Result<u32> {
        if let Some(number) = self.partition_numbers.get(name) {
            return Ok(*number);
        }
        let number = next_number(self.partitions.len())?;
        self.partitions.push(Partition { name: name.clone(), sizes: BucketSizes::new(self.limits) });
        self.partition_numbers.insert(name.clone(), number);
        Ok(number)
    }

    fn home_number(&mut self, home: NumberedHome) -> Result<u32> {
        if let Some(number) = self.home_numbers.get(&home) {
            return Ok(*number);
        }
        let number = next_number(self.homes.len())?;
        self.homes.push(home);
        self.home_numbers.insert(home, number);
        Ok(number)
    }
}

impl OnMove {
    fn from_options(options: &Options) -> Self {
        match options.text("merge-engine").unwrap_or("deduplicate").trim() {
            engine if engine.eq_ignore_ascii_case("deduplicate") => Self::Delete,
            engine if engine.eq_ignore_ascii_case("first-row") => Self::Skip,
            _ => Self::Stay,
        }
    }
}

impl Chosen {
    fn push(&mut self, row: u32, kind: i8, home: u32, partition: u32) {
        self.rows.push(row);
        self.kinds.push(kind);
        self.homes.push(home);
        self.partitions.push(partition);
    }
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn next_number(count: usize) -> Result<u32> {
    u32::try_from(count).map_err(|_| Error::internal("a table has more than 2^32 buckets"))
}

fn missing() -> Error {
    Error::internal("a key has no bucket")
}
