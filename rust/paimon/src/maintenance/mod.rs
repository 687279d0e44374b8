//! Removes states of a table and the files that only they reference (documentation: "Manage Snapshots").
//!
//! ```text
//! reach     the files that snapshots, tags and changelogs of all branches reference
//! expire    which snapshots are too old
//! orphans   which files in the folder of the table nothing references
//! mark_done partitions whose rows are complete
//! analyze   the statistics of a state and its columns
//! rollback  which snapshots and tags are newer than a state
//! ```
//!
//! The files of snapshots and tags are deleted first, and references are read again before other files are deleted. A
//! tag that is created at the same time is therefore either kept with all of its files, or not created.

pub mod analyze;
pub mod expire;
mod mark_done;
pub mod orphans;
pub mod reach;
pub mod rollback;
