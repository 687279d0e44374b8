use std::sync::Arc;

use arrow_array::{Int64Array, StringArray};
use arrow_schema::{DataType, Field, Schema};
use frazil_core::error::ErrorKind;
use frazil_core::storage::{Files, MemoryStorage};
use serde_json::json;

use super::*;
use crate::schema::create::{Definition, create};

const ROOT: &str = "memory://warehouse/d.db/t";

fn table() -> Table {
    let definition = json!({
        "fields": [{"id": 0, "name": "k", "type": "BIGINT NOT NULL"}, {"id": 1, "name": "v", "type": "STRING"}],
        "partitionKeys": [], "primaryKeys": [], "options": {"file.compression": "snappy"},
    });
    let files = Files::below(Arc::new(MemoryStorage::default()), ROOT).unwrap();
    create(&files, ROOT, Definition::parse(definition.to_string().as_bytes()).unwrap()).unwrap()
}

fn rows(first: i64, count: i64) -> RecordBatch {
    let schema = Schema::new(vec![Field::new("v", DataType::Utf8, true), Field::new("k", DataType::Int64, true)]);
    let values: StringArray = (0..count).map(|row| Some(row.to_string())).collect();
    let keys: Int64Array = (first..first + count).map(Some).collect();
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(values), Arc::new(keys)]).unwrap()
}

#[test]
fn files_of_a_write_are_one_change() {
    let mut writer = RowWriter::try_new(&table(), 0).unwrap();
    assert_eq!(writer.file().codec, "snappy");
    assert!(writer.changes().unwrap().is_empty());
    assert!(writer.split(&rows(0, 0)).unwrap().is_empty());
    let parts = writer.split(&rows(0, 3)).unwrap();
    assert_eq!((parts.len(), parts[0].0, parts[0].1.schema()), (1, 0, writer.arrow().clone()));
    writer.split(&rows(3, 2)).unwrap();
    let first = writer.new_location(0, "parquet").unwrap();
    writer.close(0, &first, 100).unwrap();
    writer.split(&rows(5, 4)).unwrap();
    let second = writer.new_location(0, "parquet").unwrap();
    writer.close(0, &second, 50).unwrap();
    assert!(writer.next_sorted().is_none());
    assert_eq!(writer.written(), (2, 9, 150));
    let [change] = &writer.changes().unwrap()[..] else { panic!("one bucket") };
    let change = BucketChange::open(&change.seal().unwrap()).unwrap();
    assert_eq!((change.home.bucket, change.total_buckets), (0, -1));
    let files = [0, 1].map(|row| change.append.added.file(row).unwrap());
    let ranges = files.each_ref().map(|file| (file.min_sequence_number, file.max_sequence_number, file.row_count));
    assert_eq!(ranges, [(0, 4, 5), (5, 8, 4)]);
    assert_eq!(format!("{ROOT}/bucket-0/{}", files[0].file_name), first);
}

#[test]
fn files_need_rows_and_a_slot() {
    let mut writer = RowWriter::try_new(&table(), 0).unwrap();
    assert_eq!(writer.close(0, "/t/bucket-0/x", 1).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(writer.new_location(1, "parquet").unwrap_err().kind(), ErrorKind::Internal);
}
