//! Commits changes to the latest state of a table by a compare-and-swap of its pointer, with retries.
//!
//! A [`Change`](attempts::Change) returns metadata updates for each state that it is applied to. A commit applies them
//! and publishes the result through a [`Pointer`](pointer::Pointer): that of a folder ([`hadoop`]), of a [`catalog`],
//! or of a server ([`rest`]). This module does not define the changes themselves: changes that write files are in
//! [`snapshot`](crate::snapshot), metadata-only changes in [`evolve`](crate::evolve).

pub mod attempts;
pub mod catalog;
pub mod hadoop;
pub mod pointer;
pub mod requirement;
pub mod rest;
pub mod staged;
pub mod update;
mod update_json;
