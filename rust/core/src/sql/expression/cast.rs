//! Converts values from one type to another.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, DecimalType, Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Int64Array, ListArray, MapArray, PrimitiveArray, StringArray, StructArray, new_null_array,
};
use arrow_buffer::{NullBuffer, i256};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, TimeUnit};

use super::arithmetic::rescaled;
use super::types::{literal_type, normal_type, scalar_type, shown};
use crate::error::{Error, Result};
use crate::file_values::lost_row;
use crate::nested::{Repeated, child};
use crate::scalar::{Scalar, civil, unit_nanos};
use crate::sql::predicate::Literal;
use crate::sql::predicate::literal::{Place, place};

/// Returns the values in a type that can hold all of them: a wider type, or another form of the same type. Struct
/// fields are matched by name; missing ones are NULL.
///
/// # Errors
/// `InvalidArgument` for a value that the other type cannot represent, and for NULL in a required field.
pub fn widened(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(array.clone());
    }
    if *array.data_type() == DataType::Null {
        return Ok(new_null_array(to, array.len()));
    }
    match (array.data_type(), to) {
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let parent = array.as_struct();
            let parts = fields.iter().map(|field| {
                let part = match parent.fields().find(field.name()) {
                    Some((position, _)) => widened(&child(parent, position)?, field.data_type())?,
                    None => new_null_array(field.data_type(), parent.len()),
                };
                check_required(field, part, parent.nulls())
            });
            let parts = parts.collect::<Result<Vec<_>>>()?;
            let nulls = parent.nulls().cloned();
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), parts, nulls, parent.len())?))
        }
        (from, DataType::List(field)) if from.is_list() => {
            let Repeated { offsets, values, nulls } = Repeated::of(array)?;
            let values = check_required(field, widened(&values, field.data_type())?, None)?;
            Ok(Arc::new(ListArray::try_new(field.clone(), offsets, values, nulls)?))
        }
        (from, DataType::LargeList(field)) if from.is_list() => {
            by_arrow(&widened(array, &DataType::List(field.clone()))?, to, false)
        }
        (DataType::Map(..), DataType::Map(field, sorted)) => {
            let Repeated { offsets, values, nulls } = Repeated::of(array)?;
            let (Some(entries), DataType::Struct(fields)) = (values.as_struct_opt(), field.data_type()) else {
                return Err(Error::internal("a map has no entries"));
            };
            let parts = entries.columns().iter().zip(fields);
            let parts = parts.map(|(part, field)| check_required(field, widened(part, field.data_type())?, None));
            let parts = parts.collect::<Result<Vec<_>>>()?;
            let entries = StructArray::try_new_with_length(fields.clone(), parts, None, entries.len())?;
            Ok(Arc::new(MapArray::try_new(field.clone(), offsets, entries, nulls, *sorted)?))
        }
        (from, to) if normal_type(from) == *to || *from == normal_type(to) => by_arrow(array, to, false),
        _ => cast(array, to, false),
    }
}

/// Returns structs of these values, none of which is NULL itself.
pub(super) fn structs(values: &[ArrayRef], to: &DataType, len: usize) -> Result<ArrayRef> {
    let DataType::Struct(fields) = to else { return Err(Error::internal("a struct does not have a struct type")) };
    let parts = values.iter().zip(fields);
    let parts = parts.map(|(part, field)| check_required(field, widened(part, field.data_type())?, None));
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), parts.collect::<Result<_>>()?, None, len)?))
}

/// Rejects NULL in a required field, except where its parent is NULL.
fn check_required(field: &Field, values: ArrayRef, around: Option<&NullBuffer>) -> Result<ArrayRef> {
    let hidden = |nulls: &NullBuffer| around.is_some_and(|around| around.contains(nulls));
    match values.logical_nulls() {
        Some(nulls) if !field.is_nullable() && nulls.null_count() > 0 && !hidden(&nulls) => {
            Err(Error::invalid(format!("a value of the required field `{}` is NULL", field.name())))
        }
        _ => Ok(values),
    }
}

/// Returns whether CAST supports this conversion.
pub(super) fn castable(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    let number = |data_type: &D| super::types::is_numeric(data_type);
    match (from, to) {
        _ if from == to || *from == D::Null => true,
        (from, to) if number(from) && number(to) => true,
        (D::Boolean, to) if number(to) => !matches!(to, D::Decimal128(..)),
        (from, D::Boolean) if number(from) => !matches!(from, D::Decimal128(..)),
        (D::Utf8, to) => number(to) || matches!(to, D::Boolean | D::Binary) || is_read(to),
        (from, D::Utf8) => number(from) || matches!(from, D::Boolean | D::Binary) || is_read(from),
        (D::Date32, D::Timestamp(..))
        | (D::Timestamp(..), D::Date32 | D::Timestamp(..))
        | (D::FixedSizeBinary(_), D::Binary) => true,
        _ => false,
    }
}

/// Returns whether CAST converts values of this type to and from strings by the syntax of literals: dates, times,
/// timestamps and UUIDs.
fn is_read(data_type: &DataType) -> bool {
    use DataType as D;
    matches!(data_type, D::Date32 | D::Time64(_) | D::Timestamp(..) | D::FixedSizeBinary(16))
}

/// Evaluates CAST; with `tried`, failures become NULL, otherwise `InvalidArgument`.
pub(super) fn cast(array: &ArrayRef, to: &DataType, tried: bool) -> Result<ArrayRef> {
    use DataType as D;
    if array.data_type() == to {
        return Ok(array.clone());
    }
    match (array.data_type(), to) {
        (D::Null, _) => Ok(new_null_array(to, array.len())),
        (D::Utf8, to) if is_read(to) => texts(array.as_string(), to, tried),
        (D::Utf8, D::Boolean | D::Int32 | D::Int64 | D::Float32 | D::Float64 | D::Decimal128(..)) => {
            let trimmed: StringArray = array.as_string::<i32>().iter().map(|text| text.map(str::trim)).collect();
            by_arrow(&(Arc::new(trimmed) as ArrayRef), to, tried)
        }
        (from, D::Utf8) if is_read(from) => written(array),
        (D::Date32 | D::Timestamp(..), D::Date32 | D::Timestamp(..)) => moments(array, to, tried),
        (D::Float32 | D::Float64, D::Decimal128(precision, scale)) => decimals(array, (*precision, *scale), to, tried),
        _ => by_arrow(array, to, tried),
    }
}

/// Converts floats to decimals, rounding the digits of the shortest representation, halves away from zero.
fn decimals(array: &ArrayRef, (precision, scale): (u8, i8), to: &DataType, tried: bool) -> Result<ArrayRef> {
    let doubles = arrow_cast::cast(array, &DataType::Float64)?;
    let decimal = |value: f64| {
        let text = value.to_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let unscaled = i256::from_string(&format!("{whole}{fraction}"))?;
        let places = i16::try_from(fraction.len()).ok()?;
        let unscaled = rescaled(unscaled, places, scale.into())?.to_i128()?;
        Decimal128Type::is_valid_decimal_precision(unscaled, precision).then_some(unscaled)
    };
    let doubles = doubles.as_primitive::<Float64Type>();
    let found: PrimitiveArray<Decimal128Type> = doubles.iter().map(|value| value.and_then(decimal)).collect();
    let found: ArrayRef = Arc::new(found.with_precision_and_scale(precision, scale)?);
    match lost_row(doubles, &found) {
        Some(row) if !tried => Err(refused(array, row, to)),
        _ => Ok(found),
    }
}

fn by_arrow(array: &ArrayRef, to: &DataType, tried: bool) -> Result<ArrayRef> {
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let cast = cast_with_options(array, to, &options).map_err(|error| {
        Error::invalid(format!("{} cannot be converted to {}", shown(array.data_type()), shown(to))).caused_by(error)
    })?;
    match lost_row(array, &cast) {
        Some(row) if !tried => Err(refused(array, row, to)),
        _ => Ok(cast),
    }
}

/// Returns the error for the value of a row.
#[cold]
fn refused(array: &ArrayRef, row: usize, to: &DataType) -> Error {
    let value = scalar_type(array.data_type()).and_then(|data_type| Scalar::from_array(array, row, data_type).ok()?);
    let value = value.map_or_else(|| "a value".to_string(), |value| value.to_string());
    Error::invalid(format!("{value} is not a valid {}", shown(to))).hint("TRY_CAST returns NULL if CAST fails")
}

/// Parses strings in the form of literals.
fn texts(array: &StringArray, to: &DataType, tried: bool) -> Result<ArrayRef> {
    let data_type = literal_type(to).ok_or_else(|| Error::internal("a type has no literals"))?;
    let read = |text: &str| match place(&Literal::String(text.trim().to_string()), data_type, "a value") {
        Ok(Place::At(scalar)) => Some(scalar),
        _ => None,
    };
    let mut values = Vec::with_capacity(array.len());
    for text in array {
        let value = text.and_then(read);
        if let (None, Some(text), false) = (&value, text, tried) {
            return Err(Error::invalid(format!("{} is not a valid {}", Scalar::String(text.to_string()), data_type))
                .hint("TRY_CAST returns NULL if CAST fails"));
        }
        values.push(value);
    }
    let integers = |of: fn(&Scalar) -> Option<i64>| -> Int64Array {
        values.iter().map(|value| value.as_ref().and_then(of)).collect()
    };
    let of_scalar = |scalar: &Scalar| match scalar {
        Scalar::Date(days) => Some(i64::from(*days)),
        Scalar::Time(value) | Scalar::Timestamp { value, .. } => Some(*value),
        _ => None,
    };
    match to {
        DataType::FixedSizeBinary(length) => {
            let bytes = values.iter().map(|value| match value {
                Some(Scalar::Uuid(bytes)) => Some(bytes.as_slice()),
                _ => None,
            });
            Ok(Arc::new(arrow_array::FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, *length)?))
        }
        DataType::Date32 => by_arrow(&(Arc::new(integers(of_scalar)) as ArrayRef), &DataType::Int32, false)
            .and_then(|days| by_arrow(&days, to, false)),
        _ => by_arrow(&(Arc::new(integers(of_scalar)) as ArrayRef), to, false),
    }
}

/// Returns dates, times and UUIDs as strings.
fn written(array: &ArrayRef) -> Result<ArrayRef> {
    let data_type = literal_type(array.data_type()).ok_or_else(|| Error::internal("a type has no literals"))?;
    let text = |row| -> Result<Option<String>> {
        Ok(Scalar::from_array(array, row, data_type)?.map(|value| value.plain().to_string()))
    };
    Ok(Arc::new((0..array.len()).map(text).collect::<Result<StringArray>>()?))
}

/// Converts between dates and timestamps through nanoseconds: finer units are rounded down.
fn moments(array: &ArrayRef, to: &DataType, tried: bool) -> Result<ArrayRef> {
    const DAY: i128 = civil::DAY_NANOS;
    let nanos = |data_type: &DataType| match data_type {
        DataType::Timestamp(unit, _) => unit_nanos(*unit),
        _ => DAY,
    };
    let (from, into) = (nanos(array.data_type()), nanos(to));
    let integers = match array.data_type() {
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>();
            days.iter().map(|day| day.map(i64::from)).collect::<Int64Array>()
        }
        _ => by_arrow(array, &DataType::Int64, false)?.as_primitive::<Int64Type>().clone(),
    };
    let moved: Int64Array = integers
        .iter()
        .map(|value| value.and_then(|value| i64::try_from((i128::from(value) * from).div_euclid(into)).ok()))
        .collect();
    if let Some(row) = lost_row(&integers, &moved).filter(|_| !tried) {
        return Err(refused(array, row, to));
    }
    match to {
        DataType::Date32 => {
            let days = moved.iter().map(|day| day.and_then(|day| i32::try_from(day).ok()));
            Ok(Arc::new(days.collect::<PrimitiveArray<Date32Type>>()))
        }
        DataType::Timestamp(TimeUnit::Nanosecond | TimeUnit::Microsecond, _) => {
            by_arrow(&(Arc::new(moved) as _), to, false)
        }
        other => Err(Error::internal(format!("a date or timestamp has the type {other}"))),
    }
}
