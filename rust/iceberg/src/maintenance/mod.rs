//! Maintenance of tables: which of their files can be deleted.

pub mod purge;
