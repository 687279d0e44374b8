//! Converts arrays from file-format readers to the type in the schema that the file was written with.
//!
//! | Type | Parquet | ORC | Avro |
//! |---|---|---|---|
//! | TINYINT, SMALLINT | int8, int16, int32 | int8, int16 | int |
//! | DECIMAL | decimal of any width | decimal | bytes with precision and scale |
//! | TIME | time32(ms), int32 | int32: milliseconds | time-millis |
//! | TIMESTAMP | in its unit; INT96 in ns, above 6 digits | ns | timestamp-millis, -micros |
//! | ... WITH LOCAL TIME ZONE | the same with zone UTC | ns, with or without zone | local-timestamp-millis, -micros |
//! | MAP | map | map | map; list of key-value pairs for keys other than strings |
//! | CHAR(n) | string | string, padded with spaces | string |
//! | MULTISET of t | map from t to int32 | the same | the same |
//! | VARIANT | struct of `value`, `metadata` in any order, or shredded | struct | record |
//!
//! Whether a file declares a timestamp as an instant or a wall clock does not matter: Avro's names are swapped. ORC
//! files of `orc.timestamp-ltz.legacy.type` hold instants as wall clocks of the writer's zone, which is not recorded.
//! Such clocks are interpreted as UTC, which is correct if the writer ran in UTC.
//!
//! If a TIME column was previously TIMESTAMP, a compaction by Java leaves negative values for timestamps before 1970.
//! They are read as times before midnight.
//!
//! If a string column was previously BYTES, a compaction by Java may leave invalid UTF-8 in its values. Invalid UTF-8
//! is read as U+FFFD, as in Java.
//!
//! ORC's CHAR does not record trailing spaces, so values have none, as in Java.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Int32Type, Int64Type, Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, Int64Array, ListArray, PrimitiveArray, StringArray, StructArray, Time32MillisecondArray,
    new_null_array,
};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use frazil_core::error::{Error, Result};
use frazil_core::file_values::{cast, decimal, replaced_text};
use frazil_core::nested::{Repeated, child};
use frazil_core::variant;

use crate::cast::nested::assemble_map;
use crate::cast::time::{per_second, too_far};
use crate::context::file_format::FileFormat;
use crate::dictionary;
use crate::spec::types::{DataField, DataType, TypeRoot};

const MILLIS_PER_DAY: i32 = 86_400_000;

/// Returns the type without the fields of `from` that `wanted` lacks (by id), at any level. All values are nullable
/// except map keys, so arrays of this type can hold any value of a file.
pub(super) fn prune(from: &DataType, wanted: &DataType) -> DataType {
    use TypeRoot as T;
    let root = match (&from.root, &wanted.root) {
        (T::Row(fields), T::Row(wanted)) => T::Row(prune_fields(fields, wanted)),
        (T::Array(element), T::Array(wanted)) => T::Array(Box::new(prune(element, wanted))),
        (T::Map(key, value), T::Map(_, wanted)) => T::Map(Box::new(whole_key(key)), Box::new(prune(value, wanted))),
        (T::Map(key, value), _) => T::Map(Box::new(whole_key(key)), Box::new(prune(value, value))),
        (T::Multiset(element), _) => T::Multiset(Box::new(whole_key(element))),
        (T::Row(fields), _) => T::Row(prune_fields(fields, fields)),
        (T::Array(element), _) => T::Array(Box::new(prune(element, element))),
        (leaf, _) => leaf.clone(),
    };
    DataType::nullable(root)
}

fn prune_fields(fields: &[DataField], wanted: &[DataField]) -> Vec<DataField> {
    let pruned = fields.iter().filter_map(|field| {
        let wanted = wanted.iter().find(|wanted| wanted.id == field.id)?;
        Some(DataField { data_type: prune(&field.data_type, &wanted.data_type), ..field.clone() })
    });
    pruned.collect()
}

fn whole_key(key: &DataType) -> DataType {
    DataType { nullable: false, ..prune(key, key) }
}

/// Converts the array to the Arrow type of `to`, a type that [`prune`] returned. Structs may have additional fields,
/// and missing fields become NULL. Buffers are shared if nothing has to change.
///
/// # Errors
/// `CorruptData` if the array is not a storage form of the type or a value does not fit it; `Unsupported` for a
/// timestamp that does not fit 64 bits in the unit of its type.
pub(super) fn convert(array: &ArrayRef, to: &DataType, format: FileFormat) -> Result<ArrayRef> {
    use ArrowType as A;
    use TypeRoot as T;
    let array = &plain(array)?;
    match (&to.root, array.data_type()) {
        (_, A::Null) => Ok(new_null_array(&to.arrow(), array.len())),
        (T::Char(_), A::Utf8 | A::Binary) if format == FileFormat::Orc => Ok(without_blanks(&replaced_text(array)?)),
        (T::Char(_) | T::VarChar(_), A::Utf8 | A::Binary) => replaced_text(array),
        (T::Timestamp(_) | T::LocalZonedTimestamp(_), A::Timestamp(unit, _)) => timestamp(array, *unit, to),
        (T::Decimal(precision, scale), from) if from.is_decimal() => {
            let array = if format == FileFormat::Avro { &without_longer(array, *precision)? } else { array };
            decimal(array, *precision, *scale)
        }
        (T::TinyInt | T::SmallInt | T::Int | T::BigInt, from) if from.is_signed_integer() => cast(array, &to.arrow()),
        (T::Time(_), _) => time(array),
        (T::Date, A::Int32) => cast(array, &A::Date32),
        (T::Binary(_) | T::VarBinary(_) | T::Blob, A::FixedSizeBinary(_)) => cast(array, &A::Binary),
        (T::Row(fields), A::Struct(_)) => row(array.as_struct(), fields, to, format),
        (T::Array(element), _) => list(array, element, to, format),
        (T::Map(key, value), _) => map(array, [key, value], to, format),
        (T::Multiset(element), _) => map(array, [element, &DataType::nullable(T::Int)], to, format),
        (T::Variant, A::Struct(_)) => Ok(Arc::new(variant::unshred(array.as_struct())?)),
        (_, from) if *from == to.arrow() => Ok(Arc::clone(array)),
        _ => Err(unfit(array, to)),
    }
}

fn unfit(array: &ArrayRef, to: &DataType) -> Error {
    Error::corrupt(format!("a data file column of type {} cannot be read as {}", array.data_type(), to.arrow()))
}

/// Returns the values without dictionaries, runs, views and 64-bit offsets.
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        ArrowType::Dictionary(..) => plain(&dictionary::unpacked(&dictionary::replaced(array)?)?),
        ArrowType::RunEndEncoded(_, values) => plain(&cast(array, values.data_type())?),
        ArrowType::LargeUtf8 | ArrowType::Utf8View => cast(array, &ArrowType::Utf8),
        ArrowType::LargeBinary | ArrowType::BinaryView => cast(array, &ArrowType::Binary),
        _ => Ok(Arc::clone(array)),
    }
}

/// Replaces decimals of more digits than `precision` by NULL, as Java does for Avro files.
fn without_longer(array: &ArrayRef, precision: u8) -> Result<ArrayRef> {
    let decimals = array.as_primitive_opt::<Decimal128Type>();
    let decimals = decimals.ok_or_else(|| Error::internal("the decimals of an Avro file do not have 128 bits"))?;
    if decimals.validate_decimal_precision(precision).is_ok() {
        return Ok(Arc::clone(array));
    }
    let kept = decimals.null_if_overflow_precision(precision);
    Ok(Arc::new(kept.with_data_type(array.data_type().clone())))
}

/// Removes trailing spaces from strings.
pub(crate) fn without_blanks(texts: &ArrayRef) -> ArrayRef {
    let texts: &StringArray = texts.as_string();
    if !texts.iter().flatten().any(|text| text.ends_with(' ')) {
        return Arc::new(texts.clone());
    }
    Arc::new(texts.iter().map(|text| text.map(|text| text.trim_end_matches(' '))).collect::<StringArray>())
}

/// Converts to times of day, wrapped into the day. Finer units are rounded down.
fn time(array: &ArrayRef) -> Result<ArrayRef> {
    let times = stored_time(array)?;
    let Some(millis) = times.as_primitive_opt::<Time32MillisecondType>() else { return Ok(times) };
    if millis.values().iter().all(|time| (0..MILLIS_PER_DAY).contains(time)) {
        return Ok(times);
    }
    Ok(Arc::new(millis.unary::<_, Time32MillisecondType>(|time| time.rem_euclid(MILLIS_PER_DAY))))
}

fn stored_time(array: &ArrayRef) -> Result<ArrayRef> {
    let millis = |per_milli: i64| -> Result<ArrayRef> {
        let values = cast(array, &ArrowType::Int64)?;
        let floored = values.as_primitive::<Int64Type>().unary::<_, Int64Type>(|value| value.div_euclid(per_milli));
        cast(&cast(&(Arc::new(floored) as ArrayRef), &ArrowType::Int32)?, &ArrowType::Time32(TimeUnit::Millisecond))
    };
    match array.data_type() {
        ArrowType::Time32(TimeUnit::Millisecond) => Ok(Arc::clone(array)),
        ArrowType::Int32 => {
            let values = array.as_primitive::<Int32Type>().reinterpret_cast::<Time32MillisecondType>();
            Ok(Arc::new(values) as Arc<Time32MillisecondArray>)
        }
        ArrowType::Int64 => millis(1),
        ArrowType::Time64(TimeUnit::Microsecond) => millis(1000),
        ArrowType::Time64(TimeUnit::Nanosecond) => millis(1_000_000),
        other => Err(Error::corrupt(format!("a data file column of type {other} cannot be read as a time of day"))),
    }
}

/// Converts timestamps of any unit to the unit of `to`. Finer units are rounded down, coarser ones multiplied.
fn timestamp(array: &ArrayRef, from: TimeUnit, to: &DataType) -> Result<ArrayRef> {
    let to_type = to.arrow();
    if *array.data_type() == to_type {
        return Ok(Arc::clone(array));
    }
    let ArrowType::Timestamp(unit, zone) = to_type else { return Err(unfit(array, to)) };
    let values = cast(array, &ArrowType::Int64)?;
    let values = rescale(values.as_primitive(), per_second(from), per_second(unit))?;
    Ok(match unit {
        TimeUnit::Nanosecond => {
            Arc::new(values.reinterpret_cast::<TimestampNanosecondType>().with_timezone_opt(zone)) as ArrayRef
        }
        TimeUnit::Microsecond => {
            Arc::new(values.reinterpret_cast::<TimestampMicrosecondType>().with_timezone_opt(zone))
        }
        _ => Arc::new(values.reinterpret_cast::<TimestampMillisecondType>().with_timezone_opt(zone)),
    })
}

fn rescale(values: &Int64Array, from: i64, to: i64) -> Result<PrimitiveArray<Int64Type>> {
    match from.cmp(&to) {
        std::cmp::Ordering::Equal => Ok(values.clone()),
        std::cmp::Ordering::Greater => Ok(values.unary(|value| value.div_euclid(from / to))),
        std::cmp::Ordering::Less => values.try_unary(|value| {
            let scaled = value.checked_mul(to / from);
            scaled.ok_or_else(|| too_far(value, from, to))
        }),
    }
}

fn row(array: &StructArray, fields: &[DataField], to: &DataType, format: FileFormat) -> Result<ArrayRef> {
    let ArrowType::Struct(to) = to.arrow() else { return Err(Error::internal("the type of a ROW is not a struct")) };
    let column = |field: &DataField| match array.fields().find(&field.name) {
        None => Ok(new_null_array(&field.data_type.arrow(), array.len())),
        Some((position, _)) => convert(&child(array, position)?, &field.data_type, format)
            .map_err(|error| error.with("field", &field.name)),
    };
    let columns = fields.iter().map(column).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(StructArray::try_new_with_length(to, columns, array.nulls().cloned(), array.len())?))
}

fn list(array: &ArrayRef, element: &DataType, to: &DataType, format: FileFormat) -> Result<ArrayRef> {
    let ArrowType::List(field) = to.arrow() else { return Err(Error::internal("the type of an ARRAY is not a list")) };
    let list = Repeated::of(array).map_err(|_| unfit(array, to))?;
    let values = convert(&list.values, element, format)?;
    Ok(Arc::new(ListArray::try_new(field, list.offsets, values, list.nulls)?))
}

fn map(array: &ArrayRef, [key, value]: [&DataType; 2], to: &DataType, format: FileFormat) -> Result<ArrayRef> {
    let map = Repeated::of(array).map_err(|_| unfit(array, to))?;
    let Some(entries) = map.values.as_struct_opt().filter(|entries| entries.num_columns() == 2) else {
        return Err(unfit(array, to));
    };
    if entries.null_count() > 0 {
        return Err(Error::corrupt("a map has a NULL entry"));
    }
    let (keys, values) = (convert(&child(entries, 0)?, key, format)?, convert(&child(entries, 1)?, value, format)?);
    assemble_map(&to.arrow(), [keys, values], map.offsets, map.nulls)
}
