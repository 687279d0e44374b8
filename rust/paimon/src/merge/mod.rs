//! Merges the sorted runs of a bucket (documentation: "Primary Key Table", "Merge Engine").
//!
//! ```text
//! runs, oldest first:  batches sorted by key      Merger::push
//!         |
//!   runs.rs    race: the least key next; ranges that one run has alone go through whole
//!         |    records of one key
//!   engine.rs  deduplicate, first_row, partial_update, aggregation: which row, or which row of each column
//!         |    picks: (batch, row)
//!   output.rs  columns copied once, when a batch is full      Merger::step
//!   watch.rs   what a lookup compaction needs to know about each key, as further columns
//! ```
//!
//! The records of a key are ordered by the columns of `sequence.field` (NULL first, even if descending), then by
//! sequence number. Ties are resolved by kind (retracts before additions), then by the age of their files. A key with a single record is
//! returned unchanged, with its row kind, for every engine.
//!
//! The merge holds the current batch of each run, and consumed batches of at most about the same total size.

pub mod aggregate;
mod aggregation;
mod deduplicate;
mod engine;
mod first_row;
mod held;
mod merger;
#[cfg(test)]
mod model_tests;
mod order;
mod output;
mod partial_update;
mod pending;
mod runs;
pub mod section;
mod spec;
#[cfg(test)]
mod tests;
mod watch;
#[cfg(test)]
mod watch_tests;

pub use self::held::Source;
pub use self::merger::{Merger, Step};
pub use self::spec::{MergeSpec, with_nullable_values};
pub(crate) use self::spec::{keeps_first, looks_up};
pub use self::watch::{OldRecords, Trace, Watch};
