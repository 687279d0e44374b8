//! Reads and writes metadata in the layout of the specification ("Specification" of the Paimon documentation).

pub(crate) mod columns;
pub mod consumer;
pub mod data_file_meta;
pub mod entries_builder;
pub(crate) mod file_name;
pub(crate) mod hash_index;
pub mod index_manifest;
pub mod index_manifest_write;
pub(crate) mod json;
pub mod manifest;
pub mod manifest_list;
pub mod manifest_list_write;
pub mod manifest_write;
mod meta_file;
mod meta_file_write;
pub(crate) mod option_rules;
pub mod options;
pub mod partition_path;
pub mod schema;
pub mod snapshot;
mod snapshot_write;
pub mod stats;
#[cfg(test)]
pub(crate) mod testing;
pub mod type_text;
pub mod types;
