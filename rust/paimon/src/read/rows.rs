//! Provides columns to filters, by field id and through ROWs.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use frazil_core::sql::predicate::eval::{RowColumns, masked};

use crate::spec::types::comparable;
use crate::spec::types::{DataField, TypeRoot};

/// Columns with their fields.
#[derive(Debug, Clone, Copy)]
pub struct FieldColumns<'a> {
    fields: &'a [DataField],
    columns: &'a [ArrayRef],
}

impl<'a> FieldColumns<'a> {
    /// Creates the columns. `columns` have the types of `fields`, in the same order; there may be additional ones.
    pub fn new(fields: &'a [DataField], columns: &'a [ArrayRef]) -> Self {
        Self { fields, columns }
    }
}

impl RowColumns for FieldColumns<'_> {
    fn column(&self, id: i32) -> Option<ArrayRef> {
        self.fields.iter().zip(self.columns).find_map(|(field, column)| find(field, column, None, id))
    }
}

fn find(field: &DataField, column: &ArrayRef, nulls: Option<&NullBuffer>, id: i32) -> Option<ArrayRef> {
    if field.id == id {
        return masked(&comparable(column).ok()?, nulls).ok();
    }
    let TypeRoot::Row(inner) = &field.data_type.root else { return None };
    let values = column.as_struct_opt()?;
    let nulls = NullBuffer::union(nulls, values.nulls());
    inner.iter().zip(values.columns()).find_map(|(field, column)| find(field, column, nulls.as_ref(), id))
}
