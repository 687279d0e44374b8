//! Writing rows: as rows of the table, by partition, and what data files say of their columns.

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
