//! Checks the keys of maps, which must be unique in each map.

use std::collections::HashSet;

use crate::error::Result;
use crate::floats::one_nan;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::OffsetBuffer;
use arrow_row::{RowConverter, SortField};

/// Returns the position of the first map with a duplicate key; `offsets` delimit the keys of each map.
///
/// # Errors
/// `Unsupported` for key types without an order.
pub(super) fn first_repeated(keys: &ArrayRef, offsets: &OffsetBuffer<i32>) -> Result<Option<usize>> {
    if offsets.lengths().all(|length| length < 2) {
        return Ok(None);
    }
    let converter = RowConverter::new(vec![SortField::new(keys.data_type().clone())])?;
    let rows = converter.convert_columns(&[one_nan(keys)])?;
    let mut rows = rows.iter();
    let mut seen = HashSet::new();
    for (map, length) in offsets.lengths().enumerate() {
        seen.clear();
        // All keys of the map are read even after a duplicate, so that the next map begins at the right position.
        let repeated = rows.by_ref().take(length).filter(|key| !seen.insert(*key)).count();
        if repeated > 0 {
            return Ok(Some(map));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int32Array, StringArray, StructArray};

    use super::*;

    fn found(keys: &ArrayRef, lengths: &[usize]) -> Option<usize> {
        first_repeated(keys, &OffsetBuffer::from_lengths(lengths.iter().copied())).unwrap()
    }

    #[test]
    fn a_key_is_once_in_a_map() {
        let texts = |texts: &[&str]| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
        assert_eq!(found(&texts(&["a", "b", "a", "a"]), &[2, 1, 0, 1]), None);
        assert_eq!(found(&texts(&["a", "b", "a", "c", "a"]), &[2, 3]), Some(1));
        assert_eq!(found(&texts(&[]), &[0, 0]), None);
        let floats = |floats: &[f64]| Arc::new(Float64Array::from(floats.to_vec())) as ArrayRef;
        assert_eq!(found(&floats(&[0.0, -0.0]), &[2]), None);
        assert_eq!(found(&floats(&[f64::NAN, 1.0, -f64::NAN]), &[3]), Some(0));
        let parts: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 1]));
        let field = Arc::new(arrow_schema::Field::new("x", parts.data_type().clone(), true));
        let structs: ArrayRef = Arc::new(StructArray::from(vec![(field, parts)]));
        assert_eq!(found(&structs, &[3]), Some(0));
    }
}
