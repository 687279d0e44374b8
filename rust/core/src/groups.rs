//! Groups of equal rows within a batch.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, Int32Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, UInt32Array};
use arrow_row::Rows;
use arrow_schema::DataType;
use arrow_select::take::take_record_batch;
use hashbrown::HashMap;

use crate::error::Result;
use crate::extremes::extremes;

/// The maximum range of integers that are looked up in a table.
const TABLE_LEN: usize = 1 << 16;

/// The groups of equal rows in a batch, numbered in the order of their first rows.
#[derive(Debug)]
pub struct Groups {
    /// The group of each row.
    of_rows: Vec<u32>,
    firsts: Vec<u32>,
    counts: Vec<u32>,
}

impl Groups {
    /// Returns one group of all rows.
    pub fn one(rows: usize) -> Self {
        Self { of_rows: vec![0; rows], firsts: vec![0], counts: vec![u32::try_from(rows).unwrap_or(u32::MAX)] }
    }

    /// Groups rows by one column of 32-bit integers or dates within a small range; NULL equals NULL. Returns None for
    /// other columns.
    pub fn of_numbers(numbers: &ArrayRef) -> Option<Self> {
        let (least, len) = small_range(numbers)?;
        let mut groups = Self::empty(numbers.len());
        // The group of each integer, and one more entry for NULL.
        let mut table = vec![u32::MAX; len];
        let mut of_null = u32::MAX;
        let mut push = |number: Option<i32>| {
            let place = number.and_then(|number| usize::try_from(i64::from(number) - i64::from(least)).ok());
            groups.push(place.and_then(|place| table.get_mut(place)).unwrap_or(&mut of_null));
        };
        if let Some(numbers) = numbers.as_primitive_opt::<Int32Type>() {
            numbers.iter().for_each(&mut push);
        } else if let Some(days) = numbers.as_primitive_opt::<Date32Type>() {
            days.iter().for_each(&mut push);
        }
        Some(groups)
    }

    /// Groups rows by keys.
    pub fn of_keys(keys: &Rows) -> Self {
        let mut groups = Self::empty(keys.num_rows());
        let mut places: HashMap<&[u8], u32> = HashMap::new();
        let mut last: Option<(&[u8], u32)> = None;
        for key in keys {
            let key = key.data();
            // Equal rows are often adjacent.
            if let Some((_, mut place)) = last.filter(|(known, _)| *known == key) {
                groups.push(&mut place);
            } else {
                let place = places.entry(key).or_insert(u32::MAX);
                groups.push(place);
                last = Some((key, *place));
            }
        }
        groups
    }

    /// Returns the number of the first row of each group.
    pub fn firsts(&self) -> UInt32Array {
        UInt32Array::from(self.firsts.clone())
    }

    /// Returns the row numbers of each group in ascending order, by a counting sort.
    pub fn members(&self) -> Vec<UInt32Array> {
        let width = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        let mut members: Vec<Vec<u32>> = self.counts.iter().map(|count| Vec::with_capacity(width(*count))).collect();
        for (row, group) in (0_u32..).zip(&self.of_rows) {
            if let Some(rows) = members.get_mut(width(*group)) {
                rows.push(row);
            }
        }
        members.into_iter().map(UInt32Array::from).collect()
    }

    fn empty(rows: usize) -> Self {
        Self { of_rows: Vec::with_capacity(rows), firsts: Vec::new(), counts: Vec::new() }
    }

    /// Assigns the next row to a group; `u32::MAX` is replaced by the number of a new group.
    #[inline]
    fn push(&mut self, group: &mut u32) {
        if *group == u32::MAX {
            *group = u32::try_from(self.firsts.len()).unwrap_or(u32::MAX - 1);
            self.firsts.push(u32::try_from(self.of_rows.len()).unwrap_or(u32::MAX));
            self.counts.push(0);
        }
        self.of_rows.push(*group);
        if let Some(count) = self.counts.get_mut(usize::try_from(*group).unwrap_or(usize::MAX)) {
            *count += 1;
        }
    }
}

/// Returns the rows with these ascending numbers, without a copy if they are consecutive.
///
/// # Errors
/// Arrow's errors for numbers that the batch does not have.
pub fn take_rows(batch: &RecordBatch, rows: &UInt32Array) -> Result<RecordBatch> {
    let numbers = rows.values();
    match (numbers.first(), numbers.last()) {
        (Some(first), Some(last)) if usize::try_from(last - first) == Ok(numbers.len() - 1) => {
            Ok(batch.slice(usize::try_from(*first).unwrap_or(0), numbers.len()))
        }
        _ => Ok(take_record_batch(batch, rows)?),
    }
}

/// Returns the least number and the length of the range, if it is small enough.
fn small_range(numbers: &ArrayRef) -> Option<(i32, usize)> {
    fn range<T: ArrowPrimitiveType<Native = i32>>(numbers: &PrimitiveArray<T>) -> Option<(i32, usize)> {
        let (least, greatest) = extremes(numbers)?;
        let len = usize::try_from(i64::from(greatest) - i64::from(least) + 1).ok()?;
        (len <= TABLE_LEN).then_some((least, len))
    }
    match numbers.data_type() {
        DataType::Int32 => range(numbers.as_primitive_opt::<Int32Type>()?),
        DataType::Date32 => range(numbers.as_primitive_opt::<Date32Type>()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int32Array, StringArray};
    use arrow_row::{RowConverter, SortField};

    use super::*;

    fn members(groups: &Groups) -> Vec<Vec<u32>> {
        groups.members().iter().map(|rows| rows.values().to_vec()).collect()
    }

    #[test]
    fn numbers_and_keys_give_the_same_groups() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(5), None, Some(-1), Some(5), None]));
        let expected = vec![vec![0, 3], vec![1, 4], vec![2]];
        let found = Groups::of_numbers(&numbers).unwrap();
        assert_eq!(members(&found), expected);
        assert_eq!(found.firsts().values(), &[0, 1, 2]);
        let converter = RowConverter::new(vec![SortField::new(DataType::Int32)]).unwrap();
        assert_eq!(members(&Groups::of_keys(&converter.convert_columns(&[numbers]).unwrap())), expected);
        let far: ArrayRef = Arc::new(Int32Array::from(vec![0, 1 << 20]));
        assert!(Groups::of_numbers(&far).is_none());
        assert!(Groups::of_numbers(&(Arc::new(StringArray::from(vec!["a"])) as ArrayRef)).is_none());
        assert_eq!(members(&Groups::one(2)), [[0, 1]]);
    }

    #[test]
    fn rows_that_follow_each_other_are_not_copied() {
        let column: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3, 4]));
        let batch = RecordBatch::try_from_iter([("a", column.clone())]).unwrap();
        let taken = take_rows(&batch, &vec![1, 2].into()).unwrap();
        assert_eq!(taken, batch.slice(1, 2));
        let taken = take_rows(&batch, &vec![0, 3].into()).unwrap();
        assert_eq!(taken.column(0).as_primitive::<Int32Type>().values(), &[1, 4]);
    }
}
