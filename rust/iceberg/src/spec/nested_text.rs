//! Parses nested types as users write them: `list<int>`, `map<string, decimal(9, 2)>`,
//! `struct<x: int, y: required string>`.
//!
//! Fields have no ids here (0), and are optional unless `required` precedes their type.

use std::str::FromStr;
use std::sync::Arc;

use frazil_core::error::{Error, ErrorKind, Result};

use super::json::{self, At, shown};
use super::type_json::read_type;
use super::types::{ListType, MapType, NestedField, StructType, Type};

/// The maximum nesting depth of types.
const MAX_DEPTH: usize = 100;

impl FromStr for Type {
    type Err = Error;

    /// Parses a type as users write it, or as JSON (spec: appendix C).
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid type; `LimitExceeded` for more than a hundred levels.
    fn from_str(text: &str) -> Result<Self> {
        if text.trim_start().starts_with('{') {
            let at = At::root("type");
            let read = json::parse(text, &at).and_then(|raw| read_type(raw, &at, 0));
            return read
                .map_err(|e| if e.kind() == ErrorKind::LimitExceeded { e } else { Error::invalid(e.message()) });
        }
        parse(text, 0)
    }
}

impl NestedField {
    /// Parses the type of a field without an id, as users write it: `long`, `required string`, or JSON.
    ///
    /// # Errors
    /// See the parsing of a [`Type`].
    pub(crate) fn from_text(name: &str, text: &str) -> Result<Self> {
        if text.trim_start().starts_with('{') {
            Ok(Self::new(0, name, text.parse()?, false))
        } else {
            part(name, text, 0)
        }
    }
}

fn parse(text: &str, depth: usize) -> Result<Type> {
    if depth > MAX_DEPTH {
        let message = format!("a type is nested more than {MAX_DEPTH} levels deep");
        return Err(Error::new(ErrorKind::LimitExceeded, message));
    }
    let text = text.trim();
    let Some((name, inner)) = text.strip_suffix('>').and_then(|text| text.split_once('<')) else {
        return super::type_alias::parse(text).map(Type::Primitive);
    };
    let parts = split(inner).ok_or_else(|| no_type(text))?;
    match (name.trim().to_ascii_lowercase().as_str(), parts.as_slice()) {
        ("list" | "array", [element]) => {
            Ok(Type::List(Arc::new(ListType { element: part("element", element, depth)? })))
        }
        ("map", [key, value]) => {
            let key = NestedField { required: true, ..part("key", key, depth)? };
            Ok(Type::Map(Arc::new(MapType { key, value: part("value", value, depth)? })))
        }
        ("struct", parts) => {
            let fields = parts.iter().map(|text| {
                let (name, field_type) = named(text).ok_or_else(|| no_type(text))?;
                part(name, field_type, depth)
            });
            Ok(Type::Struct(StructType { fields: fields.collect::<Result<_>>()? }))
        }
        _ => Err(no_type(text)),
    }
}

fn part(name: &str, text: &str, depth: usize) -> Result<NestedField> {
    let text = text.trim();
    let (required, text) = match text.split_once(char::is_whitespace) {
        Some(("required", rest)) => (true, rest),
        Some(("optional", rest)) => (false, rest),
        _ => (false, text),
    };
    Ok(NestedField::new(0, name, parse(text, depth + 1)?, required))
}

/// Splits `x: int` into name and type. A leading id, as in the printed form `1: x: int`, is ignored.
fn named(text: &str) -> Option<(&str, &str)> {
    let (first, rest) = text.split_once(':')?;
    let is_id = !first.trim().is_empty() && first.trim().bytes().all(|b| b.is_ascii_digit());
    let (name, field_type) = match rest.split_once(':') {
        // If the colon is inside `<…>`, it belongs to a nested struct.
        Some((name, field_type)) if is_id && !name.contains('<') => (name, field_type),
        _ => (first, rest),
    };
    let name = name.trim();
    (!name.is_empty()).then_some((name, field_type))
}

/// Splits at commas outside of brackets; None if the brackets do not match.
fn split(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (i, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.push(text.get(start..i)?);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..)?);
    (depth == 0).then_some(parts)
}

fn no_type(text: &str) -> Error {
    Error::invalid(format!("`{}` is not a valid type", shown(text))).hint(
        "valid types are for example int, decimal(9, 2), list<int>, map<string, int>, struct<x: int, y: required \
            string>",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_people_write_them() {
        for (text, printed) in [
            (" LONG ", "long"),
            ("list<int>", "list<int>"),
            ("array< required decimal(9,2) >", "list<decimal(9, 2)>"),
            ("map<string, list<fixed[4]>>", "map<string, list<fixed[4]>>"),
            ("struct<x: int, y: required string>", "struct<0: x: optional int, 0: y: required string>"),
            ("struct<1: x: optional struct<2: y: required int>>", "struct<0: x: optional struct<0: y: required int>>"),
            ("struct<x: struct<y: int>>", "struct<0: x: optional struct<0: y: optional int>>"),
            (r#"{"type": "list", "element-id": 3, "element": "int", "element-required": true}"#, "list<int>"),
        ] {
            assert_eq!(text.parse::<Type>().unwrap().to_string(), printed, "{text}");
        }
        let Type::List(list) = "list<required int>".parse().unwrap() else { panic!() };
        assert!(list.element.required);
    }

    #[test]
    fn invalid_nested_type_strings_are_rejected() {
        for text in
            ["", "list", "list<>", "list<int, int>", "map<int>", "struct<x>", "struct<: int>", "list<int>>", "{}"]
        {
            assert_eq!(text.parse::<Type>().unwrap_err().kind(), ErrorKind::InvalidArgument, "{text}");
        }
        let deep = format!("{}int{}", "list<".repeat(5000), ">".repeat(5000));
        assert_eq!(deep.parse::<Type>().unwrap_err().kind(), ErrorKind::LimitExceeded);
    }
}
