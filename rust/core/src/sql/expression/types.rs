//! The types of expressions: their Arrow representations, and the common type of two types.

use arrow_schema::{DataType, Field, TimeUnit};

use crate::scalar::ScalarType;

/// The maximum precision of a decimal.
pub(super) const MAX_PRECISION: u8 = 38;
/// The maximum precision of decimals during a comparison.
const MAX_WIDE_PRECISION: u8 = 76;
const MICROS: TimeUnit = TimeUnit::Microsecond;

/// Returns the Arrow type in which expressions process values of an Arrow type: narrow integers, dictionaries and large
/// strings are widened. Nested types, and types that no operator supports, are unchanged.
pub fn normal_type(data_type: &DataType) -> DataType {
    use DataType as D;
    match data_type {
        D::Dictionary(_, values) => normal_type(values),
        D::RunEndEncoded(_, values) => normal_type(values.data_type()),
        D::Int8 | D::Int16 | D::UInt8 | D::UInt16 => D::Int32,
        D::UInt32 => D::Int64,
        D::Float16 => D::Float32,
        D::Decimal32(precision, scale) | D::Decimal64(precision, scale) => D::Decimal128(*precision, *scale),
        D::Time32(_) => D::Time64(MICROS),
        D::Timestamp(TimeUnit::Nanosecond, zone) => timestamp(TimeUnit::Nanosecond, zone.is_some()),
        D::Timestamp(_, zone) => timestamp(MICROS, zone.is_some()),
        D::LargeUtf8 | D::Utf8View => D::Utf8,
        D::LargeBinary | D::BinaryView => D::Binary,
        other => other.clone(),
    }
}

/// Returns the name of a type for messages.
pub(super) fn shown(data_type: &DataType) -> String {
    scalar_type(data_type).map_or_else(|| data_type.to_string(), |data_type| data_type.to_string())
}

/// Returns the scalar type for an Arrow type, or None if there is none.
pub(super) fn scalar_type(data_type: &DataType) -> Option<ScalarType> {
    ScalarType::from_arrow(&Field::new("", data_type.clone(), true))
}

/// Returns the type by which literals are read as values of an Arrow type. Those of 16 bytes may be UUIDs.
pub(super) fn literal_type(data_type: &DataType) -> Option<ScalarType> {
    if *data_type == DataType::FixedSizeBinary(16) { Some(ScalarType::Uuid) } else { scalar_type(data_type) }
}

/// Returns the type with this name in CAST.
pub(super) fn type_named(lower: &str, arguments: &[String]) -> Option<DataType> {
    let number = |text: &String| text.parse::<u8>().ok();
    Some(match (lower, arguments) {
        ("boolean", []) => DataType::Boolean,
        ("int" | "integer", []) => DataType::Int32,
        ("long" | "bigint", []) => DataType::Int64,
        ("float" | "real", []) => DataType::Float32,
        ("double", []) => DataType::Float64,
        ("decimal" | "numeric", [precision]) => decimal(number(precision)?, 0)?,
        ("decimal" | "numeric", [precision, scale]) => decimal(number(precision)?, number(scale)?)?,
        ("date", []) => DataType::Date32,
        ("time", []) => DataType::Time64(MICROS),
        ("timestamp", []) => timestamp(MICROS, false),
        ("timestamptz", []) => timestamp(MICROS, true),
        ("timestamp_ns", []) => timestamp(TimeUnit::Nanosecond, false),
        ("timestamptz_ns", []) => timestamp(TimeUnit::Nanosecond, true),
        ("string" | "text" | "varchar", []) => DataType::Utf8,
        ("uuid", []) => DataType::FixedSizeBinary(16),
        ("binary", []) => DataType::Binary,
        _ => return None,
    })
}

/// Returns the name of a type in CAST, for which [`type_named`] returns the type.
pub(super) fn name_of(data_type: &DataType) -> String {
    match data_type {
        DataType::Date32 => "date".to_string(),
        DataType::Time64(_) => "time".to_string(),
        DataType::Timestamp(unit, zone) => {
            let zone = if zone.is_some() { "tz" } else { "" };
            let unit = if *unit == TimeUnit::Nanosecond { "_ns" } else { "" };
            format!("timestamp{zone}{unit}")
        }
        DataType::FixedSizeBinary(_) => "uuid".to_string(),
        DataType::Decimal128(precision, scale) => format!("decimal({precision}, {scale})"),
        DataType::Boolean => "boolean".to_string(),
        DataType::Int32 => "int".to_string(),
        DataType::Int64 => "long".to_string(),
        DataType::Float32 => "float".to_string(),
        DataType::Float64 => "double".to_string(),
        DataType::Utf8 => "string".to_string(),
        DataType::Binary => "binary".to_string(),
        other => other.to_string(),
    }
}

fn decimal(precision: u8, scale: u8) -> Option<DataType> {
    ((1..=MAX_PRECISION).contains(&precision) && scale <= precision)
        .then(|| DataType::Decimal128(precision, scale.cast_signed()))
}

pub(super) fn timestamp(unit: TimeUnit, utc: bool) -> DataType {
    ScalarType::Timestamp { unit, utc }.arrow()
}

pub(super) fn is_numeric(data_type: &DataType) -> bool {
    use DataType as D;
    matches!(data_type, D::Int32 | D::Int64 | D::Decimal128(..) | D::Float32 | D::Float64)
}

pub(super) fn is_integer(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int32 | DataType::Int64)
}

/// Returns the total and fractional digits of an exact number.
pub(super) fn digits(data_type: &DataType) -> Option<(u8, i8)> {
    match data_type {
        DataType::Int32 => Some((10, 0)),
        DataType::Int64 => Some((19, 0)),
        DataType::Decimal128(precision, scale) => Some((*precision, *scale)),
        _ => None,
    }
}

/// Returns the number of digits before the point, which exceeds the precision if the scale is negative.
pub(super) fn whole_digits(precision: u8, scale: i8) -> i16 {
    i16::from(precision) - i16::from(scale)
}

/// Returns the common type of two types, for comparisons, CASE and keys; None if there is none. Values are converted
/// exactly, except that numbers combined with a float become doubles.
pub(super) fn common(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType as D;
    Some(match (a, b) {
        _ if a == b => a.clone(),
        (D::Null, other) | (other, D::Null) => other.clone(),
        (D::Int32 | D::Int64, D::Int32 | D::Int64) => D::Int64,
        _ if is_numeric(a) && is_numeric(b) => match (digits(a), digits(b)) {
            (Some((p1, s1)), Some((p2, s2))) => {
                let scale = s1.max(s2);
                let whole = whole_digits(p1, s1).max(whole_digits(p2, s2));
                let precision = u8::try_from(whole + i16::from(scale)).ok().filter(|p| *p <= MAX_WIDE_PRECISION)?;
                if precision > MAX_PRECISION {
                    D::Decimal256(precision, scale)
                } else {
                    D::Decimal128(precision, scale)
                }
            }
            _ => D::Float64,
        },
        (D::Date32, D::Timestamp(..)) => b.clone(),
        (D::Timestamp(..), D::Date32) => a.clone(),
        (D::Timestamp(_, zone), D::Timestamp(_, other)) if zone.is_some() == other.is_some() => {
            timestamp(TimeUnit::Nanosecond, zone.is_some())
        }
        (D::Binary, D::FixedSizeBinary(_)) | (D::FixedSizeBinary(_), D::Binary) => D::Binary,
        _ if a.is_nested() && adoptable(b, a) => a.clone(),
        _ => return None,
    })
}

/// Returns whether a column can be set to values of another type, all of which it can hold.
pub fn takes(from: &DataType, to: &DataType) -> bool {
    widens(&normal_type(from), &normal_type(to))
}

/// Returns whether values are rounded or checked when a column of type `to` is set to them: numbers, except that those
/// with a fraction do not become integers, and timestamps, which become dates.
pub(super) fn assigned_by_cast(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    match (from, to) {
        _ if widens(from, to) => false,
        (from, to) if is_numeric(from) && is_numeric(to) => is_integer(from) || !is_integer(to),
        (D::Date32, D::Timestamp(..)) | (D::Timestamp(..), D::Date32) => true,
        _ => false,
    }
}

/// Returns whether `to` can hold every value of `from`. Digits that may not fit are not considered, because the cast
/// checks them.
pub(super) fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    match (from, to) {
        _ if from == to => true,
        (D::Null, _)
        | (D::Int32, D::Int64 | D::Float64)
        | (D::Float32, D::Float64)
        | (D::FixedSizeBinary(_), D::Binary) => true,
        (D::Int32 | D::Int64, D::Decimal128(precision, scale)) => {
            let (whole, _) = digits(from).unwrap_or_default();
            whole_digits(*precision, *scale) >= i16::from(whole)
        }
        (D::Decimal128(_, from), D::Decimal128(_, to)) => from <= to,
        (D::Timestamp(TimeUnit::Microsecond, from), D::Timestamp(TimeUnit::Nanosecond, to)) => {
            from.is_some() == to.is_some()
        }
        _ => adoptable(from, to),
    }
}

/// Returns whether values of a nested type can be converted part by part, with struct fields matched by name.
fn adoptable(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    let part = |from: &Field, to: &Field| widens(&normal_type(from.data_type()), &normal_type(to.data_type()));
    match (from, to) {
        (D::Struct(from), D::Struct(to)) => {
            from.iter().all(|field| to.find(field.name()).is_some_and(|(_, known)| part(field, known)))
        }
        (D::List(from) | D::LargeList(from), D::List(to) | D::LargeList(to)) => part(from, to),
        (D::Map(from, _), D::Map(to, _)) => match (from.data_type(), to.data_type()) {
            (D::Struct(from), D::Struct(to)) => {
                from.len() == to.len() && from.iter().zip(to.iter()).all(|(from, to)| part(from, to))
            }
            _ => false,
        },
        _ => false,
    }
}
