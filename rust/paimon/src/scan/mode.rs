//! How the options of a table have its buckets read (documentation: "Primary Key Table", "Deletion Vectors", "Merge
//! Engine").

use frazil_core::error::Result;

use super::context::ReadContext;
use super::pack::Weights;

/// What planning must know of a table's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadMode {
    /// Rows are merged by key.
    pub primary_key: bool,
    /// No two files above level 0 hold a live row of one key: deletion vectors or first-row take care of that. Files of
    /// level 0 are not read.
    pub independent: bool,
    /// A merged row is one of the rows that were written, not made of several.
    pub keeps_rows: bool,
    /// Files may hold columns of the same rows.
    pub data_evolution: bool,
    /// Rows of a bucket are in order.
    pub ordered: bool,
    /// What splits weigh.
    pub weights: Weights,
}

impl ReadMode {
    /// Reads the options.
    ///
    /// # Errors
    /// `InvalidArgument` naming an option that cannot be meant.
    pub fn try_new(read: &ReadContext) -> Result<Self> {
        let options = &read.options;
        let default = Weights::default();
        let primary_key = read.has_primary_key();
        let engine = options.text("merge-engine").unwrap_or("deduplicate").trim().to_ascii_lowercase();
        let vectors = options.boolean("deletion-vectors.enabled", false)?
            && !options.boolean("deletion-vectors.merge-on-read", false)?;
        Ok(Self {
            primary_key,
            independent: primary_key && (vectors || engine == "first-row"),
            keeps_rows: matches!(engine.as_str(), "deduplicate" | "first-row"),
            data_evolution: !primary_key && options.boolean("data-evolution.enabled", false)?,
            ordered: options.integer("bucket")?.is_some_and(|buckets| buckets > 0),
            weights: Weights {
                target_bytes: options.size_bytes("source.split.target-size")?.unwrap_or(default.target_bytes),
                open_cost_bytes: options.size_bytes("source.split.open-file-cost")?.unwrap_or(default.open_cost_bytes),
            },
        })
    }
}
