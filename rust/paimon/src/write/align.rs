//! Rows as users have them, as rows of a table: columns by name, in the table's types and order.
//!
//! What widens to what is in [`frazil_core::align`]. Texts and bytes that are longer than the column, and times with more
//! digits than it has, are rejected, as is NULL in a column that is NOT NULL.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType as ArrowType, Schema as ArrowSchema, SchemaRef, TimeUnit};
use frazil_core::align::{Loss, RowNumbers, cast_exactly, lost_digits, places, unpacked, widens};
use frazil_core::error::{Error, Result};

use crate::spec::json::shown;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot, arrow_fields};

/// The key of Arrow field metadata by which writers of data files know the id of a field.
const FILE_FIELD_ID: &str = "PARQUET:field_id";

/// Turns batches of one schema into rows of a table whose columns are not nested.
#[derive(Debug)]
pub struct Align {
    schema: Arc<TableSchema>,
    arrow: SchemaRef,
    rows: usize,
}

impl Align {
    /// Return one for a table of this schema.
    pub fn new(schema: Arc<TableSchema>) -> Self {
        let fields = arrow_fields(&schema.fields);
        let with_id = |(field, column): (&Arc<arrow_schema::Field>, &DataField)| {
            let id = [(FILE_FIELD_ID.to_string(), column.id.to_string())];
            field.as_ref().clone().with_metadata(id.into())
        };
        let fields: Vec<_> = fields.iter().zip(&schema.fields).map(with_id).collect();
        Self { arrow: Arc::new(ArrowSchema::new(fields)), schema, rows: 0 }
    }

    /// The Arrow schema of the rows, with field ids.
    pub fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    /// Return the batch as rows of the table. Columns that are missing are NULL.
    ///
    /// # Errors
    /// `InvalidArgument` naming the column: one that the table does not have, that is there twice, whose type does not
    /// widen to the table's, and the row where a NOT NULL column is NULL or a value does not fit.
    pub fn align(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let fields = &self.schema.fields;
        let known: HashSet<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        let places =
            places(batch.schema_ref().fields(), |name| known.contains(name), "", |name| no_such_column(fields, name))?;
        let rows = RowNumbers::From(self.rows);
        let column = |field: &DataField| {
            let values = match places.get(field.name.as_str()) {
                Some(&place) => converted(field, batch.column(place), &rows)?,
                None => new_null_array(&field.data_type.arrow(), batch.num_rows()),
            };
            check_not_null(field, &values, &rows)?;
            Ok(values)
        };
        let columns = fields.iter().map(column).collect::<Result<_>>()?;
        self.rows += batch.num_rows();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(self.arrow.clone(), columns, &options)?)
    }
}

fn no_such_column(fields: &[DataField], name: &str) -> Error {
    let names: Vec<String> = fields.iter().map(|field| format!("`{}`", shown(&field.name))).collect();
    let name = shown(name);
    Error::invalid(format!("the table has no column `{name}`"))
        .with("column", &name)
        .hint(format!("its columns are {}", names.join(", ")))
}

fn check_not_null(field: &DataField, values: &ArrayRef, rows: &RowNumbers<'_>) -> Result<()> {
    if field.data_type.nullable || values.logical_null_count() == 0 {
        return Ok(());
    }
    let nulls = values.logical_nulls();
    let row = (0..values.len()).find(|&row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)));
    row.map_or(Ok(()), |row| {
        let message = format!("the column `{}` is NOT NULL, and NULL in row {}", field.name, rows.number(row));
        Err(Error::invalid(message).with("column", &field.name))
    })
}

fn converted(field: &DataField, values: &ArrayRef, rows: &RowNumbers<'_>) -> Result<ArrayRef> {
    let (name, to) = (&field.name, &field.data_type);
    let values = &unpacked(values)?;
    if values.data_type() == &ArrowType::Null {
        return Ok(new_null_array(&to.arrow(), values.len()));
    }
    if !widens(values.data_type(), &to.arrow()) {
        let found = values.data_type().to_string().to_lowercase();
        let message = format!("the column `{name}` has the type {found}, which does not widen to {to}");
        return Err(Error::invalid(message)
            .with("column", name)
            .hint("cast it, or change the column of the table first"));
    }
    let unfit = |row: usize, loss: Loss| {
        let message = format!("the value of `{name}` in row {} does not fit {to}", rows.number(row));
        let error = Error::invalid(message).with("column", name);
        match loss {
            Loss::Value => error,
            Loss::Digits => error.hint("truncate the column"),
        }
    };
    let cast = cast_exactly(values, &to.arrow(), unfit)?;
    match first_too_long(&cast, to) {
        None => Ok(cast),
        Some((row, loss)) => Err(unfit(row, loss)),
    }
}

/// The first value that has more characters, bytes or digits than the type has.
fn first_too_long(values: &ArrayRef, to: &DataType) -> Option<(usize, Loss)> {
    let is_longer = |length: usize, limit: u32| u32::try_from(length).map_or(true, |length| length > limit);
    match to.root {
        TypeRoot::Char(limit) | TypeRoot::VarChar(limit) => {
            let texts = values.as_string_opt::<i32>()?;
            // A text has at most as many characters as bytes.
            let too_long = |text: &str| is_longer(text.len(), limit) && is_longer(text.chars().count(), limit);
            texts.iter().position(|text| text.is_some_and(too_long)).map(|row| (row, Loss::Value))
        }
        TypeRoot::Binary(limit) | TypeRoot::VarBinary(limit) => {
            let values = values.as_binary_opt::<i32>()?;
            let row = values.iter().position(|value| value.is_some_and(|value| is_longer(value.len(), limit)));
            row.map(|row| (row, Loss::Value))
        }
        TypeRoot::Time(digits) | TypeRoot::Timestamp(digits) | TypeRoot::LocalZonedTimestamp(digits) => {
            let kept = match values.data_type() {
                ArrowType::Timestamp(TimeUnit::Microsecond, _) => 6,
                ArrowType::Timestamp(TimeUnit::Nanosecond, _) => 9,
                _ => 3,
            };
            let ticks = 10_i64.checked_pow(u32::from(digits).abs_diff(kept)).filter(|_| u32::from(digits) < kept)?;
            lost_digits(values, ticks).map(|row| (row, Loss::Digits))
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "align_tests.rs"]
mod tests;
