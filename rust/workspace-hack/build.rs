//! Cargo ignores build dependencies where there is no build script.
fn main() {}
