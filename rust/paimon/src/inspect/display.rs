//! Values as Java shows them in system tables.
//!
//! | what | text |
//! |---|---|
//! | partition | `{a, 1}`: each value cast to STRING |
//! | duration | `PT1H30M0.5S`: ISO 8601, without days |
//! | options | in the order of Java's `HashMap` |

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BinaryArray, StringArray, StructArray};
use frazil_core::error::{Error, ErrorKind, Result};

use super::State;
use crate::binary_row;
use crate::read::cast::Caster;
use crate::spec::types::{DataField, DataType, TypeRoot, arrow_fields};

/// The type STRING.
const STRING: TypeRoot = TypeRoot::VarChar(i32::MAX.cast_unsigned());

/// Partitions, given as rows with their arity; NULL for rows without fields in a table that has partitions.
pub(super) fn partitions(rows: &BinaryArray, state: &State) -> Result<StringArray> {
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

/// Values cast to STRING.
pub(super) fn texts(values: &ArrayRef, data_type: &DataType) -> Result<StringArray> {
    let cast = Caster::try_new(data_type, &DataType::nullable(STRING))?;
    let texts = cast.map_or_else(|| Ok(values.clone()), |cast| cast.cast(values))?;
    texts.as_string_opt().cloned().ok_or_else(|| Error::internal("a cast to STRING gave another type"))
}

/// A duration in ISO 8601: hours, minutes and seconds.
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

/// Entries in the order of a `HashMap` of Java: by the lowest bits of their hashes.
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
