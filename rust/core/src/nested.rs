//! Splits structs, lists and maps into their parts. The parts contain only values of rows that are not NULL.

use std::sync::Arc;

use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, StructArray, UInt64Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;

/// Returns a field of a struct, with NULL wherever the struct is NULL.
///
/// # Errors
/// `Internal` if the field does not exist.
pub fn child(parent: &StructArray, position: usize) -> Result<ArrayRef> {
    let child = parent.columns().get(position).ok_or_else(|| Error::internal("a struct is missing a planned field"))?;
    match parent.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => Ok(Arc::clone(child)),
        Some(nulls) => Ok(arrow_select::nullif::nullif(child, &BooleanArray::new(!nulls.inner(), None))?),
    }
}

/// A list or a map: offsets that start at 0, and values that all belong to rows that are not NULL.
#[derive(Debug)]
pub struct Repeated {
    /// The offsets of each row's values.
    pub offsets: OffsetBuffer<i32>,
    /// The elements of lists, or the entries of maps.
    pub values: ArrayRef,
    /// The NULL rows.
    pub nulls: Option<NullBuffer>,
}

impl Repeated {
    /// Returns the parts of a list array of any type, or of a map array, whose values are its entries.
    ///
    /// # Errors
    /// `CorruptData` for arrays of other types and for offsets outside the values.
    pub fn of(array: &ArrayRef) -> Result<Self> {
        Self::masked(array, None)
    }

    /// Returns the parts of a list or map array like [`Repeated::of`], with rows that are NULL in `mask` set to NULL.
    ///
    /// # Errors
    /// See [`Repeated::of`].
    pub fn masked(array: &ArrayRef, mask: Option<&NullBuffer>) -> Result<Self> {
        let (offsets, values) = match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                (list.offsets().clone(), Arc::clone(list.values()))
            }
            DataType::Map(..) => {
                let map = array.as_map();
                (map.offsets().clone(), Arc::new(map.entries().clone()) as ArrayRef)
            }
            DataType::LargeList(element)
            | DataType::ListView(element)
            | DataType::LargeListView(element)
            | DataType::FixedSizeList(element, _) => {
                return Self::masked(&arrow_cast::cast(array, &DataType::List(Arc::clone(element)))?, mask);
            }
            other => return Err(Error::corrupt(format!("expected an array of lists, got {other}"))),
        };
        Self::compact(offsets, values, NullBuffer::union(array.nulls(), mask))
    }

    fn compact(offsets: OffsetBuffer<i32>, values: ArrayRef, nulls: Option<NullBuffer>) -> Result<Self> {
        let filled = |nulls: &NullBuffer| {
            nulls.null_count() > 0
                && offsets.windows(2).zip(nulls).any(|(ends, valid)| !valid && ends.first() != ends.last())
        };
        if nulls.as_ref().is_some_and(filled) {
            return Self::without_filled_nulls(&offsets, &values, nulls);
        }
        let bounds = offsets.first().zip(offsets.last());
        let bounds = bounds.and_then(|(a, b)| Some((usize::try_from(*a).ok()?, usize::try_from(*b).ok()?)));
        match bounds {
            Some((0, end)) if end == values.len() => Ok(Self { offsets, values, nulls }),
            Some((start, end)) if start <= end && end <= values.len() => {
                let values = values.slice(start, end - start);
                Ok(Self { offsets: OffsetBuffer::from_lengths(offsets.lengths()), values, nulls })
            }
            _ => Err(Error::corrupt("list offsets are outside the values")),
        }
    }

    /// Drops the values of NULL rows: a file may store values for a row that is NULL.
    fn without_filled_nulls(offsets: &OffsetBuffer<i32>, values: &ArrayRef, nulls: Option<NullBuffer>) -> Result<Self> {
        let mut indices = Vec::with_capacity(values.len());
        let mut lengths = Vec::with_capacity(offsets.len());
        for (row, ends) in offsets.windows(2).enumerate() {
            let before = indices.len();
            if let (true, [start, end]) = (nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)), ends) {
                indices.extend(u64::try_from(*start).unwrap_or(0)..u64::try_from(*end).unwrap_or(0));
            }
            lengths.push(indices.len() - before);
        }
        let values = arrow_select::take::take(values, &UInt64Array::from(indices), None)?;
        Ok(Self { offsets: OffsetBuffer::from_lengths(lengths), values, nulls })
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{FixedSizeListArray, Int32Array, ListArray};

    use super::*;

    fn values(parts: &Repeated) -> Vec<Option<i32>> {
        parts.values.as_primitive::<Int32Type>().iter().collect()
    }

    #[test]
    fn nothing_but_values_of_rows_is_left() {
        let rows = vec![Some(vec![Some(1), None]), None, Some(vec![]), Some(vec![Some(4)])];
        let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows));
        let all = Repeated::of(&list).unwrap();
        assert_eq!((&*all.offsets, values(&all)), (&[0, 2, 2, 2, 3][..], vec![Some(1), None, Some(4)]));
        let sliced = Repeated::of(&list.slice(2, 2)).unwrap();
        assert_eq!((&*sliced.offsets, values(&sliced)), (&[0, 0, 1][..], vec![Some(4)]));
        let masked = Repeated::masked(&list, Some(&NullBuffer::from(vec![false, true, true, true]))).unwrap();
        assert_eq!((&*masked.offsets, values(&masked)), (&[0, 0, 0, 0, 1][..], vec![Some(4)]));
        assert_eq!(masked.nulls.unwrap().null_count(), 2);
    }

    #[test]
    fn rows_of_one_length_are_lists() {
        let field = arrow_schema::Field::new_list_field(DataType::Int32, true);
        let nulls = NullBuffer::from(vec![true, false]);
        let items = Arc::new(Int32Array::from(vec![1, 2, 3, 4]));
        let fixed: ArrayRef = Arc::new(FixedSizeListArray::new(Arc::new(field), 2, items, Some(nulls)));
        let parts = Repeated::of(&fixed).unwrap();
        assert_eq!((&*parts.offsets, values(&parts)), (&[0, 2, 2][..], vec![Some(1), Some(2)]));
        assert!(Repeated::of(&parts.values).is_err());
    }
}
