//! Apache Iceberg v1-v3 for frazil: metadata, planning, deletes and projection. Reads beside the Iceberg spec.

pub mod single_value;
pub mod read;
pub mod deletes;
pub mod puffin;
pub mod features;
pub mod locate;
pub mod spec;
pub mod transform;
