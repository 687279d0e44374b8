//! Maintenance of tables: which of their files can be deleted, and which are worth writing again.

pub mod expire;
pub mod orphans;
pub mod purge;
pub mod reach;
pub mod rewrite;
