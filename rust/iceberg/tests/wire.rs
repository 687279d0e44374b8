//! Tests of the wire form of tasks, which are sent to another process, possibly of another build.

#![cfg(test)]

mod predicate_wire;

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use frazil_core::context::{Budget, Context};
use frazil_core::error::ErrorKind;
use frazil_core::sql::expression::Expression;
use frazil_core::sql::predicate::BoundPredicate;
use frazil_core::storage::{Files, MemoryStorage, Storage};
use frazil_iceberg::scan::table_scan::{ScanOptions, TableScan};
use frazil_iceberg::scan::task::{DataFile, FileScanTask};
use frazil_iceberg::scan::wire;
use frazil_iceberg::table::{SnapshotChoice, Table};
use rstest::rstest;

/// Tables, with the filters and the columns with which they are planned.
const CASES: [(&str, &str, &[&str]); 4] = [
    (
        "del_pos_file_parquet_part",
        "id > 2 and (c like 'b%' or v is null or id + 1 <> v)",
        &["id", "v", "_pos", "_file"],
    ),
    ("dv_spark_parquet_part", "c in ('a', 'b') or c is null", &["*", "_row_id", "_last_updated_sequence_number"]),
    ("del_eq_null_keys", "v <> 7", &["c"]),
    ("pevo_v2_three_specs", "ts >= TIMESTAMP '1970-01-03 00:00:00+00:00' and amount > 1.5", &["*", "_partition"]),
];

fn folder(parts: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(parts)
}

/// Returns a golden table in memory, at its recorded location except for the scheme.
fn load(name: &str) -> Table {
    let storage = Arc::new(MemoryStorage::default());
    let root = format!("memory://t/golden/iceberg/{name}");
    for entry in fs::read_dir(folder("../../tests/golden/iceberg").join(name).join("metadata")).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        storage.put(&format!("{root}/metadata/{file}"), fs::read(&path).unwrap().into()).unwrap();
    }
    Table::open(&Files::below(storage, &root).unwrap(), &root).unwrap()
}

fn tasks(table: &Table, filter: Expression, columns: &[&str]) -> Vec<FileScanTask> {
    let options = ScanOptions {
        row_filter: filter,
        selected_fields: columns.iter().map(ToString::to_string).collect(),
        metadata_columns: Vec::new(),
        snapshot: SnapshotChoice::Current,
        limit: None,
        case_sensitive: true,
    };
    let plan = TableScan::try_new(table, &options).unwrap().plan(1, &Context::default()).unwrap();
    assert!(!plan.is_empty(), "the filter leaves nothing");
    (0..plan.len()).map(|i| plan.task(i).unwrap()).collect()
}

fn case((name, filter, columns): (&str, &str, &[&str])) -> Vec<FileScanTask> {
    tasks(&load(name), Expression::filter(filter).unwrap(), columns)
}

fn golden(name: &str) -> PathBuf {
    of_version(name, wire::VERSION)
}

fn of_version(name: &str, version: &str) -> PathBuf {
    folder("tests/wire").join(format!("{name}.v{version}.bin"))
}

#[rstest]
fn the_bytes_of_an_older_version_are_refused(#[values(0, 1, 2, 3)] index: usize) {
    let bytes = fs::read(of_version(CASES[index].0, "1")).unwrap();
    let error = wire::read(&bytes, Arc::new(MemoryStorage::default()), Budget::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("use the same version of frazil in all processes"), "{error}");
}

#[test]
#[ignore = "writes the bytes that a new version of the wire form is held to; never replaces any"]
fn write_the_bytes_of_a_new_version() {
    for case_of in CASES {
        let bytes = wire::write(&case(case_of)).unwrap();
        fs::File::create_new(golden(case_of.0)).unwrap().write_all(&bytes).unwrap();
    }
}

#[rstest]
fn the_bytes_of_a_version_never_change(#[values(0, 1, 2, 3)] index: usize) {
    let bytes = wire::write(&case(CASES[index])).unwrap();
    let expected = fs::read(golden(CASES[index].0)).unwrap();
    let differ = bytes.iter().zip(&expected).position(|(a, b)| a != b);
    assert!(bytes == expected, "{} bytes, {} were expected, they differ at {differ:?}", bytes.len(), expected.len());
}

fn reread(tasks: &[FileScanTask]) -> Vec<FileScanTask> {
    let storage = tasks[0].read.files.storage().clone();
    wire::read(&wire::write(tasks).unwrap(), storage, Budget::default()).unwrap()
}

#[rstest]
fn scan_tasks_round_trip(#[values(0, 1, 2, 3)] index: usize) {
    let tasks = case(CASES[index]);
    let (first, reread) = (&tasks[0].read, reread(&tasks));
    assert_eq!(tasks.len(), reread.len());
    for (task, reread) in tasks.iter().zip(&reread) {
        // Split offsets are not used after planning.
        let file = DataFile { split_offsets: Vec::new(), ..task.file.clone() };
        assert_eq!((file, &task.deletes, task.range), (reread.file.clone(), &reread.deletes, reread.range));
        // Conditions also keep the text of their source, for messages.
        assert_eq!(task.residual().unwrap().to_string(), reread.residual().unwrap().to_string());
        assert_eq!(task.constants().unwrap(), reread.constants().unwrap());
    }
    let read = &reread[0].read;
    assert_eq!((&read.output, &read.schema, &read.retired), (&first.output, &first.schema, &first.retired));
    assert_eq!((read.filter.to_string(), &read.name_mapping), (first.filter.to_string(), &first.name_mapping));
    assert_eq!(read.partitions, first.partitions);
    assert_eq!(read.output_schema(), first.output_schema());
    let path = &tasks[0].file.path;
    assert_eq!(read.files.resolve(path).unwrap(), first.files.resolve(path).unwrap());
    assert_eq!(read.files.resolve("memory://other/x").unwrap_err().kind(), ErrorKind::PathNotAllowed);
    assert!(reread.iter().any(|task| !task.deletes.is_empty()));
}

#[test]
fn parts_of_files_are_written_too() {
    let mut tasks = case(CASES[2]);
    tasks[0].range = Some((4, i64::MAX));
    assert_eq!(reread(&tasks)[0].range, Some((4, i64::MAX)));
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[rstest]
fn no_property_of_the_table_is_sent(#[values(0, 1, 2, 3)] index: usize) {
    let (name, filter, columns) = CASES[index];
    let table = load(name);
    let metadata = table.metadata_location().to_string();
    let storage = table.files().storage();
    let mut json: serde_json::Value = serde_json::from_slice(&storage.read(&metadata, 1 << 20).unwrap()).unwrap();
    json["properties"]["s3.secret-access-key"] = "wJalrXUtnFEMI/K7MDENG".into();
    json["properties"]["adls.sas-token"] = "sv=2024&sig=abcdefgh".into();
    storage.put(&metadata, json.to_string().into()).unwrap();
    let root = format!("memory://t/golden/iceberg/{name}");
    let table = Table::open(&Files::below(storage.clone(), &root).unwrap(), &root).unwrap();
    let bytes = wire::write(&tasks(&table, Expression::filter(filter).unwrap(), columns)).unwrap();
    assert!(contains(&bytes, "schema-id"), "the context is readable");
    assert!(table.metadata().properties.len() > 2);
    for (key, value) in &table.metadata().properties {
        assert!(!contains(&bytes, key), "{key}");
        // Short values, such as `zstd` and `root`, may occur by chance in file paths.
        assert!(value.len() < 8 || !contains(&bytes, value), "the value of {key}");
    }
    let snapshot = table.metadata().current_snapshot().unwrap();
    assert!(!contains(&bytes, snapshot.manifest_list.as_deref().unwrap()));
    assert!(!contains(&bytes, table.metadata().table_uuid.as_deref().unwrap()));
}

/// Returns the same tasks with other stream metadata, sealed again.
fn with_metadata(bytes: &[u8], change: impl Fn(&mut std::collections::HashMap<String, String>)) -> Vec<u8> {
    let mut reader = StreamReader::try_new(Cursor::new(bytes), None).unwrap();
    let mut schema = reader.schema().as_ref().clone();
    change(&mut schema.metadata);
    let columns = reader.next().unwrap().unwrap().columns().to_vec();
    let batch = RecordBatch::try_new(Arc::new(schema.clone()), columns).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    sealed(writer.into_inner().unwrap())
}

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

fn kind(bytes: &[u8]) -> ErrorKind {
    wire::read(bytes, Arc::new(MemoryStorage::default()), Budget::default()).unwrap_err().kind()
}

#[test]
fn another_version_is_unsupported() {
    let bytes = wire::write(&case(CASES[2])).unwrap();
    let versioned = |version: &str| with_metadata(&bytes, |m| drop(m.insert("frazil.task".into(), version.into())));
    assert!(wire::read(&versioned(wire::VERSION), Arc::new(MemoryStorage::default()), Budget::default()).is_ok());
    assert_eq!(kind(&versioned("3")), ErrorKind::Unsupported);
    assert_eq!(kind(&versioned("")), ErrorKind::Unsupported);
    assert_eq!(kind(&with_metadata(&bytes, |m| drop(m.remove("frazil.task")))), ErrorKind::CorruptData);
    assert_eq!(kind(&with_metadata(&bytes, |m| drop(m.remove("frazil.context")))), ErrorKind::CorruptData);
    for context in ["", "{}", "[1]", "{\"schema\": {}}"] {
        let other = with_metadata(&bytes, |m| drop(m.insert("frazil.context".into(), context.into())));
        assert_eq!(kind(&other), ErrorKind::CorruptData, "{context}");
    }
}

#[test]
fn damaged_bytes_are_corrupt() {
    let bytes = wire::write(&case(CASES[0])).unwrap();
    for length in (0..bytes.len()).step_by(37).chain([bytes.len() - 1]) {
        assert_eq!(kind(&bytes[..length]), ErrorKind::CorruptData, "{length} of {}", bytes.len());
    }
    for position in (0..bytes.len()).step_by(41).chain([bytes.len() - 1]) {
        let mut damaged = bytes.clone();
        damaged[position] ^= 0x20;
        assert_eq!(kind(&damaged), ErrorKind::CorruptData, "at {position}");
    }
    assert_eq!(kind(&[bytes.clone(), vec![0]].concat()), ErrorKind::CorruptData);
    assert_eq!(kind(&sealed(b"no stream".to_vec())), ErrorKind::CorruptData);
    assert_eq!(kind(&sealed(Vec::new())), ErrorKind::CorruptData);
}

#[test]
fn only_tasks_of_one_scan_are_written_together() {
    let (a, b) = (case(CASES[2]), case(CASES[2]));
    assert_eq!(wire::write(&[a[0].clone(), b[0].clone()]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(wire::write(&[]).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

/// Returns `id > 0 and (id > 1 or (id > 2 and ...))`.
fn nested(depth: usize) -> Expression {
    (0..depth).rev().fold(Expression::filter("id > 1000").unwrap(), |inner, level| {
        let leaf = Expression::filter(&format!("id > {level}")).unwrap();
        if level % 2 == 0 { Expression::And(vec![leaf, inner]) } else { Expression::Or(vec![leaf, inner]) }
    })
}

#[test]
fn a_filter_that_is_written_is_read() {
    let table = load("del_eq_null_keys");
    let options = |depth| ScanOptions {
        row_filter: nested(depth),
        selected_fields: vec!["*".into()],
        metadata_columns: Vec::new(),
        snapshot: SnapshotChoice::Current,
        limit: None,
        case_sensitive: true,
    };
    let template = case(CASES[2]);
    for depth in [10, 50, 60, 90, 120, 500] {
        let scan = TableScan::try_new(&table, &options(depth)).unwrap();
        let mut task = template[0].clone();
        task.read = scan.read().clone();
        match wire::write(std::slice::from_ref(&task)) {
            Ok(bytes) => {
                let reread = wire::read(&bytes, table.files().storage().clone(), Budget::default()).unwrap();
                assert_eq!(reread[0].read.filter, task.read.filter, "{depth}");
            }
            Err(error) => assert_eq!((error.kind(), depth > 50), (ErrorKind::InvalidArgument, true), "{depth}"),
        }
        assert_ne!(task.read.filter, BoundPredicate::True);
    }
}
