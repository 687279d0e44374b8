//! The wire form of tasks: what is shipped to another process to be read there.
//!
//! An [envelope] of one record batch and of what the tasks share, as JSON (see [`context`]); each row is a data file or one
//! of its delete files, the data file first. Predicates are bound by field id. There are no credentials in it: the reader
//! brings its own.
//!
//! ```text
//! task  content  path  format  spec_id  partition            record_count  size  sequence_number  first_row_id  …
//! 0     0        …     PARQUET 0        [{1000, 0a000000}]    100           4096  3                null
//! 0     1        …     PUFFIN  0        []                    2             512   4                null
//! 1     0        …
//! ```

pub mod changes;
pub mod context;
pub mod predicate;
mod rows;

use std::sync::Arc;

use frazil_core::context::Budget;
use frazil_core::envelope::{self, Kind};
use frazil_core::error::{Error, Result};
use frazil_core::storage::Storage;

use super::task::FileScanTask;

/// The version of the wire form that this library writes and reads.
pub const VERSION: &str = "1";

const TASK: Kind = Kind { name: "task", key: "frazil.task", version: VERSION };

/// Writes tasks of one scan.
///
/// # Errors
/// `InvalidArgument` when the tasks are of different scans, or when there is none.
pub fn write(tasks: &[FileScanTask]) -> Result<Vec<u8>> {
    let first = tasks.first().ok_or_else(|| Error::invalid("no task to write"))?;
    if tasks.iter().any(|task| !Arc::ptr_eq(&task.read, &first.read)) {
        return Err(Error::invalid("tasks of different scans cannot be written together"));
    }
    envelope::seal(TASK, context::to_json(&first.read)?, rows::write(tasks)?)
}

/// Reads tasks that [`write`] wrote; files are read from `storage`.
///
/// # Errors
/// `Unsupported` for another version; `CorruptData` for anything else that was not written by [`write`].
pub fn read(bytes: &[u8], storage: Arc<dyn Storage>, budget: Budget) -> Result<Vec<FileScanTask>> {
    let (context, batch) = envelope::open(TASK, bytes)?;
    let read = context::from_json(&context, storage, budget)
        .map_err(|e| Error::corrupt("the context of a task is malformed").caused_by(e))?;
    rows::read(&batch, &Arc::new(read))
}
