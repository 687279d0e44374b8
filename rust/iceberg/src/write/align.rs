//! Rows as users have them, as rows of a table: columns by name, in the table's types and order.
//!
//! | Arrow | taken as |
//! |---|---|
//! | null | any type |
//! | int8, int16, int32, uint8, uint16 | int, long |
//! | int64, uint32 | long |
//! | float16, float32 | float, double |
//! | decimal(P, S) | decimal(P', S), P <= P' |
//! | timestamps of any unit, any zone | timestamps of the same kind (with zone or without), if no digit is lost |
//! | large and view forms, dictionaries, run ends | what they hold |
//!
//! Structs, lists and maps are taken part by part. Nothing is narrowed, and no text becomes a number.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Fields, SchemaRef};
use frazil_core::align::{self, Loss, RowNumbers, cast_exactly, is_list, unpacked, widens};
use frazil_core::error::{Error, Result};
use frazil_core::nested::{Repeated, child};

use crate::read::arrow::{arrow_field, arrow_fields, arrow_primitive, arrow_schema, arrow_type};
use crate::read::default::repeated;
use crate::spec::schema::Schema;
use crate::spec::types::{NestedField, PrimitiveType, StructType, Type};

/// Turns batches of one schema into rows of a table.
#[derive(Debug)]
pub struct Align {
    schema: Arc<Schema>,
    arrow: SchemaRef,
    rows: usize,
}

impl Align {
    /// For a table of this schema.
    pub fn new(schema: Arc<Schema>) -> Self {
        Self { arrow: Arc::new(arrow_schema(&schema.fields)), schema, rows: 0 }
    }

    /// The Arrow schema of the rows.
    pub fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    /// The batch as rows of the table. Columns that are missing are NULL, or the column's write default.
    ///
    /// # Errors
    /// `InvalidArgument` naming the column: one that the table does not have, that is there twice, whose type does not
    /// widen to the table's, and the row where a required column is NULL or a value does not fit.
    pub fn align(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let names = batch.schema_ref().fields();
        let places = places(names, &self.schema.fields, "", |name| self.schema.no_such_column(name))?;
        let found = |name: &str| places.get(name).map(|&place| batch.column(place).clone());
        let columns = columns(&self.schema.fields, &found, None, batch.num_rows(), "", &RowNumbers::From(self.rows))?;
        self.rows += batch.num_rows();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(self.arrow.clone(), columns, &options)?)
    }
}

/// The values of one column in the type of the table, whose first row has this number; they may be NULL.
///
/// # Errors
/// As [`Align::align`].
pub fn align_column(field: &NestedField, values: &ArrayRef, first_row: usize) -> Result<ArrayRef> {
    converted(field, values, &field.name, &RowNumbers::From(first_row))
}

/// Where each of the columns of `found` is, which all are of `fields`.
fn places<'a>(
    found: &'a Fields,
    fields: &StructType,
    prefix: &str,
    unknown: impl Fn(&str) -> Error,
) -> Result<HashMap<&'a str, usize>> {
    let known: HashSet<&str> = fields.fields.iter().map(|field| field.name.as_str()).collect();
    align::places(found, |name| known.contains(name), prefix, unknown)
}

/// The columns of `fields`; `parents` are the rows at which they are inside a NULL, `rows` are the numbers of the rows.
fn columns(
    fields: &StructType,
    found: &dyn Fn(&str) -> Option<ArrayRef>,
    parents: Option<&NullBuffer>,
    len: usize,
    prefix: &str,
    rows: &RowNumbers<'_>,
) -> Result<Vec<ArrayRef>> {
    let column = |field: &NestedField| {
        let name = format!("{prefix}{}", field.name);
        let values = match found(&field.name) {
            Some(values) => converted(field, &values, &name, rows)?,
            None => repeated(&field.field_type, field.write_default.as_ref(), len)?,
        };
        check_required(field, &values, parents, &name, rows)?;
        Ok(values)
    };
    fields.fields.iter().map(column).collect()
}

/// Refuses NULL in a required field where nothing around it is NULL.
fn check_required(
    field: &NestedField,
    values: &ArrayRef,
    parents: Option<&NullBuffer>,
    name: &str,
    rows: &RowNumbers<'_>,
) -> Result<()> {
    if !field.required || values.logical_null_count() == 0 {
        return Ok(());
    }
    let nulls = values.logical_nulls();
    let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let inside = |row: usize| parents.is_some_and(|parents| parents.is_null(row));
    match (0..values.len()).find(|&row| is_null(row) && !inside(row)) {
        None => Ok(()),
        Some(row) => {
            Err(Error::invalid(format!("the column `{name}` is required, and NULL in row {}", rows.number(row)))
                .with("column", name))
        }
    }
}

fn converted(field: &NestedField, values: &ArrayRef, name: &str, rows: &RowNumbers<'_>) -> Result<ArrayRef> {
    let values = &unpacked(values)?;
    if values.data_type() == &DataType::Null {
        return repeated(&field.field_type, None, values.len());
    }
    let unfit = || {
        let message = format!(
            "the column `{name}` has the type {}, which does not widen to {}",
            shown(values.data_type()),
            field.field_type
        );
        Error::invalid(message).with("column", name).hint("cast it, or change the column of the table first")
    };
    match &field.field_type {
        Type::Primitive(PrimitiveType::Variant) => {
            let variant = &PrimitiveType::Variant;
            if values.data_type().is_nested() { cast(values, variant, name, rows) } else { Err(unfit()) }
        }
        Type::Primitive(primitive) if widens(values.data_type(), &arrow_primitive(primitive)) => {
            cast(values, primitive, name, rows)
        }
        Type::Primitive(_) => Err(unfit()),
        Type::Struct(fields) => converted_struct(fields, values.as_struct_opt().ok_or_else(unfit)?, name, rows),
        Type::List(list) => {
            if !is_list(values.data_type()) {
                return Err(unfit());
            }
            let parts = Repeated::of(values)?;
            let element_name = format!("{name}.element");
            let inner = RowNumbers::Inside(&parts.offsets, rows);
            let elements = converted(&list.element, &parts.values, &element_name, &inner)?;
            check_required(&list.element, &elements, None, &element_name, &inner)?;
            let field = Arc::new(arrow_field(&list.element));
            Ok(Arc::new(ListArray::try_new(field, parts.offsets, elements, parts.nulls)?))
        }
        Type::Map(map) => {
            if !matches!(values.data_type(), DataType::Map(..)) {
                return Err(unfit());
            }
            let parts = Repeated::of(values)?;
            let entries = parts.values.as_struct_opt().ok_or_else(unfit)?;
            let inner = RowNumbers::Inside(&parts.offsets, rows);
            let part = |field: &NestedField, position| -> Result<ArrayRef> {
                let name = format!("{name}.{}", field.name);
                let values = converted(field, &child(entries, position)?, &name, &inner)?;
                check_required(field, &values, None, &name, &inner)?;
                Ok(values)
            };
            let columns = vec![part(&map.key, 0)?, part(&map.value, 1)?];
            let DataType::Map(entries_field, sorted) = arrow_type(&field.field_type) else { return Err(unfit()) };
            let DataType::Struct(fields) = entries_field.data_type() else { return Err(unfit()) };
            let entries = StructArray::try_new_with_length(fields.clone(), columns, None, entries.len())?;
            Ok(Arc::new(MapArray::try_new(entries_field.clone(), parts.offsets, entries, parts.nulls, sorted)?))
        }
    }
}

fn converted_struct(fields: &StructType, parent: &StructArray, name: &str, rows: &RowNumbers<'_>) -> Result<ArrayRef> {
    let prefix = format!("{name}.");
    let places = places(parent.fields(), fields, &prefix, |unknown| {
        Error::invalid(format!("the table has no field `{unknown}` in `{name}`")).with("column", name)
    })?;
    let parts = (0..parent.num_columns()).map(|i| child(parent, i)).collect::<Result<Vec<_>>>()?;
    let found = |name: &str| places.get(name).and_then(|&place| parts.get(place).cloned());
    let nulls = parent.nulls();
    let parts = columns(fields, &found, nulls, parent.len(), &prefix, rows)?;
    Ok(Arc::new(StructArray::try_new_with_length(arrow_fields(fields), parts, nulls.cloned(), parent.len())?))
}

/// The Iceberg type that an Arrow type stands for, or the name of one that Iceberg does not have.
fn shown(data_type: &DataType) -> String {
    Type::of_arrow(data_type).map_or_else(|_| data_type.to_string().to_lowercase(), |found| found.to_string())
}

/// A conversion that must not change a value.
fn cast(values: &ArrayRef, primitive: &PrimitiveType, name: &str, rows: &RowNumbers<'_>) -> Result<ArrayRef> {
    cast_exactly(values, &arrow_primitive(primitive), |row, loss| {
        let error = does_not_fit(name, primitive, rows.number(row));
        match loss {
            Loss::Value => error,
            Loss::Digits => error.hint("truncate the column, or make it of nanoseconds (format version 3)"),
        }
    })
}

#[cold]
fn does_not_fit(name: &str, to: &PrimitiveType, row: usize) -> Error {
    Error::invalid(format!("the value of `{name}` in row {row} does not fit {to}")).with("column", name)
}

#[cfg(test)]
#[path = "align_tests.rs"]
mod tests;
