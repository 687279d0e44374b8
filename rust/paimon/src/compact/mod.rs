//! Compacts the files of a bucket into fewer files (documentation: "Compaction").
//!
//! ```text
//! pick    which files of a bucket with keys are merged, and into which level
//! upgrade which of them only change their level
//! lookup  which files of higher levels may have records that the merged ones replace
//! vectors where these records are: they become deleted rows
//! changelog what changes: a row before and after the merge
//! plan    which files of which bucket are rewritten
//! postponed which rows are not assigned to buckets yet
//! reads   how they are read
//! rewrite which data files have rows that a DELETE, UPDATE or MERGE may change
//! task    reads them, merged, and writes the files that replace them; a commit makes a COMPACT snapshot
//! ```

mod bucket_reader;
mod changelog;
mod levels;
mod lookup;
mod pick;
#[cfg(test)]
mod pick_tests;
pub mod plan;
pub mod postponed;
pub mod rewrite;
mod strategy;
pub mod task;
mod upgrade;
pub mod vectors;

pub use levels::{Levels, Run};
pub use pick::{Now, Picker, Unit, pick_full};
pub use strategy::{EarlyFull, Level0, OffPeak, Strategy};
