//! Converts the rows of users to rows of a table: matches columns by name, and converts them to the table's types and
//! order.
//!
//! The permitted conversions are listed in [`frazil_core::align`].

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use frazil_core::align::{self, Aligner, Limit, RowShape, Rules, Target};
use frazil_core::error::Result;

use crate::read::default::one;
use crate::spec::arrow::arrow_field;
use crate::spec::schema::Schema;
use crate::spec::types::{NestedField, PrimitiveType, Type};

const RULES: Rules = Rules {
    not_null: "required",
    type_name: shown,
    digits_hint: "truncate the column, or use a nanosecond type (format version 3)",
    unique_keys: false,
};

/// A converter of batches with one schema to rows of a table.
#[derive(Debug)]
pub struct Align {
    schema: Arc<Schema>,
    aligner: Aligner,
}

impl Align {
    /// Creates a converter for a table with this schema.
    ///
    /// # Errors
    /// `CorruptMetadata` for a default value that does not have its field's type.
    pub fn new(schema: Arc<Schema>) -> Result<Self> {
        let targets = schema.fields.fields.iter().map(target).collect::<Result<_>>()?;
        Ok(Self { aligner: Aligner::new(targets, RULES), schema })
    }

    /// Returns the Arrow schema of the rows.
    pub fn arrow(&self) -> &SchemaRef {
        self.aligner.arrow()
    }

    /// Returns the batch as rows of the table. Missing columns are NULL, or the column's write default.
    ///
    /// # Errors
    /// `InvalidArgument` with the column: one that the table does not have, that is duplicated, or whose type cannot be
    /// converted to the table's. Also, with the row, if a required column is NULL or a value does not fit.
    pub fn align(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.aligner.align(batch, |name| self.schema.no_such_column(name))
    }
}

/// Returns the rows of the source of a merge in the types of the table's columns. With `exact`, a column that
/// [`Align::align`] rejects is an error; otherwise it keeps its type.
///
/// # Errors
/// See [`align::source_batches`].
pub fn source_batches(schema: &Schema, batches: &[RecordBatch], exact: bool) -> Result<Vec<RecordBatch>> {
    let targets: Vec<_> = schema.fields.fields.iter().map(target).collect::<Result<_>>()?;
    align::source_batches(&targets, &RULES, batches, exact)
}

fn target(field: &NestedField) -> Result<Target> {
    let shape = match &field.field_type {
        Type::Primitive(PrimitiveType::Variant) => RowShape::Variant,
        Type::Primitive(_) => RowShape::Leaf(Limit::None),
        Type::Struct(fields) => RowShape::Struct(fields.fields.iter().map(target).collect::<Result<_>>()?),
        Type::List(list) => RowShape::List(Box::new(target(&list.element)?)),
        Type::Map(map) => RowShape::Map(Box::new([target(&map.key)?, target(&map.value)?])),
    };
    Ok(Target {
        field: Arc::new(arrow_field(field)),
        type_name: field.field_type.to_string(),
        shape,
        default: field.write_default.as_ref().map(|value| one(&field.field_type, value)).transpose()?,
    })
}

/// Returns the Iceberg type for an Arrow type, or the name of the Arrow type if there is none.
fn shown(data_type: &DataType) -> String {
    Type::of_arrow(data_type).map_or_else(|_| data_type.to_string().to_lowercase(), |found| found.to_string())
}

#[cfg(test)]
#[path = "align_tests.rs"]
mod tests;
