//! Merges sorted runs with a heap of their next rows.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fmt;

use arrow_array::{Array, BinaryArray, RecordBatch};

use super::run::{Reader, Run, RunWriter};
use super::{BATCH_ROWS, gathered, gathered_keys};
use crate::error::Result;

/// The rows in the order of their keys.
pub struct Sorted(Source);

enum Source {
    /// All rows are in memory; `order` contains their positions, and `next` is the index of the next one.
    Memory {
        batches: Vec<RecordBatch>,
        order: Vec<(usize, usize)>,
        next: usize,
    },
    Runs(Merge),
}

impl fmt::Debug for Sorted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Source::Memory { .. } => "Sorted(Memory)",
            Source::Runs(_) => "Sorted(Runs)",
        })
    }
}

impl Sorted {
    pub(super) fn of_memory(batches: Vec<RecordBatch>, order: Vec<(usize, usize)>) -> Self {
        Self(Source::Memory { batches, order, next: 0 })
    }

    pub(super) fn of_runs(runs: Vec<Run>) -> Result<Self> {
        let mut merge = Merge { heap: BinaryHeap::new(), batches: Vec::new(), keys: Vec::new() };
        for (number, run) in runs.into_iter().enumerate() {
            merge.refill(run.read()?, number)?;
        }
        Ok(Self(Source::Runs(merge)))
    }

    /// Returns the next rows, at most `most_rows`; None after the last row.
    ///
    /// # Errors
    /// `Storage` if a run cannot be read.
    pub fn next_batch(&mut self, most_rows: usize) -> Result<Option<RecordBatch>> {
        match &mut self.0 {
            Source::Memory { batches, order, next } => {
                let end = next.saturating_add(most_rows.clamp(1, BATCH_ROWS)).min(order.len());
                let Some(part) = order.get(*next..end).filter(|part| !part.is_empty()) else {
                    *batches = Vec::new();
                    return Ok(None);
                };
                let rows = gathered(batches, part)?;
                *next = end;
                Ok(Some(rows))
            }
            Source::Runs(merge) => Ok(merge.next_part(most_rows.clamp(1, BATCH_ROWS))?.map(|part| part.0)),
        }
    }

    /// Writes all rows to one run, in batches of `rows_each` rows.
    pub(super) fn into_run(self, rows_each: usize) -> Result<Run> {
        let Source::Runs(mut merge) = self.0 else {
            return Err(crate::error::Error::internal("rows in memory must be spilled, not merged"));
        };
        let schema = merge.heap.peek().map(|cursor| cursor.reader.schema().clone());
        let mut writer = RunWriter::new(schema.unwrap_or_else(|| std::sync::Arc::new(arrow_schema::Schema::empty())))?;
        while let Some((rows, keys)) = merge.next_part(rows_each)? {
            writer.write(&rows, &keys)?;
        }
        writer.finish()
    }
}

struct Merge {
    heap: BinaryHeap<RunCursor>,
    /// The batches of the selected rows.
    batches: Vec<RecordBatch>,
    keys: Vec<BinaryArray>,
}

/// The next row of a run.
struct RunCursor {
    reader: Reader,
    keys: BinaryArray,
    row: usize,
    /// The position of the run's current batch in [`Merge::batches`].
    slot: usize,
    /// The number of the run, in the order in which runs were written; it orders rows with equal keys.
    run: usize,
}

impl Merge {
    /// Reads the next batch of a run and puts the run back into the heap; does nothing at the end of the run.
    fn refill(&mut self, mut reader: Reader, run: usize) -> Result<()> {
        if let Some((rows, keys)) = reader.next()? {
            let slot = self.batches.len();
            self.batches.push(rows);
            self.keys.push(keys.clone());
            self.heap.push(RunCursor { reader, keys, row: 0, slot, run });
        }
        Ok(())
    }

    fn next_part(&mut self, most_rows: usize) -> Result<Option<(RecordBatch, std::sync::Arc<dyn Array>)>> {
        let mut order = Vec::new();
        while order.len() < most_rows {
            let Some(mut first) = self.heap.peek_mut() else { break };
            order.push((first.slot, first.row));
            first.row += 1;
            if first.row == first.keys.len() {
                let cursor = PeekMut::pop(first);
                self.refill(cursor.reader, cursor.run)?;
                // Consumed batches are dropped regularly, so that the number of batches does not grow with the length
                // of the runs.
                if self.batches.len() > 2 * super::MAX_RUNS + self.heap.len() {
                    break;
                }
            }
        }
        if order.is_empty() {
            return Ok(None);
        }
        let part = (gathered(&self.batches, &order)?, gathered_keys(&self.keys, &order)?);
        self.forget();
        Ok(Some(part))
    }

    /// Drops the batches without remaining rows.
    fn forget(&mut self) {
        let (batches, keys) = (std::mem::take(&mut self.batches), std::mem::take(&mut self.keys));
        let cursors = std::mem::take(&mut self.heap).into_iter().map(|mut cursor| {
            let kept = batches.get(cursor.slot).zip(keys.get(cursor.slot));
            cursor.slot = self.batches.len();
            if let Some((rows, keys)) = kept {
                self.batches.push(rows.clone());
                self.keys.push(keys.clone());
            }
            cursor
        });
        self.heap = cursors.collect::<Vec<_>>().into();
    }
}

impl RunCursor {
    fn key(&self) -> &[u8] {
        self.keys.value(self.row)
    }
}

impl Ord for RunCursor {
    /// Compares in reverse order: the greatest cursor, which the heap returns first, has the first row.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(self.key()).then_with(|| other.run.cmp(&self.run))
    }
}

impl PartialOrd for RunCursor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RunCursor {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for RunCursor {}
