//! Parses column defaults from users (spec: "Default values", appendix D).

use frazil_core::error::{Error, Result};

use crate::spec::types::{PrimitiveType, Type, Value};

/// Parses the JSON of a default; None for NULL. A decimal may be a number, or have fewer digits than its type.
///
/// # Errors
/// `InvalidArgument` for a value that does not fit the type, and for structs with values: their values are the defaults
/// of their fields.
pub(super) fn parse(text: &str, field_type: &Type) -> Result<Option<Value>> {
    let text = text.trim();
    match field_type {
        Type::Primitive(PrimitiveType::Decimal { scale, .. }) if text != "null" => {
            Value::from_json(&with_scale(text, usize::from(*scale)), field_type)
        }
        Type::Map(_) if text == "{}" => Ok(Some(Value::Map(Vec::new()))),
        Type::Struct(fields) => {
            if text != "null" && text != "{}" {
                return Err(Error::invalid("the default of a struct must be NULL or {}")
                    .hint("add its fields separately, each with its default"));
            }
            let missing = fields.fields.iter().find(|field| field.required && field.initial_default.is_none());
            match missing.filter(|_| text == "{}") {
                Some(field) => Err(Error::invalid(format!("{{}} omits the required field `{}`", field.name))),
                None => Value::from_json(text, field_type),
            }
        }
        _ => Value::from_json(text, field_type),
    }
}

/// Returns the same number as text with `scale` digits after the decimal point; other text is returned unchanged.
fn with_scale(text: &str, scale: usize) -> String {
    let number = text.trim_matches('"');
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > scale || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return text.to_string();
    }
    let point = if scale > 0 { "." } else { "" };
    format!("\"{whole}{point}{fraction:0<scale$}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_take_the_digits_of_their_type() {
        for (given, expected) in [
            ("3", "\"3.00\""),
            ("\"1.5\"", "\"1.50\""),
            ("-0.250", "\"-0.25\""),
            ("1.234", "1.234"),
            ("\"1e5\"", "\"1e5.00\""),
        ] {
            assert_eq!(with_scale(given, 2), expected);
        }
        let decimal = |text: &str| parse(text, &"decimal(4, 2)".parse().unwrap());
        assert_eq!(decimal("1.5").unwrap(), decimal("\"1.50\"").unwrap());
        assert!(decimal("null").unwrap().is_none());
        for refused in ["1.234", "\"1e5\"", "123.45", "true", ""] {
            assert!(decimal(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn types_without_default_values_default_to_null() {
        for text in ["unknown", "variant", "geometry", "geography"] {
            assert!(parse("1", &text.parse().unwrap()).is_err());
            assert!(parse("null", &text.parse().unwrap()).unwrap().is_none());
        }
        let optional = "struct<x: int>".parse().unwrap();
        assert!(matches!(parse("{}", &optional).unwrap(), Some(Value::Struct(values)) if values.is_empty()));
        assert!(parse(r#"{"0": 1}"#, &optional).is_err());
        assert!(parse("{}", &"struct<x: required int>".parse().unwrap()).is_err());
    }
}
