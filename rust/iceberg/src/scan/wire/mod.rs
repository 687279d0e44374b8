//! The wire form of tasks, which are sent to another process to be read there.
//!
//! The form is an [envelope] of one record batch and the shared state of the tasks, as JSON (see [`context`]). Each row
//! is a data file or one of its delete files, with the data file first. Predicates are bound by field id. Credentials
//! are not included: the reader supplies its own.
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
use frazil_core::envelope::{self, EnvelopeKind};
use frazil_core::error::{Error, Result};
use frazil_core::storage::Storage;

use super::task::FileScanTask;

/// The version of the wire form that this library writes and reads.
pub const VERSION: &str = "2";

const TASK: EnvelopeKind = EnvelopeKind { name: "task", key: "frazil.task", version: VERSION };

/// Serialises tasks of one scan.
///
/// # Errors
/// `InvalidArgument` if there are no tasks, or if they belong to different scans.
pub fn write(tasks: &[FileScanTask]) -> Result<Vec<u8>> {
    let first = tasks.first().ok_or_else(|| Error::invalid("there are no tasks to serialise"))?;
    if tasks.iter().any(|task| !Arc::ptr_eq(&task.read, &first.read)) {
        return Err(Error::invalid("tasks of different scans cannot be serialised together"));
    }
    envelope::seal(TASK, context::to_json(&first.read)?, rows::write(tasks)?)
}

/// Deserialises tasks that [`write`] serialised; files are read from `storage`.
///
/// # Errors
/// `Unsupported` for another version; `CorruptData` for any other invalid input.
pub fn read(bytes: &[u8], storage: Arc<dyn Storage>, budget: Budget) -> Result<Vec<FileScanTask>> {
    let (context, batch) = envelope::open(TASK, bytes)?;
    let read = context::from_json(&context, storage, budget)
        .map_err(|e| Error::corrupt("the context of a task is malformed").caused_by(e))?;
    rows::read(&batch, &Arc::new(read))
}
