//! JSON single-value serialization of field defaults (spec: appendix D).
//!
//! | type | JSON |
//! | --- | --- |
//! | boolean, int, long, float, double | `true`, `34`, `1.5` |
//! | decimal(P, S) | string with exactly S digits after the decimal point: `"14.20"` |
//! | date, time, timestamp | ISO string: `"2017-11-16"`, `"22:31:08.123456"`, `"2017-11-16T22:31:08.123456"` |
//! | timestamptz | the same with `+00:00` appended |
//! | string, uuid | string |
//! | fixed, binary | hexadecimal string |
//! | struct | object by field id: `{"1": 1, "2": "bar"}` |
//! | list | array |
//! | map | `{"keys": [...], "values": [...]}` |
//!
//! Unknown, variant, geometry and geography have no JSON values: their default must be null.

use arrow_schema::TimeUnit;
use frazil_core::error::{Error, Result};
use frazil_core::hex;
use frazil_core::scalar::{Scalar, decimal_text};
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::iso;
use super::json::{self, At, Object};
use super::types::{PrimitiveType, StructType, Type, Value};

/// Reads a value of a type; None for null.
///
/// # Errors
/// `CorruptMetadata` if the JSON is not a value of that type.
pub(crate) fn read_value(raw: &RawValue, value_type: &Type, at: &At<'_>) -> Result<Option<Value>> {
    if json::is_null(raw) {
        return Ok(None);
    }
    match value_type {
        Type::Primitive(primitive) => match read_scalar(raw.get(), primitive) {
            Some(scalar) => Ok(Some(Value::Scalar(scalar))),
            None => Err(at.corrupt(format!("invalid value for the type {primitive}"))),
        },
        Type::Struct(fields) => read_struct(raw, fields, at).map(Some),
        Type::List(list) => {
            let elements = read_elements(raw, &list.element.field_type, at)?;
            Ok(Some(Value::List(elements)))
        }
        Type::Map(map) => {
            let object = Object::parse(raw.get(), at)?;
            let (keys_at, values_at) = (at.key("keys"), at.key("values"));
            let keys = read_elements(object.required_raw("keys", at)?, &map.key.field_type, &keys_at)?;
            let values = read_elements(object.required_raw("values", at)?, &map.value.field_type, &values_at)?;
            if keys.len() != values.len() {
                return Err(at.corrupt("the numbers of keys and values differ"));
            }
            let entry = |(key, value): (Option<Value>, _)| match key {
                Some(key) => Ok((key, value)),
                None => Err(keys_at.corrupt("a key is null")),
            };
            keys.into_iter().zip(values).map(entry).collect::<Result<_>>().map(|entries| Some(Value::Map(entries)))
        }
    }
}

impl Value {
    /// Parses a value of a type from JSON supplied by a user; None for null.
    ///
    /// # Errors
    /// `InvalidArgument` if the JSON is not a value of that type.
    pub(crate) fn from_json(text: &str, value_type: &Type) -> Result<Option<Self>> {
        let at = At::root("default");
        let read = json::parse(text, &at).and_then(|raw| read_value(raw, value_type, &at));
        read.map_err(|e| Error::invalid(e.message()))
    }
}

fn read_elements(raw: &RawValue, element_type: &Type, at: &At<'_>) -> Result<Vec<Option<Value>>> {
    let elements = json::elements(raw, at)?;
    elements.into_iter().enumerate().map(|(i, raw)| read_value(raw, element_type, &at.index(i))).collect()
}

fn read_struct(raw: &RawValue, fields: &StructType, at: &At<'_>) -> Result<Value> {
    let object = Object::parse(raw.get(), at)?;
    let mut values: Vec<(i32, Option<Value>)> = Vec::new();
    for (key, raw) in object.members() {
        let field = fields.fields.iter().find(|field| field.id.to_string() == key);
        let field = field.ok_or_else(|| at.key(key).corrupt("no field of the struct has this id"))?;
        if values.iter().any(|(id, _)| *id == field.id) {
            return Err(at.corrupt(format!("duplicate key `{key}`")));
        }
        values.push((field.id, read_value(raw, &field.field_type, &at.key(key))?));
    }
    Ok(Value::Struct(values))
}

/// Returns the scalar that JSON text represents; None if it is not a value of the type.
fn read_scalar(json: &str, primitive: &PrimitiveType) -> Option<Scalar> {
    let text = || serde_json::from_str::<String>(json).ok();
    let timestamp = |unit, utc| read_timestamp(&text()?, unit, utc);
    match primitive {
        PrimitiveType::Unknown | PrimitiveType::Variant | PrimitiveType::Geometry(_) | PrimitiveType::Geography(..) => {
            None
        }
        PrimitiveType::Boolean => serde_json::from_str(json).ok().map(Scalar::Boolean),
        PrimitiveType::Int => serde_json::from_str(json).ok().map(Scalar::Int32),
        PrimitiveType::Long => serde_json::from_str(json).ok().map(Scalar::Int64),
        PrimitiveType::Float => float_text(json)?.parse().ok().map(Scalar::Float32),
        PrimitiveType::Double => float_text(json)?.parse().ok().map(Scalar::Float64),
        PrimitiveType::Decimal { precision, scale } => read_decimal(&text()?, *precision, *scale),
        PrimitiveType::Date => iso::parse_date(&text()?).map(Scalar::Date),
        PrimitiveType::Time => exact_micros(i128::from(iso::parse_time_ns(&text()?)?)).map(Scalar::Time),
        PrimitiveType::Timestamp => timestamp(TimeUnit::Microsecond, false),
        PrimitiveType::Timestamptz => timestamp(TimeUnit::Microsecond, true),
        PrimitiveType::TimestampNs => timestamp(TimeUnit::Nanosecond, false),
        PrimitiveType::TimestamptzNs => timestamp(TimeUnit::Nanosecond, true),
        PrimitiveType::String => text().map(Scalar::String),
        PrimitiveType::Uuid => read_uuid(&text()?).map(Scalar::Uuid),
        PrimitiveType::Fixed(length) => {
            let bytes = hex::decode(&text()?)?;
            (u32::try_from(bytes.len()) == Ok(*length)).then_some(Scalar::Fixed(bytes))
        }
        PrimitiveType::Binary => hex::decode(&text()?).map(Scalar::Binary),
    }
}

/// Returns the digits of a JSON number, so that the number is parsed and rounded only once. Also accepts the strings
/// `NaN`, `Infinity` and `-Infinity`. None for any other JSON.
fn float_text(json: &str) -> Option<&str> {
    match json {
        r#""NaN""# => Some("NaN"),
        r#""Infinity""# => Some("inf"),
        r#""-Infinity""# => Some("-inf"),
        _ => json.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then_some(json),
    }
}

fn read_decimal(text: &str, precision: u8, scale: u8) -> Option<Scalar> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(fraction) || fraction.len() != usize::from(scale) {
        return None;
    }
    let unscaled: i128 = format!("{whole}{fraction}").parse().ok()?;
    if unscaled >= 10_i128.checked_pow(u32::from(precision))? {
        return None;
    }
    let unscaled = if negative { -unscaled } else { unscaled };
    Some(Scalar::Decimal { unscaled, precision, scale: scale.cast_signed() })
}

fn read_timestamp(text: &str, unit: TimeUnit, utc: bool) -> Option<Scalar> {
    let (nanos, offset) = iso::parse_timestamp_ns(text)?;
    let offset_fits = if utc { matches!(offset, "+00:00" | "Z") } else { offset.is_empty() };
    let value = if unit == TimeUnit::Nanosecond { i64::try_from(nanos).ok()? } else { exact_micros(nanos)? };
    offset_fits.then_some(Scalar::Timestamp { value, unit, utc })
}

fn exact_micros(nanos: i128) -> Option<i64> {
    if nanos % 1_000 == 0 { i64::try_from(nanos / 1_000).ok() } else { None }
}

fn read_uuid(text: &str) -> Option<[u8; 16]> {
    let groups: Vec<&str> = text.split('-').collect();
    if !groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12]) {
        return None;
    }
    hex::decode(&groups.concat())?.try_into().ok()
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Scalar(scalar) => write_scalar(scalar, serializer),
            Self::List(elements) => serializer.collect_seq(elements),
            Self::Struct(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (id, value) in fields {
                    map.serialize_entry(id, value)?;
                }
                map.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("keys", &entries.iter().map(|(key, _)| key).collect::<Vec<_>>())?;
                map.serialize_entry("values", &entries.iter().map(|(_, value)| value).collect::<Vec<_>>())?;
                map.end()
            }
        }
    }
}

fn write_scalar<S: Serializer>(scalar: &Scalar, serializer: S) -> Result<S::Ok, S::Error> {
    match scalar {
        Scalar::Boolean(value) => serializer.serialize_bool(*value),
        Scalar::Int8(value) => serializer.serialize_i8(*value),
        Scalar::Int16(value) => serializer.serialize_i16(*value),
        Scalar::Int32(value) => serializer.serialize_i32(*value),
        Scalar::Int64(value) => serializer.serialize_i64(*value),
        Scalar::Float32(value) if value.is_finite() => serializer.serialize_f32(*value),
        Scalar::Float64(value) if value.is_finite() => serializer.serialize_f64(*value),
        Scalar::Float32(value) => serializer.serialize_str(not_finite(f64::from(*value))),
        Scalar::Float64(value) => serializer.serialize_str(not_finite(*value)),
        Scalar::Decimal { unscaled, scale, .. } => serializer.serialize_str(&decimal_text(*unscaled, *scale)),
        Scalar::Date(days) => serializer.serialize_str(&iso::date_text(*days)),
        Scalar::Time(micros) => serializer.serialize_str(&iso::time_text(micros.saturating_mul(1_000))),
        Scalar::Timestamp { value, unit, utc } => {
            let per_unit = match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            };
            let text = iso::timestamp_text(i128::from(*value) * per_unit);
            let text = text.ok_or_else(|| S::Error::custom("a timestamp is outside the calendar range"))?;
            serializer.serialize_str(&(text + if *utc { "+00:00" } else { "" }))
        }
        Scalar::String(text) => serializer.serialize_str(text),
        Scalar::Uuid(bytes) => serializer.serialize_str(&hex::uuid(*bytes)),
        // Upper case, as Java writes it; readers accept both.
        Scalar::Fixed(bytes) | Scalar::Binary(bytes) => serializer.serialize_str(&hex::encode(bytes).to_uppercase()),
    }
}

fn not_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::types::{ListType, MapType, NestedField};
    use super::*;

    fn read(json: &str, value_type: &Type) -> Result<Option<Value>> {
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        read_value(raw, value_type, &At::root("default"))
    }

    fn primitive(text: &str) -> Type {
        Type::Primitive(text.parse().unwrap())
    }

    #[test]
    fn scalars_round_trip() {
        let cases = [
            ("boolean", "true"),
            ("int", "-34"),
            ("long", "9223372036854775807"),
            ("float", "0.1"),
            ("float", r#""-Infinity""#),
            ("double", "1.7976931348623157e+308"),
            ("double", "-0.0"),
            ("decimal(9, 2)", r#""14.20""#),
            ("decimal(9, 2)", r#""-0.05""#),
            ("decimal(38, 0)", r#""99999999999999999999999999999999999999""#),
            ("decimal(3, 3)", r#""0.125""#),
            ("date", r#""2007-12-03""#),
            ("time", r#""22:31:08.123456""#),
            ("timestamp", r#""2017-11-16T22:31:08.123456""#),
            ("timestamptz", r#""1969-12-31T23:59:59.999999+00:00""#),
            ("timestamp_ns", r#""2017-11-16T22:31:08.123456789""#),
            ("timestamptz_ns", r#""2017-11-16T22:31:08+00:00""#),
            ("string", r#""a \" \u00e9""#),
            ("uuid", r#""f79c3e09-677c-4bbd-a479-3f349cb785e7""#),
            ("fixed[3]", r#""00FF7A""#),
            ("binary", r#""""#),
        ];
        for (text, json) in cases {
            let value_type = primitive(text);
            let value = read(json, &value_type).unwrap().unwrap();
            let written = serde_json::to_string(&value).unwrap();
            assert_eq!(read(&written, &value_type).unwrap().unwrap(), value, "{text} {json}");
            if !json.contains("\\u") {
                assert_eq!(written, json);
            }
        }
    }

    #[test]
    fn floats_are_rounded_once() {
        assert_eq!(
            read("0.30000001192092895507812500001", &primitive("float")).unwrap(),
            Some(Value::Scalar(Scalar::Float32(0.3)))
        );
        assert_eq!(
            read("5e-324", &primitive("double")).unwrap(),
            Some(Value::Scalar(Scalar::Float64(f64::from_bits(1))))
        );
        assert_eq!(read("3", &primitive("double")).unwrap(), Some(Value::Scalar(Scalar::Float64(3.0))));
    }

    #[test]
    fn values_of_another_type_are_refused() {
        let cases = [
            ("int", r#"{"a": "b"}"#),
            ("int", "2147483648"),
            ("int", "1.0"),
            ("int", r#""1""#),
            ("boolean", "1"),
            ("float", r#""1.0""#),
            ("float", "true"),
            ("double", "[]"),
            ("long", "9223372036854775808"),
            ("decimal(9, 2)", r#""14.2""#),
            ("decimal(9, 2)", "14.20"),
            ("decimal(3, 2)", r#""14.20""#),
            ("decimal(9, 2)", r#""+1.00""#),
            ("decimal(9, 2)", r#"".50""#),
            ("decimal(9, 2)", r#""1E2""#),
            ("date", r#""2023-02-29""#),
            ("date", "19000"),
            ("time", r#""22:31:08.1234567""#),
            ("timestamp", r#""2017-11-16T22:31:08+00:00""#),
            ("timestamptz", r#""2017-11-16T22:31:08""#),
            ("timestamptz", r#""2017-11-16T22:31:08+01:00""#),
            ("timestamp", r#""2017-11-16T22:31:08.1234567""#),
            ("timestamp_ns", r#""2300-01-01T00:00:00""#),
            ("uuid", r#""f79c3e09677c4bbda4793f349cb785e7""#),
            ("uuid", r#""f79c3e09-677c-4bbd-a479-3f349cb785eg""#),
            ("fixed[2]", r#""00ff7a""#),
            ("binary", r#""0""#),
            ("variant", "1"),
            ("geometry", r#""00""#),
            ("unknown", "1"),
        ];
        for (text, json) in cases {
            assert!(read(json, &primitive(text)).is_err(), "{text} {json}");
            assert_eq!(read("null", &primitive(text)).unwrap(), None);
        }
    }

    #[test]
    fn nested_values_round_trip() {
        let field = |id, name: &str, field_type| NestedField {
            id,
            name: name.to_string(),
            required: false,
            field_type,
            doc: None,
            initial_default: None,
            write_default: None,
        };
        let list = Type::List(Arc::new(ListType { element: field(3, "element", primitive("int")) }));
        let map = Type::Map(Arc::new(MapType {
            key: field(5, "key", primitive("string")),
            value: field(6, "value", primitive("date")),
        }));
        let value_type = Type::Struct(StructType { fields: vec![field(1, "l", list), field(2, "m", map)] });
        let json = r#"{"1":[1,null,3],"2":{"keys":["a","b"],"values":["2007-12-03",null]}}"#;
        let value = read(json, &value_type).unwrap().unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), json);
        assert_eq!(read("{}", &value_type).unwrap(), Some(Value::Struct(Vec::new())));
        for wrong in [
            r#"{"9": 1}"#,
            r#"{"1": [1], "1": [2]}"#,
            r#"{"1": {}}"#,
            r#"{"2": {"keys": [null], "values": [null]}}"#,
            r#"{"2": {"keys": ["a"], "values": []}}"#,
            r#"{"2": []}"#,
            "[]",
        ] {
            assert!(read(wrong, &value_type).is_err(), "{wrong}");
        }
        let error = read(r#"{"1": [1, "x"]}"#, &value_type).unwrap_err();
        assert_eq!(error.to_string(), "default 1[1]: invalid value for the type int");
    }
}
