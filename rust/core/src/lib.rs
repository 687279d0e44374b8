//! Mechanisms shared by the table formats of frazil. No word of a format, no Python and no network in here.

pub mod avro;
pub mod bitmap;
pub mod bytes;
pub mod cache;
pub mod code_table;
pub mod context;
pub mod envelope;
pub mod error;
pub mod expression;
pub mod file_values;
pub mod filter;
pub mod floats;
pub mod hash;
pub mod hex;
pub mod join;
pub mod nested;
pub mod orc;
pub mod pack;
pub mod parallel;
pub mod predicate;
pub mod prune;
pub mod scalar;
pub mod simd;
pub mod sort;
pub mod storage;
pub mod variant;
