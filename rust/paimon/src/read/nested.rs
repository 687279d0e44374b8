//! Taking structs, lists and maps apart so that nothing but values of rows that are not NULL is left in their parts.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, StructArray, UInt64Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use frazil_core::error::{Error, Result};

/// A field of a struct: NULL wherever the struct is.
pub(super) fn child(parent: &StructArray, position: usize) -> Result<ArrayRef> {
    let child = parent.columns().get(position).ok_or_else(|| Error::internal("a struct without a planned field"))?;
    match parent.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => Ok(Arc::clone(child)),
        Some(nulls) => Ok(arrow_select::nullif::nullif(child, &BooleanArray::new(!nulls.inner(), None))?),
    }
}

/// A list or a map: offsets from 0 into values of which every one belongs to a row that is not NULL.
#[derive(Debug)]
pub(super) struct Repeated {
    pub(super) offsets: OffsetBuffer<i32>,
    pub(super) values: ArrayRef,
    pub(super) nulls: Option<NullBuffer>,
}

impl Repeated {
    /// The parts of an array of lists of any kind, or of maps, whose values are their entries.
    ///
    /// # Errors
    /// `CorruptData` for arrays of other types and for offsets that lead out of the values.
    pub(super) fn of(array: &ArrayRef) -> Result<Self> {
        let nulls = array.nulls().cloned();
        match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                Self::compact(list.offsets().clone(), Arc::clone(list.values()), nulls)
            }
            DataType::Map(..) => {
                let map = array.as_map();
                Self::compact(map.offsets().clone(), Arc::new(map.entries().clone()), nulls)
            }
            DataType::LargeList(element)
            | DataType::ListView(element)
            | DataType::LargeListView(element)
            | DataType::FixedSizeList(element, _) => {
                Self::of(&arrow_cast::cast(array, &DataType::List(Arc::clone(element)))?)
            }
            other => Err(Error::corrupt(format!("an array of type {other} came where lists were planned"))),
        }
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
            _ => Err(Error::corrupt("list offsets lead out of the values")),
        }
    }

    /// Rows that are NULL may have values in the file; they are dropped.
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
