//! Partition transforms (spec: "Partition Transforms", appendix B).

/// How a partition value is computed from a column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Transform {
    /// The value itself.
    Identity,
    /// `bucket[N]`: Murmur3 of the value, modulo N.
    Bucket(u32),
    /// `truncate[W]`.
    Truncate(u32),
    /// Years since 1970.
    Year,
    /// Months since 1970-01.
    Month,
    /// Days since 1970-01-01.
    Day,
    /// Hours since 1970-01-01T00.
    Hour,
    /// Always NULL.
    Void,
    /// A transform that this version does not know, by its text. Readers ignore it, writers refuse it.
    Unknown(String),
}
