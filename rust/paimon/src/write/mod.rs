//! Writing data files.

pub mod align;
pub mod change;
pub mod check;
pub mod file;
pub mod homes;
pub mod path;
pub mod restore;
pub mod rows;
pub mod stats;
