//! Files that are assembled byte by byte, and helpers that all tests share.

mod damage;
mod oracle;
mod project;
mod speed;
mod types;

use super::*;
use crate::error::ErrorKind;

const SYNC: [u8; SYNC_BYTES] = *b"sync-of-the-file";

/// Returns a zigzag varint.
pub(super) fn long(value: i64) -> Vec<u8> {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    let mut bytes = Vec::new();
    while rest >= 0x80 {
        bytes.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
        rest >>= 7;
    }
    bytes.push(u8::try_from(rest).unwrap());
    bytes
}

/// Returns a length and the bytes.
fn sized(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    [long(i64::try_from(bytes.len()).unwrap()), bytes.to_vec()].concat()
}

fn header(schema: &str, codec: &str) -> Vec<u8> {
    let entries = [("avro.schema", schema), ("avro.codec", codec), ("format-version", "2")];
    let entries: Vec<u8> = entries.iter().flat_map(|(key, value)| [sized(key), sized(value)].concat()).collect();
    [MAGIC.to_vec(), long(3), entries, long(0), SYNC.to_vec()].concat()
}

fn block(count: i64, payload: &[u8]) -> Vec<u8> {
    [long(count), sized(payload), SYNC.to_vec()].concat()
}

/// Returns a file of one uncompressed block.
fn file(schema: &str, count: i64, payload: &[u8]) -> Vec<u8> {
    [header(schema, "null"), block(count, payload)].concat()
}

/// Returns the JSON schema of a record with these fields.
fn record(fields: &str) -> String {
    format!(r#"{{"type":"record","name":"row","fields":[{fields}]}}"#)
}

/// Returns all columns of the file with the writer's types.
fn read(bytes: &[u8]) -> Result<RecordBatch> {
    let file = AvroFile::open(bytes.to_vec())?;
    file.read(&Projection::natural(file.schema())?, &Context::default())
}

fn project(bytes: &[u8], columns: impl IntoIterator<Item = Column>) -> Result<RecordBatch> {
    AvroFile::open(bytes.to_vec())?.read(&Projection::new(columns), &Context::default())
}

/// Returns the kind and the text of the error in `result`.
#[track_caller]
fn error<T>(result: Result<T>) -> (ErrorKind, String) {
    let error = result.err().expect("an error");
    (error.kind(), error.to_string())
}

#[track_caller]
fn corrupt<T>(result: Result<T>, says: &str) {
    let (kind, text) = error(result);
    assert_eq!(kind, ErrorKind::CorruptData, "{text}");
    assert!(text.contains(says), "{text:?} does not say {says:?}");
}

fn by_id(id: i32, name: &str, kind: Kind) -> Column {
    Column::new(Key::Id(id), name, kind)
}

fn by_name(name: &str, kind: Kind) -> Column {
    Column::new(Key::Name(name.to_owned()), name, kind)
}
