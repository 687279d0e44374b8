//! Formats values as Java shows them in system tables.
//!
//! | what | text |
//! |---|---|
//! | partition | `{a, 1}`: each value cast to STRING |
//! | key, bounds | `1`, `2024-02-29T12:34`: the internal values of Paimon; dates are days, times of day milliseconds |
//! | bytes | `0aff`: hexadecimal digits, where Java shows the address of an array |
//! | duration | `PT1H30M0.5S`: ISO 8601, without days |
//! | options | in the order of Java's `HashMap` |
//! | JSON | one member per line, `"a" : 1` |

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, StringArray, StructArray};
use frazil_core::error::{Error, ErrorKind, Result};

use super::InspectState;
use crate::binary_row;
use crate::cast::Caster;
use crate::spec::partition_path;
use crate::spec::types::{DataField, DataType, TypeRoot, arrow_fields};

/// The type STRING.
const STRING: TypeRoot = TypeRoot::VarChar(i32::MAX.cast_unsigned());

/// Formats partitions, given as rows with their arity. In a partitioned table, a row without fields becomes NULL.
pub(super) fn partitions(rows: &BinaryArray, state: &InspectState) -> Result<StringArray> {
    let fields: Vec<DataField> = state.partition_fields().into_iter().cloned().collect();
    if fields.is_empty() {
        return Ok(StringArray::from_iter_values(rows.iter().map(|_| "{}")));
    }
    let types: Vec<DataType> = fields.iter().map(|field| field.data_type.clone()).collect();
    let wanted: Vec<usize> = (0..types.len()).collect();
    let columns = binary_row::decode_columns(rows, &types, &wanted)
        .map_err(|error| error.corrupt_as(ErrorKind::CorruptManifest).with("field", "_PARTITION"))?;
    let known = rows.iter().map(|row| row.is_some_and(|row| !matches!(row, [] | [0, 0, 0, 0, ..])));
    let nullable = arrow_fields(&fields).iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    let values: ArrayRef = Arc::new(StructArray::try_new(nullable, columns, Some(known.collect::<Vec<_>>().into()))?);
    texts(&values, &DataType::nullable(TypeRoot::Row(fields)))
}

/// Casts values to STRING.
pub(super) fn texts(values: &ArrayRef, data_type: &DataType) -> Result<StringArray> {
    let cast = Caster::try_new(data_type, &DataType::nullable(STRING))?;
    let texts = cast.map_or_else(|| Ok(values.clone()), |cast| cast.cast(values))?;
    texts.as_string_opt().cloned().ok_or_else(|| Error::internal("a cast to STRING returned another type"))
}

/// Formats values in Paimon's internal form, with None for NULL and for types without a string form.
pub(super) fn internal(values: &ArrayRef, data_type: &DataType) -> Result<Vec<Option<String>>> {
    use TypeRoot as T;
    match &data_type.root {
        T::Date | T::Time(_) | T::Timestamp(_) | T::LocalZonedTimestamp(_) => {
            (0..values.len()).map(|row| partition_path::value_text(values, row, &data_type.root, true)).collect()
        }
        T::Binary(_) | T::VarBinary(_) | T::Blob => {
            let values = values.as_binary_opt::<i32>().ok_or_else(|| Error::internal("expected an array of bytes"))?;
            Ok(values.iter().map(|value| value.map(hexadecimal)).collect())
        }
        T::Variant | T::Multiset(_) => Ok(vec![None; values.len()]),
        _ => Ok(texts(values, data_type)?.iter().map(|text| text.map(ToString::to_string)).collect()),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        push(&mut text, format_args!("{byte:02x}"));
    }
    text
}

/// The nesting depth from which JSON is not indented further.
const MAX_INDENT: usize = 16;

/// Formats JSON in the layout of Java's writer, with members in the order of `text`.
pub(super) fn pretty_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        (0..depth.min(MAX_INDENT)).for_each(|_| out.push_str("  "));
    };
    for letter in text.chars() {
        if in_string {
            out.push(letter);
            in_string = escaped || letter != '"';
            escaped = letter == '\\' && !escaped;
            continue;
        }
        match letter {
            '{' => {
                out.push('{');
                depth += 1;
                line(&mut out, depth);
            }
            '}' => {
                depth = depth.saturating_sub(1);
                let empty = out.trim_end().ends_with('{');
                out.truncate(out.trim_end().len());
                if empty {
                    out.push(' ');
                } else {
                    line(&mut out, depth);
                }
                out.push('}');
            }
            ',' => {
                out.push(',');
                line(&mut out, depth);
            }
            ':' => out.push_str(" : "),
            letter if letter.is_ascii_whitespace() => {}
            letter => {
                in_string = letter == '"';
                out.push(letter);
            }
        }
    }
    out
}

/// Formats a duration in ISO 8601: hours, minutes and seconds.
pub(super) fn duration(ms: i64) -> String {
    let (seconds, fraction) = (ms / 1000, (ms % 1000).unsigned_abs());
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = "PT".to_string();
    for (count, unit) in [(hours, 'H'), (minutes, 'M')] {
        if count != 0 {
            push(&mut text, format_args!("{count}{unit}"));
        }
    }
    if seconds != 0 || fraction != 0 || text.len() == 2 {
        let sign = if ms < 0 && seconds == 0 { "-" } else { "" };
        push(&mut text, format_args!("{sign}{seconds}"));
        if fraction != 0 {
            push(&mut text, format_args!(".{}", format!("{fraction:03}").trim_end_matches('0')));
        }
        text.push('S');
    }
    text
}

/// Returns the entries in the order of a Java `HashMap`: by the lowest bits of their hashes.
pub(super) fn hash_order(map: &BTreeMap<String, String>) -> Vec<(&String, &String)> {
    let mut slots: usize = 16;
    while map.len() > slots / 4 * 3 {
        slots *= 2;
    }
    let slot = |name: &str| {
        let hash = name.encode_utf16().fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)));
        usize::try_from(hash ^ (hash >> 16)).unwrap_or(0) & (slots - 1)
    };
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(name, _)| slot(name));
    entries
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = text.write_fmt(what);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_no_days() {
        let shown = [
            (0, "PT0S"),
            (1, "PT0.001S"),
            (86_400_000, "PT24H"),
            (5_400_500, "PT1H30M0.5S"),
            (-1500, "PT-1.5S"),
            (-500, "PT-0.5S"),
        ];
        for (ms, text) in shown {
            assert_eq!(duration(ms), text);
        }
    }

    #[test]
    fn json_is_laid_out_and_keeps_its_order_and_texts() {
        let text = r#"{"b":{"x":1,"y":"a, {\"}: \\"},"a":{}}"#;
        let shown = "{\n  \"b\" : {\n    \"x\" : 1,\n    \"y\" : \"a, {\\\"}: \\\\\"\n  },\n  \"a\" : { }\n}";
        assert_eq!(pretty_json(text), shown);
        assert_eq!(pretty_json(shown), shown);
    }

    #[test]
    fn options_are_in_the_order_of_java() {
        let names = |names: &[&str]| {
            let map = names.iter().map(|name| (name.to_string(), String::new())).collect();
            hash_order(&map).into_iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            names(&["bucket", "changelog-producer", "write-only"]),
            ["bucket", "write-only", "changelog-producer"]
        );
        assert_eq!(names(&[]), [""; 0]);
        assert_eq!(names(&(0..13).map(|_| "a").collect::<Vec<_>>()), ["a"]);
    }
}
