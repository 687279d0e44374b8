//! In-memory tables for tests: manifests are encoded by another Avro library, metadata is JSON.

use std::sync::Arc;

use apache_avro::Schema;
use apache_avro::types::Value;
use apache_avro::writer::datum::GenericDatumWriter;
use bytes::Bytes;
use frazil_core::context::Context;
use frazil_core::error::Result;
use frazil_core::sql::expression::Expression;
use frazil_core::storage::{Files, MemoryStorage, Storage};
use frazil_iceberg::scan::plan::Plan;
use frazil_iceberg::scan::table_scan::{ScanOptions, TableScan};
use frazil_iceberg::table::{SnapshotChoice, Table};
use serde_json::{Value as Json, json};

/// The location of the test tables.
pub(crate) const ROOT: &str = "memory://t/table";

/// Returns an Avro file of one block, whose header has the schema verbatim.
pub(crate) fn avro_file(schema: &Json, metadata: &[(&str, &str)], records: Vec<Value>) -> Bytes {
    const SYNC: [u8; 16] = *b"0123456789abcdef";
    let text = schema.to_string();
    let parsed = Schema::parse_str(&text).unwrap();
    let datum = |schema: &Schema, value: Value| {
        GenericDatumWriter::builder(schema).build().unwrap().write_value_to_vec(value).unwrap()
    };
    let long = |n: usize| datum(&Schema::Long, Value::Long(i64::try_from(n).unwrap()));
    let string = |text: &str| datum(&Schema::String, Value::String(text.into()));
    let entries = [&[("avro.schema", text.as_str()), ("avro.codec", "null")], metadata].concat();
    let mut file = [&b"Obj\x01"[..], &long(entries.len())].concat();
    for (key, value) in &entries {
        file.extend([string(key), string(value)].concat());
    }
    file.extend([&long(0)[..], &SYNC].concat());
    let count = records.len();
    let encode = |record: Value| datum(&parsed, record.resolve(&parsed).unwrap());
    let block: Vec<u8> = records.into_iter().flat_map(encode).collect();
    if count > 0 {
        file.extend([&long(count)[..], &long(block.len()), &block, &SYNC].concat());
    }
    file.into()
}

/// A manifest entry; None fields are null.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) status: i32,
    pub(crate) snapshot_id: Option<i64>,
    pub(crate) sequence_number: Option<i64>,
    pub(crate) content: i32,
    pub(crate) path: String,
    pub(crate) format: String,
    pub(crate) partition: Vec<(String, Value)>,
    pub(crate) record_count: i64,
    pub(crate) size: i64,
    pub(crate) value_counts: Vec<(i32, i64)>,
    pub(crate) null_counts: Vec<(i32, i64)>,
    pub(crate) nan_counts: Vec<(i32, i64)>,
    pub(crate) lower: Vec<(i32, Vec<u8>)>,
    pub(crate) upper: Vec<(i32, Vec<u8>)>,
    pub(crate) split_offsets: Option<Vec<i64>>,
    pub(crate) equality_ids: Option<Vec<i32>>,
    pub(crate) first_row_id: Option<i64>,
    pub(crate) referenced: Option<String>,
    pub(crate) content_range: Option<(i64, i64)>,
}

impl Entry {
    /// Returns a Parquet file of ten rows that the manifest's snapshot added.
    pub(crate) fn data(name: &str) -> Self {
        Self { status: 1, path: at(name), format: "PARQUET".into(), record_count: 10, size: 1000, ..Self::default() }
    }

    /// Returns a position delete file.
    pub(crate) fn positions(name: &str) -> Self {
        Self { content: 1, ..Self::data(name) }
    }

    /// Returns an equality delete file on column 1.
    pub(crate) fn equality(name: &str) -> Self {
        Self { content: 2, equality_ids: Some(vec![1]), ..Self::data(name) }
    }

    /// Returns a deletion vector.
    pub(crate) fn vector(name: &str, of: &str) -> Self {
        Self {
            format: "puffin".into(),
            referenced: Some(at(of)),
            content_range: Some((4, 50)),
            ..Self::positions(name)
        }
    }

    /// Returns the entry with the EXISTING status and an explicit sequence number.
    pub(crate) fn existing(self, sequence_number: Option<i64>) -> Self {
        Self { status: 0, sequence_number, ..self }
    }

    /// Returns the entry with this sequence number.
    pub(crate) fn sequence(self, sequence_number: i64) -> Self {
        Self { sequence_number: Some(sequence_number), ..self }
    }

    /// Returns the entry in a partition of one field.
    pub(crate) fn partition(self, name: &str, value: impl Into<Value>) -> Self {
        Self { partition: vec![(name.into(), value.into())], ..self }
    }

    /// Returns the entry with bounds of a column, and no NULL in it.
    pub(crate) fn bounds(mut self, id: i32, lower: &[u8], upper: &[u8]) -> Self {
        self.value_counts.push((id, self.record_count));
        self.null_counts.push((id, 0));
        self.lower.push((id, lower.to_vec()));
        self.upper.push((id, upper.to_vec()));
        self
    }

    fn record(&self) -> Value {
        let (offset, length) = self.content_range.unzip();
        let file = record(vec![
            ("content", Value::Int(self.content)),
            ("file_path", text(&self.path)),
            ("file_format", text(&self.format)),
            ("partition", Value::Record(self.partition.clone())),
            ("record_count", Value::Long(self.record_count)),
            ("file_size_in_bytes", Value::Long(self.size)),
            ("block_size_in_bytes", Value::Long(1 << 26)),
            ("value_counts", pairs(&self.value_counts, |n| Value::Long(*n))),
            ("null_value_counts", pairs(&self.null_counts, |n| Value::Long(*n))),
            ("nan_value_counts", pairs(&self.nan_counts, |n| Value::Long(*n))),
            ("lower_bounds", pairs(&self.lower, |b| Value::Bytes(b.clone()))),
            ("upper_bounds", pairs(&self.upper, |b| Value::Bytes(b.clone()))),
            ("split_offsets", list(self.split_offsets.as_deref(), |n| Value::Long(*n))),
            ("equality_ids", list(self.equality_ids.as_deref(), |n| Value::Int(*n))),
            ("first_row_id", long(self.first_row_id)),
            ("referenced_data_file", self.referenced.as_deref().map_or(Value::Null, text)),
            ("content_offset", long(offset)),
            ("content_size_in_bytes", long(length)),
        ]);
        record(vec![
            ("status", Value::Int(self.status)),
            ("snapshot_id", long(self.snapshot_id)),
            ("sequence_number", long(self.sequence_number)),
            ("file_sequence_number", long(self.sequence_number)),
            ("data_file", file),
        ])
    }
}

/// A manifest with its record in the manifest list.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    /// The format version in which it was written.
    pub(crate) version: u8,
    pub(crate) spec_id: i32,
    /// The partition fields: id, name, Avro type.
    pub(crate) columns: Vec<(i32, String, Json)>,
    pub(crate) content: i32,
    pub(crate) sequence_number: i64,
    pub(crate) added_snapshot_id: Option<i64>,
    pub(crate) first_row_id: Option<i64>,
    /// For each partition field: whether it contains NULL, whether it contains NaN, and its bounds.
    pub(crate) summaries: Option<Vec<Summary>>,
    /// Whether unions have null as their second branch.
    pub(crate) null_last: bool,
    pub(crate) entries: Vec<Entry>,
}

/// The summary of a partition field.
pub(crate) type Summary = (bool, Option<bool>, Option<Vec<u8>>, Option<Vec<u8>>);

impl Manifest {
    /// Returns a v2 manifest of unpartitioned data files.
    pub(crate) fn data(name: &str, sequence_number: i64, entries: Vec<Entry>) -> Self {
        Self {
            name: name.into(),
            version: 2,
            spec_id: UNPARTITIONED,
            columns: Vec::new(),
            content: 0,
            sequence_number,
            added_snapshot_id: Some(sequence_number),
            first_row_id: None,
            summaries: None,
            null_last: false,
            entries,
        }
    }

    /// Returns a manifest of delete files.
    pub(crate) fn deletes(name: &str, sequence_number: i64, entries: Vec<Entry>) -> Self {
        Self { content: 1, ..Self::data(name, sequence_number, entries) }
    }

    /// Returns the manifest with a spec of one partition field.
    pub(crate) fn spec(self, spec_id: i32, field_id: i32, name: &str, avro_type: &str) -> Self {
        Self { spec_id, columns: vec![(field_id, name.into(), json!(avro_type))], ..self }
    }

    /// Returns the bytes of the manifest.
    pub(crate) fn bytes(&self) -> Bytes {
        let schema = self.schema();
        let (spec_id, version) = (self.spec_id.to_string(), self.version.to_string());
        let metadata = [("partition-spec-id", spec_id.as_str()), ("format-version", version.as_str())];
        avro_file(&schema, &metadata, self.entries.iter().map(Entry::record).collect())
    }

    fn schema(&self) -> Json {
        let optional = |t: Json| if self.null_last { json!([t, "null"]) } else { json!(["null", t]) };
        let map = |key: i32, value: i32, t: &str| {
            let fields = [field(key, "key", json!("int")), field(value, "value", json!(t))];
            let item = json!({"type": "record", "name": format!("k{key}_v{value}"), "fields": fields});
            optional(json!({"type": "array", "logicalType": "map", "items": item}))
        };
        let array = |id: i32, t: &str| optional(json!({"type": "array", "element-id": id, "items": t}));
        let partition: Vec<Json> =
            self.columns.iter().map(|(id, name, t)| field(*id, name, optional(t.clone()))).collect();
        let mut file = vec![
            field(100, "file_path", json!("string")),
            field(101, "file_format", json!("string")),
            field(102, "partition", json!({"type": "record", "name": "r102", "fields": partition})),
            field(103, "record_count", json!("long")),
            field(104, "file_size_in_bytes", json!("long")),
            field(109, "value_counts", map(119, 120, "long")),
            field(110, "null_value_counts", map(121, 122, "long")),
            field(137, "nan_value_counts", map(138, 139, "long")),
            field(125, "lower_bounds", map(126, 127, "bytes")),
            field(128, "upper_bounds", map(129, 130, "bytes")),
            field(132, "split_offsets", array(133, "long")),
        ];
        let mut entry = vec![field(0, "status", json!("int")), field(1, "snapshot_id", optional(json!("long")))];
        if self.version == 1 {
            file.push(field(105, "block_size_in_bytes", json!("long")));
        } else {
            file.insert(0, field(134, "content", json!("int")));
            file.extend([
                field(135, "equality_ids", array(136, "int")),
                field(142, "first_row_id", optional(json!("long"))),
                field(143, "referenced_data_file", optional(json!("string"))),
                field(144, "content_offset", optional(json!("long"))),
                field(145, "content_size_in_bytes", optional(json!("long"))),
            ]);
            entry.push(field(3, "sequence_number", optional(json!("long"))));
            entry.push(field(4, "file_sequence_number", optional(json!("long"))));
        }
        entry.push(field(2, "data_file", json!({"type": "record", "name": "r2", "fields": file})));
        json!({"type": "record", "name": "manifest_entry", "fields": entry})
    }

    fn listed(&self, length: usize) -> Value {
        let summary = |(null, nan, lower, upper): &Summary| {
            let bytes = |b: &Option<Vec<u8>>| b.clone().map_or(Value::Null, Value::Bytes);
            record(vec![
                ("contains_null", Value::Boolean(*null)),
                ("contains_nan", nan.map_or(Value::Null, Value::Boolean)),
                ("lower_bound", bytes(lower)),
                ("upper_bound", bytes(upper)),
            ])
        };
        let count = |status| {
            let files = self.entries.iter().filter(move |entry| entry.status == status);
            (files.clone().count(), files.map(|entry| entry.record_count).fold(0_i64, i64::saturating_add))
        };
        let files = |status| Value::Int(i32::try_from(count(status).0).unwrap());
        let rows = |status| Value::Long(count(status).1);
        record(vec![
            ("manifest_path", text(&at(&self.name))),
            ("manifest_length", Value::Long(i64::try_from(length).unwrap())),
            ("partition_spec_id", Value::Int(self.spec_id)),
            ("content", Value::Int(self.content)),
            ("sequence_number", Value::Long(self.sequence_number)),
            ("min_sequence_number", Value::Long(0)),
            ("added_snapshot_id", long(self.added_snapshot_id)),
            ("added_data_files_count", files(1)),
            ("existing_data_files_count", files(0)),
            ("deleted_data_files_count", files(2)),
            ("added_rows_count", rows(1)),
            ("existing_rows_count", rows(0)),
            ("deleted_rows_count", rows(2)),
            ("partitions", list(self.summaries.as_deref(), summary)),
            ("first_row_id", long(self.first_row_id)),
        ])
    }
}

/// Returns a manifest list, with the count names that writers before 1.5 used.
pub(crate) fn manifest_list(manifests: &[Manifest]) -> Bytes {
    let optional = |t: Json| json!(["null", t]);
    let bytes = |id, name| field(id, name, optional(json!("bytes")));
    let boolean = |id, name, t: Json| field(id, name, t);
    let summary = json!({"type": "record", "name": "r508", "fields": [
        boolean(509, "contains_null", json!("boolean")),
        boolean(518, "contains_nan", optional(json!("boolean"))),
        bytes(510, "lower_bound"),
        bytes(511, "upper_bound"),
    ]});
    let numbers = [
        (501, "manifest_length", "long"),
        (502, "partition_spec_id", "int"),
        (517, "content", "int"),
        (515, "sequence_number", "long"),
        (516, "min_sequence_number", "long"),
        (504, "added_data_files_count", "int"),
        (505, "existing_data_files_count", "int"),
        (506, "deleted_data_files_count", "int"),
        (512, "added_rows_count", "long"),
        (513, "existing_rows_count", "long"),
        (514, "deleted_rows_count", "long"),
    ];
    let mut fields = vec![field(500, "manifest_path", json!("string"))];
    fields.extend(numbers.map(|(id, name, t)| field(id, name, json!(t))));
    fields.extend([
        field(503, "added_snapshot_id", optional(json!("long"))),
        field(507, "partitions", optional(json!({"type": "array", "element-id": 508, "items": summary}))),
        field(520, "first_row_id", optional(json!("long"))),
    ]);
    let schema = json!({"type": "record", "name": "manifest_file", "fields": fields});
    let records = manifests.iter().map(|manifest| manifest.listed(manifest.bytes().len())).collect();
    avro_file(&schema, &[("format-version", "2")], records)
}

/// The spec of `a` by identity.
pub(crate) const BY_A: i32 = 0;
/// Another spec of `a` by identity.
pub(crate) const BY_A_AGAIN: i32 = 1;
/// The spec of `a` as void: unpartitioned, although it has a field.
pub(crate) const VOID: i32 = 2;
/// The spec without fields.
pub(crate) const UNPARTITIONED: i32 = 3;
/// The spec of the day of `ts`.
pub(crate) const BY_DAY: i32 = 4;
/// The spec of the hour of `ts`.
pub(crate) const BY_HOUR: i32 = 5;

/// A table under construction.
#[derive(Debug)]
pub(crate) struct Fixture {
    pub(crate) storage: Arc<MemoryStorage>,
    /// The table metadata.
    pub(crate) json: Json,
}

impl Fixture {
    /// Returns a v3 table without a snapshot and with the columns
    /// `id long, a int, s string, ts timestamp, x double, d decimal(18, 2)`.
    pub(crate) fn new() -> Self {
        let column = |id: i32, name: &str, t: &str| json!({"id": id, "name": name, "required": false, "type": t});
        let spec = |id: i32, fields: &[(i32, &str, &str, i32)]| {
            let field = |(source, name, transform, id): &(i32, &str, &str, i32)| json!({"source-id": source, "field-id": id, "name": name, "transform": transform});
            json!({"spec-id": id, "fields": fields.iter().map(field).collect::<Vec<_>>()})
        };
        let columns = [
            column(1, "id", "long"),
            column(2, "a", "int"),
            column(3, "s", "string"),
            column(4, "ts", "timestamp"),
            column(5, "x", "double"),
            column(6, "d", "decimal(18, 2)"),
        ];
        let specs = [
            spec(BY_A, &[(2, "a", "identity", 1000)]),
            spec(BY_A_AGAIN, &[(2, "a", "identity", 1000)]),
            spec(VOID, &[(2, "a", "void", 1000)]),
            spec(UNPARTITIONED, &[]),
            spec(BY_DAY, &[(4, "ts_day", "day", 1001)]),
            spec(BY_HOUR, &[(4, "ts_hour", "hour", 1002)]),
        ];
        Self::of(&columns, &specs)
    }

    /// Returns a table with these columns and specs.
    pub(crate) fn of(columns: &[Json], specs: &[Json]) -> Self {
        let json = json!({
            "format-version": 3, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": ROOT,
            "last-sequence-number": 0, "last-updated-ms": 0, "last-column-id": 100, "next-row-id": 0,
            "schemas": [{"type": "struct", "schema-id": 0, "fields": columns}], "current-schema-id": 0,
            "partition-specs": specs, "default-spec-id": 0, "last-partition-id": 1100,
            "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0,
            "properties": {}, "snapshots": [], "snapshot-log": [], "refs": {},
        });
        Self { storage: Arc::default(), json }
    }

    /// Adds a snapshot of these manifests on top of the current one, at its id times 1000 ms.
    pub(crate) fn commit(&mut self, id: i64, operation: &str, manifests: &[Manifest]) {
        for manifest in manifests {
            self.put(&manifest.name, manifest.bytes());
        }
        let list = format!("snap-{id}.avro");
        self.put(&list, manifest_list(manifests));
        self.log(id, operation, &json!({"manifest-list": at(&list)}));
    }

    /// Adds a snapshot; `extra` has the location of its manifests.
    pub(crate) fn log(&mut self, id: i64, operation: &str, extra: &Json) {
        let mut snapshot = json!({
            "snapshot-id": id, "sequence-number": id, "timestamp-ms": id * 1000,
            "summary": {"operation": operation}, "schema-id": 0, "first-row-id": 0, "added-rows": 0,
        });
        if let Some(parent) = self.json.get("current-snapshot-id") {
            snapshot["parent-snapshot-id"] = parent.clone();
        }
        for (key, value) in extra.as_object().unwrap() {
            snapshot[key] = value.clone();
        }
        self.json["snapshots"].as_array_mut().unwrap().push(snapshot);
        self.json["snapshot-log"].as_array_mut().unwrap().push(json!({"snapshot-id": id, "timestamp-ms": id * 1000}));
        self.json["current-snapshot-id"] = json!(id);
        self.json["refs"]["main"] = json!({"snapshot-id": id, "type": "branch"});
        self.json["last-sequence-number"] = json!(id);
    }

    /// Writes a file to the table's folder.
    pub(crate) fn put(&self, name: &str, content: Bytes) {
        self.storage.put(&at(name), content).unwrap();
    }

    /// Opens the table.
    pub(crate) fn open(&self) -> Table {
        self.open_in(self.storage.clone())
    }

    /// Opens the table, read through another storage.
    pub(crate) fn open_in(&self, storage: Arc<dyn Storage>) -> Table {
        self.put("metadata/v1.metadata.json", self.json.to_string().into());
        Table::open(&Files::below(storage, ROOT).unwrap(), ROOT).unwrap()
    }
}

/// Returns a table with one snapshot of these manifests.
pub(crate) fn table(manifests: &[Manifest]) -> Table {
    let mut fixture = Fixture::new();
    fixture.commit(9, "append", manifests);
    fixture.open()
}

/// Returns scan options with a filter on the current snapshot.
pub(crate) fn options(filter: &str) -> ScanOptions {
    ScanOptions {
        row_filter: if filter.is_empty() { Expression::TRUE } else { Expression::filter(filter).unwrap() },
        selected_fields: vec!["*".into()],
        metadata_columns: Vec::new(),
        snapshot: SnapshotChoice::Current,
        limit: None,
        case_sensitive: true,
    }
}

/// Plans a scan.
pub(crate) fn try_plan(table: &Table, options: &ScanOptions) -> Result<Plan> {
    TableScan::try_new(table, options)?.plan(2, &Context::default())
}

/// Plans a scan of the current snapshot.
pub(crate) fn plan(table: &Table, filter: &str) -> Plan {
    try_plan(table, &options(filter)).unwrap()
}

/// Returns the names of the data files.
pub(crate) fn names(plan: &Plan) -> Vec<String> {
    (0..plan.len()).map(|i| name(&plan.task(i).unwrap().file.path)).collect()
}

/// Returns the names of the delete files of a data file.
pub(crate) fn deletes_of(plan: &Plan, data_file: &str) -> Vec<String> {
    let tasks = (0..plan.len()).map(|i| plan.task(i).unwrap());
    let task = tasks.into_iter().find(|task| name(&task.file.path) == data_file).unwrap();
    task.deletes.iter().map(|file| name(&file.path)).collect()
}

/// Returns the location of a file of the table.
pub(crate) fn at(name: &str) -> String {
    format!("{ROOT}/{name}")
}

fn name(path: &str) -> String {
    path.strip_prefix(ROOT).map_or(path, |path| &path[1..]).to_string()
}

fn field(id: i32, name: &str, avro_type: impl Into<Json>) -> Json {
    let avro_type = avro_type.into();
    json!({"name": name, "field-id": id, "type": avro_type})
}

fn record(fields: Vec<(&str, Value)>) -> Value {
    Value::Record(fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

fn text(text: &str) -> Value {
    Value::String(text.into())
}

fn long(value: Option<i64>) -> Value {
    value.map_or(Value::Null, Value::Long)
}

fn list<T>(values: Option<&[T]>, value: impl Fn(&T) -> Value) -> Value {
    values.map_or(Value::Null, |values| Value::Array(values.iter().map(value).collect()))
}

fn pairs<T>(entries: &[(i32, T)], value: impl Fn(&T) -> Value) -> Value {
    let entry = |(key, v): &(i32, T)| record(vec![("key", Value::Int(*key)), ("value", value(v))]);
    if entries.is_empty() { Value::Null } else { Value::Array(entries.iter().map(entry).collect()) }
}
