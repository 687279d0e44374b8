//! Defines data types (spec: "Data Types") and their representation in Arrow.
//!
//! | Paimon | Arrow |
//! |---|---|
//! | BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE | Boolean, Int8, Int16, Int32, Int64, Float32, Float64 |
//! | DECIMAL(p, s) | Decimal128(p, s) |
//! | CHAR(n), VARCHAR(n), STRING | Utf8 |
//! | BINARY(n), VARBINARY(n), BYTES, BLOB | Binary |
//! | DATE | Date32 |
//! | TIME(p) | Time32(ms): Paimon stores milliseconds |
//! | TIMESTAMP(p) | Timestamp(ms) for up to 3 digits, (us) for up to 6, (ns) above |
//! | TIMESTAMP(p) WITH LOCAL TIME ZONE | the same with zone UTC |
//! | ARRAY, MAP, ROW | List, Map (keys unsorted), Struct |
//! | MULTISET of t | Map from t to Int32 |
//! | VARIANT | Struct of metadata and value, both Binary; the field has the extension `arrow.parquet.variant` |

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, TimeUnit};
use frazil_core::error::Result;
use frazil_core::scalar::ScalarType;

/// A type and its nullability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataType {
    /// The type without nullability.
    pub root: TypeRoot,
    /// Whether values may be NULL.
    pub nullable: bool,
}

/// A type without nullability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeRoot {
    /// `true` or `false`.
    Boolean,
    /// An 8-bit integer.
    TinyInt,
    /// A 16-bit integer.
    SmallInt,
    /// A 32-bit integer.
    Int,
    /// A 64-bit integer.
    BigInt,
    /// An IEEE 754 single-precision float.
    Float,
    /// An IEEE 754 double-precision float.
    Double,
    /// A decimal: the total number of digits (1 to 38), and the number of digits after the point.
    Decimal(u8, u8),
    /// A string of at most this many characters, without padding.
    Char(u32),
    /// A string of at most this many characters; STRING has the maximum.
    VarChar(u32),
    /// A byte string of at most this many bytes, without padding.
    Binary(u32),
    /// A byte string of at most this many bytes; BYTES has the maximum.
    VarBinary(u32),
    /// Days since the epoch.
    Date,
    /// A time of day; the number of digits after the second.
    Time(u8),
    /// A wall-clock time; the number of digits after the second, 0 to 9.
    Timestamp(u8),
    /// An instant; the number of digits after the second, 0 to 9.
    LocalZonedTimestamp(u8),
    /// Values of one type, in order.
    Array(Box<DataType>),
    /// A map from keys to values.
    Map(Box<DataType>, Box<DataType>),
    /// Values with their multiplicity.
    Multiset(Box<DataType>),
    /// Fields by name.
    Row(Vec<DataField>),
    /// A value that includes its type.
    Variant,
    /// Bytes in a separate file.
    Blob,
}

/// A column, or a field of a ROW.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataField {
    /// The field id, which is never reused for another field of the table.
    pub id: i32,
    /// The name at this state of the table.
    pub name: String,
    /// The type of the field.
    pub data_type: DataType,
    /// A comment.
    pub description: Option<String>,
    /// The value that writers use if none is given. Readers never use it.
    pub default_value: Option<String>,
}

/// The key of the Paimon field id in Arrow field metadata.
pub const FIELD_ID_KEY: &str = "paimon.id";

const EXTENSION_NAME: &str = "ARROW:extension:name";
const EXTENSION_METADATA: &str = "ARROW:extension:metadata";

impl DataType {
    /// Creates a type whose values may be NULL.
    pub fn nullable(root: TypeRoot) -> Self {
        Self { root, nullable: true }
    }

    /// Creates a type whose values are never NULL.
    pub fn required(root: TypeRoot) -> Self {
        Self { root, nullable: false }
    }

    /// Returns the Arrow type of the values.
    pub fn arrow(&self) -> ArrowType {
        match &self.root {
            TypeRoot::Boolean => ArrowType::Boolean,
            TypeRoot::TinyInt => ArrowType::Int8,
            TypeRoot::SmallInt => ArrowType::Int16,
            TypeRoot::Int => ArrowType::Int32,
            TypeRoot::BigInt => ArrowType::Int64,
            TypeRoot::Float => ArrowType::Float32,
            TypeRoot::Double => ArrowType::Float64,
            TypeRoot::Decimal(precision, scale) => ArrowType::Decimal128(*precision, scale.cast_signed()),
            TypeRoot::Char(_) | TypeRoot::VarChar(_) => ArrowType::Utf8,
            TypeRoot::Binary(_) | TypeRoot::VarBinary(_) | TypeRoot::Blob => ArrowType::Binary,
            TypeRoot::Date => ArrowType::Date32,
            TypeRoot::Time(_) => ArrowType::Time32(TimeUnit::Millisecond),
            TypeRoot::Timestamp(digits) => ArrowType::Timestamp(unit(*digits), None),
            TypeRoot::LocalZonedTimestamp(digits) => ArrowType::Timestamp(unit(*digits), Some("UTC".into())),
            TypeRoot::Array(element) => ArrowType::List(element.arrow_field("element")),
            TypeRoot::Map(key, value) => map(key, value.arrow_field("value")),
            TypeRoot::Multiset(element) => map(element, Arc::new(Field::new("value", ArrowType::Int32, false))),
            TypeRoot::Row(fields) => ArrowType::Struct(arrow_fields(fields)),
            TypeRoot::Variant => ArrowType::Struct(Fields::from(vec![
                Field::new("metadata", ArrowType::Binary, false),
                Field::new("value", ArrowType::Binary, false),
            ])),
        }
    }

    /// Returns the type of the values in predicates, or None if they cannot be compared.
    pub fn scalar(&self) -> Option<ScalarType> {
        Some(match &self.root {
            TypeRoot::Boolean => ScalarType::Boolean,
            TypeRoot::TinyInt => ScalarType::Int8,
            TypeRoot::SmallInt => ScalarType::Int16,
            TypeRoot::Int => ScalarType::Int32,
            TypeRoot::BigInt => ScalarType::Int64,
            TypeRoot::Float => ScalarType::Float32,
            TypeRoot::Double => ScalarType::Float64,
            TypeRoot::Decimal(precision, scale) => {
                ScalarType::Decimal { precision: *precision, scale: scale.cast_signed() }
            }
            TypeRoot::Char(_) | TypeRoot::VarChar(_) => ScalarType::String,
            TypeRoot::Binary(_) | TypeRoot::VarBinary(_) => ScalarType::Binary,
            TypeRoot::Date => ScalarType::Date,
            TypeRoot::Time(_) => ScalarType::Time,
            TypeRoot::Timestamp(digits) => ScalarType::Timestamp { unit: unit(*digits), utc: false },
            TypeRoot::LocalZonedTimestamp(digits) => ScalarType::Timestamp { unit: unit(*digits), utc: true },
            TypeRoot::Array(_)
            | TypeRoot::Map(..)
            | TypeRoot::Multiset(_)
            | TypeRoot::Row(_)
            | TypeRoot::Variant
            | TypeRoot::Blob => return None,
        })
    }

    fn arrow_field(&self, name: &str) -> FieldRef {
        Arc::new(self.field(name))
    }

    /// Returns an Arrow field of this type. For a variant, the metadata includes the extension type.
    pub fn field(&self, name: &str) -> Field {
        let field = Field::new(name, self.arrow(), self.nullable);
        if self.root != TypeRoot::Variant {
            return field;
        }
        let extension = [(EXTENSION_NAME, "arrow.parquet.variant"), (EXTENSION_METADATA, "")];
        field.with_metadata(extension.map(|(key, value)| (key.to_string(), value.to_string())).into())
    }
}

impl DataField {
    /// Returns the Arrow field, with the field id in its metadata.
    pub fn arrow(&self) -> Field {
        let mut field = self.data_type.field(&self.name);
        field.metadata_mut().insert(FIELD_ID_KEY.to_string(), self.id.to_string());
        field
    }
}

/// Returns the Arrow fields of columns.
pub fn arrow_fields(fields: &[DataField]) -> Fields {
    fields.iter().map(DataField::arrow).collect()
}

/// Converts values to the form that predicates compare, which is the type [`ScalarType::arrow`].
///
/// # Errors
/// Does not fail for arrays of [`DataType::arrow`] types.
pub fn comparable(values: &ArrayRef) -> Result<ArrayRef> {
    match values.data_type() {
        ArrowType::Time32(_) => Ok(cast(values, &ScalarType::Time.arrow())?),
        _ => Ok(values.clone()),
    }
}

fn unit(digits: u8) -> TimeUnit {
    match digits {
        0..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

fn map(key: &DataType, value: FieldRef) -> ArrowType {
    // Keys are not nullable, regardless of their type: Arrow does not support nullable keys.
    let entries = Fields::from(vec![Arc::new(Field::new("key", key.arrow(), false)), value]);
    ArrowType::Map(Arc::new(Field::new("entries", ArrowType::Struct(entries), false)), false)
}
