//! The wire form of tasks: what is shipped to another process to be read there.
//!
//! An Arrow IPC stream of one record batch. The schema metadata holds `frazil.task` (the version of this form) and
//! `frazil.context` (what the tasks share, as JSON: see [`context`]); each row is a data file or one of its delete files,
//! the data file first. Predicates are bound by field id. There are no credentials in it: the reader brings its own.
//! Behind the stream stands its CRC-32, four bytes, little-endian: the Arrow reader trusts the lengths that it finds.
//!
//! ```text
//! task  content  path  format  spec_id  partition            record_count  size  sequence_number  first_row_id  …
//! 0     0        …     PARQUET 0        [{1000, 0a000000}]    100           4096  3                null
//! 0     1        …     PUFFIN  0        []                    2             512   4                null
//! 1     0        …
//! ```

pub mod context;
pub mod predicate;
mod rows;

use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use frazil_core::error::{Error, Result};
use frazil_core::storage::Storage;

use super::task::FileScanTask;

/// The version of the wire form that this library writes and reads.
pub const VERSION: &str = "1";

const VERSION_KEY: &str = "frazil.task";
const CONTEXT_KEY: &str = "frazil.context";

/// Writes tasks of one scan.
///
/// # Errors
/// `InvalidArgument` when the tasks are of different scans, or when there is none.
pub fn write(tasks: &[FileScanTask]) -> Result<Vec<u8>> {
    let first = tasks.first().ok_or_else(|| Error::invalid("no task to write"))?;
    if tasks.iter().any(|task| !Arc::ptr_eq(&task.read, &first.read)) {
        return Err(Error::invalid("tasks of different scans cannot be written together"));
    }
    let metadata = HashMap::from([
        (VERSION_KEY.to_string(), VERSION.to_string()),
        (CONTEXT_KEY.to_string(), context::to_json(&first.read)?),
    ]);
    let batch = rows::write(tasks)?;
    let schema = batch.schema().as_ref().clone().with_metadata(metadata);
    let batch = batch.with_schema(Arc::new(schema.clone()))?;
    let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
    writer.write(&batch)?;
    writer.finish()?;
    let mut bytes = writer.into_inner()?;
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    Ok(bytes)
}

/// Reads tasks that [`write`] wrote; files are read from `storage`.
///
/// # Errors
/// `Unsupported` for another version; `CorruptData` for anything else that was not written by [`write`].
pub fn read(bytes: &[u8], storage: Arc<dyn Storage>) -> Result<Vec<FileScanTask>> {
    let (stream, checksum) = bytes.split_last_chunk::<4>().ok_or_else(|| Error::corrupt("these bytes are no task"))?;
    if crc32fast::hash(stream) != u32::from_le_bytes(*checksum) {
        return Err(Error::corrupt("these bytes are no task, or were damaged on their way: their checksum differs"));
    }
    let mut reader = StreamReader::try_new(Cursor::new(stream), None)?;
    let schema = reader.schema();
    let entry = |key: &str| schema.metadata().get(key);
    match entry(VERSION_KEY).map(String::as_str) {
        Some(VERSION) => {}
        Some(other) => {
            return Err(Error::unsupported(format!("task of version {other}, this library reads version {VERSION}"))
                .hint("use the same version of frazil in all processes"));
        }
        None => return Err(Error::corrupt("these bytes are no task")),
    }
    let context = entry(CONTEXT_KEY).ok_or_else(|| Error::corrupt("a task without its context"))?;
    let read = context::from_json(context, storage)
        .map_err(|e| Error::corrupt("the context of a task is malformed").caused_by(e))?;
    let read = Arc::new(read);
    let batch = reader.next().ok_or_else(|| Error::corrupt("a task without its files"))??;
    rows::read(&batch, &read)
}
