//! Table maintenance: finds files that can be deleted and files that should be rewritten.

pub mod expire;
pub mod orphans;
pub mod purge;
pub mod reach;
pub mod rewrite;
