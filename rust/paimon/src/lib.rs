//! Apache Paimon tables, in the words of their specification: snapshots to merged rows.

pub mod merge;
pub mod read;
pub mod spec;
