//! Sorts the entries of maps, so that equal maps are identical regardless of how a file stored them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, UInt64Array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType;
use arrow_select::take::take;
use frazil_core::error::{Error, Result};

/// Returns the values with the entries of every MAP and MULTISET sorted by key and value, at any depth.
///
/// # Errors
/// `Unsupported` for entries whose values cannot be compared.
pub(crate) fn with_ordered_entries(array: &ArrayRef) -> Result<ArrayRef> {
    if !has_map(array.data_type()) {
        return Ok(Arc::clone(array));
    }
    match array.data_type() {
        DataType::Map(entries, sorted) => {
            let map = array.as_map();
            let DataType::Struct(fields) = entries.data_type() else { return Err(unknown(array)) };
            let columns = map.entries().columns().iter().map(with_ordered_entries).collect::<Result<Vec<_>>>()?;
            let order = entry_order(map, &columns)?;
            let columns = columns.iter().map(|column| take(column, &order, None)).collect::<Result<_, _>>()?;
            let ordered = StructArray::try_new(fields.clone(), columns, None)?;
            let offsets = map.offsets();
            let first = offsets.first().copied().unwrap_or_default();
            let offsets = offsets.iter().map(|offset| offset - first).collect::<Vec<_>>();
            let offsets = arrow_buffer::OffsetBuffer::new(offsets.into());
            let nulls = map.nulls().cloned();
            Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, ordered, nulls, *sorted)?))
        }
        DataType::List(element) => {
            let list = array.as_list::<i32>();
            let values = with_ordered_entries(list.values())?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Ok(Arc::new(ListArray::try_new(Arc::clone(element), offsets, values, nulls)?))
        }
        DataType::Struct(fields) => {
            let rows = array.as_struct();
            let columns = rows.columns().iter().map(with_ordered_entries).collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(StructArray::try_new(fields.clone(), columns, rows.nulls().cloned())?))
        }
        _ => Err(unknown(array)),
    }
}

/// Returns the indexes of the entries of all maps of an array, sorted within each map.
fn entry_order(map: &MapArray, columns: &[ArrayRef]) -> Result<UInt64Array> {
    let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let rows = RowConverter::new(fields)?.convert_columns(columns)?;
    let mut order = Vec::with_capacity(rows.num_rows());
    for [start, end] in map.offsets().array_windows() {
        let range = usize::try_from(*start).unwrap_or(0)..usize::try_from(*end).unwrap_or(0);
        let first = order.len();
        order.extend(range);
        if let Some(entries) = order.get_mut(first..) {
            entries.sort_by(|a, b| rows.row(*a).cmp(&rows.row(*b)));
        }
    }
    Ok(order.into_iter().map(|entry| u64::try_from(entry).unwrap_or(u64::MAX)).collect())
}

fn has_map(data_type: &DataType) -> bool {
    match data_type {
        DataType::Map(..) => true,
        DataType::List(element) => has_map(element.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_map(field.data_type())),
        _ => false,
    }
}

fn unknown(array: &ArrayRef) -> Error {
    Error::internal(format!("unexpected map inside {}", array.data_type()))
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};

    use super::*;

    type Maps<'a> = [Option<&'a [(&'a str, Option<i32>)]>];

    fn fill(builder: &mut MapBuilder<StringBuilder, Int32Builder>, maps: &Maps<'_>) {
        for map in maps {
            for (key, value) in map.iter().copied().flatten() {
                builder.keys().append_value(key);
                builder.values().append_option(*value);
            }
            builder.append(map.is_some()).unwrap();
        }
    }

    fn maps(of: &Maps<'_>) -> ArrayRef {
        let mut builder = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        fill(&mut builder, of);
        Arc::new(builder.finish())
    }

    #[test]
    fn map_entries_are_put_in_canonical_order() {
        let one =
            maps(&[Some(&[("b", Some(1)), ("a", None)]), None, Some(&[]), Some(&[("x", Some(2)), ("c", Some(3))])]);
        let two =
            maps(&[Some(&[("a", None), ("b", Some(1))]), None, Some(&[]), Some(&[("c", Some(3)), ("x", Some(2))])]);
        assert_eq!(&with_ordered_entries(&one).unwrap(), &two);
        assert_eq!(&with_ordered_entries(&two).unwrap(), &two);
        for (offset, length) in [(0, 2), (1, 3), (3, 1), (2, 0)] {
            let ordered = with_ordered_entries(&one.slice(offset, length)).unwrap();
            assert_eq!(&ordered, &two.slice(offset, length), "{offset} {length}");
        }
    }

    #[test]
    fn maps_inside_lists_and_rows_are_ordered_too() {
        let lists = |of: &Maps<'_>| -> ArrayRef {
            let mut builder = ListBuilder::new(MapBuilder::new(None, StringBuilder::new(), Int32Builder::new()));
            fill(builder.values(), of);
            builder.append(true);
            let lists: ArrayRef = Arc::new(builder.finish());
            let field = Arc::new(arrow_schema::Field::new("l", lists.data_type().clone(), true));
            Arc::new(StructArray::from(vec![(field, lists)]))
        };
        let (one, two) =
            (lists(&[Some(&[("b", Some(1)), ("a", Some(2))])]), lists(&[Some(&[("a", Some(2)), ("b", Some(1))])]));
        assert_eq!(&with_ordered_entries(&one).unwrap(), &two);
    }

    #[test]
    fn other_values_stay_as_they_are() {
        let ints: ArrayRef = Arc::new(arrow_array::Int32Array::from(vec![3, 1]));
        assert!(Arc::ptr_eq(&with_ordered_entries(&ints).unwrap(), &ints));
    }
}
