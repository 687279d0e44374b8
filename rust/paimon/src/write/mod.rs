//! Writing data files.

pub mod check;
