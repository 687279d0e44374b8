//! Finds leaf columns of projected data by field id, for filters and equality deletes.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use frazil_core::error::{Error, Result};
use frazil_core::sql::predicate::eval::{RowColumns, masked};

use crate::spec::types::{NestedField, StructType, Type};

/// The columns and the fields to which they were projected.
#[derive(Debug, Clone, Copy)]
pub struct LeafColumns<'a> {
    fields: &'a StructType,
    columns: &'a [ArrayRef],
}

impl<'a> LeafColumns<'a> {
    /// Creates the lookup; `columns` have the types of `fields`, in the same order.
    pub fn new(fields: &'a StructType, columns: &'a [ArrayRef]) -> Self {
        Self { fields, columns }
    }

    /// Returns the values of a field that is not in a list or a map; NULL where a parent struct is NULL.
    pub fn leaf(&self, id: i32) -> Result<ArrayRef> {
        let found =
            self.fields.fields.iter().zip(self.columns).find_map(|(field, column)| find(field, column, None, id));
        found.ok_or_else(|| Error::internal("a column was not projected").with("field id", id))?
    }
}

impl RowColumns for LeafColumns<'_> {
    fn column(&self, id: i32) -> Option<ArrayRef> {
        self.leaf(id).ok()
    }
}

/// Returns whether `field` is or contains the field `id`, outside of lists and maps.
pub(crate) fn holds(field: &NestedField, id: i32) -> bool {
    field.id == id
        || match &field.field_type {
            Type::Struct(inner) => inner.fields.iter().any(|field| holds(field, id)),
            Type::Primitive(_) | Type::List(_) | Type::Map(_) => false,
        }
}

/// Returns a copy of the field that is optional at every level: columns that are read but not returned may violate the
/// NOT NULL constraints of the schema.
pub(crate) fn optional(field: NestedField) -> NestedField {
    let field_type = match field.field_type {
        Type::Struct(inner) => Type::Struct(StructType { fields: inner.fields.into_iter().map(optional).collect() }),
        other => other,
    };
    NestedField { required: false, field_type, ..field }
}

fn find(field: &NestedField, column: &ArrayRef, nulls: Option<&NullBuffer>, id: i32) -> Option<Result<ArrayRef>> {
    if field.id == id {
        return Some(masked(column, nulls));
    }
    let Type::Struct(inner) = &field.field_type else { return None };
    let values = column.as_struct_opt()?;
    let nulls = NullBuffer::union(nulls, values.nulls());
    inner.fields.iter().zip(values.columns()).find_map(|(field, column)| find(field, column, nulls.as_ref(), id))
}
