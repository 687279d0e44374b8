//! References values by position and gathers them when the result is requested. Nothing is copied per record.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::DataType;
use arrow_select::interleave::interleave;
use frazil_core::error::Result;

/// A reference to a value: the number of an array of [`Sources`], and a row of it.
pub(super) type ElementPick = (usize, usize);

/// The reference to NULL.
pub(super) const NULL: ElementPick = (0, 0);

/// The arrays that values were picked from. The first contains a single NULL.
#[derive(Debug)]
pub(super) struct Sources {
    data_type: DataType,
    arrays: Vec<ArrayRef>,
    /// The array of the last lookup, because consecutive records usually come from the same array.
    last: usize,
}

impl Sources {
    pub(super) fn new(data_type: &DataType) -> Self {
        Self { data_type: data_type.clone(), arrays: vec![new_null_array(data_type, 1)], last: 0 }
    }

    /// Picks a row of an array, which is retained. Returns None if there is no such row, or if the array has another
    /// type.
    #[inline]
    pub(super) fn pick(&mut self, array: &ArrayRef, row: usize) -> Option<ElementPick> {
        if self.arrays.get(self.last).is_none_or(|last| !same(last, array)) {
            self.last = self.find_or_keep(array)?;
        }
        (row < array.len()).then_some((self.last, row))
    }

    pub(super) fn array(&self, number: usize) -> Option<&ArrayRef> {
        self.arrays.get(number)
    }

    pub(super) fn is_null(&self, (array, row): ElementPick) -> bool {
        self.arrays.get(array).is_none_or(|array| array.is_null(row))
    }

    /// Returns the values of `picks`.
    pub(super) fn gather(&self, picks: &[ElementPick]) -> Result<ArrayRef> {
        let arrays: Vec<&dyn Array> = self.arrays.iter().map(|array| &**array).collect();
        Ok(interleave(&arrays, picks)?)
    }

    /// Releases the arrays; picks from them become invalid.
    pub(super) fn clear(&mut self) {
        self.arrays.truncate(1);
        self.last = 0;
    }

    fn find_or_keep(&mut self, array: &ArrayRef) -> Option<usize> {
        if let Some(known) = self.arrays.iter().rposition(|known| same(known, array)) {
            return Some(known);
        }
        if *array.data_type() != self.data_type {
            return None;
        }
        self.arrays.push(Arc::clone(array));
        Some(self.arrays.len() - 1)
    }
}

/// Returns whether two handles refer to the same array. Both are alive, so their addresses can be compared.
fn same(left: &ArrayRef, right: &ArrayRef) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(left), Arc::as_ptr(right))
}
