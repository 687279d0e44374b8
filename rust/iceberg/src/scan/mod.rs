//! Scans: planning (metadata to tasks) and execution (a task to Arrow batches), in any process.

pub mod change_rows;
pub mod change_scan;
pub mod changes;
pub mod context;
pub mod delete_cache;
pub mod delete_index;
pub mod delete_load;
mod duplicates;
pub mod groups;
pub mod incremental;
pub mod key_range;
pub mod leaves;
pub mod output;
pub mod partition;
pub mod plan;
mod planner;
pub mod prune;
pub mod reader;
pub mod row_groups;
pub mod statistics;
pub mod stream;
pub mod table_scan;
pub mod task;
pub mod wire;
