//! Casts arrays, maps and rows whose element types differ. Elements, values and fields are cast one by one; fields are
//! matched by id.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, new_null_array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType as ArrowType, FieldRef, Fields};
use frazil_core::error::{Error, Result};
use frazil_core::nested::{Repeated, child};

use super::{CastRule, Caster, rule_of};
use crate::spec::types::{DataField, DataType, TypeRoot};

/// Returns the rule for two nested types of the same type root. Returns None for other types, and for maps with
/// different key types.
pub(super) fn rule(path: &str, from: &DataType, to: &DataType) -> Result<Option<CastRule>> {
    match (&from.root, &to.root) {
        (TypeRoot::Row(from), TypeRoot::Row(fields)) => row(path, from, fields),
        (TypeRoot::Array(from), TypeRoot::Array(element)) => {
            let NestedPart { path, cast, .. } = part(path, "element", from, element)?;
            let ArrowType::List(field) = to.arrow() else { return Ok(None) };
            Ok(rule_of(move |array| {
                let list = Repeated::of(array)?;
                let values = checked(apply(cast.as_ref(), list.values)?, 0, &field, &path)?;
                Ok(Arc::new(ListArray::try_new(Arc::clone(&field), list.offsets, values, list.nulls)?))
            }))
        }
        (TypeRoot::Map(from_key, from), TypeRoot::Map(key, value)) if from_key.root == key.root => {
            let NestedPart { path, cast, .. } = part(path, "value", from, value)?;
            let arrow = to.arrow();
            Ok(rule_of(move |array| map(array, cast.as_ref(), &arrow).map_err(|error| error.with("column", &path))))
        }
        // The types differ only in the nullability of elements, and Arrow's map keys are never NULL.
        (TypeRoot::Multiset(from), TypeRoot::Multiset(element)) if from.root == element.root => {
            let (arrow, path) = (to.arrow(), path.to_owned());
            Ok(rule_of(move |array| map(array, None, &arrow).map_err(|error| error.with("column", &path))))
        }
        _ => Ok(None),
    }
}

/// The parts of a nested value that are cast.
struct NestedPart {
    path: String,
    cast: Option<Caster>,
}

fn part(path: &str, name: &str, from: &DataType, to: &DataType) -> Result<NestedPart> {
    let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let cast = Caster::at(&path, from, to)?;
    Ok(NestedPart { path, cast })
}

fn apply(cast: Option<&Caster>, array: ArrayRef) -> Result<ArrayRef> {
    match cast {
        None => Ok(array),
        Some(cast) => cast.cast(&array),
    }
}

/// Returns the array if every NULL is a NULL of its parent or is allowed by the type.
fn checked(array: ArrayRef, parent_nulls: usize, field: &FieldRef, path: &str) -> Result<ArrayRef> {
    if !field.is_nullable() && array.logical_null_count() > parent_nulls {
        return Err(Error::corrupt("a NULL in a NOT NULL column").with("column", path));
    }
    Ok(array)
}

fn map(array: &ArrayRef, cast: Option<&Caster>, to: &ArrowType) -> Result<ArrayRef> {
    let map = Repeated::of(array)?;
    let Some(entries) = map.values.as_struct_opt().filter(|entries| entries.num_columns() == 2) else {
        return Err(Error::internal("the entries of a map are not keys and values"));
    };
    assemble_map(to, [child(entries, 0)?, apply(cast, child(entries, 1)?)?], map.offsets, map.nulls)
}

/// A field of a row and the position of its values in the source row, if the row has them.
struct Column {
    source: Option<usize>,
    part: NestedPart,
}

fn row(path: &str, from: &[DataField], to: &[DataField]) -> Result<Option<CastRule>> {
    let column = |field: &DataField| {
        let found = from.iter().enumerate().find(|(_, other)| other.id == field.id);
        let source = found.map(|(position, _)| position);
        let other = found.map_or(&field.data_type, |(_, other)| &other.data_type);
        Ok(Column { source, part: part(path, &field.name, other, &field.data_type)? })
    };
    let columns = to.iter().map(column).collect::<Result<Vec<_>>>()?;
    let fields = crate::spec::types::arrow_fields(to);
    Ok(rule_of(move |array| {
        let Some(array) = array.as_struct_opt() else {
            return Err(Error::internal("the Arrow type of a ROW is not a struct"));
        };
        cast_row(array, &columns, &fields)
    }))
}

fn cast_row(array: &StructArray, columns: &[Column], fields: &Fields) -> Result<ArrayRef> {
    let column = |(column, field): (&Column, &FieldRef)| {
        let values = match column.source {
            None => new_null_array(field.data_type(), array.len()),
            Some(position) => apply(column.part.cast.as_ref(), child(array, position)?)?,
        };
        checked(values, array.null_count(), field, &column.part.path)
    };
    let cast = columns.iter().zip(fields).map(column).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), cast, array.nulls().cloned(), array.len())?))
}

/// Builds a map from these keys and values, which are in the types of `to`.
///
/// # Errors
/// `CorruptData` for a NULL key, or a NULL value that the type does not allow. Arrow's maps cannot have NULL keys.
pub(crate) fn assemble_map(
    to: &ArrowType,
    [keys, values]: [ArrayRef; 2],
    offsets: OffsetBuffer<i32>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let ArrowType::Map(field, _) = to else { return Err(Error::internal("the Arrow type of a map is not a map")) };
    let ArrowType::Struct(fields) = field.data_type() else {
        return Err(Error::internal("the Arrow type of a map has no entries"));
    };
    let null = |part: &ArrayRef| part.logical_null_count() > 0;
    if null(&keys) {
        return Err(Error::corrupt("a map has a NULL key"));
    }
    if null(&values) && fields.get(1).is_none_or(|value| !value.is_nullable()) {
        return Err(Error::corrupt("a map has a NULL value, which its type does not allow"));
    }
    let length = keys.len();
    let entries = StructArray::try_new_with_length(fields.clone(), vec![keys, values], None, length)?;
    Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, false)?))
}
