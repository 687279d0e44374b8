//! Commits of changes: on the newest state of a table, with retries, by a compare-and-swap of its pointer.
//!
//! A [`Change`](attempts::Change) returns updates of the metadata for each state that it meets. A commit applies them and
//! publishes the result through a [`Pointer`](pointer::Pointer): that of a folder ([`hadoop`]), of a [`catalog`], or of a
//! server ([`rest`]).
//! This module does not know what the changes are: those that write files are in [`snapshot`](crate::snapshot), those of
//! metadata alone in [`evolve`](crate::evolve).

pub mod attempts;
pub mod catalog;
pub mod hadoop;
pub mod pointer;
pub mod requirement;
pub mod rest;
pub mod staged;
pub mod update;
mod update_json;
