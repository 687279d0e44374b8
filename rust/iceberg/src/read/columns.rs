//! Converts arrays of data file columns to arrays of table columns, as planned by [`super::project`].
//!
//! The NULLs of a struct apply to all its fields: they are passed down as a mask, so that a required field inside a
//! NULL struct is not an error. Lists and maps are cut to the range of their offsets, so values outside it are not
//! checked.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, FieldRef, Fields};
use frazil_core::error::{Error, Result};
use frazil_core::nested::Repeated;
use frazil_core::variant;

use super::{FileFormat, convert, default};
use crate::spec::types::PrimitiveType;

/// A column of the table, or a struct field, and the source of its values.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) slot: Slot,
    pub(crate) source: Source,
}

/// The name and type that an array must have.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The dotted name, for error messages.
    pub(crate) path: String,
    /// The name, type, nullability and id.
    pub(crate) field: FieldRef,
}

/// The source of a column's values.
#[derive(Debug)]
pub(crate) enum Source {
    /// Always NULL.
    Null,
    /// A constant, held as an array with one element.
    One(ArrayRef),
    /// A column of the file.
    File {
        /// The position among the columns, or struct fields, that are read.
        position: usize,
        /// The name in the file.
        name: String,
        /// The conversion.
        read: Read,
    },
}

/// The conversion of a file column.
#[derive(Debug)]
pub(crate) enum Read {
    /// As a primitive type.
    Leaf { to: PrimitiveType, format: FileFormat },
    /// As a variant, shredded or not.
    Variant,
    /// As a struct of these fields.
    Struct(Vec<Column>),
    /// As a list of this element.
    List(Box<(Slot, Read)>),
    /// As a map of this key and value.
    Map(Box<((Slot, Read), (Slot, Read))>),
}

impl Column {
    /// Returns this column for `row_count` rows of the file; rows that are NULL in `mask` are not checked.
    pub(crate) fn read(
        &self,
        fields: &Fields,
        arrays: &[ArrayRef],
        row_count: usize,
        mask: Option<&NullBuffer>,
    ) -> Result<ArrayRef> {
        match &self.source {
            Source::Null => Ok(new_null_array(self.slot.field.data_type(), row_count)),
            Source::One(value) => default::repeat(value, row_count),
            Source::File { position, name, read } => match (arrays.get(*position), fields.get(*position)) {
                (Some(array), Some(field)) if field.name() == name => self.slot.read(read, array, mask),
                (_, found) => {
                    let found = found.map_or("nothing", |field| field.name());
                    Err(Error::internal(format!("expected column {name} in the batch, found {found}")))
                }
            },
        }
    }
}

impl Slot {
    fn read(&self, read: &Read, array: &ArrayRef, mask: Option<&NullBuffer>) -> Result<ArrayRef> {
        let array = self.values(read, array, mask).map_err(|error| error.with("column", &self.path))?;
        if !self.field.is_nullable() && has_unmasked_null(array.as_ref(), mask) {
            return Err(
                Error::corrupt("the column is required, but the data file contains NULL").with("column", &self.path)
            );
        }
        Ok(array)
    }

    fn values(&self, read: &Read, array: &ArrayRef, mask: Option<&NullBuffer>) -> Result<ArrayRef> {
        match (read, array.data_type(), self.field.data_type()) {
            (Read::Leaf { to, format }, ..) => convert::convert(array, to, *format),
            (_, DataType::Null, to) => Ok(new_null_array(to, array.len())),
            (Read::Variant, DataType::Struct(_), _) => {
                Ok(Arc::new(variant::unshred(&masked_struct(array.as_struct(), mask)?)?))
            }
            (Read::Struct(columns), DataType::Struct(_), DataType::Struct(fields)) => {
                read_struct(columns, fields, array.as_struct(), mask)
            }
            (Read::List(element), _, DataType::List(field)) => read_list(element, field, array, mask),
            (Read::Map(parts), _, DataType::Map(field, _)) => read_map(parts, field, array, mask),
            (_, found, _) => {
                Err(Error::corrupt(format!("an array has the type {found}, which does not match the planned type")))
            }
        }
    }
}

fn read_struct(columns: &[Column], to: &Fields, array: &StructArray, mask: Option<&NullBuffer>) -> Result<ArrayRef> {
    let nulls = NullBuffer::union(array.nulls(), mask);
    let children =
        columns.iter().map(|column| column.read(array.fields(), array.columns(), array.len(), nulls.as_ref()));
    let children = children.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(StructArray::try_new_with_length(to.clone(), children, nulls, array.len())?))
}

fn read_list(
    (slot, read): &(Slot, Read),
    to: &FieldRef,
    array: &ArrayRef,
    mask: Option<&NullBuffer>,
) -> Result<ArrayRef> {
    let list = Repeated::masked(array, mask)?;
    let values = slot.read(read, &list.values, None)?;
    Ok(Arc::new(ListArray::try_new(Arc::clone(to), list.offsets, values, list.nulls)?))
}

fn read_map(
    ((key_slot, key), (value_slot, value)): &((Slot, Read), (Slot, Read)),
    to: &FieldRef,
    array: &ArrayRef,
    mask: Option<&NullBuffer>,
) -> Result<ArrayRef> {
    let map = Repeated::masked(array, mask)?;
    let (DataType::Struct(fields), Some(entries)) = (to.data_type(), map.values.as_struct_opt()) else {
        return Err(Error::corrupt("a map has no entries"));
    };
    let [keys, values] = entries.columns() else { return Err(Error::corrupt("a map has no keys or values")) };
    if entries.null_count() > 0 {
        return Err(Error::corrupt("a map contains a NULL entry"));
    }
    let columns = vec![key_slot.read(key, keys, None)?, value_slot.read(value, values, None)?];
    if columns.first().is_some_and(|keys| keys.logical_null_count() > 0) {
        return Err(Error::corrupt("a map contains a NULL key"));
    }
    let entries = StructArray::try_new_with_length(fields.clone(), columns, None, entries.len())?;
    Ok(Arc::new(MapArray::try_new(Arc::clone(to), map.offsets, entries, map.nulls, false)?))
}

fn masked_struct(array: &StructArray, mask: Option<&NullBuffer>) -> Result<StructArray> {
    let nulls = NullBuffer::union(array.nulls(), mask);
    let columns = array.columns().to_vec();
    Ok(StructArray::try_new_with_length(array.fields().clone(), columns, nulls, array.len())?)
}

fn has_unmasked_null(array: &dyn Array, mask: Option<&NullBuffer>) -> bool {
    if array.logical_null_count() == 0 {
        return false;
    }
    match (array.logical_nulls(), mask) {
        (Some(nulls), Some(mask)) => (&!nulls.inner() & mask.inner()).count_set_bits() > 0,
        _ => true,
    }
}
