use std::sync::Arc;

use arrow_array::{Int64Array, StringArray};
use arrow_schema::{DataType, Field, Schema};
use frazil_core::error::ErrorKind;
use frazil_core::storage::{Files, MemoryStorage};
use serde_json::{Value, json};

use super::*;
use crate::commit::{NoLock, Request, commit};
use crate::schema::create::{Definition, create};

const ROOT: &str = "memory://warehouse/d.db/t";
const OPTIONS: WriteOptions =
    WriteOptions { memory_bytes: 1 << 20, utc_offset_ms: 0, overwrites: false, assigns_buckets: false, name: None };

fn table_with(partition_keys: &Value, options: &Value) -> Table {
    let definition = json!({
        "fields": [{"id": 0, "name": "k", "type": "BIGINT NOT NULL"}, {"id": 1, "name": "v", "type": "STRING"}],
        "partitionKeys": partition_keys, "primaryKeys": [], "options": options,
    });
    let files = Files::below(Arc::new(MemoryStorage::default()), ROOT).unwrap();
    create(&files, ROOT, Definition::parse(definition.to_string().as_bytes()).unwrap()).unwrap()
}

fn table() -> Table {
    table_with(&json!([]), &json!({"file.compression": "snappy"}))
}

fn writer(table: &Table) -> RowWriter {
    RowWriter::try_new(table, &OPTIONS, &Context::default()).unwrap()
}

fn rows(first: i64, count: i64) -> RecordBatch {
    let schema = Schema::new(vec![Field::new("v", DataType::Utf8, true), Field::new("k", DataType::Int64, true)]);
    let values: StringArray = (0..count).map(|row| (row % 3 > 0).then(|| (row % 3).to_string())).collect();
    let keys: Int64Array = (first..first + count).map(Some).collect();
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(values), Arc::new(keys)]).unwrap()
}

/// Writes the rows of each slot to one file, and returns the changes and the rows by location.
fn written(writer: &mut RowWriter, batches: &[RecordBatch]) -> (Vec<BucketChange>, HashMap<String, Vec<i64>>) {
    let mut slots: HashMap<usize, Vec<i64>> = HashMap::new();
    let take = |slots: &mut HashMap<usize, Vec<i64>>, parts: Vec<(usize, RecordBatch)>| {
        for (slot, rows) in parts {
            let keys = rows.column(0).as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec();
            slots.entry(slot).or_default().extend(keys);
        }
    };
    for batch in batches {
        take(&mut slots, writer.split(batch).unwrap());
    }
    while let Some(parts) = writer.next_sorted(7).unwrap() {
        take(&mut slots, parts);
    }
    let mut found = HashMap::new();
    let mut numbers: Vec<_> = slots.into_iter().collect();
    numbers.sort();
    for (slot, keys) in numbers {
        let path = writer.new_location(FilesOf::Data, slot, "parquet").unwrap();
        writer.close(FilesOf::Data, slot, &path, 10).unwrap();
        found.insert(path, keys);
    }
    (writer.changes().unwrap(), found)
}

#[test]
fn files_of_a_write_are_one_change() {
    let mut writer = writer(&table());
    assert_eq!(writer.file(FilesOf::Data).unwrap().codec, "snappy");
    assert!(writer.changes().unwrap().is_empty());
    assert!(writer.split(&rows(0, 0)).unwrap().is_empty());
    let parts = writer.split(&rows(0, 3)).unwrap();
    assert_eq!((parts.len(), parts[0].0, parts[0].1.schema()), (1, 0, writer.arrow().clone()));
    writer.split(&rows(3, 2)).unwrap();
    let first = writer.new_location(FilesOf::Data, 0, "parquet").unwrap();
    writer.close(FilesOf::Data, 0, &first, 100).unwrap();
    writer.split(&rows(5, 4)).unwrap();
    let second = writer.new_location(FilesOf::Data, 0, "parquet").unwrap();
    writer.close(FilesOf::Data, 0, &second, 50).unwrap();
    assert!(writer.next_sorted(1).unwrap().is_none());
    assert_eq!(writer.written(), (2, 9, 150));
    let [change] = &writer.changes().unwrap()[..] else { panic!("one bucket") };
    let change = BucketChange::open(&change.seal().unwrap()).unwrap();
    assert_eq!((change.home.bucket, change.total_buckets), (0, -1));
    let files = [0, 1].map(|row| change.append.added.file(row).unwrap());
    let ranges = files.each_ref().map(|file| (file.min_sequence_number, file.max_sequence_number, file.row_count));
    assert_eq!(ranges, [(0, 4, 5), (5, 8, 4)]);
    assert_eq!(format!("{ROOT}/bucket-0/{}", files[0].file_name), first);
    assert_eq!(change.append.added.value_stats().null_counts.value_length(0), 2);
}

#[test]
fn files_need_rows_and_a_slot() {
    let mut writer = writer(&table());
    assert_eq!(writer.close(FilesOf::Data, 0, "/t/bucket-0/x", 1).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(writer.new_location(FilesOf::Data, 1, "parquet").unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn rows_are_routed_to_their_partitions() {
    let table = table_with(&json!(["v"]), &json!({}));
    let (changes, files) = written(&mut writer(&table), &[rows(0, 5), rows(5, 2)]);
    let mut found: Vec<_> =
        files.iter().map(|(path, keys)| (path.split('/').rev().nth(2).unwrap().to_string(), keys.clone())).collect();
    found.sort();
    let expected = [("v=1", vec![1, 4, 6]), ("v=2", vec![2]), ("v=__DEFAULT_PARTITION__", vec![0, 3, 5])];
    assert_eq!(found, expected.map(|(name, keys)| (name.to_string(), keys)));
    assert_eq!(changes.len(), 3);
    for change in &changes {
        BucketChange::open(&change.seal().unwrap()).unwrap();
    }
}

#[test]
fn rows_of_many_partitions_wait_for_their_turn() {
    let table = table_with(&json!(["k"]), &json!({}));
    let mut writer = writer(&table);
    let (changes, files) = written(&mut writer, &[rows(0, 100), rows(50, 100)]);
    assert_eq!((changes.len(), files.len()), (150, 150));
    for (path, keys) in files {
        let key: i64 = path.split("/k=").nth(1).unwrap().split('/').next().unwrap().parse().unwrap();
        assert_eq!(keys, if (50..100).contains(&key) { vec![key; 2] } else { vec![key] });
    }
}

#[test]
fn sequence_numbers_continue_per_bucket() {
    let table = table_with(&json!([]), &json!({"bucket": "2", "bucket-key": "k"}));
    let mut counts = HashMap::new();
    for round in 0..3_i64 {
        let (changes, files) = written(&mut writer(&table), &[rows(round * 10, 10)]);
        let ids = crate::bucket::of_rows(table.schema(), &rows(round * 10, 10)).unwrap();
        for (path, keys) in files {
            let bucket: i32 = path.split("/bucket-").nth(1).unwrap().split('/').next().unwrap().parse().unwrap();
            let expected = (0..10).filter(|row| ids.value(*row) == bucket).count();
            assert_eq!(keys.len(), expected);
        }
        for change in &changes {
            let file = change.append.added.file(0).unwrap();
            let count = counts.entry(change.home.bucket).or_insert(0);
            assert_eq!((change.total_buckets, file.min_sequence_number), (2, *count));
            *count += file.row_count;
        }
        commit(&table, &Request::append("me"), &changes, &NoLock, &Context::default()).unwrap();
    }
    let schema = TableSchema { id: 1, ..table.schema().as_ref().clone() };
    let schema = schema.to_json().replace("\"2\"", "\"3\"");
    table.files().put(&format!("{ROOT}/schema/schema-1"), schema.into()).unwrap();
    let error = writer(&table.refresh().unwrap()).split(&rows(0, 3)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("2 buckets"), "{error}");
}

fn keyed(options: &Value) -> Table {
    let definition = json!({
        "fields": [{"id": 0, "name": "k", "type": "BIGINT"}, {"id": 1, "name": "v", "type": "STRING"}],
        "partitionKeys": [], "primaryKeys": ["k"], "options": options,
    });
    let files = Files::below(Arc::new(MemoryStorage::default()), ROOT).unwrap();
    create(&files, ROOT, Definition::parse(definition.to_string().as_bytes()).unwrap()).unwrap()
}

/// Returns rows of keys, values and kinds.
fn changes_of(rows: &[(i64, &str, &str)]) -> RecordBatch {
    let fields = [("k", DataType::Int64), ("v", DataType::Utf8), ("_ROW_KIND", DataType::Utf8)];
    let fields: Vec<_> = fields.into_iter().map(|(name, data_type)| Field::new(name, data_type, true)).collect();
    let keys: Int64Array = rows.iter().map(|row| Some(row.0)).collect();
    let values: StringArray = rows.iter().map(|row| Some(row.1)).collect();
    let kinds: StringArray = rows.iter().map(|row| Some(row.2)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![Arc::new(keys), Arc::new(values), Arc::new(kinds)])
        .unwrap()
}

/// Returns the records of a write by slot as strings: `sequence kind key value`.
fn records(writer: &mut RowWriter, batches: &[RecordBatch]) -> Vec<(usize, Vec<String>)> {
    for batch in batches {
        assert!(writer.split(batch).unwrap().is_empty());
    }
    let mut found: Vec<(usize, Vec<String>)> = Vec::new();
    while let Some(parts) = writer.next_sorted(2).unwrap() {
        for (slot, rows) in parts {
            assert_eq!(&rows.schema(), writer.arrow());
            let names: Vec<_> = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
            assert_eq!(
                names.iter().rev().take(4).rev().collect::<Vec<_>>(),
                ["_SEQUENCE_NUMBER", "_VALUE_KIND", "k", "v"]
            );
            let text = |column: &str, row| {
                let column = rows.column_by_name(column).unwrap();
                arrow_cast::display::array_value_to_string(column, row).unwrap()
            };
            let texts = (0..rows.num_rows())
                .map(|row| ["_SEQUENCE_NUMBER", "_VALUE_KIND", "k", "v"].map(|column| text(column, row)).join(" "));
            match found.last_mut().filter(|(last, _)| *last == slot) {
                Some((_, known)) => known.extend(texts),
                None => found.push((slot, texts.collect())),
            }
        }
    }
    found
}

#[test]
fn records_are_sorted_and_merged_by_key() {
    let mut writer = writer(&keyed(&json!({"bucket": "1"})));
    let batches =
        [changes_of(&[(2, "a", "+I"), (1, "b", "+I"), (2, "c", "+U")]), changes_of(&[(3, "d", "-D"), (1, "e", "-D")])];
    let found = records(&mut writer, &batches);
    assert_eq!(found, [(0, vec!["4 3 1 e".to_string(), "2 2 2 c".into(), "3 3 3 d".into()])]);
    let path = writer.new_location(FilesOf::Data, 0, "parquet").unwrap();
    writer.close(FilesOf::Data, 0, &path, 10).unwrap();
    let [change] = &writer.changes().unwrap()[..] else { panic!("one bucket") };
    let file = change.append.added.file(0).unwrap();
    assert_eq!((file.row_count, file.delete_row_count, file.level), (3, Some(2), 0));
    assert_eq!((file.min_sequence_number, file.max_sequence_number), (2, 4));
    let key = |key: i64| {
        let types = [crate::spec::types::DataType::required(TypeRoot::BigInt)];
        let column: arrow_array::ArrayRef = Arc::new(Int64Array::from(vec![key]));
        super::super::stats::row(&[column], &types).unwrap()
    };
    assert_eq!((file.min_key, file.max_key), (key(1), key(3)));
    assert_eq!(change.append.added.key_stats().max.value(0), key(3));
}

#[test]
fn sequence_fields_decide_and_deletes_may_be_ignored() {
    let options = json!({"bucket": "1", "sequence.field": "v", "ignore-delete": "true", "data-file.thin-mode": "true"});
    let mut writer = writer(&keyed(&options));
    assert_eq!(writer.arrow().fields().len(), 4);
    let batches = [changes_of(&[(1, "z", "+I"), (1, "y", "+I")]), changes_of(&[(1, "zz", "-D"), (2, "a", "-U")])];
    assert_eq!(records(&mut writer, &batches), [(0, vec!["0 0 1 z".to_string()])]);
}

#[test]
fn retracts_that_an_engine_does_not_take_are_refused() {
    let sum = json!({"bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "listagg"});
    for options in [json!({"bucket": "1", "merge-engine": "partial-update"}), sum] {
        let mut writer = writer(&keyed(&options));
        writer.split(&changes_of(&[(1, "a", "+I"), (2, "a", "+U")])).unwrap();
        for kind in ["-D", "-U"] {
            let error = writer.split(&changes_of(&[(9, "a", kind)])).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::Unsupported), "{error}");
        }
    }
    let mut writer = writer(&keyed(&json!({"bucket": "1"})));
    let error = writer.split(&changes_of(&[(1, "a", "+I"), (2, "a", "insert")])).unwrap_err();
    assert!(error.to_string().contains("row 1 is `insert`"), "{error}");
}

/// Returns the keys of each dynamic bucket after a write, and the names of its index files.
fn in_dynamic_buckets(writer: &mut RowWriter, keys: &[i64]) -> (Vec<Vec<i64>>, Vec<BucketChange>) {
    let rows: Vec<_> = keys.iter().map(|key| (*key, "a", "+I")).collect();
    writer.split(&changes_of(&rows)).unwrap();
    let mut found: HashMap<usize, Vec<i64>> = HashMap::new();
    while let Some(parts) = writer.next_sorted(100).unwrap() {
        for (slot, rows) in parts {
            let keys = rows.column_by_name("k").unwrap().as_primitive::<arrow_array::types::Int64Type>().values();
            found.entry(slot).or_default().extend(keys);
        }
    }
    for slot in 0..found.len() {
        let path = writer.new_location(FilesOf::Data, slot, "parquet").unwrap();
        writer.close(FilesOf::Data, slot, &path, 10).unwrap();
    }
    let changes = writer.changes().unwrap();
    let mut keys: Vec<(i32, Vec<i64>)> = found
        .into_iter()
        .map(|(slot, mut keys)| {
            keys.sort_unstable();
            (changes[slot].home.bucket, keys)
        })
        .collect();
    keys.sort();
    (keys.into_iter().map(|(_, keys)| keys).collect(), changes)
}

fn committed(table: &Table, changes: &[BucketChange]) {
    commit(table, &Request::append("me"), changes, &NoLock, &Context::default()).unwrap();
}

#[test]
fn keys_stay_in_their_dynamic_buckets() {
    let table = keyed(&json!({"dynamic-bucket.target-row-num": "3"}));
    let (keys, changes) = in_dynamic_buckets(&mut writer(&table), &[1, 2, 3, 4, 1, 5]);
    assert_eq!(keys, [vec![1, 2, 3], vec![4, 5]]);
    let sizes = |changes: &[BucketChange]| {
        let added = changes.iter().flat_map(|change| &change.append.index_added);
        added.map(|index| (index.bucket, index.file_size, index.row_count)).collect::<Vec<_>>()
    };
    assert_eq!(sizes(&changes), [(0, 12, 3), (1, 8, 2)]);
    committed(&table, &changes);
    let (keys, changes) = in_dynamic_buckets(&mut writer(&table), &[7, 5, 8, 2, 9]);
    assert_eq!(keys, [vec![2], vec![5, 7], vec![8, 9]]);
    assert_eq!(sizes(&changes), [(1, 12, 3), (2, 8, 2)]);
    let replaced: Vec<_> = changes.iter().flat_map(|change| &change.append.index_removed).collect();
    assert_eq!(replaced.iter().map(|index| (index.bucket, index.row_count)).collect::<Vec<_>>(), [(1, 2)]);
    committed(&table, &changes);
    // Known keys need no new index, and sequence numbers continue in each bucket.
    let (keys, changes) = in_dynamic_buckets(&mut writer(&table), &[9, 1]);
    assert_eq!((keys, sizes(&changes)), (vec![vec![1], vec![9]], vec![]));
    assert!(changes.iter().all(|change| change.base_snapshot == Some(2) && change.total_buckets == -1));
    let sequences: Vec<_> =
        changes.iter().map(|change| change.append.added.file(0).unwrap().min_sequence_number).collect();
    assert_eq!(sequences, [2, 5]);
    // An overwrite assigns all keys again.
    let options = WriteOptions { overwrites: true, ..OPTIONS };
    let mut writer = RowWriter::try_new(&table, &options, &Context::default()).unwrap();
    assert_eq!(in_dynamic_buckets(&mut writer, &[9, 8, 7, 6]).0, [vec![7, 8, 9], vec![6]]);
}

#[test]
fn damaged_and_missing_indexes_of_keys_fail_the_write() {
    let table = keyed(&json!({}));
    let (_, changes) = in_dynamic_buckets(&mut writer(&table), &[1, 2]);
    committed(&table, &changes);
    let path = table.index_location(&changes[0].append.index_added[0]).unwrap();
    for content in [&[0; 7][..], &[0; 12], &[]] {
        table.files().put(&path, bytes::Bytes::copy_from_slice(content)).unwrap();
        let error = writer(&table).split(&changes_of(&[(1, "a", "+I")])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptData, "{error}");
    }
    table.files().delete(&path).unwrap();
    let error = writer(&table).split(&changes_of(&[(1, "a", "+I")])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingFile, "{error}");
}

#[test]
fn an_aborted_write_deletes_its_indexes_of_keys() {
    let table = keyed(&json!({}));
    let mut writer = writer(&table);
    let (_, changes) = in_dynamic_buckets(&mut writer, &[1, 2]);
    let path = table.index_location(&changes[0].append.index_added[0]).unwrap();
    assert_eq!(table.files().size(&path).unwrap(), 8);
    writer.abort();
    assert_eq!(table.files().size(&path).unwrap_err().kind(), ErrorKind::MissingFile);
}
