//! Writing rows: which partition each belongs to, and what a data file says of its columns.

pub mod metrics;
pub mod metrics_mode;
pub mod partition;
