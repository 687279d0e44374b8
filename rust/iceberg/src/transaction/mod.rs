//! Changing a table: what must hold, what changes, and committing it without losing anything.

mod check;
pub mod requirement;
pub mod update;
