//! Builds arrays from the data of the Arrow C data interface.
//!
//! A struct or fixed-size list of the interface has its own offset, which also applies to its children:
//!
//! ```text
//! struct  offset 3, length 2      rows 3 and 4 of the struct
//!   struct  offset 0, length 9    rows 3 and 4 of these
//!     int64   offset 0, length 9  rows 3 and 4 of these
//! ```
//!
//! arrow-rs 59 applies such an offset once per level below it. [`ArrayData::slice`] of a struct slices the children but
//! keeps the offset, and `StructArray::from` then slices the children again. The result has wrong rows, or panics if
//! the children are too short. Offsets are therefore moved down to the leaves here, where they are applied once.
//! Buffers are shared, never copied.

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::NullBuffer;
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{DataType, UnionMode};

use crate::error::{Error, Result};

/// Builds an array from data of the C data interface, with any offsets at any level.
///
/// # Errors
/// `InvalidArgument` if a child is shorter than its parent requires.
pub fn array_of(data: ArrayData) -> Result<ArrayRef> {
    let length = data.len();
    Ok(make_array(with_leaf_offsets(data, 0, length)?))
}

/// Returns `length` rows of `data` from row `start` on. Structs, fixed-size lists and sparse unions in the result have
/// offset 0.
#[expect(unsafe_code, reason = "validating again would read all values; the parts come from data that is trusted")]
fn with_leaf_offsets(data: ArrayData, start: usize, length: usize) -> Result<ArrayData> {
    if start.checked_add(length).is_none_or(|end| end > data.len()) {
        let message = format!("an Arrow array of type {} is shorter than its parent array", data.data_type());
        return Err(Error::invalid(message));
    }
    if !data.data_type().is_nested() {
        return Ok(data.slice(start, length));
    }
    let (data_type, _, nulls, offset, mut buffers, children) = data.into_parts();
    let first = offset.checked_add(start).ok_or_else(too_long)?;
    let (offset, children) = match &data_type {
        DataType::Struct(_) => (0, below(children, first, length)?),
        DataType::FixedSizeList(_, width) => {
            let width =
                usize::try_from(*width).map_err(|_| Error::invalid("a fixed-size list has a negative length"))?;
            let (first, length) = first.checked_mul(width).zip(length.checked_mul(width)).ok_or_else(too_long)?;
            (0, below(children, first, length)?)
        }
        DataType::Union(_, UnionMode::Sparse) => {
            for type_ids in &mut buffers {
                *type_ids = type_ids.slice_with_length(first, length);
            }
            (0, below(children, first, length)?)
        }
        // Lists and maps have an offsets buffer, so their children are kept whole.
        _ => (first, children.into_iter().map(whole).collect::<Result<_>>()?),
    };
    let builder = ArrayDataBuilder::new(data_type).len(length).offset(offset).buffers(buffers).child_data(children);
    let builder = builder.nulls(nulls.map(|nulls| nulls.slice(start, length)));
    // SAFETY: buffers, type and children are those of `data`; children are at least as long as the part of them that is
    // used.
    Ok(unsafe { builder.build_unchecked() })
}

/// Returns `data` with new NULLs and new children of the same types and lengths.
///
/// `ArrayDataBuilder::build` of arrow-rs rejects a separate NULL buffer for booleans with an offset, because it applies
/// the offset of the values to the NULLs. It would also validate all values again.
///
/// # Errors
/// `Internal` if the NULLs or the children have another length or type.
#[expect(unsafe_code, reason = "validation uses the offset of values as that of NULLs; the replaced parts are checked")]
pub fn with_parts(data: ArrayData, nulls: Option<NullBuffer>, children: Vec<ArrayData>) -> Result<ArrayRef> {
    let is_same = |(new, old): (&ArrayData, &ArrayData)| new.data_type() == old.data_type() && new.len() == old.len();
    let fit = nulls.as_ref().is_none_or(|nulls| nulls.len() == data.len())
        && children.len() == data.child_data().len()
        && children.iter().zip(data.child_data()).all(is_same);
    if !fit {
        return Err(Error::internal(format!("the parts do not fit an array of type {}", data.data_type())));
    }
    // SAFETY: the buffers are those of `data`, `nulls` has its length, and `children` match the types and lengths of
    // its children.
    Ok(make_array(unsafe { data.into_builder().nulls(nulls).child_data(children).build_unchecked() }))
}

fn below(children: Vec<ArrayData>, start: usize, length: usize) -> Result<Vec<ArrayData>> {
    children.into_iter().map(|child| with_leaf_offsets(child, start, length)).collect()
}

fn whole(data: ArrayData) -> Result<ArrayData> {
    let length = data.len();
    with_leaf_offsets(data, 0, length)
}

fn too_long() -> Error {
    Error::invalid("an Arrow array exceeds the address space")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::{Array, BooleanArray, FixedSizeListArray, Int64Array, ListArray, StructArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::{Field, Fields};
    use proptest::prelude::*;

    use super::*;

    /// Returns an array of `rows` rows, nested as specified by `levels`, with NULLs at all levels.
    fn nested(levels: &[u8], rows: usize) -> ArrayRef {
        let Some((level, below)) = levels.split_first() else {
            return Arc::new((0..rows).map(|row| (row % 3 > 0).then_some(row % 2 == 0)).collect::<BooleanArray>());
        };
        let nulls = Some((0..rows).map(|row| row % (levels.len() + 3) != 2).collect::<NullBuffer>());
        let field = |values: &ArrayRef| Arc::new(Field::new("x", values.data_type().clone(), true));
        match level {
            0 => {
                let values = nested(below, rows * 2);
                Arc::new(FixedSizeListArray::new(field(&values), 2, values, nulls))
            }
            1 => {
                let values = nested(below, rows * 2);
                Arc::new(ListArray::new(field(&values), OffsetBuffer::from_lengths(vec![2; rows]), values, nulls))
            }
            _ => {
                let values = nested(below, rows);
                let numbers: ArrayRef = Arc::new((0_i64..).take(rows).collect::<Int64Array>());
                let fields = Fields::from(vec![field(&values), field(&numbers)]);
                Arc::new(StructArray::new(fields, vec![values, numbers], nulls))
            }
        }
    }

    /// Returns the data of rows of an array as in the C data interface, with the offset on the outermost array.
    fn at_offset(array: &ArrayRef, start: usize, length: usize) -> ArrayData {
        let data = array.to_data();
        let nulls = data.nulls().map(|nulls| nulls.slice(start, length));
        data.into_builder().offset(start).len(length).nulls(nulls).build().unwrap()
    }

    /// Returns the data like `at_offset`, with an offset at every level of nested structs.
    fn at_offsets(array: &ArrayRef, start: usize, length: usize) -> ArrayData {
        let data = at_offset(array, start, length);
        let Some(columns) = array.as_any().downcast_ref::<StructArray>() else { return data };
        let rest = array.len() - start / 2;
        let children = columns.columns().iter().map(|column| at_offsets(column, start / 2, rest)).collect();
        data.into_builder().offset(start - start / 2).child_data(children).build().unwrap()
    }

    proptest! {
        #[test]
        fn rows_of_data_with_offsets_are_the_rows_of_the_slice(
            levels in prop::collection::vec(0_u8..5, 0..5), start in 0_usize..9, length in 0_usize..9,
        ) {
            let array = nested(&levels, 20);
            let expected = array.slice(start, length);
            for data in [at_offset(&array, start, length), at_offsets(&array, start, length)] {
                let found = array_of(data).unwrap();
                found.to_data().validate_full().unwrap();
                prop_assert_eq!(&found, &expected);
            }
        }
    }

    #[test]
    fn children_that_are_too_short_are_refused() {
        let data = at_offset(&nested(&[2, 2], 4), 1, 3);
        let inner = nested(&[2], 3).to_data();
        let numbers = nested(&[2, 2], 4).to_data().child_data()[1].clone();
        #[expect(unsafe_code, reason = "a builder that checks would refuse it itself")]
        let short = unsafe { data.into_builder().child_data(vec![inner, numbers]).build_unchecked() };
        assert!(array_of(short).unwrap_err().to_string().contains("is shorter than its parent array"));
    }

    #[test]
    fn booleans_that_begin_within_their_buffer_take_nulls_of_a_buffer_of_their_own() {
        let flags = BooleanArray::from((0..12).map(|i| i % 2 == 0).collect::<Vec<_>>()).slice(6, 3);
        let nulls = NullBuffer::from(vec![true, false, true]);
        let array = with_parts(flags.to_data(), Some(nulls.clone()), Vec::new()).unwrap();
        let expected = BooleanArray::from(vec![Some(true), None, Some(true)]);
        assert_eq!(array.as_boolean(), &expected);
        let whole = StructArray::from(vec![(Field::new("b", DataType::Boolean, true).into(), array.clone())]);
        let rebuilt = with_parts(whole.to_data(), Some(nulls), vec![array.to_data()]).unwrap();
        assert_eq!((rebuilt.null_count(), rebuilt.as_struct().column(0).as_boolean()), (1, &expected));
    }

    #[test]
    fn parts_of_another_length_or_type_are_refused() {
        let whole = StructArray::from(vec![(
            Field::new("b", DataType::Boolean, true).into(),
            Arc::new(BooleanArray::from(vec![true, false])) as ArrayRef,
        )]);
        for child in [BooleanArray::from(vec![true]).to_data(), arrow_array::Int8Array::from(vec![1, 2]).to_data()] {
            assert!(with_parts(whole.to_data(), None, vec![child]).is_err());
        }
        assert!(
            with_parts(whole.to_data(), Some(NullBuffer::new_null(1)), whole.to_data().child_data().to_vec()).is_err()
        );
        assert!(with_parts(whole.to_data(), None, Vec::new()).is_err());
    }
}
