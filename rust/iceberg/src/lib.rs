//! Apache Iceberg v1-v3 for frazil: metadata, planning, deletes and projection. Best read alongside the Iceberg spec.

pub mod commit;
pub mod deletes;
pub mod evolve;
pub mod features;
pub mod files;
pub mod inspect;
pub mod locate;
pub mod maintenance;
pub mod properties;
pub mod puffin;
pub mod read;
pub mod scan;
pub mod snapshot;
pub mod spec;
pub mod table;
pub mod transform;
pub mod validation;
pub mod write;
