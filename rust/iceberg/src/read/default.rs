//! Builds columns of one repeated value: initial defaults and identity partition values (spec: "Default values").

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, ListArray, MapArray, StringArray, StructArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt32Array, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, TimeUnit};
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::scalar::Scalar;

use super::{FileFormat, convert};
use crate::spec::arrow::{arrow_field, arrow_fields, arrow_type};
use crate::spec::types::{ListType, MapType, NestedField, StructType, Type, Value};

/// Returns `row_count` rows of `value` (None is NULL) as a column of type `field_type`.
///
/// A scalar of a narrower type is promoted. Fields that are missing in a struct value get their own initial default.
///
/// # Errors
/// [`ErrorKind::CorruptMetadata`] if the value does not fit the type.
pub fn repeated(field_type: &Type, value: Option<&Value>, row_count: usize) -> Result<ArrayRef> {
    let Some(value) = value else { return Ok(new_null_array(&arrow_type(field_type), row_count)) };
    repeat(&one(field_type, value)?, row_count)
}

/// Returns one row with `value`.
pub(crate) fn one(field_type: &Type, value: &Value) -> Result<ArrayRef> {
    match (field_type, value) {
        (Type::Primitive(primitive), Value::Scalar(scalar)) => {
            // Partition values may have been written before their column was promoted, whatever the file format.
            convert::convert(&scalar_array(scalar)?, primitive, FileFormat::Parquet)
                .map_err(|error| error.corrupt_as(ErrorKind::CorruptMetadata))
        }
        (Type::Struct(fields), Value::Struct(values)) => one_struct(fields, values),
        (Type::List(list), Value::List(elements)) => one_list(list, elements),
        (Type::Map(map), Value::Map(entries)) => one_map(map, entries),
        _ => Err(corrupt(format!("a default value does not fit the type {}", arrow_type(field_type)))),
    }
}

/// Returns the first row of `array`, repeated `row_count` times.
pub(crate) fn repeat(array: &ArrayRef, row_count: usize) -> Result<ArrayRef> {
    let indices = UInt32Array::from_value(0, row_count);
    Ok(arrow_select::take::take(array, &indices, None)?)
}

fn one_struct(fields: &StructType, values: &[(i32, Option<Value>)]) -> Result<ArrayRef> {
    let children = fields.fields.iter().map(|field| {
        let given = values.iter().find(|(id, _)| *id == field.id);
        one_field(field, given.map_or(field.initial_default.as_ref(), |(_, value)| value.as_ref()))
    });
    let children = children.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(StructArray::try_new_with_length(arrow_fields(fields), children, None, 1)?))
}

fn one_field(field: &NestedField, value: Option<&Value>) -> Result<ArrayRef> {
    match value {
        Some(value) => one(&field.field_type, value),
        None if field.required => {
            Err(corrupt(format!("a default value has no required field {} (id {})", field.name, field.id)))
        }
        None => Ok(new_null_array(&arrow_type(&field.field_type), 1)),
    }
}

fn one_list(list: &ListType, elements: &[Option<Value>]) -> Result<ArrayRef> {
    let rows = elements.iter().map(|element| one_field(&list.element, element.as_ref())).collect::<Result<Vec<_>>>()?;
    let values = concat(&arrow_type(&list.element.field_type), &rows)?;
    let offsets = OffsetBuffer::from_lengths([rows.len()]);
    Ok(Arc::new(ListArray::try_new(Arc::new(arrow_field(&list.element)), offsets, values, None)?))
}

fn one_map(map: &MapType, entries: &[(Value, Option<Value>)]) -> Result<ArrayRef> {
    let keys = entries.iter().map(|(key, _)| one(&map.key.field_type, key)).collect::<Result<Vec<_>>>()?;
    let values = entries.iter().map(|(_, value)| one_field(&map.value, value.as_ref())).collect::<Result<Vec<_>>>()?;
    let columns =
        vec![concat(&arrow_type(&map.key.field_type), &keys)?, concat(&arrow_type(&map.value.field_type), &values)?];
    let DataType::Map(field, ordered) = arrow_type(&Type::Map(Arc::new(map.clone()))) else {
        return Err(Error::internal("the Arrow type of a map is not a map"));
    };
    let DataType::Struct(fields) = field.data_type().clone() else {
        return Err(Error::internal("the entries of a map are not a struct"));
    };
    let entries = StructArray::try_new(fields, columns, None)?;
    let offsets = OffsetBuffer::from_lengths([keys.len()]);
    Ok(Arc::new(MapArray::try_new(field, offsets, entries, None, ordered)?))
}

fn concat(data_type: &DataType, rows: &[ArrayRef]) -> Result<ArrayRef> {
    if rows.is_empty() {
        return Ok(arrow_array::new_empty_array(data_type));
    }
    let rows: Vec<&dyn Array> = rows.iter().map(AsRef::as_ref).collect();
    Ok(arrow_select::concat::concat(&rows)?)
}

/// Returns one row with `scalar`, in the Arrow type of the scalar.
fn scalar_array(scalar: &Scalar) -> Result<ArrayRef> {
    Ok(match scalar {
        Scalar::Boolean(v) => Arc::new(BooleanArray::from(vec![*v])),
        Scalar::Int8(v) => Arc::new(Int8Array::from(vec![*v])),
        Scalar::Int16(v) => Arc::new(Int16Array::from(vec![*v])),
        Scalar::Int32(v) => Arc::new(Int32Array::from(vec![*v])),
        Scalar::Int64(v) => Arc::new(Int64Array::from(vec![*v])),
        Scalar::Float32(v) => Arc::new(Float32Array::from(vec![*v])),
        Scalar::Float64(v) => Arc::new(Float64Array::from(vec![*v])),
        Scalar::Decimal { unscaled, precision, scale } => {
            Arc::new(Decimal128Array::from(vec![*unscaled]).with_precision_and_scale(*precision, *scale)?)
        }
        Scalar::Date(v) => Arc::new(Date32Array::from(vec![*v])),
        Scalar::Time(v) => Arc::new(Time64MicrosecondArray::from(vec![*v])),
        Scalar::Timestamp { value, unit, utc } => timestamp_array(*value, *unit, *utc),
        Scalar::String(v) => Arc::new(StringArray::from(vec![v.as_str()])),
        Scalar::Uuid(v) => Arc::new(FixedSizeBinaryArray::try_from_iter([v].into_iter())?),
        Scalar::Fixed(v) => Arc::new(FixedSizeBinaryArray::try_from_iter([v].into_iter())?),
        Scalar::Binary(v) => Arc::new(BinaryArray::from(vec![v.as_slice()])),
    })
}

fn timestamp_array(value: i64, unit: TimeUnit, utc: bool) -> ArrayRef {
    let zone = utc.then_some("UTC");
    match unit {
        TimeUnit::Second => Arc::new(TimestampSecondArray::from(vec![value]).with_timezone_opt(zone)),
        TimeUnit::Millisecond => Arc::new(TimestampMillisecondArray::from(vec![value]).with_timezone_opt(zone)),
        TimeUnit::Microsecond => Arc::new(TimestampMicrosecondArray::from(vec![value]).with_timezone_opt(zone)),
        TimeUnit::Nanosecond => Arc::new(TimestampNanosecondArray::from(vec![value]).with_timezone_opt(zone)),
    }
}

fn corrupt(message: String) -> Error {
    Error::new(ErrorKind::CorruptMetadata, message)
}
