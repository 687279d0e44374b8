//! Rows as users have them, as rows of a table: columns by name, in the table's types and order.
//!
//! | Arrow | taken as |
//! |---|---|
//! | null | any type |
//! | int8, int16, int32, uint8, uint16 | int, long |
//! | int64, uint32 | long |
//! | float16, float32 | float, double |
//! | decimal(P, S) | decimal(P', S'), P <= P' and S <= S', if no value has too many digits |
//! | timestamps of any unit, any zone | timestamps of the same kind (with zone or without), if no digit is lost |
//! | large and view forms, dictionaries, run ends | what they hold |
//!
//! Structs, lists and maps are taken part by part. Nothing is narrowed, and no text becomes a number.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use frazil_core::align::{self, Aligner, Limit, Rules, Shape, Target};
use frazil_core::error::Result;

use crate::read::default::one;
use crate::spec::arrow::arrow_field;
use crate::spec::schema::Schema;
use crate::spec::types::{NestedField, PrimitiveType, Type};

const RULES: Rules = Rules {
    not_null: "required",
    type_name: shown,
    digits_hint: "truncate the column, or make it of nanoseconds (format version 3)",
    unique_keys: false,
};

/// Turns batches of one schema into rows of a table.
#[derive(Debug)]
pub struct Align {
    schema: Arc<Schema>,
    aligner: Aligner,
}

impl Align {
    /// Return one for a table of this schema.
    ///
    /// # Errors
    /// `CorruptMetadata` for a default value that is not of its type.
    pub fn new(schema: Arc<Schema>) -> Result<Self> {
        let targets = schema.fields.fields.iter().map(target).collect::<Result<_>>()?;
        Ok(Self { aligner: Aligner::new(targets, RULES), schema })
    }

    /// The Arrow schema of the rows.
    pub fn arrow(&self) -> &SchemaRef {
        self.aligner.arrow()
    }

    /// Return the batch as rows of the table. Columns that are missing are NULL, or the column's write default.
    ///
    /// # Errors
    /// `InvalidArgument` naming the column: one that the table does not have, that is there twice, whose type does not
    /// widen to the table's, and the row where a required column is NULL or a value does not fit.
    pub fn align(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.aligner.align(batch, |name| self.schema.no_such_column(name))
    }
}

/// Return the values of one column in the type of the table, whose first row has this number; they may be NULL.
///
/// # Errors
/// As [`Align::align`].
pub fn align_column(field: &NestedField, values: &ArrayRef, first_row: usize) -> Result<ArrayRef> {
    align::align_column(&target(field)?, &RULES, values, first_row)
}

fn target(field: &NestedField) -> Result<Target> {
    let shape = match &field.field_type {
        Type::Primitive(PrimitiveType::Variant) => Shape::Variant,
        Type::Primitive(_) => Shape::Leaf(Limit::None),
        Type::Struct(fields) => Shape::Struct(fields.fields.iter().map(target).collect::<Result<_>>()?),
        Type::List(list) => Shape::List(Box::new(target(&list.element)?)),
        Type::Map(map) => Shape::Map(Box::new([target(&map.key)?, target(&map.value)?])),
    };
    Ok(Target {
        field: Arc::new(arrow_field(field)),
        type_name: field.field_type.to_string(),
        shape,
        default: field.write_default.as_ref().map(|value| one(&field.field_type, value)).transpose()?,
    })
}

/// Return the Iceberg type that an Arrow type stands for, or the name of one that Iceberg does not have.
fn shown(data_type: &DataType) -> String {
    Type::of_arrow(data_type).map_or_else(|_| data_type.to_string().to_lowercase(), |found| found.to_string())
}

#[cfg(test)]
#[path = "align_tests.rs"]
mod tests;
