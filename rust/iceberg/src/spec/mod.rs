//! The words of the Iceberg table spec: one file per noun.

mod arrow_schema;
pub mod avro_schema;
mod columns;
mod iso;
mod json;
pub mod manifest;
pub mod manifest_list;
pub mod manifest_rows;
pub mod manifest_type;
pub mod manifest_write;
mod metadata_json;
mod metadata_part;
pub mod metadata_write;
pub mod name_mapping;
mod nested_text;
pub mod partition;
pub(crate) mod partition_text;
mod projection;
pub mod schema;
pub mod snapshot;
pub mod sort;
pub mod table_metadata;
mod transform_text;
mod type_json;
mod type_text;
pub mod types;
mod value_json;
