//! The wire form of splits: what is shipped to another process to be read there.
//!
//! An [envelope] of one record batch and of what the splits share, as JSON (see [`context`]); each row is a data file with
//! its deletion vector. There are no credentials in it: the reader brings its own.
//!
//! ```text
//! split  snapshot_id  partition  bucket  …  file_name      row_count  level  …  deletion_path  deletion_offset  …
//! 0      7            00000000…  0          data-1.parquet 100        5         index/index-0  1
//! 0      7            00000000…  0          data-2.parquet 10         0         null           null
//! 1      7            …
//! ```

pub mod context;
mod rows;

use std::sync::Arc;

use frazil_core::envelope::{self, Kind};
use frazil_core::error::{Error, Result};
use frazil_core::storage::Storage;

use super::split::DataSplit;
use crate::read::scan_read::ScanRead;

/// The version of the wire form that this library writes and reads.
pub const VERSION: &str = "1";

const SPLIT: Kind = Kind { name: "split", key: "frazil.split", version: VERSION };

/// Writes splits of one scan.
///
/// # Errors
/// `InvalidArgument` when there is none.
pub fn write(read: &ScanRead, splits: &[DataSplit]) -> Result<Vec<u8>> {
    if splits.is_empty() {
        return Err(Error::invalid("no split to write"));
    }
    envelope::seal(SPLIT, context::to_json(read)?, rows::write(splits)?)
}

/// Reads splits that [`write`] wrote; files are read from `storage`.
///
/// # Errors
/// `Unsupported` for another version; `CorruptData` for anything else that was not written by [`write`].
pub fn read(bytes: &[u8], storage: Arc<dyn Storage>) -> Result<(Arc<ScanRead>, Vec<DataSplit>)> {
    let (context, batch) = envelope::open(SPLIT, bytes)?;
    let read = context::from_json(&context, storage)
        .map_err(|e| Error::corrupt("the context of a split is malformed").caused_by(e))?;
    Ok((Arc::new(read), rows::read(&batch)?))
}
