//! Parses strings as ARRAY, MAP and ROW, as Java reads column defaults (`StringToArrayCastRule` and related rules).
//!
//! | To | String |
//! |---|---|
//! | ARRAY | `[1, 2]`, `ARRAY(1, 2)` |
//! | MAP | `{"a": 1}`, `{a -> 1, b -> 2}`, `{a=1, b=2}`, `{a:1, b:2}`; blank for an empty map |
//! | ROW | `{1, x}`, `STRUCT(1, x)`; `{}` is a row with NULL in every field |
//!
//! Elements and fields are separated by commas outside of brackets and quotes. Quotes are part of the element. `null`
//! is NULL, except in maps with `=` and `:`. If keys are equal, the last one wins. Java drops the parts of a map that
//! it cannot read; here they are rejected.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, StringArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType as ArrowType;
use frazil_core::error::{Error, Result};
use serde_json::value::RawValue;

use super::nested::assemble_map;
use super::{Caster, MAX_LENGTH, float, unparsable};
use crate::spec::types::{DataField, DataType, TypeRoot, arrow_fields};

/// Strings, with None for NULL.
type ParsedTexts = Vec<Option<String>>;

/// Returns the values of strings in the Arrow type of `data_type`.
///
/// # Errors
/// `Unsupported` for types that strings cannot be cast to; `CorruptData` for a string that is not a value of the type.
pub(crate) fn parse(texts: &[Option<String>], data_type: &DataType) -> Result<ArrayRef> {
    let values = match &data_type.root {
        TypeRoot::Array(element) => arrays(texts, element, &data_type.arrow()),
        TypeRoot::Map(key, value) => maps(texts, [key, value], &data_type.arrow()),
        TypeRoot::Row(fields) => rows(texts, fields),
        _ => single(texts, data_type),
    }?;
    Ok(values)
}

/// Parses scalar values.
fn single(texts: &[Option<String>], data_type: &DataType) -> Result<ArrayRef> {
    let array: ArrayRef = Arc::new(texts.iter().map(Option::as_deref).collect::<StringArray>());
    match Caster::try_new(&DataType::nullable(TypeRoot::VarChar(MAX_LENGTH)), data_type)? {
        None => Ok(array),
        Some(caster) => caster.cast(&array),
    }
}

fn arrays(texts: &[Option<String>], element: &DataType, arrow: &ArrowType) -> Result<ArrayRef> {
    let ArrowType::List(field) = arrow else { return Err(Error::internal("the Arrow type of an array is not a list")) };
    let mut elements: ParsedTexts = Vec::new();
    let mut lengths = Vec::with_capacity(texts.len());
    for text in texts {
        let content = text.as_deref().map(|text| content(text, ['[', ']'], "ARRAY")).transpose()?;
        let found = content.map(tokens).unwrap_or_default();
        lengths.push(found.len());
        elements.extend(found);
    }
    let values = without_null(parse(&elements, element)?, element, "an element of an ARRAY")?;
    let nulls = texts.iter().map(Option::is_some).collect::<Vec<bool>>().into();
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, Some(nulls))?))
}

fn rows(texts: &[Option<String>], fields: &[DataField]) -> Result<ArrayRef> {
    let mut columns: Vec<ParsedTexts> = vec![Vec::with_capacity(texts.len()); fields.len()];
    for text in texts {
        let content = text.as_deref().map(|text| content(text, ['{', '}'], "STRUCT")).transpose()?;
        let mut found = match content {
            None | Some("") => vec![None; fields.len()],
            Some(content) => tokens(content),
        };
        if found.len() != fields.len() {
            let count = format!("ROW of {} fields: found {} fields", fields.len(), found.len());
            return Err(unparsable(text.as_deref().unwrap_or_default(), &count));
        }
        columns.iter_mut().zip(found.drain(..)).for_each(|(column, value)| column.push(value));
    }
    let is_null = texts.iter().filter(|text| text.is_none()).count();
    let column = |(texts, field): (&ParsedTexts, &DataField)| {
        let values = parse(texts, &field.data_type)?;
        if !field.data_type.nullable && values.logical_null_count() > is_null {
            return Err(Error::corrupt("a NULL in a NOT NULL field").with("field", &field.name));
        }
        Ok(values)
    };
    let columns = columns.iter().zip(fields).map(column).collect::<Result<Vec<_>>>()?;
    let nulls = texts.iter().map(Option::is_some).collect::<Vec<bool>>().into();
    Ok(Arc::new(StructArray::try_new_with_length(arrow_fields(fields), columns, Some(nulls), texts.len())?))
}

fn maps(texts: &[Option<String>], [key, value]: [&DataType; 2], arrow: &ArrowType) -> Result<ArrayRef> {
    let (mut keys, mut values): (ParsedTexts, ParsedTexts) = (Vec::new(), Vec::new());
    let mut lengths = Vec::with_capacity(texts.len());
    for text in texts {
        let found = text.as_deref().map(entries).transpose()?.unwrap_or_default();
        let (found_keys, found_values): (ParsedTexts, ParsedTexts) = found.into_iter().unzip();
        let parsed = parse(&found_keys, key)?;
        let kept = last_of_equal(&parsed)?;
        lengths.push(kept.len());
        let kept_of =
            |texts: &ParsedTexts| kept.iter().filter_map(|at| texts.get(*at).cloned()).collect::<ParsedTexts>();
        keys.extend(kept_of(&found_keys));
        values.extend(kept_of(&found_values));
    }
    let parts = [parse(&keys, key)?, parse(&values, value)?];
    let nulls = texts.iter().map(Option::is_some).collect::<Vec<bool>>().into();
    assemble_map(arrow, parts, OffsetBuffer::from_lengths(lengths), Some(nulls))
}

/// Returns the positions of keys that are not equal to a later key.
fn last_of_equal(keys: &ArrayRef) -> Result<Vec<usize>> {
    let converter = RowConverter::new(vec![SortField::new(keys.data_type().clone())])?;
    let rows = converter.convert_columns(std::slice::from_ref(keys))?;
    let mut last: HashMap<Vec<u8>, usize> = HashMap::new();
    for at in 0..rows.num_rows() {
        last.insert(rows.row(at).as_ref().to_vec(), at);
    }
    let mut kept: Vec<usize> = last.into_values().collect();
    kept.sort_unstable();
    Ok(kept)
}

fn without_null(values: ArrayRef, data_type: &DataType, what: &str) -> Result<ArrayRef> {
    if !data_type.nullable && values.logical_null_count() > 0 {
        return Err(Error::corrupt(format!("{what} is NULL, which its type does not allow")));
    }
    Ok(values)
}

/// Returns the content of brackets, or of the parentheses of a function: `[1, 2]`, `ARRAY(1, 2)`.
fn content<'a>(text: &'a str, [open, close]: [char; 2], function: &str) -> Result<&'a str> {
    let trimmed = text.trim_matches(|c| c <= ' ');
    let bracketed = trimmed.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    let of_function = || {
        let (name, rest) = trimmed.split_at_checked(function.len())?;
        let rest = rest.trim_start().strip_prefix('(')?.strip_suffix(')')?;
        name.eq_ignore_ascii_case(function).then_some(rest)
    };
    let found = bracketed.or_else(of_function).filter(|found| !found.contains(['\n', '\r']));
    let expected = || format!("string of the form {open}a, b{close} or {function}(a, b)");
    found.map(|found| found.trim_matches(|c| c <= ' ')).ok_or_else(|| unparsable(text, &expected()))
}

/// Splits a string at the commas outside of brackets and quotes. Empty parts are left out.
fn tokens(content: &str) -> ParsedTexts {
    let mut found = Vec::new();
    let mut current = String::new();
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    let mut end = |current: &mut String| {
        let token = std::mem::take(current);
        if !token.is_empty() {
            let token = token.trim_matches(|c| c <= ' ');
            found.push((token != "null").then(|| token.to_owned()));
        }
    };
    for c in content.chars() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                end(&mut current);
                continue;
            }
            _ => {}
        }
        current.push(c);
    }
    end(&mut current);
    found
}

/// Returns the keys and the values of a map.
fn entries(text: &str) -> Result<Vec<(Option<String>, Option<String>)>> {
    let trimmed = text.trim_matches(|c| c <= ' ');
    if trimmed.is_empty() {
        return Ok(Vec::new());
    }
    let mut json = serde_json::Deserializer::from_str(trimmed).into_iter::<HashMap<String, Box<RawValue>>>();
    if let Some(Ok(found)) = json.next() {
        return found.into_iter().map(|(key, value)| Ok((Some(key), json_text(value.get())?))).collect();
    }
    let expected = || unparsable(text, r#"text like {"a": 1}, {a -> 1}, {a=1} or {a:1}"#);
    let content = trimmed.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).ok_or_else(expected)?;
    let separators = [" -> ", "=", ":"];
    let separator = separators.into_iter().find(|separator| content.contains(separator)).ok_or_else(expected)?;
    let text_of = |part: &str| Some(part.trim().to_owned()).filter(|part| separator != " -> " || part != "null");
    let pairs = content.split(',').map(|pair| pair.trim_matches(|c| c <= ' ')).filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (key, value) = pair.split_once(separator).ok_or_else(expected)?;
        Ok((text_of(key), text_of(value)))
    };
    pairs.map(pair).collect()
}

/// Returns a JSON value as the string that is cast, or None for `null`.
fn json_text(value: &str) -> Result<Option<String>> {
    let is_number = value.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    Ok(match value {
        "null" => None,
        _ if value.starts_with('"') => {
            Some(serde_json::from_str(value).map_err(|error| unparsable(value, "JSON string").caused_by(error))?)
        }
        _ if is_number && value.contains(['.', 'e', 'E']) => {
            let number: f64 = value.parse().map_err(|_| unparsable(value, "number"))?;
            let (mut text, mut digits) = (String::new(), String::new());
            float::print(number, &mut digits, &mut text);
            Some(text)
        }
        _ => Some(value.to_owned()),
    })
}
