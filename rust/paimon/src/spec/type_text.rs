//! Parses and formats types as in metadata (spec: "Data Types", "Schema").
//!
//! ```text
//! text   INT NOT NULL   DECIMAL(10, 2)   TIMESTAMP(6) WITH LOCAL TIME ZONE   ARRAY<INT>   ROW<`a` INT, `b` STRING>
//! JSON   "INT NOT NULL"
//!        {"type": "ARRAY NOT NULL", "element": type}      {"type": "MULTISET", "element": type}
//!        {"type": "MAP", "key": type, "value": type}
//!        {"type": "ROW", "fields": [{"id": 3, "name": "a", "type": type, "description": "..", "defaultValue": ".."}]}
//! ```
//!
//! Schema files contain the JSON form, in which fields have ids. The text form is for users and for the columns of
//! system tables: the fields of a ROW are numbered from 0 in their order.

use std::fmt;
use std::str::FromStr;

use frazil_core::error::{Error, ErrorKind, Result};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::json::{Object, shown};
use super::types::{DataField, DataType, TypeRoot};

/// The length of STRING and BYTES.
const MAX_LENGTH: u32 = i32::MAX.cast_unsigned();

/// The maximum number of digits of a DECIMAL.
const MAX_PRECISION: u32 = 38;

/// The maximum number of digits after the second.
const MAX_SECOND_DIGITS: u32 = 9;

/// The maximum nesting depth of types. Real types need no more, and the stack is limited.
const MAX_DEPTH: usize = 40;

impl DataType {
    /// Parses the JSON form of a type.
    ///
    /// # Errors
    /// `Unsupported` naming an unknown type; `CorruptData` for an invalid form; `LimitExceeded` for types that are
    /// nested too deeply.
    pub fn parse_json(value: &Value) -> Result<Self> {
        json_type(value, 0)
    }

    /// Returns the JSON form, as in schema files.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl DataField {
    /// Parses the JSON form of a column.
    ///
    /// # Errors
    /// As for [`DataType::parse_json`], naming the column.
    pub fn parse_json(value: &Value) -> Result<Self> {
        json_field(value, "column", 0)
    }
}

/// Returns the JSON form of columns, as in schema files and the system table `schemas`.
pub fn fields_to_json(fields: &[DataField]) -> String {
    serde_json::to_string(fields).unwrap_or_default()
}

fn json_type(value: &Value, depth: usize) -> Result<DataType> {
    check_depth(depth)?;
    if let Some(text) = value.as_str() {
        return text.parse();
    }
    let object = Object::of(value, "type")?;
    let name = object.required_text("type")?;
    let (kind, nullable) = match name.strip_suffix("NOT NULL") {
        Some(kind) => (kind.trim_end(), false),
        None => (name.trim_end(), true),
    };
    let inner = |key: &str| json_type(object.required(key)?, depth + 1).map(Box::new);
    let root = match kind {
        "ARRAY" => TypeRoot::Array(inner("element")?),
        "MULTISET" => TypeRoot::Multiset(inner("element")?),
        "MAP" => TypeRoot::Map(inner("key")?, inner("value")?),
        "ROW" => {
            object.required("fields")?;
            let fields = object.array("fields")?.iter().map(|field| json_field(field, "field", depth + 1));
            TypeRoot::Row(distinct(fields.collect::<Result<_>>()?)?)
        }
        _ => return Err(unknown(kind)),
    };
    Ok(DataType { root, nullable })
}

fn json_field(value: &Value, context: &'static str, depth: usize) -> Result<DataField> {
    let object = Object::of(value, "field")?;
    let name = object.required_text("name")?;
    let read = || {
        Ok(DataField {
            id: object.required_id("id")?,
            name: name.to_string(),
            data_type: json_type(object.required("type")?, depth)?,
            description: object.text("description")?.map(str::to_string),
            default_value: object.text("defaultValue")?.map(str::to_string),
        })
    };
    read().map_err(|e: Error| e.with(context, shown(name)))
}

/// Returns the fields if their ids and names are unique, because a field of a ROW is looked up by either within that
/// ROW.
pub(super) fn distinct(fields: Vec<DataField>) -> Result<Vec<DataField>> {
    let mut ids: Vec<i32> = fields.iter().map(|field| field.id).collect();
    let mut names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    ids.sort_unstable();
    names.sort_unstable();
    if let Some([id, _]) = ids.array_windows().find(|[a, b]| a == b) {
        return Err(Error::corrupt(format!("two fields have the id {id}")));
    }
    if let Some([name, _]) = names.array_windows().find(|[a, b]| a == b) {
        return Err(Error::corrupt(format!("two fields have the name `{}`", shown(name))));
    }
    Ok(fields)
}

impl Serialize for DataType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = match &self.root {
            TypeRoot::Array(_) => "ARRAY",
            TypeRoot::Multiset(_) => "MULTISET",
            TypeRoot::Map(..) => "MAP",
            TypeRoot::Row(_) => "ROW",
            _ => return serializer.collect_str(self),
        };
        let mut map = serializer.serialize_map(None)?;
        let not_null = if self.nullable { "" } else { " NOT NULL" };
        map.serialize_entry("type", &format!("{kind}{not_null}"))?;
        match &self.root {
            TypeRoot::Array(element) | TypeRoot::Multiset(element) => map.serialize_entry("element", element)?,
            TypeRoot::Map(key, value) => {
                map.serialize_entry("key", key)?;
                map.serialize_entry("value", value)?;
            }
            TypeRoot::Row(fields) => map.serialize_entry("fields", fields)?,
            _ => {}
        }
        map.end()
    }
}

impl Serialize for DataField {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("type", &self.data_type)?;
        if let Some(description) = &self.description {
            map.serialize_entry("description", description)?;
        }
        if let Some(default_value) = &self.default_value {
            map.serialize_entry("defaultValue", default_value)?;
        }
        map.end()
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            TypeRoot::Boolean => f.write_str("BOOLEAN"),
            TypeRoot::TinyInt => f.write_str("TINYINT"),
            TypeRoot::SmallInt => f.write_str("SMALLINT"),
            TypeRoot::Int => f.write_str("INT"),
            TypeRoot::BigInt => f.write_str("BIGINT"),
            TypeRoot::Float => f.write_str("FLOAT"),
            TypeRoot::Double => f.write_str("DOUBLE"),
            TypeRoot::Decimal(precision, scale) => write!(f, "DECIMAL({precision}, {scale})"),
            TypeRoot::Char(length) => write!(f, "CHAR({length})"),
            TypeRoot::VarChar(MAX_LENGTH) => f.write_str("STRING"),
            TypeRoot::VarChar(length) => write!(f, "VARCHAR({length})"),
            TypeRoot::Binary(length) => write!(f, "BINARY({length})"),
            TypeRoot::VarBinary(MAX_LENGTH) => f.write_str("BYTES"),
            TypeRoot::VarBinary(length) => write!(f, "VARBINARY({length})"),
            TypeRoot::Date => f.write_str("DATE"),
            TypeRoot::Time(digits) => write!(f, "TIME({digits})"),
            TypeRoot::Timestamp(digits) => write!(f, "TIMESTAMP({digits})"),
            TypeRoot::LocalZonedTimestamp(digits) => write!(f, "TIMESTAMP({digits}) WITH LOCAL TIME ZONE"),
            TypeRoot::Array(element) => write!(f, "ARRAY<{element}>"),
            TypeRoot::Multiset(element) => write!(f, "MULTISET<{element}>"),
            TypeRoot::Map(key, value) => write!(f, "MAP<{key}, {value}>"),
            TypeRoot::Row(fields) => row(f, fields),
            TypeRoot::Variant => f.write_str("VARIANT"),
            TypeRoot::Blob => f.write_str("BLOB"),
        }?;
        if self.nullable { Ok(()) } else { f.write_str(" NOT NULL") }
    }
}

fn row(f: &mut fmt::Formatter<'_>, fields: &[DataField]) -> fmt::Result {
    f.write_str("ROW<")?;
    for (i, field) in fields.iter().enumerate() {
        let separator = if i == 0 { "" } else { ", " };
        write!(f, "{separator}`{}` {}", field.name.replace('`', "``"), field.data_type)?;
        if let Some(description) = field.description.as_ref().filter(|text| !text.is_empty()) {
            write!(f, " COMMENT '{}'", description.replace('\'', "''"))?;
        }
    }
    f.write_str(">")
}

impl FromStr for DataType {
    type Err = Error;

    /// Parses the text form of a type. Names are case-insensitive.
    ///
    /// # Errors
    /// As for [`DataType::parse_json`].
    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser { text, rest: text, depth: 0, next_id: 0 };
        let parsed = parser.data_type()?;
        if parser.rest.trim_start().is_empty() { Ok(parsed) } else { Err(parser.malformed()) }
    }
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
    next_id: i32,
}

impl<'a> Parser<'a> {
    fn data_type(&mut self) -> Result<DataType> {
        check_depth(self.depth)?;
        let word = self.word().ok_or_else(|| self.malformed())?;
        let root = match word.to_ascii_uppercase().as_str() {
            "BOOLEAN" => TypeRoot::Boolean,
            "TINYINT" => TypeRoot::TinyInt,
            "SMALLINT" => TypeRoot::SmallInt,
            "INT" | "INTEGER" => TypeRoot::Int,
            "BIGINT" => TypeRoot::BigInt,
            "FLOAT" => TypeRoot::Float,
            "DOUBLE" => self.with_words(&["PRECISION"], TypeRoot::Double),
            "DECIMAL" | "NUMERIC" | "DEC" => self.decimal()?,
            "CHAR" => TypeRoot::Char(self.length()?),
            "VARCHAR" => TypeRoot::VarChar(self.length()?),
            "STRING" => TypeRoot::VarChar(MAX_LENGTH),
            "BINARY" => TypeRoot::Binary(self.length()?),
            "VARBINARY" => TypeRoot::VarBinary(self.length()?),
            "BYTES" => TypeRoot::VarBinary(MAX_LENGTH),
            "DATE" => TypeRoot::Date,
            "TIME" => {
                let digits = self.second_digits(0)?;
                self.with_words(&["WITHOUT", "TIME", "ZONE"], TypeRoot::Time(digits))
            }
            "TIMESTAMP" => self.timestamp()?,
            "TIMESTAMP_LTZ" => TypeRoot::LocalZonedTimestamp(self.second_digits(6)?),
            "VARIANT" => TypeRoot::Variant,
            "BLOB" => TypeRoot::Blob,
            "ARRAY" | "MULTISET" | "MAP" | "ROW" => self.nested(word)?,
            _ => return Err(unknown(word)),
        };
        let nullable = !self.words(&["NOT", "NULL"]);
        if nullable {
            self.words(&["NULL"]);
        }
        Ok(DataType { root, nullable })
    }

    fn nested(&mut self, word: &str) -> Result<TypeRoot> {
        let (open, close) = if self.mark('<') { ('<', '>') } else { ('(', ')') };
        if open == '(' && !self.mark('(') {
            return Err(self.malformed());
        }
        self.depth += 1;
        let root = match word.to_ascii_uppercase().as_str() {
            "ARRAY" => TypeRoot::Array(Box::new(self.data_type()?)),
            "MULTISET" => TypeRoot::Multiset(Box::new(self.data_type()?)),
            "MAP" => {
                let key = self.data_type()?;
                self.expect(',')?;
                TypeRoot::Map(Box::new(key), Box::new(self.data_type()?))
            }
            _ => TypeRoot::Row(self.fields(close)?),
        };
        self.depth -= 1;
        self.expect(close)?;
        Ok(root)
    }

    fn fields(&mut self, close: char) -> Result<Vec<DataField>> {
        let mut fields = Vec::new();
        while !self.rest.trim_start().starts_with(close) {
            if !fields.is_empty() {
                self.expect(',')?;
            }
            let name = self.identifier()?;
            let id = self.next_id;
            self.next_id += 1;
            let data_type = self.data_type()?;
            let description = if self.words(&["COMMENT"]) { Some(self.quoted('\'')?) } else { None };
            fields.push(DataField { id, name, data_type, description, default_value: None });
        }
        distinct(fields)
    }

    fn decimal(&mut self) -> Result<TypeRoot> {
        let (mut precision, mut scale) = (10, 0);
        if self.mark('(') {
            precision = self.number(1, MAX_PRECISION)?;
            if self.mark(',') {
                scale = self.number(0, precision)?;
            }
            self.expect(')')?;
        }
        let narrow = |number: u32| u8::try_from(number).map_err(|_| self.malformed());
        Ok(TypeRoot::Decimal(narrow(precision)?, narrow(scale)?))
    }

    fn timestamp(&mut self) -> Result<TypeRoot> {
        let digits = self.second_digits(6)?;
        if self.words(&["WITH", "LOCAL", "TIME", "ZONE"]) {
            return Ok(TypeRoot::LocalZonedTimestamp(digits));
        }
        Ok(self.with_words(&["WITHOUT", "TIME", "ZONE"], TypeRoot::Timestamp(digits)))
    }

    /// Parses a length in parentheses. The length is 1 if it is omitted, as in SQL.
    fn length(&mut self) -> Result<u32> {
        self.parameter(1, 1, MAX_LENGTH)
    }

    fn second_digits(&mut self, default: u8) -> Result<u8> {
        let digits = self.parameter(default.into(), 0, MAX_SECOND_DIGITS)?;
        u8::try_from(digits).map_err(|_| self.malformed())
    }

    fn parameter(&mut self, default: u32, least: u32, most: u32) -> Result<u32> {
        if !self.mark('(') {
            return Ok(default);
        }
        let number = self.number(least, most)?;
        self.expect(')')?;
        Ok(number)
    }

    fn number(&mut self, least: u32, most: u32) -> Result<u32> {
        let digits = self.take_while(|c| c.is_ascii_digit());
        let number = digits.parse().ok().filter(|number| (least..=most).contains(number));
        number
            .ok_or_else(|| Error::corrupt(format!("`{}`: expected a number from {least} to {most}", shown(self.text))))
    }

    fn identifier(&mut self) -> Result<String> {
        if self.rest.trim_start().starts_with('`') {
            return self.quoted('`');
        }
        self.word().map(str::to_string).ok_or_else(|| self.malformed())
    }

    /// Parses a quoted string, in which quotes are doubled.
    fn quoted(&mut self, quote: char) -> Result<String> {
        self.expect(quote)?;
        let mut text = String::new();
        loop {
            let (before, behind) = self.rest.split_once(quote).ok_or_else(|| self.malformed())?;
            text.push_str(before);
            self.rest = behind;
            match behind.strip_prefix(quote) {
                Some(rest) => {
                    text.push(quote);
                    self.rest = rest;
                }
                None => return Ok(text),
            }
        }
    }

    fn word(&mut self) -> Option<&'a str> {
        let word = self.take_while(|c| c.is_alphanumeric() || c == '_');
        (!word.is_empty()).then_some(word)
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest.trim_start();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        let (taken, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
        self.rest = rest;
        taken
    }

    /// Consumes the words if they follow in this order, and returns whether they did. Otherwise nothing is consumed.
    fn words(&mut self, words: &[&str]) -> bool {
        let before = self.rest;
        let all = words.iter().all(|word| self.word().is_some_and(|found| found.eq_ignore_ascii_case(word)));
        if !all {
            self.rest = before;
        }
        all
    }

    fn with_words(&mut self, words: &[&str], root: TypeRoot) -> TypeRoot {
        self.words(words);
        root
    }

    fn mark(&mut self, mark: char) -> bool {
        match self.rest.trim_start().strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, mark: char) -> Result<()> {
        if self.mark(mark) { Ok(()) } else { Err(self.malformed()) }
    }

    fn malformed(&self) -> Error {
        Error::corrupt(format!("`{}` is not a type", shown(self.text)))
    }
}

fn unknown(name: &str) -> Error {
    Error::unsupported(format!("unknown type `{}`", shown(name)))
}

fn check_depth(depth: usize) -> Result<()> {
    if depth <= MAX_DEPTH {
        return Ok(());
    }
    Err(Error::new(ErrorKind::LimitExceeded, format!("types are nested deeper than {MAX_DEPTH} levels")))
}

#[cfg(test)]
#[path = "type_text_tests.rs"]
mod tests;
