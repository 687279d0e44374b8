//! What of the Iceberg spec this crate reads and writes, as data: the documentation prints it, reviewers compare it
//! with the spec row by row.

/// A feature of the spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureInfo {
    /// Its name, in the spec's words.
    pub name: &'static str,
    /// The format version that brought it.
    pub since_version: u8,
    /// Whether tables with it can be read.
    pub read: Support,
    /// Whether it can be written.
    pub write: Support,
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Support {
    /// It is.
    Yes,
    /// It is planned; until then a typed error names it.
    NotYet,
    /// It is not, and a typed error names it.
    No,
}

use Support::{No, NotYet, Yes};

const fn feature(name: &'static str, since_version: u8, read: Support, write: Support) -> FeatureInfo {
    FeatureInfo { name, since_version, read, write }
}

/// Every feature of format versions 1 to 3, in the order of the spec.
pub const FEATURES: &[FeatureInfo] = &[
    feature("primitive types of v1", 1, Yes, Yes),
    feature("struct, list, map", 1, Yes, Yes),
    feature("timestamp_ns, timestamptz_ns", 3, Yes, Yes),
    feature("unknown", 3, Yes, NotYet),
    feature("variant", 3, Yes, NotYet),
    feature("shredded variant", 3, NotYet, NotYet),
    feature("geometry, geography", 3, Yes, NotYet),
    feature("default values", 3, Yes, Yes),
    feature("schema evolution", 1, Yes, NotYet),
    feature("column projection with name mapping", 1, Yes, NotYet),
    feature("identifier fields", 2, Yes, NotYet),
    feature("row lineage", 3, NotYet, NotYet),
    feature("partition transforms", 1, Yes, Yes),
    feature("unknown partition transforms", 1, Yes, No),
    feature("multi-argument transforms", 3, Yes, No),
    feature("partition evolution", 1, Yes, NotYet),
    feature("sort orders", 1, Yes, NotYet),
    feature("manifests and manifest lists", 1, Yes, Yes),
    feature("manifests listed in a snapshot", 1, Yes, No),
    feature("sequence numbers", 2, Yes, Yes),
    feature("branches and tags", 2, Yes, NotYet),
    feature("time travel", 1, Yes, NotYet),
    feature("position delete files", 2, Yes, NotYet),
    feature("equality delete files", 2, Yes, NotYet),
    feature("deletion vectors", 3, Yes, NotYet),
    feature("Parquet data files", 1, Yes, Yes),
    feature("ORC data files", 1, Yes, NotYet),
    feature("Avro data files", 1, Yes, NotYet),
    feature("file system tables", 1, Yes, Yes),
    feature("compressed metadata files", 1, Yes, Yes),
    feature("table statistics", 1, NotYet, NotYet),
    feature("partition statistics", 1, NotYet, NotYet),
    feature("encryption", 3, No, No),
    feature("views", 1, No, No),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_named_once_and_belong_to_a_version() {
        for (i, feature) in FEATURES.iter().enumerate() {
            assert!((1..=3).contains(&feature.since_version), "{}", feature.name);
            assert!(FEATURES[i + 1..].iter().all(|other| other.name != feature.name), "{}", feature.name);
        }
    }
}
