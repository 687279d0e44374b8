use std::fs;
use std::path::PathBuf;

use arrow_array::{Int64Array, RecordBatch};
use arrow_select::concat::concat;

use super::super::rows::{RowOptions, RowWriter, WrittenFile};
use super::*;

fn table(location: &str, second_field: &str) -> TableMetadata {
    let json = format!(
        r#"{{"format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "{location}",
        "last-sequence-number": 0, "last-updated-ms": 1, "last-column-id": 2, "current-schema-id": 0, "schemas": [
            {{"type": "struct", "schema-id": 0, "fields": [
                {{"id": 1, "name": "a", "required": false, "type": "long"}},
                {{"id": 2, "name": "p", "required": false, "type": "long"}}]}}],
        "default-spec-id": 3, "partition-specs": [{{"spec-id": 3, "fields": [{second_field}]}}],
        "last-partition-id": 1000, "default-sort-order-id": 0, "sort-orders": [{{"order-id": 0, "fields": []}}]}}"#
    );
    TableMetadata::parse(json.as_bytes()).unwrap()
}

fn own() -> TableMetadata {
    table("memory:/t", r#"{"name": "p", "transform": "identity", "source-id": 2, "field-id": 1000}"#)
}

/// Returns the output of a worker: two partitions, one of them NULL; one file with deleted rows and one removed file.
fn message(path: &str, size_bytes: i64) -> Message {
    let options = RowOptions { operation: Some((7, "operation".into())), ..RowOptions::default() };
    let mut writer = RowWriter::new(&own(), &options).unwrap();
    let columns: [(&str, ArrayRef); 2] = [
        ("a", Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]))),
        ("p", Arc::new(Int64Array::from(vec![Some(5), Some(5), None]))),
    ];
    for (partition, _) in writer.split(&RecordBatch::try_from_iter(columns).unwrap()).unwrap() {
        let written = WrittenFile {
            path: format!("{path}/{partition}.parquet"),
            format: "PARQUET".to_string(),
            size_bytes,
            column_sizes: [(1, 10), (2, 20)].into(),
            split_offsets: Some(vec![4]),
        };
        writer.close(partition, written).unwrap();
    }
    let positions = |rows: &[i64]| {
        let mut positions = Positions::new();
        positions.insert_all(rows).unwrap();
        positions
    };
    let deletion = |task, rows: &[i64], before: &[i64], goes| Deletion {
        task,
        path: format!("memory:/t/data/old-{task}.parquet"),
        rows: positions(rows),
        before: positions(before),
        goes,
    };
    Message {
        data: writer.added().unwrap().pop(),
        deletions: vec![deletion(0, &[1, 1 << 40], &[3], false), deletion(2, &[], &[], true)],
        matched: vec![0b101, 0],
    }
}

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/wire/message.v{VERSION}.bin"))
}

#[test]
#[ignore = "writes the bytes that a new version of the wire form is held to; never replaces any"]
fn write_the_bytes_of_a_new_version() {
    assert!(!golden().exists());
    fs::write(golden(), message("memory:/t/data", 100).write().unwrap()).unwrap();
}

#[test]
fn message_bytes_are_stable_per_version_and_round_trip() {
    let written = message("memory:/t/data", 100);
    let bytes = fs::read(golden()).unwrap();
    assert!(bytes == written.write().unwrap(), "the bytes are others: they need a new version");
    let read = Message::read(&bytes, &own()).unwrap();
    assert_eq!(read.deletions, written.deletions);
    assert_eq!(read.matched, written.matched);
    let (read, written) = (read.data.unwrap(), written.data.unwrap());
    assert_eq!((read.spec_id, read.data_files), (3, written.data_files));
}

#[test]
fn a_message_of_nothing_is_read_again() {
    let read = Message::read(&Message::default().write().unwrap(), &own()).unwrap();
    assert!(read.data.is_none() && read.deletions.is_empty() && read.matched.is_empty());
}

#[test]
fn every_flipped_byte_and_every_cut_is_refused() {
    let bytes = message("memory:/t/data", 100).write().unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert_eq!(Message::read(&damaged, &own()).unwrap_err().kind(), ErrorKind::CorruptData, "byte {at}");
        assert!(Message::read(&bytes[..at], &own()).is_err(), "{at} bytes");
    }
}

#[test]
fn messages_with_valid_checksums_must_still_match_the_table() {
    let refused = |message: Message, table: &TableMetadata| {
        Message::read(&message.write().unwrap(), table).unwrap_err().to_string()
    };
    for path in ["memory:/t/metadata", "memory:/t/data/../metadata", "/etc", "memory:/t/database", "memory:/t/data/"] {
        assert!(refused(message(path, 100), &own()).contains("outside the table's data folder"), "{path}");
    }
    assert!(refused(message("memory:/t/data", -1), &own()).contains("negative"));
    let unpartitioned = table("memory:/t", "");
    assert!(
        refused(message("memory:/t/data", 100), &unpartitioned).contains("the fields of its data files do not match")
    );
    let mut other = message("memory:/t/data", 100);
    other.data.iter_mut().for_each(|files| files.spec_id = 9);
    assert!(refused(other, &own()).contains('9'));
}

#[test]
fn files_of_one_spec_are_grouped() {
    let (first, second) = (message("memory:/t/data/a", 1), message("memory:/t/data/b", 2));
    let files = data_of([&first, &Message::default(), &second].into_iter()).unwrap();
    let expected = concat(&[&first.data.unwrap().data_files as &dyn Array, &second.data.unwrap().data_files]).unwrap();
    assert_eq!(files.len(), 1);
    assert_eq!(&files[0].data_files, expected.as_struct());
}

#[test]
fn column_length_overflow_is_an_error() {
    let most = usize::try_from(i32::MAX).unwrap();
    check_length([most - 1, 1].into_iter()).unwrap();
    for lengths in [[most, 1], [usize::MAX, usize::MAX]] {
        assert_eq!(check_length(lengths.into_iter()).unwrap_err().kind(), ErrorKind::LimitExceeded);
    }
}
