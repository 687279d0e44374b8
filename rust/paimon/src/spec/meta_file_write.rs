//! Builds Avro schemas of metadata files, with Java's record names, and writes files of their rows.

use std::fmt::Write as _;

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::{Field, Fields, Schema};
use frazil_core::avro::{Codec, Writer};
use frazil_core::error::Result;
use frazil_core::ids;
use std::sync::Arc;

/// The zstd level. Java compresses metadata at the level of data files, which is 1 by default.
const ZSTD_LEVEL: i32 = 1;

/// The names and types of fields: `type` is JSON.
pub(super) enum Type<'a> {
    /// A value that is never NULL.
    Required(&'a str),
    /// A value that may be NULL.
    Optional(&'a str),
    /// A record of fields that is never NULL.
    Record(&'a [(&'a str, Type<'a>)]),
}

/// A list of names.
pub(super) const NAMES: &str = r#"{"type":"array","items":"string"}"#;

/// Bounds and null counts.
pub(super) const STATS: &[(&str, Type<'_>)] = &[
    ("_MIN_VALUES", Type::Required(r#""bytes""#)),
    ("_MAX_VALUES", Type::Required(r#""bytes""#)),
    ("_NULL_COUNTS", Type::Optional(r#"{"type":"array","items":["null","long"]}"#)),
];

/// Returns the Avro schema of a file whose rows have these fields.
pub(super) fn avro_schema(fields: &[(&str, Type<'_>)]) -> String {
    let mut text = String::new();
    record_to(&mut text, "record", r#","namespace":"org.apache.paimon.avro.generated""#, fields);
    text
}

/// Writes a record schema. A nested record is named after its parent, two underscores, and its field name without the
/// first underscore.
fn record_to(text: &mut String, name: &str, namespace: &str, fields: &[(&str, Type<'_>)]) {
    // Writing to a String does not fail.
    let _ = write!(text, r#"{{"type":"record","name":"{name}"{namespace},"fields":["#);
    for (i, (field, data_type)) in fields.iter().enumerate() {
        let separator = if i == 0 { "" } else { "," };
        let _ = write!(text, r#"{separator}{{"name":"{field}","type":"#);
        match data_type {
            Type::Required(json) => text.push_str(json),
            Type::Optional(json) => {
                let _ = write!(text, r#"["null",{json}],"default":null"#);
            }
            Type::Record(fields) => record_to(text, &format!("{name}_{field}"), "", fields),
        }
        text.push('}');
    }
    text.push_str("]}");
}

/// Starts a file with this Avro schema.
///
/// # Errors
/// As for [`Writer::new`].
pub(super) fn writer(schema: &str, codec: Codec) -> Result<Writer> {
    let writer = Writer::new(schema, &[], codec, ids::random()?)?;
    if codec == Codec::Zstandard { writer.with_level(ZSTD_LEVEL) } else { Ok(writer) }
}

/// Returns columns as a batch. Fields are nullable in Arrow: the Avro writer rejects NULL where its schema does not
/// allow it.
pub(super) fn batch(columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields(&columns))), columns)?)
}

/// Returns columns as the fields of a record that is never NULL.
pub(super) fn record(columns: Vec<ArrayRef>) -> Result<ArrayRef> {
    Ok(Arc::new(StructArray::try_new(fields(&columns), columns, None)?))
}

fn fields(columns: &[ArrayRef]) -> Fields {
    columns.iter().enumerate().map(|(i, column)| Field::new(i.to_string(), column.data_type().clone(), true)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_named_by_where_they_are() {
        let fields = [("_VERSION", Type::Required(r#""int""#)), ("_PARTITION_STATS", Type::Record(STATS))];
        let schema = avro_schema(&fields);
        for part in [
            r#"{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":["#,
            r#"{"name":"_PARTITION_STATS","type":{"type":"record","name":"record__PARTITION_STATS","fields":["#,
            r#"{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}"#,
        ] {
            assert!(schema.contains(part), "{schema}");
        }
        apache_avro::Schema::parse_str(&schema).unwrap();
    }
}
