//! Maps a writer's type to the corresponding Arrow type.
//!
//! | Avro | Arrow |
//! |---|---|
//! | boolean, int, long, float, double, bytes, string | Boolean, Int32, Int64, Float32, Float64, Binary, Utf8 |
//! | fixed(n) | FixedSizeBinary(n); Binary for n = 0 |
//! | enum | Utf8 |
//! | record, variant | Struct |
//! | array | List of `element` |
//! | map, array with logical type map | Map of `key` and `value` |
//! | union of null and T | nullable T; unions of several types are unsupported |
//! | date, time-millis, time-micros | Date32, Time32(ms), Time64(us) |
//! | timestamp-x, local-timestamp-x | Timestamp(x), with zone UTC if it is an instant |
//! | decimal(p, s) | Decimal128(p, s) |
//! | uuid | FixedSizeBinary(16), extension arrow.uuid |
//! | duration | FixedSizeBinary(12) |
//!
//! Field ids are stored in the field metadata under [`FIELD_ID_KEY`], including those of list elements and map parts.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType, Field, FieldRef, Fields, TimeUnit};

use super::schema::{Logical, Record, Schema, Shape};
use crate::error::{Error, ErrorKind, Result};

/// The key of field ids in the metadata of Arrow fields; the value is a decimal string.
pub const FIELD_ID_KEY: &str = "PARQUET:field_id";

/// The maximum length of a `fixed` value: nulls in a column of such values need as much memory as values.
pub const MAX_FIXED_BYTES: usize = 16 << 20;

const EXTENSION_KEY: &str = "ARROW:extension:name";
const UUID_EXTENSION: &str = "arrow.uuid";

/// Returns the field for values of `schema`.
///
/// # Errors
/// `Unsupported` for unions of several types and decimals of more than 38 digits; `LimitExceeded` for a `fixed` above
/// [`MAX_FIXED_BYTES`].
pub(super) fn field(name: &str, id: Option<i32>, schema: &Schema) -> Result<Field> {
    let value = schema.non_null().ok_or_else(|| {
        Error::unsupported("an Avro union of several types is not supported")
            .with("field", name)
            .hint("read only the other columns")
    })?;
    let mut metadata = HashMap::new();
    if let Some(id) = id {
        metadata.insert(FIELD_ID_KEY.to_owned(), id.to_string());
    }
    if value.logical == Some(Logical::Uuid) {
        metadata.insert(EXTENSION_KEY.to_owned(), UUID_EXTENSION.to_owned());
    }
    let data_type = data_type(value).map_err(|e| e.with("field", name))?;
    Ok(Field::new(name, data_type, schema.is_nullable()).with_metadata(metadata))
}

/// Returns the Arrow fields for the fields of a record.
pub(super) fn fields(record: &Record) -> Result<Fields> {
    record.fields.iter().map(|f| field(&f.name, f.id, &f.schema)).collect()
}

/// Returns the type for non-null values of `schema`, which is not a union.
pub(super) fn data_type(schema: &Schema) -> Result<DataType> {
    if let Some(logical) = schema.logical.and_then(|logical| scalar(logical).transpose()) {
        return logical;
    }
    Ok(match &schema.shape {
        Shape::Null => DataType::Null,
        Shape::Boolean => DataType::Boolean,
        Shape::Int => DataType::Int32,
        Shape::Long => DataType::Int64,
        Shape::Float => DataType::Float32,
        Shape::Double => DataType::Float64,
        Shape::Bytes | Shape::Fixed(0) => DataType::Binary,
        Shape::String | Shape::Enum(_) => DataType::Utf8,
        Shape::Fixed(size) | Shape::SizedFixed(size) => fixed(*size)?,
        Shape::Record(record) => DataType::Struct(fields(record)?),
        Shape::Array(items) => match (schema.logical, items.as_record()) {
            (Some(Logical::Map), Some(entry)) => map(&fields(entry)?)?,
            _ => DataType::List(Arc::new(field("element", schema.ids.element, items)?)),
        },
        Shape::Map(values) => {
            let key = field("key", schema.ids.key, &Schema::plain(Shape::String))?;
            map(&Fields::from(vec![key, field("value", schema.ids.value, values)?]))?
        }
        Shape::Union(_) => return Err(Error::internal("a union was not resolved to its value type")),
    })
}

/// Returns a map of these two fields, with Arrow's names. Keys are not nullable in Arrow, whatever the schema declares.
fn map(parts: &Fields) -> Result<DataType> {
    let [key, value] = parts.as_ref() else { return Err(Error::corrupt("a map entry does not have two fields")) };
    let key = key.as_ref().clone().with_name("key").with_nullable(false);
    let value = value.as_ref().clone().with_name("value");
    let entries = Field::new("entries", DataType::Struct(Fields::from(vec![key, value])), false);
    Ok(DataType::Map(Arc::new(entries), false))
}

/// Returns the type with all decimals widened to 38 digits and all strings replaced by binary.
pub(super) fn wide(data_type: DataType) -> DataType {
    let field = |field: &FieldRef| {
        let data_type = wide(field.data_type().clone());
        Arc::new(field.as_ref().clone().with_data_type(data_type))
    };
    match data_type {
        DataType::Decimal128(_, scale) => DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale),
        DataType::Utf8 => DataType::Binary,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::List(element) => DataType::List(field(&element)),
        DataType::Map(entries, sorted) => DataType::Map(field(&entries), sorted),
        other => other,
    }
}

fn fixed(size: usize) -> Result<DataType> {
    match i32::try_from(size) {
        Ok(width) if size <= MAX_FIXED_BYTES => Ok(DataType::FixedSizeBinary(width)),
        _ => Err(Error::new(
            ErrorKind::LimitExceeded,
            format!("an Avro fixed of {size} bytes exceeds the limit of {MAX_FIXED_BYTES}"),
        )),
    }
}

/// Returns the Arrow type of a logical type with single values. `None` for maps and variants, whose Arrow type is
/// derived from the shape.
fn scalar(logical: Logical) -> Result<Option<DataType>> {
    Ok(Some(match logical {
        Logical::Date => DataType::Date32,
        Logical::Time(TimeUnit::Millisecond) => DataType::Time32(TimeUnit::Millisecond),
        Logical::Time(unit) => DataType::Time64(unit),
        Logical::Timestamp { unit, utc } => DataType::Timestamp(unit, utc.then(|| "UTC".into())),
        Logical::Decimal { precision, scale } => match (u8::try_from(precision), i8::try_from(scale)) {
            (Ok(precision), Ok(scale)) if precision <= DECIMAL128_MAX_PRECISION => {
                DataType::Decimal128(precision, scale)
            }
            _ => {
                return Err(Error::unsupported(format!(
                    "decimals of {precision} digits are not supported, at most 38 are"
                )));
            }
        },
        Logical::Uuid => DataType::FixedSizeBinary(16),
        Logical::Duration => DataType::FixedSizeBinary(12),
        Logical::Map | Logical::Variant => return Ok(None),
    }))
}
