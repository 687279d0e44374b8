//! Converts Iceberg types to Arrow types.
//!
//! Field ids are stored in the metadata of each Arrow field under [`FIELD_ID`]. `uuid` and `variant` have the names of
//! Arrow's canonical extension types; readers that do not support them see their storage types.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use frazil_core::error::{Error, Result};

use super::types::{NestedField, PrimitiveType, StructType, Type};

/// The key of the field id (decimal text) in the metadata of an Arrow field.
pub const FIELD_ID: &str = "PARQUET:field_id";

const EXTENSION_NAME: &str = "ARROW:extension:name";
const UUID_EXTENSION: &str = "arrow.uuid";
const EXTENSION_METADATA: &str = "ARROW:extension:metadata";

/// Returns the field id in the metadata of an Arrow field, if it is valid.
pub fn field_id(field: &Field) -> Option<i32> {
    field.metadata().get(FIELD_ID)?.parse().ok()
}

/// Returns the schema of batches with these fields.
pub fn arrow_schema(fields: &StructType) -> Schema {
    Schema::new(arrow_fields(fields))
}

/// Returns the Arrow fields of a struct.
pub fn arrow_fields(fields: &StructType) -> Fields {
    fields.fields.iter().map(arrow_field).collect()
}

/// Returns a field with its id, nullable unless required.
pub fn arrow_field(field: &NestedField) -> Field {
    let mut metadata = HashMap::from([(FIELD_ID.to_string(), field.id.to_string())]);
    let extension = match &field.field_type {
        Type::Primitive(PrimitiveType::Uuid) => Some(UUID_EXTENSION),
        Type::Primitive(PrimitiveType::Variant) => Some("arrow.parquet.variant"),
        _ => None,
    };
    if let Some(name) = extension {
        metadata.insert(EXTENSION_NAME.to_string(), name.to_string());
        metadata.insert(EXTENSION_METADATA.to_string(), String::new());
    }
    Field::new(&field.name, arrow_type(&field.field_type), !field.required).with_metadata(metadata)
}

/// Returns the Arrow type for values of this type; nested fields have their ids.
pub fn arrow_type(field_type: &Type) -> DataType {
    match field_type {
        Type::Primitive(primitive) => arrow_primitive(primitive),
        Type::Struct(fields) => DataType::Struct(arrow_fields(fields)),
        Type::List(list) => DataType::List(Arc::new(arrow_field(&list.element))),
        Type::Map(map) => DataType::Map(Arc::new(map_entries(&map.key, &map.value)), false),
    }
}

/// Returns the Arrow type of a primitive type.
pub fn arrow_primitive(primitive: &PrimitiveType) -> DataType {
    match primitive {
        PrimitiveType::Variant => DataType::Struct(variant_fields()),
        PrimitiveType::Geometry(_) | PrimitiveType::Geography(..) => DataType::Binary,
        comparable => comparable.scalar().map_or(DataType::Null, frazil_core::scalar::ScalarType::arrow),
    }
}

/// Returns the two binary fields of an unshredded variant.
pub(crate) fn variant_fields() -> Fields {
    Fields::from(vec![Field::new("metadata", DataType::Binary, false), Field::new("value", DataType::Binary, false)])
}

/// Returns the entries field of a map. Its key is always non-nullable, even if the schema declares the key optional.
fn map_entries(key: &NestedField, value: &NestedField) -> Field {
    let entries = Fields::from(vec![arrow_field(key).with_nullable(false), arrow_field(value)]);
    Field::new("entries", DataType::Struct(entries), false)
}

/// Returns the Iceberg type for the values of an Arrow column. Large and view types, dictionaries and small integers
/// map to the type that holds their values.
///
/// # Errors
/// `InvalidArgument` for types without an Iceberg equivalent.
pub fn primitive_of(field: &Field) -> Result<PrimitiveType> {
    use DataType as D;
    let extension = field.metadata().get(EXTENSION_NAME).map(String::as_str);
    let primitive = match field.data_type() {
        D::Dictionary(_, values) => return primitive_of(&field.clone().with_data_type(values.as_ref().clone())),
        D::Null => PrimitiveType::Unknown,
        D::Boolean => PrimitiveType::Boolean,
        D::Int8 | D::Int16 | D::Int32 | D::UInt8 | D::UInt16 => PrimitiveType::Int,
        D::Int64 | D::UInt32 => PrimitiveType::Long,
        D::Float32 => PrimitiveType::Float,
        D::Float64 => PrimitiveType::Double,
        D::Decimal128(precision, scale) if *scale >= 0 => {
            PrimitiveType::Decimal { precision: *precision, scale: scale.unsigned_abs() }
        }
        D::Date32 => PrimitiveType::Date,
        D::Time64(TimeUnit::Microsecond) => PrimitiveType::Time,
        D::Timestamp(TimeUnit::Microsecond, None) => PrimitiveType::Timestamp,
        D::Timestamp(TimeUnit::Microsecond, Some(_)) => PrimitiveType::Timestamptz,
        D::Timestamp(TimeUnit::Nanosecond, None) => PrimitiveType::TimestampNs,
        D::Timestamp(TimeUnit::Nanosecond, Some(_)) => PrimitiveType::TimestamptzNs,
        D::Utf8 | D::LargeUtf8 | D::Utf8View => PrimitiveType::String,
        D::Binary | D::LargeBinary | D::BinaryView => PrimitiveType::Binary,
        D::FixedSizeBinary(16) if extension == Some(UUID_EXTENSION) => PrimitiveType::Uuid,
        D::FixedSizeBinary(length) => PrimitiveType::Fixed(length.unsigned_abs()),
        other => return Err(Error::invalid(format!("the Arrow type {other} has no Iceberg equivalent"))),
    };
    Ok(primitive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::types::{ListType, MapType};
    use arrow_schema::TimeUnit;

    fn field(id: i32, name: &str, field_type: Type) -> NestedField {
        NestedField {
            id,
            name: name.to_string(),
            required: false,
            field_type,
            doc: None,
            initial_default: None,
            write_default: None,
        }
    }

    #[test]
    fn ids_and_extensions_travel_in_metadata_at_every_level() {
        let element = field(3, "element", Type::Primitive(PrimitiveType::Uuid));
        let list = field(2, "l", Type::List(Arc::new(ListType { element })));
        let arrow = arrow_field(&list);
        assert_eq!(arrow.metadata().get(FIELD_ID).map(String::as_str), Some("2"));
        let DataType::List(element) = arrow.data_type() else { panic!("{arrow:?}") };
        assert_eq!(element.metadata().get(FIELD_ID).map(String::as_str), Some("3"));
        assert_eq!(element.metadata().get(EXTENSION_NAME).map(String::as_str), Some("arrow.uuid"));
        assert_eq!(element.data_type(), &DataType::FixedSizeBinary(16));
    }

    #[test]
    fn map_keys_are_not_null_and_values_as_the_schema_says() {
        let map = MapType {
            key: field(2, "key", Type::Primitive(PrimitiveType::String)),
            value: field(3, "value", Type::Primitive(PrimitiveType::Int)),
        };
        let DataType::Map(entries, false) = arrow_type(&Type::Map(Arc::new(map))) else { panic!("no map") };
        let DataType::Struct(entries) = entries.data_type() else { panic!("no entries") };
        assert!(!entries[0].is_nullable());
        assert!(entries[1].is_nullable());
    }

    #[test]
    fn every_primitive_has_its_arrow_type() {
        use PrimitiveType as P;
        let utc = Some("UTC".into());
        for (primitive, expected) in [
            (P::Unknown, DataType::Null),
            (P::Decimal { precision: 9, scale: 2 }, DataType::Decimal128(9, 2)),
            (P::Time, DataType::Time64(TimeUnit::Microsecond)),
            (P::Timestamptz, DataType::Timestamp(TimeUnit::Microsecond, utc.clone())),
            (P::TimestampNs, DataType::Timestamp(TimeUnit::Nanosecond, None)),
            (P::TimestamptzNs, DataType::Timestamp(TimeUnit::Nanosecond, utc)),
            (P::Fixed(4), DataType::FixedSizeBinary(4)),
            (P::Geometry(None), DataType::Binary),
        ] {
            assert_eq!(arrow_primitive(&primitive), expected);
        }
    }
}
