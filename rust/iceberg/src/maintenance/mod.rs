//! Maintenance of tables: which of their files can be deleted.

pub mod expire;
pub mod purge;
pub mod reach;
