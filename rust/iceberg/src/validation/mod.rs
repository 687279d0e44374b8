//! Validates a change before it is committed.
//!
//! [`conflict`] validates the files of a snapshot against the snapshots of concurrent writers. [`check`] validates new
//! schemas, partition specs and sort orders against the format version of the table.

pub(crate) mod check;
pub mod conflict;
