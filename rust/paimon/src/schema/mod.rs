//! Schemas of tables: creating the first one.

pub mod create;
