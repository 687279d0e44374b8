//! Encodes values of a program as variants.

use std::collections::BTreeMap;

use super::MAX_DEPTH;
use super::build::{self, FieldEntry};
use crate::error::{Error, ErrorKind, Result};

/// A value to be encoded as a variant.
#[derive(Debug, Clone, PartialEq)]
pub enum NewVariant {
    /// The variant null value.
    Null,
    /// A boolean.
    Boolean(bool),
    /// An integer, encoded in the smallest of the widths from 8 to 64 bits.
    Int(i64),
    /// An IEEE 754 double.
    Double(f64),
    /// A decimal.
    Decimal {
        /// The unscaled integer of at most 38 digits.
        unscaled: i128,
        /// The number of digits after the point, at most 38.
        scale: u8,
    },
    /// Days since 1970-01-01.
    Date(i32),
    /// Units since 1970-01-01T00:00:00.
    Timestamp {
        /// The number of units.
        value: i64,
        /// Whether the unit is nanoseconds rather than microseconds.
        nanos: bool,
        /// Whether the timestamp is an instant rather than a local time.
        utc: bool,
    },
    /// Bytes.
    Binary(Vec<u8>),
    /// A string.
    String(String),
    /// An array of elements.
    Array(Vec<Self>),
    /// An object of named fields.
    Object(BTreeMap<String, Self>),
}

/// Returns the metadata and the value of a variant.
///
/// # Errors
/// `LimitExceeded` for values that are nested more than 128 levels deep or longer than 4 GiB.
pub fn encode(value: &NewVariant) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut names = BTreeMap::new();
    collect_names(value, &mut names, 0)?;
    for (id, place) in names.values_mut().enumerate() {
        *place = id;
    }
    let mut out = Vec::new();
    append(&mut out, value, &names)?;
    Ok((build::metadata(names.keys().copied())?, out))
}

fn collect_names<'a>(value: &'a NewVariant, names: &mut BTreeMap<&'a str, usize>, depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        let message = format!("a variant is nested more than {MAX_DEPTH} levels deep");
        return Err(Error::new(ErrorKind::LimitExceeded, message));
    }
    match value {
        NewVariant::Array(elements) => elements.iter().try_for_each(|element| collect_names(element, names, depth + 1)),
        NewVariant::Object(fields) => fields.iter().try_for_each(|(name, field)| {
            names.insert(name, 0);
            collect_names(field, names, depth + 1)
        }),
        _ => Ok(()),
    }
}

fn append(out: &mut Vec<u8>, value: &NewVariant, names: &BTreeMap<&str, usize>) -> Result<()> {
    let start = out.len();
    match value {
        NewVariant::Null => build::primitive(out, 0, &[]),
        NewVariant::Boolean(value) => build::primitive(out, if *value { 1 } else { 2 }, &[]),
        NewVariant::Int(value) => integer(out, *value),
        NewVariant::Double(value) => build::primitive(out, 7, &value.to_le_bytes()),
        NewVariant::Decimal { unscaled, scale } => {
            build::decimal(out, *unscaled, digits(*unscaled).max(*scale), *scale);
        }
        NewVariant::Date(days) => build::primitive(out, 11, &days.to_le_bytes()),
        NewVariant::Timestamp { value, nanos, utc } => {
            let type_id = match (nanos, utc) {
                (false, true) => 12,
                (false, false) => 13,
                (true, true) => 18,
                (true, false) => 19,
            };
            build::primitive(out, type_id, &value.to_le_bytes());
        }
        NewVariant::Binary(bytes) => build::long_bytes(out, 15, bytes)?,
        NewVariant::String(text) => build::string(out, text)?,
        NewVariant::Array(elements) => {
            let mut starts = Vec::with_capacity(elements.len());
            for element in elements {
                starts.push(out.len());
                append(out, element, names)?;
            }
            build::array(out, start, &starts)?;
        }
        NewVariant::Object(fields) => {
            let mut entries = Vec::with_capacity(fields.len());
            for (name, field) in fields {
                let id = *names.get(name.as_str()).ok_or_else(|| Error::internal("a field name was not collected"))?;
                entries.push(FieldEntry { name, id, start: out.len() });
                append(out, field, names)?;
            }
            build::object(out, start, &mut entries)?;
        }
    }
    Ok(())
}

fn integer(out: &mut Vec<u8>, value: i64) {
    let (type_id, width) = match value {
        -0x80..=0x7f => (3, 1),
        -0x8000..=0x7fff => (4, 2),
        -0x8000_0000..=0x7fff_ffff => (5, 4),
        _ => (6, 8),
    };
    build::primitive(out, type_id, value.to_le_bytes().get(..width).unwrap_or_default());
}

/// Returns the number of decimal digits of an integer.
fn digits(value: i128) -> u8 {
    value.unsigned_abs().checked_ilog10().map_or(1, |last| u8::try_from(last + 1).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::{Metadata, Value, to_json};
    use super::*;

    fn json(value: &NewVariant) -> String {
        let (metadata, value) = encode(value).unwrap();
        to_json(&metadata, &value).unwrap()
    }

    fn object<const N: usize>(fields: [(&str, NewVariant); N]) -> NewVariant {
        NewVariant::Object(fields.into_iter().map(|(name, field)| (name.to_string(), field)).collect())
    }

    #[test]
    fn values_are_decoded_as_they_were() {
        let text = |length| NewVariant::String("x".repeat(length));
        let decimal = |unscaled, scale| NewVariant::Decimal { unscaled, scale };
        let timestamp = |value, nanos, utc| NewVariant::Timestamp { value, nanos, utc };
        for (value, expected) in [
            (NewVariant::Null, "null".to_string()),
            (NewVariant::Boolean(true), "true".to_string()),
            (NewVariant::Boolean(false), "false".to_string()),
            (NewVariant::Double(0.1), "0.1".to_string()),
            (decimal(0, 0), "0".to_string()),
            (decimal(-125, 2), "-1.25".to_string()),
            (decimal(1, 38), format!("0.{}1", "0".repeat(37))),
            (decimal(10_i128.pow(38) - 1, 0), "9".repeat(38)),
            (decimal(999_999_999, 9), "0.999999999".to_string()),
            (decimal(1_000_000_000, 0), "1000000000".to_string()),
            (NewVariant::Date(19_782), "\"2024-02-29\"".to_string()),
            (timestamp(-1, false, true), "\"1969-12-31 23:59:59.999999+00:00\"".to_string()),
            (timestamp(1, true, false), "\"1970-01-01 00:00:00.000000001\"".to_string()),
            (NewVariant::Binary(vec![0, 255]), "\"AP8=\"".to_string()),
            (text(0), "\"\"".to_string()),
            (text(63), format!("\"{}\"", "x".repeat(63))),
            (text(64), format!("\"{}\"", "x".repeat(64))),
            (text(70_000), format!("\"{}\"", "x".repeat(70_000))),
            (NewVariant::Array(vec![]), "[]".to_string()),
            (object([]), "{}".to_string()),
            (
                object([
                    ("b", NewVariant::Int(1)),
                    ("a", object([("b", NewVariant::Null), ("é", NewVariant::Array(vec![text(1)]))])),
                ]),
                r#"{"a":{"b":null,"é":["x"]},"b":1}"#.to_string(),
            ),
        ] {
            assert_eq!(json(&value), expected);
        }
    }

    #[test]
    fn integers_have_the_smallest_width() {
        for (value, width) in [
            (0, 1),
            (-128, 1),
            (128, 2),
            (-32_768, 2),
            (32_768, 4),
            (-2_147_483_648, 4),
            (2_147_483_648, 8),
            (i64::MIN, 8),
        ] {
            let (metadata, bytes) = encode(&NewVariant::Int(value)).unwrap();
            assert_eq!(bytes.len(), 1 + width, "{value}");
            assert_eq!(Value::parse(&bytes).unwrap(), (Value::Int(value), bytes.len()));
            assert!(Metadata::parse(&metadata).unwrap().is_empty());
        }
    }

    #[test]
    fn many_fields_and_elements_have_wide_counts() {
        let names: Vec<_> = (0..300).map(|number| format!("field {number:03}")).collect();
        let fields =
            names.iter().map(|name| (name.clone(), NewVariant::Array(vec![NewVariant::Int(1); 300]))).collect();
        let elements = format!("[{}]", vec!["1"; 300].join(","));
        let fields_text: Vec<_> = names.iter().map(|name| format!("\"{name}\":{elements}")).collect();
        assert_eq!(json(&NewVariant::Object(fields)), format!("{{{}}}", fields_text.join(",")));
    }

    #[test]
    fn deep_values_are_rejected() {
        let nested = |depth| (0..depth).fold(NewVariant::Null, |value, _| NewVariant::Array(vec![value]));
        json(&nested(MAX_DEPTH));
        assert_eq!(encode(&nested(MAX_DEPTH + 1)).unwrap_err().kind(), ErrorKind::LimitExceeded);
    }
}
