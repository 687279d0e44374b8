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
use arrow_array::types::ByteArrayType;
use arrow_array::{
    Array, ArrayRef, GenericByteArray, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Fields, SchemaRef, TimeUnit};
use frazil_core::error::{Error, Result};
use frazil_core::file_values::lost_row;
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
    let mut places = HashMap::new();
    for (place, field) in found.iter().enumerate() {
        let name = field.name().as_str();
        if places.insert(name, place).is_some() {
            return Err(Error::invalid(format!("two columns have the name `{prefix}{name}`")));
        }
        if !known.contains(name) {
            return Err(unknown(name));
        }
    }
    Ok(places)
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
        Type::Primitive(primitive) if widens(values.data_type(), primitive) => cast(values, primitive, name, rows),
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

/// Which row of a write a value is in.
enum RowNumbers<'a> {
    /// Values of rows, from this one on.
    From(usize),
    /// Elements of lists or entries of maps that begin at these offsets.
    Inside(&'a OffsetBuffer<i32>, &'a RowNumbers<'a>),
}

impl RowNumbers<'_> {
    fn number(&self, position: usize) -> usize {
        match self {
            Self::From(first) => first + position,
            Self::Inside(offsets, around) => {
                let begins = |offset: &i32| usize::try_from(*offset).is_ok_and(|offset| offset <= position);
                around.number(offsets.partition_point(begins).saturating_sub(1))
            }
        }
    }
}

/// The Iceberg type that an Arrow type stands for, or the name of one that Iceberg does not have.
fn shown(data_type: &DataType) -> String {
    Type::of_arrow(data_type).map_or_else(|_| data_type.to_string().to_lowercase(), |found| found.to_string())
}

fn is_list(data_type: &DataType) -> bool {
    use DataType as D;
    matches!(data_type, D::List(_) | D::LargeList(_) | D::ListView(_) | D::LargeListView(_) | D::FixedSizeList(..))
}

/// Dictionaries and run ends as what they hold.
fn unpacked(values: &ArrayRef) -> Result<ArrayRef> {
    match values.data_type() {
        DataType::LargeUtf8 => values.as_string_opt::<i64>().map_or_else(|| Ok(values.clone()), rebased),
        DataType::LargeBinary => values.as_binary_opt::<i64>().map_or_else(|| Ok(values.clone()), rebased),
        DataType::Dictionary(_, held) => unpacked(&arrow_cast::cast(values, held)?),
        DataType::RunEndEncoded(_, held) => unpacked(&arrow_cast::cast(values, held.data_type())?),
        _ => Ok(values.clone()),
    }
}

/// Text or bytes whose offsets begin at 0: those of a part of a longer array may be beyond 32 bits.
fn rebased<T: ByteArrayType<Offset = i64>>(array: &GenericByteArray<T>) -> Result<ArrayRef> {
    let offsets = array.value_offsets();
    let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    let start = usize::try_from(first).map_err(|_| Error::internal("an offset below 0"))?;
    let length = usize::try_from(last - first).map_err(|_| Error::internal("offsets that fall"))?;
    let offsets: Vec<i64> = offsets.iter().map(|offset| offset - first).collect();
    let values = array.values().slice_with_length(start, length);
    let offsets = OffsetBuffer::new(offsets.into());
    Ok(Arc::new(GenericByteArray::<T>::try_new(offsets, values, array.nulls().cloned())?))
}

/// Whether every value of an Arrow type is one of the table's type, but for digits of timestamps, which are looked at.
fn widens(from: &DataType, to: &PrimitiveType) -> bool {
    use DataType as D;
    use PrimitiveType as P;
    match to {
        P::Boolean => *from == D::Boolean,
        P::Int => matches!(from, D::Int8 | D::Int16 | D::Int32 | D::UInt8 | D::UInt16),
        P::Long => {
            matches!(from, D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::UInt8 | D::UInt16 | D::UInt32)
        }
        P::Float => matches!(from, D::Float16 | D::Float32),
        P::Double => matches!(from, D::Float16 | D::Float32 | D::Float64),
        P::Decimal { precision, scale } => match from {
            D::Decimal32(p, s) | D::Decimal64(p, s) | D::Decimal128(p, s) | D::Decimal256(p, s) => {
                p <= precision && *s == scale.cast_signed()
            }
            _ => false,
        },
        P::Date => matches!(from, D::Date32),
        P::Time => matches!(from, D::Time32(_) | D::Time64(_)),
        P::Timestamp | P::TimestampNs => matches!(from, D::Timestamp(_, None)),
        P::Timestamptz | P::TimestamptzNs => matches!(from, D::Timestamp(_, Some(_))),
        P::String => matches!(from, D::Utf8 | D::LargeUtf8 | D::Utf8View),
        P::Uuid => matches!(from, D::FixedSizeBinary(16)),
        P::Fixed(length) => matches!(from, D::FixedSizeBinary(found) if u32::try_from(*found) == Ok(*length)),
        P::Binary | P::Geometry(_) | P::Geography(..) => {
            matches!(from, D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_))
        }
        P::Unknown | P::Variant => false,
    }
}

/// A conversion that must not change a value.
fn cast(values: &ArrayRef, primitive: &PrimitiveType, name: &str, rows: &RowNumbers<'_>) -> Result<ArrayRef> {
    let to = &arrow_primitive(primitive);
    if values.data_type() == to {
        return Ok(values.clone());
    }
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let cast = cast_with_options(values, to, &options)?;
    if let Some(row) = lost_row(values, &cast) {
        return Err(does_not_fit(name, primitive, rows.number(row)));
    }
    if let Some(ticks) = coarser(values.data_type(), to) {
        let row = lost_digits(values, ticks);
        if let Some(row) = row {
            return Err(does_not_fit(name, primitive, rows.number(row))
                .hint("truncate the column, or make it of nanoseconds (format version 3)"));
        }
    }
    Ok(cast)
}

#[cold]
fn does_not_fit(name: &str, to: &PrimitiveType, row: usize) -> Error {
    Error::invalid(format!("the value of `{name}` in row {row} does not fit {to}")).with("column", name)
}

/// How many ticks of the finer unit make one of the coarser, where a conversion of times goes that way.
fn coarser(from: &DataType, to: &DataType) -> Option<i64> {
    let unit = |data_type: &DataType| match data_type {
        DataType::Timestamp(unit, _) | DataType::Time32(unit) | DataType::Time64(unit) => Some(match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000_i64,
        }),
        _ => None,
    };
    let (from, to) = (unit(from)?, unit(to)?);
    (from > to).then(|| from / to)
}

fn lost_digits(values: &ArrayRef, ticks: i64) -> Option<usize> {
    use arrow_array::types::Int64Type;
    let longs = arrow_cast::cast(values, &DataType::Int64).ok()?;
    let longs = longs.as_primitive_opt::<Int64Type>()?;
    longs.iter().position(|value| value.is_some_and(|value| value % ticks != 0))
}

#[cfg(test)]
#[path = "align_tests.rs"]
mod tests;
