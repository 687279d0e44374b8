//! Reads and writes Apache Paimon tables, in the terms of their specification: from snapshots to merged rows.

pub mod binary_row;
pub mod bucket;
pub mod cast;
pub mod commit;
pub mod compact;
pub mod context;
pub mod deletion_vector;
mod dictionary;
pub mod features;
pub mod file_index;
pub mod inspect;
pub mod maintenance;
pub mod merge;
pub mod read;
pub mod references;
pub mod scan;
pub mod schema;
pub mod spec;
pub mod table;
pub mod task;
pub mod write;
