//! Provides the deterministic inputs that the benchmarks, the limits and the regression guards share.

pub mod random;
