//! Compares system tables of tables that Java wrote with the results of Java.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType};
use arrow_array::{Array, RecordBatch};
use frazil_core::error::ErrorKind;
use frazil_core::sql::expression::Expression;
use frazil_core::storage::LocalStorage;
use frazil_core::storage::files::Files;
use frazil_core::virtual_table::VirtualScan;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

/// Returns the folders of the golden tables, and of further tables if present.
fn collections() -> Vec<PathBuf> {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = ["../../tests/golden", "../../../shared/golden"].map(|folder| crate_folder.join(folder));
    found.into_iter().filter(|folder| folder.join("paimon_cases").is_dir()).collect()
}

fn open_golden(collection: &Path, folder: &str) -> Option<Table> {
    let location = fs::canonicalize(collection.join(folder)).ok()?;
    let location = location.to_str()?;
    let files = Files::below(Arc::new(LocalStorage), location).ok()?;
    Table::open(&files, location, None).ok()
}

fn batches(table: &Table, name: &str) -> Result<Vec<RecordBatch>> {
    let context = Context::default();
    let scan = VirtualScan::try_new(
        open(table, name, &SnapshotChoice::Latest)?,
        &Expression::filter("true")?,
        &["*".to_string()],
        true,
    )?;
    let mut batches = Vec::new();
    for part in scan.parts(&context)? {
        for batch in scan.read(&part, &context)? {
            batches.push(batch?);
        }
    }
    Ok(batches)
}

/// Returns a value in the form of the test cases.
fn plain(array: &dyn Array, row: usize, root: &str) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Utf8 => {
            let text = array.as_string::<i32>().value(row);
            json!(text.strip_prefix(root).map_or(text, |rest| rest.trim_start_matches('/')))
        }
        DataType::Int32 => json!(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(row)),
        DataType::Timestamp(unit, _) => {
            let us = match unit {
                TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().value(row) * 1000,
                _ => array.as_primitive::<TimestampMicrosecondType>().value(row),
            };
            json!(Timestamp::from_microsecond(us).unwrap().strftime("%Y-%m-%dT%H:%M:%S.%6f").to_string())
        }
        DataType::List(_) => {
            let values = array.as_list::<i32>().value(row);
            (0..values.len()).map(|row| plain(values.as_ref(), row, root)).collect()
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let members = fields.iter().zip(columns);
            members.map(|(field, column)| (field.name().clone(), plain(column.as_ref(), row, root))).collect()
        }
        other => panic!("{other}"),
    }
}

/// Returns the differences from Java's result, or None if there are none.
fn difference(table: &Table, name: &str, expected: &Value, root: &str) -> Option<String> {
    let found = match batches(table, name) {
        Ok(found) => found,
        Err(error) => return Some(error.to_string()),
    };
    let schema = open(table, name, &SnapshotChoice::Latest).unwrap().schema().clone();
    let columns = expected["columns"].as_array().unwrap().iter();
    let columns: Vec<(&str, &str)> =
        columns.map(|column| (column[0].as_str().unwrap(), column[1].as_str().unwrap())).collect();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let wanted = |(column, _): &&(&str, &str)| !(name == "branches" && *column != "branch_name");
    let wanted: Vec<&str> = columns.iter().filter(wanted).map(|(column, _)| *column).collect();
    let positions: Vec<usize> = match wanted.iter().map(|column| schema.index_of(column)).collect() {
        Ok(positions) => positions,
        Err(error) => return Some(error.to_string()),
    };
    if !positions.is_sorted() || (columns.len() == names.len() && !columns.iter().map(|(name, _)| *name).eq(names)) {
        return Some(format!("the order of {:?}", schema.fields()));
    }
    for (column, data_type) in columns.iter().filter(|(column, _)| wanted.contains(column)) {
        let field = schema.field_with_name(column).unwrap();
        if field.is_nullable() == data_type.ends_with("NOT NULL") {
            return Some(format!("{field} should be {data_type}"));
        }
    }
    let mut rows = Vec::new();
    for batch in &found {
        for row in 0..batch.num_rows() {
            let value = |&position: &usize| plain(batch.column(position).as_ref(), row, root).to_string();
            rows.push(positions.iter().map(value).collect::<Vec<_>>());
        }
    }
    let expected = expected["rows"].as_array().unwrap().iter();
    let mut expected: Vec<Vec<String>> = expected
        .map(|row| {
            let value = |column: &&str| match &row[column] {
                Value::String(text) => {
                    let path = text.strip_prefix("/golden/").and_then(|path| path.splitn(4, '/').nth(3));
                    json!(if *column == "file_path" { path.unwrap_or(text) } else { text }).to_string()
                }
                other => other.to_string(),
            };
            wanted.iter().map(value).collect()
        })
        .collect();
    rows.sort();
    expected.sort();
    if rows.len() != expected.len() {
        return Some(format!("{} rows instead of {}", rows.len(), expected.len()));
    }
    let (mine, theirs) = rows.into_iter().zip(expected).find(|(mine, theirs)| mine != theirs)?;
    let differ = mine.iter().zip(&theirs).zip(&wanted).filter(|((mine, theirs), _)| mine != theirs);
    let texts = differ.map(|((mine, theirs), column)| format!("{column}: {mine} instead of {theirs}"));
    Some(texts.collect::<Vec<_>>().join("; "))
}

#[test]
fn system_tables_are_those_of_java() {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut differences = Vec::new();
    for collection in collections() {
        for case in fs::read_dir(collection.join("paimon_cases")).unwrap() {
            let path = case.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let case: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let Some(tables) = case["system_tables"].as_object() else { continue };
            let id = path.file_stem().unwrap().to_string_lossy().into_owned();
            let folder = case["dir"].as_str().unwrap_or_default();
            let Some(table) = open_golden(&collection, folder) else {
                differences.push(format!("{id} does not open"));
                continue;
            };
            for (name, expected) in tables {
                let is_computed = TABLES.iter().any(|table| table.name == name) && !VIEWS.contains(&name.as_str());
                if expected["rows"].is_null() || !is_computed {
                    continue;
                }
                let count = counts.entry(name.clone()).or_default();
                count.1 += 1;
                match difference(&table, name, expected, table.location()) {
                    None => count.0 += 1,
                    Some(difference) => differences.push(format!("{id} {name}: {difference}")),
                }
            }
        }
    }
    println!("{counts:?}");
    let unexpected = differences.iter().filter(|text| !KNOWN.iter().any(|known| text.starts_with(known)));
    let unexpected: Vec<String> = unexpected.map(|text| text.chars().take(600).collect()).collect();
    assert!(unexpected.is_empty(), "{} differences:\n{}", unexpected.len(), unexpected.join("\n"));
    assert!(counts.values().any(|(equal, _)| *equal > 0));
}

/// Intentional differences from Java.
const KNOWN: [&str; 12] = [
    // Old releases showed partitions with different brackets, file names without folders, and no defaults of old
    // schemas.
    "old_0_8_2_evolved schemas",
    "old_0_8_2_pk files",
    "old_0_9_0_append_types files",
    "old_0_9_0_dynamic_bucket files",
    "old_0_9_0_pk files",
    "old_0_9_0_pk_dv files",
    "old_1_0_1_append_types files",
    "old_1_0_1_append_types manifests",
    // For files with few columns (data evolution), Java shows statistics under the wrong columns.
    "data_evolution files",
    // Java shows bytes as the address of an array.
    "pk_key_bin files",
    // The files were listed before the last compaction.
    "pk_ignore_delete files",
    "pk_ignore_update_before files",
];

#[test]
fn snapshots_are_chosen_only_where_one_is_shown() {
    let table = open_golden(&collections()[0], "paimon/g.db/tags_pk").unwrap();
    let error = open(&table, "snapshots", &SnapshotChoice::Id(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let count = |choice: SnapshotChoice| {
        let context = Context::default();
        let manifests = open(&table, "manifests", &choice).unwrap();
        let batch = manifests.read(&[], &[0], &context).unwrap().next().unwrap().unwrap();
        batch.num_rows()
    };
    assert!(count(SnapshotChoice::Ref("old".into())) < count(SnapshotChoice::Latest));
    assert_eq!(open(&table, "manifests", &SnapshotChoice::Id(99)).unwrap_err().kind(), ErrorKind::NoSuchSnapshot);
    assert_eq!(open(&table, "manifest", &SnapshotChoice::Latest).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn parts_of_other_tables_and_states_are_refused_with_the_file() {
    let table = open_golden(&collections()[0], "paimon/g.db/tags_pk").unwrap();
    let context = Context::default();
    let files = open(&table, "files", &SnapshotChoice::Latest).unwrap();
    let parts = files.parts(&context).unwrap();
    let of_other =
        |part: &[u8]| open(&table, "tags", &SnapshotChoice::Latest).unwrap().read(part, &[0], &context).err();
    assert_eq!(of_other(&parts[0]).unwrap().kind(), ErrorKind::InvalidArgument);
    let refused = |part: &str| files.read(part.as_bytes(), &[0], &context).err().unwrap();
    for part in ["", "{}", r#"{"manifest": "../schema/schema-0", "entries": []}"#] {
        assert_eq!(refused(part).kind(), ErrorKind::InvalidArgument, "{part}");
    }
    let error = refused(r#"{"manifest": "manifest-lost", "entries": []}"#);
    assert_eq!(error.kind(), ErrorKind::MissingFile);
    assert!(error.to_string().contains("manifest-lost"), "{error}");
    let known: Value = serde_json::from_slice(&parts[0]).unwrap();
    for entries in [json!([{"start": 0, "end": 1_i64 << 40}]), json!([{"start": 5, "end": 1}])] {
        let error = refused(&json!({"manifest": known["manifest"], "entries": entries}).to_string());
        assert_eq!(error.kind(), ErrorKind::CorruptManifest, "{error}");
        assert!(error.to_string().contains(known["manifest"].as_str().unwrap()), "{error}");
    }
}

#[test]
fn any_columns_of_files_are_those_of_all() {
    let table = open_golden(&collections()[0], "paimon/g.db/tags_pk").unwrap();
    let context = Context::default();
    let files = open(&table, "files", &SnapshotChoice::Latest).unwrap();
    let all: Vec<usize> = (0..files.schema().fields().len()).collect();
    for part in files.parts(&context).unwrap() {
        let read = |columns: &[usize]| files.read(&part, columns, &context).unwrap().next().unwrap().unwrap();
        let whole = read(&all);
        assert_eq!(read(&[]).num_rows(), whole.num_rows());
        for column in &all {
            assert_eq!(read(&[*column]), whole.project(&[*column]).unwrap());
        }
    }
}
