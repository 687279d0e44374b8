//! Mechanisms shared by the table formats of frazil. No word of a format, no Python and no network in here.

pub mod bytes;
pub mod context;
pub mod error;
pub mod orc;
pub mod predicate;
pub mod scalar;
pub mod storage;
pub mod variant;
