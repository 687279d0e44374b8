//! Reads statistics of data files (spec: "Manifest", `_KEY_STATS` and `_VALUE_STATS`).
//!
//! Bounds are rows with one field for each column that has statistics. The entry determines the columns: those in
//! `_VALUE_STATS_COLS`, or in `_WRITE_COLS` if `_VALUE_STATS_COLS` is NULL, or else all columns of the file's schema.
//! In a row without fields, all bounds are unknown. A NULL bound is also unknown, unless all values are NULL.

use arrow_array::{BinaryArray, ListArray};
use arrow_schema::DataType as ArrowType;
use frazil_core::avro::{Column, Kind};

use super::meta_file::{self, leaf, list};

/// The bounds and null counts of some columns over all files of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimpleStats {
    /// The row of minimum values, with its arity; without fields if nothing is known.
    pub min: Vec<u8>,
    /// The row of maximum values.
    pub max: Vec<u8>,
    /// The number of NULLs in each column; None if unknown.
    pub null_counts: Option<Vec<Option<i64>>>,
}

/// The bounds and null counts of the columns of many files, with one row for each file.
#[derive(Debug, Clone, Copy)]
pub struct Stats<'a> {
    /// Rows of minimum values, with their arity; without fields if nothing is known.
    pub min: &'a BinaryArray,
    /// Rows of maximum values.
    pub max: &'a BinaryArray,
    /// The numbers of NULLs: a list of 64-bit integers, one for each column, NULL if unknown.
    pub null_counts: &'a ListArray,
}

/// Returns the column of statistics in files: bounds and null counts, and their names in the output.
pub(super) fn column(name: &str, [min, max, null_counts]: [&str; 3]) -> Column {
    let named = |column: Column, name: &str| Column { name: name.to_string(), ..column };
    let fields = vec![
        named(leaf("_MIN_VALUES", ArrowType::Binary).required(), min),
        named(leaf("_MAX_VALUES", ArrowType::Binary).required(), max),
        named(meta_file::column("_NULL_COUNTS", list(ArrowType::Int64)), null_counts),
    ];
    meta_file::column(name, Kind::Struct(fields)).required()
}
