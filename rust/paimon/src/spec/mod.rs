//! Metadata as the specification lays it out ("Specification" of the Paimon documentation).

pub mod data_file_meta;
pub mod options;
pub mod schema;
pub mod types;
