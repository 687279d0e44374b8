//! Apache Iceberg v1-v3 for frazil: metadata, planning, deletes and projection. Reads beside the Iceberg spec.

pub mod deletes;
pub mod features;
pub mod files;
pub mod inspect;
pub mod locate;
pub mod merge;
pub mod properties;
pub mod puffin;
pub mod read;
pub mod scan;
pub mod spec;
pub mod table;
pub mod transaction;
pub mod transform;
pub mod write;
