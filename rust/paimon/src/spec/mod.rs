//! Metadata as the specification lays it out ("Specification" of the Paimon documentation).

pub mod schema;
pub mod types;
