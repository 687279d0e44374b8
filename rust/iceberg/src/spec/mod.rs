//! The words of the Iceberg table spec: one file per noun.

pub mod name_mapping;
pub mod partition;
pub mod schema;
pub mod types;
