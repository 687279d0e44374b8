//! Changing a table: what must hold, what changes, and committing it without losing anything.

pub mod append;
mod check;
pub mod commit;
pub mod create;
pub mod hadoop;
pub mod ids;
mod list;
pub mod pointer;
pub mod requirement;
pub mod staged;
mod summary;
pub mod update;
