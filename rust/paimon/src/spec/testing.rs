//! Creates metadata files for tests: encoded by another Avro library, or written by Java.

use std::path::PathBuf;

use apache_avro::types::Value;
use apache_avro::{Schema, Writer};
use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::data_file_meta::DataFileMeta;
use super::entries_builder::NewFile;
use super::stats::SimpleStats;

/// Returns an Avro file of records with these fields. Bytes are lists of numbers.
pub(crate) fn avro(fields: &Json, records: &[Json]) -> Bytes {
    let schema = record("record", fields);
    let schema = Schema::parse_str(&schema.to_string()).unwrap();
    let mut writer = Writer::new(&schema, Vec::new()).unwrap();
    for record in records {
        writer.append_value(value(record).resolve(&schema).unwrap()).unwrap();
    }
    writer.into_inner().unwrap().into()
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => Value::Long(number.as_i64().unwrap()),
        Json::String(text) => Value::String(text.clone()),
        Json::Array(items) => Value::Array(items.iter().map(value).collect()),
        Json::Object(fields) => {
            Value::Record(fields.iter().map(|(name, field)| (name.clone(), value(field))).collect())
        }
    }
}

pub(super) fn record(name: &str, fields: &Json) -> Json {
    json!({"type": "record", "name": name, "fields": fields})
}

pub(super) fn required(name: &str, data_type: &str) -> Json {
    json!({"name": name, "type": data_type})
}

/// Returns an optional field, which is null if a record lacks it.
pub(super) fn optional(name: &str, data_type: impl Into<Json>) -> Json {
    json!({"name": name, "type": ["null", data_type.into()], "default": null})
}

/// Returns the field of statistics.
pub(super) fn stats(name: &str) -> Json {
    let counts = json!({"type": "array", "items": ["null", "long"]});
    let fields =
        json!([required("_MIN_VALUES", "bytes"), required("_MAX_VALUES", "bytes"), optional("_NULL_COUNTS", counts)]);
    json!({"name": name, "type": record(&format!("record_{name}"), &fields)})
}

/// Returns the fields of manifests. The file has the fields up to `last`, as in some release.
pub(crate) fn manifest_fields(last: &str) -> Json {
    let names = json!({"type": "array", "items": "string"});
    let file = [
        required("_FILE_NAME", "string"),
        required("_FILE_SIZE", "long"),
        required("_ROW_COUNT", "long"),
        required("_MIN_KEY", "bytes"),
        required("_MAX_KEY", "bytes"),
        stats("_KEY_STATS"),
        stats("_VALUE_STATS"),
        required("_MIN_SEQUENCE_NUMBER", "long"),
        required("_MAX_SEQUENCE_NUMBER", "long"),
        required("_SCHEMA_ID", "long"),
        required("_LEVEL", "int"),
        json!({"name": "_EXTRA_FILES", "type": names}),
        optional("_CREATION_TIME", json!({"type": "long", "logicalType": "timestamp-millis"})),
        optional("_DELETE_ROW_COUNT", "long"),
        optional("_EMBEDDED_FILE_INDEX", "bytes"),
        optional("_FILE_SOURCE", "int"),
        optional("_VALUE_STATS_COLS", names.clone()),
        optional("_EXTERNAL_PATH", "string"),
        optional("_FIRST_ROW_ID", "long"),
        optional("_WRITE_COLS", names),
        optional("_LATER", "long"),
    ];
    let end = file.iter().position(|field| field["name"] == last).unwrap();
    json!([
        required("_VERSION", "int"),
        required("_KIND", "int"),
        required("_PARTITION", "bytes"),
        required("_BUCKET", "int"),
        required("_TOTAL_BUCKETS", "int"),
        {"name": "_FILE", "type": record("record__FILE", &json!(file[..=end]))},
    ])
}

/// A row without fields, with its arity.
pub(crate) const NO_FIELDS: [u8; 12] = [0; 12];

/// Returns the ADD entry of a file with only required values.
pub(crate) fn entry(file_name: &str) -> Json {
    let stats = json!({"_MIN_VALUES": NO_FIELDS, "_MAX_VALUES": NO_FIELDS, "_NULL_COUNTS": null});
    json!({
        "_VERSION": 2, "_KIND": 0, "_PARTITION": NO_FIELDS, "_BUCKET": 0, "_TOTAL_BUCKETS": 1,
        "_FILE": {
            "_FILE_NAME": file_name, "_FILE_SIZE": 1000, "_ROW_COUNT": 10, "_MIN_KEY": NO_FIELDS, "_MAX_KEY": NO_FIELDS,
            "_KEY_STATS": stats, "_VALUE_STATS": stats, "_MIN_SEQUENCE_NUMBER": 1, "_MAX_SEQUENCE_NUMBER": 10,
            "_SCHEMA_ID": 0, "_LEVEL": 0, "_EXTRA_FILES": [], "_CREATION_TIME": null, "_DELETE_ROW_COUNT": null,
            "_EMBEDDED_FILE_INDEX": null, "_FILE_SOURCE": null, "_VALUE_STATS_COLS": null, "_EXTERNAL_PATH": null,
            "_FIRST_ROW_ID": null, "_WRITE_COLS": null, "_LATER": null,
        },
    })
}

/// Returns the record with the value at a path such as `/_FILE/_LEVEL` replaced.
pub(crate) fn with(mut record: Json, path: &str, value: impl Into<Json>) -> Json {
    *record.pointer_mut(path).unwrap() = value.into();
    record
}

/// Returns all files of the golden tables whose names are wanted.
pub(crate) fn golden_files(wanted: fn(&str) -> bool) -> Vec<(PathBuf, Vec<u8>)> {
    let mut folders = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/paimon"))];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if wanted(path.file_name().unwrap().to_str().unwrap()) {
                let bytes = std::fs::read(&path).unwrap();
                found.push((path, bytes));
            }
        }
    }
    found
}

/// Returns a data file of an append table, without statistics.
pub(crate) fn new_file(name: &str, rows: i64) -> NewFile {
    let none = || SimpleStats { min: NO_FIELDS.to_vec(), max: NO_FIELDS.to_vec(), null_counts: Some(Vec::new()) };
    let meta = DataFileMeta {
        file_name: name.to_string(),
        file_size_bytes: 100,
        row_count: rows,
        min_key: NO_FIELDS.to_vec(),
        max_key: NO_FIELDS.to_vec(),
        min_sequence_number: 0,
        max_sequence_number: rows - 1,
        schema_id: 0,
        level: 0,
        extra_files: Vec::new(),
        creation_time_ms: Some(1_700_000_000_000),
        delete_row_count: Some(0),
        embedded_file_index: None,
        file_source: Some(0),
        value_stats_cols: Some(Vec::new()),
        external_path: None,
        first_row_id: None,
        write_cols: None,
    };
    NewFile { meta, key_stats: none(), value_stats: none() }
}
