//! Filters the rows of a batch by a mask.
//!
//! A mask of deletes drops single rows at random positions, which is the worst case for copying runs of kept rows:
//! there is nearly one run per dropped row. Numbers are therefore processed 64 at a time without a branch per row, and
//! strings by runs of their offsets. Types without a kernel here use arrow-select, with which the tests compare the
//! results.

mod fixed;
mod spare;
mod text;

use std::sync::OnceLock;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use arrow_select::filter::{FilterBuilder, FilterPredicate};

pub use spare::Spare;

use crate::error::{Error, Result};

/// The number of rows in a word of the mask.
const WORD: usize = 64;

/// A mask that is applied to columns with the same number of rows.
#[derive(Debug)]
pub struct Filter {
    mask: Mask,
    keep: BooleanArray,
    /// The filter for types without a kernel here; created on first use.
    general: OnceLock<FilterPredicate>,
}

/// The bits of a mask in words, with the first row lowest; bits after the last row are not set.
#[derive(Debug)]
struct Mask {
    words: Vec<u64>,
    rows: usize,
    kept: usize,
}

impl Filter {
    /// Creates a filter that keeps the rows whose bit is set.
    pub fn new(keep: &BooleanBuffer) -> Self {
        Self { mask: Mask::new(keep), keep: BooleanArray::new(keep.clone(), None), general: OnceLock::new() }
    }

    /// Returns the number of kept rows.
    pub fn kept(&self) -> usize {
        self.mask.kept
    }

    /// Returns the kept rows of a batch, using memory of `spare` if available.
    ///
    /// # Errors
    /// `CorruptData` for string offsets outside the value buffer; `Internal` if the numbers of rows of the batch and
    /// the mask differ.
    pub fn batch(&self, batch: &RecordBatch, spare: &Spare) -> Result<RecordBatch> {
        if batch.num_rows() != self.mask.rows {
            return Err(self.differs(batch.num_rows()));
        }
        let columns = batch.columns().iter().map(|column| self.array(column, spare)).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.mask.kept));
        Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
    }

    /// Returns the kept values of a column. Errors are those of [`Filter::batch`].
    pub fn array(&self, array: &ArrayRef, spare: &Spare) -> Result<ArrayRef> {
        if array.len() != self.mask.rows {
            return Err(self.differs(array.len()));
        }
        match array.data_type() {
            DataType::Utf8 => text::bytes(array.as_string::<i32>(), &self.mask, spare),
            DataType::LargeUtf8 => text::bytes(array.as_string::<i64>(), &self.mask, spare),
            DataType::Binary => text::bytes(array.as_binary::<i32>(), &self.mask, spare),
            DataType::LargeBinary => text::bytes(array.as_binary::<i64>(), &self.mask, spare),
            // The fields of an interval are narrower than the interval, so its alignment is smaller than its width.
            DataType::Interval(_) => self.general(array),
            other => match other.primitive_width() {
                Some(4) => self.numbers(array, spare, fixed::u32s),
                Some(8) => self.numbers(array, spare, fixed::u64s),
                Some(16) => self.numbers::<i128>(array, spare, fixed::portable),
                _ => self.general(array),
            },
        }
    }

    /// Filters values with the width and alignment of `T`.
    fn numbers<T: ArrowNativeType>(
        &self,
        array: &ArrayRef,
        spare: &Spare,
        keep: impl Fn(&[T], &Mask, &mut Vec<T>),
    ) -> Result<ArrayRef> {
        let data = array.to_data();
        let buffer = data.buffers().first().ok_or_else(|| Error::internal("an array of numbers has no buffer"))?;
        let values = ScalarBuffer::<T>::new(buffer.clone(), data.offset(), data.len());
        let mut kept = spare.vec(self.mask.kept + fixed::ROOM);
        keep(&values, &self.mask, &mut kept);
        let kept = ArrayData::builder(data.data_type().clone())
            .len(self.mask.kept)
            .add_buffer(spare.lend(kept))
            .nulls(self.mask.nulls(array.nulls()));
        Ok(make_array(kept.build()?))
    }

    fn general(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let predicate = self.general.get_or_init(|| FilterBuilder::new(&self.keep).optimize().build());
        Ok(predicate.filter(array)?)
    }

    fn differs(&self, rows: usize) -> Error {
        Error::internal(format!("a batch has {rows} rows, but the mask has {}", self.mask.rows))
    }
}

impl Mask {
    fn new(keep: &BooleanBuffer) -> Self {
        let words: Vec<u64> = keep.bit_chunks().iter_padded().take(keep.len().div_ceil(WORD)).collect();
        let kept = words.iter().map(|word| word.count_ones() as usize).sum();
        Self { words, rows: keep.len(), kept }
    }

    /// Calls `run` with each run of kept rows: its first row, and the row after its last one.
    fn runs(&self, mut run: impl FnMut(usize, usize)) {
        let mut open: Option<usize> = None;
        for (at, &word) in self.words.iter().enumerate() {
            let first = at * WORD;
            let mut bit = 0;
            while bit < u64::BITS {
                let rest = word >> bit;
                if let Some(start) = open {
                    bit += rest.trailing_ones();
                    if bit >= u64::BITS {
                        break;
                    }
                    run(start, first + bit as usize);
                    open = None;
                } else if rest == 0 {
                    break;
                } else {
                    bit += rest.trailing_zeros();
                    open = Some(first + bit as usize);
                }
            }
        }
        if let Some(start) = open {
            run(start, self.rows);
        }
    }

    /// Returns the bits of kept rows, end to end.
    fn bits(&self, bits: &BooleanBuffer) -> BooleanBuffer {
        let mut packed = Packed { words: Vec::with_capacity(self.kept.div_ceil(WORD)), last: 0, filled: 0 };
        for (&word, values) in self.words.iter().zip(bits.bit_chunks().iter_padded()) {
            packed.push(word, values);
        }
        if packed.filled > 0 {
            packed.words.push(packed.last);
        }
        BooleanBuffer::new(Buffer::from_vec(packed.words), 0, self.kept)
    }

    fn nulls(&self, nulls: Option<&NullBuffer>) -> Option<NullBuffer> {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0)?;
        Some(NullBuffer::new(self.bits(nulls.inner()))).filter(|nulls| nulls.null_count() > 0)
    }
}

/// A builder that packs bits end to end.
struct Packed {
    words: Vec<u64>,
    last: u64,
    filled: u32,
}

impl Packed {
    /// Appends the bits of `values` that `word` keeps.
    fn push(&mut self, mut word: u64, mut values: u64) {
        while word != 0 {
            let skipped = word.trailing_zeros();
            word >>= skipped;
            values >>= skipped;
            let count = word.trailing_ones();
            let run = if count == u64::BITS { values } else { values & !(u64::MAX << count) };
            self.last |= run << self.filled;
            self.filled += count;
            if self.filled >= u64::BITS {
                self.words.push(self.last);
                self.filled -= u64::BITS;
                self.last = run.checked_shr(count - self.filled).unwrap_or_default();
            }
            word = word.checked_shr(count).unwrap_or_default();
            values = values.checked_shr(count).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests;
