//! Statistics of data files (spec: "Manifest", `_KEY_STATS` and `_VALUE_STATS`).

use arrow_array::{BinaryArray, ListArray};

/// Bounds and null counts of the columns of many files; one row for each file.
#[derive(Debug, Clone, Copy)]
pub struct Stats<'a> {
    /// Rows of smallest values, with their arity; without fields where nothing is known.
    pub min: &'a BinaryArray,
    /// Rows of greatest values.
    pub max: &'a BinaryArray,
    /// How many values are NULL: a list of 64-bit numbers, one for each column, NULL where not known.
    pub null_counts: &'a ListArray,
}
