//! Writes rows: converts them to rows of the table, partitions them, and collects the metrics of data files.

pub mod align;
pub mod contents;
pub mod data_file;
mod location;
pub mod message;
pub mod metrics;
pub mod metrics_mode;
mod order;
pub mod partition;
pub mod row_delta;
pub mod rows;
mod source;
