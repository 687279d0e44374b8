//! Apache Paimon tables, in the words of their specification: snapshots to merged rows.

pub mod binary_row;
pub mod bucket;
pub mod merge;
pub mod spec;
