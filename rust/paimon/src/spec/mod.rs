//! Metadata as the specification lays it out ("Specification" of the Paimon documentation).

pub mod consumer;
pub mod data_file_meta;
pub(crate) mod file_name;
pub mod index_manifest;
pub(crate) mod json;
pub mod manifest;
pub mod manifest_list;
mod meta_file;
pub mod options;
pub mod partition_path;
pub mod schema;
pub mod snapshot;
pub mod stats;
#[cfg(test)]
mod testing;
pub mod type_text;
pub mod types;
