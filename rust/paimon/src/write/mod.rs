//! Writing data files.

pub mod align;
pub mod change;
pub mod check;
pub mod file;
pub mod path;
pub mod rows;
