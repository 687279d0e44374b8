//! Replaces the name of a renamed column in options that name columns.
//!
//! ```text
//! bucket-key = a,b                        fields.a.aggregate-function = sum
//! file-index.bitmap.columns = a,m[k]      fields.a,b.sequence-group = c,d
//! file-index.bitmap.a.version = 2
//! ```

use std::collections::BTreeMap;

/// Options whose values are the names of columns.
const OF_COLUMNS: &[&str] = &[
    "bucket-key",
    "changelog-producer.row-deduplicate-ignore-fields",
    "clustering.columns",
    "partial-update.remove-record-on-sequence-group",
    "record-level.time-field",
    "rowkind.field",
    "sequence.field",
    "sink.clustering.by-columns",
];

const FIELDS: &str = "fields.";
const FILE_INDEX: &str = "file-index.";

/// Returns the options after the column `from` was renamed to `to`.
pub(super) fn renamed(options: BTreeMap<String, String>, from: &str, to: &str) -> BTreeMap<String, String> {
    let rename = |(name, value): (String, String)| {
        if OF_COLUMNS.contains(&name.as_str()) {
            return (name, list(&value, from, to));
        }
        if let Some((columns, option)) = name.strip_prefix(FIELDS).and_then(|rest| rest.rsplit_once('.')) {
            let value = if option == "sequence-group" { list(&value, from, to) } else { value };
            return (format!("{FIELDS}{}.{option}", list(columns, from, to)), value);
        }
        if let Some((kind, rest)) = name.strip_prefix(FILE_INDEX).and_then(|rest| rest.split_once('.')) {
            if rest == "columns" {
                return (name.clone(), list(&value, from, to));
            }
            if let Some((column, option)) = rest.rsplit_once('.') {
                return (format!("{FILE_INDEX}{kind}.{}.{option}", list(column, from, to)), value);
            }
        }
        (name, value)
    };
    options.into_iter().map(rename).collect()
}

/// Returns whether a name stays one column in a list of columns.
pub(super) fn can_be_listed(name: &str) -> bool {
    name.trim() == name && !name.contains([',', '[', ']'])
}

/// Replaces a column in a list separated by commas, in which `m[k]` is a key of the map `m`.
fn list(text: &str, from: &str, to: &str) -> String {
    let entry = |entry: &str| {
        let (column, key) = match entry.split_once('[') {
            Some((column, _)) if entry.trim_end().ends_with(']') => entry.split_at(column.len()),
            _ => (entry, ""),
        };
        if column.trim() == from { format!("{to}{key}") } else { entry.to_string() }
    };
    text.split(',').map(entry).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_column_is_replaced_wherever_options_name_it() {
        for ((name, value), expected) in [
            (("bucket-key", "a,b"), ("bucket-key", "x,b")),
            (("bucket-key", "b, a"), ("bucket-key", "b,x")),
            (("sequence.field", "a"), ("sequence.field", "x")),
            (("fields.a.aggregate-function", "a"), ("fields.x.aggregate-function", "a")),
            (("fields.b,a.sequence-group", "c,a"), ("fields.b,x.sequence-group", "c,x")),
            (("fields.default-aggregate-function", "a"), ("fields.default-aggregate-function", "a")),
            (("fields.a.nested-key", "a"), ("fields.x.nested-key", "a")),
            (("file-index.bitmap.columns", "a,b,a[k]"), ("file-index.bitmap.columns", "x,b,x[k]")),
            (("file-index.bitmap.a.version", "2"), ("file-index.bitmap.x.version", "2")),
            (("file-index.in-manifest-threshold", "1 kb"), ("file-index.in-manifest-threshold", "1 kb")),
            (("rowkind.field", "ab"), ("rowkind.field", "ab")),
            (("owner", "a"), ("owner", "a")),
        ] {
            let found = renamed([(name.to_string(), value.to_string())].into(), "a", "x");
            assert_eq!(found, [(expected.0.to_string(), expected.1.to_string())].into(), "{name}");
        }
    }
}
