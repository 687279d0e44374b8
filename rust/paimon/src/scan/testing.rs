//! Builds in-memory tables for tests of planning: `t(p INT, k INT, v INT, d DOUBLE)` with manifests in Avro.

use std::sync::Arc;

use apache_avro::types::Value as Avro;
use apache_avro::{Schema, Writer};
use arrow_array::{ArrayRef, BinaryArray, Float64Array, Int32Array};
use bytes::Bytes;
use frazil_core::context::Context;
use frazil_core::error::Result;
use frazil_core::sql::expression::Expression;
use frazil_core::storage::files::Files;
use frazil_core::storage::{MemoryStorage, Storage};
use serde_json::{Value, json};

use super::table_scan::{ScanOptions, ScanPlan, TableScan};
use crate::binary_row;
use crate::context::View;
use crate::spec::types::{DataType, TypeRoot};
use crate::table::{SnapshotChoice, Table};

pub(super) const ROOT: &str = "s3://bucket/d.db/t";

/// A manifest entry.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) name: &'static str,
    pub(super) added: bool,
    pub(super) partition: Option<i32>,
    pub(super) bucket: i32,
    pub(super) level: i32,
    pub(super) keys: (i32, i32),
    /// The bounds of `v`; None for no statistics.
    pub(super) values: Option<(i32, i32)>,
    pub(super) v_nulls: i64,
    pub(super) d: (f64, f64),
    pub(super) rows: i64,
    pub(super) sequence: i64,
    pub(super) deletes: Option<i64>,
    pub(super) schema_id: i64,
    pub(super) first_row_id: Option<i64>,
    pub(super) write_cols: Option<Vec<&'static str>>,
    pub(super) creation_time_ms: Option<i64>,
}

impl Default for File {
    fn default() -> Self {
        Self {
            name: "f",
            added: true,
            partition: None,
            bucket: 0,
            level: 0,
            keys: (0, 9),
            values: Some((0, 9)),
            v_nulls: 0,
            d: (0.0, 1.0),
            rows: 10,
            sequence: 0,
            deletes: Some(0),
            schema_id: 0,
            first_row_id: None,
            write_cols: None,
            creation_time_ms: None,
        }
    }
}

/// The definition of a table.
#[derive(Debug, Clone, Default)]
pub(super) struct Definition {
    pub(super) primary_key: bool,
    pub(super) partitioned: bool,
    pub(super) options: Vec<(&'static str, &'static str)>,
}

/// A table in memory.
#[derive(Debug)]
pub(super) struct Memory {
    storage: Arc<MemoryStorage>,
    definition: Definition,
}

impl Memory {
    pub(super) fn new(definition: Definition) -> Self {
        let table = Self { storage: Arc::new(MemoryStorage::default()), definition };
        let column = |id: i32, name: &str, text: &str| json!({ "id": id, "name": name, "type": text });
        table.schema(
            "",
            0,
            &json!([
                column(0, "p", "INT"),
                column(1, "k", "INT NOT NULL"),
                column(2, "v", "INT"),
                column(3, "d", "DOUBLE")
            ]),
        );
        table
    }

    /// Adds a schema to a branch (`branch/branch-b/`) or to the main branch (empty).
    pub(super) fn schema(&self, branch: &str, id: i64, fields: &Value) {
        let options: serde_json::Map<String, Value> =
            self.definition.options.iter().map(|(name, value)| (name.to_string(), json!(value))).collect();
        let keys = |is: bool, names: &[&str]| if is { json!(names) } else { json!([]) };
        let primary = if self.definition.partitioned { vec!["p", "k"] } else { vec!["k"] };
        let schema = json!({
            "version": 3, "id": id, "highestFieldId": 9, "fields": fields, "options": options,
            "partitionKeys": keys(self.definition.partitioned, &["p"]),
            "primaryKeys": keys(self.definition.primary_key, &primary), "timeMillis": 0,
        });
        self.put(&format!("{branch}schema/schema-{id}"), schema.to_string().into_bytes());
    }

    /// Adds a snapshot with a manifest for each list of files, all in its delta.
    pub(super) fn snapshot(&self, branch: &str, id: i64, kind: &str, manifests: &[Vec<File>]) {
        self.snapshot_with(branch, id, kind, manifests, &[]);
    }

    /// Adds a snapshot with changelog files.
    pub(super) fn snapshot_with(
        &self,
        branch: &str,
        id: i64,
        kind: &str,
        manifests: &[Vec<File>],
        changelog: &[Vec<File>],
    ) {
        let tag = format!("{}{id}", branch.len());
        self.list(&format!("base-{tag}"), &[]);
        self.list(&format!("delta-{tag}"), manifests);
        let mut snapshot = json!({
            "version": 3, "id": id, "schemaId": 0, "baseManifestList": format!("base-{tag}"),
            "deltaManifestList": format!("delta-{tag}"), "commitUser": "u", "commitIdentifier": id, "commitKind": kind,
            "timeMillis": id * 1000,
        });
        if !changelog.is_empty() {
            self.list(&format!("changelog-{tag}"), changelog);
            snapshot["changelogManifestList"] = json!(format!("changelog-{tag}"));
        }
        self.put(&format!("{branch}snapshot/snapshot-{id}"), snapshot.to_string().into_bytes());
    }

    pub(super) fn table(&self) -> Table {
        Table::open(&Files::below(self.storage.clone(), ROOT).unwrap(), ROOT, None).unwrap()
    }

    pub(super) fn scan(&self, filter: &str, options: &[(&str, &str)], limit: Option<u64>) -> Result<ScanPlan> {
        let row_filter = if filter.is_empty() { Expression::TRUE } else { Expression::filter(filter).unwrap() };
        let options = options.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let snapshot = SnapshotChoice::Latest;
        let scan = ScanOptions { row_filter, snapshot, view: View::Rows, options, limit, case_sensitive: true };
        TableScan::try_new(&self.table(), &scan)?.plan(1, &Context::default())
    }

    /// Returns the names of the files of each split.
    pub(super) fn splits(&self, filter: &str) -> Vec<Vec<String>> {
        names(&self.scan(filter, &[], None).unwrap())
    }

    /// Returns the names of all planned files, sorted.
    pub(super) fn files(&self, filter: &str) -> Vec<String> {
        let mut files = self.splits(filter).concat();
        files.sort();
        files
    }

    fn list(&self, name: &str, manifests: &[Vec<File>]) {
        let mut metas = Vec::new();
        for (number, files) in manifests.iter().enumerate() {
            let manifest = format!("{name}-manifest-{number}");
            let entries: Vec<Value> = files.iter().map(|file| self.entry(file)).collect();
            self.put(&format!("manifest/{manifest}"), avro(MANIFEST, entries));
            let partitions = files.iter().filter_map(|file| file.partition);
            let range = (partitions.clone().min(), partitions.max());
            let nulls = files.iter().filter(|file| file.partition.is_none()).count();
            metas.push(json!({
                "_VERSION": 2, "_FILE_NAME": manifest, "_FILE_SIZE": 1, "_NUM_ADDED_FILES": files.len(),
                "_NUM_DELETED_FILES": 0, "_SCHEMA_ID": 0,
                "_PARTITION_STATS": {
                    "_MIN_VALUES": self.partition(range.0), "_MAX_VALUES": self.partition(range.1),
                    "_NULL_COUNTS": if self.definition.partitioned { json!([nulls]) } else { json!([]) },
                },
                "_MAX_BUCKET": files.iter().map(|file| file.bucket).max(),
                "_MAX_LEVEL": files.iter().map(|file| file.level).max(),
            }));
        }
        self.put(&format!("manifest/{name}"), avro(MANIFEST_LIST, metas));
    }

    fn partition(&self, value: Option<i32>) -> Value {
        if self.definition.partitioned { row(&[int(value)]) } else { row(&[]) }
    }

    fn entry(&self, file: &File) -> Value {
        let key = |key: i32| if self.definition.primary_key { row(&[int(Some(key))]) } else { row(&[]) };
        // If only some columns are written, all of them have the bounds of `v`.
        let columns = file.write_cols.as_ref().map_or(0, Vec::len);
        let bounds = |k: i32, v: fn((i32, i32)) -> i32, d: f64| match file.values {
            _ if file.write_cols.is_some() => row(&vec![int(file.values.map(v)); columns]),
            Some(_) => row(&[int(file.partition), int(Some(k)), int(file.values.map(v)), double(d)]),
            None => row(&[]),
        };
        let nulls = match file.values {
            _ if file.write_cols.is_some() => json!(vec![file.v_nulls; columns]),
            Some(_) => json!([0, 0, file.v_nulls, 0]),
            None => json!([]),
        };
        let stats = |min: Value, max: Value, nulls: Value| json!({ "_MIN_VALUES": min, "_MAX_VALUES": max, "_NULL_COUNTS": nulls });
        json!({
            "_VERSION": 2, "_KIND": i32::from(!file.added), "_PARTITION": self.partition(file.partition),
            "_BUCKET": file.bucket, "_TOTAL_BUCKETS": 2,
            "_FILE": {
                "_FILE_NAME": file.name, "_FILE_SIZE": 1000, "_ROW_COUNT": file.rows, "_MIN_KEY": key(file.keys.0),
                "_MAX_KEY": key(file.keys.1), "_KEY_STATS": stats(key(file.keys.0), key(file.keys.1), json!([0])),
                "_VALUE_STATS": stats(bounds(file.keys.0, |v| v.0, file.d.0), bounds(file.keys.1, |v| v.1, file.d.1), nulls),
                "_MIN_SEQUENCE_NUMBER": file.sequence, "_MAX_SEQUENCE_NUMBER": file.sequence,
                "_SCHEMA_ID": file.schema_id, "_LEVEL": file.level, "_EXTRA_FILES": [],
                "_DELETE_ROW_COUNT": file.deletes, "_FIRST_ROW_ID": file.first_row_id, "_WRITE_COLS": file.write_cols,
                "_CREATION_TIME": file.creation_time_ms,
            },
        })
    }

    fn put(&self, path: &str, content: Vec<u8>) {
        self.storage.put(&format!("{ROOT}/{path}"), Bytes::from(content)).unwrap();
    }
}

/// Returns the names of the files of each split.
pub(super) fn names(plan: &ScanPlan) -> Vec<Vec<String>> {
    let split = |index| plan.rows.split(index).unwrap();
    let name = |file: crate::spec::data_file_meta::DataFileMeta| file.file_name;
    (0..plan.rows.len()).map(|index| split(index).files.into_iter().map(name).collect()).collect()
}

fn int(value: Option<i32>) -> (DataType, ArrayRef) {
    (DataType::nullable(TypeRoot::Int), Arc::new(Int32Array::from(vec![value])))
}

fn double(value: f64) -> (DataType, ArrayRef) {
    (DataType::nullable(TypeRoot::Double), Arc::new(Float64Array::from(vec![value])))
}

/// Encodes a row with its arity as a list of bytes.
fn row(values: &[(DataType, ArrayRef)]) -> Value {
    if values.is_empty() {
        return json!(vec![0; 12]);
    }
    let (types, columns): (Vec<_>, Vec<_>) = values.iter().cloned().unzip();
    let rows = binary_row::encode(&columns, &types).unwrap();
    let rows: BinaryArray = binary_row::with_arity(&rows, types.len()).unwrap();
    json!(rows.value(0))
}

/// Converts a value whose type the schema determines.
fn untyped(value: Value) -> Avro {
    match value {
        Value::Null => Avro::Null,
        Value::Bool(value) => Avro::Boolean(value),
        Value::Number(value) => Avro::Long(value.as_i64().unwrap()),
        Value::String(value) => Avro::String(value),
        Value::Array(values) => Avro::Array(values.into_iter().map(untyped).collect()),
        Value::Object(members) => {
            Avro::Record(members.into_iter().map(|(name, value)| (name, untyped(value))).collect())
        }
    }
}

fn avro(schema: &str, records: Vec<Value>) -> Vec<u8> {
    let schema = Schema::parse_str(schema).unwrap();
    let mut writer = Writer::new(&schema, Vec::new()).unwrap();
    for record in records {
        writer.append_value(untyped(record).resolve(&schema).unwrap()).unwrap();
    }
    writer.into_inner().unwrap()
}

const MANIFEST_LIST: &str = r#"{"type": "record", "name": "list", "fields": [
    {"name": "_VERSION", "type": "int"}, {"name": "_FILE_NAME", "type": "string"}, {"name": "_FILE_SIZE", "type": "long"},
    {"name": "_NUM_ADDED_FILES", "type": "long"}, {"name": "_NUM_DELETED_FILES", "type": "long"},
    {"name": "_PARTITION_STATS", "type": {"type": "record", "name": "stats", "fields": [
        {"name": "_MIN_VALUES", "type": "bytes"}, {"name": "_MAX_VALUES", "type": "bytes"},
        {"name": "_NULL_COUNTS", "type": ["null", {"type": "array", "items": ["null", "long"]}]}]}},
    {"name": "_SCHEMA_ID", "type": "long"}, {"name": "_MAX_BUCKET", "type": ["null", "int"]},
    {"name": "_MAX_LEVEL", "type": ["null", "int"]}]}"#;

const MANIFEST: &str = r#"{"type": "record", "name": "entry", "fields": [
    {"name": "_VERSION", "type": "int"}, {"name": "_KIND", "type": "int"}, {"name": "_PARTITION", "type": "bytes"},
    {"name": "_BUCKET", "type": "int"}, {"name": "_TOTAL_BUCKETS", "type": "int"},
    {"name": "_FILE", "type": {"type": "record", "name": "file", "fields": [
        {"name": "_FILE_NAME", "type": "string"}, {"name": "_FILE_SIZE", "type": "long"},
        {"name": "_ROW_COUNT", "type": "long"}, {"name": "_MIN_KEY", "type": "bytes"}, {"name": "_MAX_KEY", "type": "bytes"},
        {"name": "_KEY_STATS", "type": {"type": "record", "name": "key_stats", "fields": [
            {"name": "_MIN_VALUES", "type": "bytes"}, {"name": "_MAX_VALUES", "type": "bytes"},
            {"name": "_NULL_COUNTS", "type": ["null", {"type": "array", "items": ["null", "long"]}]}]}},
        {"name": "_VALUE_STATS", "type": {"type": "record", "name": "value_stats", "fields": [
            {"name": "_MIN_VALUES", "type": "bytes"}, {"name": "_MAX_VALUES", "type": "bytes"},
            {"name": "_NULL_COUNTS", "type": ["null", {"type": "array", "items": ["null", "long"]}]}]}},
        {"name": "_MIN_SEQUENCE_NUMBER", "type": "long"}, {"name": "_MAX_SEQUENCE_NUMBER", "type": "long"},
        {"name": "_SCHEMA_ID", "type": "long"}, {"name": "_LEVEL", "type": "int"},
        {"name": "_EXTRA_FILES", "type": {"type": "array", "items": "string"}},
        {"name": "_CREATION_TIME", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
        {"name": "_DELETE_ROW_COUNT", "type": ["null", "long"]}, {"name": "_FIRST_ROW_ID", "type": ["null", "long"]},
        {"name": "_WRITE_COLS", "type": ["null", {"type": "array", "items": "string"}]}]}}]}"#;
