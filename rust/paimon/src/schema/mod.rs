//! Creates the first schema of a table.

pub mod create;
