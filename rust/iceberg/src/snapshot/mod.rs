//! Snapshots: changes of a table that add, remove or replace files.
//!
//! A [`SnapshotChange`](change::SnapshotChange) writes manifests only once: those of added files, those without removed
//! files, and merged ones. Each attempt to commit it writes a manifest list, after the changes are validated against
//! newer snapshots ([`validation`](crate::validation)).

pub mod change;
mod ids;
mod list;
mod manifests;
mod removals;
pub mod summary;
