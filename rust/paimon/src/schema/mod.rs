//! Creates and alters the schema of a table.

pub mod alter;
mod change;
mod check;
pub mod create;
mod nested;
mod renamed_options;
mod switched_vectors;

pub use change::{Change, ColumnPath, Position};
