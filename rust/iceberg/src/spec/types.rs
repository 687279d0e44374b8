//! Types of Iceberg v1-v3 (spec: "Schemas and Data Types", appendices A and C).

use std::sync::Arc;

use arrow_schema::TimeUnit;
use frazil_core::scalar::ScalarType;

/// A type of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// A type without fields.
    Primitive(PrimitiveType),
    /// A struct of named fields.
    Struct(StructType),
    /// A list of elements of one type.
    List(Arc<ListType>),
    /// A map of keys and values; keys are never NULL.
    Map(Arc<MapType>),
}

/// A type without fields.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PrimitiveType {
    /// v3: `unknown`; the value is always NULL and is not stored.
    Unknown,
    /// `boolean`
    Boolean,
    /// `int`, 32 bits.
    Int,
    /// `long`, 64 bits.
    Long,
    /// `float`, IEEE 754 single.
    Float,
    /// `double`, IEEE 754 double.
    Double,
    /// `decimal(P, S)`, P at most 38.
    Decimal {
        /// P, the total number of digits.
        precision: u8,
        /// S, the number of digits after the decimal point.
        scale: u8,
    },
    /// `date`, days since the epoch.
    Date,
    /// `time`, microseconds since midnight.
    Time,
    /// `timestamp`, microseconds, no zone.
    Timestamp,
    /// `timestamptz`, microseconds, UTC.
    Timestamptz,
    /// v3: `timestamp_ns`, nanoseconds, no zone.
    TimestampNs,
    /// v3: `timestamptz_ns`, nanoseconds, UTC.
    TimestamptzNs,
    /// `string`, UTF-8.
    String,
    /// `uuid`, sixteen bytes, big-endian.
    Uuid,
    /// `fixed[L]`.
    Fixed(u32),
    /// `binary`.
    Binary,
    /// v3: `variant`, a pair of metadata and value bytes.
    Variant,
    /// v3: `geometry(C)`, WKB; the coordinate reference system, or None for the default `OGC:CRS84`.
    Geometry(Option<String>),
    /// v3: `geography(C, A)`, WKB; coordinate reference system and edge algorithm, None for the defaults.
    Geography(Option<String>, Option<String>),
}

/// A struct type, which is an ordered list of fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StructType {
    /// The fields in the order of the schema.
    pub fields: Vec<NestedField>,
}

/// A field of a struct (or of a schema).
#[derive(Debug, Clone, PartialEq)]
pub struct NestedField {
    /// The field id, unique in a table.
    pub id: i32,
    /// The name in this schema.
    pub name: String,
    /// Whether NULL is not allowed.
    pub required: bool,
    /// The type.
    pub field_type: Type,
    /// The documentation.
    pub doc: Option<String>,
    /// v3: the value of rows written before the field was added.
    pub initial_default: Option<Value>,
    /// v3: the value of rows if the writer does not supply the field.
    pub write_default: Option<Value>,
}

impl NestedField {
    /// Creates a field without documentation and defaults.
    pub fn new(id: i32, name: impl Into<String>, field_type: Type, required: bool) -> Self {
        let name = name.into();
        Self { id, name, required, field_type, doc: None, initial_default: None, write_default: None }
    }
}

/// A list type.
#[derive(Debug, Clone, PartialEq)]
pub struct ListType {
    /// The element as a field with an id, the name `element`, and its nullability.
    pub element: NestedField,
}

/// A map type.
#[derive(Debug, Clone, PartialEq)]
pub struct MapType {
    /// The key as a field named `key`, always required.
    pub key: NestedField,
    /// The value as a field named `value`.
    pub value: NestedField,
}

/// A value of any type, used for defaults (spec: appendix D, JSON single-value serialization).
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A primitive value.
    Scalar(frazil_core::scalar::Scalar),
    /// The field values of a struct by field id; missing fields get their own default.
    Struct(Vec<(i32, Option<Value>)>),
    /// The elements of a list.
    List(Vec<Option<Value>>),
    /// The entries of a map.
    Map(Vec<(Value, Option<Value>)>),
}

impl PrimitiveType {
    /// Returns the type used for comparison in predicates, bounds and partition tuples; None for variant, geometry and
    /// geography, which cannot be compared.
    pub fn scalar(&self) -> Option<ScalarType> {
        let timestamp = |unit, utc| Some(ScalarType::Timestamp { unit, utc });
        match self {
            Self::Unknown => Some(ScalarType::Null),
            Self::Boolean => Some(ScalarType::Boolean),
            Self::Int => Some(ScalarType::Int32),
            Self::Long => Some(ScalarType::Int64),
            Self::Float => Some(ScalarType::Float32),
            Self::Double => Some(ScalarType::Float64),
            Self::Decimal { precision, scale } => {
                Some(ScalarType::Decimal { precision: *precision, scale: scale.cast_signed() })
            }
            Self::Date => Some(ScalarType::Date),
            Self::Time => Some(ScalarType::Time),
            Self::Timestamp => timestamp(TimeUnit::Microsecond, false),
            Self::Timestamptz => timestamp(TimeUnit::Microsecond, true),
            Self::TimestampNs => timestamp(TimeUnit::Nanosecond, false),
            Self::TimestamptzNs => timestamp(TimeUnit::Nanosecond, true),
            Self::String => Some(ScalarType::String),
            Self::Uuid => Some(ScalarType::Uuid),
            Self::Fixed(length) => Some(ScalarType::Fixed(*length)),
            Self::Binary => Some(ScalarType::Binary),
            Self::Variant | Self::Geometry(_) | Self::Geography(..) => None,
        }
    }
}
