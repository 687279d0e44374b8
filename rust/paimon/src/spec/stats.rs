//! Statistics of data files (spec: "Manifest", `_KEY_STATS` and `_VALUE_STATS`).
//!
//! Bounds are rows of one field for each column that has statistics. Which columns those are an entry says itself: those
//! of `_VALUE_STATS_COLS`, or of `_WRITE_COLS` where that is NULL, or all of the schema that the file was written with.
//! A row without fields says that nothing is known. A bound that is NULL is not known either, unless all values are.

use arrow_array::{BinaryArray, ListArray};
use arrow_schema::DataType as ArrowType;
use frazil_core::avro::{Column, Kind};

use super::meta_file::{self, leaf, list};

/// Bounds and null counts of some columns over all files of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimpleStats {
    /// The row of smallest values, with its arity; without fields where nothing is known.
    pub min: Vec<u8>,
    /// The row of greatest values.
    pub max: Vec<u8>,
    /// How many values are NULL, column by column; None where not known.
    pub null_counts: Option<Vec<Option<i64>>>,
}

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

/// How statistics stand in files: bounds and null counts under the names that they get in the output.
pub(super) fn column(name: &str, [min, max, null_counts]: [&str; 3]) -> Column {
    let named = |column: Column, name: &str| Column { name: name.to_string(), ..column };
    let fields = vec![
        named(leaf("_MIN_VALUES", ArrowType::Binary).required(), min),
        named(leaf("_MAX_VALUES", ArrowType::Binary).required(), max),
        named(meta_file::column("_NULL_COUNTS", list(ArrowType::Int64)), null_counts),
    ];
    meta_file::column(name, Kind::Struct(fields)).required()
}
