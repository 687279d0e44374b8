//! Avro schemas of metadata files, with the names that Java gives to records, and the files of their rows.

use std::fmt::Write as _;

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::{Field, Fields, Schema};
use frazil_core::avro::{Codec, Writer};
use frazil_core::error::Result;
use frazil_core::ids;
use std::sync::Arc;

/// Java compresses metadata at the level of data files, of which the default is 1.
const ZSTD_LEVEL: i32 = 1;

/// The names and types of fields: `type` is JSON.
pub(super) enum Type<'a> {
    /// A value that is never NULL.
    Required(&'a str),
    /// A value that may be NULL.
    Optional(&'a str),
    /// A record of fields, never NULL.
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

/// Return the Avro schema of a file whose rows have these fields.
pub(super) fn avro_schema(fields: &[(&str, Type<'_>)]) -> String {
    let mut text = String::new();
    record_to(&mut text, "record", r#","namespace":"org.apache.paimon.avro.generated""#, fields);
    text
}

/// A record within a record has the name of that one, two underscores, and the name of its field without the first one.
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

/// Begin a file with this Avro schema.
///
/// # Errors
/// As [`Writer::new`].
pub(super) fn writer(schema: &str, codec: Codec) -> Result<Writer> {
    let writer = Writer::new(schema, &[], codec, ids::random()?)?;
    if codec == Codec::Zstandard { writer.with_level(ZSTD_LEVEL) } else { Ok(writer) }
}

/// Return columns as a batch. Fields may be NULL for Arrow: the Avro writer refuses NULL where its schema has none.
pub(super) fn batch(columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields(&columns))), columns)?)
}

/// Return columns as the fields of a record that is never NULL.
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
