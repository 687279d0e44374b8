//! Maintenance of tables: which of their files can be deleted, and which are worth writing again.

pub mod expire;
pub mod purge;
pub mod reach;
pub mod rewrite;
