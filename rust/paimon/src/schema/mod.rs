//! Creates and alters the schema of a table.

pub mod alter;
mod change;
mod check;
pub mod create;
mod nested;
mod option_rules;
mod renamed_options;

pub use change::{Change, ColumnPath, Position};
pub(crate) use option_rules::check_written_with;
