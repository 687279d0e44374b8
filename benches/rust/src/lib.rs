//! What the benches, the limits and the regression guard share: inputs that are the same in every run.

pub mod random;
