//! Plans reads: determines the files that hold the rows of a table at a snapshot, and groups those that are read
//! together.

pub(crate) mod altered_bounds;
mod buckets;
pub mod deletions;
mod difference;
mod divide;
pub(crate) mod fallback;
pub mod incremental;
mod judged;
pub(crate) mod layout;
pub(crate) mod live;
pub mod metrics;
pub mod mode;
mod nullability;
pub mod pack;
pub mod partitions;
pub mod plan;
mod printed;
pub mod prune;
pub(crate) mod replaced;
pub mod split;
pub mod stream;
pub mod table_scan;
#[cfg(test)]
mod testing;
mod widening;
