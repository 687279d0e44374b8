//! Holds the distinct partitions of manifest entries, as bytes and as columns.

use arrow_array::{Array, ArrayRef, BinaryArray, UInt32Array};
use arrow_buffer::BooleanBuffer;
use frazil_core::error::{ErrorKind, Result};
use frazil_core::prune::{Bounds, ColumnStats, Verdicts, prune};
use frazil_core::sql::predicate::eval::RowColumns;
use frazil_core::sql::predicate::{BoundColumn, BoundPredicate};
use hashbrown::HashMap;

use crate::binary_row;
use crate::context::ReadContext;
use crate::spec::partition_path::{self, Naming};
use crate::spec::types::comparable;

/// The distinct partitions of some entries, in order of first occurrence.
#[derive(Debug, Clone)]
pub struct Partitions {
    rows: BinaryArray,
    ids: Vec<i32>,
    columns: Vec<ArrayRef>,
    of_entry: Vec<u32>,
}

impl Partitions {
    /// Decodes the partitions of entries, in the form that manifests hold.
    ///
    /// # Errors
    /// `CorruptManifest` for a partition that does not match the partition columns of the table.
    pub fn try_new(encoded: &BinaryArray, read: &ReadContext) -> Result<Self> {
        let types = read.partition_types();
        let (rows, of_entry) = distinct(encoded, types.is_empty());
        let wanted: Vec<usize> = (0..types.len()).collect();
        let columns = binary_row::decode_columns(&rows, &types, &wanted)
            .map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest).with("field", "_PARTITION"))?;
        let ids = read.partition_fields().iter().map(|field| field.id).collect();
        Ok(Self { rows, ids, columns, of_entry })
    }

    /// Returns the partitions for a selection of the entries; `rows` are the positions of the selected entries.
    #[must_use]
    pub fn take(self, rows: &UInt32Array) -> Self {
        let of = |row: &u32| usize::try_from(*row).ok().and_then(|row| self.of_entry.get(row)).copied();
        let of_entry = rows.values().iter().map(|row| of(row).unwrap_or(0)).collect();
        Self { of_entry, ..self }
    }

    /// Returns the distinct partition with a number, as bytes with its arity.
    pub fn row(&self, partition: usize) -> &[u8] {
        if partition < self.rows.len() { self.rows.value(partition) } else { &[] }
    }

    /// Returns the distinct partitions, as bytes with their arity.
    pub fn rows(&self) -> &BinaryArray {
        &self.rows
    }

    /// Returns the partition columns of the distinct partitions, outermost first.
    pub fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    /// Returns the partition number of each entry.
    pub fn of_entry(&self) -> &[u32] {
        &self.of_entry
    }

    /// Returns the partition number of an entry.
    pub fn of(&self, entry: usize) -> usize {
        self.of_entry.get(entry).and_then(|partition| usize::try_from(*partition).ok()).unwrap_or(0)
    }

    /// Returns the folder of a partition, relative to the table; empty without partition columns.
    ///
    /// # Errors
    /// As for [`partition_path::folder`].
    pub fn folder(&self, read: &ReadContext, partition: usize) -> Result<String> {
        let naming = Naming::from_options(&read.options)?;
        partition_path::folder(&read.partition_fields(), &self.columns, partition, &naming)
    }

    /// Returns which partitions may hold matching rows, and in which every row matches.
    pub fn judge(&self, filter: &BoundPredicate) -> Result<Verdicts> {
        prune(filter, self)
    }

    /// Expands a value for each partition to a value for each entry.
    pub fn spread(&self, verdicts: &BooleanBuffer) -> BooleanBuffer {
        let of = |partition: &u32| usize::try_from(*partition).is_ok_and(|p| p < verdicts.len() && verdicts.value(p));
        self.of_entry.iter().map(of).collect()
    }

    /// Returns the values of entries in a partition column, in the form that predicates compare, or None for other
    /// columns.
    pub fn entry_values(&self, id: i32) -> Result<Option<ArrayRef>> {
        let Some(column) = self.column(id) else { return Ok(None) };
        let entries = UInt32Array::from(self.of_entry.clone());
        Ok(Some(arrow_select::take::take(&comparable(column)?, &entries, None)?))
    }

    fn column(&self, id: i32) -> Option<&ArrayRef> {
        let position = self.ids.iter().position(|known| *known == id)?;
        self.columns.get(position)
    }
}

/// The values of the partitions, one row for each.
impl RowColumns for Partitions {
    fn column(&self, id: i32) -> Option<ArrayRef> {
        self.column(id).and_then(|column| comparable(column).ok())
    }
}

/// All rows of a partition have its values, so the statistics are exact.
impl ColumnStats for Partitions {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        self.column(column.id).map(|values| Ok(Bounds::constant(&comparable(values)?))).transpose()
    }
}

/// Returns the distinct rows, and the number of the distinct row for each row. Consecutive entries usually have the
/// same partition. Without partition columns there is one partition, regardless of its encoding.
fn distinct(encoded: &BinaryArray, unpartitioned: bool) -> (BinaryArray, Vec<u32>) {
    if unpartitioned {
        return (encoded.slice(0, encoded.len().min(1)), vec![0; encoded.len()]);
    }
    let mut numbers: HashMap<&[u8], u32> = HashMap::new();
    let mut rows: Vec<&[u8]> = Vec::new();
    let mut of_entry = Vec::with_capacity(encoded.len());
    let mut last: Option<(&[u8], u32)> = None;
    for row in encoded {
        let row = row.unwrap_or_default();
        let number = match last {
            Some((known, number)) if known == row => number,
            _ => *numbers.entry(row).or_insert_with(|| {
                rows.push(row);
                u32::try_from(rows.len() - 1).unwrap_or(u32::MAX)
            }),
        };
        last = Some((row, number));
        of_entry.push(number);
    }
    (BinaryArray::from_iter_values(rows), of_entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_share_partitions() {
        let encoded = BinaryArray::from_vec(vec![b"a", b"a", b"b", b"a"]);
        let (rows, of_entry) = distinct(&encoded, false);
        assert_eq!((rows.len(), of_entry), (2, vec![0, 0, 1, 0]));
        let (rows, of_entry) = distinct(&encoded, true);
        assert_eq!((rows.len(), of_entry), (1, vec![0; 4]));
        assert_eq!(distinct(&encoded.slice(0, 0), true).0.len(), 0);
    }
}
