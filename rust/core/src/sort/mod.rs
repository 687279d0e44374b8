//! Sorts more rows than fit in memory, by keys that compare as bytes: a stable sort with sorted runs in temporary
//! files.
//!
//! ```text
//! push(rows, keys)*  -> what is held is sorted and spilled as a run whenever it is above the limit
//! finish()           -> batches in order: the runs and what is still held, merged
//! ```

mod merge;
mod rows;
mod run;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_array::{Array, BinaryArray, RecordBatch};
use arrow_select::interleave::interleave_record_batch;

pub use merge::Sorted;
pub use rows::RowSorter;
use run::Run;

use crate::error::{Error, Result};

/// The maximum number of rows in a batch that a sort returns.
const BATCH_ROWS: usize = 65_536;
/// The approximate size of a batch of a run; a merge holds one for each run.
const BATCH_BYTES: usize = 1 << 20;
/// The number of bytes of a key that are compared as an integer.
const PREFIX_BYTES: usize = 8;
/// The number of runs with the same number of merges that are merged into one run.
const MAX_RUNS: usize = 64;

/// A sorter of rows.
#[derive(Debug)]
pub struct Sorter {
    limit_bytes: usize,
    held_bytes: usize,
    batches: Vec<RecordBatch>,
    keys: Vec<BinaryArray>,
    /// The runs, each with the number of merges that produced it. This number never increases from one run to the next.
    runs: Vec<(Run, u32)>,
}

impl Sorter {
    /// Creates a sorter that holds about `limit_bytes` of rows and keys in memory.
    pub fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, held_bytes: 0, batches: Vec::new(), keys: Vec::new(), runs: Vec::new() }
    }

    /// Adds rows with a key for each. All batches must have the same schema; rows with equal keys keep their order.
    ///
    /// # Errors
    /// `Internal` if the numbers of keys and rows differ; `Storage` if a run cannot be written.
    pub fn push(&mut self, rows: RecordBatch, keys: BinaryArray) -> Result<()> {
        if rows.num_rows() != keys.len() {
            return Err(Error::internal(format!("{} keys for {} rows", keys.len(), rows.num_rows())));
        }
        if rows.num_rows() == 0 {
            return Ok(());
        }
        self.held_bytes = self.held_bytes.saturating_add(size_bytes(&rows)? + key_bytes(&keys));
        self.batches.push(rows);
        self.keys.push(keys);
        if self.held_bytes >= self.limit_bytes {
            self.spill()?;
        }
        Ok(())
    }

    /// Returns the rows in the order of their keys.
    ///
    /// # Errors
    /// `Storage` if a run cannot be read.
    pub fn finish(mut self) -> Result<Sorted> {
        if self.runs.is_empty() {
            let order = self.order();
            return Ok(Sorted::of_memory(std::mem::take(&mut self.batches), order));
        }
        if !self.batches.is_empty() {
            self.spill()?;
        }
        merged(std::mem::take(&mut self.runs))
    }

    /// Returns the rows in memory, as (batch, row) in the order of their keys.
    fn order(&self) -> Vec<(usize, usize)> {
        // After the common prefix, eight bytes distinguish nearly all keys. They distinguish all keys if no key is
        // longer.
        let common = self.common_bytes();
        let mut order: Vec<(u64, u32, u32)> = Vec::with_capacity(self.keys.iter().map(BinaryArray::len).sum());
        let (mut shortest, mut longest) = (usize::MAX, 0);
        for (batch, keys) in (0_u32..).zip(&self.keys) {
            order.extend((0_u32..).zip(keys.iter()).map(|(row, key)| {
                let rest = key.and_then(|key| key.get(common..)).unwrap_or_default();
                (shortest, longest) = (shortest.min(rest.len()), longest.max(rest.len()));
                (prefix(rest), batch, row)
            }));
        }
        if longest <= PREFIX_BYTES && shortest == longest {
            order.sort_unstable();
        } else {
            order.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| self.key(a.1, a.2).cmp(self.key(b.1, b.2))));
        }
        order.into_iter().map(|(_, batch, row)| (wide(batch), wide(row))).collect()
    }

    /// Returns the length of the common prefix of all keys.
    fn common_bytes(&self) -> usize {
        let mut keys = self.keys.iter().flat_map(|keys| keys.iter().flatten());
        let Some(first) = keys.next() else { return 0 };
        keys.fold(first.len(), |common, key| match (first.get(..common), key.get(..common)) {
            (Some(first), Some(key)) if first == key => common,
            _ => first.iter().zip(key).take_while(|(a, b)| a == b).count(),
        })
    }

    fn key(&self, batch: u32, row: u32) -> &[u8] {
        self.keys.get(wide(batch)).map_or(&[], |keys| keys.value(wide(row)))
    }

    fn spill(&mut self) -> Result<()> {
        let order = self.order();
        let (batches, keys) = (std::mem::take(&mut self.batches), std::mem::take(&mut self.keys));
        let rows_each = (BATCH_BYTES * order.len() / self.held_bytes.max(1)).clamp(1, BATCH_ROWS);
        self.held_bytes = 0;
        let Some(first) = batches.first() else { return Ok(()) };
        let mut run = run::RunWriter::new(first.schema())?;
        for part in order.chunks(rows_each) {
            run.write(&gathered(&batches, part)?, &gathered_keys(&keys, part)?)?;
        }
        self.runs.push((run.finish()?, 0));
        self.merge_runs(rows_each)
    }

    /// Merges runs of the same size. A row is therefore rewritten once for each power of [`MAX_RUNS`], not in every
    /// merge.
    fn merge_runs(&mut self, rows_each: usize) -> Result<()> {
        while let Some((_, merges)) = self.runs.last() {
            let merges = *merges;
            let equal = self.runs.iter().rev().take_while(|(_, other)| *other == merges).count();
            if equal < MAX_RUNS {
                break;
            }
            let run = merged(self.runs.split_off(self.runs.len() - equal))?.into_run(rows_each)?;
            self.runs.push((run, merges + 1));
        }
        Ok(())
    }
}

fn merged(runs: Vec<(Run, u32)>) -> Result<Sorted> {
    Sorted::of_runs(runs.into_iter().map(|(run, _)| run).collect())
}

fn gathered(batches: &[RecordBatch], order: &[(usize, usize)]) -> Result<RecordBatch> {
    Ok(interleave_record_batch(&batches.iter().collect::<Vec<_>>(), order)?)
}

fn gathered_keys(keys: &[BinaryArray], order: &[(usize, usize)]) -> Result<Arc<dyn Array>> {
    let keys: Vec<&dyn Array> = keys.iter().map(|keys| keys as &dyn Array).collect();
    Ok(arrow_select::interleave::interleave(&keys, order)?)
}

/// Returns the first [`PREFIX_BYTES`] of a key as an integer that sorts like the bytes.
fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; PREFIX_BYTES];
    bytes.iter_mut().zip(key).for_each(|(byte, of_key)| *byte = *of_key);
    u64::from_be_bytes(bytes)
}

fn wide(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns the size of the rows of a batch in bytes, excluding other rows in the same buffers.
fn size_bytes(rows: &RecordBatch) -> Result<usize> {
    rows.columns()
        .iter()
        .try_fold(0_usize, |sum, column| Ok(sum.saturating_add(column.to_data().get_slice_memory_size()?)))
}

fn key_bytes(keys: &BinaryArray) -> usize {
    let offsets = keys.value_offsets();
    let bytes = offsets.last().zip(offsets.first()).map_or(0, |(last, first)| last - first);
    // In addition to the key, sorting needs sixteen bytes per row, and the key's offset needs four.
    usize::try_from(bytes).unwrap_or(0) + keys.len() * 20
}
