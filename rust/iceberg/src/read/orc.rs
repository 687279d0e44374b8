//! How ORC files say of what unit their timestamps are (spec: appendix A, "ORC").

use std::collections::HashMap;
use std::hash::BuildHasher;

/// Whether the column of these attributes holds nanoseconds.
pub fn is_nanos<S: BuildHasher>(attributes: &HashMap<String, String, S>) -> bool {
    attributes.get("iceberg.timestamp-unit").is_some_and(|unit| unit.eq_ignore_ascii_case("NANOS"))
}
