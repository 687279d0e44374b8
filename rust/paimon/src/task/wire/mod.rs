//! Defines the wire form of splits, in which they are sent to other processes.
//!
//! The form is an [envelope] of one record batch and of the shared state of the splits as JSON (see [`context`]). Each
//! row is a data file with its deletion vector. Credentials are not included: the reader provides its own.
//!
//! ```text
//! split  before  snapshot_id  partition  bucket  …  file_name      row_count  level  …  deletion_path  …
//! 0      false   7            00000000…  0          data-1.parquet 100        5         index/index-0
//! 0      false   7            00000000…  0          data-2.parquet 10         0         null
//! 1      false   7            …
//! ```

pub mod changes;
pub mod context;
mod rows;

use std::sync::Arc;

use frazil_core::envelope::{self, EnvelopeKind};
use frazil_core::error::{Error, Result};
use frazil_core::storage::Storage;

use super::SplitTask;

/// The version of the wire form that this library reads and writes.
pub const VERSION: &str = "2";

const SPLIT: EnvelopeKind = EnvelopeKind { name: "split", key: "frazil.split", version: VERSION };

/// Writes splits of one scan.
///
/// # Errors
/// `InvalidArgument` if they belong to different scans, or if there are none.
pub fn write(tasks: &[SplitTask]) -> Result<Vec<u8>> {
    let first = tasks.first().ok_or_else(|| Error::invalid("no splits to write"))?;
    if tasks.iter().any(|task| !Arc::ptr_eq(&task.read, &first.read)) {
        return Err(Error::invalid("splits of different scans cannot be written together"));
    }
    envelope::seal(SPLIT, context::to_json(&first.read)?, rows::write(tasks)?)
}

/// Reads splits that [`write`] wrote. Files are read from `storage`.
///
/// # Errors
/// `Unsupported` for another version; `CorruptData` for anything else that was not written by [`write`].
pub fn read(bytes: &[u8], storage: Arc<dyn Storage>) -> Result<Vec<SplitTask>> {
    let (context, batch) = envelope::open(SPLIT, bytes)?;
    let read = context::from_json(&context, storage)
        .map_err(|e| Error::corrupt("the context of a split is malformed").caused_by(e))?;
    rows::read(&batch, &Arc::new(read))
}
