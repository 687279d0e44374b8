//! Changing a table: what must hold, what changes, and committing it without losing anything.

pub mod catalog;
mod check;
pub mod cherry_pick;
pub mod commit;
pub mod conflict;
pub mod create;
mod entries;
pub mod evolve;
pub mod hadoop;
pub mod ids;
mod list;
mod manifests;
pub mod pointer;
pub mod purge;
mod removals;
pub mod replace;
pub mod requirement;
pub mod snapshot_change;
pub mod staged;
pub mod summary;
pub mod update;
