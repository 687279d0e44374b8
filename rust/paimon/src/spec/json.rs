//! Reads the members of JSON metadata files. Messages contain the name of a member, never its value, which may be
//! secret.

use std::collections::BTreeMap;

use frazil_core::error::{Error, Result};
use serde_json::{Map, Value};

/// Parses a complete document; `what` describes it in messages.
///
/// # Errors
/// `CorruptData` for invalid JSON, in particular an empty file.
pub(crate) fn parse(bytes: &[u8], what: &str) -> Result<Value> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::corrupt(format!("the {what} is empty")));
    }
    serde_json::from_slice(bytes).map_err(|e| Error::corrupt(format!("the {what} is not JSON")).caused_by(e))
}

/// Returns text from a file in a form suitable for messages: control characters are escaped, and it is truncated after
/// 60 characters.
pub(crate) fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let mut cut: String = text.chars().take(MAX_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        cut.push_str("...");
    }
    cut
}

/// The members of an object. Members that are `null` are treated as absent; unknown members are ignored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object<'a> {
    members: &'a Map<String, Value>,
    what: &'a str,
}

impl<'a> Object<'a> {
    /// Returns the value as an object.
    pub(crate) fn of(value: &'a Value, what: &'a str) -> Result<Self> {
        let members = value.as_object();
        members
            .map(|members| Self { members, what })
            .ok_or_else(|| Error::corrupt(format!("the {what} is not an object")))
    }

    /// Returns a member of any type, or None if it is absent or null.
    pub(crate) fn value(&self, key: &str) -> Option<&'a Value> {
        self.members.get(key).filter(|value| !value.is_null())
    }

    /// Returns a required member.
    pub(crate) fn required(&self, key: &str) -> Result<&'a Value> {
        self.value(key).ok_or_else(|| Error::corrupt(format!("`{key}` is missing from the {}", self.what)))
    }

    /// Returns a string member, or None if it is absent.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>> {
        let expected = || self.wrong(key, "text");
        self.value(key).map(|value| value.as_str().ok_or_else(expected)).transpose()
    }

    /// Returns a required string member.
    pub(crate) fn required_text(&self, key: &str) -> Result<&'a str> {
        self.required(key)?.as_str().ok_or_else(|| self.wrong(key, "text"))
    }

    /// Returns an integer member, or None if it is absent.
    pub(crate) fn long(&self, key: &str) -> Result<Option<i64>> {
        let expected = || self.wrong(key, "a 64-bit integer");
        self.value(key).map(|value| value.as_i64().ok_or_else(expected)).transpose()
    }

    /// Returns a required integer member.
    pub(crate) fn required_long(&self, key: &str) -> Result<i64> {
        self.required(key)?.as_i64().ok_or_else(|| self.wrong(key, "a 64-bit integer"))
    }

    /// Returns a required integer member that is not negative.
    pub(crate) fn required_count(&self, key: &str) -> Result<i64> {
        let count = self.required_long(key)?;
        if count < 0 { Err(self.wrong(key, "a non-negative number")) } else { Ok(count) }
    }

    /// Returns a required member that is a field id.
    pub(crate) fn required_id(&self, key: &str) -> Result<i32> {
        i32::try_from(self.required_count(key)?).map_err(|_| self.wrong(key, "a non-negative 32-bit integer"))
    }

    /// Returns an array member; empty if it is absent.
    pub(crate) fn array(&self, key: &str) -> Result<&'a [Value]> {
        let Some(value) = self.value(key) else { return Ok(&[]) };
        value.as_array().map(Vec::as_slice).ok_or_else(|| self.wrong(key, "an array"))
    }

    /// Returns a member that is an array of strings; empty if it is absent.
    pub(crate) fn texts(&self, key: &str) -> Result<Vec<String>> {
        let expected = || self.wrong(key, "an array of strings");
        let text = |value: &Value| value.as_str().map(str::to_string).ok_or_else(expected);
        self.array(key)?.iter().map(text).collect()
    }

    /// Returns a member that is an object with string values. Bare numbers and Booleans are converted to strings. None
    /// if it is absent.
    pub(crate) fn text_map(&self, key: &str) -> Result<Option<BTreeMap<String, String>>> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let expected = || self.wrong(key, "an object with string values");
        let entry = |(name, value): (&String, &Value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(truth) => truth.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return Err(expected()),
            };
            Ok((name.clone(), text))
        };
        value.as_object().ok_or_else(expected)?.iter().map(entry).collect::<Result<_>>().map(Some)
    }

    /// Returns the error for a member of an unexpected type.
    pub(crate) fn wrong(&self, key: &str, expected: &str) -> Error {
        Error::corrupt(format!("`{key}` in the {} must be {expected}", self.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_member_and_never_the_value() {
        let value = parse(br#"{"a": "secret", "b": ["secret", 5], "c": {"d": ["secret"]}}"#, "thing").unwrap();
        let object = Object::of(&value, "thing").unwrap();
        let errors = [
            object.long("a").unwrap_err(),
            object.texts("b").unwrap_err(),
            object.text_map("c").unwrap_err(),
            object.required("secret?").unwrap_err(),
        ];
        for error in &errors[..3] {
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert_eq!(errors[0].to_string(), "`a` in the thing must be a 64-bit integer");
    }

    #[test]
    fn invalid_json_documents_are_corrupt() {
        for text in ["", " \n", "{", "{\"a\": 1", "nope", "{} {}"] {
            assert!(parse(text.as_bytes(), "thing").is_err(), "{text}");
        }
        let deep = "[".repeat(100_000);
        assert!(parse(deep.as_bytes(), "thing").is_err());
    }

    #[test]
    fn text_in_messages_is_short_and_printable() {
        assert_eq!(shown("a\nb"), "a\\nb");
        assert_eq!(shown(&"x".repeat(100)).len(), 63);
    }
}
