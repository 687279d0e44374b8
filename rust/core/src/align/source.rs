//! Prepares source rows for a merge: converts them to the types of the table's columns, as new rows are converted.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray, new_empty_array,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema as ArrowSchema, TimeUnit};

use super::{Rules, Target, align_column};
use crate::error::{Error, Result};
use crate::nested::{Repeated, child};
use crate::sql::expression::takes;

/// Converts batches to one schema, which a merge requires.
///
/// A column of the table, which is in `targets`, gets the table's type if the table accepts all of its values. Otherwise
/// it keeps its type, because conditions and values may read it; with `exact` that is an error. Large string and binary types are kept, because
/// the whole source becomes one batch.
///
/// # Errors
/// `InvalidArgument` for batches with different columns and for two columns with the same name; with `exact`, also the
/// errors of [`Aligner::align`](super::Aligner::align).
pub fn source_batches(
    targets: &[Target],
    rules: &Rules,
    batches: &[RecordBatch],
    exact: bool,
) -> Result<Vec<RecordBatch>> {
    let Some(first) = batches.first() else { return Ok(Vec::new()) };
    let names = names_of(first)?;
    let mut columns: Vec<Vec<ArrayRef>> = Vec::with_capacity(names.len());
    let mut fields = Vec::with_capacity(names.len());
    for name in &names {
        let parts = batches.iter().map(|batch| batch.column_by_name(name).cloned());
        let parts = parts.collect::<Option<Vec<_>>>().ok_or_else(|| other_columns(name))?;
        let known = targets.iter().find(|target| target.field.name() == name);
        let parts = column(known.map(|target| (target, rules)), name, parts, exact)?;
        let data_type = parts.first().map_or(DataType::Null, |part| part.data_type().clone());
        fields.push(Field::new(*name, data_type, true));
        columns.push(parts);
    }
    if let Some(other) = batches.iter().find(|batch| batch.num_columns() != names.len()) {
        names_of(other)?;
        let known: HashSet<&str> = names.into_iter().collect();
        let added = other.schema_ref().fields().iter().find(|field| !known.contains(field.name().as_str()));
        return Err(other_columns(added.map_or("", |field| field.name())));
    }
    let schema = Arc::new(ArrowSchema::new(fields));
    let rows = |(index, batch): (usize, &RecordBatch)| {
        let columns = columns.iter().filter_map(|parts| parts.get(index).cloned()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
    };
    batches.iter().enumerate().map(rows).collect()
}

fn names_of(batch: &RecordBatch) -> Result<Vec<&str>> {
    let names: Vec<&str> = batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(**name)) {
        Some(name) => Err(Error::invalid(format!("two columns have the same name `{name}`"))),
        None => Ok(names),
    }
}

#[cold]
fn other_columns(name: &str) -> Error {
    Error::invalid(format!("not every batch of the source has a column `{name}`")).with("column", name)
}

/// Returns a column of all batches, in one type.
fn column(known: Option<(&Target, &Rules)>, name: &str, parts: Vec<ArrayRef>, exact: bool) -> Result<Vec<ArrayRef>> {
    let first = parts.first().map_or(DataType::Null, |part| part.data_type().clone());
    let is_one_type = parts.iter().all(|part| *part.data_type() == first);
    if let Some((target, rules)) = known {
        let to = target.field.data_type();
        if parts.iter().all(Array::is_empty) {
            return Ok(parts.iter().map(|_| new_empty_array(to)).collect());
        }
        let is_taken = is_one_type && takes(&first, to);
        if is_taken && !to.is_nested() {
            return Ok(parts);
        }
        let mut first_row = 0;
        let aligned = parts.iter().map(|part| {
            let values = align_column(target, rules, part, first_row);
            first_row += part.len();
            values
        });
        match aligned.collect::<Result<Vec<_>>>() {
            Ok(aligned) => return Ok(aligned),
            Err(error) if exact && !is_taken => return Err(error),
            Err(_) => {}
        }
    }
    if !is_one_type {
        let message = format!("the batches of the source have different types for the column `{name}`");
        return Err(Error::invalid(message).with("column", name).hint("cast them to one type"));
    }
    parts.iter().map(plain).collect()
}

/// Returns the values in a form that expressions accept: lists of one type, decimals of 128 bits, times in
/// microseconds.
fn plain(values: &ArrayRef) -> Result<ArrayRef> {
    use DataType as D;
    Ok(match values.data_type() {
        D::Dictionary(_, held) if held.is_nested() => plain(&arrow_cast::cast(values, held)?)?,
        D::RunEndEncoded(_, held) => plain(&arrow_cast::cast(values, held.data_type())?)?,
        D::List(field)
        | D::LargeList(field)
        | D::ListView(field)
        | D::LargeListView(field)
        | D::FixedSizeList(field, _) => {
            let parts = Repeated::of(values)?;
            let elements = plain(&parts.values)?;
            let field = retyped(field, &elements);
            Arc::new(ListArray::try_new(field, parts.offsets, elements, parts.nulls)?)
        }
        D::Map(field, sorted) => {
            let parts = Repeated::of(values)?;
            let entries = plain_struct(parts.values.as_struct_opt().ok_or_else(no_entries)?)?;
            let field = Arc::new(field.as_ref().clone().with_data_type(entries.data_type().clone()));
            Arc::new(MapArray::try_new(field, parts.offsets, entries, parts.nulls, *sorted)?)
        }
        D::Struct(_) => Arc::new(plain_struct(values.as_struct_opt().ok_or_else(no_entries)?)?),
        D::Decimal256(precision, scale) if *precision <= 38 => {
            arrow_cast::cast(values, &D::Decimal128(*precision, *scale))?
        }
        D::Time64(TimeUnit::Nanosecond) => micros(values)?,
        _ => values.clone(),
    })
}

fn plain_struct(values: &StructArray) -> Result<StructArray> {
    let parts =
        (0..values.num_columns()).map(|position| plain(&child(values, position)?)).collect::<Result<Vec<_>>>()?;
    let fields: Fields = values.fields().iter().zip(&parts).map(|(field, part)| retyped(field, part)).collect();
    Ok(StructArray::try_new_with_length(fields, parts, values.nulls().cloned(), values.len())?)
}

fn retyped(field: &FieldRef, values: &ArrayRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(values.data_type().clone()))
}

/// Converts times to microseconds if every value can be represented exactly.
fn micros(values: &ArrayRef) -> Result<ArrayRef> {
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let cast = cast_with_options(values, &DataType::Time64(TimeUnit::Microsecond), &options)?;
    let back = cast_with_options(&cast, values.data_type(), &options)?;
    Ok(if back.as_ref() == values.as_ref() { cast } else { values.clone() })
}

#[cold]
fn no_entries() -> Error {
    Error::internal("a nested array has no child arrays")
}
