//! Reads JSON objects member by member; every error includes the path of the invalid value.
//!
//! Members stay text ([`RawValue`]) until they are read, and the parser skips them without recursion. Nesting therefore
//! uses no stack, a large file is never held as a tree, and types can be nested more deeply than the parser's own
//! limit. Errors contain the path (`schemas[0].fields[3].type`) and never the value at the path, which may be a secret.

use std::borrow::Cow;
use std::fmt;

use frazil_core::error::{Error, ErrorKind, Result};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A location in a JSON document, as a chain on the stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'p> {
    parent: Option<&'p At<'p>>,
    step: Step<'p>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'p> {
    Root(&'p str),
    Key(&'p str),
    Index(usize),
}

impl<'p> At<'p> {
    /// Creates the root of a document; `name` is its name in messages (`table metadata`, `schema`).
    pub(crate) fn root(name: &'p str) -> Self {
        Self { parent: None, step: Step::Root(name) }
    }

    /// Returns the location of a member of the object at this location.
    pub(crate) fn key<'q>(&'q self, key: &'q str) -> At<'q> {
        At { parent: Some(self), step: Step::Key(key) }
    }

    /// Returns the location of an element of the array at this location.
    pub(crate) fn index(&self, index: usize) -> At<'_> {
        At { parent: Some(self), step: Step::Index(index) }
    }

    /// Returns an error of kind `CorruptMetadata` at this location.
    pub(crate) fn corrupt(&self, message: impl fmt::Display) -> Error {
        self.error(ErrorKind::CorruptMetadata, message)
    }

    /// Returns an error at this location.
    pub(crate) fn error(&self, kind: ErrorKind, message: impl fmt::Display) -> Error {
        Error::new(kind, format!("{self}: {message}"))
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Recursion is safe, because the type parser limits the nesting depth.
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match (self.step, self.parent.map(|parent| parent.step)) {
            (Step::Root(name), _) => f.write_str(name),
            (Step::Key(key), Some(Step::Root(_))) => write!(f, " {}", shown(key)),
            (Step::Key(key), _) => write!(f, ".{}", shown(key)),
            (Step::Index(index), _) => write!(f, "[{index}]"),
        }
    }
}

/// Returns text of a file for use in messages: control characters are escaped, and it is truncated after 60 characters.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    const MAX_CHARS: usize = 60;
    if text.len() <= MAX_CHARS && text.chars().all(|c| !c.is_control() && (c.is_ascii() || c.is_alphanumeric())) {
        return Cow::Borrowed(text);
    }
    let mut cut: String = text.chars().take(MAX_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        cut.push_str("...");
    }
    Cow::Owned(cut)
}

/// Parses a value; `text` must contain nothing else.
pub(crate) fn parse<'a, T: Deserialize<'a>>(text: &'a str, at: &At<'_>) -> Result<T> {
    serde_json::from_str(text).map_err(|error| at.corrupt(describe(&error)))
}

/// Returns the JSON of a value whose serialisation cannot fail: keys are strings or integers, and every value has a
/// text form.
pub(crate) fn to_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Describes a JSON error: the parser's message without the invalid value, which may be a secret.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if error.classify() != serde_json::error::Category::Data {
        return text;
    }
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    let found = text.strip_prefix("invalid type: ").or_else(|| text.strip_prefix("invalid value: "));
    match (found, text.rsplit_once(", expected ")) {
        (Some(found), Some((_, expected))) => {
            let kind = found.split([' ', '`', '"', ',']).next().unwrap_or_default();
            format!("expected {expected}, found {kind}")
        }
        _ if text.starts_with("missing field") || text.starts_with("duplicate field") => text.to_string(),
        _ => "the value does not have the expected type".to_string(),
    }
}

/// Returns the elements of an array, each as text.
pub(crate) fn elements<'a>(raw: &'a RawValue, at: &At<'_>) -> Result<Vec<&'a RawValue>> {
    parse(raw.get(), at)
}

/// Returns whether the text is `null`.
pub(crate) fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

/// The members of an object, each as text, in the order of the file.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// Splits an object into its members.
    pub(crate) fn parse(text: &'a str, at: &At<'_>) -> Result<Self> {
        parse(text, at)
    }

    /// Returns all members.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.members.iter().map(|(key, raw)| (key.as_ref(), *raw))
    }

    /// Returns a member; None if it is missing or null. A duplicate key is an error, because JSON readers disagree on
    /// which value applies.
    pub(crate) fn raw(&self, key: &str, at: &At<'_>) -> Result<Option<&'a RawValue>> {
        let mut found = self.members().filter(|(name, _)| *name == key).map(|(_, raw)| raw);
        let first = found.next();
        if found.next().is_some() {
            return Err(at.corrupt(format!("duplicate key `{key}`")));
        }
        Ok(first.filter(|raw| !is_null(raw)))
    }

    /// Returns a required member.
    pub(crate) fn required_raw(&self, key: &str, at: &At<'_>) -> Result<&'a RawValue> {
        self.raw(key, at)?.ok_or_else(|| at.corrupt(format!("`{key}` is missing")))
    }

    /// Returns a member as a value; None if it is missing or null.
    pub(crate) fn optional<T: Deserialize<'a>>(&self, key: &str, at: &At<'_>) -> Result<Option<T>> {
        self.raw(key, at)?.map(|raw| parse(raw.get(), &at.key(key))).transpose()
    }

    /// Returns a required member as a value.
    pub(crate) fn required<T: Deserialize<'a>>(&self, key: &str, at: &At<'_>) -> Result<T> {
        parse(self.required_raw(key, at)?.get(), &at.key(key))
    }

    /// Returns the elements of an array member, each read by `read`; empty if the member is missing or null.
    pub(crate) fn list<T>(
        &self,
        key: &str,
        at: &At<'_>,
        mut read: impl FnMut(&'a RawValue, &At<'_>) -> Result<T>,
    ) -> Result<Option<Vec<T>>> {
        let Some(raw) = self.raw(key, at)? else { return Ok(None) };
        let at = at.key(key);
        let elements = elements(raw, &at)?;
        elements.into_iter().enumerate().map(|(i, raw)| read(raw, &at.index(i))).collect::<Result<_>>().map(Some)
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Text(key), raw)) = map.next_entry()? {
                    members.push((key, raw));
                }
                Ok(Object { members })
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// A string, borrowed if it contains no escapes.
#[derive(Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_place_and_never_the_value() {
        let root = At::root("table metadata");
        let object = Object::parse(r#"{"a": [{"b": "secret"}, 5]}"#, &root).unwrap();
        let error =
            object.list("a", &root, |raw, at| Object::parse(raw.get(), at)?.required::<i64>("b", at)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptMetadata);
        assert_eq!(error.to_string(), "table metadata a[0].b: expected i64, found string");
        for text in
            [r#"{"a": "x, expected y secret"}"#, r#"{"a": {"secret": 1}}"#, r#"{"a": 1.5}"#, r#"{"a": ["secret"]}"#]
        {
            let error = Object::parse(text, &root).unwrap().required::<i64>("a", &root).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused_when_it_matters() {
        let at = At::root("x");
        let object = Object::parse(r#"{"a": 1, "b": 2, "\u0061": 3}"#, &at).unwrap();
        assert_eq!(object.required::<i32>("b", &at).unwrap(), 2);
        assert_eq!(object.required::<i32>("a", &at).unwrap_err().to_string(), "x: duplicate key `a`");
    }

    #[test]
    fn skipped_nesting_uses_no_stack() {
        let text = format!(r#"{{"deep": {}{}, "a": 1}}"#, "[".repeat(200_000), "]".repeat(200_000));
        let at = At::root("x");
        assert_eq!(Object::parse(&text, &at).unwrap().required::<i32>("a", &at).unwrap(), 1);
    }

    #[test]
    fn absent_and_null_are_the_same() {
        let at = At::root("x");
        let object = Object::parse(r#"{"a": null}"#, &at).unwrap();
        assert_eq!(object.optional::<i32>("a", &at).unwrap(), None);
        assert_eq!(object.optional::<i32>("b", &at).unwrap(), None);
        assert_eq!(object.required::<i32>("a", &at).unwrap_err().to_string(), "x: `a` is missing");
    }

    #[test]
    fn text_in_messages_is_short_and_printable() {
        assert_eq!(shown("a_b.c"), "a_b.c");
        assert_eq!(shown("a\n\u{202e}b"), "a\\n\\u{202e}b");
        assert_eq!(shown(&"x".repeat(100)).len(), 63);
    }
}
