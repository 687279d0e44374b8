//! Holds the batches of a merge, and references to their rows.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_buffer::ScalarBuffer;
use frazil_core::context::{Context, Lease};
use frazil_core::error::{Error, Result};

use super::order::SequenceColumn;
use crate::dictionary;

/// A row of a held batch, or a row that is still to be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pick {
    pub(super) batch: u32,
    pub(super) row: u32,
}

impl Pick {
    /// The reference to no row: its values are NULL.
    pub(super) const NULL: Self = Self { batch: u32::MAX, row: 0 };

    /// Returns a reference to the merged key with this number, whose columns are decided one by one.
    pub(super) fn merged(key: u32) -> Self {
        Self { batch: u32::MAX - 1, row: key }
    }

    #[inline]
    pub(super) fn as_merged(self) -> Option<usize> {
        (self.batch == u32::MAX - 1).then_some(self.row as usize)
    }

    #[inline]
    pub(super) fn is_null(self) -> bool {
        self.batch == u32::MAX
    }
}

/// The kind -U. The kinds -U and -D retract; +I and +U add.
pub(super) const UPDATE_BEFORE: i8 = 1;
pub(super) const DELETE: i8 = 3;
pub(super) const INSERT: i8 = 0;

/// The file of a batch, as a merge needs it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Source {
    /// The level of the file.
    pub level: i32,
    /// The position of the file among all files of the merge, oldest first.
    pub age: u32,
    /// The number of the file in the split.
    pub file: u32,
}

/// A batch of a run, with the values that decide about its rows.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) batch: RecordBatch,
    pub(super) bytes: u64,
    /// The average size of a row when it is copied.
    pub(super) row_bytes: u64,
    /// The sequence numbers; empty if records are ordered by their runs alone.
    sequence_numbers: ScalarBuffer<i64>,
    kinds: ScalarBuffer<i8>,
    /// Whether all rows are of kind +I.
    pub(super) inserts: bool,
    /// The file that the rows are from.
    source: Source,
    /// The positions of the rows in their file; empty if they are not wanted.
    positions: ScalarBuffer<i64>,
    /// The columns that rows are compared by, as [`Orders::columns`] lists them.
    compared: Vec<SequenceColumn>,
    _lease: Lease,
}

impl Held {
    /// # Errors
    /// `CorruptData` for invalid row kinds; `LimitExceeded`.
    pub(super) fn try_new(batch: RecordBatch, source: Source, orders: &Orders, context: &Context) -> Result<Self> {
        let kinds = batch.columns().last().and_then(|kinds| kinds.as_primitive_opt::<Int8Type>());
        let kinds = kinds.ok_or_else(|| Error::internal("a batch to be merged does not end with its row kinds"))?;
        let sequence_numbers = match orders.numbers {
            None => ScalarBuffer::default(),
            Some(at) => {
                let numbers = batch.columns().get(at).and_then(|numbers| numbers.as_primitive_opt::<Int64Type>());
                let numbers = numbers.filter(|numbers| numbers.null_count() == 0);
                numbers.ok_or_else(|| Error::corrupt("a sequence number is NULL"))?.values().clone()
            }
        };
        if kinds.null_count() > 0 {
            return Err(Error::corrupt("a row kind is NULL"));
        }
        if let Some(kind) = kinds.values().iter().find(|kind| !(0..=3).contains(*kind)) {
            return Err(Error::corrupt(format!("row kind {kind} is out of range, expected 0 to 3")));
        }
        let kinds = kinds.values().clone();
        let inserts = kinds.iter().all(|kind| *kind == INSERT);
        let mut compared = Vec::with_capacity(orders.columns.len());
        for &column in &orders.columns {
            compared.push(SequenceColumn::try_new(batch.schema_ref().field(column).name(), batch.column(column))?);
        }
        let bytes = size_bytes(&batch)?;
        let rows = u64::try_from(batch.num_rows()).unwrap_or(u64::MAX);
        let entries: usize = batch.columns().iter().map(dictionary::mean_bytes).sum();
        let row_bytes = bytes / rows.max(1) + u64::try_from(entries).unwrap_or(u64::MAX);
        let lease = context.budget.lease(bytes)?;
        let positions = ScalarBuffer::default();
        Ok(Self {
            batch,
            bytes,
            row_bytes,
            sequence_numbers,
            kinds,
            inserts,
            source,
            positions,
            compared,
            _lease: lease,
        })
    }

    /// Returns this batch with the positions of its rows in their file.
    pub(super) fn at(self, positions: Option<ScalarBuffer<i64>>) -> Self {
        Self { positions: positions.unwrap_or_default(), ..self }
    }
}

/// Returns the size of the rows of a batch, regardless of where its buffers begin and end.
pub(super) fn size_bytes(batch: &RecordBatch) -> Result<u64> {
    let mut bytes = 0_u64;
    for column in batch.columns() {
        let size = column.to_data().get_slice_memory_size()?;
        bytes = bytes.saturating_add(u64::try_from(size).unwrap_or(u64::MAX));
    }
    Ok(bytes)
}

/// The held batches, which all merge rules read.
#[derive(Debug, Default)]
pub(super) struct Batches(pub(super) Vec<Held>);

impl Batches {
    #[inline]
    fn held(&self, pick: Pick) -> Option<&Held> {
        self.0.get(pick.batch as usize)
    }

    #[inline]
    pub(super) fn sequence_number(&self, pick: Pick) -> i64 {
        self.held(pick).and_then(|held| held.sequence_numbers.get(pick.row as usize)).copied().unwrap_or_default()
    }

    #[inline]
    pub(super) fn kind(&self, pick: Pick) -> i8 {
        self.held(pick).and_then(|held| held.kinds.get(pick.row as usize)).copied().unwrap_or_default()
    }

    /// Returns the level of the file that contains a row.
    #[inline]
    pub(super) fn level(&self, pick: Pick) -> i32 {
        self.held(pick).map_or(0, |held| held.source.level)
    }

    /// Returns the number of the file that contains a row, and the position of the row in it, if it is known.
    pub(super) fn place(&self, pick: Pick) -> Option<(u32, i64)> {
        let held = self.held(pick)?;
        Some((held.source.file, *held.positions.get(pick.row as usize)?))
    }

    /// Returns the age of the file that contains a row.
    #[inline]
    fn age(&self, pick: Pick) -> u32 {
        self.held(pick).map_or(0, |held| held.source.age)
    }

    /// Returns whether a row retracts: kinds -U and -D.
    #[inline]
    pub(super) fn retracts(&self, pick: Pick) -> bool {
        self.kind(pick) & 1 == 1
    }

    /// Keeps, of the records of a key, those of level 0 and the one of the lowest level above it. A lookup compaction
    /// has already merged that record with all higher levels (`LookupMergeFunction`).
    pub(super) fn retain_lookup(&self, records: &mut Vec<Pick>) {
        let level = |pick: &Pick| self.level(*pick);
        let Some(lowest) = records.iter().map(level).filter(|level| *level > 0).min() else { return };
        let mut found = false;
        records.retain(|pick| match level(pick) {
            ..=0 => true,
            above => above == lowest && !std::mem::replace(&mut found, true),
        });
    }

    /// Returns whether any of the rows retracts.
    pub(super) fn any_retracts(&self, picks: &[Pick]) -> bool {
        picks.iter().any(|&pick| self.retracts(pick))
    }
}

/// An order of rows by some of the compared columns.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    /// Positions in [`Orders::columns`].
    pub(super) columns: Vec<usize>,
    pub(super) descending: bool,
    /// Whether floating-point columns are compared. Their order is inconsistent, because equality is not transitive.
    pub(super) lawless: bool,
}

impl Order {
    #[inline]
    pub(super) fn compare(&self, batches: &Batches, a: Pick, b: Pick) -> Ordering {
        if self.columns.is_empty() {
            return Ordering::Equal;
        }
        let (Some(left), Some(right)) = (batches.held(a), batches.held(b)) else { return Ordering::Equal };
        for &column in &self.columns {
            let (Some(x), Some(y)) = (left.compared.get(column), right.compared.get(column)) else { continue };
            match x.compare(a.row as usize, y, b.row as usize, self.descending) {
                Ordering::Equal => {}
                order => return order,
            }
        }
        Ordering::Equal
    }

    /// Returns whether all columns of the order are NULL in a row.
    #[inline]
    pub(super) fn is_empty(&self, batches: &Batches, pick: Pick) -> bool {
        let Some(held) = batches.held(pick) else { return true };
        let null = |column: &usize| held.compared.get(*column).is_none_or(|values| values.is_null(pick.row as usize));
        self.columns.iter().all(null)
    }
}

/// All orders of a merge: the order of the records of a key, and those of sequence groups.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// Positions in the batches.
    pub(super) columns: Vec<usize>,
    /// The order by `sequence.field`.
    pub(super) records: Order,
    /// The column of sequence numbers. None if each run is newer than the previous runs, and each record of a run is
    /// newer than the previous records. Then the order of arrival decides.
    pub(super) numbers: Option<usize>,
}

impl Orders {
    /// Compares records of one key by sequence fields, by sequence number, by kind (retracts first) and by the age of
    /// their files. Rows of one file with equal values compare as equal.
    #[inline]
    pub(super) fn compare(&self, batches: &Batches, a: Pick, b: Pick) -> Ordering {
        let fields = self.records.compare(batches, a, b);
        if self.numbers.is_none() {
            return fields;
        }
        let numbers = || batches.sequence_number(a).cmp(&batches.sequence_number(b));
        let kinds = || batches.retracts(b).cmp(&batches.retracts(a));
        fields.then_with(numbers).then_with(kinds).then_with(|| batches.age(a).cmp(&batches.age(b)))
    }

    /// Returns whether the order of arrival is the order of records: the merge has neither sequence fields nor sequence
    /// numbers.
    pub(super) fn is_arrival(&self) -> bool {
        self.numbers.is_none() && self.records.columns.is_empty()
    }

    /// Sorts records of one key. Equal records stay in the order of their runs.
    pub(super) fn sort(&self, batches: &Batches, records: &mut [Pick]) {
        const FEW: usize = 32;
        if records.len() > FEW && !self.records.lawless {
            records.sort_by(|&a, &b| self.compare(batches, a, b));
            return;
        }
        // Insertion sort, which tolerates an inconsistent order.
        for end in 1..records.len() {
            let mut at = end;
            while let Some([before, here]) = at.checked_sub(1).and_then(|from| records.get_mut(from..=at)) {
                if self.compare(batches, *before, *here).is_le() {
                    break;
                }
                std::mem::swap(before, here);
                at -= 1;
            }
        }
    }
}
